#!/usr/bin/env python3
"""A backend in plain Python, asked line by line (docs/answer-format.md):

    leafproof verify --backend 'python3 pipe_plain.py' --skips pipe_plain.skips

Four passes on lists of voxels; whatever else is asked is not implemented, and said to be."""
import sys
from itertools import product
from math import isfinite
from urllib.parse import unquote_to_bytes

LOW, HIGH = -2**31, 2**31 - 1


class Refused(Exception):
    """A case that must be refused; its kind is one of [E-3]."""


def lists(text):  # "[0,0,0;1,2,3][]": the voxels of each member
    if text == "-":
        return []
    return [[tuple(map(int, voxel.split(","))) for voxel in member.split(";") if voxel]
            for member in text[1:-1].split("][")]


def triple(text):  # "2" is "2,2,2"
    numbers = [int(number) for number in text.split(",")]
    return numbers if len(numbers) == 3 else numbers * 3


def spread(voxel, scale, lo, hi):  # all of scale * voxel + lo ... hi
    ends = [(n * s + a, n * s + b) for n, s, a, b in zip(voxel, scale, lo, hi)]
    if min(a for a, _ in ends) < LOW or max(b for _, b in ends) > HIGH:
        raise Refused("OutOfRange")
    return product(*(range(a, b + 1) for a, b in ends))


def members(case):  # those of a view, where there is one
    source = lists(case["source"])
    view = case.get("view", ",".join(map(str, range(len(source)))) or "-")
    chosen = [] if view == "-" else [int(i) for i in view.split(",")]
    if any(not 0 <= i < len(source) for i in chosen):
        raise Refused("InvalidArgument")
    return [source[i] for i in chosen]


def check_maps(op, case, f):  # they are not kept, but a bad one is refused [G-7]
    for size_of_map in case.get("source_maps", "1,1,1@0,0,0").split(";"):
        sizes, origin = ([float(n) for n in part.split(",")] for part in size_of_map.split("@"))
        scaled = [s / n if op == "refine" else s * n for s, n in zip(sizes, f)]
        moved = [o + (t - s) / 2 for o, s, t in zip(origin, sizes, scaled)]
        if not all(map(isfinite, sizes + scaled + origin + moved)) or min(sizes + scaled) <= 0:
            raise Refused("InvalidArgument")
    for name in case.get("source_names", "").split(","):
        if "%00" in name or len(unquote_to_bytes(name)) > 255:
            raise Refused("InvalidArgument")


def answer(op, case):
    if op not in ("from_ijk", "refine", "coarsen", "dilate_box") or "mask" in case:
        return "not_implemented reason=lists.of.voxels.only"
    f, lo, hi = (triple(case.get(name, default)) for name, default in
                 (("factor", "1"), ("lo", "0"), ("hi", "0")))
    if min(f) < 1 or any(a > b for a, b in zip(lo, hi)) or (op == "from_ijk" and "view" in case):
        raise Refused("InvalidArgument")
    if (op == "refine" and max(f) > 1024) or any(b - a >= 1024 for a, b in zip(lo, hi)):
        raise Refused("Unsupported")
    chosen = members(case)
    check_maps(op, case, f)
    result = []
    for member in chosen:
        if op == "from_ijk":
            result.append(set(member))
        elif op == "coarsen":
            result.append({tuple(n // s for n, s in zip(voxel, f)) for voxel in member})
        elif op == "refine":
            top = [n - 1 for n in f]
            result.append({cell for voxel in member for cell in spread(voxel, f, (0, 0, 0), top)})
        else:
            result.append({cell for voxel in member for cell in spread(voxel, (1, 1, 1), lo, hi)})
    text = "".join("[" + ";".join("%d,%d,%d" % v for v in member) + "]" for member in result)
    return "grid order=own voxels=" + (text or "-")


for line in sys.stdin:
    number, _, op, *fields = line.split()
    try:
        reply = answer(op, dict(field.split("=", 1) for field in fields))
    except Refused as refused:
        reply = "refused kind=%s" % refused
    print(number, "answer1", reply, flush=True)
