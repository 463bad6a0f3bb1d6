// What the host knows before a pass runs: the result's maps and names, the box of target voxels
// that each member can have, and from these how much discovery can find. All from metadata, no
// device work; O(B).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/arithmetic.h"
#include "gpu/discover.h"
#include "gpu/grid_batch.h"

namespace leafproof::gpu {

/// The most target nodes that one source node can reach, per level (a product over the axes).
struct NodeReach {
  std::int64_t tiles = 1, lowers = 1, leaves = 1;
};

struct PassPlan {
  std::string operation;
  std::vector<Box> images;  // of voxels, per member; empty() for none
  std::vector<MemberMap> maps;
  std::vector<std::string> names;
  Bounds bounds;
  LeafCodec codec;  // engine sort
  Coord cut;        // how much further a dilation goes than its relation, which is cut to what 64
                    // bits can add up: for the name of the result alone [E-3]

  std::int64_t size() const { return static_cast<std::int64_t>(maps.size()); }
};

/// A sum or product that stays at the greatest number instead of wrapping; terms are not negative.
std::int64_t saturating_add(std::int64_t p, std::int64_t q);
std::int64_t saturating_mul(std::int64_t p, std::int64_t q);

/// Number of cells of a box, shifted down first; saturating.
std::int64_t cells(const Box& box, int shift);

/// The box of a member's voxels; empty() for none.
Box box_of(const MemberInfo& info);

/// Adds what the nodes of one member of the source can reach within its image.
void add_bounds(Bounds& bounds, const MemberInfo& source, const NodeReach& reach, const Box& image);

/// Keys for leaves within the images of all members.
LeafCodec codec_for(const std::vector<Box>& images);

/// Bytes of scratch that discovery takes within these bounds.
std::int64_t scratch_of(const Bounds& bounds, Engine engine);

}  // namespace leafproof::gpu
