// A consumer of every installed library: the builder's answer to a question, judged by the oracle
// against the reference's. Exit 0 if they are equal, and an answer to another question is not.
#include <cstdio>

#include "gpu/batched_builder.h"
#ifdef HAS_CUDA
#include "gpu/cuda_builder.h"
#endif
#include "oracle/backend.h"
#include "oracle/compare.h"
#include "reference/passes.h"

int main() {
  using namespace leafproof;
  const std::vector<std::int32_t> ijk{-1, 0, 7, 8, -4096, 5};
  const std::vector<std::int64_t> offsets{0, 2};
  gpu::BatchedBuilder builder;
  const gpu::GridBatch fine = builder.refine(builder.from_ijk({ijk, offsets}), {2, 2, 2});

  oracle::Case question;
  question.op = oracle::Op::Refine;
  question.factor = {2, 2, 2};
  question.source = reference::from_ijk({{{-1, 0, 7}, {8, -4096, 5}}});
  const auto reference = oracle::make_backend("reference");
  const oracle::Answer expected = reference->answer(question);
  const oracle::Answer answer = oracle::GridBuffer{
      .owner = fine.storage(), .bytes = fine.bytes(), .offsets = fine.byte_offsets()};
  question.factor = {2, 2, 3};
  const oracle::Answer other = reference->answer(question);

  const auto profile = oracle::Profile::Bytes;
  const bool equal = oracle::compare(expected, answer, profile).ok();
  const bool told_apart = !oracle::compare(other, answer, profile).ok();
  std::printf("equal: %d, told apart: %d\n", equal, told_apart);
#ifdef HAS_CUDA
  std::printf("CUDA: %s\n", gpu::why_no_cuda().empty() ? "yes" : gpu::why_no_cuda().c_str());
#endif
  return equal && told_apart ? 0 : 1;
}
