#!/usr/bin/env python3
"""Kernel maps and convolutions in NumPy, asked line by line (docs/answer-format.md):

    leafproof verify --backend 'python3 pipe_numpy.py' --skips pipe_numpy.skips

Targets that it generates have an order of its own, which it says [M-7]; many numbers go into .npz
files, in the folder that is its argument (else in one that goes with it)."""
import sys
import tempfile
import urllib.parse
from pathlib import Path

import numpy as np

FEW = 500  # numbers that are written in a line


class Refused(Exception):
    """A case that must be refused; its kind is one of [E-3]."""


class Case(dict):
    """The fields of a case, read on demand."""

    def triple(self, name):
        numbers = [int(n) for n in self.get(name, "1").split(",")]
        return np.array(numbers if len(numbers) == 3 else numbers * 3)

    def rows(self, name, view=None):  # [rows, 4]: member, x, y, z; and how many members
        text = self[name]
        lists = [] if text == "-" else text[1:-1].split("][")
        view = range(len(lists)) if view is None else view
        if any(not 0 <= i < len(lists) for i in view):
            raise Refused("InvalidArgument")
        rows = [[m, *map(int, voxel.split(","))] for m, i in enumerate(view)
                for voxel in lists[i].split(";") if voxel]
        return np.array(rows, np.int64).reshape(-1, 4), len(view)

    def view(self):
        text = self.get("view")
        return None if text is None else [] if text == "-" else [int(i) for i in text.split(",")]

    def array(self, name, dtype):
        shape, numbers = self[name].split(":")
        shape = tuple(int(n) for n in shape.split("x"))
        values = np.array([float(n) for n in numbers.split(",") if n])
        if values.size != np.prod(shape):
            raise Refused("ShapeMismatch")
        if dtype == np.int32 and not ((abs(values + 0.5) < 2.0**31) & (values % 1 == 0)).all():
            raise Refused("InvalidArgument")
        with np.errstate(over="ignore"):
            return values.astype(dtype).reshape(shape)


class Finder:
    """Finds rows in a table of rows."""

    def __init__(self, table):
        self.axes = [np.unique(column) for column in table.T]
        keys, _ = self.keys_of(table)
        self.order = np.argsort(keys)
        self.keys = keys[self.order]

    def keys_of(self, wanted):
        key, there = np.zeros(len(wanted), np.int64), np.ones(len(wanted), bool)
        for axis, column in zip(self.axes, wanted.T):
            at = np.minimum(np.searchsorted(axis, column), len(axis) - 1)
            there &= axis[at] == column
            key = key * len(axis) + at
        return key, there

    def find(self, wanted):  # their rows, -1 where there is none
        if not len(self.keys) or not len(wanted):
            return np.full(len(wanted), -1)
        keys, there = self.keys_of(wanted)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(there & (self.keys[at] == keys), self.order[at], -1)


def partners(source, size, stride, dilation, transposed):
    """Of every tap the row of the other side that a source row is joined to, and whether [K-1]."""
    phase = dilation * (size - 1) // 2
    for tap in np.ndindex(*size):
        shift = dilation * np.array(tap) - phase
        other, there = source.copy(), np.ones(len(source), bool)
        if transposed:
            other[:, 1:] = stride * source[:, 1:] + shift
        else:
            other[:, 1:], rest = np.divmod(source[:, 1:] - shift, stride)
            there = (rest == 0).all(axis=1)
        yield other, there


def kernel_map(op, case):
    """Source and target rows, whether the target is generated, and the pairs of every tap."""
    size, stride, dilation = map(case.triple, ("kernel_size", "stride", "dilation"))
    if min(*size, *stride, *dilation) < 1:
        raise Refused("InvalidArgument")
    if op == "submanifold_index_map" and ((size % 2 == 0).any() or (stride != 1).any()):
        raise Refused("InvalidArgument")
    if max(size) > 128 or max(stride) > 64 or max(dilation) > 16 or np.prod(size) > 4096:
        raise Refused("Unsupported")
    source, members = case.rows("source", case.view())
    taps = list(partners(source, size, stride, dilation, case.get("transposed") == "true"))
    generated = op != "submanifold_index_map" and "target" not in case
    if generated:
        target = np.unique(np.concatenate([other[there] for other, there in taps]), axis=0)
        if (target[:, 1:] != target[:, 1:].astype(np.int32)).any():
            raise Refused("OutOfRange")
    else:
        target, count = case.rows("target") if "target" in case else (source, members)
        if count != members:
            raise Refused("ShapeMismatch")
    finder, pairs = Finder(target), []
    for other, there in taps:
        found = np.where(there, finder.find(other), -1)
        pairs.append((np.flatnonzero(found >= 0), found[found >= 0]))
    return source, target, generated, pairs


def convolve(case, source, target, generated, pairs):
    dtype = np.dtype(case.get("type", "float64"))
    size = tuple(case.triple("kernel_size"))
    features, weights = case.array("features", dtype), case.array("weights", dtype)
    if generated and weights.ndim == 2 and case.triple("stride").max() == max(size) == 1:
        weights = weights.reshape(*weights.shape, 1, 1, 1)  # [V-4]
    bias = case.array("bias", dtype) if "bias" in case else np.zeros(weights.shape[0], dtype)
    if features.ndim != 2 or weights.shape[1:] != (features.shape[1], *size) or len(
            features) != len(source) or bias.shape != weights.shape[:1]:
        raise Refused("ShapeMismatch")
    sums = {"float64": np.float64, "int32": np.int64}.get(dtype.name, np.float32)
    features, weights = features.astype(sums), weights.astype(sums).reshape(*weights.shape[:2], -1)
    output = np.tile(bias.astype(sums), (len(target), 1))
    with np.errstate(all="ignore"):
        for tap, (gather, scatter) in enumerate(pairs):
            output[scatter] += features[gather] @ weights[:, :, tap].T
        if dtype == np.int32 and (output != output.astype(np.int32)).any():
            raise Refused("OutOfRange")
        return output.astype(dtype)


def lists(arrays, between=","):
    return "".join("[" + between.join(map(str, array)) + "]" for array in arrays) or "-"


def own_rows(target):  # member after member
    if not len(target):
        return " target_rows=-"
    members = [target[target[:, 0] == m][:, 1:] for m in range(target[-1, 0] + 1)]
    return " target_rows=" + lists(([",".join(map(str, v)) for v in m] for m in members), ";")


def answer(number, op, case):
    if op not in ("kernel_map", "submanifold_index_map", "convolution"):
        return "not_implemented reason=maps.and.convolutions.only"
    if op == "kernel_map" and "source_maps" in case and "target" not in case:
        return "not_implemented reason=targets.without.maps"
    source, target, generated, pairs = kernel_map(op, case)
    arrays = {"target_rows": target} if generated else {}
    rows = own_rows(target) if generated else ""
    if op == "convolution":
        kind, output = "numbers", convolve(case, source, target, generated, pairs)
        arrays["output"] = output
        values = ",".join(repr(x) for x in output.ravel().tolist())
        text = f"numbers output={output.shape[0]}x{output.shape[1]}:{values}{rows}"
    elif op == "submanifold_index_map" or case.get("dense") == "true":
        kind, index = "dense", np.full((len(pairs), len(target)), -1)
        for tap, (gather, scatter) in enumerate(pairs):
            index[tap, scatter] = gather
        arrays["index"] = index
        text = "dense index=" + lists(index.tolist()) + rows
    else:
        kind = "map"
        arrays["offsets"] = np.cumsum([0] + [len(gather) for gather, _ in pairs])
        arrays["gather"], arrays["scatter"] = map(np.concatenate, zip(*pairs))
        text = "map pairs=" + lists(([f"{i},{o}" for i, o in zip(*p)] for p in pairs), ";") + rows
    if sum(array.size for array in arrays.values()) <= FEW:
        return text
    file = folder / f"{number}.npz"
    np.savez(file, **arrays)
    return f"npz kind={kind} file=" + urllib.parse.quote(str(file), safe="")


with tempfile.TemporaryDirectory() as own:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else own)
    for line in sys.stdin:
        number, _, op, *fields = line.split()
        try:
            reply = answer(number, op, Case(field.split("=", 1) for field in fields))
        except Refused as refused:
            reply = f"refused kind={refused}"
        print(number, "answer1", reply, flush=True)
