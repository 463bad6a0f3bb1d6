// See conv_files.h.
#include "oracle/cli/conv_files.h"

#include <fmt/format.h>

#include <cmath>

#include "oracle/conv_answers.h"
#include "oracle/input/atomic_file.h"
#include "oracle/input/npz.h"
#include "reference/numbers.h"

namespace leafproof::oracle::cli {
namespace {

constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 36;

std::vector<std::int64_t> shape_of(const NpyArray& array) {
  std::vector<std::int64_t> shape;
  for (const std::uint64_t n : array.shape()) shape.push_back(static_cast<std::int64_t>(n));
  return shape;
}

std::optional<NumberType> type_of(const NpyArray& array) {
  if (array.is('f', 8)) return NumberType::Float64;
  if (array.is('f', 4)) return NumberType::Float32;
  if (array.is('f', 2)) return NumberType::Float16;
  if (array.is('i', 4)) return NumberType::Int32;
  return {};
}

NumberType required_type(const FileTask& task, const NpyArray& array) {
  const auto type = type_of(array);
  if (!type)
    task.refuse(ErrorKind::Unsupported,
                fmt::format("{} is {}; float64, float32, float16 and int32 are read", array.name(),
                            array.type()));
  return *type;
}

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

// --- reading

class Arrays {
 public:
  explicit Arrays(const std::filesystem::path& file)
      : task_{"read answer", file},
        archive_(read_archive(task_, [](const std::string&) { return kLargestArray; })) {}

  bool has(const std::string& name) const { return archive_.arrays.contains(name); }
  NpyArray array(const std::string& name) const {
    if (!has(name)) task_.refuse(ErrorKind::Corrupt, "has no array " + name + ".npy");
    return {task_, name, archive_.arrays.at(name)};
  }
  NpyArray whole(const std::string& name, std::size_t axes) const {
    NpyArray found = array(name);
    if (!found.holds_integers() || found.is('b', 1) || found.shape().size() != axes)
      task_.refuse(ErrorKind::Corrupt,
                   fmt::format("{} is {} of shape {}; integers of {} axes are meant", name,
                               found.type(), found.shape_text(), axes));
    return found;
  }
  /// The numbers of such an array: those of uint64 must be ones of int64 too.
  std::vector<std::int64_t> integers(const std::string& name, const NpyArray& whole) const {
    auto values = whole.integers();
    if (whole.is('u', 8))
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] < 0)
          task_.refuse(
              ErrorKind::OutOfRange,
              fmt::format("{} of {} is no int64", static_cast<std::uint64_t>(values[i]), name), {},
              static_cast<std::int64_t>(i));
    return values;
  }
  std::vector<std::int64_t> column(const std::string& name) const {
    return integers(name, whole(name, 1));
  }
  /// [M-7] Where the file brings rows of its own.
  std::optional<RowVoxels> rows(const std::string& name) const {
    if (!has(name)) return {};
    const NpyArray found = whole(name, 2);
    if (found.shape()[1] != 4)
      task_.refuse(ErrorKind::Corrupt,
                   name + " has the shape " + found.shape_text() + "; [N,4] is meant");
    const auto values = integers(name, found);
    RowVoxels rows;
    for (std::size_t i = 0; i < values.size(); i += 4) {
      for (std::size_t a = 1; a < 4; ++a)
        if (values[i + a] != static_cast<std::int32_t>(values[i + a]))
          task_.refuse(ErrorKind::OutOfRange,
                       fmt::format("{} of {} is outside 32 bits", values[i + a], name), {},
                       static_cast<std::int64_t>(i / 4));
      rows.push_back(
          {values[i],
           {static_cast<std::int32_t>(values[i + 1]), static_cast<std::int32_t>(values[i + 2]),
            static_cast<std::int32_t>(values[i + 3])}});
    }
    return rows;
  }
  const FileTask& task() const { return task_; }

 private:
  FileTask task_;
  NpzArchive archive_;
};

}  // namespace

reference::Array read_array(const std::filesystem::path& file, NumberType* type) {
  const FileTask task{"read numbers", file};
  const FileBytes bytes = read_file(task);
  const NpyArray array(task, "the array", bytes.bytes);
  const NumberType found = required_type(task, array);
  if (type != nullptr) *type = found;
  return {shape_of(array), array.reals()};
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
  const Arrays arrays(file);
  if (const auto* map = std::get_if<KernelMapAnswer>(&expected)) {
    KernelMapAnswer answer;
    answer.map.offsets = arrays.column("offsets");
    answer.map.gather = arrays.column("gather");
    answer.map.scatter = arrays.column("scatter");
    answer.source_rows = arrays.rows("source_rows");
    answer.target_rows = arrays.rows("target_rows");
    answer.target = map->target;
    return answer;
  }
  if (const auto* dense = std::get_if<DenseMapAnswer>(&expected)) {
    const NpyArray index = arrays.whole("index", 2);
    DenseMapAnswer answer;
    answer.map = {static_cast<std::int64_t>(index.shape()[0]),
                  static_cast<std::int64_t>(index.shape()[1]), arrays.integers("index", index)};
    answer.source_rows = arrays.rows("source_rows");
    answer.target_rows = arrays.rows("target_rows");
    answer.target = dense->target;
    return answer;
  }
  const NpyArray output = arrays.array("output");
  const NumberType type = required_type(arrays.task(), output);
  return numbers_of({shape_of(output), output.reals()}, type, arrays.rows("target_rows"));
}

std::optional<Arithmetic> parse_arithmetic(std::string_view name) {
  for (const Arithmetic a :
       {Arithmetic::Fp64, Arithmetic::Fp32, Arithmetic::Tf32, Arithmetic::Fp16})
    if (name == to_string(a)) return a;
  return {};
}

}  // namespace leafproof::oracle::cli
