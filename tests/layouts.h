// For tests of the references: two layouts compared element by element, the first difference named;
// and short ways to write batches down.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reference/error.h"
#include "reference/layout.h"

namespace leafproof::tests {

using reference::Batch;
using reference::Grid;
using reference::Layout;
using reference::Map;
using reference::Voxel;

/// Members with unit maps and empty names.
inline Batch batch(std::vector<std::vector<Voxel>> members) {
  Batch b;
  b.maps.resize(members.size());
  b.names.resize(members.size());
  b.members = std::move(members);
  return b;
}

/// Fails at the first pair of numbers that differ, saying where.
class LayoutComparison {
 public:
  static testing::AssertionResult equal(const Layout& a, const Layout& b) {
    LayoutComparison c;
    c.layouts(a, b);
    if (c.first_.empty()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "first difference: " << c.first_;
  }

 private:
  template <class T>
  void same(const T& a, const T& b, const std::string& what) {
    if (first_.empty() && !(a == b))
      first_ = what + ": " + testing::PrintToString(a) + " and " + testing::PrintToString(b);
  }

  template <class T, class Compare>
  void each(const std::vector<T>& a, const std::vector<T>& b, const std::string& what,
            Compare compare) {
    same(a.size(), b.size(), "number of " + what);
    for (std::size_t i = 0; first_.empty() && i < a.size(); ++i)
      compare(a[i], b[i], what + " " + std::to_string(i) + " ");
  }

  void voxels(const Voxel& a, const Voxel& b, const std::string& what) {
    same(a.x, b.x, what + " x");
    same(a.y, b.y, what + " y");
    same(a.z, b.z, what + " z");
  }

  void boxes(const reference::Box& a, const reference::Box& b, const std::string& what) {
    voxels(a.min, b.min, what + "box min");
    voxels(a.max, b.max, what + "box max");
  }

  void nodes(const std::vector<reference::Node>& a, const std::vector<reference::Node>& b,
             const std::string& level) {
    each(a, b, level, [&](const auto& n, const auto& m, const std::string& at) {
      voxels(n.origin, m.origin, at + "origin");
      same(n.child_mask, m.child_mask, at + "child mask");
      same(n.children, m.children, at + "children");
      boxes(n.box, m.box, at);
      same(n.flags, m.flags, at + "flags");
    });
  }

  void grids(const Grid& a, const Grid& b, const std::string& at) {
    same(a.name, b.name, at + "name");
    same(a.map.voxel_size, b.map.voxel_size, at + "voxel size");
    same(a.map.origin, b.map.origin, at + "origin");
    same(a.index, b.index, at + "index");
    same(a.count, b.count, at + "count");
    same(a.flags, b.flags, at + "flags");
    same(a.voxel_count, b.voxel_count, at + "voxel count");
    same(a.box.has_value(), b.box.has_value(), at + "has a box");
    if (a.box && b.box) boxes(*a.box, *b.box, at);
    same(a.world_box, b.world_box, at + "world box");
    each(a.tiles, b.tiles, at + "tile", [&](const auto& t, const auto& u, const std::string& tile) {
      voxels(t.tile, u.tile, tile + "coordinates");
      same(t.key, u.key, tile + "key");
      same(t.child, u.child, tile + "child");
    });
    nodes(a.uppers, b.uppers, at + "upper");
    nodes(a.lowers, b.lowers, at + "lower");
    each(a.leaves, b.leaves, at + "leaf",
         [&](const auto& l, const auto& k, const std::string& leaf) {
           voxels(l.origin, k.origin, leaf + "origin");
           same(l.mask, k.mask, leaf + "mask");
           same(l.offset, k.offset, leaf + "mOffset");
           same(l.prefix_sum, k.prefix_sum, leaf + "mPrefixSum");
           boxes(l.box, k.box, leaf);
           same(l.flags, k.flags, leaf + "flags");
         });
    same(a.byte_size, b.byte_size, at + "byte size");
  }

  void layouts(const Layout& a, const Layout& b) {
    each(a.grids, b.grids, "grid",
         [&](const Grid& g, const Grid& h, const std::string& at) { grids(g, h, at); });
    same(a.byte_offsets, b.byte_offsets, "byte offsets");
    same(a.voxel_offsets, b.voxel_offsets, "voxel offsets");
    same(a.leaf_offsets, b.leaf_offsets, "leaf offsets");
  }

  std::string first_;
};

/// Runs `call`, which must refuse with an Error of `kind`; returns its detail.
template <class Call>
reference::ErrorDetail refusal(reference::ErrorKind kind, Call call) {
  try {
    call();
  } catch (const reference::Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return error.detail();
  }
  ADD_FAILURE() << "no refusal where " << to_string(kind) << " was expected";
  return {};
}

}  // namespace leafproof::tests

namespace leafproof::reference {

inline void PrintTo(const Voxel& v, std::ostream* out) {
  *out << '(' << v.x << ", " << v.y << ", " << v.z << ')';
}

}  // namespace leafproof::reference
