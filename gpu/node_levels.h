// The two levels of inner nodes, so that what is done to both is written once.
#pragma once

#include "gpu/node_key.h"
#include "gpu/rules.h"
#include "gpu/source_view.h"

namespace leafproof::gpu {

template <class Node>
struct LevelOf;

template <>
struct LevelOf<LowerNode> {
  static constexpr int kWords = kLowerWords, kLog = kLowerLog, kChildLog = kLeafLog;
  LEAFPROOF_HD static SourceView::Place place(const SourceView& view, std::int64_t i) {
    return view.lower_place(i);
  }
  LEAFPROOF_HD static const LowerNode* nodes(const SourceMember& m) { return m.lowers; }
  LEAFPROOF_HD static const std::int64_t* first(const SourceView& view) { return view.first_lower; }
  LEAFPROOF_HD static const LeafNode* children(const SourceMember& m) { return m.leaves; }
  LEAFPROOF_HD static const std::int64_t* first_child(const SourceView& view) {
    return view.first_leaf;
  }
  LEAFPROOF_HD static Coord child_at(const Coord& node, int slot) { return leaf_at(node, slot); }
  LEAFPROOF_HD static Box voxels_of_child(const LeafNode& leaf) { return voxels_of(leaf); }
};

template <>
struct LevelOf<UpperNode> {
  static constexpr int kWords = kUpperWords, kLog = kUpperLog, kChildLog = kLowerLog;
  LEAFPROOF_HD static SourceView::Place place(const SourceView& view, std::int64_t i) {
    return view.upper_place(i);
  }
  LEAFPROOF_HD static const UpperNode* nodes(const SourceMember& m) { return m.uppers; }
  LEAFPROOF_HD static const std::int64_t* first(const SourceView& view) { return view.first_upper; }
  LEAFPROOF_HD static const LowerNode* children(const SourceMember& m) { return m.lowers; }
  LEAFPROOF_HD static const std::int64_t* first_child(const SourceView& view) {
    return view.first_lower;
  }
  LEAFPROOF_HD static Coord child_at(const Coord& node, int slot) { return lower_at(node, slot); }
  LEAFPROOF_HD static Box voxels_of_child(const LowerNode& lower) { return voxels_of(lower.mBBox); }
};

/// Node i of a level of a view.
template <class Node>
LEAFPROOF_HD const Node& node_of(const SourceView& view, const SourceView::Place& place) {
  return LevelOf<Node>::nodes(view.members[place.member])[place.node];
}

}  // namespace leafproof::gpu
