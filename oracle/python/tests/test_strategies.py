"""`leafproof.strategies`: the harness' own cases, and planted mistakes that shrink to the smallest
case that shows them."""

import itertools
import json
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import find, given, settings

import leafproof
from leafproof import strategies


def smallest(strategy, fails, seeds=(1,)):
    """What Hypothesis comes to from whatever it finds first, from each of some beginnings."""
    return [find(strategy, fails, random=random.Random(seed),
                 settings=settings(max_examples=2000)) for seed in seeds]


def differs(case, answer):
    return leafproof.judge(case, answer, profile="topology")["outcome"] == "different"


def voxels(case):
    return json.loads(case.to_json())["source"]


# --- planted mistakes


def coarsen_by_truncation(case):
    f = np.array(case.params["factor"])
    ijk = np.trunc(case.source.ijk.astype(np.float64) / f)
    return leafproof.Batch.from_ijk(ijk.astype(np.int64), case.source.offsets)


def test_division_toward_zero_is_one_voxel():
    cases = strategies.cases("coarsen", refused=False)
    # From every beginning the factor is; another coordinate may be left at an end of the lattice.
    for case in smallest(cases, lambda case: differs(case, coarsen_by_truncation(case)), (1, 3, 7)):
        assert sorted(case.params["factor"]) == [1, 1, 2]
        (member,) = voxels(case)
        (voxel,) = member
        assert sorted(map(abs, voxel)) == [0, 0, 1] and min(voxel) == -1
        assert case.view is None and case.names == [""]


def kernel_map_with(case, phase):
    """[K-1] by lists, with a phase of its own."""
    p = case.params
    K, S, D = (np.array(p[name]) for name in ("kernel_size", "stride", "dilation"))
    P = np.array([phase(d, k) for d, k in zip(D, K)])
    def rows(batch):
        member = np.repeat(np.arange(len(batch)), np.diff(batch.offsets))
        return [(m, *map(int, ijk)) for m, ijk in zip(member, batch.ijk)]
    place = {row: i for i, row in enumerate(rows(case.target))}
    offsets, gather, scatter = [0], [], []
    for tap in itertools.product(*map(range, K)):
        for i, (member, *at) in enumerate(rows(case.source)):
            if p["transposed"]:
                to = S * at + D * tap - P
            else:
                to = np.array(at) + P - D * tap
                if (to % S).any():
                    continue
                to //= S
            j = place.get((member, *map(int, to)))
            if j is not None:
                gather.append(i)
                scatter.append(j)
        offsets.append(len(gather))
    return np.array(offsets), np.array(gather, np.int64), np.array(scatter, np.int64)


def right_phase(d, k):
    return d * (k - 1) // 2


def even_phase(d, k):
    return (d * (k - 1) + 1) // 2


def is_listed(case):
    rows = len(case.source.ijk) * np.prod([float(k) for k in case.params["kernel_size"]])
    return case.target is not None and not case.params["dense"] and rows < 2_000


def test_the_phase_of_an_even_kernel_is_one_pair():
    cases = strategies.cases("kernel_map", refused=False)

    def fails(phase):
        return lambda case: is_listed(case) and differs(case, kernel_map_with(case, phase))

    for case in smallest(cases, fails(even_phase), seeds=(1, 3)):
        assert not fails(right_phase)(case)
        size = sorted(case.params["kernel_size"])
        assert size == [1, 1, 2], case
        assert len(case.source.ijk) == len(case.target.ijk) == 1 and len(case.source) == 1


def test_a_batch_that_loses_empty_members_is_one_empty_member():
    def without_empty(case):
        counts = np.diff(case.source.offsets)
        offsets = np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64)
        return leafproof.Batch.from_ijk(case.source.ijk, offsets)

    # The answer of a dilation by nothing is its source.
    cases = strategies.cases("dilate_box", refused=False)

    def fails(case):
        return case.params["lo"] == case.params["hi"] == (0, 0, 0) and differs(
            case, without_empty(case))

    by_nothing = cases.map(lambda case: leafproof.Case(
        "dilate_box", source=case.source, lo=(0, 0, 0), hi=(0, 0, 0)))
    for case in smallest(by_nothing, fails):
        assert voxels(case) == [[]]


def test_a_mask_of_the_wrong_order_is_two_voxels():
    def by_reversed(case):
        flags = np.concatenate([np.zeros(0, bool), *(m[::-1] for m in case.mask)]).astype(bool)
        kept = np.concatenate([[0], np.cumsum(flags)])[case.source.offsets]
        return leafproof.Batch.from_ijk(case.source.ijk[flags], kept)

    for case in smallest(strategies.cases("prune", refused=False),
                         lambda case: differs(case, by_reversed(case))):
        assert len(case.source.ijk) == 2 and sum(map(sum, case.mask)) == 1
        assert len(case.source) == 1


def test_an_operand_that_is_ignored_is_one_voxel():
    for case in smallest(strategies.cases("merge", refused=False),
                         lambda case: differs(case, case.source)):
        assert voxels(case) == [[]] and case.other.ijk.tolist() == [[0, 0, 0]]


def test_a_view_that_is_ignored_is_seen_in_it():
    def fails(case):
        if case.view is None:
            return False
        whole = json.loads(case.to_json())
        del whole["view"]
        return differs(case, leafproof.answer(leafproof.Case.from_json(json.dumps(whole))))

    for case in smallest(strategies.cases("dual", refused=False), fails):
        assert case.view in ([], [0, 0]) and sum(map(len, voxels(case))) <= 1


def test_rounding_to_even_is_one_point():
    def to_even(case):
        at = np.rint((case.points - np.repeat(case.origins, np.diff(case.offsets), axis=0)) /
                     np.repeat(case.voxel_sizes, np.diff(case.offsets), axis=0))
        if not (np.abs(at) < 2**31 - 1).all():
            return leafproof.answer(case)
        return leafproof.Batch.from_ijk(at.astype(np.int64), case.offsets, case.voxel_sizes,
                                        case.origins, case.names)

    for case in smallest(strategies.cases("from_points", refused=False),
                         lambda case: differs(case, to_even(case))):
        (point,) = case.points.tolist()
        assert point.count(0) == 2 and len(case.names) == 1


def test_exchanged_channels_of_a_bias_are_two_numbers():
    def reversed_bias(case):
        answer = leafproof.answer(case)
        if isinstance(answer, np.ndarray) and case.bias is not None and answer.ndim == 2:
            with np.errstate(all="ignore"):
                return answer - case.bias + case.bias[::-1]
        return answer

    def fails(case):
        return leafproof.judge(case, reversed_bias(case))["outcome"] == "different"

    for case in smallest(strategies.cases("convolution", refused=False), fails):
        assert case.weights.shape[:2] == (2, 1) and not case.weights.any()
        assert len(case.features) == 1 and np.count_nonzero(case.bias) == 1


def test_a_refusal_that_is_left_out_is_shown_without_a_voxel():
    def fails(case):
        return isinstance(leafproof.answer(case), leafproof.Error)

    for case in smallest(strategies.cases("refine"), fails):
        assert not any(voxels(case)) and max(case.params["factor"]) == 1


# --- what is drawn


@pytest.mark.parametrize("op", strategies.OPS)
def test_cases_are_the_harness_own(op):
    """Of every family, and of those that must be refused, there are some that are drawn."""
    known = leafproof.families(op)
    refused = ["refused"] if any(
        number % 8 == 7 for number in strategies._numbers(op, None, True)) else []
    assert bool(refused) == (op not in ("prune", "merge", "intersect", "subtract"))
    for place, name in enumerate([*known, *refused]):
        number = 7 if name == "refused" else place if place % 8 != 7 else place + len(known)
        cases = (leafproof.Case.generate(op, seed, number)
                 for seed in range(strategies._SEEDS_TRIED))
        drawn = next(case for case in cases if strategies._as_drawn(case) is not None)
        assert drawn.comment.startswith(name)


def test_operations_are_those_of_the_harness():
    assert sorted(strategies.OPS) == sorted(leafproof.operations())


@pytest.mark.parametrize("op", strategies.OPS)
def test_the_builder_gives_the_answer_of_the_reference(op):
    seen = []

    @settings(max_examples=8)
    @given(strategies.cases(op))
    def test(case):
        assert case.op == op
        leafproof.check(case, "host")
        seen.append(case)

    test()
    assert len(set(seen)) > 4


def test_cases_of_all_operations_and_of_some():
    seen = set()

    @settings(max_examples=60)
    @given(strategies.cases())
    def test(case):
        seen.add(case.op)

    test()
    assert len(seen) > 8
    assert find(strategies.cases(["dual", "merge"]), lambda case: True).op in ("dual", "merge")


def test_families_are_chosen():
    @settings(max_examples=50)
    @given(strategies.cases("dual", families=["comb"]))
    def test(case):
        assert strategies  # free ones are of no family; others are of this one

    test()
    numbers = strategies._numbers("dual", ["comb"], True)
    assert len(numbers) == 7 * 31 and all(
        leafproof.Case.generate("dual", 1, n).comment.startswith("comb") for n in numbers[:20])


def test_batches_have_as_many_members_as_are_asked_for():
    sizes = Counter()

    @settings(max_examples=60)
    @given(strategies.batches(min_members=1, max_members=3))
    def test(batch):
        assert isinstance(batch, leafproof.Batch)
        sizes[len(batch)] += 1

    test()
    assert set(sizes) == {1, 2, 3}
    assert len(find(strategies.batches(), lambda batch: len(batch.ijk) > 0).ijk) == 1


def test_points_are_arguments_of_from_points():
    @settings(max_examples=40)
    @given(strategies.points())
    def test(drawn):
        try:
            batch = leafproof.Batch.from_points(**drawn)
        except leafproof.Error as error:  # a free one, beyond the lattice
            assert error.kind in ("OutOfRange", "InvalidArgument")
        else:
            assert len(batch) == len(drawn["offsets"]) - 1

    test()


def test_parameters_of_kernel_maps():
    seen = set()

    @settings(max_examples=60)
    @given(strategies.conv_params())
    def test(params):
        assert set(params) == {"kernel_size", "stride", "dilation", "transposed"}
        assert 1 <= min(map(min, list(params.values())[:3])) and params["transposed"] in (0, 1)
        assert np.prod(params["kernel_size"]) <= 4096
        seen.add(params["kernel_size"])

    test()
    assert len(seen) > 15
    plain = find(strategies.conv_params(), lambda params: True)
    assert plain == dict(kernel_size=(1, 1, 1), stride=(1, 1, 1), dilation=(1, 1, 1),
                         transposed=False)
    even = find(strategies.conv_params(transposed=True),
                lambda params: any(k % 2 == 0 for k in params["kernel_size"]))
    assert sorted(even["kernel_size"]) == [1, 1, 2] and even["transposed"] is True


def test_masks_and_features_fit_a_batch():
    batch = leafproof.Batch.from_ijk([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [0, 1, 3])

    @settings(max_examples=100)
    @given(strategies.masks(batch), strategies.features(batch),
           strategies.features(batch, 2, "float16", whole=False))
    def test(mask, one, other):
        assert mask.dtype == bool and mask.shape == (3,)
        assert one.dtype == np.float32 and one.shape[0] == 3 and (one == np.round(one)).all()
        assert other.dtype == np.float16 and other.shape == (3, 2)

    test()
    for flags in itertools.product([False, True], repeat=3):  # each is drawn
        assert tuple(find(strategies.masks(batch), lambda mask: tuple(mask) == flags)) == flags
    assert not find(strategies.masks(batch), lambda mask: True).any()
    assert find(strategies.masks(leafproof.Batch.from_ijk(np.zeros((0, 3), int), [0, 0])),
                lambda mask: True).shape == (0,)


@pytest.mark.parametrize("call", [
    lambda: strategies.cases("halve"), lambda: strategies.cases("dual", families="spiral"),
    lambda: strategies.batches(families=["spiral"])])
def test_what_is_not_there_is_named(call):
    with pytest.raises(leafproof.Error, match="cases: .* = (halve|spiral): must be one of"):
        call()
