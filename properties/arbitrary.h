// Random batches, factors and boxes that RapidCheck can shrink, and how they are shown. Coordinates
// gather at the boundaries of leaves, lower nodes and root tiles, in every octant, since that is
// where a tree can be wrong.
#pragma once

#include <rapidcheck.h>

#include <ostream>

#include "oracle/case.h"

namespace leafproof::properties {

using namespace oracle;

/// No voxel of a batch is further from 0 on an axis; so no law leaves the lattice [L-5].
inline constexpr std::int32_t reach = 1 << 26;

/// Lists of 0 ... 3 members, some empty, in any order and with repeats.
rc::Gen<std::vector<std::vector<Voxel>>> lists();

/// A batch in canonical order, each member with a map and a name of its own.
rc::Gen<Batch> batches();

/// Two batches of equal B that overlap in part.
rc::Gen<std::pair<Batch, Batch>> pairs();

rc::Gen<Triple> factors();       // 1 ... 6 on each axis, seldom equal
rc::Gen<Triple> translations();  // up to +-5000 on each axis

/// A box lo <= hi of at most 4 on each axis, anywhere; or around 0, as erosion asks [T-5].
struct Box {
  Triple lo, hi;
};
rc::Gen<Box> boxes();
rc::Gen<Box> boxes_around_zero();
void showValue(const Box& box, std::ostream& out);

/// One flag per voxel of a batch.
rc::Gen<Masks> masks(const Batch& batch);

}  // namespace leafproof::properties

namespace leafproof::reference {
void showValue(const Voxel& voxel, std::ostream& out);
void showValue(const Batch& batch, std::ostream& out);
}  // namespace leafproof::reference
