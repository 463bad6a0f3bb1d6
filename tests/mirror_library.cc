// A shared library that hands every question to the reference: what comes back through the C
// interface must be the reference's answer, for every operation, form, type and refusal. Grids are
// given as voxels and, of an even number of members, as NanoVDB bytes.
#include <leafproof_backend.h>

#include <Eigen/Core>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "oracle/backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/layout_view.h"

namespace {

using namespace leafproof;
using oracle::Case;
using oracle::NumberType;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

oracle::Batch batch_of(const leafproof_batch& b) {
  oracle::Batch batch;
  for (std::int64_t m = 0; m < b.members; ++m) {
    auto& member = batch.members.emplace_back();
    for (std::int64_t i = b.offsets[m]; i < b.offsets[m + 1]; ++i)
      member.push_back({b.voxels[3 * i], b.voxels[3 * i + 1], b.voxels[3 * i + 2]});
    auto& map = batch.maps.emplace_back();
    std::copy_n(b.voxel_sizes + 3 * m, 3, map.voxel_size.begin());
    std::copy_n(b.origins + 3 * m, 3, map.origin.begin());
    batch.names.emplace_back(b.names + b.name_offsets[m], b.names + b.name_offsets[m + 1]);
  }
  return batch;
}

template <class T>
std::vector<double> wide(const leafproof_array& a) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < a.count; ++i)
    values.push_back(static_cast<double>(static_cast<const T*>(a.values)[i]));
  return values;
}

reference::Array array_of(const leafproof_array& a) {
  return {{a.shape, a.shape + a.rank},
          a.type == LEAFPROOF_FLOAT64   ? wide<double>(a)
          : a.type == LEAFPROOF_FLOAT32 ? wide<float>(a)
          : a.type == LEAFPROOF_FLOAT16 ? wide<Eigen::half>(a)
                                        : wide<std::int32_t>(a)};
}

NumberType type_of(std::int32_t type) {
  return type == LEAFPROOF_FLOAT64   ? NumberType::Float64
         : type == LEAFPROOF_FLOAT32 ? NumberType::Float32
         : type == LEAFPROOF_FLOAT16 ? NumberType::Float16
                                     : NumberType::Int32;
}

Case case_of(const leafproof_question& q) {
  const leafproof_parameters& p = *q.parameters;
  Case c;
  c.op = static_cast<oracle::Op>(p.operation);
  c.mapped = static_cast<oracle::Op>(p.mapped);
  std::copy_n(p.factor, 3, c.factor.begin());
  std::copy_n(p.lo, 3, c.lo.begin());
  std::copy_n(p.hi, 3, c.hi.begin());
  std::copy_n(p.kernel_size, 3, c.kernel.size.begin());
  std::copy_n(p.stride, 3, c.kernel.stride.begin());
  std::copy_n(p.dilation, 3, c.kernel.dilation.begin());
  c.direction = p.transposed != 0 ? oracle::Direction::Transposed : oracle::Direction::Forward;
  c.dense = p.dense != 0;
  c.operands.type = type_of(p.number_type);
  c.operands.target_is_source = p.target_is_source != 0;
  c.source = batch_of(*q.source);
  if (q.points != nullptr)
    for (std::int64_t m = 0; m < q.points->members; ++m) {
      auto& list = c.points.emplace_back();
      for (std::int64_t i = q.points->offsets[m]; i < q.points->offsets[m + 1]; ++i) {
        const double* const x = q.points->xyz + 3 * i;
        list.push_back({x[0], x[1], x[2]});
      }
    }
  if (q.view != nullptr) c.view.emplace(q.view->members, q.view->members + q.view->count);
  if (q.other != nullptr) c.other = batch_of(*q.other);
  if (q.target != nullptr) c.target = batch_of(*q.target);
  if (q.mask != nullptr) {
    auto& masks = c.mask.emplace();
    for (std::int64_t m = 0; m < q.mask->members; ++m)
      masks.emplace_back(q.mask->flags + q.mask->offsets[m],
                         q.mask->flags + q.mask->offsets[m + 1]);
  }
  if (q.features != nullptr) c.operands.features = array_of(*q.features);
  if (q.weights != nullptr) c.operands.weights = array_of(*q.weights);
  if (q.bias != nullptr) c.operands.bias = array_of(*q.bias);
  if (q.grad_output != nullptr) c.operands.grad_output = array_of(*q.grad_output);
  return c;
}

/// Writes the arrays of an answer; its call operators return a status.
class Writer {
 public:
  explicit Writer(leafproof_answer& answer) : answer_(answer) {}

  std::int32_t operator()(const oracle::Layout& layout) {
    const oracle::Batch batch = oracle::batch_of(layout);
    if (batch.size() % 2 == 0) {
      const oracle::GridBuffer buffer = oracle::write_layout(layout);
      put(LEAFPROOF_GRIDS, LEAFPROOF_UINT8, {static_cast<std::int64_t>(buffer.bytes.size())},
          buffer.bytes);
      answer_.profile = LEAFPROOF_BYTES;
      return LEAFPROOF_OK;
    }
    members(LEAFPROOF_OFFSETS, LEAFPROOF_VOXELS, batch.members);
    return (*this)(oracle::Maps{batch.maps});
  }
  std::int32_t operator()(const oracle::Maps& all) {
    std::vector<double> sizes, origins;
    for (const oracle::Map& map : all.maps) {
      sizes.insert(sizes.end(), map.voxel_size.begin(), map.voxel_size.end());
      origins.insert(origins.end(), map.origin.begin(), map.origin.end());
    }
    const auto count = static_cast<std::int64_t>(all.maps.size());
    put(LEAFPROOF_VOXEL_SIZES, LEAFPROOF_FLOAT64, {count, 3}, std::span(sizes));
    put(LEAFPROOF_ORIGINS, LEAFPROOF_FLOAT64, {count, 3}, std::span(origins));
    return LEAFPROOF_OK;
  }
  std::int32_t operator()(const oracle::KernelMapAnswer& answer) {
    const auto pairs = static_cast<std::int64_t>(answer.map.gather.size());
    put(LEAFPROOF_TAP_OFFSETS, LEAFPROOF_INT64,
        {static_cast<std::int64_t>(answer.map.offsets.size())}, std::span(answer.map.offsets));
    put(LEAFPROOF_GATHER, LEAFPROOF_INT64, {pairs}, std::span(answer.map.gather));
    const std::vector<std::int32_t> narrow(answer.map.scatter.begin(), answer.map.scatter.end());
    put(LEAFPROOF_SCATTER, LEAFPROOF_INT32, {pairs}, std::span(narrow));
    rows(LEAFPROOF_TARGET_OFFSETS, LEAFPROOF_TARGET_VOXELS, answer.target_rows);
    rows(LEAFPROOF_SOURCE_OFFSETS, LEAFPROOF_SOURCE_VOXELS, answer.source_rows);
    return LEAFPROOF_OK;
  }
  std::int32_t operator()(const oracle::DenseMapAnswer& answer) {
    const std::vector<std::int32_t> narrow(answer.map.index.begin(), answer.map.index.end());
    put(LEAFPROOF_INDEX, LEAFPROOF_INT32, {answer.map.taps, answer.map.rows}, std::span(narrow));
    return LEAFPROOF_OK;
  }
  std::int32_t operator()(const oracle::NumbersAnswer& answer) {
    numbers(LEAFPROOF_OUTPUT, answer);
    rows(LEAFPROOF_TARGET_OFFSETS, LEAFPROOF_TARGET_VOXELS, answer.rows);
    if (answer.type == NumberType::Float64) answer_.accumulator = LEAFPROOF_FP64;
    return LEAFPROOF_OK;
  }
  std::int32_t operator()(const oracle::GradientsAnswer& answer) {
    numbers(LEAFPROOF_GRAD_FEATURES, answer.features);
    numbers(LEAFPROOF_GRAD_WEIGHTS, answer.weights);
    numbers(LEAFPROOF_GRAD_BIAS, answer.bias);
    return LEAFPROOF_OK;
  }
  std::int32_t operator()(const oracle::Error& error) {
    return LEAFPROOF_INVALID_ARGUMENT + static_cast<std::int32_t>(error.kind());
  }
  template <class Other>
  std::int32_t operator()(const Other&) {
    return LEAFPROOF_FAILED;  // the reference answers nothing else
  }

 private:
  template <class T>
  void put(std::int32_t array, std::int32_t type, const std::vector<std::int64_t>& shape,
           std::span<const T> values) {
    void* const to = answer_.allocate(&answer_, array, type,
                                      static_cast<std::int32_t>(shape.size()), shape.data());
    if (to == nullptr) throw std::bad_alloc();
    if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
  }
  template <class T>
  void put(std::int32_t array, std::int32_t type, const std::vector<std::int64_t>& shape,
           std::span<T> values) {
    put(array, type, shape, std::span<const T>(values));
  }
  void members(std::int32_t offsets_array, std::int32_t voxels_array,
               const std::vector<std::vector<oracle::Voxel>>& lists) {
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> voxels;
    for (const auto& list : lists) {
      for (const oracle::Voxel v : list) voxels.insert(voxels.end(), {v.x, v.y, v.z});
      offsets.push_back(static_cast<std::int64_t>(voxels.size() / 3));
    }
    put(offsets_array, LEAFPROOF_INT64, {static_cast<std::int64_t>(offsets.size())},
        std::span(offsets));
    put(voxels_array, LEAFPROOF_INT32, {offsets.back(), 3}, std::span(voxels));
  }
  void rows(std::int32_t offsets, std::int32_t voxels,
            const std::optional<oracle::RowVoxels>& rows) {
    if (!rows) return;
    std::vector<std::vector<oracle::Voxel>> lists;
    for (const oracle::RowVoxel& row : *rows) {
      lists.resize(std::max(lists.size(), at(row.member) + 1));
      lists.back().push_back(row.voxel);
    }
    members(offsets, voxels, lists);
  }
  template <class T>
  void numbers_in(std::int32_t array, std::int32_t type, const reference::Array& given) {
    std::vector<T> values;
    for (const double x : given.values) {
      if constexpr (std::is_same_v<T, Eigen::half>)
        values.push_back(Eigen::half(static_cast<float>(x)));
      else
        values.push_back(static_cast<T>(x));
    }
    put(array, type, given.shape, std::span(values));
  }
  void numbers(std::int32_t array, const oracle::NumbersAnswer& answer) {
    switch (answer.type) {
      case NumberType::Float64:
        return numbers_in<double>(array, LEAFPROOF_FLOAT64, answer.array);
      case NumberType::Float32:
        return numbers_in<float>(array, LEAFPROOF_FLOAT32, answer.array);
      case NumberType::Float16:
        return numbers_in<Eigen::half>(array, LEAFPROOF_FLOAT16, answer.array);
      case NumberType::Int32:
        return numbers_in<std::int32_t>(array, LEAFPROOF_INT32, answer.array);
    }
  }

  leafproof_answer& answer_;
};

const char* why_not(const leafproof_parameters*) {
  return nullptr;
}

std::int32_t set_up(const leafproof_environment*, void** context, const char**) {
  *context = oracle::make_reference_backend().release();
  return LEAFPROOF_OK;
}

std::int32_t run(void* context, const leafproof_question* question, leafproof_answer* answer) {
  const Case c = case_of(*question);
  return std::visit(Writer(*answer), static_cast<const oracle::Backend*>(context)->answer(c));
}

void tear_down(void* context) {
  delete static_cast<oracle::Backend*>(context);
}

}  // namespace

const leafproof_backend* leafproof_backend_v1() {
  static const leafproof_backend backend = {LEAFPROOF_ABI_VERSION,
                                            sizeof(leafproof_backend),
                                            "mirror",
                                            "the reference, seen through the C interface",
                                            LEAFPROOF_HOST_MEMORY,
                                            0,
                                            why_not,
                                            set_up,
                                            run,
                                            tear_down};
  return &backend;
}
