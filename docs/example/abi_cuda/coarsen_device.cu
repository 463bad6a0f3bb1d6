// A backend that works in the memory of a CUDA device: `coarsen` [T-3], by Thrust, on the stream
// that it is given. Compiled and linked by the tests; it has not run on a GPU. With Thrust's CPU
// system instead (-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP) the same source runs on a CPU:
// so the tests judge it.
//
//     leafproof verify --backend ./libcoarsen_device.so --skips coarsen_device.skips
#include <leafproof_backend.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <vector>

namespace {

#if THRUST_DEVICE_SYSTEM == THRUST_DEVICE_SYSTEM_CUDA
constexpr std::int32_t kMemory = LEAFPROOF_DEVICE_MEMORY;
auto on(void* stream) {
  return thrust::cuda::par.on(static_cast<cudaStream_t>(stream));
}
#else
constexpr std::int32_t kMemory = LEAFPROOF_HOST_MEMORY;
auto on(void*) {
  return thrust::device;
}
#endif

/// What set_up() makes: a stream to work on, and the last fault in words.
struct Context {
  void* stream;
  std::string reason;
};

struct Cell {
  std::int64_t member;
  std::int32_t x, y, z;
};

struct Before {
  __host__ __device__ bool operator()(const Cell& l, const Cell& r) const {
    if (l.member != r.member) return l.member < r.member;
    if (l.x != r.x) return l.x < r.x;
    return l.y != r.y ? l.y < r.y : l.z < r.z;
  }
};

struct Same {
  __host__ __device__ bool operator()(const Cell& l, const Cell& r) const {
    return l.member == r.member && l.x == r.x && l.y == r.y && l.z == r.z;
  }
};

/// The coarse cell of a row of the view: its member is the one in whose rows it lies.
struct Coarsen {
  const std::int32_t* voxels;
  const std::int64_t *begins, *ends;  // of each member in the source; of its rows in the view
  std::int64_t members, fx, fy, fz;

  __host__ __device__ static std::int32_t floor_div(std::int64_t n, std::int64_t d) {
    return static_cast<std::int32_t>(n / d - (n % d < 0));
  }
  __host__ __device__ Cell operator()(std::int64_t row) const {
    std::int64_t low = 0, high = members - 1;  // the first member that ends behind the row
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (ends[middle] > row)
        high = middle;
      else
        low = middle + 1;
    }
    const std::int64_t first = low == 0 ? 0 : ends[low - 1];
    const std::int32_t* const v = voxels + 3 * (begins[low] + row - first);
    return {low, floor_div(v[0], fx), floor_div(v[1], fy), floor_div(v[2], fz)};
  }
};

struct Write {
  const Cell* cells;
  std::int32_t* voxels;
  __host__ __device__ void operator()(std::int64_t i) const {
    voxels[3 * i] = cells[i].x;
    voxels[3 * i + 1] = cells[i].y;
    voxels[3 * i + 2] = cells[i].z;
  }
};

/// Maps and names are not kept, but bad ones are refused [G-7].
bool has_good_map(const leafproof_batch& batch, std::int64_t m, const std::int64_t* factor) {
  const char* const name = batch.names + batch.name_offsets[m];
  const std::int64_t length = batch.name_offsets[m + 1] - batch.name_offsets[m];
  if (length > 255 || std::find(name, name + length, '\0') != name + length) return false;
  for (int a = 0; a < 3; ++a) {
    const double size = batch.voxel_sizes[3 * m + a];
    const double after = size * static_cast<double>(factor[a]);
    if (!(size > 0 && std::isfinite(after + batch.origins[3 * m + a]))) return false;
  }
  return true;
}

std::int32_t coarsen(const Context& context, const leafproof_question& q,
                     leafproof_answer& answer) {
  const std::int64_t* const f = q.parameters->factor;
  if (f[0] < 1 || f[1] < 1 || f[2] < 1) return LEAFPROOF_INVALID_ARGUMENT;
  const leafproof_batch& source = *q.source;
  const std::int64_t members = q.view != nullptr ? q.view->count : source.members;
  std::vector<std::int64_t> begins, ends;
  std::int64_t rows = 0;
  for (std::int64_t k = 0; k < members; ++k) {  // [T-9]
    const std::int64_t m = q.view != nullptr ? q.view->members[k] : k;
    if (m < 0 || m >= source.members || !has_good_map(source, m, f))
      return LEAFPROOF_INVALID_ARGUMENT;
    begins.push_back(source.offsets[m]);
    ends.push_back(rows += source.offsets[m + 1] - source.offsets[m]);
  }

  const auto policy = on(context.stream);
  const thrust::device_vector<std::int64_t> begins_there = begins, ends_there = ends;
  thrust::device_vector<Cell> cells(rows);
  thrust::transform(
      policy, thrust::counting_iterator<std::int64_t>(0),
      thrust::counting_iterator<std::int64_t>(rows), cells.begin(),
      Coarsen{source.voxels, thrust::raw_pointer_cast(begins_there.data()),
              thrust::raw_pointer_cast(ends_there.data()), members, f[0], f[1], f[2]});
  thrust::sort(policy, cells.begin(), cells.end(), Before{});
  cells.erase(thrust::unique(policy, cells.begin(), cells.end(), Same{}), cells.end());

  // Offsets are host memory, voxels are where we work.
  const std::int64_t count = static_cast<std::int64_t>(cells.size());
  const std::int64_t bounds[] = {members + 1}, shape[] = {count, 3};
  auto* const offsets = static_cast<std::int64_t*>(
      answer.allocate(&answer, LEAFPROOF_OFFSETS, LEAFPROOF_INT64, 1, bounds));
  auto* const voxels = static_cast<std::int32_t*>(
      answer.allocate(&answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, 2, shape));
  if (offsets == nullptr || voxels == nullptr) return LEAFPROOF_OUT_OF_MEMORY;
  std::vector<Cell> firsts;
  for (std::int64_t m = 0; m <= members; ++m)
    firsts.push_back({m, INT32_MIN, INT32_MIN, INT32_MIN});
  const thrust::device_vector<Cell> firsts_there = firsts;
  thrust::device_vector<std::int64_t> found(members + 1);
  thrust::lower_bound(policy, cells.begin(), cells.end(), firsts_there.begin(), firsts_there.end(),
                      found.begin(), Before{});
  thrust::copy(found.begin(), found.end(), offsets);
  thrust::for_each(policy, thrust::counting_iterator<std::int64_t>(0),
                   thrust::counting_iterator<std::int64_t>(count),
                   Write{thrust::raw_pointer_cast(cells.data()), voxels});
  answer.order = LEAFPROOF_OWN_ORDER;
  return LEAFPROOF_OK;
}

const char* why_not(const leafproof_parameters* p) {
  return p->operation == LEAFPROOF_COARSEN ? nullptr : "coarsens only";
}

std::int32_t set_up(const leafproof_environment* environment, void** context, const char**) {
  *context = new Context{environment->stream, {}};
  return LEAFPROOF_OK;
}

std::int32_t run(void* context, const leafproof_question* question, leafproof_answer* answer) {
  Context& own = *static_cast<Context*>(context);
  try {
    return coarsen(own, *question, *answer);
  } catch (const std::exception& error) {  // no exception may leave
    own.reason = error.what();
    answer->reason = own.reason.c_str();
    return LEAFPROOF_FAILED;
  }
}

void tear_down(void* context) {
  delete static_cast<Context*>(context);
}

}  // namespace

const leafproof_backend* leafproof_backend_v1() {
  static const leafproof_backend backend = {LEAFPROOF_ABI_VERSION,
                                            sizeof(leafproof_backend),
                                            "coarsen_device 1.0",
                                            "coarsens by Thrust, in the memory of a device",
                                            kMemory,
                                            0,
                                            why_not,
                                            set_up,
                                            run,
                                            tear_down};
  return &backend;
}
