"""What every adapter of a library has in common: the pipe, and the terms that both ends speak.

Reads lines "NUMBER case1 OP NAME=VALUE ..." and writes "NUMBER answer1 KIND NAME=VALUE ...", each
flushed before the next is read. Plain Python without NumPy; Python 3.9 or later.

An adapter makes a Library of its functions and hands it to main():
    python torch_adapter.py            the pipe
    python torch_adapter.py --rule     the same pipe, answered by the library's documented rule
                                       instead of by the library
    python torch_adapter.py --about    what it is, as JSON
"""

import itertools
import json
import os
import sys
import traceback
import urllib.parse

INT32 = (-(2**31), 2**31 - 1)


class NotImplementedHere(Exception):
    """The dialect cannot express the case; says why."""


# --- reading a case


def _list(text, item):
    """"[a;b][]": a list per member; "-" for no member."""
    if text == "-":
        return []
    return [[item(x) for x in member.split(";") if x] for member in text[1:-1].split("][")]


def _integers(text):
    return tuple(int(x) for x in text.split(","))


def _triple(text):
    values = _integers(text)
    return values * 3 if len(values) == 1 else values


def number(text):
    return float("nan") if text.startswith("nan") else float(text)


def _floats(text):
    return tuple(number(x) for x in text.split(","))


def _array(text):
    """Shape and values, the last axis fastest."""
    shape, values = text.split(":")
    return Array([int(n) for n in shape.split("x")], [number(x) for x in values.split(",") if x])


def _map(text):
    return tuple(_floats(part) for part in text.split("@"))


def _voxels(text):
    return _list(text, _integers)


READERS = {
    **dict.fromkeys(["factor", "lo", "hi", "kernel_size", "stride", "dilation"], _triple),
    **dict.fromkeys(["transposed", "dense", "target_is_source"], lambda text: text == "true"),
    **dict.fromkeys(["source", "other", "target"], _voxels),
    **dict.fromkeys(["features", "weights", "bias", "grad_output"], _array),
    "points": lambda text: _list(text, _floats),
    "mask": lambda text: [] if text == "-" else [list(m) for m in text[1:-1].split("][")],
    "view": lambda text: [] if text == "-" else list(_integers(text)),
    "source_maps": lambda text: [_map(m) for m in text.split(";") if m],
}


class Array:
    def __init__(self, shape, values):
        self.shape, self.values = list(shape), list(values)


class Case:
    """One question. Fields that are absent have their defaults (docs/case-format.md)."""

    factor = kernel_size = stride = dilation = (1, 1, 1)
    lo = hi = (0, 0, 0)
    transposed = dense = target_is_source = False
    type = "float64"
    source = ()
    points = view = other = mask = target = None
    features = weights = bias = grad_output = source_maps = None

    def __init__(self, text):
        words = text.split()
        if len(words) < 2 or words[0] != "case1":
            raise ValueError("must begin with case1")
        self.text, self.op = text, words[1]
        for word in words[2:]:
            name, _, value = word.partition("=")
            setattr(self, name, READERS.get(name, str)(value))

    def members(self):
        """The members that the operation reads: those of the source, or of its view [T-9]."""
        if self.view is None:
            return self.source
        return [self.source[i] for i in self.view]

    def phase(self):
        """P of [K-1] per axis."""
        return tuple(d * (k - 1) // 2 for k, d in zip(self.kernel_size, self.dilation))

    def taps(self):
        """In C order, z fastest [K-2]."""
        return list(itertools.product(*(range(k) for k in self.kernel_size)))


def refuse_refusals(case):
    """Cases that Leafproof refuses measure nothing of a library that has no such limits."""
    sides = zip(case.kernel_size, case.stride, case.dilation)
    legal = all(1 <= k <= 128 and 1 <= s <= 64 and 1 <= d <= 16 for k, s, d in sides)
    legal = legal and case.kernel_size[0] * case.kernel_size[1] * case.kernel_size[2] <= 4096
    legal = legal and all(1 <= f <= 1024 for f in case.factor)
    legal = legal and all(low <= high <= low + 1023 for low, high in zip(case.lo, case.hi))
    legal = legal and all(0 <= i < len(case.source) for i in case.view or ())
    if case.op == "submanifold_index_map":
        legal = legal and all(k % 2 for k in case.kernel_size)
    if legal and case.target is not None:
        legal = len(case.target) == len(case.members())
    if legal and case.other is not None:
        legal = len(case.other) == len(case.members())
    if legal and case.op.startswith("convolution"):
        legal = _shapes_fit(case)
    if not legal:
        raise NotImplementedHere("a case that must be refused is not asked of the library")


def _shapes_fit(case):
    rows = sum(len(m) for m in case.members())
    f, w, shape = case.features.shape, case.weights.shape, list(case.kernel_size)
    legal = len(f) == 2 and f[0] == rows and len(w) in (2, 5) and w[1] == f[1]
    legal = legal and (w[2:] == shape if len(w) == 5 else shape == [1, 1, 1])
    if legal and case.bias is not None:
        legal = case.bias.shape == [w[0]]
    if legal and case.grad_output is not None:
        legal = case.target is not None
        legal = legal and case.grad_output.shape == [sum(len(m) for m in case.target), w[0]]
    operands = [case.features, case.weights, case.bias, case.grad_output]
    if legal and case.type == "int32":
        low, high = INT32
        legal = all(low <= x <= high and x == int(x) for a in operands if a for x in a.values)
    return legal


# --- writing an answer


def text_of_voxel(voxel):
    return "%d,%d,%d" % tuple(voxel)


def text_of_members(members, item=text_of_voxel):
    return "".join("[" + ";".join(item(x) for x in m) + "]" for m in members) or "-"


def text_of_array(shape, values):
    return "x".join(str(int(n)) for n in shape) + ":" + ",".join(text_of_number(x) for x in values)


def text_of_number(x):
    if x != x:
        return "nan"
    return repr(int(x)) if abs(x) < 2**53 and x == int(x) and str(x) != "-0.0" else repr(float(x))


def plain_text(text):
    """Text of an answer: other bytes than letters, digits, _ . and - as %XX."""
    return urllib.parse.quote(" ".join(str(text).split()), safe="").replace("~", "%7E")


def by_member(rows, count):
    """Rows (member, x, y, z), which lie member after member, as lists of voxels per member."""
    members = [[] for _ in range(count)]
    for member, x, y, z in rows:
        members[member].append((x, y, z))
    return members


def grouped(rows):
    """An order of rows in which members follow one another, as the pipe numbers rows."""
    return sorted(range(len(rows)), key=lambda i: rows[i][0])


def inverse(order):
    """The order that undoes one."""
    back = [0] * len(order)
    for i, j in enumerate(order):
        back[j] = i
    return back


class Answer:
    """A kind and its fields. Rows are (member, x, y, z); their order is the library's own."""

    def __init__(self, kind, **fields):
        self.kind, self.fields = kind, fields

    def text(self):
        return " ".join([self.kind] + ["%s=%s" % f for f in self.fields.items()])


def grid(rows, members):
    return Answer("grid", voxels=text_of_members(by_member(rows, members)), order="own")


def rows_of(members):
    return [(m, *voxel) for m, member in enumerate(members) for voxel in member]


def _renumbered(rows):
    """Texts of rows put member after member, and each row's new number."""
    order = grouped(rows)
    return [rows[i] for i in order], inverse(order)


def kernel_map(case, source_rows, target_rows, pairs):
    """`pairs`: per tap in our order, (source row, target row) in the library's numbers."""
    count = len(case.members())
    source_rows, source_place = _renumbered(source_rows)
    target_rows, target_place = _renumbered(target_rows)
    fields = {
        "source_rows": text_of_members(by_member(source_rows, count)),
        "target_rows": text_of_members(by_member(target_rows, count)),
    }
    if case.dense or case.op == "submanifold_index_map":
        index = [[-1] * len(target_rows) for _ in pairs]
        for tap, tap_pairs in enumerate(pairs):
            for i, o in tap_pairs:
                if index[tap][target_place[o]] != -1:
                    return Answer("failed", reason=plain_text("two sources at one tap and target"))
                index[tap][target_place[o]] = source_place[i]
        index = "".join("[" + ",".join(map(str, tap)) + "]" for tap in index)
        return Answer("dense", index=index, **fields)
    text = text_of_members(
        [[(source_place[i], target_place[o]) for i, o in tap] for tap in pairs],
        lambda pair: "%d,%d" % pair,
    )
    return Answer("map", pairs=text, **fields)


def numbers(case, target_rows, values, channels, arithmetic):
    """`values`: one list of `channels` numbers per target row."""
    order = grouped(target_rows)
    rows = [target_rows[i] for i in order]
    flat = [x for i in order for x in values[i]]
    return Answer(
        "numbers",
        output=text_of_array([len(rows), channels], flat),
        type=case.type,
        multiplier=arithmetic,
        accumulator=arithmetic,
        target_rows=text_of_members(by_member(rows, len(case.members()))),
    )


# --- a rule, written down: what a library's documentation promises, without running the library


class Rule:
    """A relation in our terms: rows of both sides, and pairs per tap. `names`: the conventions that
    set this case apart from [K]; none where the rule says what [K] says."""

    def __init__(self, source_rows, target_rows, pairs, names=()):
        self.source_rows, self.target_rows, self.pairs = source_rows, target_rows, pairs
        self.names = list(names)


def related(source_rows, target_rows, offsets, stride, transposed):
    """Pairs per tap where fine = stride * coarse + offset; `offsets` are in our order of taps."""
    fine_rows = target_rows if transposed else source_rows
    row_of = {row: i for i, row in enumerate(fine_rows)}
    pairs = []
    for offset in offsets:
        tap = []
        for coarse, (m, *at) in enumerate(source_rows if transposed else target_rows):
            fine = row_of.get((m, *(s * c + d for s, c, d in zip(stride, at, offset))))
            if fine is not None:
                tap.append((coarse, fine) if transposed else (fine, coarse))
        pairs.append(tap)
    return pairs


def image(source_rows, offsets, stride, transposed):
    """All rows that the source is joined to: the complete target of these offsets, in no order."""
    found = set()
    for offset in offsets:
        for m, *at in source_rows:
            if transposed:
                found.add((m, *(s * c + d for s, c, d in zip(stride, at, offset))))
            else:
                apart = [c - d for c, d in zip(at, offset)]
                if all(a % s == 0 for a, s in zip(apart, stride)):
                    found.add((m, *(a // s for a, s in zip(apart, stride))))
    return sorted(found)


def own_offsets(case):
    """D * t - P [K-1]."""
    return [
        tuple(d * t - p for d, t, p in zip(case.dilation, tap, case.phase()))
        for tap in case.taps()
    ]


def convolved(case, rule):
    """[V-1] in Python's numbers: exact where all are whole."""
    weights, features = case.weights, case.features
    cout, cin = weights.shape[:2]
    taps = len(weights.values) // (cout * cin) if cout * cin else 1
    bias = case.bias.values if case.bias else [0] * cout
    out = [list(bias) for _ in rule.target_rows]
    for tap, pairs in enumerate(rule.pairs):
        w = [[weights.values[(co * cin + ci) * taps + tap] for ci in range(cin)]
             for co in range(cout)]
        for i, o in pairs:
            x = features.values[i * cin:(i + 1) * cin]
            for co in range(cout):
                out[o][co] += sum(a * b for a, b in zip(w[co], x))
    return out


def answer_by_rule(case, rule):
    if case.op in ("conv_grid", "conv_transpose_grid", "coarsen"):
        return grid(rule.target_rows, len(case.members()))
    if case.op == "convolution":
        return numbers(case, rule.target_rows, convolved(case, rule), case.weights.shape[0], "fp64")
    return kernel_map(case, rule.source_rows, rule.target_rows, rule.pairs)


# --- the two ends


# A kind of difference: of libraries that are asked in a box at 0.
RANGE = ("convention",
         "Voxels are moved into a box at 0, where the result has room; in our coordinates it is "
         "outside 32 bits, which [L-5] refuses.",
         "")


class Library:
    """`operations`: name -> function of a case that returns an Answer or raises
    NotImplementedHere. `rule`: function of a case that returns a Rule, or None where there is
    nothing to add to [K]. `conventions`: name -> (verdict, text, documentation)."""

    def __init__(self, name, version, operations, rule=None, conventions=None, notes=()):
        self.name, self.version, self.operations = name, version, operations
        self.rule, self.conventions, self.notes = rule, conventions or {}, list(notes)

    def about(self):
        return {
            "name": self.name,
            "version": self.version,
            "operations": {op: (f.__doc__ or "").strip() for op, f in self.operations.items()},
            "conventions": self.conventions,
            "notes": self.notes,
        }

    def answer(self, case):
        function = self.operations.get(case.op)
        if function is None:
            return not_implemented("%s has no such operation" % self.name)
        try:
            refuse_refusals(case)
            return function(case)
        except NotImplementedHere as reason:
            return not_implemented(reason)
        except Exception as fault:  # the library's own: an answer like any other
            where = traceback.extract_tb(fault.__traceback__)[-1]
            return Answer("failed", reason=plain_text(
                "%s: %s (%s)" % (type(fault).__name__, fault, os.path.basename(where.filename))))

    def answer_by_rule(self, case):
        try:
            refuse_refusals(case)
            rule = self.rule(case) if self.rule else None
        except NotImplementedHere as reason:
            return not_implemented(reason)
        if rule is None:
            return not_implemented("no rule")
        answer = answer_by_rule(case, rule)
        if rule.names:
            answer.fields["conventions"] = "+".join(rule.names)
        return answer


def not_implemented(reason):
    return Answer("not_implemented", reason=plain_text(reason))


def serve(answer_of, lines, out):
    """The pipe. A line that is no case is answered as a fault of its own, never by a dead child."""
    for line in lines:
        number, _, text = line.strip().partition(" ")
        if not number:
            continue
        try:
            answer = answer_of(Case(text))
        except Exception as fault:
            answer = Answer("failed", reason=plain_text("not a case: %s" % fault))
        out.write("%s answer1 %s\n" % (number, answer.text()))
        out.flush()


def main(library):
    if sys.argv[1:] == ["--about"]:
        print(json.dumps(library.about(), indent=1, sort_keys=True))
        return
    # What the library prints must not reach the pipe.
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    by_rule = sys.argv[1:] == ["--rule"]
    serve(library.answer_by_rule if by_rule else library.answer, sys.stdin, pipe)
