"""Hypothesis strategies that draw the cases of the harness, and shrink.

    from hypothesis import given
    from leafproof import strategies as leafs

    @given(leafs.cases("refine"))
    def test_refine(case):
        leafproof.check(case, mine(case.source, case.params["factor"]))

How a case of the harness shrinks in Hypothesis. First a number is drawn that says which case it is;
0 is none of them. Then all that a case is made of is drawn, number by number (`_Numbers`): of a
case that there is from ranges that hold nothing but its own number, else from all that there are.
Hypothesis keeps the numbers and not their ranges, and makes simpler what it keeps. So from a case
that fails it comes to the same numbers after a 0, which are free from then on: each may be made
smaller or be left out, and what shrinks is a member, a voxel, a width or a flag, not a seed. (Since
Hypothesis 6.130 or a little earlier; before, it kept bytes.)"""

from __future__ import annotations

import functools
import json
import math

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ._core import Case, answer, operations
from ._core import families as families_of
from ._errors import Error, refusal

__all__ = ["OPS", "batches", "cases", "conv_params", "features", "masks", "points"]

OPS = tuple(operations())
_CONVOLUTION = ("conv_grid", "conv_transpose_grid", "submanifold_index_map", "kernel_map",
                "convolution", "convolution_gradients")
_MAPPED = _CONVOLUTION[3:]  # these take a direction and a target
_SUMS = _CONVOLUTION[4:]
_LISTS_ONLY = ("prune", "merge", "intersect", "subtract")  # refused for lists that do not fit

_INT32 = (-2**31, 2**31 - 1)
_INT64 = (-2**63, 2**63 - 1)
_LONGEST_RUN = 512  # of voxels along z
_DIGIT = 34  # bits, for what two coordinates differ by
_MOST_HEADER = (1 << 35) - 1  # see _header_code()
_LARGEST = {"kernel_size": 128, "stride": 64, "dilation": 16}  # [K-7], as the next
_MOST_TAPS = 4096
_MOST_NUMBERS = 200  # of a case: Hypothesis takes 500 steps, and many drop only one of them
_FEW_NUMBERS = 90  # of three cases in four: each number takes some 30 us
_MOST_WORK = 1 << 17  # voxels of a result, pairs of a map
_SEEDS_TRIED = 400  # for a case that is not too large, of which convolutions have few


def cases(op=None, *, families=None, refused=True):
    """Cases (`leafproof.Case`) of an operation, of several, or of all: those that `verify` asks
    (docs/families.md) but for the largest, and for refused ones whose lists do not fit one another.
    `families`: whose first member is of one of these families of voxel sets. `refused`: also those
    that must be refused. Simplest is no member, and every parameter 0 or 1."""
    ops = OPS if op is None else (op,) if isinstance(op, str) else tuple(op)
    for name in ops:
        if name not in OPS:
            raise refusal("cases", "op", name, f"must be one of {', '.join(OPS)}")
    return st.one_of([_cases(name, families, refused) for name in ops])


def batches(*, families=None, min_members=0, max_members=None):
    """Batches (`leafproof.Batch`) with maps and names, as cases() has them."""

    def wanted(case):
        return case.view is None and min_members <= len(case.source) and (
            max_members is None or len(case.source) <= max_members)

    return _cases("dual", families, False, wanted).map(lambda case: case.source)


def points(*, families=None):
    """Points and the maps of their members, as cases("from_points") has them: a dictionary of the
    arguments of `leafproof.Batch.from_points`, `points` float64[N, 3], `offsets` int64[B + 1],
    `voxel_sizes` and `origins` float64[B, 3]."""

    def arguments(case):
        fields = json.loads(case.to_json())
        lists = fields.get("points", [])
        maps = fields.get("source_maps", [_UNIT_MAP] * len(lists))

        def triples(of):
            return np.array(of, dtype=np.float64).reshape(-1, 3)

        return {"points": triples([point for one in lists for point in one]),
                "offsets": np.cumsum([0, *map(len, lists)], dtype=np.int64),
                "voxel_sizes": triples([one["voxel_size"] for one in maps]),
                "origins": triples([one["origin"] for one in maps])}

    return _cases("from_points", families, False).map(arguments)


def conv_params(*, transposed=None):
    """Parameters of kernel maps: a dictionary of `kernel_size`, `stride`, `dilation`, triples, and
    `transposed`, which is as given if it is. Simplest is (1, 1, 1) each, and False."""

    @st.composite
    def params(draw):
        given, numbers = _begin(draw, "kernel_map", _numbers("kernel_map", None, False))
        fields = _Fields(numbers, "kernel_map", given).kernel()
        sizes = [fields[name] for name in _LARGEST]
        if min(map(min, sizes)) < 1 or math.prod(fields["kernel_size"]) > _MOST_TAPS or any(
                max(fields[name]) > most for name, most in _LARGEST.items()):
            reject()
        return {name: tuple(fields[name]) for name in _LARGEST} | {
            "transposed": fields["transposed"] if transposed is None else transposed}

    return params()


def masks(batch):
    """Flags bool[N] for the rows of a batch: none, all, one, all but one, the first half, three in
    seven, any. Simplest is none."""
    rows = len(batch.ijk)

    @st.composite
    def flags(draw):
        kind = draw(st.integers(0, 6))
        row = np.arange(rows)
        if kind < 2 or rows == 0:
            return np.full(rows, kind == 1)
        if kind < 4:
            return (row == draw(st.integers(0, rows - 1))) == (kind == 2)
        if kind < 6:
            return 2 * row < rows if kind == 4 else row % 7 < 3
        return draw(arrays(bool, rows))

    return flags()


def features(batch, channels=None, dtype="float32", whole=True):
    """Numbers [N, channels] for the rows of a batch, of 1 to 5 channels where none are given. Whole
    ones from -9 to 9, whose sums are exact in any order; else any from -1024 to 1024. Simplest are
    zeros."""
    kind = np.dtype(dtype)
    if whole or kind.kind not in "fc":
        numbers = st.integers(-9, 9)
    else:
        numbers = st.floats(-1024, 1024, width=8 * kind.itemsize, allow_subnormal=False)

    def of(count):
        return arrays(kind, (len(batch.ijk), count), elements=numbers)

    return st.integers(1, 5).flatmap(of) if channels is None else of(channels)


# --- which of the harness' cases


@functools.lru_cache(maxsize=None)
def _of_one_round(op, families, refused):
    known = tuple(families_of(op))
    for name in families or ():
        if name not in known:
            raise refusal("cases", "families", name, f"must be one of {', '.join(known)}")
    # Every eighth case is one that must be refused; they are of no family (docs/families.md).
    return tuple(number for number in range(8 * 31 * len(known))
                 if (refused and not families if number % 8 == 7 else
                     not families or known[number % len(known)] in families))


def _numbers(op, families, refused):
    """The numbers of the cases that are wanted, of one round of all patterns."""
    families = (families,) if isinstance(families, str) else tuple(families or ())
    return _of_one_round(op, families, refused and op not in _LISTS_ONLY)


def _begin(draw, op, numbers, wanted=None):
    """The fields of a case, none for a free one; and what draws its numbers."""
    which = draw(st.integers(0, 2**32))
    if which == 0:
        return {}, _Numbers(draw, free=True)
    seed, place = divmod(which, len(numbers))
    most = _MOST_NUMBERS if which >> 16 & 3 == 0 else _FEW_NUMBERS
    for further in range(_SEEDS_TRIED):
        case = Case.generate(op, seed + (further << 33), numbers[place])
        fields = _as_drawn(case, most, wanted)
        if fields is not None:
            return fields, _Numbers(draw, free=False)
    reject()


def _as_drawn(case, most=_MOST_NUMBERS, wanted=None):
    """The fields of a case; None where drawing them does not give that case, or takes more than
    `most` numbers."""
    if len(case.to_bytes()) > 24 * most or (wanted is not None and not wanted(case)):
        return None
    given = json.loads(case.to_json())
    try:
        again = _Fields(_Numbers(None, free=False, most=most), case.op, given).all()
    except _DoesNotFit:
        return None
    return given if _as_case(again) == case else None


def _cases(op, families, refused, wanted=None):
    numbers = _numbers(op, families, refused)

    @st.composite
    def case(draw):
        given, drawn = _begin(draw, op, numbers, wanted)
        try:
            made = _as_case(_Fields(drawn, op, given).all())
        except _DoesNotFit:
            reject()
        if not given and not refused and _is_refused(made):
            reject()
        if not given and wanted is not None and not wanted(made):
            reject()
        return made

    return case()


def _is_refused(case):
    try:
        return isinstance(answer(case), Error)
    except Error:
        return True


def _as_case(fields):
    return Case.from_json(json.dumps(fields))


# --- what a case is made of


class _DoesNotFit(Exception):
    """Not made of what is drawn here, or asks for too much."""


class _Numbers:
    """Draws numbers: free ones, or those that are given (`draw` None: counts them only)."""

    def __init__(self, draw, free, most=math.inf):
        self._draw, self._free, self._left = draw, free, most

    def whole(self, given, lo=_INT64[0], hi=_INT64[1]):
        """In lo ... hi. Simplest is what is nearest to 0."""
        self._left -= 1
        if self._free:
            return self._draw(st.integers(lo, hi))
        if not lo <= given <= hi or self._left < 0:
            raise _DoesNotFit
        return given if self._draw is None else self._draw(st.integers(given, given))

    def flag(self, given):
        return bool(self.whole(int(bool(given)), 0, 1))

    def real(self, given, special=False):
        """A number, or the text that JSON has for what is none."""
        kinds = ("", "nan", "inf", "-inf")
        if special:
            kind = kinds[self.whole(kinds.index(given) if given in kinds else 0, 0, 3)]
            if kind:
                return kind
        elif isinstance(given, str):
            raise _DoesNotFit
        self._left -= 1
        if self._free:
            return self._draw(st.floats(allow_nan=False, allow_infinity=False))
        return given if self._draw is None else self._draw(st.floats(given, given))

    def reals(self, given, special):
        return [self.real(given and given[i], special) for i in range(3)]

    def list(self, given, most):
        """Natural numbers up to `most`, each drawn as its successor; 0 ends them."""
        rest = iter(given)
        while True:
            code = self.whole(next(rest, -1) + 1, 0, most + 1)
            if code == 0:
                return
            yield code - 1

    def each(self, given, kind_of=None, kinds=1):
        """The items of a list, each with its kind from 1 to `kinds`; a kind 0 ends it. Free: the
        items are None."""
        rest = iter(given or ())
        while True:
            item = next(rest, None)
            of_item = 0 if item is None else 1 if kind_of is None else kind_of(item)
            kind = self.whole(of_item, 0, kinds)
            if kind == 0:
                return
            yield kind, item


_UNIT_MAP = {"voxel_size": [1, 1, 1], "origin": [0, 0, 0]}


# What the harness calls members and gives them for maps, the last of each to be refused [G-7].
_SIZES = (1.0, 2.0, 0.5, 0.25, 0.1, 0.05, 1 / 3, 3.0, 1e-3, 1024.0, 0.013, 0.0, -0.0, -1.0, "inf",
          "nan", 5e-324, 1e308, 1.7e308)
_ORIGINS = (0.0, -0.5, 0.37, -1000.25, 1e6, 1 / 3, 17.75, -3e-7, "inf", "-inf", "nan", -1.7e308)


def _names(member):
    return ("", f"member {member}", f"other {member}", f"target {member + 1}",
            chr(ord("a") + member % 26) * 255, f"número {member}", "x" * 256, "a\0b")


def _digits(member):
    """Of a member's map and name: where each stands among those."""
    return [(_ORIGINS, axis, "origin") for axis in range(3)] + [
        (_SIZES, axis, "voxel_size") for axis in range(3)] + [(_names(member), None, None)]


def _header_code(member, one, name):
    """A map and a name as one number, so that one step makes them plain."""
    code = 0
    for known, axis, key in _digits(member):
        value = name if key is None else one[key][axis]
        value = float(value) if isinstance(value, int) else value
        places = [place for place, other in enumerate(known) if repr(other) == repr(value)]
        if not places:
            raise _DoesNotFit
        code = code << 5 | places[0]
    return code


def _header(member, code):
    one, name = {"voxel_size": [], "origin": []}, ""
    for known, _, key in reversed(_digits(member)):
        value = known[(code & 31) % len(known)]
        code >>= 5
        if key is None:
            name = value
        else:
            one[key].insert(0, value)
    return one, name


def _canonical(voxel):
    """The order of [G-2]: by root tile, lower node, leaf, and place in it."""
    return [[c >> 12 for c in voxel], [c >> 7 & 31 for c in voxel], [c >> 3 & 15 for c in voxel],
            [c & 7 for c in voxel]]


# Whole numbers as natural ones, the simplest first: 0, -1, 1, -2, 2, ...
def _natural(n):
    return 2 * n if n >= 0 else -2 * n - 1


def _whole(n):
    return n // 2 if n % 2 == 0 else -(n + 1) // 2


def _runs(voxels, base):
    """Voxels in their order as runs along z, each one number: how many less one, and x, y, z from a
    base, from the highest digit to the lowest. So one step of Hypothesis drops a run."""
    runs = []
    for x, y, z in voxels:
        if runs and runs[-1][1:] == [x, y, z - runs[-1][0]] and runs[-1][0] < _LONGEST_RUN:
            runs[-1][0] += 1
        else:
            runs.append([1, x, y, z])
    return [functools.reduce(lambda code, at: code << _DIGIT | _natural(at[0] - at[1]),
                             zip(begin, base), length - 1) for length, *begin in runs]


def _voxels(run, base):
    x, y, z = (at + _whole(run >> place * _DIGIT & (1 << _DIGIT) - 1)
               for at, place in zip(base, (2, 1, 0)))
    voxels = [(x, y, c) for c in range(z, z + (run >> 3 * _DIGIT) + 1)]
    return [voxel for voxel in voxels if _INT32[0] <= min(voxel) and max(voxel) <= _INT32[1]]


def _flag_runs(flags):
    """Flags without the zeros at the end as runs, each one number: how many less one, then 0 for a
    run of ones."""
    runs = []
    for flag in flags:
        if runs and runs[-1][1] == flag and runs[-1][0] < _LONGEST_RUN:
            runs[-1][0] += 1
        else:
            runs.append([1, flag])
    while runs and runs[-1][1] == 0:
        runs.pop()
    return [2 * (length - 1) + 1 - flag for length, flag in runs]


class _Members:
    """A batch that is drawn member by member, and one that is given: `name`, `name_maps` and
    `name_names` among the fields of a case."""

    def __init__(self, name, given):
        self._name = name
        self._given = {key: given.get(key, []) for key in (name, f"{name}_maps", f"{name}_names")}
        self.voxels, self.maps, self.names = [], [], []

    def given(self):
        """All (voxels, map, name)."""
        voxels, maps, names = self._given.values()
        return list(zip(voxels, maps or [_UNIT_MAP] * len(voxels), names or [""] * len(voxels)))

    def fields(self):
        return dict(zip(self._given, (self.voxels, self.maps, self.names)))


class _Fields:
    """The fields of a case (docs/case-format.md), drawn in an order in which what belongs together
    is left out together."""

    def __init__(self, numbers, op, given):
        self._n, self._op, self._given = numbers, op, given
        self._params = given.get("params", {})

    def all(self):
        fields = {"format": "leafproof-case", "version": 1, "semantics_version": 1,
                  "op": self._op, "params": {}}
        if self._op in ("refine", "coarsen"):
            fields["params"] = {"factor": self._from_one("factor")}
        if self._op in ("dilate_box", "erode_box"):
            fields["params"] = self._box()
        if self._op in _CONVOLUTION:
            fields["params"] = self.kernel()
        if self._op == "kernel_map":
            fields["dense"] = self._n.flag(self._given.get("dense"))
        fields |= self._batches(fields["params"])
        self._check_work(fields)
        if self._op in _SUMS:
            fields |= self._operands(fields)
        return fields

    # parameters

    def _from_one(self, name):
        given = self._params.get(name, [1, 1, 1])
        return [1 + self._n.whole(one - 1, hi=_INT64[1] - 1) for one in given]

    def _box(self):
        """Drawn by its lower ends and widths: made smaller, it stays a box."""
        given = [self._params.get(name, [0, 0, 0]) for name in ("lo", "hi")]
        lo = [self._n.whole(one) for one in given[0]]
        wide = [self._n.whole(end - begin) for begin, end in zip(*given)]
        return {"lo": lo, "hi": [max(_INT64[0], min(_INT64[1], begin + width))
                                 for begin, width in zip(lo, wide)]}

    def kernel(self):
        params = {name: self._from_one(name) for name in _LARGEST}
        if self._op in _MAPPED:
            params["transposed"] = self._n.flag(self._params.get("transposed"))
        return params

    # members

    def _batches(self, params):
        """The members with what is theirs; with a view, what is theirs in it stands with it."""
        source, other, target = (_Members(name, self._given) for name in
                                 ("source", "other", "target"))
        beside = [other] if self._op in ("merge", "intersect", "subtract") else []
        if self._op == "convolution_gradients" or (
                self._op in _MAPPED and self._n.flag("target" in self._given)):
            beside = [target]
        masked = self._op == "prune" or (
            self._op == "refine" and self._n.flag("mask" in self._given))
        viewed = not self._op.startswith("from_") and self._n.flag("view" in self._given)

        fields, masks, points, view = {}, [], [], []
        rest = iter(zip(*(batch.given() for batch in beside),
                        *([self._given.get("mask", [])] if masked else [])))

        def read(voxels):
            """A member as the operation reads it: with it stands what else it reads."""
            given = list(next(rest, ()))
            for batch in beside:
                member = len(batch.names)
                voxels_of, *header = given.pop(0) if given else ((), _UNIT_MAP, "")
                code = self._n.whole(_header_code(member, *header), 0, _MOST_HEADER)
                self._member(batch, code, voxels_of, self._image(params, voxels))
            if masked:
                runs = self._n.list(_flag_runs(given[0] if given else ()), 2 * _LONGEST_RUN - 1)
                flags = [1 - run % 2 for run in runs for _ in range(run // 2 + 1)]
                masks.append((flags + [0] * len(voxels))[:len(voxels)])

        points_given = iter(self._given.get("points", []))
        members = source.given()
        voxels_given = iter([voxels for voxels, *_ in members])
        headers = [_header_code(i, *header) for i, (_, *header) in enumerate(members)]
        for code in self._n.list(headers, _MOST_HEADER):
            self._member(source, code, next(voxels_given, ()))
            if self._op == "from_points":
                points.append([
                    self._n.reals(point, special=kind == 2) for kind, point in self._n.each(
                        next(points_given, None),
                        lambda point: 1 + any(isinstance(c, str) for c in point), 2)])
            if not viewed:
                read(source.voxels[-1])
        if viewed:
            for code in self._n.list(map(_natural, self._given.get("view", ())), 2**64 - 1):
                view.append(_whole(code))
                read(source.voxels[view[-1]] if 0 <= view[-1] < len(source.voxels) else [])
            fields["view"] = view
        if self._op == "from_points":
            fields["points"] = points
        if masked:
            fields["mask"] = masks
        for batch in [source, *beside]:
            fields |= batch.fields()
        return fields

    @staticmethod
    def _image(params, voxels):
        """Where a source's first voxel is in the batch beside it [K-1]: what is drawn from there on
        stays joined when the source is moved, or the stride is made smaller."""
        if not voxels:
            return 0, 0, 0
        strides = params.get("stride", [1, 1, 1])
        if params.get("transposed"):
            image = [c * s for c, s in zip(voxels[0], strides)]
        else:
            image = [c // s if s > 0 else c for c, s in zip(voxels[0], strides)]
        return tuple(max(_INT32[0], min(_INT32[1], c)) for c in image)

    def _member(self, batch, code, voxels, base=(0, 0, 0)):
        """Adds one to a batch, whose map and name are in the code."""
        one, name = _header(len(batch.names), code)
        batch.names.append(name)
        batch.maps.append(one)
        ordered = voxels if self._op == "from_ijk" else sorted(voxels)
        most = (_LONGEST_RUN << 3 * _DIGIT) - 1
        drawn = [voxel for run in self._n.list(_runs(ordered, base), most)
                 for voxel in _voxels(run, base)]
        batch.voxels.append(
            drawn if self._op == "from_ijk" else sorted(set(drawn), key=_canonical))

    def _check_work(self, fields):
        """Refuses what a backend would be busy with for seconds."""
        params = fields["params"]
        each = 8
        if self._op == "refine":
            each = math.prod(params["factor"])
        if self._op in ("dilate_box", "erode_box"):
            each = math.prod(hi - lo + 1 for lo, hi in zip(params["lo"], params["hi"]))
        if self._op in _CONVOLUTION:
            each = math.prod(params["kernel_size"])
        if each > 1 << 40:
            return  # refused
        rows = sum(map(len, self._read(fields)))
        if rows * each > _MOST_WORK and each > 8:
            raise _DoesNotFit

    @staticmethod
    def _read(fields):
        """The voxels of the members that are read [T-9]."""
        members = fields["source"]
        view = fields.get("view", range(len(members)))
        return [members[i] for i in view if 0 <= i < len(members)]

    # numbers

    def _operands(self, fields):
        types = ("float64", "float32", "float16", "int32")
        given = self._given
        weights = given.get("weights", {"shape": [1, 1]})["shape"]
        made = {"type": types[self._n.whole(types.index(given.get("type", types[0])), 0, 3)],
                "target_is_source": self._n.flag(given.get("target_is_source"))}
        flat = self._n.flag(len(weights) == 2)  # [V-4]
        cout, cin = (1 + self._n.whole(n - 1, 0, 7) for n in weights[:2])
        rows = sum(map(len, self._read(fields)))
        made["features"] = self._array("features", [rows, cin])
        made["weights"] = self._array(
            "weights", [cout, cin] + ([] if flat else fields["params"]["kernel_size"]))
        if self._op == "convolution" and self._n.flag("bias" in given):
            made["bias"] = self._array("bias", [cout])
        if self._op == "convolution_gradients":
            made["grad_output"] = self._array(
                "grad_output", [sum(map(len, fields["target"])), cout])
        return made

    def _array(self, name, shape):
        """Zeros behind the last number that is drawn."""
        size = math.prod(shape)
        if min(shape, default=0) < 0 or size > _MOST_WORK:
            raise _DoesNotFit
        given = list(self._given.get(name, {"values": []})["values"])
        while given and given[-1] == 0 and math.copysign(1, given[-1]) == 1:
            given.pop()
        whole = all(not isinstance(x, str) and x == int(x) and abs(x) < 2**31 and
                    (x or math.copysign(1, x) == 1) for x in given)
        if self._n.flag(not whole):
            special = self._n.flag(any(isinstance(x, str) for x in given))
            values = [self._n.real(x, special) for _, x in self._n.each(given)]
        else:
            values = map(_whole, self._n.list([_natural(int(x)) for x in given], 2**32 - 1))
        return {"shape": shape, "values": (list(values) + [0] * size)[:size]}
