// Written cases and generated ones, whatever RapidCheck chooses: it makes the bytes that a case is
// drawn from, so that it shrinks cases by taking bytes away.
#include "oracle/case_bytes.h"
#include "oracle/case_json.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/judge.h"
#include "properties/subject.h"

namespace leafproof::oracle {

/// A counter-example is shown as `leafproof replay` takes it.
void showValue(const Case& question, std::ostream& out) {
  out << '\'' << write_case_text(question) << '\'';
}

}  // namespace leafproof::oracle

namespace leafproof::properties {
namespace {

/// A case of any operation that bytes choose.
rc::Gen<Case> cases() {
  const auto op =
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, generated_ops().size()));
  return rc::gen::map(
      rc::gen::pair(op, rc::gen::scale(4, rc::gen::container<std::vector<std::uint8_t>>(
                                              rc::gen::arbitrary<std::uint8_t>()))),
      [](const auto& chosen) { return generate(generated_ops()[chosen.first], chosen.second); });
}

TEST(LawsOfCases, EveryFormComesBack) {
  holds("read(write(case)) = case, as text, JSON and bytes [F]", [] {
    const Case question = *cases().as("case");
    const auto bytes = write_case_bytes(question);  // of which each case has its own
    RC_ASSERT(write_case_bytes(read_case_bytes(bytes)) == bytes);
    RC_ASSERT(write_case_bytes(asked().through_text(question)) == bytes);
    RC_ASSERT(write_case_bytes(read_case_json(write_case_json(question))) == bytes);
  });
}

class Answers : public Law {};

TEST_P(Answers, AreThoseOfTheReference) {
  const auto reference = make_backend("reference");
  const Subject run = subject();
  holds("backend = reference on any case that bytes choose [G-9]", [&] {
    const Case question = *cases().as("case");
    questions().push_back(question);
    RC_ASSERT(judge(question, *reference, run.backend()).outcome != Outcome::Different);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Answers, testing::ValuesIn(subjects()), name_of);

}  // namespace
}  // namespace leafproof::properties
