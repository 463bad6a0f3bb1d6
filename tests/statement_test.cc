// What an author may state: a level only where it was run as defined and nothing was left out.
#include "oracle/statement.h"

#include <gtest/gtest.h>

namespace {

using namespace leafproof::oracle;

Row row(const std::string& operation, const std::string& backend, std::int64_t equal) {
  Row r;
  r.operation = operation;
  r.backend = backend;
  r.input = "generated";
  r.cases = r.equal = equal;
  return r;
}

Report report() {
  Report r;
  r.version = "1.2.3";
  r.level = 2;
  r.seed = 7;
  r.rows = {row("refine", "mine", 10), row("merge", "mine", 20), row("refine", "other", 3)};
  r.rows[1].refused = 2;
  r.rows.push_back(row("refine", "mine", 4));
  r.rows.back().input = "bunny.obj";
  return r;
}

StatementScope scope() {
  return {.narrowed = {}, .faults = {}, .vectors = {}, .date = "2026-11-30", .again = "again!"};
}

void has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

TEST(Statement, OfALevelThatWasRunAsDefined) {
  EXPECT_EQ(statement(report(), "mine", scope()),
            "Leafproof conformance statement\n"
            "backend      mine\n"
            "judged by    Leafproof 1.2.3, semantics 1, level 2, seed 7; 2026-11-30\n"
            "result       CONFORMS to level 2, semantics 1\n"
            "generated    30 cases: 30 equal (2 refused alike), 0 different, 0 not implemented\n"
            "real input   bunny.obj: 4 cases: 4 equal (0 refused alike), 0 different, 0 not "
            "implemented\n"
            "vectors      not run\n"
            "operations   refine 10, merge 20\n"
            "again        again!\n");
}

TEST(Statement, NoLevelIsClaimedOfAnotherSweep) {
  StatementScope s = scope();
  s.narrowed = {"--ops refine", "--time 3"};
  const std::string text = statement(report(), "mine", s);
  has(text, "no level is claimed, for this is not one: --ops refine, --time 3");
  EXPECT_EQ(text.find("CONFORMS"), std::string::npos);
}

TEST(Statement, WhatIsNotImplementedIsPartOfTheClaim) {
  Report r = report();
  r.rows[1].equal = 10;
  r.rows[1].not_implemented = 10;
  has(statement(r, "mine", scope()),
      "CONFORMS to level 2, semantics 1, but for merge (10 of 20 not implemented)");
}

TEST(Statement, DifferencesFaultsAndVectorsDeny) {
  Report r = report();
  r.rows[3].equal = 3;
  r.rows[3].different = 1;
  has(statement(r, "mine", scope()), "DOES NOT CONFORM: something differs");
  EXPECT_NE(statement(r, "other", scope()).find("CONFORMS to level 2"), std::string::npos)
      << "another backend's difference is not this one's";

  StatementScope s = scope();
  s.faults = {"merge on mine was not implemented"};
  has(statement(report(), "mine", s), "DOES NOT CONFORM: merge on mine was not implemented");

  s = scope();
  s.vectors = Tally{.passed = 5, .failed = 1, .not_implemented = 0};
  has(statement(report(), "mine", s), "DOES NOT CONFORM: something differs");
  has(statement(report(), "mine", s), "5 passed, 1 failed, 0 not implemented");

  has(statement(report(), "nobody", scope()), "DOES NOT CONFORM");
}

}  // namespace
