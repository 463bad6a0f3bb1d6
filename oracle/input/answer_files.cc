// See answer_files.h.
#include "oracle/input/answer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "oracle/conv_answers.h"
#include "oracle/input/input.h"
#include "oracle/input/npz.h"

namespace leafproof::oracle {
namespace {

constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 36;

using Integers = std::vector<std::int64_t>;

class Arrays {
 public:
  explicit Arrays(const FileTask& task)
      : task_(task),
        archive_(read_archive(task_, [](const std::string&) { return kLargestArray; })) {}

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
  Integers integers(const std::string& name, const NpyArray& whole) const {
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
  Integers column(const std::string& name) const { return integers(name, whole(name, 1)); }

  /// [M-7] Where the file brings rows of its own.
  std::optional<RowVoxels> rows(const std::string& name) const {
    if (!has(name)) return {};
    const Integers values = table(name, 4);
    RowVoxels rows;
    for (std::size_t i = 0; i < values.size(); i += 4)
      rows.push_back({values[i], voxel(name, values, i + 1, i / 4)});
    return rows;
  }

  VoxelsAnswer voxels() const {
    const Integers values = table("voxels", 3), offsets = column("offsets");
    const auto count = static_cast<std::int64_t>(values.size() / 3);
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != count)
      task_.refuse(ErrorKind::Corrupt,
                   fmt::format("offsets must begin with 0 and end with the {} voxels", count));
    // All of them before any is followed: one that is too large is known by a later, smaller one.
    if (const auto less = std::is_sorted_until(offsets.begin(), offsets.end());
        less != offsets.end())
      task_.refuse(ErrorKind::Corrupt, "offsets must not decrease", less - offsets.begin() - 1);
    VoxelsAnswer answer;
    for (std::size_t m = 0; m + 1 < offsets.size(); ++m) {
      auto& member = answer.members.emplace_back();
      for (auto i = static_cast<std::size_t>(offsets[m]);
           i < static_cast<std::size_t>(offsets[m + 1]); ++i)
        member.push_back(voxel("voxels", values, 3 * i, i));
    }
    return answer;
  }
  NumbersAnswer numbers(const std::string& name) const { return numbers_in(task_, array(name)); }

 private:
  bool has(const std::string& name) const { return archive_.arrays.contains(name); }

  /// [rows, columns] of integers.
  Integers table(const std::string& name, std::uint64_t columns) const {
    const NpyArray found = whole(name, 2);
    if (found.shape()[1] != columns)
      task_.refuse(ErrorKind::Corrupt, fmt::format("{} has the shape {}; [N,{}] is meant", name,
                                                   found.shape_text(), columns));
    return integers(name, found);
  }
  Voxel voxel(const std::string& name, const Integers& values, std::size_t at,
              std::size_t row) const {
    std::array<std::int32_t, 3> c{};
    for (std::size_t a = 0; a < 3; ++a) {
      c[a] = static_cast<std::int32_t>(values[at + a]);
      if (c[a] != values[at + a])
        task_.refuse(ErrorKind::OutOfRange,
                     fmt::format("{} of {} is outside 32 bits", values[at + a], name), {},
                     static_cast<std::int64_t>(row));
    }
    return {c[0], c[1], c[2]};
  }

  FileTask task_;
  NpzArchive archive_;
};

}  // namespace

NumbersAnswer numbers_in(const FileTask& task, const NpyArray& array) {
  const auto type = array.is('f', 8)   ? std::optional(NumberType::Float64)
                    : array.is('f', 4) ? std::optional(NumberType::Float32)
                    : array.is('f', 2) ? std::optional(NumberType::Float16)
                    : array.is('i', 4) ? std::optional(NumberType::Int32)
                                       : std::nullopt;
  if (!type)
    task.refuse(ErrorKind::Unsupported,
                fmt::format("{} is {}; float64, float32, float16 and int32 are read", array.name(),
                            array.type()));
  std::vector<std::int64_t> shape;
  for (const std::uint64_t n : array.shape()) shape.push_back(static_cast<std::int64_t>(n));
  return numbers_of({std::move(shape), array.reals()}, *type);
}

Answer read_npz_answer(const std::filesystem::path& file, std::string_view kind) {
  return for_file("read answer", file, [&](const FileTask& task) -> Answer {
    const Arrays arrays(task);
    if (kind == "grid") return arrays.voxels();
    if (kind == "map") {
      KernelMapAnswer answer;
      answer.map.offsets = arrays.column("offsets");
      answer.map.gather = arrays.column("gather");
      answer.map.scatter = arrays.column("scatter");
      answer.source_rows = arrays.rows("source_rows");
      answer.target_rows = arrays.rows("target_rows");
      return answer;
    }
    if (kind == "dense") {
      const NpyArray index = arrays.whole("index", 2);
      DenseMapAnswer answer;
      answer.map = {static_cast<std::int64_t>(index.shape()[0]),
                    static_cast<std::int64_t>(index.shape()[1]), arrays.integers("index", index)};
      answer.source_rows = arrays.rows("source_rows");
      answer.target_rows = arrays.rows("target_rows");
      return answer;
    }
    if (kind == "numbers") {
      NumbersAnswer answer = arrays.numbers("output");
      answer.rows = arrays.rows("target_rows");
      return answer;
    }
    if (kind != "gradients") throw std::logic_error("read_npz_answer: no such kind");
    GradientsAnswer answer{arrays.numbers("features"), arrays.numbers("weights"),
                           arrays.numbers("bias")};
    answer.features.rows = arrays.rows("source_rows");
    return answer;
  });
}

AnswerFiles answer_files() {
  return {.nanovdb =
              [](const std::string& path) {
                std::error_code failed;
                const bool none = std::filesystem::is_regular_file(path, failed) &&
                                  std::filesystem::file_size(path, failed) == 0;
                return none && !failed ? GridBuffer{} : read_nvdb(path);
              },
          .npz = [](const std::string& path,
                    std::string_view kind) { return read_npz_answer(path, kind); }};
}

}  // namespace leafproof::oracle
