"""fVDB on the CPU as an adapter, where `import fvdb` works. It was written from fVDB's
documentation and has run only where the page says so; where fVDB has no such names, it does not
start."""

import sys

import fvdb
import torch

import adapter
from adapter import NotImplementedHere


def grid_of(members):
    lists = [torch.tensor(list(m), dtype=torch.int32).reshape(-1, 3) for m in members]
    if not lists:
        raise NotImplementedHere("it takes no batch without a member")
    return fvdb.GridBatch.from_ijk(fvdb.JaggedTensor(lists))


def rows(grid):
    members = grid.ijk.unbind()
    return [(m, *voxel) for m, voxels in enumerate(members) for voxel in voxels.tolist()]


def answered(case, make):
    return adapter.grid(rows(make(grid_of(case.members()))), len(case.members()))


def from_ijk(case):
    """GridBatch.from_ijk"""
    return answered(case, lambda grid: grid)


def coarsen(case):
    """GridBatch.coarsened_grid"""
    return answered(case, lambda grid: grid.coarsened_grid(list(case.factor)))


def refine(case):
    """GridBatch.refined_grid"""
    if case.mask is not None:
        raise NotImplementedHere("masks are not asked for")
    return answered(case, lambda grid: grid.refined_grid(list(case.factor)))


def dual(case):
    """GridBatch.dual_grid"""
    return answered(case, lambda grid: grid.dual_grid())


def conv_grid(case):
    """GridBatch.conv_grid, conv_transpose_grid"""
    if case.dilation != (1, 1, 1):
        raise NotImplementedHere("it has no dilation")
    name = "conv_grid" if case.op == "conv_grid" else "conv_transpose_grid"
    return answered(case, lambda grid: getattr(grid, name)(list(case.kernel_size),
                                                           list(case.stride)))


if __name__ == "__main__":
    names = ["from_ijk", "coarsened_grid", "refined_grid", "dual_grid", "conv_grid",
             "conv_transpose_grid", "ijk"]
    absent = [name for name in names if not hasattr(fvdb.GridBatch, name)]
    if absent:
        sys.exit("this fVDB has no GridBatch." + absent[0])
    adapter.main(adapter.Library(
        "fvdb", fvdb.__version__,
        {
            "from_ijk": from_ijk,
            "coarsen": coarsen,
            "refine": refine,
            "dual": dual,
            "conv_grid": conv_grid,
            "conv_transpose_grid": conv_grid,
        },
    ))
