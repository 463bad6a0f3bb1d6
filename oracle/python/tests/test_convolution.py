"""Kernel maps, plans and numbers, by both sides and judged."""

import leafproof as lp
import numpy as np
import pytest

RANDOM = np.random.default_rng(20261130)
IJK = np.unique(RANDOM.integers(-6, 6, (60, 3)), axis=0)
BATCH = lp.Batch.from_ijk(IJK, [0, 20, 20, len(IJK)])
ROWS = int(BATCH.offsets[-1])


def whole(*shape, kind=np.float32):
    return RANDOM.integers(-4, 5, shape).astype(kind)


def equal_maps(one, two):
    return (
        one.offsets.tolist() == two.offsets.tolist()
        and np.array_equal(one.dense(), two.dense())
        and one.source == two.source
        and one.target == two.target
    )


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("geometry", [(3, 1, 1), ((1, 2, 3), 2, 1), (2, (1, 2, 3), 2), (1, 1, 1)])
def test_maps_of_both_sides(geometry, transposed):
    maps = [lp.kernel_map(BATCH, None, *geometry, transposed, b) for b in ("host", "reference")]
    assert equal_maps(*maps) and len(maps[0]) == maps[0].offsets[-1]
    if not transposed:  # the builder's transposed map is a forward one with its columns swapped
        assert maps[0].gather.tolist() == maps[1].gather.tolist()
        assert maps[0].scatter.tolist() == maps[1].scatter.tolist()
    plan = lp.Plan(BATCH, *geometry, transposed)
    if plan.map is not None:
        assert equal_maps(plan.map, maps[0])
    lp.check_kernel_map(BATCH, maps[0], None, *geometry, transposed)
    lp.check_kernel_map(BATCH, maps[0].dense(), None, *geometry, transposed)
    dense = maps[0].dense()
    assert (dense >= 0).sum() == len(maps[0])
    turned = maps[0].transposed()
    assert turned.gather.tolist() == maps[0].scatter.tolist()
    assert turned.source == maps[0].target
    lp.check_kernel_map(turned.source, turned, turned.target, *geometry, not transposed)


def test_columns_are_no_copies():
    map = lp.kernel_map(BATCH)
    assert map.gather.ctypes.data == map.gather.ctypes.data
    gather = map.gather
    wanted = gather.copy()
    del map
    assert np.array_equal(gather, wanted) and not gather.flags.writeable


def test_submanifold_maps():
    index = lp.submanifold_map(BATCH, 3)
    assert index.tolist() == lp.submanifold_map(BATCH, 3, backend="reference").tolist()
    assert np.array_equal(index, lp.kernel_map(BATCH, BATCH, 3).dense())
    lp.check(lp.Case("submanifold_index_map", source=BATCH, kernel_size=3), index)


def test_pairs_of_a_tap_in_any_order_and_rows_of_a_librarys_own():
    map = lp.kernel_map(BATCH, BATCH, 3)
    gather, scatter = map.gather.copy(), map.scatter.copy()
    for begin, end in zip(map.offsets, map.offsets[1:]):
        gather[begin:end], scatter[begin:end] = gather[begin:end][::-1], scatter[begin:end][::-1]
    lp.check_kernel_map(BATCH, (map.offsets, gather, scatter), BATCH, 3)
    with pytest.raises(lp.Mismatch):
        lp.check_kernel_map(BATCH, (map.offsets, gather, scatter), BATCH, 3, profile="bytes")

    order = RANDOM.permutation(ROWS)  # row i of the library is our row order[i]
    place = np.argsort(order)
    member = np.repeat(np.arange(len(BATCH)), np.diff(BATCH.offsets))
    rows = np.column_stack([member, BATCH.ijk])[order]
    theirs = (map.offsets, place[map.gather], place[map.scatter])
    lp.check_kernel_map(BATCH, theirs, BATCH, 3, source_rows=rows, target_rows=rows)
    with pytest.raises(lp.Mismatch):
        lp.check_kernel_map(BATCH, theirs, BATCH, 3)
    twice = rows.copy()
    twice[0] = twice[1]
    with pytest.raises(lp.Mismatch, match="repeated"):
        lp.check_kernel_map(BATCH, theirs, BATCH, 3, source_rows=twice, target_rows=rows)

    features, weights = whole(ROWS, 2), whole(3, 2, 3, 3, 3)
    output = lp.convolution(BATCH, features, weights, target=BATCH)
    lp.check_convolution(BATCH, output[order], features, weights, target=BATCH, target_rows=rows)
    with pytest.raises(lp.Mismatch):
        lp.check_convolution(BATCH, output[order], features, weights, target=BATCH)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda o, g, s: (o[:-1], g, s),
        lambda o, g, s: (o * 2, g, s),
        lambda o, g, s: (o[::-1], g, s),
        lambda o, g, s: (o, g + 1000, s),
        lambda o, g, s: (o, -g - 1, s),
        lambda o, g, s: (o, g[:-1], s),
        lambda o, g, s: (o, s, g),
        lambda o, g, s: (o, np.full_like(g, 2**40, dtype=np.int64), s),
    ],
)
def test_hostile_maps_are_differences(wrong):
    map = lp.kernel_map(BATCH, None, 3)
    parts = (map.offsets.copy(), map.gather.copy(), map.scatter.copy())
    with pytest.raises(lp.Mismatch):
        lp.check_kernel_map(BATCH, wrong(*parts), None, 3)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32])
@pytest.mark.parametrize("transposed", [False, True])
def test_numbers_of_both_sides(kind, transposed):
    features, weights = whole(ROWS, 3, kind=kind), whole(2, 3, 3, 3, 3, kind=kind)
    bias = whole(2, kind=kind)
    more = {"stride": 2, "transposed": transposed}
    plan = lp.Plan(BATCH, 3, 2, transposed=transposed)
    output = plan.convolve(features, weights, bias)
    assert output.dtype == kind and output.flags.writeable
    for backend in ("host", "reference"):
        same = lp.convolution(BATCH, features, weights, bias, backend=backend, **more)
        assert same.dtype == kind and np.array_equal(same, output)
    lp.check_convolution(BATCH, output, features, weights, bias, **more)

    grad = whole(*output.shape, kind=kind)
    gradients = plan.gradients(features, weights, grad)
    for backend in ("host", "reference"):
        same = lp.convolution_gradients(BATCH, features, weights, grad, backend=backend, **more)
        assert all(np.array_equal(one, two) for one, two in zip(gradients, same))
    assert [g.shape for g in gradients] == [features.shape, weights.shape, (2,)]
    lp.check_gradients(BATCH, gradients, features, weights, grad, **more)

    wrong = output.copy()
    wrong[1, 1] += 1
    with pytest.raises(lp.Mismatch, match="element 1"):
        lp.check_convolution(BATCH, wrong, features, weights, bias, **more)
    with pytest.raises(lp.Mismatch):
        lp.check_gradients(
            BATCH, (gradients[0], gradients[1] + 1, gradients[2]), features, weights, grad, **more
        )


def test_the_bound_is_that_of_the_accumulator():
    features = RANDOM.standard_normal((ROWS, 8)).astype(np.float32)
    weights = RANDOM.standard_normal((4, 8, 3, 3, 3)).astype(np.float32)
    output = lp.convolution(BATCH, features, weights)
    lp.check_convolution(BATCH, output, features, weights)
    rough = output + np.float32(1e-4) * np.abs(output).max()
    with pytest.raises(lp.Mismatch, match="V-3"):
        lp.check_convolution(BATCH, rough, features, weights)
    lp.check_convolution(BATCH, rough, features, weights, multiplier="tf32", accumulator="fp16")
    with pytest.raises(lp.Error, match="accumulator"):
        lp.check_convolution(BATCH, output, features, weights, accumulator="fp8")


def test_arrays_however_they_lie():
    features, weights = whole(ROWS, 3), whole(2, 3, 3, 3, 3)
    wanted = lp.convolution(BATCH, features, weights)
    assert np.array_equal(lp.convolution(BATCH, np.asfortranarray(features), weights), wanted)
    assert np.array_equal(
        lp.convolution(BATCH, features, weights[::1, :, :, :, :].copy("F")), wanted
    )
    # Cast to the features' type [V-6].
    assert np.array_equal(lp.convolution(BATCH, features, weights.astype(np.float64)), wanted)
    assert np.array_equal(lp.convolution(BATCH, features, weights.astype(np.int8)), wanted)
    assert np.array_equal(lp.convolution(BATCH, features.tolist(), weights.tolist()), wanted)


def test_the_identity_has_no_map():
    plan = lp.Plan(BATCH, 1)
    assert plan.map is None and plan.target == BATCH and plan.is_complete
    features, weights = whole(ROWS, 3), whole(2, 3)
    wanted = features @ weights.T
    for target in (None, BATCH):
        for backend in ("host", "reference"):
            output = lp.convolution(BATCH, features, weights, target=target, backend=backend)
            assert np.array_equal(output, wanted)


def test_plans():
    plan = lp.Plan(BATCH, (3, 2, 1), (2, 1, 1), 1)
    assert (plan.kernel_size, plan.stride, plan.dilation) == ((3, 2, 1), (2, 1, 1), (1, 1, 1))
    assert not plan.is_transposed and plan.is_complete and plan.source is BATCH
    assert plan.target == lp.conv_grid(BATCH, (3, 2, 1), (2, 1, 1))
    turned = plan.transposed()
    assert turned.is_transposed and turned.source == plan.target and turned.target is BATCH
    assert turned.map.gather.tolist() == plan.map.scatter.tolist()
    coverage = plan.coverage()
    assert coverage["source"]["degrees"].sum() == len(plan.map)
    assert coverage["target"]["uncovered"].tolist() == []
    assert plan.reaches_every_residue and not lp.Plan(BATCH, 1, 2).reaches_every_residue
    assert "kernel" in plan.report() and "Plan" in repr(plan)


def test_a_plan_outlives_what_it_was_made_of():
    plan = lp.Plan(lp.Batch.from_ijk(IJK), 3)
    map = plan.map
    del plan
    assert len(map.source.ijk) == len(IJK)


@pytest.mark.parametrize(
    "done, kind, argument",
    [
        (
            lambda: lp.convolution(BATCH, whole(ROWS + 1, 2), whole(1, 2, 3, 3, 3)),
            "ShapeMismatch",
            "features",
        ),
        (
            lambda: lp.convolution(BATCH, whole(ROWS, 2), whole(1, 3, 3, 3, 3)),
            "ShapeMismatch",
            "weights",
        ),
        (
            lambda: lp.convolution(BATCH, whole(ROWS, 2), whole(1, 2, 3, 3, 3), whole(2)),
            "ShapeMismatch",
            "bias",
        ),
        (
            lambda: lp.convolution(BATCH, whole(ROWS, 2, kind=np.int64), whole(1, 2, 3, 3, 3)),
            "Unsupported",
            "features",
        ),
        (lambda: lp.convolution(BATCH, whole(ROWS, 2), "weights"), "InvalidArgument", "weights"),
        (lambda: lp.convolution(BATCH, None, whole(1, 2, 3, 3, 3)), "InvalidArgument", "features"),
        (
            lambda: lp.convolution(BATCH, whole(ROWS, 2), whole(1, 2, 3, 3, 3), kernel_size=2),
            "ShapeMismatch",
            "weights",
        ),
        (
            lambda: lp.convolution(
                BATCH, np.full((ROWS, 2), 2**30, np.int32), np.full((1, 2, 1, 1, 1), 4)
            ),
            "OutOfRange",
            "",
        ),
        (
            lambda: lp.convolution(
                BATCH, whole(ROWS, 2, kind=np.int32), np.full((1, 2, 1, 1, 1), 0.5)
            ),
            "InvalidArgument",
            "weights",
        ),
        (
            lambda: lp.convolution(BATCH, whole(ROWS, 2), whole(1, 2, 1, 1, 1), backend="no such"),
            "InvalidArgument",
            "backend",
        ),
        (lambda: lp.Plan(BATCH, 0), "InvalidArgument", "kernel"),
        (lambda: lp.Plan(BATCH, 17), "Unsupported", ""),
        (lambda: lp.Plan(None, 3), "InvalidArgument", "source"),
        (lambda: lp.Plan(BATCH, 3, target=3), "InvalidArgument", "target"),
        (lambda: lp.Plan(BATCH, 3, transposed="no"), "InvalidArgument", "transposed"),
    ],
)
def test_refusals(done, kind, argument):
    with pytest.raises(lp.Error) as caught:
        done()
    assert caught.value.kind == kind and argument in caught.value.argument, str(caught.value)


def test_nan_and_infinity_reach_the_rows_joined_to_theirs():
    features, weights = whole(ROWS, 1), whole(1, 1, 3, 3, 3)
    features[0], features[1] = np.nan, np.inf
    output = lp.convolution(BATCH, features, weights)
    lp.check_convolution(BATCH, output, features, weights)
    assert np.isnan(output).any() and np.isfinite(output).any()
