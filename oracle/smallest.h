// The smallest form of a failure, in all the shapes in which somebody may want it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "oracle/backend.h"
#include "oracle/report.h"
#include "oracle/sequence.h"

namespace leafproof::oracle {

/// What is said where there is nothing smallest.
inline constexpr std::string_view kDidNotComeAgain =
    "it did not differ when it was asked again: by chance, or by what the backend keeps from "
    "earlier calls";

/// Shrinks a case on which the backend differs from the reference, and writes it down. The case may
/// come out different in another way than at the start, but a refusal stays one and a result too.
/// Nothing where the backend does not differ again, by chance or by what it keeps from earlier
/// calls. Deterministic for backends that are; at most `most_tries` cases are judged. `after`: each
/// is asked after such another.
std::optional<Smallest> smallest_of(const Case& question, const Backend& reference,
                                    const Backend& backend, std::int64_t most_tries,
                                    std::optional<Change> after = {});

/// The shell line that judges a case again.
std::string replay_line(const Case& question, std::string_view backend,
                        std::optional<Change> after = {});

/// A GoogleTest that judges it, whole with its includes.
std::string google_test(const Case& question, std::string_view backend,
                        std::optional<Change> after = {});

}  // namespace leafproof::oracle
