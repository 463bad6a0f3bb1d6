// The smallest case near a failing one that still fails: what a report shows and a person debugs.
#pragma once

#include <cstdint>
#include <functional>

#include "oracle/case.h"

namespace leafproof::oracle {

struct Shrunk {
  Case question;           // the simplest found; `id` and `comment` are those of the start
  std::int64_t tries = 0;  // cases that were judged
  std::int64_t steps = 0;  // of these, how many became the next
  bool finished = false;   // no edit makes it simpler; false: the tries ran out
};

/// Drops members, voxels and points (delta debugging), axes, taps and channels; moves what is left
/// towards the origin, first by whole nodes and then by what keeps the phase of a factor or stride;
/// simplifies parameters, flags and numbers. An edit is kept where `fails` is true of it and its
/// compact bytes are fewer, or as many and less in alphabetical order: so it ends, and the same
/// start gives the same result. `fails` must be true of `start`, is not asked of it, and is called
/// at most `most_tries` times; what it throws is thrown on.
Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              std::int64_t most_tries = 4000);

}  // namespace leafproof::oracle
