"""Leafproof: is a batch of sparse voxel grids, or a convolution over one, what it must be?

Batches, every topology pass, kernel maps, plans and convolution, by the plain reference or by the
batched builder on the host; and ``check_*``, which judge what another library returned. Every
function here is one question (docs/spec.md has what each means, clause by clause), and ``backend``
is who answers it: ``"host"``, ``"reference"``, another of ``backends()``, or a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._against import Answer, against
from ._core import (
    Batch,
    Case,
    KernelMap,
    Plan,
    answer,
    backends,
    check,
    families,
    judge,
    operations,
    shrink,
)
from ._errors import Error, Mismatch
from .sweep import SweepError, sweep

__all__ = [
    "Answer",
    "Batch",
    "Case",
    "Error",
    "KernelMap",
    "Mismatch",
    "Plan",
    "SweepError",
    "against",
    "answer",
    "backends",
    "check",
    "check_coarsen",
    "check_conv_grid",
    "check_conv_transpose_grid",
    "check_convolution",
    "check_dilate_box",
    "check_dual",
    "check_erode_box",
    "check_from_ijk",
    "check_from_points",
    "check_gradients",
    "check_grid",
    "check_intersect",
    "check_kernel_map",
    "check_merge",
    "check_prune",
    "check_refine",
    "check_subtract",
    "coarsen",
    "conv_grid",
    "conv_transpose_grid",
    "convolution",
    "convolution_gradients",
    "dilate_box",
    "dual",
    "erode_box",
    "families",
    "intersect",
    "judge",
    "kernel_map",
    "merge",
    "operations",
    "prune",
    "refine",
    "shrink",
    "submanifold_map",
    "subtract",
    "sweep",
]

try:
    __version__ = version("leafproof")
except PackageNotFoundError:  # run from a build folder
    __version__ = "0"

Triple = int | Sequence[int]


def __getattr__(name: str) -> Any:
    if name == "strategies":  # imported when it is asked for: only it needs Hypothesis
        return import_module(".strategies", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- passes [T]


def refine(batch: Batch, factor: Triple, mask: Any = None, backend: str = "host") -> Batch:
    """Every voxel, or every one that ``mask`` flags, becomes ``factor`` cubed [T-2]."""
    return _core.ask("refine", backend, source=batch, factor=factor, mask=mask)


def coarsen(batch: Batch, factor: Triple, backend: str = "host") -> Batch:
    """Coordinates divided, rounded down [T-3]."""
    return _core.ask("coarsen", backend, source=batch, factor=factor)


def dilate_box(batch: Batch, lo: Triple, hi: Triple, backend: str = "host") -> Batch:
    """Every voxel moved by every step of the box [T-4]."""
    return _core.ask("dilate_box", backend, source=batch, lo=lo, hi=hi)


def erode_box(batch: Batch, lo: Triple, hi: Triple, backend: str = "host") -> Batch:
    """The voxels whose whole box is there [T-5]."""
    return _core.ask("erode_box", backend, source=batch, lo=lo, hi=hi)


def dual(batch: Batch, backend: str = "host") -> Batch:
    """The corners of all voxels [T-4]."""
    return _core.ask("dual", backend, source=batch)


def prune(batch: Batch, mask: Any, backend: str = "host") -> Batch:
    """The flagged voxels: all flags in one array, or a list of one array per member [T-6]."""
    return _core.ask("prune", backend, source=batch, mask=mask)


def merge(batch: Batch, other: Batch, backend: str = "host") -> Batch:
    """Union, member by member [T-6]."""
    return _core.ask("merge", backend, source=batch, other=other)


def intersect(batch: Batch, other: Batch, backend: str = "host") -> Batch:
    """What both have, member by member [T-6]."""
    return _core.ask("intersect", backend, source=batch, other=other)


def subtract(batch: Batch, other: Batch, backend: str = "host") -> Batch:
    """What the other has not, member by member [T-6]."""
    return _core.ask("subtract", backend, source=batch, other=other)


# --- convolution [K] [M] [V]


def conv_grid(
    batch: Batch,
    kernel_size: Triple,
    stride: Triple = 1,
    dilation: Triple = 1,
    backend: str = "host",
) -> Batch:
    """Every coarse voxel joined to some voxel of the batch [K-3]."""
    return _core.ask("conv_grid", backend, source=batch, **_kernel(kernel_size, stride, dilation))


def conv_transpose_grid(
    batch: Batch,
    kernel_size: Triple,
    stride: Triple = 1,
    dilation: Triple = 1,
    backend: str = "host",
) -> Batch:
    """Every fine voxel joined to some voxel of the batch [K-4]."""
    return _core.ask(
        "conv_transpose_grid", backend, source=batch, **_kernel(kernel_size, stride, dilation)
    )


def kernel_map(
    source: Batch,
    target: Batch | None = None,
    kernel_size: Triple = 3,
    stride: Triple = 1,
    dilation: Triple = 1,
    transposed: bool = False,
    backend: str = "host",
) -> KernelMap:
    """The pairs of rows that each tap joins [M-2]; without a target onto the complete one [K-6]."""
    return _core.ask(
        "kernel_map",
        backend,
        source=source,
        target=target,
        transposed=transposed,
        **_kernel(kernel_size, stride, dilation),
    )


def submanifold_map(
    batch: Batch, kernel_size: Triple = 3, dilation: Triple = 1, backend: str = "host"
) -> NDArray[Any]:
    """[taps, rows]: the source row of each tap and row, or -1 [M-4] [M-5]."""
    return _core.ask(
        "submanifold_index_map", backend, source=batch, **_kernel(kernel_size, 1, dilation)
    )


def convolution(
    source: Batch,
    features: ArrayLike,
    weights: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    kernel_size: Triple | None = None,
    stride: Triple = 1,
    dilation: Triple = 1,
    transposed: bool = False,
    target: Batch | None = None,
    backend: str = "host",
) -> NDArray[Any]:
    """[target rows, Cout], in the type of the features [V-1]. The kernel is that of the weights.

    A ``Plan`` does the same again without finding the pairs again.
    """
    size = _kernel_size(kernel_size, weights)
    if backend == "host":
        plan = Plan(source, size, stride, dilation, transposed, target)
        return plan.convolve(features, weights, bias)
    return _core.ask(
        "convolution",
        backend,
        source=source,
        target=target,
        transposed=transposed,
        features=features,
        weights=weights,
        bias=bias,
        **_kernel(size, stride, dilation),
    )


def convolution_gradients(
    source: Batch,
    features: ArrayLike,
    weights: ArrayLike,
    grad_output: ArrayLike,
    *,
    kernel_size: Triple | None = None,
    stride: Triple = 1,
    dilation: Triple = 1,
    transposed: bool = False,
    target: Batch | None = None,
    backend: str = "host",
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Those of the features, the weights and the bias [V-2]."""
    size = _kernel_size(kernel_size, weights)
    if backend == "host":
        plan = Plan(source, size, stride, dilation, transposed, target)
        return plan.gradients(features, weights, grad_output)
    return _core.ask(
        "convolution_gradients",
        backend,
        source=source,
        target=target,
        transposed=transposed,
        features=features,
        weights=weights,
        grad_output=grad_output,
        **_kernel(size, stride, dilation),
    )


# --- judging what a library returned


def check_grid(
    op: str, batch: Batch, actual: Any, profile: str | None = None, **params: Any
) -> None:
    """Is ``actual`` what ``op`` makes of the batch? Raises ``Mismatch`` where it is not.

    ``actual``: a ``Batch``, the bytes of NanoVDB grids, or a pair ``(ijk, offsets)`` in the
    library's own row order [M-7]. ``profile`` [G-9]: ``"sets"`` (of a pair unless you ask for
    more), ``"topology"`` (of grids; of a pair: also the order of voxels), ``"layout"``,
    ``"bytes"``. An ``Error`` as ``actual`` is a refusal, and right where the reference refuses
    alike.
    """
    check(Case(op, source=batch, **params), actual, profile=profile)


def check_from_ijk(
    ijk: ArrayLike, offsets: ArrayLike | None, actual: Any, profile: str | None = None
) -> None:
    """Is ``actual`` the batch of these voxels [T-1]? As ``check_grid``."""
    check(Case("from_ijk", ijk=ijk, offsets=offsets), actual, profile=profile)


def check_from_points(
    points: ArrayLike,
    offsets: ArrayLike | None,
    actual: Any,
    voxel_sizes: ArrayLike = 1,
    origins: ArrayLike = 0,
    profile: str | None = None,
) -> None:
    """Is ``actual`` the batch of the voxels nearest to these points [T-1]? As ``check_grid``."""
    case = Case(
        "from_points", points=points, offsets=offsets, voxel_sizes=voxel_sizes, origins=origins
    )
    check(case, actual, profile=profile)


def check_refine(
    batch: Batch, actual: Any, factor: Triple, mask: Any = None, profile: str | None = None
) -> None:
    """As ``check_grid`` of "refine"."""
    check_grid("refine", batch, actual, profile, factor=factor, mask=mask)


def check_coarsen(batch: Batch, actual: Any, factor: Triple, profile: str | None = None) -> None:
    """As ``check_grid`` of "coarsen"."""
    check_grid("coarsen", batch, actual, profile, factor=factor)


def check_dilate_box(
    batch: Batch, actual: Any, lo: Triple, hi: Triple, profile: str | None = None
) -> None:
    """As ``check_grid`` of "dilate_box"."""
    check_grid("dilate_box", batch, actual, profile, lo=lo, hi=hi)


def check_erode_box(
    batch: Batch, actual: Any, lo: Triple, hi: Triple, profile: str | None = None
) -> None:
    """As ``check_grid`` of "erode_box"."""
    check_grid("erode_box", batch, actual, profile, lo=lo, hi=hi)


def check_dual(batch: Batch, actual: Any, profile: str | None = None) -> None:
    """As ``check_grid`` of "dual"."""
    check_grid("dual", batch, actual, profile)


def check_prune(batch: Batch, actual: Any, mask: Any, profile: str | None = None) -> None:
    """As ``check_grid`` of "prune"."""
    check_grid("prune", batch, actual, profile, mask=mask)


def check_merge(batch: Batch, actual: Any, other: Batch, profile: str | None = None) -> None:
    """As ``check_grid`` of "merge"."""
    check_grid("merge", batch, actual, profile, other=other)


def check_intersect(batch: Batch, actual: Any, other: Batch, profile: str | None = None) -> None:
    """As ``check_grid`` of "intersect"."""
    check_grid("intersect", batch, actual, profile, other=other)


def check_subtract(batch: Batch, actual: Any, other: Batch, profile: str | None = None) -> None:
    """As ``check_grid`` of "subtract"."""
    check_grid("subtract", batch, actual, profile, other=other)


def check_conv_grid(
    batch: Batch,
    actual: Any,
    kernel_size: Triple,
    stride: Triple = 1,
    dilation: Triple = 1,
    profile: str | None = None,
) -> None:
    """As ``check_grid`` of "conv_grid"."""
    check_grid("conv_grid", batch, actual, profile, **_kernel(kernel_size, stride, dilation))


def check_conv_transpose_grid(
    batch: Batch,
    actual: Any,
    kernel_size: Triple,
    stride: Triple = 1,
    dilation: Triple = 1,
    profile: str | None = None,
) -> None:
    """As ``check_grid`` of "conv_transpose_grid"."""
    check_grid(
        "conv_transpose_grid", batch, actual, profile, **_kernel(kernel_size, stride, dilation)
    )


def check_kernel_map(
    source: Batch,
    actual: Any,
    target: Batch | None = None,
    kernel_size: Triple = 3,
    stride: Triple = 1,
    dilation: Triple = 1,
    transposed: bool = False,
    *,
    source_rows: Any = None,
    target_rows: Any = None,
    profile: str | None = None,
) -> None:
    """Is ``actual`` the kernel map? A ``KernelMap``, ``(offsets, gather, scatter)``, or an array
    ``[taps, target rows]`` of source rows and -1 [M-4].

    Pairs of a tap may stand in any order [M-3] (of profile ``"bytes"`` in that of [M-2]). Where the
    library numbers its rows its own way [M-7], ``source_rows`` and ``target_rows`` say which they
    are: ``(ijk, offsets)``, or ``[rows, 4]``: member, x, y, z.
    """
    dense = not isinstance(actual, (KernelMap, tuple, list, Error)) and actual is not NotImplemented
    case = Case(
        "kernel_map",
        source=source,
        target=target,
        transposed=transposed,
        dense=dense,
        **_kernel(kernel_size, stride, dilation),
    )
    check(case, actual, profile=profile, source_rows=source_rows, target_rows=target_rows)


def check_convolution(
    source: Batch,
    actual: Any,
    features: ArrayLike,
    weights: ArrayLike,
    bias: ArrayLike | None = None,
    *,
    kernel_size: Triple | None = None,
    stride: Triple = 1,
    dilation: Triple = 1,
    transposed: bool = False,
    target: Batch | None = None,
    target_rows: Any = None,
    accumulator: str | None = None,
    multiplier: str | None = None,
) -> None:
    """Are these the numbers, by the bound of [V-3]? Whole numbers must be exact.

    ``features`` are in the canonical order of the source's rows. ``target_rows``: the voxels of the
    rows of ``actual``, where they stand in the library's own order [M-7]. ``accumulator`` and
    ``multiplier``: what it sums and multiplies in, ``"fp64"``, ``"fp32"``, ``"tf32"``, ``"fp16"``;
    unless said, what [V-6] says of the type.
    """
    case = Case(
        "convolution",
        source=source,
        target=target,
        transposed=transposed,
        features=features,
        weights=weights,
        bias=bias,
        **_kernel(_kernel_size(kernel_size, weights), stride, dilation),
    )
    check(case, actual, target_rows=target_rows, accumulator=accumulator, multiplier=multiplier)


def check_gradients(
    source: Batch,
    actual: Any,
    features: ArrayLike,
    weights: ArrayLike,
    grad_output: ArrayLike,
    *,
    kernel_size: Triple | None = None,
    stride: Triple = 1,
    dilation: Triple = 1,
    transposed: bool = False,
    target: Batch | None = None,
    source_rows: Any = None,
    accumulator: str | None = None,
    multiplier: str | None = None,
) -> None:
    """Are these the gradients of features, weights and bias [V-2]? As ``check_convolution``."""
    case = Case(
        "convolution_gradients",
        source=source,
        target=target,
        transposed=transposed,
        features=features,
        weights=weights,
        grad_output=grad_output,
        **_kernel(_kernel_size(kernel_size, weights), stride, dilation),
    )
    check(case, actual, source_rows=source_rows, accumulator=accumulator, multiplier=multiplier)


def _kernel(kernel_size: Triple, stride: Triple, dilation: Triple) -> dict[str, Triple]:
    return {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}


def _kernel_size(kernel_size: Triple | None, weights: Any) -> Triple:
    """That of the weights [Cout, Cin, Kx, Ky, Kz] where it is not given; of a matrix 1."""
    if kernel_size is not None:
        return kernel_size
    shape = numpy.shape(weights)
    return tuple(shape[2:]) if len(shape) == 5 else 1
