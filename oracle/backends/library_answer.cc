// See library_answer.h.
#include "oracle/backends/library_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Core>
#include <cstdio>
#include <cstring>
#include <new>

#include "oracle/backends/library.h"
#include "oracle/conv_answers.h"

namespace leafproof::oracle {
namespace {

constexpr std::size_t kLargest = std::size_t{1}
                                 << 30;  // bytes of an answer, as in its written form

/// What the library made that is no answer; becomes a Failed.
struct Fault {
  std::string what;
};
template <class... T>
[[noreturn]] void fault(fmt::format_string<T...> text, T&&... values) {
  throw Fault{fmt::format(text, std::forward<T>(values)...)};
}

constexpr unsigned bit(std::int32_t n) {
  return 1U << n;
}
constexpr unsigned kIntegers = bit(LEAFPROOF_INT32) | bit(LEAFPROOF_INT64);
constexpr unsigned kNumbers =
    bit(LEAFPROOF_FLOAT64) | bit(LEAFPROOF_FLOAT32) | bit(LEAFPROOF_FLOAT16) | bit(LEAFPROOF_INT32);

/// What each array must be.
struct Form {
  const char* name;
  unsigned types;
  std::size_t axes;       // 0: any number
  std::int64_t last = 0;  // length of the last axis, where it has one
  bool large = true;      // (d)
};
constexpr std::array<Form, 17> kForms{{
    {"LEAFPROOF_OFFSETS", bit(LEAFPROOF_INT64), 1, 0, false},
    {"LEAFPROOF_VOXELS", bit(LEAFPROOF_INT32), 2, 3},
    {"LEAFPROOF_VOXEL_SIZES", bit(LEAFPROOF_FLOAT64), 2, 3, false},
    {"LEAFPROOF_ORIGINS", bit(LEAFPROOF_FLOAT64), 2, 3, false},
    {"LEAFPROOF_GRIDS", bit(LEAFPROOF_UINT8), 1},
    {"LEAFPROOF_TAP_OFFSETS", bit(LEAFPROOF_INT64), 1, 0, false},
    {"LEAFPROOF_GATHER", kIntegers, 1},
    {"LEAFPROOF_SCATTER", kIntegers, 1},
    {"LEAFPROOF_INDEX", kIntegers, 2},
    {"LEAFPROOF_OUTPUT", kNumbers, 0},
    {"LEAFPROOF_GRAD_FEATURES", kNumbers, 0},
    {"LEAFPROOF_GRAD_WEIGHTS", kNumbers, 0},
    {"LEAFPROOF_GRAD_BIAS", kNumbers, 0},
    {"LEAFPROOF_SOURCE_OFFSETS", bit(LEAFPROOF_INT64), 1, 0, false},
    {"LEAFPROOF_SOURCE_VOXELS", bit(LEAFPROOF_INT32), 2, 3},
    {"LEAFPROOF_TARGET_OFFSETS", bit(LEAFPROOF_INT64), 1, 0, false},
    {"LEAFPROOF_TARGET_VOXELS", bit(LEAFPROOF_INT32), 2, 3},
}};
constexpr std::int32_t kMostAxes = 8;

struct Type {
  const char* name;
  std::size_t size;
  std::byte garbage;  // NaN; else no row, no offset and no flag
};
constexpr std::array<Type, 6> kTypes{{{"UINT8", 1, std::byte{0x9C}},
                                      {"INT32", 4, std::byte{0x9C}},
                                      {"INT64", 8, std::byte{0x9C}},
                                      {"FLOAT16", 2, std::byte{0xFF}},
                                      {"FLOAT32", 4, std::byte{0xFF}},
                                      {"FLOAT64", 8, std::byte{0xFF}}}};

const Form& form_of(std::int32_t array) {
  return kForms[static_cast<std::size_t>(array)];
}

/// Which arrays make an answer of which kind.
struct Kind {
  unsigned needed, allowed;
};
constexpr unsigned kMaps = bit(LEAFPROOF_VOXEL_SIZES) | bit(LEAFPROOF_ORIGINS);
constexpr unsigned kGrid = bit(LEAFPROOF_VOXELS) | bit(LEAFPROOF_OFFSETS);
constexpr unsigned kGrids = bit(LEAFPROOF_GRIDS);
constexpr unsigned kMap =
    bit(LEAFPROOF_TAP_OFFSETS) | bit(LEAFPROOF_GATHER) | bit(LEAFPROOF_SCATTER);
constexpr unsigned kDense = bit(LEAFPROOF_INDEX);
constexpr unsigned kOutput = bit(LEAFPROOF_OUTPUT);
constexpr unsigned kGradients =
    bit(LEAFPROOF_GRAD_FEATURES) | bit(LEAFPROOF_GRAD_WEIGHTS) | bit(LEAFPROOF_GRAD_BIAS);
constexpr unsigned kSource = bit(LEAFPROOF_SOURCE_OFFSETS) | bit(LEAFPROOF_SOURCE_VOXELS);
constexpr unsigned kTarget = bit(LEAFPROOF_TARGET_OFFSETS) | bit(LEAFPROOF_TARGET_VOXELS);

/// Nothing, or all of it.
bool halves(unsigned present, unsigned pair) {
  return (present & pair) != 0 && (present & pair) != pair;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, "]["));
}

template <class T>
T named(const char* member, std::int32_t value, std::initializer_list<T> all) {
  if (value < 0 || static_cast<std::size_t>(value) >= all.size())
    fault("answer->{} is {}, which is none of its values", member, value);
  return all.begin()[value];
}

ErrorKind kind_of(std::int32_t status) {
  constexpr std::array kinds{ErrorKind::InvalidArgument, ErrorKind::ShapeMismatch,
                             ErrorKind::OutOfRange,      ErrorKind::CapacityExceeded,
                             ErrorKind::OutOfMemory,     ErrorKind::Unsupported,
                             ErrorKind::Corrupt};
  if (status < LEAFPROOF_INVALID_ARGUMENT || status > LEAFPROOF_CORRUPT)
    fault("it returned {}, which is no status", status);
  return kinds[static_cast<std::size_t>(status - LEAFPROOF_INVALID_ARGUMENT)];
}

}  // namespace

LibraryAnswer::LibraryAnswer(DeviceMemory* there)
    : there_(there),
      memory_("the leafproof_answer", sizeof(leafproof_answer), alignof(leafproof_answer),
              std::byte{0}) {
  leafproof_answer a{};
  a.size = sizeof a;
  a.caller = this;
  a.allocate = allocate;
  std::memcpy(memory_.data(), &a, sizeof a);
}

leafproof_answer* LibraryAnswer::get() {
  return static_cast<leafproof_answer*>(memory_.address());
}

void* LibraryAnswer::allocate(leafproof_answer* answer, std::int32_t array, std::int32_t type,
                              std::int32_t rank, const std::int64_t* shape) {
  auto& self = *static_cast<LibraryAnswer*>(answer->caller);
  try {
    return self.take(array, type, rank, shape);
  } catch (const Fault& misuse) {
    // Said at once as well: a library may crash of the null that it gets.
    fmt::print(stderr, "leafproof: {}\n", misuse.what);
    if (self.fault_.empty()) self.fault_ = misuse.what;
  } catch (const std::exception& error) {  // no memory; a device's own errors
    fmt::print(stderr, "leafproof: allocate: {}\n", error.what());
    if (self.fault_.empty()) self.fault_ = fmt::format("allocate: {}", error.what());
  }
  return nullptr;
}

void* LibraryAnswer::take(std::int32_t array, std::int32_t type, std::int32_t rank,
                          const std::int64_t* shape) {
  if (array < 0 || static_cast<std::size_t>(array) >= kArrays)
    fault("allocate: there is no array {}", array);
  const Form& form = form_of(array);
  Taken& taken = arrays_[static_cast<std::size_t>(array)];
  if (taken.area) fault("allocate: {} was allocated before", form.name);
  if (type < 0 || static_cast<std::size_t>(type) >= kTypes.size())
    fault("allocate: {} of type {}, which there is not", form.name, type);
  const Type& of = kTypes[static_cast<std::size_t>(type)];
  if ((form.types & bit(type)) == 0)
    fault("allocate: {} cannot be of LEAFPROOF_{}", form.name, of.name);
  if (rank < 1 || rank > kMostAxes ||
      (form.axes != 0 && static_cast<std::size_t>(rank) != form.axes))
    fault("allocate: {} cannot have {} axes", form.name, rank);
  if (shape == nullptr) fault("allocate: {} has no shape", form.name);
  std::vector<std::int64_t> axes(shape, shape + rank);
  std::size_t count = 1;
  for (const std::int64_t n : axes) {
    if (n < 0)
      fault("allocate: {} of the shape {}: a length is negative", form.name, shape_text(axes));
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(n), &count)) count = SIZE_MAX;
  }
  if (form.last != 0 && axes.back() != form.last)
    fault("allocate: {} of the shape {}: the last length must be {}", form.name, shape_text(axes),
          form.last);
  if (count > (kLargest - bytes_) / of.size)
    fault("allocate: {} of the shape {}: an answer has at most {} bytes", form.name,
          shape_text(axes), kLargest);
  const std::size_t size = count * of.size;
  if (there_ != nullptr && form.large)
    taken.area = std::make_unique<DeviceArea>(form.name, *there_,
                                              std::vector<std::byte>(size, of.garbage), false);
  else
    taken.area = std::make_unique<GuardedMemory>(
        form.name, size, array == LEAFPROOF_GRIDS ? 32 : of.size, of.garbage);
  bytes_ += size;
  taken.type = type;
  taken.shape = std::move(axes);
  return taken.area->address();
}

std::string LibraryAnswer::violation() {
  if (std::string what = memory_.violation(); !what.empty()) return what;
  for (const Taken& taken : arrays_)
    if (taken.area)
      if (std::string what = taken.area->violation(); !what.empty()) return what;
  return {};
}

Answer LibraryAnswer::read(
    std::int32_t status, const Case& question,
    const std::function<GridBuffer(std::span<const std::byte>)>& read_grids) {
  const leafproof_answer& a = *get();
  try {
    if (const std::string what = violation(); !what.empty()) fault("{}", what);
    if (!fault_.empty()) fault("{}", fault_);
    const std::string reason = text_from(a.reason, "no reason given");
    if (status == LEAFPROOF_OK) return answer(question, read_grids);
    if (status == LEAFPROOF_NOT_IMPLEMENTED) return NotImplemented{reason};
    if (status == LEAFPROOF_FAILED) return Failed{reason, {}, false};
    return Error(kind_of(status), {.operation = std::string(to_string(question.op)),
                                   .argument = "case",
                                   .value = {},
                                   .reason = reason,
                                   .member = {},
                                   .row = {}});
  } catch (const Fault& made) {
    return Failed{made.what, {}, false};
  }
}

Answer LibraryAnswer::answer(
    const Case&, const std::function<GridBuffer(std::span<const std::byte>)>& read_grids) {
  const leafproof_answer& a = *get();
  unsigned present = 0;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kArrays; ++i)
    if (arrays_[i].area) {
      present |= 1U << i;
      names.emplace_back(kForms[i].name);
    }
  if (present == 0) fault("it returned LEAFPROOF_OK and allocated no array");
  const auto is = [&](unsigned needed, unsigned allowed) {
    return (present & needed) == needed && (present & ~(needed | allowed)) == 0 &&
           !halves(present, kSource) && !halves(present, kTarget) && !halves(present, kMaps);
  };
  if (is(kGrid, kMaps)) {
    VoxelsAnswer answer{
        members(LEAFPROOF_OFFSETS, LEAFPROOF_VOXELS), named("order", a.order, {false, true}), {}};
    if ((present & kMaps) != 0) answer.maps = maps();
    return answer;
  }
  if (is(kMaps, 0)) return Maps{maps()};
  if (is(kGrids, 0)) {
    const auto profile = named("profile", a.profile,
                               {Profile::Topology, Profile::Sets, Profile::Layout, Profile::Bytes});
    const auto bytes = arrays_[LEAFPROOF_GRIDS].area->bytes();
    GridBuffer buffer;
    if (read_grids) {
      buffer = read_grids(bytes);
    } else {
      const auto owner = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
      buffer = {owner, *owner, {0, bytes.size()}, {}};
    }
    buffer.profile = profile;
    return buffer;
  }
  if (is(kMap, kSource | kTarget)) {
    KernelMapAnswer answer;
    answer.profile = Profile::Topology;
    answer.map.gather = integers(LEAFPROOF_GATHER);
    answer.map.scatter = integers(LEAFPROOF_SCATTER);
    if (answer.map.gather.size() != answer.map.scatter.size())
      fault("LEAFPROOF_GATHER has {} rows, LEAFPROOF_SCATTER {}", answer.map.gather.size(),
            answer.map.scatter.size());
    answer.map.offsets =
        offsets(LEAFPROOF_TAP_OFFSETS, static_cast<std::int64_t>(answer.map.gather.size()));
    answer.source_rows = rows(LEAFPROOF_SOURCE_OFFSETS, LEAFPROOF_SOURCE_VOXELS);
    answer.target_rows = rows(LEAFPROOF_TARGET_OFFSETS, LEAFPROOF_TARGET_VOXELS);
    return answer;
  }
  if (is(kDense, kSource | kTarget)) {
    const auto& shape = arrays_[LEAFPROOF_INDEX].shape;
    DenseMapAnswer answer;
    answer.profile = Profile::Topology;
    answer.map = {shape[0], shape[1], integers(LEAFPROOF_INDEX)};
    answer.source_rows = rows(LEAFPROOF_SOURCE_OFFSETS, LEAFPROOF_SOURCE_VOXELS);
    answer.target_rows = rows(LEAFPROOF_TARGET_OFFSETS, LEAFPROOF_TARGET_VOXELS);
    return answer;
  }
  if (is(kOutput, kTarget)) {
    NumbersAnswer answer = numbers(LEAFPROOF_OUTPUT);
    answer.rows = rows(LEAFPROOF_TARGET_OFFSETS, LEAFPROOF_TARGET_VOXELS);
    return answer;
  }
  if (is(kGradients, kSource)) {
    GradientsAnswer answer{numbers(LEAFPROOF_GRAD_FEATURES), numbers(LEAFPROOF_GRAD_WEIGHTS),
                           numbers(LEAFPROOF_GRAD_BIAS)};
    answer.features.rows = rows(LEAFPROOF_SOURCE_OFFSETS, LEAFPROOF_SOURCE_VOXELS);
    return answer;
  }
  fault("the arrays {} together are no answer", fmt::join(names, ", "));
}

bool LibraryAnswer::has(std::int32_t array) const {
  return arrays_[static_cast<std::size_t>(array)].area != nullptr;
}

template <class T>
std::vector<T> LibraryAnswer::values(std::int32_t array) const {
  const auto bytes = arrays_[static_cast<std::size_t>(array)].area->bytes();
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

std::vector<std::int64_t> LibraryAnswer::integers(std::int32_t array) const {
  if (arrays_[static_cast<std::size_t>(array)].type == LEAFPROOF_INT64)
    return values<std::int64_t>(array);
  const auto narrow = values<std::int32_t>(array);
  return {narrow.begin(), narrow.end()};
}

std::vector<double> LibraryAnswer::reals(std::int32_t array) const {
  const auto wide = [](const auto& narrow) {
    std::vector<double> all;
    all.reserve(narrow.size());
    for (const auto x : narrow) all.push_back(static_cast<double>(x));
    return all;
  };
  switch (arrays_[static_cast<std::size_t>(array)].type) {
    case LEAFPROOF_FLOAT16:
      return wide(values<Eigen::half>(array));
    case LEAFPROOF_FLOAT32:
      return wide(values<float>(array));
    case LEAFPROOF_INT32:
      return wide(values<std::int32_t>(array));
    default:
      return values<double>(array);
  }
}

/// Offsets that delimit `end` things [E-2].
std::vector<std::int64_t> LibraryAnswer::offsets(std::int32_t array, std::int64_t end) const {
  auto all = integers(array);
  const char* const name = form_of(array).name;
  if (all.empty()) fault("{} is empty; it has an offset more than there are parts", name);
  if (all.front() != 0) fault("{}[0] is {}; it must be 0", name, all.front());
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i] < all[i - 1])
      fault("{}[{}] is {}, less than the one before it, {}", name, i, all[i], all[i - 1]);
  if (all.back() != end)
    fault("{}[{}], the last, is {}; there are {}", name, all.size() - 1, all.back(), end);
  return all;
}

std::vector<std::vector<Voxel>> LibraryAnswer::members(std::int32_t offsets_array,
                                                       std::int32_t voxels) const {
  const auto all = values<std::int32_t>(voxels);
  const auto ends = offsets(offsets_array, static_cast<std::int64_t>(all.size() / 3));
  std::vector<std::vector<Voxel>> lists(ends.size() - 1);
  for (std::size_t m = 0; m < lists.size(); ++m)
    for (auto i = static_cast<std::size_t>(ends[m]); i < static_cast<std::size_t>(ends[m + 1]); ++i)
      lists[m].push_back({all[3 * i], all[3 * i + 1], all[3 * i + 2]});
  return lists;
}

std::optional<RowVoxels> LibraryAnswer::rows(std::int32_t offsets_array,
                                             std::int32_t voxels) const {
  if (!has(voxels)) return {};
  RowVoxels rows;
  std::int64_t member = 0;
  for (const auto& list : members(offsets_array, voxels)) {
    for (const Voxel v : list) rows.push_back({member, v});
    ++member;
  }
  return rows;
}

std::vector<Map> LibraryAnswer::maps() const {
  const auto sizes = values<double>(LEAFPROOF_VOXEL_SIZES);
  const auto origins = values<double>(LEAFPROOF_ORIGINS);
  if (sizes.size() != origins.size())
    fault("LEAFPROOF_VOXEL_SIZES has {} members, LEAFPROOF_ORIGINS {}", sizes.size() / 3,
          origins.size() / 3);
  std::vector<Map> all(sizes.size() / 3);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    all[i / 3].voxel_size[i % 3] = sizes[i];
    all[i / 3].origin[i % 3] = origins[i];
  }
  return all;
}

NumbersAnswer LibraryAnswer::numbers(std::int32_t array) const {
  const Taken& taken = arrays_[static_cast<std::size_t>(array)];
  const NumberType type = taken.type == LEAFPROOF_FLOAT16   ? NumberType::Float16
                          : taken.type == LEAFPROOF_FLOAT32 ? NumberType::Float32
                          : taken.type == LEAFPROOF_INT32   ? NumberType::Int32
                                                            : NumberType::Float64;
  NumbersAnswer answer = numbers_of({taken.shape, reals(array)}, type);
  const leafproof_answer& a = *static_cast<const leafproof_answer*>(memory_.address());
  const auto declare = [](const char* member, std::int32_t value, Arithmetic& arithmetic) {
    arithmetic =
        named(member, value,
              {arithmetic, Arithmetic::Fp64, Arithmetic::Fp32, Arithmetic::Tf32, Arithmetic::Fp16});
  };
  declare("multiplier", a.multiplier, answer.multiplier);
  declare("accumulator", a.accumulator, answer.accumulator);
  return answer;
}

}  // namespace leafproof::oracle
