"""The submanifold convolution of the LATO.2 port to MLX as an algorithm, written anew from its
description and run by MLX on the CPU: coordinates become sorted keys; every tap looks its
neighbours up among them, which gives a map of indices with -1 where there is none; one gather and
one product give the output. The map is kept for the coordinates that it was made of."""

import functools
import itertools

import mlx.core as mx

import adapter
from adapter import NotImplementedHere

DTYPES = {"float64": mx.float64, "float32": mx.float32, "float16": mx.float16}


def search(keys, wanted):
    """For each wanted key its first place among the sorted ones: bisection, all at once."""
    low = mx.zeros(wanted.shape, dtype=mx.int32)
    high = mx.full(wanted.shape, keys.shape[0], dtype=mx.int32)
    for _ in range(keys.shape[0].bit_length() + 1):
        middle = (low + high) // 2
        before = mx.take(keys, mx.minimum(middle, keys.shape[0] - 1)) < wanted
        before = mx.logical_and(before, low < high)
        low, high = mx.where(before, middle + 1, low), mx.where(before, high, middle)
    return low


def keys_of(coordinates, begin, extent):
    """One integer for [batch, z, y, x], in a box that has room for every neighbour."""
    key = coordinates[:, 0]
    for axis in range(3):
        key = key * extent[axis] + (coordinates[:, 1 + axis] - begin[axis])
    return key


@functools.lru_cache(maxsize=8)
def index_map(rows, size):
    """[taps, rows] of rows, -1 where a tap finds none; taps in C order over (dz, dy, dx)."""
    coordinates = mx.array(rows, dtype=mx.int64)
    half = [k // 2 for k in size]
    begin = [min(r[1 + a] for r in rows) - half[a] for a in range(3)]
    extent = [max(r[1 + a] for r in rows) + half[a] + 1 - b for a, b in enumerate(begin)]
    if extent[0] * extent[1] * extent[2] * (rows[-1][0] + 1) >= 2**63:
        raise NotImplementedHere("its keys have 63 bits")
    keys = keys_of(coordinates, begin, extent)
    order = mx.argsort(keys)
    keys_in_order = mx.take(keys, order)
    found = []
    for tap in itertools.product(*(range(k) for k in size)):
        offset = mx.array([[0] + [t - h for t, h in zip(tap, half)]], dtype=mx.int64)
        wanted = keys_of(coordinates + offset, begin, extent)
        place = mx.minimum(search(keys_in_order, wanted), keys.shape[0] - 1)
        there = mx.take(keys_in_order, place) == wanted
        found.append(mx.where(there, mx.take(order, place).astype(mx.int32), -1))
    index = mx.stack(found)
    mx.eval(index)
    return index


def sub_m_conv(features, weights, index):
    """weights: [taps, Cin, Cout]. An absent neighbour is a row of zeros, and is multiplied."""
    padded = mx.concatenate([features, mx.zeros((1, features.shape[1]), dtype=features.dtype)])
    gathered = mx.take(padded, mx.where(index < 0, features.shape[0], index).T, axis=0)
    return gathered.reshape(index.shape[1], -1) @ weights.reshape(-1, weights.shape[2])


def rows_of(case):
    """[batch, z, y, x]: its axes are ours in reverse, and so are its taps."""
    if case.dilation != (1, 1, 1):
        raise NotImplementedHere("it has no dilation")
    if case.op != "submanifold_index_map":
        odd = all(k % 2 for k in case.kernel_size) and case.stride == (1, 1, 1)
        if case.transposed or not odd or case.target is None or \
                list(case.target) != list(case.members()):
            raise NotImplementedHere("it is a submanifold convolution")
    return tuple((m, z, y, x) for m, x, y, z in adapter.rows_of(case.members()))


def taps_in_its_order(case):
    """For each of our taps its number of (tz, ty, tx)."""
    kx, ky, _ = case.kernel_size
    return [(tz * ky + ty) * kx + tx for tx, ty, tz in case.taps()]


def kernel_map(case):
    """the index map with -1"""
    rows = rows_of(case)
    own = adapter.rows_of(case.members())
    if not rows:
        return adapter.kernel_map(case, own, own, [[] for _ in case.taps()])
    index = index_map(rows, case.kernel_size[::-1]).tolist()
    pairs = [[(i, o) for o, i in enumerate(index[t]) if i >= 0] for t in taps_in_its_order(case)]
    return adapter.kernel_map(case, own, own, pairs)


def convolution(case):
    """one gather and one product, in float64, float32 and float16"""
    rows = rows_of(case)
    own = adapter.rows_of(case.members())
    if case.type not in DTYPES:
        raise NotImplementedHere("MLX multiplies no matrices of integers")
    if any(x - x != 0 for x in case.weights.values):
        raise NotImplementedHere("it multiplies the zeros of absent neighbours, too")
    dtype = DTYPES[case.type]
    cout, cin = case.weights.shape[:2]
    if not rows:
        return adapter.numbers(case, own, [], cout, "fp64")
    features = mx.array(case.features.values, dtype=mx.float64).reshape(case.features.shape)
    weights = mx.array(case.weights.values, dtype=mx.float64).reshape(cout, cin, -1)
    weights = weights.transpose(2, 1, 0)[mx.array(adapter.inverse(taps_in_its_order(case)))]
    index = index_map(rows, case.kernel_size[::-1])
    out = sub_m_conv(features.astype(dtype), weights.astype(dtype), index)
    if case.bias is not None:
        out = out + mx.array(case.bias.values, dtype=mx.float64).astype(dtype)
    arithmetic = {"float64": "fp64", "float32": "fp32", "float16": "fp16"}[case.type]
    return adapter.numbers(case, own, out.astype(mx.float64).tolist(), cout, arithmetic)


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    adapter.main(adapter.Library(
        "mlx-lato", "the algorithm, under MLX " + mx.__version__,
        {
            "kernel_map": kernel_map,
            "submanifold_index_map": kernel_map,
            "convolution": convolution,
        },
    ))
