"""The pipe of the library adapters, without any library: cases read, answers written, rows of a
library's own order, rules, and lines that are no cases. Plain Python; run by ctest."""

import io
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle", "backends", "libraries"))

import adapter  # noqa: E402
import cases  # noqa: E402
import conformance  # noqa: E402
from adapter import Answer, Case, Library, NotImplementedHere, Rule  # noqa: E402


def pipe(library, *lines, by_rule=False):
    out = io.StringIO()
    adapter.serve(library.answer_by_rule if by_rule else library.answer, lines, out)
    return out.getvalue().splitlines()


def floor_rule(case):
    source = adapter.rows_of(case.members())
    target = sorted({(m, *(c // s for c, s in zip(at, case.stride))) for m, *at in source})
    offsets = adapter.own_offsets(case)
    return Rule(source, target, adapter.related(source, target, offsets, case.stride, False),
                ["coarse-by-floor"])


def broken(case):
    raise RuntimeError("half a voxel\nis no voxel")


def inexpressible(case):
    raise NotImplementedHere("no dilation")


class Toy(unittest.TestCase):
    def setUp(self):
        self.library = Library("toy", "1", {
            "coarsen": lambda case: adapter.grid(
                [(m, *v) for m, vs in enumerate(case.members()) for v in vs], len(case.members())),
            "refine": broken,
            "dual": inexpressible,
        }, floor_rule)

    def test_a_case_is_read_with_its_defaults(self):
        case = Case("case1 kernel_map kernel_size=2,3,4 dilation=2 transposed=true view=1,0 "
                    "source=[-1,0,0;5,6,7][] target=- features=2x1:1.5,nan_fff8000000000000")
        self.assertEqual(case.kernel_size, (2, 3, 4))
        self.assertEqual(case.dilation, (2, 2, 2))
        self.assertEqual(case.stride, (1, 1, 1))
        self.assertTrue(case.transposed)
        self.assertEqual(case.members(), [[], [(-1, 0, 0), (5, 6, 7)]])
        self.assertEqual(case.target, [])
        self.assertEqual(case.features.shape, [2, 1])
        self.assertNotEqual(case.features.values[1], case.features.values[1])
        self.assertEqual(case.phase(), (1, 2, 3))
        self.assertEqual(case.taps()[1], (0, 0, 1))

    def test_answers_keep_number_and_order_and_never_break_the_line(self):
        lines = pipe(self.library, "3 case1 coarsen source=[1,2,3][]\n", "\n",
                     "4 case1 refine source=[]\n", "5 case1 dual source=[]\n",
                     "6 case1 prune source=[]\n", "7 case2 refine\n",
                     "8 case1 coarsen source=[1,2\n")
        self.assertEqual(lines[0], "3 answer1 grid voxels=[1,2,3][] order=own")
        self.assertTrue(lines[1].startswith("4 answer1 failed reason=RuntimeError%3A%20half"))
        self.assertEqual(lines[2], "5 answer1 not_implemented reason=no%20dilation")
        self.assertTrue(lines[3].startswith("6 answer1 not_implemented reason=toy%20has%20no"))
        self.assertTrue(lines[4].startswith("7 answer1 failed reason=not%20a%20case"))
        self.assertEqual([line.split()[0] for line in lines], ["3", "4", "5", "6", "7", "8"])

    def test_what_must_be_refused_is_not_asked(self):
        for text in ("coarsen factor=0 source=[]", "coarsen source=[] view=1",
                     "coarsen factor=1,2,2000 source=[]"):
            self.assertIn("must%20be%20refused", pipe(self.library, "0 case1 " + text)[0])

    def test_rows_are_put_member_after_member(self):
        case = Case("case1 kernel_map source=[0,0,0][1,0,0]")
        answer = adapter.kernel_map(case, [(1, 1, 0, 0), (0, 0, 0, 0)],
                                    [(0, 0, 0, 0), (1, 1, 0, 0)], [[(0, 1), (1, 0)]])
        self.assertEqual(answer.text(), "map pairs=[1,1;0,0] source_rows=[0,0,0][1,0,0] "
                                        "target_rows=[0,0,0][1,0,0]")
        case.dense = True
        answer = adapter.kernel_map(case, [(1, 1, 0, 0), (0, 0, 0, 0)],
                                    [(0, 0, 0, 0), (1, 1, 0, 0)], [[(0, 1)]])
        self.assertTrue(answer.text().startswith("dense index=[-1,1] "))

    def test_two_sources_at_one_tap_and_target_are_a_fault(self):
        case = Case("case1 kernel_map dense=true source=[0,0,0;0,0,1] target=[0,0,0]")
        rows = adapter.rows_of(case.members())
        answer = adapter.kernel_map(case, rows, rows[:1], [[(0, 0), (1, 0)]])
        self.assertEqual(answer.kind, "failed")

    def test_numbers_keep_their_values(self):
        self.assertEqual([adapter.text_of_number(x) for x in
                          (1.0, -0.0, 0.1, float("inf"), float("nan"), 2.0**60)],
                         ["1", "-0.0", "0.1", "inf", "nan", "1.152921504606847e+18"])

    def test_a_rule_answers_with_its_conventions(self):
        line = pipe(self.library, "0 case1 conv_grid stride=2 source=[-1,0,0;0,0,1]",
                    by_rule=True)[0]
        self.assertEqual(line, "0 answer1 grid voxels=[-1,0,0;0,0,0] order=own "
                               "conventions=coarse-by-floor")

    def test_a_rule_convolves(self):
        case = Case("case1 convolution kernel_size=1,1,3 source=[0,0,0;0,0,1] target=[0,0,0] "
                    "features=2x1:2,3 weights=1x1x1x1x3:1,10,100 bias=1:5")
        source = adapter.rows_of(case.members())
        target = adapter.rows_of(case.target)
        pairs = adapter.related(source, target, adapter.own_offsets(case), case.stride, False)
        self.assertEqual(pairs, [[], [(0, 0)], [(1, 0)]])
        self.assertEqual(adapter.convolved(case, Rule(source, target, pairs)), [[325]])


class Comparable(unittest.TestCase):
    def test_own_rows_compare_equal_and_a_repeat_does_not(self):
        one = "map pairs=[0,0;1,1] source_rows=[0,0,0;1,0,0] target_rows=[0,0,0;1,0,0]"
        two = "map pairs=[1,1;0,0] source_rows=[1,0,0;0,0,0] target_rows=[1,0,0;0,0,0]"
        twice = "map pairs=[1,1;0,0;0,0] source_rows=[1,0,0;0,0,0] target_rows=[1,0,0;0,0,0]"
        dense = "dense index=[0,1] source_rows=[0,0,0;1,0,0] target_rows=[0,0,0;1,0,0]"
        self.assertEqual(conformance.comparable(one), conformance.comparable(two))
        self.assertEqual(conformance.comparable(one), conformance.comparable(dense))
        self.assertNotEqual(conformance.comparable(one), conformance.comparable(twice))
        self.assertNotEqual(conformance.comparable("grid voxels=[0,0,0]"),
                            conformance.comparable("grid voxels=[0,0,0;0,0,0]"))


class Cases(unittest.TestCase):
    text = ("case1 convolution kernel_size=2,1,1 stride=1,2,1 source=[100,0,0;101,0,0] "
            "target=[100,0,0] features=2x1:1,2 weights=1x1x2x1x1:3,4")

    def test_written_is_read_back(self):
        self.assertEqual(cases.written(Case(self.text)), self.text)

    def test_forms_fit(self):
        for form in cases.forms(Case(self.text)):
            case = form(Case(self.text))
            adapter.refuse_refusals(case)
            self.assertTrue(all(-8 <= c < 16 for m in case.source for v in m for c in v))

    def test_smaller_cases_are_smaller(self):
        texts = [cases.written(c) for c in cases.smaller(Case(self.text))]
        self.assertTrue(any(len(t) < len(self.text) for t in texts))
        self.assertIn("source=[]", " ".join(texts))

    def test_canonical_order(self):
        self.assertEqual(cases.canonical([(0, 0, 0), (-1, 0, 0), (0, 0, 8), (0, 1, 0), (0, 0, 0)]),
                         [(-1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 0, 8)])


if __name__ == "__main__":
    unittest.main()
