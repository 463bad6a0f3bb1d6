// Which instructions a launch on the CPU uses: chosen when a program runs, so that one binary runs
// on any x86-64 and is fast on each. Loops over heavy functors are compiled once per set, with all
// that they call inlined into them: no function outside such a loop ever has another's code.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&  \
    !defined(LEAFPROOF_ONE_INSTRUCTION_SET)  // for builds that are compiled often
#define LEAFPROOF_INSTRUCTION_SETS 1
#endif
#if defined(__has_feature)  // sanitizers watch the code that every CPU runs
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#undef LEAFPROOF_INSTRUCTION_SETS
#endif
#endif

namespace leafproof::gpu {

enum class InstructionSet {
  Baseline,  // what the compiler was told to assume
  Avx2,      // x86-64-v3: 256-bit vectors, bit manipulation
  Avx512,    // x86-64-v4: 512-bit vectors, a leaf mask in one register
};

/// The best that this CPU has and this build was made for, or less where the environment variable
/// LEAFPROOF_INSTRUCTION_SET says "baseline" or "avx2". Found once. Results do not depend on it.
InstructionSet instruction_set();

}  // namespace leafproof::gpu
