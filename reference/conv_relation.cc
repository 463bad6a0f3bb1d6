// [K-1]: fine = S * coarse + D * t - P.
#include "reference/conv_relation.h"

#include <limits>

#include "reference/checks.h"

namespace leafproof::reference {
namespace {

std::int64_t phase(const Kernel& k, std::size_t axis) {
  return floor_div(k.dilation[axis] * (k.size[axis] - 1), 2);
}

// Where the tap stands on the fine side, seen from S * coarse.
std::int64_t shift(const Kernel& k, const Triple& tap, std::size_t axis) {
  return k.dilation[axis] * tap[axis] - phase(k, axis);
}

}  // namespace

void check_kernel(const char* operation, const Kernel& kernel) {
  check_factor(operation, "kernel_size", kernel.size, 0);
  check_factor(operation, "stride", kernel.stride, 0);
  check_factor(operation, "dilation", kernel.dilation, 0);
  check_factor(operation, "kernel_size", kernel.size, kMaxKernelSize);
  check_factor(operation, "stride", kernel.stride, kMaxStride);
  check_factor(operation, "dilation", kernel.dilation, kMaxDilation);
  if (tap_count(kernel) > kMaxTaps)
    refuse(ErrorKind::Unsupported, operation, "kernel_size", to_text(kernel.size),
           "at most " + std::to_string(kMaxTaps) + " taps");
}

std::int64_t tap_count(const Kernel& kernel) {
  return kernel.size[0] * kernel.size[1] * kernel.size[2];
}

Triple tap_of(const Kernel& kernel, std::int64_t number) {
  const std::int64_t z = kernel.size[2], yz = kernel.size[1] * z;
  return {number / yz, number % yz / z, number % z};
}

Triple fine_of(const Kernel& kernel, const Triple& coarse, const Triple& tap) {
  Triple fine;
  for (std::size_t a = 0; a < 3; ++a)
    fine[a] = kernel.stride[a] * coarse[a] + shift(kernel, tap, a);
  return fine;
}

std::optional<Triple> coarse_of(const Kernel& kernel, const Triple& fine, const Triple& tap) {
  Triple coarse;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t multiple = fine[a] - shift(kernel, tap, a);
    if (floor_mod(multiple, kernel.stride[a]) != 0) return std::nullopt;
    coarse[a] = floor_div(multiple, kernel.stride[a]);
  }
  return coarse;
}

std::optional<Triple> target_of(const Kernel& kernel, Direction direction, const Voxel& source,
                                const Triple& tap) {
  if (direction == Direction::Forward) return coarse_of(kernel, triple(source), tap);
  return fine_of(kernel, triple(source), tap);
}

std::optional<Triple> source_of(const Kernel& kernel, Direction direction, const Voxel& target,
                                const Triple& tap) {
  if (direction == Direction::Forward) return fine_of(kernel, triple(target), tap);
  return coarse_of(kernel, triple(target), tap);
}

bool in_lattice(const Triple& c) {
  for (const std::int64_t x : c)
    if (x < std::numeric_limits<std::int32_t>::min() ||
        x > std::numeric_limits<std::int32_t>::max())
      return false;
  return true;
}

Triple triple(const Voxel& v) {
  return {v.x, v.y, v.z};
}

Voxel voxel(const Triple& c) {
  return {static_cast<std::int32_t>(c[0]), static_cast<std::int32_t>(c[1]),
          static_cast<std::int32_t>(c[2])};
}

std::array<std::vector<std::int64_t>, 3> missed_residues(const Kernel& kernel) {
  check_kernel("residues", kernel);
  std::array<std::vector<std::int64_t>, 3> missed;
  for (std::size_t a = 0; a < 3; ++a)
    for (std::int64_t residue = 0; residue < kernel.stride[a]; ++residue) {
      bool reached = false;
      for (std::int64_t t = 0; t < kernel.size[a]; ++t)
        reached = reached || floor_mod(shift(kernel, {t, t, t}, a), kernel.stride[a]) == residue;
      if (!reached) missed[a].push_back(residue);
    }
  return missed;
}

}  // namespace leafproof::reference
