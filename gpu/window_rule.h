// A relation on a CPU (rules.h) where the source window of a target leaf is small and strides are
// at most 2: the window is laid out as lines of bits along z, and a whole slice of lines goes
// through each step at once, in vector registers. The same masks as RelationRule's, which needs no
// window and goes from source leaf to source leaf.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/line_words.h"
#include "gpu/rules.h"

namespace leafproof::gpu {

struct WindowRule : RelationRule {
  static constexpr bool kHeavyWork = true;
  static constexpr int kAcross = 25;  // with what stands before it in a leaf at most four leaves
  static constexpr int kMostOffsets = kAcross;

  /// On one axis, position j of a target leaf and offset i: of stride 1, they meet position
  /// j + at[i] of the window; of stride 2, 2 * j + at[i]; of factor 2, the target position
  /// 2 * j + odd[i] meets j + at[i], for j < 4.
  struct Window {
    int stride = 1, factor = 1, across = 0, count = 0;
    std::int64_t least = 0;  // the window begins at 8 * stride / factor * target leaf + this
    int at[kMostOffsets], odd[kMostOffsets];

    LEAFPROOF_HD std::int64_t first(std::int64_t target_leaf) const {
      return target_leaf * (8 * stride / factor) + least;
    }
  };
  Window window[3];

  /// Whether all axes are such; sets the windows.
  bool set_windows(const AxisRelation (&axes)[3]) {
    for (int axis = 0; axis < 3; ++axis) {
      const AxisRelation& a = axes[axis];
      Window& w = window[axis];
      if (a.count > kMostOffsets || a.stride > 2 || a.factor > 2) return false;
      if (a.stride > 1 && a.factor > 1) return false;
      w.stride = static_cast<int>(a.stride);
      w.factor = static_cast<int>(a.factor);
      w.count = static_cast<int>(a.count);
      w.least = a.factor == 1 ? -a.greatest() : ceil_div(-a.greatest(), 2);
      std::int64_t across = 0;
      for (int i = 0; i < w.count; ++i) {
        const std::int64_t d = a.first + i * a.step, odd = a.factor == 1 ? 0 : d & 1;
        const std::int64_t at = a.factor == 1 ? a.greatest() - d : (odd - d) / 2 - w.least;
        const std::int64_t end = at + (a.factor == 1 ? 7 * a.stride : 3) + 1;
        if (end > kAcross) return false;
        across = end > across ? end : across;
        w.at[i] = static_cast<int>(at);
        w.odd[i] = static_cast<int>(odd);
      }
      w.across = static_cast<int>(across);
    }
    return true;
  }

  template <class Finder>
  LEAFPROOF_HD LeafMask gather(Finder& finder, const Coord& leaf, std::int64_t) const {
    const Coord low{window[0].first(leaf.x), window[1].first(leaf.y), window[2].first(leaf.z)};
    const int begin_y = static_cast<int>(low.y & 7);
    std::uint64_t there[kLeaves + 1][kWords], met[kWords + 1];
    lay_out(finder, low, there);
    along_z(there, static_cast<int>(low.z & 7), met);
    met[window[0].across * kLeaves] = 0;  // read with the last lines, and not used
    std::uint64_t slices[kAcross];
    for (int x = 0; x < window[0].across; ++x) {
      slices[x] = along_y(reinterpret_cast<const std::uint8_t*>(met + x * kLeaves) + begin_y);
    }
    return along_x(slices);
  }

 private:
  static constexpr int kLeaves = 4;  // along an axis
  static constexpr int kWords = kAcross * kLeaves;

  /// The words of the window: by leaves along z (and one of zeros), slices, leaves along y.
  template <class Finder>
  LEAFPROOF_HD void lay_out(Finder& finder, const Coord& low,
                            std::uint64_t (&there)[kLeaves + 1][kWords]) const {
    const Coord home = low >> kLeafLog;
    const int begin_x = static_cast<int>(low.x & 7), end_x = begin_x + window[0].across;
    const int end_y = static_cast<int>(low.y & 7) + window[1].across;
    const int end_z = static_cast<int>(low.z & 7) + window[2].across;
    for (int z = 0; 8 * z < end_z + 8; ++z) {
      for (int i = 0; i < window[0].across * kLeaves; ++i) there[z][i] = 0;
    }
    for (int x = 0; 8 * x < end_x; ++x) {
      const int first = 8 * x < begin_x ? begin_x : 8 * x;
      const int last = 8 * x + 8 < end_x ? 8 * x + 8 : end_x;
      for (int y = 0; 8 * y < end_y; ++y) {
        for (int z = 0; 8 * z < end_z; ++z) {
          const std::uint64_t* words = finder.words({home.x + x, home.y + y, home.z + z});
          if (words == nullptr) continue;
          for (int i = first; i < last; ++i) there[z][(i - begin_x) * kLeaves + y] = words[i & 7];
        }
      }
    }
  }

  /// The target positions along z that each line meets.
  LEAFPROOF_HD void along_z(const std::uint64_t (&there)[kLeaves + 1][kWords], int begin,
                            std::uint64_t* met) const {
    const Window& w = window[2];
    const int words = window[0].across * kLeaves;
    std::uint64_t more[kWords];
    for (int i = 0; i < words; ++i) met[i] = more[i] = 0;
    for (int k = 0; k < w.count; ++k) {
      const EightBits<kWords> bits(there, begin + w.at[k]);
      if (w.factor == 2) {  // four bits, drawn apart
        const int odd = w.odd[k];
        for (int i = 0; i < words; ++i) {
          std::uint64_t x = bits(i) & 0x0F0F0F0F0F0F0F0Fu;
          x = (x | x << 2) & 0x3333333333333333u;
          met[i] |= ((x | x << 1) & 0x5555555555555555u) << odd;
        }
        continue;
      }
      for (int i = 0; i < words; ++i) met[i] |= bits(i);
      if (w.stride == 1) continue;
      const EightBits<kWords> next(there, begin + w.at[k] + 8);
      for (int i = 0; i < words; ++i) more[i] |= next(i);
    }
    if (w.stride == 1) return;
    for (int i = 0; i < words; ++i) met[i] = even_bits(met[i]) | even_bits(more[i]) << 4;
  }

  /// A slice of the target leaf, as far as a slice of the window decides it, whose lines these are.
  LEAFPROOF_HD std::uint64_t along_y(const std::uint8_t* lines) const {
    const Window& w = window[1];
    const auto eight = [lines](int at) {
      std::uint64_t bytes;
      std::memcpy(&bytes, lines + at, sizeof bytes);
      return bytes;
    };
    std::uint64_t slice = 0, more = 0;
    for (int k = 0; k < w.count; ++k) {
      std::uint64_t bytes = eight(w.at[k]);
      if (w.factor == 2) {  // four lines, drawn apart
        bytes &= 0xFFFFFFFF;
        bytes = (bytes | bytes << 16) & 0x0000FFFF0000FFFFu;
        bytes = ((bytes | bytes << 8) & 0x00FF00FF00FF00FFu) << (8 * w.odd[k]);
      } else if (w.stride == 2) {
        more |= eight(w.at[k] + 8);
      }
      slice |= bytes;
    }
    return w.stride == 1 ? slice : even_bytes(slice) | even_bytes(more) << 32;
  }

  LEAFPROOF_HD LeafMask along_x(const std::uint64_t* slices) const {
    const Window& w = window[0];
    LeafMask mask = empty_mask();
    for (int i = 0; i < w.count; ++i) {
      for (int x = 0; x < 8 / w.factor; ++x) {
        mask.word[w.factor * x + w.odd[i]] |= slices[w.stride * x + w.at[i]];
      }
    }
    return mask;
  }
};

}  // namespace leafproof::gpu
