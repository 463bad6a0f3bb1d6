// Seeded cases of every pass against the reference, byte for byte, in every mode of the host
// executor: both engines, TBB, serial and own threads, bounded and counted scratch.
#include <gtest/gtest.h>

#include "oracle/backends/host_backend.h"
#include "oracle/backends/reference_backend.h"
#include "oracle/compare.h"
#include "oracle/generate.h"
#include "tests/builder_support.h"

namespace {

using namespace leafproof;
using tests::Mode;
using tests::modes;

class BuilderSweep : public testing::TestWithParam<oracle::Op> {};

TEST_P(BuilderSweep, EqualsTheReferenceByteForByteInEveryMode) {
  constexpr std::uint64_t kSeed = 20260301, kCases = 70;
  RecordProperty("seed", std::to_string(kSeed));
  const auto reference = oracle::make_reference_backend();
  std::vector<std::unique_ptr<oracle::Backend>> hosts;
  for (const Mode& mode : modes())
    hosts.push_back(oracle::make_host_backend(mode.name, mode.options));
  std::size_t built = 0, refused = 0;
  for (std::uint64_t number = 0; number < kCases; ++number) {
    const oracle::Case question = oracle::generate(GetParam(), kSeed, number);
    const oracle::Answer expected = reference->answer(question);
    ++(std::holds_alternative<oracle::Error>(expected) ? refused : built);
    // All modes on the first half; then one after the other, so that many cases are tried.
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      if (number >= kCases / 2 && number % hosts.size() != h) continue;
      const auto verdict =
          compare(expected, hosts[h]->answer(question), oracle::Profile::Bytes, true);
      ASSERT_TRUE(verdict.ok()) << hosts[h]->name() << ", seed " << kSeed << " case " << number
                                << " (" << question.comment << "): "
                                << (verdict.first
                                        ? verdict.first->what + " at " + verdict.first->path +
                                              ": expected " + verdict.first->expected +
                                              ", actual " + verdict.first->actual
                                        : verdict.reason);
    }
  }
  EXPECT_GT(built, kCases / 2);
  EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ops, BuilderSweep, testing::ValuesIn(oracle::topology_ops()),
                         [](const auto& op) { return std::string(to_string(op.param)); });

}  // namespace
