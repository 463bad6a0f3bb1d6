// The class Batch, and every operation by name.

#include <fmt/format.h>

#include "oracle/input/input.h"
#include "oracle/layout_view.h"
#include "oracle/python/ask.h"
#include "oracle/python/module.h"

namespace leafproof::python {
namespace {

using Shared = std::shared_ptr<Batch>;

Shape rows_of(const Batch& batch) {
  return {batch.voxel_count(), 3};
}

/// batch[i], batch[-1], batch[2:5].
Shared item(const Batch& batch, nb::handle key) {
  std::vector<std::int64_t> members;
  if (PySlice_Check(key.ptr())) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(key.ptr(), &start, &stop, &step) != 0) throw nb::python_error();
    const Py_ssize_t n = PySlice_AdjustIndices(batch.size(), &start, &stop, step);
    for (Py_ssize_t i = 0; i < n; ++i) members.push_back(start + i * step);
  } else {
    const std::int64_t i = integer({"batch[]", "index"}, key);
    if (i >= batch.size() || i < -batch.size())  // which is how Python knows where a loop ends
      throw nb::index_error(fmt::format("member {}: there are {}", i, batch.size()).c_str());
    members.push_back(i < 0 ? i + batch.size() : i);
  }
  return without_gil([&] { return batch.view(members); });
}

nb::object from_lists(const char* op, const char* list, nb::handle given, nb::handle offsets,
                      nb::handle voxel_sizes, nb::handle origins, nb::handle names,
                      nb::handle backend) {
  nb::dict all;
  all[list] = given;
  all["offsets"] = offsets;
  all["voxel_sizes"] = voxel_sizes;
  all["origins"] = origins;
  all["names"] = names;
  return ask(op, backend, nb::borrow<nb::kwargs>(all));
}

Shared from_buffer(nb::handle given) {
  const Argument argument{"read a buffer", "buffer"};
  if (PyUnicode_Check(given.ptr()))
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be bytes");
  const auto bytes = numbers<std::uint8_t>(argument, given, {-1}, Holds::Integers);
  return without_gil([&] {
    auto buffer = aligned_copy(std::as_bytes(bytes.values));
    if (!buffer.bytes.empty()) buffer = oracle::grids_in(buffer.owner, buffer.bytes);
    return std::make_shared<Batch>(std::move(buffer));
  });
}

std::string path_in(const char* operation, nb::handle given) {
  return bytes_of({operation, "file"}, nb::module_::import_("os").attr("fspath")(given));
}

}  // namespace

void bind_batch(nb::module_& module) {
  nb::class_<Batch> type(module, "Batch",
                         "A batch of sparse voxel grids: members, each a set of voxels, with a map "
                         "and a name. Immutable.");
  type.def_static(
          "from_ijk",
          [](nb::object ijk, nb::object offsets, nb::object voxel_sizes, nb::object origins,
             nb::object names, nb::object backend) {
            return from_lists("from_ijk", "ijk", ijk, offsets, voxel_sizes, origins, names,
                              backend);
          },
          nb::arg("ijk").none(), nb::arg("offsets") = nb::none(),
          nb::arg("voxel_sizes") = nb::none(), nb::arg("origins") = nb::none(),
          nb::arg("names") = nb::none(), nb::arg("backend").none() = "host",
          nb::sig("def from_ijk(ijk: ArrayLike, offsets: ArrayLike | None = None, "
                  "voxel_sizes: ArrayLike | None = None, origins: ArrayLike | None = None, "
                  "names: str | Sequence[str] | None = None, backend: str = 'host') -> Batch"),
          "The voxels of all members, [N, 3], any order, repeats allowed [T-1]; ``offsets`` (B+1) "
          "say where each member's begin. One member without them.")
      .def_static(
          "from_points",
          [](nb::object points, nb::object offsets, nb::object voxel_sizes, nb::object origins,
             nb::object names, nb::object backend) {
            return from_lists("from_points", "points", points, offsets, voxel_sizes, origins, names,
                              backend);
          },
          nb::arg("points").none(), nb::arg("offsets") = nb::none(),
          nb::arg("voxel_sizes") = nb::none(), nb::arg("origins") = nb::none(),
          nb::arg("names") = nb::none(), nb::arg("backend").none() = "host",
          nb::sig("def from_points(points: ArrayLike, offsets: ArrayLike | None = None, "
                  "voxel_sizes: ArrayLike | None = None, origins: ArrayLike | None = None, "
                  "names: str | Sequence[str] | None = None, backend: str = 'host') -> Batch"),
          "The voxels nearest to points in world space, [N, 3] [T-1].")
      .def_static("from_buffer", &from_buffer, nb::arg("buffer").none(),
                  nb::sig("def from_buffer(buffer: Buffer) -> Batch"),
                  "NanoVDB ValueOnIndex grids, one after the other, as bytes: read distrusting "
                  "everything [E-2], and copied.")
      .def_static(
          "read",
          [](nb::object file) {
            const auto path = path_in("read .nvdb", file);
            return without_gil([&] { return std::make_shared<Batch>(oracle::read_nvdb(path)); });
          },
          nb::arg("file").none(), nb::sig("def read(file: str | os.PathLike[str]) -> Batch"),
          "The ValueOnIndex grids of a .nvdb file.")
      .def(
          "write",
          [](const Batch& self, nb::object file) {
            const auto path = path_in("write .nvdb", file);
            without_gil([&] { oracle::write_nvdb(path, self.buffer()); });
          },
          nb::arg("file").none(), nb::sig("def write(self, file: str | os.PathLike[str]) -> None"),
          "A .nvdb file of 1 to 65535 grids, not compressed.")
      .def("__len__", [](const Batch& self) { return self.size(); })
      .def("__getitem__", &item, nb::arg("index").none(),
           nb::sig("def __getitem__(self, index: int | slice, /) -> Batch"),
           "The view of one member, or of a slice.")
      .def(
          "view",
          [](const Batch& self, nb::object members) {
            const auto all =
                numbers<std::int64_t>({"view", "members"}, members, {-1}, Holds::Integers);
            const std::vector<std::int64_t> listed(all.values.begin(), all.values.end());
            return without_gil([&] { return self.view(listed); });
          },
          nb::arg("members").none(), nb::sig("def view(self, members: ArrayLike) -> Batch"),
          "The listed members, in that order, repeats included [T-9].")
      .def(
          "__eq__",
          [](const Batch& self, nb::object other) -> nb::object {
            Shared batch;
            if (!nb::try_cast(other, batch) || batch == nullptr)
              return nb::borrow(Py_NotImplemented);
            return nb::bool_(without_gil([&] { return equal(self, *batch); }));
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"),
          "Element by element: voxels in canonical order, maps and names.")
      .def("__repr__",
           [](const Batch& self) {
             return fmt::format("<leafproof.Batch: {} members, {} voxels>", self.size(),
                                self.voxel_count());
           })
      .def("__getstate__",
           [](const Batch& self) {
             const auto& buffer =
                 without_gil([&]() -> const oracle::GridBuffer& { return self.buffer(); });
             return nb::bytes(buffer.bytes.data(), buffer.bytes.size());
           })
      .def("__setstate__",
           [](Batch& self, const nb::bytes& state) {
             auto buffer =
                 aligned_copy({static_cast<const std::byte*>(state.data()), state.size()});
             if (!buffer.bytes.empty()) buffer = oracle::grids_in(buffer.owner, buffer.bytes);
             new (&self) Batch(std::move(buffer));
           })
      .def_prop_ro(
          "ijk",
          [](nb::object self) {
            const auto& batch = nb::cast<const Batch&>(self);
            const auto ijk = without_gil([&] { return batch.ijk(); });
            return array_of(ijk.data(), rows_of(batch), nb::cast<Shared>(self));
          },
          nb::sig("def ijk(self) -> NDArray[numpy.int32]"),
          "[N, 3], the voxels in canonical order [G-2]; read-only. Decoded once.")
      .def_prop_ro(
          "offsets",
          [](nb::object self) {
            const auto& at = nb::cast<const Batch&>(self).offsets();
            return array_of(at.data(), {static_cast<std::int64_t>(at.size())},
                            nb::cast<Shared>(self));
          },
          nb::sig("def offsets(self) -> NDArray[numpy.int64]"),
          "[B+1], the rows at which members begin, and the last ends; read-only.")
      .def_prop_ro(
          "buffer",
          [](nb::object self) {
            const auto& batch = nb::cast<const Batch&>(self);
            const auto& buffer =
                without_gil([&]() -> const oracle::GridBuffer& { return batch.buffer(); });
            return array_of(reinterpret_cast<const std::uint8_t*>(buffer.bytes.data()),
                            {static_cast<std::int64_t>(buffer.bytes.size())},
                            nb::cast<Shared>(self));
          },
          nb::sig("def buffer(self) -> NDArray[numpy.uint8]"),
          "The NanoVDB grids where they lie [G-6]; read-only, no copy (a view is rebuilt first).")
      .def_prop_ro(
          "voxel_sizes", [](const Batch& self) -> nb::object { return maps_of(self.maps())[0]; },
          nb::sig("def voxel_sizes(self) -> NDArray[numpy.float64]"), "[B, 3] [G-7].")
      .def_prop_ro(
          "origins", [](const Batch& self) -> nb::object { return maps_of(self.maps())[1]; },
          nb::sig("def origins(self) -> NDArray[numpy.float64]"),
          "[B, 3], world positions of the centres of voxels (0, 0, 0).")
      .def_prop_ro(
          "names",
          [](const Batch& self) {
            nb::list all;
            for (const auto& name : self.names()) all.append(text(name));
            return all;
          },
          nb::sig("def names(self) -> list[str]"));
  type.attr("__hash__") = nb::none();
  module.def(
      "ask",
      [](nb::object op, nb::object backend, const nb::kwargs& given) {
        return ask(bytes_of({"ask", "op"}, op), backend, given);
      },
      nb::arg("op").none(), nb::arg("backend").none(), nb::arg("arguments"),
      nb::sig("def ask(op: str, backend: str, **arguments: Any) -> Any"));
}

}  // namespace leafproof::python
