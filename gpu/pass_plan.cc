#include "gpu/pass_plan.h"

#include <algorithm>
#include <bit>

namespace leafproof::gpu {
namespace {

/// Bits that hold 0 ... n-1.
int bits_for(std::int64_t n) {
  return n <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(n - 1));
}

}  // namespace

std::int64_t saturating_add(std::int64_t p, std::int64_t q) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(p, q, &sum) ? INT64_MAX : sum;
}

std::int64_t saturating_mul(std::int64_t p, std::int64_t q) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(p, q, &product) ? INT64_MAX : product;
}

std::int64_t cells(const Box& box, int shift) {
  if (box.empty()) return 0;
  const Box c = box >> shift;
  return saturating_mul(saturating_mul(c.max.x - c.min.x + 1, c.max.y - c.min.y + 1),
                        c.max.z - c.min.z + 1);
}

Box box_of(const MemberInfo& info) {
  if (!info.box) return nothing();
  const auto& [min, max] = *info.box;
  return {{min[0], min[1], min[2]}, {max[0], max[1], max[2]}};
}

void add_bounds(Bounds& bounds, const MemberInfo& source, const NodeReach& reach,
                const Box& image) {
  const auto at_most = [&image](std::int64_t nodes, std::int64_t each, int shift) {
    return saturating_mul(nodes, std::min(each, cells(image, shift)));
  };
  const std::int64_t tile_keys = at_most(source.uppers, reach.tiles, kUpperLog);
  bounds.tile_keys = saturating_add(bounds.tile_keys, tile_keys);
  bounds.tiles = saturating_add(bounds.tiles, std::min(tile_keys, cells(image, kUpperLog)));
  bounds.lowers = saturating_add(
      bounds.lowers,
      std::min(at_most(source.lowers, reach.lowers, kLowerLog), cells(image, kLowerLog)));
  bounds.leaf_keys =
      saturating_add(bounds.leaf_keys, at_most(source.leaves, reach.leaves, kLeafLog));
}

LeafCodec codec_for(const std::vector<Box>& images) {
  Box all = nothing();
  for (const Box& image : images) {
    if (!image.empty()) all = united(all, image >> kUpperLog);
  }
  LeafCodec codec;
  codec.member_bits = bits_for(static_cast<std::int64_t>(images.size()));
  if (all.empty()) return codec;
  codec.base = all.min;
  codec.y_bits = bits_for(all.max.y - all.min.y + 1);
  codec.z_bits = bits_for(all.max.z - all.min.z + 1);
  codec.tile_bits = bits_for(all.max.x - all.min.x + 1) + codec.y_bits + codec.z_bits;
  return codec;
}

std::int64_t scratch_of(const Bounds& bounds, Engine engine) {
  constexpr std::int64_t kTile = 512 * 8 + 512 * 2 + 3 * 8;
  constexpr std::int64_t kLower = 64 * 8 + 64 * 2 + 4 * 8;
  constexpr std::int64_t kLeafKey = 2 * 8 + 3 * 8;
  std::int64_t bytes = saturating_mul(bounds.tiles, kTile);
  bytes = saturating_add(bytes, saturating_mul(bounds.lowers, kLower));
  bytes = saturating_add(bytes, saturating_mul(bounds.tile_keys, sizeof(TileKey)));
  if (engine == Engine::Sort) {
    bytes = saturating_add(bytes, saturating_mul(bounds.leaf_keys, kLeafKey));
  }
  return bytes;
}

}  // namespace leafproof::gpu
