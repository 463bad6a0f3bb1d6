"""check_*: what a library returned is right, or the report says what is wrong first."""

import leafproof as lp
import numpy as np
import pytest

IJK = np.array([[0, 0, 0], [7, 7, 7], [-1, -5, 300], [4, 4, 4]], np.int32)
BATCH = lp.Batch.from_ijk(IJK, [0, 3, 3, 4])
FINE = lp.refine(BATCH, 2)


def mismatch(check, *arguments, **more):
    with pytest.raises(lp.Mismatch) as caught:
        check(*arguments, **more)
    assert caught.value.verdict["outcome"] == "different"
    assert str(caught.value).startswith("DIFFERENT")
    return caught.value


def shuffled(batch, seed=1):
    """A member's voxels in an order of a library's own."""
    random = np.random.default_rng(seed)
    parts = [random.permutation(batch[i].ijk) for i in range(len(batch))]
    return np.concatenate(parts), batch.offsets


def test_right_answers_in_every_form():
    lp.check_refine(BATCH, FINE, 2)
    lp.check_refine(BATCH, FINE.buffer, 2)
    lp.check_refine(BATCH, bytes(FINE.buffer), 2, profile="bytes")
    lp.check_refine(BATCH, (FINE.ijk, FINE.offsets), 2, profile="topology")
    lp.check_refine(BATCH, (FINE.ijk.astype(np.int64), FINE.offsets.tolist()), 2)
    lp.check_refine(BATCH, shuffled(FINE), 2)
    lp.check_grid("refine", BATCH, FINE, factor=2)
    lp.check_refine(BATCH, lp.Error(kind="Unsupported"), 1025)


def test_the_order_of_rows_is_judged_where_it_is_asked_for():
    mismatch(lp.check_refine, BATCH, shuffled(FINE), 2, profile="topology")


def test_one_voxel_too_many_is_named():
    ijk = np.concatenate([FINE.ijk, [[100, 100, 100]]])
    offsets = FINE.offsets.copy()
    offsets[-1] += 1
    error = mismatch(lp.check_refine, BATCH, (ijk, offsets), 2)
    assert error.verdict["first"]["member"] == 2
    assert error.verdict["extra"] == 1 and error.verdict["missing"] == 0
    assert "(100,100,100)" in str(error) and "[T-2]" in str(error)
    assert error.case.startswith("case1 refine factor=2")
    lp.check(lp.Case.parse(error.case), FINE)


def test_one_bit_of_the_grids_is_named():
    buffer = FINE.buffer.copy()
    at = len(buffer) - 96 + 24  # into the mask of the last leaf
    buffer[at] ^= 1
    error = mismatch(lp.check_refine, BATCH, buffer, 2)
    assert error.verdict["first"]["member"] == 2


def test_repeated_voxels_are_no_set():
    ijk = np.concatenate([FINE.ijk, FINE.ijk[-1:]])
    offsets = FINE.offsets.copy()
    offsets[-1] += 1
    error = mismatch(lp.check_refine, BATCH, (ijk, offsets), 2)
    assert error.verdict["repeated"] == 1


def test_hostile_answers_are_differences():
    for bad in (b"x" * 700, bytes(FINE.buffer)[:-32], np.zeros(100, np.uint8), b"\0" * 700):
        mismatch(lp.check_refine, BATCH, bad, 2)
    with pytest.raises(lp.Mismatch):
        lp.check_refine(BATCH, lp.Error(kind="OutOfRange"), 2)
    with pytest.raises(lp.Mismatch) as caught:
        lp.check_refine(BATCH, NotImplemented, 2)
    assert caught.value.verdict["outcome"] == "not_implemented"


@pytest.mark.parametrize(
    "actual, argument",
    [
        ((FINE.ijk, [0, 5]), "actual"),
        ((FINE.ijk.astype(float), FINE.offsets), "actual"),
        (None, "actual"),
        ("host?", "backend"),
        (FINE.ijk, "actual"),
        (lp.Error(kind="Strange"), "kind"),
        (lp.Error("no kind"), "kind"),
    ],
)
def test_what_is_no_answer_is_an_error(actual, argument):
    with pytest.raises(lp.Error) as caught:
        lp.check_refine(BATCH, actual, 2)
    assert argument in caught.value.argument


def test_profiles_that_do_not_apply():
    for profile in ("layout", "bytes"):
        with pytest.raises(lp.Error, match="profile"):
            lp.check_refine(BATCH, (FINE.ijk, FINE.offsets), 2, profile=profile)
    with pytest.raises(lp.Error, match="profile"):
        lp.check_refine(BATCH, FINE, 2, profile="colour")


def test_every_pass_has_its_check():
    mask = [True, False, True, True]
    moved = lp.dilate_box(BATCH, 1, 1)
    lp.check_from_ijk(IJK, [0, 3, 3, 4], BATCH)
    lp.check_from_points(
        IJK * 0.5, [0, 3, 3, 4], lp.Batch.from_points(IJK * 0.5, [0, 3, 3, 4], 0.5), 0.5
    )
    lp.check_refine(BATCH, lp.refine(BATCH, 2, mask), 2, mask)
    lp.check_coarsen(BATCH, lp.coarsen(BATCH, 3), 3)
    lp.check_dilate_box(BATCH, moved, 1, 1)
    lp.check_erode_box(FINE, lp.erode_box(FINE, 0, 1), 0, 1)
    lp.check_dual(BATCH, lp.dual(BATCH))
    lp.check_prune(BATCH, lp.prune(BATCH, mask), mask)
    lp.check_merge(BATCH, lp.merge(BATCH, moved), moved)
    lp.check_intersect(BATCH, lp.intersect(BATCH, moved), moved)
    lp.check_subtract(BATCH, lp.subtract(BATCH, moved), moved)
    lp.check_conv_grid(BATCH, lp.conv_grid(BATCH, 3, 2), 3, 2)
    lp.check_conv_transpose_grid(BATCH, lp.conv_transpose_grid(BATCH, 3, 2), 3, 2)
    mismatch(lp.check_coarsen, BATCH, BATCH, 3)
    mismatch(lp.check_dilate_box, BATCH, moved, -1, 1)
    mismatch(lp.check_dual, BATCH, BATCH)
    mismatch(lp.check_merge, BATCH, BATCH, moved)
    mismatch(lp.check_conv_grid, BATCH, lp.coarsen(BATCH, 2), 3, 2)
    mismatch(lp.check_from_ijk, IJK, [0, 4], BATCH)


def test_maps_are_judged_where_the_operation_is_about_them():
    points = IJK * 0.5
    other = lp.Batch.from_ijk(lp.Batch.from_points(points, None, 0.5).ijk)
    mismatch(lp.check_from_points, points, None, other, 0.5)
