"""MinkowskiEngine's kernel maps and convolutions on the CPU as an adapter.

Coordinates are [batch, x, y, z] in units of the finest voxel: coarse ones are multiplied by the
stride. Its taps have x fastest. A complete question is asked as the library has it, conventions and
all. With an explicit target the relation itself is asked: where a kernel is even, and its offsets
begin at 0, the fine voxels are moved by P, which is all that sets it apart from [K-1]."""

import math
import struct

import torch
import MinkowskiEngine as ME

import adapter
from adapter import Answer, NotImplementedHere, Rule

DTYPES = {"float64": torch.float64, "float32": torch.float32}


def tap_numbers(case):
    """For each of our taps its number, x fastest."""
    kx, ky, _ = case.kernel_size
    return [tx + kx * (ty + ky * tz) for tx, ty, tz in case.taps()]


def is_transposed(case):
    return case.transposed or case.op == "conv_transpose_grid"


class Asked:
    """A case in MinkowskiEngine's terms: coordinate maps of both sides, and what was moved."""

    def __init__(self, case):
        self.case, self.transposed = case, is_transposed(case)
        self.target = case.members() if case.op == "submanifold_index_map" else case.target
        self.rows = adapter.rows_of(case.members())
        if not self.rows:
            raise NotImplementedHere("it takes no batch without a voxel")
        restricted = self.target is not None
        self.move = [p if restricted and k % 2 == 0 else 0
                     for p, k in zip(case.phase(), case.kernel_size)]
        self.manager = ME.CoordinateManager(D=3)
        self.source_key, self.source = self.insert(self.rows, coarse=self.transposed)
        self.target_key = None
        if restricted:
            rows = adapter.rows_of(self.target)
            if not rows:
                raise NotImplementedHere("it takes no batch without a voxel")
            self.target_key, _ = self.insert(rows, coarse=not self.transposed)

    def insert(self, rows, coarse):
        stride = list(self.case.stride) if coarse else [1, 1, 1]
        if not coarse:
            rows = [(m, *(c + p for c, p in zip(at, self.move))) for m, *at in rows]
        placed = [[m] + [c * s for c, s in zip(at, stride)] for m, *at in rows]
        if any(not -2**31 <= c < 2**31 for row in placed for c in row):
            raise NotImplementedHere("a coordinate in units of the finest voxel has 32 bits")
        key, _ = self.manager.insert_and_map(torch.tensor(placed, dtype=torch.int32), stride, "%d"
                                             % coarse)
        return key, placed

    def voxel_rows(self, key, coarse):
        rows = self.manager.get_coordinates(key).tolist()
        if coarse:
            return [(m, *(c // s for c, s in zip(at, self.case.stride))) for m, *at in rows]
        return [(m, *(c - p for c, p in zip(at, self.move))) for m, *at in rows]

    def layer(self, cin, cout, bias):
        case = self.case
        kind = ME.MinkowskiConvolution
        if self.transposed:
            kind = ME.MinkowskiConvolutionTranspose if self.target_key is not None else \
                ME.MinkowskiGenerativeConvolutionTranspose
        return kind(cin, cout, kernel_size=list(case.kernel_size), stride=list(case.stride),
                    dilation=list(case.dilation), bias=bias, dimension=3).double()

    def convolved(self, features, weights, bias):
        """Key and output rows of a convolution; differentiable in all three."""
        layer = self.layer(weights.shape[1], weights.shape[0], bias is not None)
        order = torch.tensor(adapter.inverse(tap_numbers(self.case)))
        kernel = weights.flatten(2).permute(2, 1, 0)[order].contiguous()
        del layer.kernel  # a parameter: autograd is to reach our weights
        layer.kernel = kernel[0].contiguous() if layer.use_mm else kernel
        if bias is not None:
            del layer.bias
            layer.bias = bias.reshape(1, -1)
        x = ME.SparseTensor(features, coordinate_map_key=self.source_key,
                            coordinate_manager=self.manager)
        y = layer(x) if self.target_key is None else layer(x, self.target_key)
        return y.coordinate_map_key, y.F

    def own_target(self):
        """The key of the target that the library makes."""
        if self.target_key is not None:
            return self.target_key
        if not self.transposed:
            return self.manager.stride(self.source_key, list(self.case.stride))
        one = torch.zeros([len(self.rows), 1], dtype=torch.float64)
        weights = torch.zeros([1, 1] + list(self.case.kernel_size), dtype=torch.float64)
        return self.convolved(one, weights, None)[0]


def kernel_map(case):
    """CoordinateManager.kernel_map"""
    asked = Asked(case)
    target = asked.own_target()
    found = asked.manager.kernel_map(
        asked.source_key, target, list(case.stride), list(case.kernel_size), list(case.dilation),
        is_transpose=asked.transposed)
    pairs = []
    for tap in tap_numbers(case):
        columns = found[tap].tolist() if tap in found else ([], [])
        pairs.append([(int(i), int(o)) for i, o in zip(*columns)])
    return adapter.kernel_map(case, asked.voxel_rows(asked.source_key, asked.transposed),
                              asked.voxel_rows(target, not asked.transposed), pairs)


def conv_grid(case):
    """CoordinateManager.stride; the output of a generative transposed convolution"""
    asked = Asked(case)
    rows = asked.voxel_rows(asked.own_target(), not asked.transposed)
    return adapter.grid(rows, len(case.members()))


def coarsen(case):
    """CoordinateManager.stride"""
    case.stride = case.factor
    return conv_grid(case)


def operands(case, asked):
    if case.type not in DTYPES:
        raise NotImplementedHere("on a CPU it convolves float64 and float32")

    def tensor(array):
        return torch.tensor(array.values, dtype=torch.float64).reshape(array.shape).to(
            DTYPES[case.type])

    weights = tensor(case.weights)
    weights = weights.reshape(list(weights.shape[:2]) + list(case.kernel_size))
    # Its coordinate map has rows of its own.
    place = {row: i for i, row in enumerate(asked.rows)}
    order = [place[row] for row in asked.voxel_rows(asked.source_key, asked.transposed)]
    return tensor(case.features), weights, tensor(case.bias) if case.bias else None, order


def convolution(case):
    """MinkowskiConvolution, MinkowskiConvolutionTranspose, the generative one for its own target"""
    asked = Asked(case)
    features, weights, bias, order = operands(case, asked)
    key, out = asked.convolved(features[order], weights, bias)
    arithmetic = "fp32" if case.type == "float32" else "fp64"
    return adapter.numbers(case, asked.voxel_rows(key, not asked.transposed), out.tolist(),
                           weights.shape[0], arithmetic)


def gradients(case):
    """autograd of the same"""
    asked = Asked(case)
    features, weights, _, order = operands(case, asked)
    bias = torch.zeros([weights.shape[0]], dtype=features.dtype)
    wanted = [t.requires_grad_() for t in (features, weights, bias)]
    key, out = asked.convolved(features[order], weights, bias)
    place = {row: i for i, row in enumerate(adapter.rows_of(asked.target))}
    rows = [place[row] for row in asked.voxel_rows(key, not asked.transposed)]
    given = torch.tensor(case.grad_output.values, dtype=torch.float64).to(out.dtype)
    given = given.reshape(case.grad_output.shape)[rows]
    found = torch.autograd.grad(out, wanted, given)
    arithmetic = "fp32" if case.type == "float32" else "fp64"
    texts = [adapter.text_of_array(g.shape, g.flatten().tolist()) for g in found]
    return Answer("gradients", features=texts[0], weights=texts[1], bias=texts[2], type=case.type,
                  multiplier=arithmetic, accumulator=arithmetic)


def single(x):
    """Rounded to a float of 32 bits."""
    return struct.unpack("f", struct.pack("f", x))[0]


def in_floats(c, s):
    """S * floor(c / S) as it comes out of its src/coordinate_map.hpp, which computes in floats;
    what is no 32-bit integer then becomes the smallest, as x86 converts it."""
    placed = int(single(math.floor(single(single(c) / s)) * s))
    return placed if -2**31 <= placed < 2**31 else -2**31


def rule(case):
    """Its documented rule for a target of its own: floor(in / S), even kernels from 0 on; and what
    becomes of it in floats."""
    if case.target is not None or case.op == "submanifold_index_map":
        return None
    stride = case.factor if case.op == "coarsen" else case.stride
    offsets = [tuple(d * (t - (k - 1) // 2) if k % 2 else d * t
                     for d, t, k in zip(case.dilation, tap, case.kernel_size))
               for tap in case.taps()]
    source = adapter.rows_of(case.members())
    transposed = is_transposed(case)
    names = ["even-kernel-from-zero"] if any(k % 2 == 0 for k in case.kernel_size) else []
    if transposed:
        target = adapter.image(source, offsets, stride, True)
        return Rule(source, target, adapter.related(source, target, offsets, stride, True), names)
    # In units of the finest voxel, as it keeps them.
    exact = sorted({(m, *(c // s * s for c, s in zip(at, stride))) for m, *at in source})
    target = exact
    if max(stride) > 1:
        target = sorted({(m, *(in_floats(c, s) for c, s in zip(at, stride)))
                         for m, *at in source})
    if target != exact:
        names = ["stride-in-floats"]
    elif case.op != "coarsen":
        names.insert(0, "coarse-by-floor")
    pairs = adapter.related(source, target, offsets, (1, 1, 1), False)
    rows = [(m, *(c // s for c, s in zip(at, stride))) for m, *at in target]
    return Rule(source, rows, pairs, names)


if __name__ == "__main__":
    torch.set_num_threads(1)
    adapter.main(adapter.Library(
        "minkowski", ME.__version__,
        {
            "coarsen": coarsen,
            "conv_grid": conv_grid,
            "conv_transpose_grid": conv_grid,
            "kernel_map": kernel_map,
            "submanifold_index_map": kernel_map,
            "convolution": convolution,
            "convolution_gradients": gradients,
        },
        rule,
        {
            "coarse-by-floor": (
                "convention",
                "A strided convolution's target is floor(in / S), whatever the kernel; with stride "
                "1 it is the input set. [K-3] asks for every voxel that some tap reaches.",
                "MinkowskiEngine's documentation, MinkowskiConvolution, CoordinateManager.stride "
                "(nvidia.github.io/MinkowskiEngine); its issue 615"),
            "even-kernel-from-zero": (
                "convention",
                "The offsets of an even kernel begin at 0; ours begin at -P.",
                "MinkowskiEngine's documentation, KernelGenerator; its issue 328"),
            "stride-in-floats": (
                "fault",
                "floor(in / S) is computed in floats of 32 bits: coordinates from 2^24 on fall "
                "into another coarse voxel, or two into one. Its documentation sets no such bound.",
                "read in its source, src/coordinate_map.hpp: the coordinate is cast to float"),
        },
        notes=["With an explicit target and an even kernel the fine voxels are moved by P."],
    ))
