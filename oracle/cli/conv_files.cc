// See conv_files.h.
#include "oracle/cli/conv_files.h"

#include <fmt/format.h>

#include <cmath>

#include "oracle/conv_answers.h"
#include "oracle/input/answer_files.h"
#include "oracle/input/atomic_file.h"
#include "oracle/input/npz.h"

namespace leafproof::oracle::cli {
namespace {

// --- writing

template <class T, class Convert>
std::string bytes_as(std::string_view type, const reference::Array& array, Convert convert) {
  std::vector<T> values;
  values.reserve(array.values.size());
  for (const double x : array.values) values.push_back(convert(x));
  return npy_bytes(type, {array.shape.begin(), array.shape.end()}, values);
}

/// Bits of a float16 of whose numbers `x` is one.
std::uint16_t half_bits(double x) {
  const unsigned sign = std::signbit(x) ? 1u << 15 : 0u;
  const double size = std::fabs(x);
  if (std::isnan(x)) return 0x7e00;
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = size < 0x1p-14 ? -15 : std::ilogb(size);
  const auto fraction = static_cast<unsigned>(
      exponent == -15 ? std::ldexp(size, 24) : std::ldexp(size, 10 - exponent) - 1024);
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 15) << 10 | fraction);
}

std::string array_bytes(const NumbersAnswer& numbers) {
  switch (numbers.type) {
    case NumberType::Float32:
      return bytes_as<float>("<f4", numbers.array, [](double x) { return static_cast<float>(x); });
    case NumberType::Float16:
      return bytes_as<std::uint16_t>("<f2", numbers.array, half_bits);
    case NumberType::Int32:
      return bytes_as<std::int32_t>("<i4", numbers.array,
                                    [](double x) { return static_cast<std::int32_t>(x); });
    default:
      return bytes_as<double>("<f8", numbers.array, [](double x) { return x; });
  }
}

std::string integers(const std::vector<std::int64_t>& values,
                     std::vector<std::uint64_t> shape = {}) {
  if (shape.empty()) shape = {values.size()};
  return npy_bytes("<i8", shape, values);
}

void add_rows(NpzWriter& writer, const char* name, const std::optional<RowVoxels>& rows) {
  if (!rows) return;
  std::vector<std::int64_t> values;
  for (const RowVoxel& r : *rows)
    values.insert(values.end(), {r.member, r.voxel.x, r.voxel.y, r.voxel.z});
  writer.add(name, integers(values, {rows->size(), 4}));
}

}  // namespace

reference::Array read_array(const std::filesystem::path& file, NumberType* type) {
  const FileTask task{"read numbers", file};
  const FileBytes bytes = read_file(task);
  NumbersAnswer numbers = numbers_in(task, NpyArray(task, "the array", bytes.bytes));
  if (type != nullptr) *type = numbers.type;
  return std::move(numbers.array);
}

void write_array(const std::filesystem::path& file, const reference::Array& array,
                 NumberType type) {
  NumbersAnswer numbers;
  numbers.array = array;
  numbers.type = type;
  write_file({"write numbers", file}, array_bytes(numbers));
}

Operands read_operands(const std::filesystem::path& features, const std::filesystem::path& weights,
                       const std::filesystem::path& bias) {
  Operands operands;
  operands.features = read_array(features, &operands.type);
  operands.weights = read_array(weights);
  if (!bias.empty()) operands.bias = read_array(bias);
  return operands;
}

void write_answer(const std::filesystem::path& file, const Case& question, const Answer& answer,
                  const Answer& expected) {
  NpzWriter writer({"write .npz", file});
  const auto add_kernel = [&] {
    const auto& [size, stride, dilation] = question.kernel;
    writer.add("kernel_size", integers({size.begin(), size.end()}));
    writer.add("stride", integers({stride.begin(), stride.end()}));
    writer.add("dilation", integers({dilation.begin(), dilation.end()}));
    writer.add("transposed", integers({question.direction == Direction::Transposed}));
  };
  if (const auto* map = std::get_if<KernelMapAnswer>(&answer)) {
    writer.add("offsets", integers(map->map.offsets));
    writer.add("gather", integers(map->map.gather));
    writer.add("scatter", integers(map->map.scatter));
    add_rows(writer, "source_rows", std::get<KernelMapAnswer>(expected).source_rows);
    add_rows(writer, "target_rows", std::get<KernelMapAnswer>(expected).target_rows);
  } else if (const auto* dense = std::get_if<DenseMapAnswer>(&answer)) {
    const auto& [taps, rows, index] = dense->map;
    writer.add("index", integers(index, {static_cast<std::uint64_t>(taps),
                                         static_cast<std::uint64_t>(rows)}));
    add_rows(writer, "source_rows", std::get<DenseMapAnswer>(expected).source_rows);
    add_rows(writer, "target_rows", std::get<DenseMapAnswer>(expected).target_rows);
  } else {
    writer.add("output", array_bytes(std::get<NumbersAnswer>(answer)));
    add_rows(writer, "target_rows", std::get<NumbersAnswer>(expected).rows);
  }
  add_kernel();
  writer.write();
}

Answer read_answer(const std::filesystem::path& file, const Answer& expected) {
  const bool pairs = std::holds_alternative<KernelMapAnswer>(expected);
  const bool dense = std::holds_alternative<DenseMapAnswer>(expected);
  Answer answer = read_npz_answer(file, pairs ? "map" : dense ? "dense" : "numbers");
  if (auto* map = std::get_if<KernelMapAnswer>(&answer))
    map->target = std::get<KernelMapAnswer>(expected).target;
  if (auto* map = std::get_if<DenseMapAnswer>(&answer))
    map->target = std::get<DenseMapAnswer>(expected).target;
  return answer;
}

}  // namespace leafproof::oracle::cli
