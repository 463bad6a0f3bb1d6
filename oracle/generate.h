// Seeded cases for every pass of [T] and for convolution, made so that every boundary class is
// common, not lucky.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "oracle/case.h"
#include "oracle/report.h"
#include "oracle/shapes.h"

namespace leafproof::oracle {

/// Case number `number` of `op` under `seed`: the same on every machine and for ever within one
/// semantics version. Mixes valid and refused cases; members, parameters, masks, views, maps and
/// names are all drawn from it.
Case generate(Op op, std::uint64_t seed, std::uint64_t number);

/// Its `id`: "refine --seed 7 --case 41".
std::string case_id(Op op, std::uint64_t seed, std::uint64_t number);

/// A case that bytes choose: whatever they are it is well formed, and where they end every choice
/// is the simplest one. So a fuzzer, a property test or another program makes cases of the same
/// families, and makes them smaller by making the bytes fewer.
Case generate(Op op, std::span<const std::uint8_t> bytes);

/// The same with the members of its source of that family, and none that is broken on purpose.
Case generate(Op op, std::span<const std::uint8_t> bytes, const Shape& family);

/// How many cases of an operation a level of `verify` runs.
std::int64_t cases_of_level(Op op, int level);

/// Boundary classes that a case and its result touch.
std::set<Boundary> boundaries_of(const Case& question, const Layout* result);

}  // namespace leafproof::oracle
