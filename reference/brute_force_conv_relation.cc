// The relation [K-1] as brute_force has it: only ever from coarse to fine, so that nothing divides.
#include "reference/brute_force_conv_parts.h"

namespace leafproof::brute_force {

void require_kernel(const std::string& pass, const Kernel& kernel) {
  struct Limit {
    const char* name;
    const Triple& value;
    std::int64_t most;
  };
  const Limit limits[] = {{"kernel_size", kernel.size, 128},
                          {"stride", kernel.stride, 64},
                          {"dilation", kernel.dilation, 16}};
  for (const Limit& l : limits)
    if (l.value[0] < 1 || l.value[1] < 1 || l.value[2] < 1)
      reject(ErrorKind::InvalidArgument, pass, l.name, show(l.value), "from 1 on every axis");
  for (const Limit& l : limits)
    if (l.value[0] > l.most || l.value[1] > l.most || l.value[2] > l.most)
      reject(ErrorKind::Unsupported, pass, l.name, show(l.value),
             "up to " + std::to_string(l.most) + " on every axis");
  if (kernel.size[0] * kernel.size[1] * kernel.size[2] > 4096)
    reject(ErrorKind::Unsupported, pass, "kernel_size", show(kernel.size), "up to 4096 taps");
}

std::int64_t phase_of(std::int64_t size, std::int64_t dilation) {
  std::int64_t p = 0;
  while (2 * (p + 1) <= dilation * (size - 1)) ++p;
  return p;
}

void each_tap(const Kernel& kernel, const std::function<void(const Cell&)>& visit) {
  for (std::int64_t x = 0; x < kernel.size[0]; ++x)
    for (std::int64_t y = 0; y < kernel.size[1]; ++y)
      for (std::int64_t z = 0; z < kernel.size[2]; ++z) visit({x, y, z});
}

Cell fine_cell(const Kernel& k, const Cell& coarse, const Cell& tap) {
  Cell fine = coarse;
  for (int a = 0; a < 3; ++a) {
    fine[a] *= k.stride[a];
    fine[a] += k.dilation[a] * tap[a];
    fine[a] -= phase_of(k.size[a], k.dilation[a]);
  }
  return fine;
}

}  // namespace leafproof::brute_force
