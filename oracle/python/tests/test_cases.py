"""Cases: written, read, generated, answered, judged, made small."""

import pickle

import leafproof as lp
import numpy as np
import pytest

OPS = lp.operations()


@pytest.mark.parametrize("op", OPS)
def test_forms_come_back(op):
    for index in range(16):
        case = lp.Case.generate(op, 11, index)
        assert lp.Case.parse(str(case)) == case
        assert lp.Case.from_json(case.to_json()) == case
        assert lp.Case.from_bytes(case.to_bytes()) == case
        assert eval(repr(case), {"leafproof": lp}) == case
        copy = pickle.loads(pickle.dumps(case))
        assert copy == case and hash(copy) == hash(case)
        assert (copy.op, copy.id, copy.comment) == (op, case.id, case.comment)


@pytest.mark.parametrize("op", OPS)
def test_both_sides_agree_on_generated_cases(op):
    for index in range(24):
        case = lp.Case.generate(op, 12, index)
        lp.check(case, "host")
        answer = lp.answer(case, "host")
        lp.check(case, answer)
        lp.check(case, lp.answer(case))
        if isinstance(answer, lp.Batch):
            lp.check(case, answer, profile="bytes")
            lp.check(case, (answer.ijk, answer.offsets), profile="topology")
            lp.check(case, (answer.ijk, answer.offsets))


@pytest.mark.parametrize("op", OPS)
def test_a_case_can_be_asked_again_from_its_parts(op):
    """What a program reads of a case is all of it: its answer to the parts is the case's."""
    for index in range(24):
        case = lp.Case.generate(op, 13, index)
        wanted = lp.answer(case)
        try:
            if op == "from_ijk":
                again = lp.Case(
                    op,
                    ijk=case.ijk,
                    offsets=case.offsets,
                    voxel_sizes=case.voxel_sizes,
                    origins=case.origins,
                    names=case.names,
                )
            elif op == "from_points":
                again = lp.Case(
                    op,
                    points=case.points,
                    offsets=case.offsets,
                    voxel_sizes=case.voxel_sizes,
                    origins=case.origins,
                    names=case.names,
                )
            else:
                params = {
                    k: v for k, v in case.params.items() if k not in ("type", "target_is_source")
                }
                again = lp.Case(
                    op,
                    source=case.source,
                    other=case.other,
                    mask=case.mask,
                    target=case.target,
                    features=case.features,
                    weights=case.weights,
                    bias=case.bias,
                    grad_output=case.grad_output,
                    **params,
                )
            got = lp.answer(again)
        except lp.Error as error:
            got = error
        if isinstance(wanted, lp.Error):
            assert isinstance(got, lp.Error) and got.kind == wanted.kind, (str(case), str(got))
        else:
            lp.check(case, got)


def test_parameters_are_those_of_the_operation():
    batch = lp.Batch.from_ijk([[0, 0, 0]])
    assert lp.Case("refine", source=batch, factor=(1, 2, 3)).params == {"factor": (1, 2, 3)}
    assert lp.Case("dual", source=batch).params == {}
    params = lp.Case("kernel_map", source=batch, kernel_size=3, transposed=True).params
    assert params == {
        "kernel_size": (3, 3, 3),
        "stride": (1, 1, 1),
        "dilation": (1, 1, 1),
        "transposed": True,
        "dense": False,
    }


def test_views_are_applied():
    for index in range(200):
        case = lp.Case.generate("coarsen", 5, index)
        if case.view and not isinstance(lp.answer(case), lp.Error):
            assert len(case.source) == len(case.view)
            assert case.offsets[-1] == len(case.ijk) == len(case.source.ijk)
            return
    pytest.fail("no case with a view")


@pytest.mark.parametrize("op", ["refine", "from_points", "convolution", "merge"])
def test_bytes_choose_cases(op):
    random = np.random.default_rng(4)
    for length in (0, 1, 2, 10, 200):
        choices = random.bytes(length)
        case = lp.Case.from_choices(op, choices)
        assert case == lp.Case.from_choices(op, bytearray(choices))
        lp.check(case, "host")
    assert len(lp.Case.from_choices(op, b"").to_bytes()) < 200  # the simplest


def test_families_can_be_asked_for():
    names = lp.families("refine")
    assert len(set(names)) == len(names) > 10
    random = np.random.default_rng(5)
    for name in names:
        case = lp.Case.from_choices("prune", random.bytes(64), name)
        assert case.comment.startswith(name + ":"), case.comment
        lp.check(case, "host")


def test_shrinking():
    start = lp.Case.generate("refine", 1, 3)
    for index in range(4, 40):
        start = lp.Case.generate("refine", 1, index)
        if start.source is not None and len(start.ijk) > 30 and start.view is None:
            break
    asked = []

    def fails(case):
        asked.append(case)
        return len(case.ijk) >= 3

    small = lp.shrink(start, fails)
    assert len(small.ijk) == 3 and asked
    assert len(lp.shrink(start, fails, 5).ijk) >= 3


def test_what_fails_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        lp.shrink(lp.Case.generate("refine", 1, 4), lambda case: 1 / 0)


def test_judging_backends_by_name():
    case = lp.Case.generate("refine", 1, 3)
    assert lp.judge(case, "host")["outcome"] == "equal"
    assert lp.judge(case, "host", reference="brute_force")["outcome"] == "equal"
    assert set(lp.backends()) >= {"reference", "brute_force", "host", "strict"}
    verdict = lp.judge(case, NotImplemented)
    assert verdict["outcome"] == "not_implemented"


def test_a_command_is_a_backend(tmp_path):
    program = tmp_path / "says_no.py"
    program.write_text(
        "import sys\n"
        "for line in sys.stdin:\n"
        "    print(line.split()[0], 'answer1 not_implemented reason=lazy', flush=True)\n"
    )
    case = lp.Case.generate("refine", 1, 3)
    assert lp.answer(case, f"python3 {program}") is NotImplemented
    program.write_text("import sys\nsys.exit(3)\n")
    assert lp.judge(case, f"python3 {program}")["outcome"] == "different"
    with pytest.raises(lp.Error) as caught:
        lp.answer(case, f"python3 {program}")
    assert caught.value.argument == "backend" and "exit" in str(caught.value)
