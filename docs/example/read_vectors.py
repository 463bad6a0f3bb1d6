#!/usr/bin/env python3
"""Reads Leafproof's vectors with the standard library alone, and recomputes what it can.

    python3 read_vectors.py oracle/vectors/coarsen.json oracle/vectors/dialects/spconv.json

Two operations, one of each format, to show that a file says all that is needed:
- `coarsen` (docs/spec.md [F]): the voxels floor(c / f) of each member, in canonical order [G-2];
- `kernel_map` (docs/dialect-vectors.md): the pairs of each tap, by fine = step * coarse + offset.
Cases of other operations are counted and left. Exit code 0 where all that was recomputed is equal.
"""

import json
import sys


def canonical_key(voxel):
    """Root tile, then the offset in the upper node, the lower node and the leaf [G-2]."""
    x, y, z = voxel

    def node(shift, bits):
        mask = (1 << bits) - 1
        return tuple((c >> shift) & mask for c in (x, y, z))

    return (x >> 12, y >> 12, z >> 12), node(7, 5), node(3, 4), node(0, 3)


def in_order(voxels):
    return sorted(set(map(tuple, voxels)), key=canonical_key)


def coarsen(params, case):
    """Python's // rounds down, as [L-4] asks."""
    factor = params["factor"]
    members = case["source"]
    if "view" in case:  # the listed members, in that order [T-9]
        members = [members[i] for i in case["view"]]
    return [in_order([tuple(c // f for c, f in zip(v, factor)) for v in m]) for m in members]


def check_coarsen(params, case):
    if any(f < 1 for f in params["factor"]):
        return case["result"] == "invalid"
    expected = [[tuple(v) for v in member] for member in case["expected"]["voxels"]]
    return coarsen(params, case) == expected


def kernel_map(params, case):
    """Every tap asks every pair of a source and a target row of one member."""
    expected = case["expected"]
    source, target = case["source"], expected["target"]
    up = params["kind"] in ("transposed", "inverse")  # then the source is the coarse side
    rows = {tuple(row): i for i, row in enumerate(source)}
    taps = []
    for offset in expected["offsets"]:
        pairs = []
        for number, (batch, *place) in enumerate(target):
            there = []
            for c, step, by in zip(place, expected["step"], offset):
                if up:
                    c, rest = divmod(c - by, step)
                    if rest:
                        break
                    there.append(c)
                else:
                    there.append(c * step + by)
            row = rows.get((batch, *there)) if len(there) == 3 else None
            if row is not None:
                pairs.append([row, number])
        taps.append(pairs)
    return taps


def check_kernel_map(params, case):
    if case["result"] == "invalid":
        return True  # what is refused has no pairs
    return kernel_map(params, case) == case["expected"]["pairs"]


CHECKS = {
    ("leafproof-vectors", "coarsen"): check_coarsen,
    ("leafproof-dialect-vectors", "kernel_map"): check_kernel_map,
}


def read(path):
    """Yields (operation, parameters, case) of a file."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if document.get("version") != 1:
        raise SystemExit(f"{path}: version {document.get('version')} is not 1")
    for group in document["groups"]:
        for case in group["cases"]:
            yield document["format"], group["op"], group["params"], case


def main(paths):
    checked = left = wrong = 0
    for path in paths:
        for form, op, params, case in read(path):
            check = CHECKS.get((form, op))
            if check is None:
                left += 1
                continue
            checked += 1
            if not check(params, case):
                wrong += 1
                print(f"{path}: {op} {params} id {case['id']} differs: {case['comment']}")
    print(f"{checked} recomputed, {wrong} different, {left} of other operations")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
