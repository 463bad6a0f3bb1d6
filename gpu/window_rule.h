// A relation on a CPU (rules.h) where the source window of a target leaf is small and strides are
// at most 2: the window is laid out as lines of bits along z, and a whole slice of lines goes
// through each step at once, in vector registers. The same masks as RelationRule's, which needs no
// window and goes from source leaf to source leaf.
#pragma once

#include <cstdint>
#include <cstring>

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
    const Coord home = low >> kLeafLog;
    const int begin_x = static_cast<int>(low.x & 7), begin_y = static_cast<int>(low.y & 7);
    const int begin_z = static_cast<int>(low.z & 7);
    std::uint8_t there[4][kSlices * kLines];
    lay_out(finder, home, begin_x, begin_y, begin_z, there);
    std::uint64_t slices[kSlices];
    const bool many = begin_z + window[2].across > 16;
    for (int x = begin_x; x < begin_x + window[0].across; ++x) {
      std::uint8_t lines[kLines + 8];
      const std::uint8_t* plane[4] = {there[0] + x * kLines, there[1] + x * kLines,
                                      there[2] + x * kLines, there[3] + x * kLines};
      many ? along_z<true>(plane, begin_z, lines) : along_z<false>(plane, begin_z, lines);
      slices[x] = along_y(lines, begin_y);
    }
    return along_x(slices + begin_x);
  }

 private:
  static constexpr int kLines = 32, kSlices = 32;

  /// Lines of 8 bits by leaves along z, slices, and y: of stride 2, those of even y first.
  template <class Finder>
  LEAFPROOF_HD void lay_out(Finder& finder, const Coord& home, int begin_x, int begin_y,
                            int begin_z, std::uint8_t (&there)[4][kSlices * kLines]) const {
    const int end_x = begin_x + window[0].across, end_y = begin_y + window[1].across;
    const int end_z = begin_z + window[2].across;
    for (int z = 0; z < (end_z > 16 ? 4 : 2); ++z) {
      std::memset(there[z] + begin_x * kLines, 0,
                  static_cast<std::size_t>(window[0].across * kLines));
    }
    for (int x = 0; 8 * x < end_x; ++x) {
      const int first = 8 * x < begin_x ? begin_x : 8 * x;
      const int last = 8 * x + 8 < end_x ? 8 * x + 8 : end_x;
      for (int y = 0; 8 * y < end_y; ++y) {
        for (int z = 0; 8 * z < end_z; ++z) {
          const std::uint64_t* words = finder.words({home.x + x, home.y + y, home.z + z});
          if (words == nullptr) continue;
          for (int i = first; i < last; ++i) {
            std::uint8_t* to = there[z] + i * kLines;
            const std::uint64_t word = words[i & 7];
            if (window[1].stride == 1) {
              std::memcpy(to + 8 * y, &word, 8);
            } else {
              const std::uint32_t halves[2] = {even_bytes(word), even_bytes(word >> 8)};
              std::memcpy(to + 4 * y, halves, 4);
              std::memcpy(to + kLines / 2 + 4 * y, halves + 1, 4);
            }
          }
        }
      }
    }
  }

  LEAFPROOF_HD static std::uint32_t even_bytes(std::uint64_t word) {
    word &= 0x00FF00FF00FF00FFu;
    word = (word | word >> 8) & 0x0000FFFF0000FFFFu;
    return static_cast<std::uint32_t>(word | word >> 16);
  }

  /// The target positions along z that each line meets.
  template <bool kMany>
  LEAFPROOF_HD void along_z(const std::uint8_t* const (&plane)[4], int begin,
                            std::uint8_t (&lines)[kLines + 8]) const {
    const Window& w = window[2];
    std::uint32_t line[kLines], met[kLines] = {};
    for (int y = 0; y < kLines; ++y) {
      std::uint32_t bits = static_cast<std::uint32_t>(plane[0][y] | plane[1][y] << 8);
      if constexpr (kMany) {
        bits |= static_cast<std::uint32_t>(plane[2][y]) << 16 |
                static_cast<std::uint32_t>(plane[3][y]) << 24;
      }
      line[y] = bits >> begin;
    }
    if (w.factor == 1) {
      for (int i = 0; i < w.count; ++i) {
        const int at = w.at[i];
        for (int y = 0; y < kLines; ++y) met[y] |= line[y] >> at;
      }
      if (w.stride == 2) {
        for (int y = 0; y < kLines; ++y) {
          std::uint32_t bits = met[y] & 0x5555;
          bits = (bits | bits >> 1) & 0x3333;
          bits = (bits | bits >> 2) & 0x0F0F;
          met[y] = bits | bits >> 4;
        }
      }
    } else {
      for (int i = 0; i < w.count; ++i) {
        const int at = w.at[i], odd = w.odd[i];
        for (int y = 0; y < kLines; ++y) {
          std::uint32_t bits = line[y] >> at & 0xF;
          bits = (bits | bits << 2) & 0x33;
          met[y] |= ((bits | bits << 1) & 0x55) << odd;
        }
      }
    }
    for (int y = 0; y < kLines; ++y) lines[y] = static_cast<std::uint8_t>(met[y]);
    std::memset(lines + kLines, 0, 8);  // read with the last lines, and not used
  }

  /// A slice of the target leaf, as far as a slice of the window decides it.
  LEAFPROOF_HD std::uint64_t along_y(const std::uint8_t (&lines)[kLines + 8], int begin) const {
    const Window& w = window[1];
    std::uint64_t slice = 0;
    for (int i = 0; i < w.count; ++i) {
      const int at = begin + w.at[i];
      std::uint64_t bytes;
      std::memcpy(&bytes, lines + (w.stride == 1 ? at : (at & 1) * (kLines / 2) + (at >> 1)), 8);
      if (w.factor == 2) {  // four lines, drawn apart
        bytes &= 0xFFFFFFFF;
        bytes = (bytes | bytes << 16) & 0x0000FFFF0000FFFFu;
        bytes = ((bytes | bytes << 8) & 0x00FF00FF00FF00FFu) << (8 * w.odd[i]);
      }
      slice |= bytes;
    }
    return slice;
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
