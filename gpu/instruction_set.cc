#include "gpu/instruction_set.h"

#include <cstdlib>
#include <string_view>

namespace leafproof::gpu {
namespace {

InstructionSet best() {
#if defined(LEAFPROOF_INSTRUCTION_SETS)
  const char* wish = std::getenv("LEAFPROOF_INSTRUCTION_SET");
  const std::string_view most = wish == nullptr ? "" : wish;
  __builtin_cpu_init();
  const auto has = [](auto... present) { return (present && ...); };
  const bool v3 = has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("bmi"),
                      __builtin_cpu_supports("bmi2"), __builtin_cpu_supports("fma"),
                      __builtin_cpu_supports("popcnt"));
  const bool v4 = v3 && has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
                            __builtin_cpu_supports("avx512cd"), __builtin_cpu_supports("avx512dq"),
                            __builtin_cpu_supports("avx512vl"));
  if (v4 && most != "baseline" && most != "avx2") return InstructionSet::Avx512;
  if (v3 && most != "baseline") return InstructionSet::Avx2;
#endif
  return InstructionSet::Baseline;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet found = best();
  return found;
}

}  // namespace leafproof::gpu
