// What Python gives, as what C++ reads. Every refusal is an Error that names the operation, the
// argument, the value and, where there is one, the row [E-1]; nothing that is given is believed.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/case.h"
#include "reference/error.h"

namespace leafproof::python {

namespace nb = nanobind;
using oracle::Map;
using oracle::NumberType;
using oracle::Triple;
using reference::Error;
using reference::ErrorKind;
using Shape = std::vector<std::int64_t>;

/// Where a value was given.
struct Argument {
  std::string operation, name;
};
[[noreturn]] void refuse(ErrorKind kind, const Argument& argument, std::string value,
                         std::string reason, std::optional<std::int64_t> member = {},
                         std::optional<std::int64_t> row = {});

/// repr() of a value, cut to what a message can hold.
std::string text_of(nb::handle value);

/// Text both ways: bytes that are no UTF-8 become lone surrogates and come back as they were.
nb::str text(std::string_view bytes);
std::string bytes_of(const Argument& argument, nb::handle text);

// Each of these raises InvalidArgument for what is none.
std::int64_t integer(const Argument& argument, nb::handle given);
bool flag(const Argument& argument, nb::handle given);
/// One number for all axes, or three.
Triple triple(const Argument& argument, nb::handle given);

/// Which numbers an array may hold.
enum class Holds {
  Integers,  // of any width; not real numbers
  Flags,     // bool, or integers 0 and 1
  Numbers,   // any; cast where another type is wanted [V-6]
};

/// Numbers where Python has them, or a copy where their type, order or place does not serve. Made
/// and destroyed with the GIL; read without it.
template <class T>
struct Numbers {
  std::span<const T> values;
  Shape shape;
  std::shared_ptr<const void> owner;
};

/// The numbers of anything that has DLPack (on a CPU) or the buffer protocol, or that NumPy makes
/// an array of. `shape`: -1 for any; empty: any shape at all. InvalidArgument for another kind of
/// number and for a number that T does not hold, with its row; ShapeMismatch; Unsupported for
/// memory of a device.
template <class T>
Numbers<T> numbers(const Argument& argument, nb::handle given, const Shape& shape, Holds holds);

/// B+1 numbers that begin at 0, do not decrease and end at `rows`, else ShapeMismatch naming the
/// member; of None those of a single member.
std::vector<std::int64_t> offsets(const Argument& argument, nb::handle given, std::int64_t rows);

/// [V-6] The type of an array of features. Unsupported for another than the four.
NumberType number_type(const Argument& argument, nb::handle given);

/// Voxel sizes and origins, each a number, three, or [B][3]; none where both are None, one where
/// neither is per member. ShapeMismatch where they are for different numbers of members.
std::vector<Map> maps(const std::string& operation, nb::handle voxel_sizes, nb::handle origins);

/// A name for all, or one per member; none for None.
std::vector<std::string> names(const Argument& argument, nb::handle given);

/// An array of Python over memory that `owner` keeps. Of four dimensions at most.
template <class T>
nb::object array_of(const T* data, const Shape& shape, std::shared_ptr<const void> owner,
                    bool writable = false);
template <class T>
nb::object array_of(std::vector<T> values, const Shape& shape) {
  auto kept = std::make_shared<std::vector<T>>(std::move(values));
  return array_of(kept->data(), shape, kept, /*writable=*/true);
}

}  // namespace leafproof::python
