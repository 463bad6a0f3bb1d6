// What the parts of the module share: errors of Python, the GIL, and who registers which part.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <span>

#include "oracle/compare.h"
#include "oracle/python/arguments.h"
#include "oracle/python/batch.h"

namespace leafproof::python {

/// What `work` returns; other threads of Python run meanwhile. It touches nothing of Python.
template <class Work>
auto without_gil(const Work& work) {
  const nb::gil_scoped_release released;
  return work();
}

/// An instance of leafproof.Error, not raised; and what such an instance says, where it is one.
nb::object python_error(const Error& error);
std::optional<Error> error_in(nb::handle given);
/// Raises leafproof.Mismatch with this text where the verdict is not "equal".
void raise_unless_equal(const oracle::Case& question, const oracle::Verdict& verdict);
nb::object dict_of(const oracle::Verdict& verdict);

/// (voxel sizes, origins), each [B][3].
nb::object maps_of(const std::vector<Map>& maps);
/// The batch that a case's operation reads; none of lists and maps.
std::shared_ptr<Batch> source_of(const oracle::Case& question);
/// Bytes in memory of their own, 32-byte aligned; no offsets yet.
oracle::GridBuffer aligned_copy(std::span<const std::byte> bytes);

void bind_batch(nb::module_& module);
void bind_cases(nb::module_& module);
void bind_convolution(nb::module_& module);

}  // namespace leafproof::python
