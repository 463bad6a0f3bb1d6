// See answers.h.
#include "oracle/python/answers.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "gpu/memory.h"
#include "oracle/backends/host_backend.h"
#include "oracle/conv_answers.h"
#include "oracle/layout_view.h"
#include "oracle/python/kernel_map.h"
#include "oracle/python/module.h"
#include "reference/numbers.h"
#include "reference/passes.h"

namespace leafproof::python {
namespace {

using oracle::Answer;
using oracle::Case;
using oracle::GridBuffer;
using oracle::NumbersAnswer;
using oracle::Op;
using oracle::RowVoxels;

// --- to Python

template <class T>
nb::object numbers_as(const reference::Array& array) {
  std::vector<T> values;
  values.reserve(array.values.size());
  for (const double x : array.values) {
    if constexpr (std::is_same_v<T, Eigen::half>)
      values.push_back(static_cast<T>(static_cast<float>(x)));
    else
      values.push_back(static_cast<T>(x));
  }
  return array_of(std::move(values), array.shape);
}

struct ToPython {
  const Case& question;
  std::string_view backend;
  std::shared_ptr<Batch> source, target;

  nb::object operator()(oracle::Layout& layout) const {
    return nb::cast(without_gil([&] { return std::make_shared<Batch>(oracle::batch_of(layout)); }));
  }
  nb::object operator()(GridBuffer& buffer) const {
    return nb::cast(without_gil([&] { return std::make_shared<Batch>(std::move(buffer)); }));
  }
  nb::object operator()(oracle::VoxelsAnswer& lists) const {
    std::vector<std::int32_t> ijk;
    std::vector<std::int64_t> offsets{0};
    for (const auto& member : lists.members) {
      for (const auto& v : member) ijk.insert(ijk.end(), {v.x, v.y, v.z});
      offsets.push_back(static_cast<std::int64_t>(ijk.size() / 3));
    }
    const Shape rows{offsets.back(), 3}, count{static_cast<std::int64_t>(offsets.size())};
    return nb::make_tuple(array_of(std::move(ijk), rows), array_of(std::move(offsets), count));
  }
  nb::object operator()(oracle::Maps& maps) const { return maps_of(maps.maps); }
  std::shared_ptr<Batch> side(
      const std::shared_ptr<const std::variant<oracle::Layout, GridBuffer>>& complete) const {
    if (target) return target;
    if (question.target) return std::make_shared<Batch>(*question.target);
    if (complete == nullptr) return nullptr;
    if (const auto* layout = std::get_if<oracle::Layout>(complete.get()))
      return std::make_shared<Batch>(oracle::batch_of(*layout));
    return std::make_shared<Batch>(std::get<GridBuffer>(*complete));
  }
  nb::object operator()(oracle::KernelMapAnswer& answer) const {
    return nb::cast(without_gil([&] {
      return std::make_shared<KernelMap>(answer.map, source ? source : source_of(question),
                                         side(answer.target));
    }));
  }
  nb::object operator()(oracle::DenseMapAnswer& answer) const {
    return array_of(std::move(answer.map.index), {answer.map.taps, answer.map.rows});
  }
  nb::object operator()(NumbersAnswer& answer) const {
    switch (answer.type) {
      case NumberType::Float64:
        return numbers_as<double>(answer.array);
      case NumberType::Float32:
        return numbers_as<float>(answer.array);
      case NumberType::Float16:
        return numbers_as<Eigen::half>(answer.array);
      default:
        return numbers_as<std::int32_t>(answer.array);
    }
  }
  nb::object operator()(oracle::GradientsAnswer& answer) const {
    return nb::make_tuple((*this)(answer.features), (*this)(answer.weights), (*this)(answer.bias));
  }
  nb::object operator()(Error& error) const { return python_error(error); }
  nb::object operator()(oracle::NotImplemented&) const { return nb::borrow(Py_NotImplemented); }
  nb::object operator()(oracle::Failed& failed) const {
    std::string reason = failed.fault;
    for (const auto& line : failed.lines) reason += "\n  " + line;
    refuse(ErrorKind::Corrupt, {std::string(to_string(question.op)), "backend"},
           std::string(backend), reason);
  }
};

// --- from Python

/// Rows of an array's own order: (ijk, offsets), or [rows][4] with the member first.
std::optional<RowVoxels> rows_in(const Argument& argument, nb::handle given) {
  if (given.is_none()) return {};
  RowVoxels rows;
  const auto pair = [&] { return PyTuple_Check(given.ptr()) && nb::len(given) == 2; };
  if (pair()) {
    const auto ijk = numbers<std::int32_t>(argument, given[0], {-1, 3}, Holds::Integers);
    const auto at = offsets(argument, given[1], ijk.shape[0]);
    for (std::size_t m = 0; m + 1 < at.size(); ++m)
      for (auto i = static_cast<std::size_t>(at[m]); i < static_cast<std::size_t>(at[m + 1]); ++i)
        rows.push_back({static_cast<std::int64_t>(m),
                        {ijk.values[3 * i], ijk.values[3 * i + 1], ijk.values[3 * i + 2]}});
    return rows;
  }
  const auto all = numbers<std::int32_t>(argument, given, {-1, 4}, Holds::Integers);
  for (std::size_t i = 0; i < all.values.size(); i += 4)
    rows.push_back({all.values[i], {all.values[i + 1], all.values[i + 2], all.values[i + 3]}});
  return rows;
}

std::vector<std::int64_t> whole_numbers(const Argument& argument, nb::handle given, Shape shape) {
  const auto all = numbers<std::int64_t>(argument, given, shape, Holds::Integers);
  return {all.values.begin(), all.values.end()};
}

NumbersAnswer numbers_in(const Argument& argument, nb::handle given, const Claims& claims) {
  const auto type = number_type(argument, given);
  const auto all = numbers<double>(argument, given, {}, Holds::Numbers);
  auto answer = oracle::numbers_of({all.shape, {all.values.begin(), all.values.end()}}, type);
  const auto read = [&](const char* name, nb::handle claimed, oracle::Arithmetic& to) {
    if (claimed.is_none()) return;
    const Argument claim{argument.operation, name};
    const auto text = bytes_of(claim, claimed);
    const auto known = oracle::parse_arithmetic(text);
    if (!known) refuse(ErrorKind::InvalidArgument, claim, text, "must be fp64, fp32, tf32 or fp16");
    to = *known;
  };
  read("accumulator", claims.accumulator, answer.accumulator);
  read("multiplier", claims.multiplier, answer.multiplier);
  return answer;
}

/// Bytes from outside, copied to where they are aligned and nobody else writes.
GridBuffer buffer_in(std::span<const std::uint8_t> bytes, oracle::Profile profile) {
  GridBuffer buffer = aligned_copy(std::as_bytes(bytes));
  try {
    if (!bytes.empty()) buffer = oracle::grids_in(buffer.owner, buffer.bytes);
  } catch (const Error&) {
    buffer.offsets = {0, bytes.size()};  // as one grid, in which the judge names what is wrong
  }
  buffer.profile = profile;
  return buffer;
}

Answer grid_in(const Argument& argument, nb::handle given, const Claims& claims) {
  using oracle::Profile;
  std::shared_ptr<Batch> batch;
  if (nb::try_cast(given, batch) && batch != nullptr) {
    GridBuffer buffer = without_gil([&] { return batch->buffer(); });
    buffer.profile = claims.profile.value_or(Profile::Topology);
    return buffer;
  }
  if ((PyTuple_Check(given.ptr()) || PyList_Check(given.ptr())) && nb::len(given) == 2) {
    oracle::VoxelsAnswer lists;
    const auto profile = claims.profile.value_or(Profile::Sets);
    if (profile > Profile::Topology)
      refuse(ErrorKind::InvalidArgument, {argument.operation, "profile"},
             std::string(to_string(profile)), "lists of voxels are judged by sets or topology");
    lists.own_order = profile == Profile::Sets;
    const auto rows = rows_in(argument, nb::make_tuple(given[0], given[1]));
    const Argument of_offsets{argument.operation, argument.name + "[1]"};
    const auto count = static_cast<std::int64_t>(rows->size());
    lists.members.resize(offsets(of_offsets, given[1], count).size() - 1);
    for (const auto& row : *rows)
      lists.members[static_cast<std::size_t>(row.member)].push_back(row.voxel);
    return lists;
  }
  if (PyBytes_Check(given.ptr())) {
    const auto bytes = nb::borrow<nb::bytes>(given);
    return buffer_in({static_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                     claims.profile.value_or(Profile::Topology));
  }
  if (given.is_none() || PyUnicode_Check(given.ptr()))
    refuse(ErrorKind::InvalidArgument, argument, text_of(given),
           "must be a Batch, (ijk, offsets), or the bytes of NanoVDB grids");
  const auto bytes = numbers<std::uint8_t>(argument, given, {-1}, Holds::Integers);
  return buffer_in(bytes.values, claims.profile.value_or(Profile::Topology));
}

reference::KernelMap map_in(const Argument& argument, nb::handle given) {
  std::shared_ptr<KernelMap> own;
  if (nb::try_cast(given, own) && own != nullptr)
    return {*own->offsets,
            {own->gather, own->gather + own->pairs()},
            {own->scatter, own->scatter + own->pairs()}};
  if (!(PyTuple_Check(given.ptr()) || PyList_Check(given.ptr())) || nb::len(given) != 3)
    refuse(ErrorKind::InvalidArgument, argument, text_of(given),
           "must be a KernelMap or (offsets, gather, scatter)");
  const auto part = [&](std::size_t i) {
    return whole_numbers({argument.operation, argument.name + "[" + std::to_string(i) + "]"},
                         given[i], {-1});
  };
  return {part(0), part(1), part(2)};
}

}  // namespace

GridBuffer aligned_copy(std::span<const std::byte> bytes) {
  bool zeroed = false;
  auto memory = gpu::allocate_shared(gpu::system_allocator(),
                                     std::max<std::size_t>(bytes.size(), 32), &zeroed);
  if (!bytes.empty()) std::memcpy(memory.get(), bytes.data(), bytes.size());
  GridBuffer buffer;
  buffer.bytes = {memory.get(), bytes.size()};
  buffer.owner = std::move(memory);
  return buffer;
}

nb::object maps_of(const std::vector<Map>& maps) {
  std::vector<double> sizes, origins;
  for (const Map& map : maps) {
    sizes.insert(sizes.end(), map.voxel_size.begin(), map.voxel_size.end());
    origins.insert(origins.end(), map.origin.begin(), map.origin.end());
  }
  const Shape shape{static_cast<std::int64_t>(maps.size()), 3};
  return nb::make_tuple(array_of(std::move(sizes), shape), array_of(std::move(origins), shape));
}

std::shared_ptr<Batch> source_of(const Case& question) {
  if (question.op == Op::FromIjk || question.op == Op::FromPoints || question.op == Op::MapAfter)
    return nullptr;
  return std::make_shared<Batch>(question.view ? reference::view(question.source, *question.view)
                                               : question.source);
}

std::shared_ptr<const oracle::Backend> backend_named(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const oracle::Backend>> made;
  const std::scoped_lock lock(mutex);
  // After a fork without the threads that the process had.
  const std::string key = threads() == gpu::Threads::Tbb ? name : name + " after a fork";
  if (const auto known = made.find(key); known != made.end()) return known->second;
  std::shared_ptr<const oracle::Backend> backend = oracle::make_backend(name);
  if (key != name && name.starts_with("host")) {
    gpu::BuilderOptions options;
    options.threads = threads();
    if (name == "host-sort") options.engine = gpu::Engine::Sort;
    backend = oracle::make_host_backend(name, options);
  }
  const auto own = oracle::backend_names();
  if (std::ranges::find(own, name) != own.end()) made[key] = backend;
  return backend;
}

nb::object python_of(const Case& question, Answer answer, std::string_view backend,
                     std::shared_ptr<Batch> source, std::shared_ptr<Batch> target) {
  return std::visit(ToPython{question, backend, std::move(source), std::move(target)}, answer);
}

Answer answer_of(const Case& question, nb::handle given, const Claims& claims) {
  const Argument argument{std::string(to_string(question.op)), "actual"};
  if (given.ptr() == Py_NotImplemented) return oracle::NotImplemented{"NotImplemented"};
  if (auto error = error_in(given)) return *error;
  const auto rows = [&](const char* name, nb::handle claimed) {
    return rows_in({argument.operation, name}, claimed);
  };
  const auto dense = [&] {
    oracle::DenseMapAnswer answer;
    const auto all = numbers<std::int64_t>(argument, given, {-1, -1}, Holds::Integers);
    answer.map = {all.shape[0], all.shape[1], {all.values.begin(), all.values.end()}};
    answer.source_rows = rows("source_rows", claims.source_rows);
    answer.target_rows = rows("target_rows", claims.target_rows);
    answer.profile = claims.profile.value_or(oracle::Profile::Topology);
    return answer;
  };
  switch (question.op) {
    case Op::MapAfter: {
      if (!PyTuple_Check(given.ptr()) || nb::len(given) != 2)
        refuse(ErrorKind::InvalidArgument, argument, text_of(given),
               "must be (voxel_sizes, origins)");
      return oracle::Maps{maps(argument.operation, given[0], given[1])};
    }
    case Op::KernelMap: {
      if (question.dense) return dense();
      oracle::KernelMapAnswer answer;
      answer.map = map_in(argument, given);
      answer.source_rows = rows("source_rows", claims.source_rows);
      answer.target_rows = rows("target_rows", claims.target_rows);
      answer.profile = claims.profile.value_or(oracle::Profile::Topology);
      return answer;
    }
    case Op::SubmanifoldIndexMap:
      return dense();
    case Op::Convolution: {
      auto answer = numbers_in(argument, given, claims);
      answer.rows = rows("target_rows", claims.target_rows);
      return answer;
    }
    case Op::ConvolutionGradients: {
      if (!(PyTuple_Check(given.ptr()) || PyList_Check(given.ptr())) || nb::len(given) != 3)
        refuse(ErrorKind::InvalidArgument, argument, text_of(given),
               "must be (of the features, of the weights, of the bias)");
      const auto part = [&](std::size_t i) {
        return numbers_in({argument.operation, argument.name + "[" + std::to_string(i) + "]"},
                          given[i], claims);
      };
      oracle::GradientsAnswer answer{part(0), part(1), part(2)};
      answer.features.rows = rows("source_rows", claims.source_rows);
      return answer;
    }
    default:
      return grid_in(argument, given, claims);
  }
}

oracle::Verdict verdict_of(const Case& question, const Answer& answer,
                           const oracle::Backend& reference) {
  const oracle::Standard standard(question, reference);
  try {
    return standard.judge(answer);
  } catch (const std::exception& error) {
    return oracle::verdict_of_exception(error);
  }
}

}  // namespace leafproof::python
