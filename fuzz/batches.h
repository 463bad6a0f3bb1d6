// Lists of voxels and choices of members from the bytes of an input, for targets that ask about
// batches. Any bytes are some batch; voxels gather around the boundaries of the tree.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "fuzz/target.h"
#include "reference/lattice.h"

namespace leafproof::fuzz {

inline std::int32_t coordinate(Bytes& input) {
  static constexpr std::array<std::int64_t, 12> anchors{
      0, 8, -8, 128, -128, 4096, -4096, 1 << 20, -(1 << 20), INT32_MAX - 8, INT32_MIN + 8, 64};
  const std::int64_t anchor = anchors[input.choice(anchors.size())];
  return static_cast<std::int32_t>(anchor + static_cast<std::int64_t>(input.choice(17)) - 8);
}

inline std::vector<std::vector<reference::Voxel>> lists(Bytes& input, std::size_t members) {
  std::vector<std::vector<reference::Voxel>> made(members);
  for (auto& list : made) {
    const std::size_t count = input.choice(24);
    const reference::Voxel at{coordinate(input), coordinate(input), coordinate(input)};
    for (std::size_t i = 0; i < count; ++i) {
      // Near the member's first voxel three times of four, so that leaves have company.
      if (input.choice(4) == 0) {
        list.push_back({coordinate(input), coordinate(input), coordinate(input)});
      } else {
        const auto near = [&](std::int32_t c) {
          const std::int64_t moved = c + static_cast<std::int64_t>(input.choice(25)) - 12;
          return static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, INT32_MIN, INT32_MAX));
        };
        list.push_back({near(at.x), near(at.y), near(at.z)});
      }
    }
  }
  return made;
}

}  // namespace leafproof::fuzz
