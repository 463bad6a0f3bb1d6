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
  const bool v3 = __builtin_cpu_supports("x86-64-v3");
  const bool v4 = __builtin_cpu_supports("x86-64-v4");
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
