"""Batches: what goes in, what comes out, and that no memory is copied or lost on the way."""

import gc
import pickle

import leafproof as lp
import numpy as np
import pytest

IJK = np.array([[0, 0, 0], [7, 7, 7], [-1, -5, 300], [-1, -5, 300]], np.int32)


@pytest.fixture
def batch():
    return lp.Batch.from_ijk(IJK, [0, 2, 2, 4], voxel_sizes=0.5, origins=[1, 2, 3], names="tree")


def test_what_a_batch_says_of_itself(batch):
    assert len(batch) == 3
    assert batch.ijk.tolist() == [[0, 0, 0], [7, 7, 7], [-1, -5, 300]]
    assert batch.ijk.dtype == np.int32
    assert batch.offsets.tolist() == [0, 2, 2, 3]
    assert batch.voxel_sizes.tolist() == [[0.5, 0.5, 0.5]] * 3
    assert batch.origins.tolist() == [[1, 2, 3]] * 3
    assert batch.names == ["tree"] * 3
    assert "3 members" in repr(batch)


@pytest.mark.parametrize("backend", ["host", "host-sort", "reference", "strict", "brute_force"])
def test_every_backend_builds_the_same(batch, backend):
    built = lp.Batch.from_ijk(
        IJK, [0, 2, 2, 4], voxel_sizes=0.5, origins=[1, 2, 3], names="tree", backend=backend
    )
    assert built == batch
    assert bytes(built.buffer) == bytes(batch.buffer)


def test_one_member_where_no_offsets_are_given():
    assert lp.Batch.from_ijk(IJK).offsets.tolist() == [0, 3]
    assert lp.Batch.from_ijk([[1, 2, 3]]).ijk.tolist() == [[1, 2, 3]]
    assert len(lp.Batch.from_ijk(np.empty((0, 3), np.int32), [0])) == 0
    assert lp.Batch.from_ijk([], [0, 0, 0]).offsets.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint16])
def test_whole_numbers_of_any_width(kind):
    assert lp.Batch.from_ijk(np.array([[1, 2, 3]], kind)).ijk.tolist() == [[1, 2, 3]]


def test_the_whole_lattice():
    ends = [[-(2**31), 0, 2**31 - 1], [2**31 - 1, -1, -(2**31)]]
    batch = lp.Batch.from_ijk(np.array(ends, np.int64))
    assert batch.ijk.tolist() == ends
    assert batch == lp.Batch.from_ijk(np.array(ends, np.int64), backend="reference")


@pytest.mark.parametrize(
    "lay",
    [
        lambda a: a[::-1],
        lambda a: np.asfortranarray(a),
        lambda a: np.concatenate([a, a], axis=1)[:, :3],
        lambda a: a.astype(np.int64)[::-1],
        lambda a: memoryview(a),
        lambda a: a.tolist(),
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.int32).reshape(-1, 3),
    ],
    ids=["backwards", "columns", "part", "wide", "memoryview", "list", "misplaced"],
)
def test_arrays_however_they_lie(lay):
    assert lp.Batch.from_ijk(lay(IJK)) == lp.Batch.from_ijk(IJK)


def test_read_only_arrays_are_read():
    ijk = IJK.copy()
    ijk.setflags(write=False)
    assert lp.Batch.from_ijk(ijk) == lp.Batch.from_ijk(IJK)


def test_dlpack_alone_suffices():
    class Tensor:  # of some library that has nothing else
        def __dlpack__(self, **options):
            return IJK.__dlpack__(**options)

        def __dlpack_device__(self):
            return IJK.__dlpack_device__()

    assert lp.Batch.from_ijk(Tensor()) == lp.Batch.from_ijk(IJK)


def test_arrays_of_a_batch_are_views_that_keep_it(batch):
    assert batch.ijk.ctypes.data == batch.ijk.ctypes.data
    assert batch.buffer.ctypes.data == batch.buffer.ctypes.data
    assert batch.buffer.ctypes.data % 32 == 0
    assert np.from_dlpack(batch.ijk).ctypes.data == batch.ijk.ctypes.data
    ijk, buffer, offsets = batch.ijk, batch.buffer, batch.offsets
    wanted = ijk.copy(), buffer.copy(), offsets.copy()
    del batch
    gc.collect()
    [np.zeros(1000) for _ in range(1000)]
    for kept, was in zip((ijk, buffer, offsets), wanted):
        assert np.array_equal(kept, was)


def test_nothing_can_be_written(batch):
    for array in (batch.ijk, batch.buffer, batch.offsets):
        with pytest.raises(ValueError):
            array[0] = 1
    with pytest.raises(AttributeError):
        batch.ijk = IJK


def test_views(batch):
    view = batch.view([2, 0, 2])
    assert view.offsets.tolist() == [0, 1, 3, 4]
    assert view.ijk.tolist() == [[-1, -5, 300], [0, 0, 0], [7, 7, 7], [-1, -5, 300]]
    of_reference = lp.Batch.from_ijk(IJK, [0, 2, 2, 4], 0.5, [1, 2, 3], "tree", "reference")
    assert of_reference.view([2, 0, 2]) == view
    assert bytes(of_reference.view([2, 0, 2]).buffer) == bytes(view.buffer)
    assert batch[0] == batch.view([0]) and batch[-1] == batch.view([2])
    assert batch[1:] == batch.view([1, 2]) and batch[::-1] == batch.view([2, 1, 0])
    assert [len(member.ijk) for member in batch] == [2, 0, 1]
    assert len(batch.view([])) == 0
    assert lp.refine(view, 2) == lp.refine(view, 2, backend="reference")


def test_equality_is_element_by_element(batch):
    assert batch == batch.view([0, 1, 2])
    assert batch != batch.view([0, 1])
    assert batch != lp.Batch.from_ijk(IJK, [0, 2, 2, 4], 0.5, [1, 2, 3])  # other names
    assert batch != lp.Batch.from_ijk(IJK, [0, 2, 2, 4], 0.5, [1, 2, 4], "tree")
    assert batch != "a batch"
    with pytest.raises(TypeError):
        hash(batch)


def test_there_and_back(batch, tmp_path):
    assert pickle.loads(pickle.dumps(batch)) == batch
    assert lp.Batch.from_buffer(batch.buffer) == batch
    assert lp.Batch.from_buffer(bytes(batch.buffer)) == batch
    empty = lp.Batch.from_ijk([], [0])
    assert lp.Batch.from_buffer(b"") == empty and pickle.loads(pickle.dumps(empty)) == empty
    batch.write(tmp_path / "batch.nvdb")
    assert lp.Batch.read(tmp_path / "batch.nvdb") == batch
    assert lp.coarsen(lp.Batch.from_buffer(batch.buffer), 2) == lp.coarsen(batch, 2)


def test_names_that_are_no_utf8_come_back():
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    batch = lp.Batch.from_ijk(IJK, names=name)
    assert batch.names == [name]
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_from_points():
    points = np.array([[0.5, 0.49, -0.5], [1.0, 2.0, 3.0]], np.float32)
    built = lp.Batch.from_points(points, voxel_sizes=[1, 2, 1], origins=0.0)
    assert built == lp.Batch.from_points(points, None, [1, 2, 1], 0.0, backend="reference")
    assert built.ijk.tolist() == [[1, 0, 0], [1, 1, 3]]
    assert built.voxel_sizes.tolist() == [[1, 2, 1]]


def test_every_pass_on_both_sides(batch):
    other = lp.dilate_box(batch, 0, (1, 0, 0))
    mask = np.array([True, False, True])
    for one, two in [
        (lp.refine(batch, (2, 3, 1), backend=b) for b in ("host", "reference")),
        (lp.refine(batch, 2, mask, backend=b) for b in ("host", "reference")),
        (lp.coarsen(batch, 2, backend=b) for b in ("host", "reference")),
        (lp.dilate_box(batch, -1, 1, backend=b) for b in ("host", "reference")),
        (lp.erode_box(other, 0, (1, 0, 0), backend=b) for b in ("host", "reference")),
        (lp.dual(batch, backend=b) for b in ("host", "reference")),
        (lp.prune(batch, mask, backend=b) for b in ("host", "reference")),
        (lp.prune(batch, [mask[:2], [], mask[2:]], backend=b) for b in ("host", "reference")),
        (lp.merge(batch, other, backend=b) for b in ("host", "reference")),
        (lp.intersect(batch, other, backend=b) for b in ("host", "reference")),
        (lp.subtract(other, batch, backend=b) for b in ("host", "reference")),
        (lp.conv_grid(batch, 3, 2, backend=b) for b in ("host", "reference")),
        (lp.conv_transpose_grid(batch, 3, 2, backend=b) for b in ("host", "reference")),
    ]:
        assert one == two and bytes(one.buffer) == bytes(two.buffer)
    assert lp.prune(batch, mask).ijk.tolist() == [[0, 0, 0], [-1, -5, 300]]
