"""mlx-lattice's relations on the CPU as an adapter.

Coordinates are [batch, x, y, z] in units of their own stride, so both sides are ours; its taps are
in our order. A complete question is asked as the library has it, with no padding. With an explicit
target the relation itself is asked: where a kernel is even, and its offsets begin at 0, the fine
voxels are moved by P, which is all that sets it apart from [K-1]."""

from importlib import metadata

import mlx.core as mx
import mlx_lattice.ops as ops

import adapter
from adapter import NotImplementedHere, Rule


def is_transposed(case):
    return case.transposed or case.op == "conv_transpose_grid"


def coordinates(rows):
    if not rows:
        raise NotImplementedHere("it takes no batch without a voxel")
    if any(not -2**31 <= c < 2**31 for row in rows for c in row):
        raise NotImplementedHere("moved by P, a coordinate is outside 32 bits")
    return mx.array(rows, dtype=mx.int32)


def relation(case):
    """Rows of both sides and pairs per tap."""
    source = adapter.rows_of(case.members())
    geometry = {"kernel_size": case.kernel_size, "stride": case.stride, "dilation": case.dilation}
    move = (0, 0, 0)
    if case.op == "submanifold_index_map":
        found = ops.build_submanifold_kernel_relation(
            coordinates(source), kernel_size=case.kernel_size, dilation=case.dilation)
        target = source
    elif is_transposed(case):
        if case.target is not None:
            raise NotImplementedHere("its transposed relation takes no explicit target")
        found = ops.build_transposed_kernel_relation(coordinates(source), **geometry)
        target = None
    elif case.target is not None:
        target = adapter.rows_of(case.target)
        move = [p if k % 2 == 0 else 0 for p, k in zip(case.phase(), case.kernel_size)]
        moved = [(m, *(c + p for c, p in zip(at, move))) for m, *at in source]
        found = ops.build_target_kernel_relation(coordinates(moved), coordinates(target),
                                                 **geometry)
    else:
        found = ops.build_kernel_relation(coordinates(source), **geometry)
        target = None
    edges, outputs = [int(n) for n in found.contract.counts.tolist()[:2]]
    if target is None:
        target = [tuple(row) for row in found.contract.out_coords.tolist()[:outputs]]
    pairs = [[] for _ in case.taps()]
    columns = [found.edges.in_rows, found.edges.out_rows, found.edges.kernel_ids]
    for i, o, tap in zip(*(column.tolist()[:edges] for column in columns)):
        pairs[tap].append((i, o))
    return source, target, pairs


def kernel_map(case):
    """the edges of its kernel, target, transposed and submanifold relations"""
    return adapter.kernel_map(case, *relation(case))


def conv_grid(case):
    """the output coordinates of its kernel and transposed relations"""
    return adapter.grid(relation(case)[1], len(case.members()))


def coarsen(case):
    """the output coordinates of a kernel relation with K = S"""
    case.kernel_size = case.stride = case.factor
    if case.factor[0] * case.factor[1] * case.factor[2] > 4096:
        raise NotImplementedHere("a kernel of more than 4096 taps is not asked for")
    return conv_grid(case)


def rule(case):
    """Its documented rule for a target of its own: floor(in / S), even kernels from 0 on; of a
    transposed relation all kernels from 0 on."""
    if case.target is not None or case.op in ("submanifold_index_map", "coarsen"):
        return None
    transposed = is_transposed(case)
    offsets = [tuple(d * (t - (k - 1) // 2) if k % 2 and not transposed else d * t
                     for d, t, k in zip(case.dilation, tap, case.kernel_size))
               for tap in case.taps()]
    source = adapter.rows_of(case.members())
    if transposed:
        names = ["transposed-from-zero"] if any(case.phase()) else []
        target = adapter.image(source, offsets, case.stride, True)
    else:
        names = ["coarse-by-floor"]
        if any(k % 2 == 0 for k in case.kernel_size):
            names.append("even-kernel-from-zero")
        target = sorted({(m, *(c // s for c, s in zip(at, case.stride))) for m, *at in source})
    return Rule(source, target, adapter.related(source, target, offsets, case.stride, transposed),
                names)


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    adapter.main(adapter.Library(
        "mlx-lattice", metadata.version("mlx-lattice"),
        {
            "coarsen": coarsen,
            "conv_grid": conv_grid,
            "conv_transpose_grid": conv_grid,
            "kernel_map": kernel_map,
            "submanifold_index_map": kernel_map,
        },
        rule,
        {
            "coarse-by-floor": (
                "convention",
                "A strided relation's target is floor(in / S), whatever the kernel; with stride 1 "
                "it is the input rows. [K-3] asks for every voxel that some tap reaches.",
                "mlx-lattice 0.6.3, documentation of its relations (docs in its source package)"),
            "even-kernel-from-zero": (
                "convention",
                "The offsets of an even kernel begin at 0; ours begin at -P.",
                "mlx-lattice 0.6.3, sparse_kernel_offsets in lattice_contract/kernel.py: odd axes "
                "are centred, even ones indexed from 0"),
            "transposed-from-zero": (
                "convention",
                "The offsets of a transposed relation begin at 0 without padding; ours at -P.",
                "mlx-lattice 0.6.3, indexed_kernel_offsets in lattice_contract/kernel.py"),
        },
        notes=["With an explicit target and an even kernel the fine voxels are moved by P.",
               "Its convolutions were not asked: only relations and coordinates were."],
    ))
