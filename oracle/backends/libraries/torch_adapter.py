"""PyTorch's dense convolutions as an adapter: members lie in boxes of zeros, and what is read at
the rows of the target is the answer. The map is read off by giving every tap a channel of its own
and every voxel its row number as its feature."""

import torch
import torch.nn.functional as F

import adapter
from adapter import Answer, NotImplementedHere

CELLS = 1 << 18  # of the fine box times taps: what a dense witness answers in a few milliseconds

TYPES = {"float64": torch.float64, "float32": torch.float32, "int32": torch.int64}


def boxes(case, coarse, tap_cells):
    """Where the boxes of a member begin, and how large they are, such that every coarse cell's taps
    lie within the fine box: padding is then zeros that are there."""
    stride, size = case.stride, case.kernel_size
    reach = [d * (k - 1) for d, k in zip(case.dilation, size)]
    low = [min(c[a] for c in coarse) for a in range(3)]
    high = [max(c[a] for c in coarse) for a in range(3)]
    begin = [s * l - p for s, l, p in zip(stride, low, case.phase())]
    shape = [s * (h - l) + r + 1 for s, l, h, r in zip(stride, low, high, reach)]
    cells = shape[0] * shape[1] * shape[2] * tap_cells
    if cells > CELLS:
        raise NotImplementedHere("its dense box is too large to be dense")
    return low, [h - l + 1 for l, h in zip(low, high)], begin, shape


def place(voxels, begin, shape):
    """Indices into a box, and which voxels lie in it."""
    inside = [i for i, v in enumerate(voxels)
              if all(0 <= c - b < n for c, b, n in zip(v, begin, shape))]
    at = torch.tensor([[c - b for c, b in zip(voxels[i], begin)] for i in inside],
                      dtype=torch.int64).reshape(-1, 3)
    return inside, tuple(at.T)


def dense_conv(case, x, weights, bias):
    """x: [1, C, box]; our weights [Cout, Cin, K...]. Padding is in the box already."""
    if case.transposed:
        return F.conv_transpose3d(x, weights.transpose(0, 1), bias, stride=case.stride,
                                  dilation=case.dilation)
    return F.conv3d(x, weights, bias, stride=case.stride, dilation=case.dilation)


def targets(case):
    """Voxels of the target per member: given, or where some tap finds a voxel."""
    if case.target is not None:
        return case.target
    if case.op == "submanifold_index_map":
        return case.members()
    return None


def candidates(case, source):
    """Corners of the coarse or fine box that holds everything that a source can reach."""
    reach = [d * (k - 1) - p for d, k, p in zip(case.dilation, case.kernel_size, case.phase())]
    low = [min(v[a] for v in source) for a in range(3)]
    high = [max(v[a] for v in source) for a in range(3)]
    if case.transposed or case.op == "conv_transpose_grid":
        return low, high
    return ([(l - r) // s for l, r, s in zip(low, reach, case.stride)],
            [(h + p) // s + 1 for h, p, s in zip(high, case.phase(), case.stride)])


def member_map(case, source, target):
    """Per tap: pairs of one member, and its target's voxels."""
    taps = len(case.taps())
    if not source or (target is not None and not target):
        return [[] for _ in range(taps)], list(target or ())
    coarse = list(source) if case.transposed else list(target or candidates(case, source))
    low, coarse_shape, begin, fine_shape = boxes(case, coarse, taps)
    near, far = (low, coarse_shape), (begin, fine_shape)
    source_box, target_box = (near, far) if case.transposed else (far, near)
    x = torch.zeros([1, 1] + source_box[1], dtype=torch.float64)
    inside, at = place(source, *source_box)
    x[0, 0][at] = torch.tensor([i + 1.0 for i in inside], dtype=torch.float64)
    weights = torch.eye(taps, dtype=torch.float64).reshape([taps, 1] + list(case.kernel_size))
    rows = dense_conv(case, x, weights, None)[0].round().to(torch.int64) - 1
    if list(rows.shape[1:]) != list(target_box[1]):
        raise AssertionError("a box of another size than expected")
    if target is None:
        found = torch.nonzero((rows >= 0).any(dim=0))
        target = [tuple(c + b for c, b in zip(v, target_box[0])) for v in found.tolist()]
    inside, at = place(target, *target_box)
    index = rows[(slice(None),) + at].tolist()
    return [[(i, o) for i, o in zip(tap, inside) if i >= 0] for tap in index], target


def batch_map(case):
    """All members: rows of both sides and pairs."""
    given = targets(case)
    source_rows, target_rows, pairs = [], [], [[] for _ in case.taps()]
    for m, source in enumerate(case.members()):
        own, target = member_map(case, source, None if given is None else given[m])
        for tap, found in zip(pairs, own):
            tap.extend((i + len(source_rows), o + len(target_rows)) for i, o in found)
        source_rows += adapter.rows_of([[]] * m + [source])
        target_rows += adapter.rows_of([[]] * m + [target])
    return source_rows, target_rows, pairs


def kernel_map(case):
    """conv3d and conv_transpose3d, a channel per tap, row numbers as features"""
    return adapter.kernel_map(case, *batch_map(case))


def conv_grid(case):
    """where conv3d, or conv_transpose3d, finds a voxel at any tap"""
    case.transposed = case.op == "conv_transpose_grid"
    return adapter.grid(batch_map(case)[1], len(case.members()))


def operands(case):
    if case.type not in TYPES:
        raise NotImplementedHere("its convolutions of float16 do not run on a CPU")
    dtype = TYPES[case.type]
    if case.type == "int32":
        biggest = max([abs(x) for x in case.features.values], default=0)
        if biggest * max([abs(x) for x in case.weights.values], default=0) > 2**40:
            raise NotImplementedHere("int64 sums might not fit")

    def tensor(array):
        return torch.tensor(array.values, dtype=torch.float64).reshape(array.shape).to(dtype)

    if any(x in (float("inf"), float("-inf")) or x != x for x in case.weights.values):
        raise NotImplementedHere("a dense convolution multiplies the zeros of absent voxels, too")
    weights = tensor(case.weights)
    weights = weights.reshape(list(weights.shape[:2]) + list(case.kernel_size))
    return tensor(case.features), weights, tensor(case.bias) if case.bias else None


def convolution_of(case, features, weights, bias):
    """Rows of the target, and the output at each; differentiable."""
    given = targets(case)
    channels = weights.shape[0]
    rows, output, first = [], [], 0
    for m, source in enumerate(case.members()):
        target = None if given is None else given[m]
        here = features[first:first + len(source)]
        first += len(source)
        if target is None:
            target = member_map(case, source, None)[1]
        out = torch.zeros([len(target), channels], dtype=features.dtype)
        if bias is not None:
            out = out + bias
        if source and target:
            coarse = source if case.transposed else target
            low, coarse_shape, begin, fine_shape = boxes(
                case, coarse, max(features.shape[1], channels))
            near, far = (low, coarse_shape), (begin, fine_shape)
            source_box, target_box = (near, far) if case.transposed else (far, near)
            inside, at = place(source, *source_box)
            x = torch.zeros(source_box[1] + [features.shape[1]], dtype=features.dtype)
            x = x.index_put(at, here[inside])
            y = dense_conv(case, x.permute(3, 0, 1, 2)[None], weights, bias)[0]
            inside, at = place(target, *target_box)
            out = out.index_put((torch.tensor(inside, dtype=torch.int64),),
                                y[(slice(None),) + at].T)
        rows += adapter.rows_of([[]] * m + [target])
        output.append(out)
    empty = torch.zeros([0, channels], dtype=features.dtype)
    return rows, torch.cat(output) if output else empty


def convolution(case):
    """conv3d and conv_transpose3d in float64, float32 and, for int32, int64"""
    rows, output = convolution_of(case, *operands(case))
    if case.type == "int32" and output.numel() and output.abs().max() > 2**31 - 1:
        raise NotImplementedHere("a case that must be refused is not asked of the library")
    arithmetic = "fp32" if case.type == "float32" else "fp64"
    return adapter.numbers(case, rows, output.tolist(), output.shape[1], arithmetic)


def gradients(case):
    """autograd of the same"""
    if case.type == "int32":
        raise NotImplementedHere("autograd has no integers")
    if any(x - x != 0 for a in (case.features, case.grad_output) for x in a.values):
        raise NotImplementedHere("a dense gradient multiplies the zeros of absent voxels, too")
    features, weights, _ = operands(case)
    bias = torch.zeros([weights.shape[0]], dtype=features.dtype)
    wanted = [t.requires_grad_() for t in (features, weights, bias)]
    _, output = convolution_of(case, *wanted)
    given = torch.tensor(case.grad_output.values, dtype=torch.float64).to(output.dtype)
    found = [None] * 3
    if output.requires_grad:  # not so where no row of a target is there
        found = torch.autograd.grad(output, wanted, given.reshape(output.shape), allow_unused=True)
    found = [torch.zeros_like(w) if g is None else g for w, g in zip(wanted, found)]
    arithmetic = "fp32" if case.type == "float32" else "fp64"
    texts = [adapter.text_of_array(g.shape, g.flatten().tolist()) for g in found]
    return Answer("gradients", features=texts[0], weights=texts[1], bias=texts[2], type=case.type,
                  multiplier=arithmetic, accumulator=arithmetic)


if __name__ == "__main__":
    torch.set_num_threads(1)
    adapter.main(adapter.Library(
        "torch", torch.__version__,
        {
            "conv_grid": conv_grid,
            "conv_transpose_grid": conv_grid,
            "kernel_map": kernel_map,
            "submanifold_index_map": kernel_map,
            "convolution": convolution,
            "convolution_gradients": gradients,
        },
        conventions={"range": adapter.RANGE},
        notes=["Dense: a member's box times taps has at most %d cells." % CELLS],
    ))
