"""What is hostile or wrong is refused by one typed error that names the argument and the value."""

import pickle

import leafproof as lp
import numpy as np
import pytest

BATCH = lp.Batch.from_ijk([[0, 0, 0], [1, 2, 3], [9, 9, 9]], [0, 2, 3])


class Breaks:
    """An object whose every answer is an exception."""

    def __repr__(self):
        raise RuntimeError("no")

    def __array__(self, *_, **__):
        raise RuntimeError("no array")

    def __len__(self):
        raise RuntimeError("no length")


class OnDevice:
    """A tensor on a GPU, as DLPack says it."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **_):
        raise BufferError("lies on a GPU")


def from_ijk(ijk, offsets=None, **more):
    return lambda: lp.Batch.from_ijk(ijk, offsets, **more)


GOOD = [[0, 0, 0], [1, 2, 3]]
REFUSALS = [
    # what is done, kind, argument, what the text says
    (from_ijk([[0.5, 0, 0]]), "InvalidArgument", "ijk", "float64"),
    (from_ijk(np.array([[np.nan, 0, 0]])), "InvalidArgument", "ijk", "float64"),
    (from_ijk([[2**31, 0, 0]]), "InvalidArgument", "ijk", "2147483648"),
    (from_ijk([[0, 0, 0], [0, -(2**40), 0]]), "InvalidArgument", "ijk", "row 1"),
    (from_ijk([[2**80, 0, 0]]), "InvalidArgument", "ijk", "object"),
    (
        from_ijk(np.array([[2**63, 0, 0]], np.uint64)),
        "InvalidArgument",
        "ijk",
        "9223372036854775808",
    ),
    (from_ijk([[0, 0]]), "ShapeMismatch", "ijk", "[1][2]"),
    (from_ijk([0, 0, 0]), "ShapeMismatch", "ijk", "[3]"),
    (from_ijk(np.zeros((1, 1, 3), np.int32)), "ShapeMismatch", "ijk", "[1][1][3]"),
    (from_ijk(7), "ShapeMismatch", "ijk", ""),
    (from_ijk([[0, 0, 0], [1]]), "InvalidArgument", "ijk", ""),
    (from_ijk("voxels"), "InvalidArgument", "ijk", ""),
    (from_ijk(b"voxels"), "ShapeMismatch", "ijk", "[6]"),
    (from_ijk(None), "InvalidArgument", "ijk", "object"),
    (from_ijk(Breaks()), "InvalidArgument", "ijk", "no array"),
    (from_ijk(OnDevice()), "InvalidArgument", "ijk", ""),
    (from_ijk(np.array([["a", "b", "c"]])), "InvalidArgument", "ijk", "<U1"),
    (from_ijk(np.array([[1, 2, 3]], ">i4")), "InvalidArgument", "ijk", ">i4"),
    (from_ijk(np.array([[1, 2, 3]], "M8[s]")), "InvalidArgument", "ijk", "datetime64"),
    (from_ijk(np.array([[1, 2, 3]], complex)), "InvalidArgument", "ijk", ""),
    (from_ijk(GOOD, []), "ShapeMismatch", "offsets", "B+1"),
    (from_ijk(GOOD, [1, 2]), "ShapeMismatch", "offsets", "begin at 0"),
    (from_ijk(GOOD, [-1, 2]), "ShapeMismatch", "offsets", "-1"),
    (from_ijk(GOOD, [0, 2, 1, 2]), "ShapeMismatch", "offsets", "member 1"),
    (from_ijk(GOOD, [0, 1]), "ShapeMismatch", "offsets", "2 rows"),
    (from_ijk(GOOD, [0, 3]), "ShapeMismatch", "offsets", "2 rows"),
    (from_ijk(GOOD, [0, 2**62, 2]), "ShapeMismatch", "offsets", str(2**62)),
    (from_ijk(GOOD, [[0, 2]]), "ShapeMismatch", "offsets", "[1][2]"),
    (from_ijk(GOOD, [0.0, 2.0]), "InvalidArgument", "offsets", "float64"),
    (from_ijk(GOOD, voxel_sizes=0), "InvalidArgument", "voxel_size", ""),
    (from_ijk(GOOD, voxel_sizes=np.nan), "InvalidArgument", "voxel_size", "nan"),
    (from_ijk(GOOD, origins=[0, 0, np.inf]), "InvalidArgument", "origin", "inf"),
    (from_ijk(GOOD, voxel_sizes=[1, 2]), "ShapeMismatch", "voxel_sizes", "[2]"),
    (
        from_ijk(GOOD, voxel_sizes=[[1, 1, 1]] * 3, origins=[[0, 0, 0]] * 2),
        "ShapeMismatch",
        "origins",
        "",
    ),
    (from_ijk(GOOD, voxel_sizes=[[1, 1, 1]] * 3), "ShapeMismatch", "map", "3"),
    (from_ijk(GOOD, names="x" * 256), "InvalidArgument", "name", ""),
    (from_ijk(GOOD, names="a\0b"), "InvalidArgument", "name", ""),
    (from_ijk(GOOD, names=7), "InvalidArgument", "names", "7"),
    (from_ijk(GOOD, names=[7]), "InvalidArgument", "names", "7"),
    (from_ijk(GOOD, names="\ud800"), "InvalidArgument", "names", ""),
    (from_ijk(GOOD, names=["a", "b", "c"]), "ShapeMismatch", "name", ""),
    (from_ijk(GOOD, backend="hots"), "InvalidArgument", "backend", "hots"),
    (from_ijk(GOOD, backend=None), "InvalidArgument", "backend", "None"),
    (lambda: lp.Batch.from_points([[0, np.nan, 0]]), "InvalidArgument", "points", "nan"),
    (lambda: lp.Batch.from_points([[0, 0, 0], [1e300, 0, 0]]), "OutOfRange", "points", "row 1"),
    (lambda: lp.Batch.from_buffer(b"NanoVDB0" * 200), "Corrupt", "", ""),
    (lambda: lp.Batch.from_buffer(bytes(BATCH.buffer)[:-32]), "Corrupt", "", ""),
    (lambda: lp.Batch.from_buffer("grids"), "InvalidArgument", "buffer", "grids"),
    (lambda: lp.Batch.read("/no/such/file.nvdb"), "InvalidArgument", "file", "/no/such"),
    (lambda: BATCH.write("/no/such/folder/x.nvdb"), "InvalidArgument", "file", "/no/such"),
    (lambda: BATCH.view([0, 2]), "InvalidArgument", "members", "2"),
    (lambda: BATCH.view([-1]), "InvalidArgument", "members", "-1"),
    (lambda: lp.refine(BATCH, 0), "InvalidArgument", "factor", "0"),
    (lambda: lp.refine(BATCH, 2.0), "InvalidArgument", "factor", "2.0"),
    (lambda: lp.refine(BATCH, True), "InvalidArgument", "factor", "True"),
    (lambda: lp.refine(BATCH, (2, 2)), "InvalidArgument", "factor", "(2, 2)"),
    (lambda: lp.refine(BATCH, (2, 2, 2, 2)), "InvalidArgument", "factor", ""),
    (lambda: lp.refine(BATCH, "222"), "InvalidArgument", "factor", "222"),
    (lambda: lp.refine(BATCH, 2**70), "InvalidArgument", "factor", "64 bits"),
    (lambda: lp.refine(BATCH, 1025), "Unsupported", "factor", "1025"),
    (lambda: lp.refine(BATCH, Breaks()), "InvalidArgument", "factor", "without a text"),
    (lambda: lp.refine(BATCH, 2, [True, False]), "ShapeMismatch", "mask", "[2]"),
    (lambda: lp.refine(BATCH, 2, [[True], [False, True]]), "ShapeMismatch", "mask", ""),
    (lambda: lp.refine(BATCH, 2, [1, 0, 2]), "InvalidArgument", "mask", "row 2"),
    (lambda: lp.refine(BATCH, 2, [1.0, 0, 0]), "InvalidArgument", "mask", "float64"),
    (lambda: lp.prune(BATCH, None), "InvalidArgument", "mask", "absent"),
    (lambda: lp.refine("batch", 2), "InvalidArgument", "source", "'batch'"),
    (lambda: lp.refine(None, 2), "InvalidArgument", "source", "None"),
    (lambda: lp.refine(BATCH, None), "InvalidArgument", "factor", "None"),
    (lambda: lp.dilate_box(BATCH, 0, None), "InvalidArgument", "hi", "None"),
    (lambda: lp.kernel_map(BATCH, kernel_size=None), "InvalidArgument", "kernel_size", "None"),
    (lambda: lp.merge(BATCH, None), "InvalidArgument", "other", "None"),
    (lambda: lp.merge(BATCH, BATCH[0]), "ShapeMismatch", "other", ""),
    (lambda: lp.erode_box(BATCH, 1, 2), "InvalidArgument", "", ""),
    (lambda: lp.dilate_box(BATCH, 0, -1), "InvalidArgument", "", ""),
    (lambda: lp.dilate_box(BATCH, 0, 2**40), "Unsupported", "", ""),
    (lambda: lp.refine(lp.Batch.from_ijk([[2**30, 0, 0]]), 4), "OutOfRange", "", "4294967296"),
    (lambda: lp.conv_grid(BATCH, 0), "InvalidArgument", "kernel", ""),
    (lambda: lp.conv_grid(BATCH, 129), "Unsupported", "kernel", "129"),
    (lambda: lp.submanifold_map(BATCH, 2), "InvalidArgument", "kernel", ""),
    (lambda: lp.kernel_map(BATCH, BATCH[0]), "ShapeMismatch", "target", ""),
    (lambda: lp.kernel_map(BATCH, transposed=1), "InvalidArgument", "transposed", "1"),
    (lambda: lp.Case("refine", source=BATCH, lo=1), "InvalidArgument", "lo", "takes factor"),
    (from_ijk(np.broadcast_to(np.int64(0), (10**12, 3))), "OutOfMemory", "ijk", "1000000000000"),
    (lambda: lp.check("case", BATCH), "InvalidArgument", "case", "'case'"),
    (lambda: lp.judge(None, BATCH), "InvalidArgument", "case", "None"),
    (lambda: lp.answer(BATCH), "InvalidArgument", "case", "Batch"),
    (lambda: lp.shrink(BATCH, None), "InvalidArgument", "case", "Batch"),
    (lambda: lp.shrink(lp.Case.generate("dual", 1, 1), 3), "InvalidArgument", "fails", "3"),
    (lambda: lp.Case(None), "InvalidArgument", "op", "None"),
    (lambda: lp.Case("sharpen", source=BATCH), "InvalidArgument", "op", "sharpen"),
    (lambda: lp.Case.parse("case1 refine"), "Corrupt", "source", ""),
    (lambda: lp.Case.parse("case2 refine source=[]"), "Corrupt", "", "case2"),
    (lambda: lp.Case.from_bytes(b"LPC"), "Corrupt", "", ""),
    (lambda: lp.Case.from_json("{"), "Corrupt", "", ""),
    (lambda: lp.Case.generate("refine", -1, 0), "InvalidArgument", "seed", "-1"),
    (lambda: lp.Case.generate("map_after", 1, 0), "InvalidArgument", "op", "map_after"),
    (
        lambda: lp.Case.from_choices("refine", b"", "dragons"),
        "InvalidArgument",
        "family",
        "dragons",
    ),
    (lambda: lp.Case.from_choices("refine", "text"), "InvalidArgument", "choices", "text"),
    (lambda: lp.families("sharpen"), "InvalidArgument", "op", "sharpen"),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_refusal(number):
    done, kind, argument, says = REFUSALS[number]
    with pytest.raises(lp.Error) as caught:
        done()
    error = caught.value
    assert error.kind == kind, str(error)
    assert argument in error.argument, str(error)
    assert says in str(error), str(error)
    assert kind in str(error) and error.operation, str(error)


def test_member_and_row_are_numbers():
    with pytest.raises(lp.Error) as caught:
        lp.Batch.from_points([[0, 0, 0], [0, 0, 0], [0, np.inf, 0]], [0, 1, 3])
    assert (caught.value.member, caught.value.row) == (1, 1)
    with pytest.raises(lp.Error) as caught:
        lp.refine(lp.Batch.from_ijk([[0, 0, 0], [2**30, 0, 0]], [0, 1, 2]), 2)
    assert (caught.value.kind, caught.value.member, caught.value.row) == ("OutOfRange", 1, 1)


def test_both_sides_say_the_same_kind():
    for number in range(2, 200, 8):
        for op in ("refine", "dilate_box", "conv_grid", "from_points"):
            case = lp.Case.generate(op, 3, number * 8 + 7)  # one that must be refused
            answers = [lp.answer(case, backend) for backend in ("reference", "host")]
            assert [type(answer) for answer in answers] == [lp.Error, lp.Error]
            assert answers[0].kind == answers[1].kind


def test_errors_travel():
    with pytest.raises(lp.Error) as caught:
        lp.refine(BATCH, 0)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.kind, copy.argument) == (str(caught.value), "InvalidArgument", "factor")
    with pytest.raises(lp.Mismatch) as caught:
        lp.check_refine(BATCH, BATCH, 2)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.case, copy.verdict) == (
        str(caught.value),
        caught.value.case,
        caught.value.verdict,
    )


def test_an_index_out_of_range_ends_a_loop():
    with pytest.raises(IndexError):
        BATCH[2]
    with pytest.raises(IndexError):
        BATCH[-3]
    with pytest.raises(lp.Error):
        BATCH["a"]


@pytest.mark.parametrize("seed", range(3))
def test_damaged_grids_are_refused_or_read(seed):
    """Any bytes: never a crash. What is accepted can be asked again."""
    random = np.random.default_rng(seed)
    good = np.array(lp.dilate_box(BATCH, -2, 2).buffer)
    for _ in range(60):
        bad = good.copy()
        for at in random.integers(0, 2000, random.integers(1, 4)):
            bad[at] = random.integers(0, 256)
        try:
            batch = lp.Batch.from_buffer(bad)
            assert len(batch.ijk) == batch.offsets[-1]
            lp.coarsen(batch, 2)
        except lp.Error as error:
            assert error.kind in ("Corrupt", "Unsupported", "InvalidArgument"), str(error)
