"""`@leafproof.against` under pytest: what fails is small, says how it is replayed, and is replayed
by just that."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import leafproof
from leafproof import _against

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[3]

COARSEN = """
    import leafproof
    import numpy as np

    @leafproof.against("coarsen", refused=False, profile="topology", OPTIONS)
    def test_coarsen(case):
        f = np.array(case.params["factor"])
        ijk = case.source.ijk.astype(np.int64)
        return leafproof.Batch.from_ijk(DIVIDED, case.source.offsets)
"""
RIGHT = "ijk // f"
TRUNCATED = "np.trunc(ijk / f).astype(np.int64)"  # the planted mistake


def write(pytester, divided, options="", text=COARSEN):
    pytester.makepyfile(test_mine=text.replace("DIVIDED", divided).replace("OPTIONS", options))


def failure_of(result):
    """The report of the one test that failed, once: with CI in the environment pytest's summary
    repeats it."""
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    return text[text.index("= FAILURES ="):].partition("= short test summary info =")[0]


def commands(text, begin):
    return [shlex.split(line[len(begin):]) for line in text.splitlines() if line.startswith(begin)]


def test_what_is_right_passes_and_says_its_seed(pytester):
    write(pytester, RIGHT)
    result = pytester.runpytest("--junitxml=junit.xml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"leafproof: seed {_against.LEVEL_SEED}*"])
    assert "{'equal': 64}" in (pytester.path / "junit.xml").read_text()


@pytest.mark.parametrize("answer, says", [
    ("case.source.ijk.astype(float), case.source.offsets", "float64"),
    ("case.source.ijk, case.source.offsets + 1", "what was returned is no answer"),
    ("None", "None"),
    ('"host"', "a text is no answer"),
])
def test_what_is_no_answer_fails_with_its_case(pytester, answer, says):
    write(pytester, "ijk // f", text=COARSEN.replace(
        "leafproof.Batch.from_ijk(DIVIDED, case.source.offsets)", answer))
    text = failure_of(pytester.runpytest())
    assert says in text and "seed 20261129" in text
    (command,) = commands(text, "replay:")
    failure_of(pytester.runpytest(*command[1:]))


def test_a_planted_mistake_is_one_voxel_and_its_lines_replay_it(pytester):
    write(pytester, TRUNCATED)
    text = failure_of(pytester.runpytest())
    assert "[T-3]" in text and "seed 20261129" in text
    assert "Traceback" not in text and "_against.py" not in text

    (command,) = commands(text, "replay:")
    assert command[:3] == ["pytest", "test_mine.py::test_coarsen", "--leafproof-replay"]
    case = leafproof.Case.parse(command[3])
    assert len(case.source.ijk) == 1 and len(case.source) == 1
    again = failure_of(pytester.runpytest(*command[1:]))
    assert "the case that is replayed" in again and command[3] in again
    assert report_of(again) == report_of(text)

    (found,) = commands(text, "as it was found:")
    assert failure_of(pytester.runpytest(*found[1:])).count("as it was found:") == 1

    # Where the mistake is gone, the same lines pass.
    write(pytester, RIGHT)
    for words in (command, found):
        pytester.runpytest(*words[1:]).assert_outcomes(passed=1)


def report_of(text):
    begin = text.index("DIFFERENT by profile topology: a missing voxel, member 0  [T-3]")
    return text[begin:text.index("compared: 1 member, 1 voxel")]


def test_another_program_replays_the_case(pytester, program):
    write(pytester, TRUNCATED)
    (words,) = commands(failure_of(pytester.runpytest()), "other backends:")
    assert words[:2] == ["leafproof", "replay"]
    assert pytester.run(program, *words[1:], "--backend", "host-mask").ret == 0


def test_from_another_folder_the_line_works_too(pytester, monkeypatch):
    write(pytester, TRUNCATED)
    (pytester.path / "deep" / "er").mkdir(parents=True)
    pytester.makeini("[pytest]")
    monkeypatch.chdir(pytester.path / "deep" / "er")
    (command,) = commands(failure_of(pytester.runpytest("../..")), "replay:")
    assert command[1] == "../../test_mine.py::test_coarsen"
    failure_of(pytester.runpytest(*command[1:]))


def test_options_choose_cases(pytester):
    write(pytester, RIGHT, text="""
        import leafproof
        seen = []

        @leafproof.against("coarsen", count=3, seed=5, profile="topology")
        def test_a(case):
            seen.append(case)
            return leafproof.answer(case)

        def test_b():
            print("ASKED", [case.id for case in seen])
    """)

    def asked(*options):
        result = pytester.runpytest("-s", *options)
        result.assert_outcomes(passed=2)
        return re.findall(r"coarsen --seed (\d+) --case (\d+)", result.stdout.str())

    assert asked() == [("5", "0"), ("5", "1"), ("5", "2")]
    assert asked("--leafproof-seed=6", "--leafproof-count=2") == [("6", "0"), ("6", "1")]
    assert asked("--leafproof-case=41") == [("5", "41")]
    assert len(asked("--leafproof-level=1")) == 64
    one, other = (asked("--leafproof-seed=random", "--leafproof-count=1") for _ in range(2))
    assert one != other


def test_a_random_seed_is_printed_and_replays(pytester):
    write(pytester, TRUNCATED)
    result = pytester.runpytest("--leafproof-seed=random")
    (seed,) = re.findall(r"^leafproof: seed (\d+)$", result.stdout.str(), re.MULTILINE)
    (found,) = commands(failure_of(result), "as it was found:")
    assert found[2:4] == ["--leafproof-seed", seed]
    failure_of(pytester.runpytest(*found[1:]))


def test_families_and_refusals_are_chosen(pytester):
    write(pytester, RIGHT, text="""
        import leafproof

        @leafproof.against("refine", families=["comb", "line"], count=9)
        def test_families(case):
            assert case.comment.split(":")[0] in ("comb", "line")
            return leafproof.answer(case)

        refused = set()

        @leafproof.against("refine", count=64)
        def test_all(case):
            refused.add(case.comment.startswith("refused"))
            return leafproof.answer(case, "host")

        @leafproof.against("refine", count=64, refused=False)
        def test_none(case):
            assert not case.comment.startswith("refused")
            return leafproof.answer(case, "host")

        def test_some():
            assert refused == {False, True}
    """)
    pytester.runpytest().assert_outcomes(passed=4)


def test_exceptions_are_refusals_where_they_are_said_to_be(pytester):
    write(pytester, RIGHT, text="""
        import leafproof
        import pytest

        class Mine(ValueError):
            pass

        def refuse(case):
            answer = leafproof.answer(case)
            if isinstance(answer, leafproof.Error):
                raise Mine(answer.kind)
            return answer

        kinds = {"InvalidArgument", "Unsupported", "OutOfRange"}

        @leafproof.against("dual", refusals={ValueError: "OutOfRange"}, OPTIONS)
        def test_named(case):
            return refuse(case)

        @leafproof.against("dual")
        def test_own_errors(case):
            return leafproof.answer(case)  # an Error, returned

        @leafproof.against("dual")
        def test_raised(case):
            answer = leafproof.answer(case)
            if isinstance(answer, leafproof.Error):
                raise answer
            return answer

        @leafproof.against("dual")
        def test_unnamed(case):
            return refuse(case)
    """.replace("OPTIONS", "families='pair'"))
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=1)
    text = result.stdout.str()
    assert "test_unnamed" in text and "Mine: " in text and "raise Mine(answer.kind)" in text
    assert commands(text, "replay:")


def test_what_is_left_out_needs_a_reason_and_a_reason_is_needed(pytester):
    write(pytester, RIGHT, text="""
        import leafproof

        def half(case):
            if case.mask is not None:
                raise NotImplementedError
            return leafproof.answer(case)

        @leafproof.against("refine")
        def test_unsaid(case):
            return half(case)

        @leafproof.against("refine", skips="no masks")
        def test_said(case):
            return half(case)

        @leafproof.against("refine", skips="no masks")
        def test_not_needed(case):
            return leafproof.answer(case)

        @leafproof.against("refine", skips="nothing at all")
        def test_nothing(case):
            raise NotImplementedError
    """)
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=3)
    text = result.stdout.str()
    assert re.search(r"test_unsaid: refine .*not what the reference says", text)
    assert "the skip (no masks) is not needed" in text
    assert "test_nothing: no case was judged" in text


def test_fixtures_parameters_and_classes_work_as_ever(pytester):
    write(pytester, RIGHT, text="""
        import leafproof
        import pytest

        @pytest.fixture
        def backend():
            return "host"

        @pytest.mark.parametrize("plain", [True, False])
        @leafproof.against(("refine", "dual"), count=4)
        def test_one(case, backend, plain):
            assert case.op in ("refine", "dual")
            return leafproof.answer(case, backend)

        class TestTwo:
            @leafproof.against("dual", count=4)
            def test_method(self, case, backend):
                return leafproof.answer(case, backend)
    """)
    pytester.runpytest().assert_outcomes(passed=3)


def test_a_replay_is_for_its_operation_alone(pytester):
    write(pytester, RIGHT, text="""
        import leafproof

        @leafproof.against("dual", count=4)
        def test_dual(case):
            return leafproof.answer(case)

        @leafproof.against("refine", count=4)
        def test_refine(case):
            return leafproof.answer(case)

        def test_other():
            pass
    """)
    result = pytester.runpytest("--leafproof-replay", "case1 dual source=[0,0,0]", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*the case to replay is of dual*"])


def test_a_case_that_is_too_long_for_a_line_is_in_a_file(pytester):
    write(pytester, TRUNCATED, options="tries=0, families='shell'")
    pytester.runpytest()
    text = failure_of(pytester.runpytest())
    (command,) = commands(text, "replay:")
    file = Path(command[3])
    assert file.read_text().startswith("case1 coarsen ") and "case1" not in text
    failure_of(pytester.runpytest(*command[1:]))


@pytest.mark.parametrize("words, sentence", [
    (["--leafproof-replay", "case1 halve source=-"], "halve"),
    (["--leafproof-replay", "no such file"], "no such file"),
    (["--leafproof-seed", "soon"], "soon"),
    (["--leafproof-count", "0"], "number from 1 on"),
    (["--leafproof-level", "4"], "invalid choice"),
])
def test_bad_options_are_one_sentence(pytester, words, sentence):
    write(pytester, RIGHT)
    result = pytester.runpytest(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in result.stderr.str()


@pytest.mark.parametrize("options, word", [
    (dict(op="halve"), "op"), (dict(op="dual", level=4), "level"),
    (dict(op="dual", seed=-1), "seed"), (dict(op="dual", count=0), "count"),
    (dict(op="dual", families="spiral"), "families"),
])
def test_bad_arguments_are_named(options, word):
    with pytest.raises(leafproof.Error, match=f"against: InvalidArgument: {word} = "):
        leafproof.against(**options)


def test_a_function_without_a_case_is_refused():
    with pytest.raises(TypeError, match="case"):
        leafproof.against("dual")(lambda batch: batch)


def test_by_hand_it_judges_too():
    asked = []

    @leafproof.against("dual", count=8)
    def mine(case):
        asked.append(case)
        return leafproof.answer(case)

    mine()
    assert len(asked) == 8

    @leafproof.against("dual", count=8, tries=50)
    def wrong(case):
        return case.source

    with pytest.raises(leafproof.Mismatch, match="leafproof replay") as failure:
        wrong()
    assert failure.value.verdict["outcome"] == "different"
    assert leafproof.Case.parse(failure.value.case).op == "dual"


def test_answers_with_rows_of_their_own():
    """[M-7]: the target's rows in another order, and said to be so; unsaid it is a mistake."""

    def map_of(case):
        answer = leafproof.answer(case)
        if not isinstance(answer, leafproof.KernelMap):
            return answer, {}
        rows = len(answer.target.ijk)
        return (answer.offsets, answer.gather, rows - 1 - answer.scatter), {
            "target_rows": rows_of(answer.target)[::-1]}

    @leafproof.against("kernel_map", count=40)
    def said(case):
        answer, claims = map_of(case)
        return leafproof.Answer(answer, **claims)

    @leafproof.against("kernel_map", count=40)
    def unsaid(case):
        return map_of(case)[0]

    said()
    with pytest.raises(leafproof.Mismatch):
        unsaid()


def rows_of(batch):
    member = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
    return np.column_stack([member, batch.ijk])


def test_answers_that_change_are_said_to():
    asked = set()

    @leafproof.against("dual", refused=False)
    def fickle(case):
        answer = leafproof.answer(case if case in asked else leafproof.Case("dual",
                                  source=leafproof.dual(case.source)))
        asked.add(case)
        return answer

    with pytest.raises(leafproof.Mismatch, match="not the same each time"):
        fickle()


def test_levels_and_seed_are_those_of_the_program():
    text = (ROOT / "oracle/cli/commands.h").read_text().replace("'", "")
    assert f"kLevelSeed = {_against.LEVEL_SEED};" in text
    text = (ROOT / "oracle/generate.cc").read_text().replace("'", "")
    one, two, three = _against.CASES_OF_LEVEL.values()
    assert f"level <= 1 ? {one} : level == 2 ? {two} : {three};" in text
