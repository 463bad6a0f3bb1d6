// Families of voxel sets, each made for a kind of fault: the members of generated cases.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "oracle/choice_source.h"
#include "reference/lattice.h"

namespace leafproof::oracle {

/// Where a shape is put, and how big it may be. A coordinate of the source that lands on a node
/// boundary `b` of the *result* is (b - shift) * numerator / denominator; half of the anchors do
/// so, the others put the source itself on a boundary.
struct Place {
  reference::Triple numerator{1, 1, 1}, denominator{1, 1, 1}, shift{0, 0, 0};
  bool ends = true;  // may lie at the ends of the lattice, where results can leave it [L-5]
  std::int64_t budget = 1000;  // voxels, at most
};

struct Shape {
  std::string_view name;
  std::string_view reason;  // the kind of fault that it shows
  bool needs_ends;          // lies at the ends of the lattice
  void (*make)(ChoiceSource&, const Place&, std::vector<reference::Voxel>&);
};

/// All families. Their number is coprime to 8 and 31, so that `number % size` meets every pattern
/// of emptiness and every refusal.
const std::vector<Shape>& shapes();

/// The family of that name, or nullptr.
const Shape* find_shape(std::string_view name);

/// One member of a family: in canonical order, at most `place.budget` voxels (a leaf: 512),
/// never empty.
std::vector<reference::Voxel> make_member(ChoiceSource& random, const Shape& shape,
                                          const Place& place);

/// A box just as large as [lo, hi] (whose volume fits the budget), grown by a voxel or with one
/// missing: what is left of it after an erosion is one voxel, a few, or none.
std::vector<reference::Voxel> make_erodible(ChoiceSource& random, const Place& place,
                                            reference::Triple lo, reference::Triple hi);

}  // namespace leafproof::oracle
