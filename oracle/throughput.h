// How many cases a second the harness judges, and what of it takes the time: over a fixed mix of
// families and operations, so that two machines and two versions measure the same work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// OneTile: one member within one root tile, in source and result; the least bytes that a grid
/// which is not empty can have. EightTiles: three members, each around the corner where eight root
/// tiles meet; 7 MB of grids. Every pass of [T], plain parameters, some 60 voxels a member.
enum class Mix { OneTile, EightTiles };
std::string_view to_string(Mix mix);

Case mix_case(Mix mix, std::uint64_t number);

/// What some threads made of a mix; seconds of each thread's wall clock, added up.
struct Throughput {
  Mix mix{};
  std::int64_t cases = 0;
  double made = 0, reference = 0, backend = 0, judged = 0;
  double total() const { return made + reference + backend + judged; }
};

/// Makes, asks and judges cases of a mix on so many threads for so many seconds; all must come out
/// equal, else Error(Corrupt) names the case.
Throughput measure_throughput(Mix mix, const Backend& reference, const Backend& backend,
                              double seconds, int threads);

std::string text_throughput(const std::vector<Throughput>& measured, std::string_view backend);

}  // namespace leafproof::oracle
