// See arguments.h.
#include "oracle/python/arguments.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "reference/checks.h"
#include "reference/numbers.h"

namespace leafproof::python {
namespace {

using Eigen::half;
using Array = nb::ndarray<nb::ro>;
using nb::dlpack::dtype_code;

constexpr std::size_t kMostText = 80;
constexpr int kCpu = nb::device::cpu::value, kCudaHost = nb::device::cuda_host::value;

bool is(const nb::dlpack::dtype& type, dtype_code code) {
  return type.code == static_cast<std::uint8_t>(code);
}

std::string to_text(const nb::dlpack::dtype& type) {
  const char* name = is(type, dtype_code::Int)      ? "int"
                     : is(type, dtype_code::UInt)   ? "uint"
                     : is(type, dtype_code::Float)  ? "float"
                     : is(type, dtype_code::Bfloat) ? "bfloat"
                     : is(type, dtype_code::Bool)   ? "bool"
                                                    : "another type of ";
  return is(type, dtype_code::Bool) ? name : name + std::to_string(type.bits);
}

std::string to_text(double x) {
  return reference::to_text(x);
}
template <class T>
  requires std::is_integral_v<T>
std::string to_text(T x) {
  return std::to_string(x);
}
std::string to_text(half x) {
  return to_text(static_cast<double>(x));
}

/// The text that a call of Python made, whatever is in it; it may have raised instead.
std::string utf8(PyObject* made) {
  const auto text = nb::steal(made);
  const auto bytes =
      nb::steal(text.is_valid() ? PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace")
                                : nullptr);
  if (!bytes.is_valid()) {
    PyErr_Clear();
    return "a value without a text";
  }
  return {PyBytes_AsString(bytes.ptr()), static_cast<std::size_t>(PyBytes_Size(bytes.ptr()))};
}

/// "[any][3]".
std::string wanted_text(const Shape& shape) {
  std::string all;
  for (const auto n : shape) all += n < 0 ? "[any]" : fmt::format("[{}]", n);
  return all;
}

/// What Python raised, as one line; the error is gone then.
std::string message_of(nb::python_error& error) {
  std::string all = error.what();
  all = all.substr(all.rfind("Traceback", 0) == 0 ? all.rfind('\n', all.size() - 2) + 1 : 0);
  while (!all.empty() && all.back() == '\n') all.pop_back();
  return all.substr(0, 200);
}

/// A view of what was given, and the list or scalar that NumPy made an array of.
struct Lent {
  Array array;
  bool made = false;
};

Lent lent(const Argument& argument, nb::handle given) {
  Lent found;
  const auto lend = [&](nb::handle from) {
    // A text or bytes object has a buffer too, and is no array of numbers.
    if (PyUnicode_Check(from.ptr())) return false;
    return nb::try_cast<Array>(from, found.array);
  };
  if (lend(given)) return found;
  nb::object made;
  try {
    made = nb::module_::import_("numpy").attr("asarray")(given);
  } catch (nb::python_error& error) {
    refuse(ErrorKind::InvalidArgument, argument, text_of(given),
           "is no array: " + message_of(error));
  }
  found.made = true;
  if (lend(made)) return found;
  refuse(ErrorKind::InvalidArgument, argument,
         utf8(PyObject_Str(nb::object(made.attr("dtype")).ptr())),
         "is no type of numbers that can be read");
}

bool contiguous(const Array& array) {
  std::int64_t step = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != step) return false;
    step *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

/// `x` as a T, false where T does not hold it. Real numbers are rounded, float16 by way of float32.
template <class S, class T>
bool to_number(S x, T& to) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<S>) {
    if (!std::in_range<T>(x)) return false;
    to = static_cast<T>(x);
  } else if constexpr (std::is_integral_v<T>) {
    const auto real = static_cast<double>(x);
    // Both ends are doubles for 32 bits; no real number is taken for wider ones (see allowed()).
    if (!(real == std::trunc(real) && real >= static_cast<double>(std::numeric_limits<T>::min()) &&
          real <= static_cast<double>(std::numeric_limits<T>::max())))
      return false;
    to = static_cast<T>(real);
  } else if constexpr (std::is_same_v<T, half> || std::is_same_v<S, half>) {
    to = static_cast<T>(static_cast<float>(x));
  } else {
    to = static_cast<T>(x);
  }
  return true;
}

/// Copies element by element, in the order of the last axis fastest.
template <class S, class T>
void copy(const Argument& argument, const Array& array, std::vector<T>& to) {
  const auto axes = array.ndim();
  std::vector<std::size_t> at(axes, 0);
  const auto* bytes = static_cast<const std::byte*>(array.data());
  for (std::size_t n = array.size(), i = 0; i < n; ++i) {
    std::int64_t place = 0;
    for (std::size_t a = 0; a < axes; ++a)
      place += static_cast<std::int64_t>(at[a]) * array.stride(a);
    S x;  // where it lies may be no place for an S
    std::memcpy(&x, bytes + place * static_cast<std::int64_t>(sizeof(S)), sizeof(S));
    if (!to_number(x, to[i])) {
      refuse(ErrorKind::InvalidArgument, argument, to_text(x),
             std::is_integral_v<T> ? fmt::format("int{} does not hold it", 8 * sizeof(T))
                                   : "the type does not hold it",
             {}, axes > 0 ? std::optional<std::int64_t>(at[0]) : std::nullopt);
    }
    for (std::size_t a = axes; a-- > 0;) {
      if (++at[a] < array.shape(a)) break;
      at[a] = 0;
    }
  }
}

template <class T>
bool copy_any(const Argument& argument, const Array& array, std::vector<T>& to) {
  const auto type = array.dtype();
  const auto with = [&](auto number) {
    copy<decltype(number)>(argument, array, to);
    return true;
  };
  if (type.lanes != 1) return false;
  if (is(type, dtype_code::Bool) && type.bits == 8) return with(std::uint8_t{});
  if (is(type, dtype_code::Int) || is(type, dtype_code::UInt)) {
    const bool sign = is(type, dtype_code::Int);
    if (type.bits == 8) return sign ? with(std::int8_t{}) : with(std::uint8_t{});
    if (type.bits == 16) return sign ? with(std::int16_t{}) : with(std::uint16_t{});
    if (type.bits == 32) return sign ? with(std::int32_t{}) : with(std::uint32_t{});
    if (type.bits == 64) return sign ? with(std::int64_t{}) : with(std::uint64_t{});
  }
  if (is(type, dtype_code::Float)) {
    if (type.bits == 16) return with(half{});
    if (type.bits == 32) return with(float{});
    if (type.bits == 64) return with(double{});
  }
  return false;
}

bool allowed(const nb::dlpack::dtype& type, Holds holds) {
  const bool whole = is(type, dtype_code::Int) || is(type, dtype_code::UInt);
  const bool flags = is(type, dtype_code::Bool);
  if (holds == Holds::Flags) return whole || flags;
  return whole || (holds == Holds::Numbers && (flags || is(type, dtype_code::Float)));
}

template <class T>
nb::dlpack::dtype type_of() {
  if constexpr (std::is_same_v<T, half>)
    return {static_cast<std::uint8_t>(dtype_code::Float), 16, 1};
  else
    return nb::dtype<T>();
}

void check_device(const Argument& argument, const Array& array) {
  if (array.device_type() != kCpu && array.device_type() != kCudaHost)
    refuse(ErrorKind::Unsupported, argument,
           fmt::format("memory of a device of DLPack's type {}", array.device_type()),
           "must lie in the memory of the CPU");
}

}  // namespace

void refuse(ErrorKind kind, const Argument& argument, std::string value, std::string reason,
            std::optional<std::int64_t> member, std::optional<std::int64_t> row) {
  throw Error(
      kind, {argument.operation, argument.name, std::move(value), std::move(reason), member, row});
}

std::string text_of(nb::handle value) {
  std::string all = utf8(PyObject_Repr(value.ptr()));
  for (char& c : all)
    if (c == '\n') c = ' ';
  if (all.size() > kMostText) all = all.substr(0, kMostText) + "...";
  return all;
}

nb::str text(std::string_view bytes) {
  PyObject* made =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

std::string bytes_of(const Argument& argument, nb::handle given) {
  if (!PyUnicode_Check(given.ptr()))
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be a text");
  PyObject* made = PyUnicode_AsEncodedString(given.ptr(), "utf-8", "surrogateescape");
  if (made == nullptr) {
    PyErr_Clear();
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "has no UTF-8");
  }
  const auto bytes = nb::steal<nb::bytes>(made);
  return {bytes.c_str(), bytes.size()};
}

std::int64_t integer(const Argument& argument, nb::handle given) {
  const auto index = PyBool_Check(given.ptr()) ? nullptr : PyNumber_Index(given.ptr());
  if (index == nullptr) {
    PyErr_Clear();
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be a whole number");
  }
  const auto number = nb::steal<nb::object>(index);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "64 bits do not hold it");
  return value;
}

bool flag(const Argument& argument, nb::handle given) {
  if (!PyBool_Check(given.ptr()))
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be True or False");
  return given.ptr() == Py_True;
}

Triple triple(const Argument& argument, nb::handle given) {
  Triple all{};
  // An array has __index__ too, and says whether it is one number.
  const auto one = nb::steal(PyIndex_Check(given.ptr()) ? PyNumber_Index(given.ptr()) : nullptr);
  PyErr_Clear();
  if (one.is_valid()) {
    all.fill(integer(argument, given));
    return all;
  }
  const auto none = [&] {
    refuse(ErrorKind::InvalidArgument, argument, text_of(given),
           "must be a whole number, or three");
  };
  if (PyUnicode_Check(given.ptr()) || !nb::hasattr(given, "__iter__")) none();
  std::size_t n = 0;
  try {
    for (const nb::handle item : nb::iter(given)) {
      if (n == 3) none();
      all[n++] = integer(argument, item);
    }
  } catch (nb::python_error&) {
    none();
  }
  if (n != 3) none();
  return all;
}

template <class T>
Numbers<T> numbers(const Argument& argument, nb::handle given, const Shape& shape, Holds holds) {
  Lent found = lent(argument, given);
  const Array& array = found.array;
  Numbers<T> all;
  for (std::size_t i = 0; i < array.ndim(); ++i)
    all.shape.push_back(static_cast<std::int64_t>(array.shape(i)));
  if (found.made && array.size() == 0 && array.ndim() == 1 && !shape.empty()) {
    all.shape = shape;  // a list of nothing
    for (auto& n : all.shape) n = std::max<std::int64_t>(n, 0);
    if (shape[0] < 0) return all;
  }
  check_device(argument, array);
  const auto type = array.dtype();
  if (!allowed(type, holds))
    refuse(ErrorKind::InvalidArgument, argument, to_text(type),
           holds == Holds::Integers ? "must be whole numbers"
           : holds == Holds::Flags  ? "must be flags: bool, or whole numbers 0 and 1"
                                    : "must be numbers");
  const auto fits = [&] {
    if (shape.empty()) return true;
    if (shape.size() != all.shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] >= 0 && shape[i] != all.shape[i]) return false;
    return true;
  };
  if (!fits())
    refuse(ErrorKind::ShapeMismatch, argument, reference::to_text(all.shape),
           "must be " + wanted_text(shape));
  const bool same = type == type_of<T>() ||
                    (holds == Holds::Flags && sizeof(T) == 1 && is(type, dtype_code::Bool));
  const bool aligned = reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) == 0;
  if (same && aligned && contiguous(array)) {
    all.values = {static_cast<const T*>(array.data()), array.size()};
    all.owner = std::make_shared<Array>(std::move(found.array));
  } else {
    std::shared_ptr<std::vector<T>> copied;
    try {
      copied = std::make_shared<std::vector<T>>(array.size());
    } catch (const std::exception&) {  // bad_alloc, or more than a vector can ever hold
      refuse(ErrorKind::OutOfMemory, argument, reference::to_text(all.shape),
             "there is no memory for a copy");
    }
    if (!copy_any(argument, array, *copied))
      refuse(ErrorKind::InvalidArgument, argument, to_text(type), "cannot be read");
    all.values = *copied;
    all.owner = std::move(copied);
  }
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    for (std::size_t i = 0; holds == Holds::Flags && i < all.values.size(); ++i)
      if (all.values[i] > 1)
        refuse(ErrorKind::InvalidArgument, argument, to_text(all.values[i]),
               "a flag must be 0 or 1", {}, static_cast<std::int64_t>(i));
  }
  return all;
}

template Numbers<std::uint8_t> numbers(const Argument&, nb::handle, const Shape&, Holds);
template Numbers<std::int32_t> numbers(const Argument&, nb::handle, const Shape&, Holds);
template Numbers<std::int64_t> numbers(const Argument&, nb::handle, const Shape&, Holds);
template Numbers<half> numbers(const Argument&, nb::handle, const Shape&, Holds);
template Numbers<float> numbers(const Argument&, nb::handle, const Shape&, Holds);
template Numbers<double> numbers(const Argument&, nb::handle, const Shape&, Holds);

std::vector<std::int64_t> offsets(const Argument& argument, nb::handle given, std::int64_t rows) {
  if (given.is_none()) return {0, rows};
  const auto all = numbers<std::int64_t>(argument, given, {-1}, Holds::Integers);
  const auto& at = all.values;
  const auto wrong = [&](std::size_t i, std::string reason) {
    refuse(ErrorKind::ShapeMismatch, argument, to_text(at[i]), std::move(reason),
           i > 0 ? std::optional(static_cast<std::int64_t>(i) - 1) : std::nullopt);
  };
  if (at.empty())
    refuse(ErrorKind::ShapeMismatch, argument, "[0]", "must be B+1 numbers: [0] for no member");
  if (at[0] != 0) wrong(0, "must begin at 0");
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (at[i] < at[i - 1]) wrong(i, fmt::format("must not decrease: {} before it", at[i - 1]));
    if (at[i] > rows) wrong(i, fmt::format("there are {} rows", rows));
  }
  if (at.back() != rows) wrong(at.size() - 1, fmt::format("must end at the {} rows", rows));
  return {at.begin(), at.end()};
}

NumberType number_type(const Argument& argument, nb::handle given) {
  const Lent found = lent(argument, given);
  check_device(argument, found.array);
  const auto type = found.array.dtype();
  if (type == type_of<double>()) return NumberType::Float64;
  if (type == type_of<float>()) return NumberType::Float32;
  if (type == type_of<half>()) return NumberType::Float16;
  if (type == type_of<std::int32_t>()) return NumberType::Int32;
  refuse(ErrorKind::Unsupported, argument, to_text(type),
         "must be float64, float32, float16 or int32");
}

std::vector<Map> maps(const std::string& operation, nb::handle voxel_sizes, nb::handle origins) {
  // A number for all, three for all, or three per member.
  struct Part {
    Numbers<double> numbers;
    std::size_t count = 0;
    double at(std::size_t member, std::size_t axis) const {
      if (numbers.values.size() == 1 && numbers.shape.size() < 2) return numbers.values[0];
      return numbers.values[(count == 1 ? 0 : 3 * member) + axis];
    }
  };
  const auto part = [&](const char* name, nb::handle given) {
    Part all;
    if (given.is_none()) return all;
    const Argument argument{operation, name};
    all.numbers = numbers<double>(argument, given, {}, Holds::Numbers);
    const Shape& shape = all.numbers.shape;
    const bool one = shape.empty() || shape == Shape{1} || shape == Shape{3};
    if (!one && !(shape.size() == 2 && shape[1] == 3))
      refuse(ErrorKind::ShapeMismatch, argument, reference::to_text(shape),
             "must be a number, [3], or [B][3]");
    all.count = one ? 1 : static_cast<std::size_t>(shape[0]);
    return all;
  };
  const Part sizes = part("voxel_sizes", voxel_sizes), places = part("origins", origins);
  const bool of_sizes = !voxel_sizes.is_none(), of_places = !origins.is_none();
  if (of_sizes && of_places && sizes.count != places.count && sizes.count != 1 && places.count != 1)
    refuse(ErrorKind::ShapeMismatch, {operation, "origins"}, std::to_string(places.count),
           fmt::format("there are {} voxel sizes", sizes.count));
  std::size_t count = 0;
  if (of_sizes || of_places)
    count = (of_sizes && sizes.count != 1) || !of_places ? sizes.count : places.count;
  std::vector<Map> all(count);
  for (std::size_t m = 0; m < count; ++m)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (of_sizes) all[m].voxel_size[axis] = sizes.at(m, axis);
      if (of_places) all[m].origin[axis] = places.at(m, axis);
    }
  return all;
}

std::vector<std::string> names(const Argument& argument, nb::handle given) {
  std::vector<std::string> all;
  if (given.is_none()) return all;
  if (PyUnicode_Check(given.ptr())) return {bytes_of(argument, given)};
  if (!nb::hasattr(given, "__iter__"))
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be a text, or one each");
  for (const nb::handle name : nb::iter(given)) all.push_back(bytes_of(argument, name));
  return all;
}

template <class T>
nb::object array_of(const T* data, const Shape& shape, std::shared_ptr<const void> owner,
                    bool writable) {
  static const std::byte nothing[64]{};  // NumPy takes no null pointer, even of nothing
  const void* at = data == nullptr ? static_cast<const void*>(nothing) : data;
  std::vector<std::size_t> sizes(shape.begin(), shape.end());
  auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
  const nb::capsule keeper(kept.get(), [](void* memory) noexcept {
    delete static_cast<std::shared_ptr<const void>*>(memory);
  });
  kept.release();
  if (writable)
    return nb::cast(nb::ndarray<nb::numpy>(const_cast<void*>(at), sizes.size(), sizes.data(),
                                           keeper, nullptr, type_of<T>()));
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(at, sizes.size(), sizes.data(), keeper, nullptr,
                                                 type_of<T>()));
}

template nb::object array_of(const std::uint8_t*, const Shape&, std::shared_ptr<const void>, bool);
template nb::object array_of(const std::int32_t*, const Shape&, std::shared_ptr<const void>, bool);
template nb::object array_of(const std::int64_t*, const Shape&, std::shared_ptr<const void>, bool);
template nb::object array_of(const half*, const Shape&, std::shared_ptr<const void>, bool);
template nb::object array_of(const float*, const Shape&, std::shared_ptr<const void>, bool);
template nb::object array_of(const double*, const Shape&, std::shared_ptr<const void>, bool);

}  // namespace leafproof::python
