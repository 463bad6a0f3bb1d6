// What a build cost, counted where it passes through the executor: the same figures on every
// machine and for every executor, since one algorithm asks for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leafproof::gpu {

/// One launch: the functor's name, and how many items the host knew it could have at most.
struct LaunchRecord {
  std::string functor;
  std::int64_t items = 0;
};

struct Costs {
  std::int64_t launches = 0;          // index launches, scans, sorts and reductions
  std::int64_t fills = 0;             // memory set to zero; a result that comes as zeros needs none
  std::int64_t uploads = 0;           // copies from the host
  std::int64_t synchronisations = 0;  // read-backs
  std::int64_t results = 0;           // allocations of results
  std::int64_t scratch_requests = 0;  // blocks asked of the workspace, which seldom allocates
  std::size_t scratch_bytes = 0;      // handed out in all; nothing is given back within a build
  std::size_t result_bytes = 0;
  std::size_t uploaded = 0, read_back = 0, zeroed = 0;  // bytes
  std::vector<LaunchRecord> trace;  // in order; filled when BuildSettings::trace asks for it
};

}  // namespace leafproof::gpu
