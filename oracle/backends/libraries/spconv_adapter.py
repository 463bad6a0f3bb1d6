"""spconv's pairs and convolutions on the CPU as an adapter (ConvAlgo.Native, one thread).

Our axes are handed over in our order, so that its C order of taps is ours; padding is P [K-1]. Its
coordinates are not negative and its outputs are cropped to a box, so members are moved by a
multiple of the stride, into a box so large that nothing is cropped."""

from importlib import metadata

import torch
import spconv.pytorch as spconv
from spconv.core import ConvAlgo
from spconv.pytorch import ops

import adapter
from adapter import NotImplementedHere

DTYPES = {"float64": torch.float64, "float32": torch.float32}


def kind_of(case):
    """submanifold, forward or transposed; what it has no way to express."""
    if case.op == "conv_transpose_grid":
        return "transposed"
    if case.op == "submanifold_index_map":
        return "submanifold"
    if case.target is not None:
        odd = all(k % 2 for k in case.kernel_size) and case.stride == (1, 1, 1)
        if odd and not case.transposed and list(case.target) == list(case.members()):
            return "submanifold"
        raise NotImplementedHere("it has no explicit target, but for a submanifold convolution")
    return "transposed" if case.transposed else "forward"


class Asked:
    """A case in spconv's terms, and its pairs."""

    def __init__(self, case):
        self.case, self.kind = case, kind_of(case)
        self.members = case.members()
        self.rows = adapter.rows_of(self.members)
        if not self.rows:
            raise NotImplementedHere("it takes no batch without a voxel")
        self.place()

    def place(self):
        """Where voxels are moved, and the box around them."""
        case, shift, shape = self.case, [], []
        for a in range(3):
            k, s, d, p = case.kernel_size[a], case.stride[a], case.dilation[a], case.phase()[a]
            low = min(row[1 + a] for row in self.rows)
            high = max(row[1 + a] for row in self.rows)
            reach = d * (k - 1)
            if self.kind == "transposed":
                move = p // s + 1 - low  # the finest voxel is S * coarse - P, not negative
            else:  # coarse = (fine + P - D * t) / S, not negative; by whole strides
                move = -(-(reach + 1 - low) // s) * s
            shift.append(move)
            shape.append(high + move + 2 * reach + 2 * s + 2 * p + 1)
        if max(shape) * max(case.stride) >= 2**31:
            raise NotImplementedHere("its coordinates are not negative and have 31 bits")
        self.shift, self.shape = shift, shape
        self.back = [m * s if self.kind == "transposed" else m // s if self.kind == "forward" else m
                     for m, s in zip(shift, case.stride)]
        self.indices = torch.tensor(
            [[m] + [c + t for c, t in zip(at, shift)] for m, *at in self.rows], dtype=torch.int32)

    def voxel_rows(self, indices):
        return [(row[0], *(c - t for c, t in zip(row[1:], self.back))) for row in indices.tolist()]

    def pairs(self):
        case = self.case
        out, pairs, counts = ops.get_indice_pairs(
            self.indices, len(self.members), list(self.shape), ConvAlgo.Native,
            list(case.kernel_size), list(case.stride), list(case.phase()), list(case.dilation),
            [0, 0, 0], self.kind == "submanifold", self.kind == "transposed")
        if self.kind == "submanifold":  # it counts only taps before the centre; the rest is -1
            counts = (pairs[0] >= 0).sum(dim=1)
        taps = [list(zip(pairs[0, t, :n].tolist(), pairs[1, t, :n].tolist()))
                for t, n in enumerate(counts.tolist())]
        return self.voxel_rows(out), taps


def kernel_map(case):
    """ops.get_indice_pairs, padding = P"""
    asked = Asked(case)
    target_rows, taps = asked.pairs()
    return adapter.kernel_map(case, asked.rows, target_rows, taps)


def conv_grid(case):
    """the output indices of ops.get_indice_pairs, padding = P"""
    asked = Asked(case)
    return adapter.grid(asked.pairs()[0], len(asked.members))


def convolution(case):
    """SparseConv3d, SparseConvTranspose3d, SubMConv3d in float64 and float32"""
    if case.type not in DTYPES:
        raise NotImplementedHere("on a CPU it convolves float64 and float32")
    asked = Asked(case)
    dtype = DTYPES[case.type]

    def tensor(array):
        return torch.tensor(array.values, dtype=torch.float64).reshape(array.shape).to(dtype)

    features, weights = tensor(case.features), tensor(case.weights)
    cout, cin = weights.shape[:2]
    layer = {"submanifold": spconv.SubMConv3d, "forward": spconv.SparseConv3d,
             "transposed": spconv.SparseConvTranspose3d}[asked.kind]
    options = {} if asked.kind == "submanifold" else {"stride": case.stride}
    layer = layer(cin, cout, case.kernel_size, padding=case.phase(), dilation=case.dilation,
                  bias=case.bias is not None, algo=ConvAlgo.Native, **options).to(dtype)
    ours = weights.reshape([cout, cin] + list(case.kernel_size)).permute(0, 2, 3, 4, 1)
    with torch.no_grad():
        if layer.conv1x1:  # the same memory viewed as [Cin, Cout]: a plain product x @ W
            ours = weights.reshape(cout, cin).T.contiguous()
        layer.weight.copy_(ours.reshape(layer.weight.shape))
        if case.bias is not None:
            layer.bias.copy_(tensor(case.bias))
        y = layer(spconv.SparseConvTensor(features, asked.indices, asked.shape,
                                          len(asked.members)))
    arithmetic = "fp32" if case.type == "float32" else "fp64"
    return adapter.numbers(case, asked.voxel_rows(y.indices), y.features.tolist(), cout, arithmetic)


def gradients(case):
    """refused: its backward asks CUDA for a stream, on the CPU too"""
    raise NotImplementedHere("its backward asks CUDA for a stream, on the CPU too")


if __name__ == "__main__":
    torch.set_num_threads(1)
    adapter.main(adapter.Library(
        "spconv", metadata.version("spconv"),
        {
            "conv_grid": conv_grid,
            "conv_transpose_grid": conv_grid,
            "kernel_map": kernel_map,
            "submanifold_index_map": kernel_map,
            "convolution": convolution,
            "convolution_gradients": gradients,
        },
        conventions={"range": adapter.RANGE},
    ))
