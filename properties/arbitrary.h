// Random batches, factors and boxes that RapidCheck can shrink, and how they are shown. Coordinates
// gather at the boundaries of leaves, lower nodes and root tiles, in every octant, since that is
// where a tree can be wrong.
#pragma once

#include <rapidcheck.h>

#include <array>
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

/// Orders of the axes other than x y z: the new axis a is the old axis order[a].
using Order = std::array<std::size_t, 3>;
rc::Gen<Order> orders();

/// One flag per voxel of a batch.
rc::Gen<Masks> masks(const Batch& batch);

/// Members of a batch of so many: up to 5, in any order, with repeats.
rc::Gen<std::vector<std::int64_t>> selections(std::size_t batch_size);

/// K 1 ... 6, S 1 ... 5, D 1 ... 3, mixed per axis.
rc::Gen<Kernel> kernels();
rc::Gen<Direction> directions();

/// A batch of as many members as `source`, about where a convolution of it has its results, with
/// some that it has not: a restricted target [K-6].
rc::Gen<Batch> targets_near(const Batch& source, const Kernel& kernel, Direction direction);

/// A batch of blocks with gaps, so that most voxels are joined to many, and of members as above.
rc::Gen<Batch> dense_batches();

/// So many whole numbers of at most 9, which every type holds; shrink towards 0.
rc::Gen<std::vector<double>> small_numbers(std::size_t count);

}  // namespace leafproof::properties

namespace leafproof::reference {
void showValue(const Voxel& voxel, std::ostream& out);
void showValue(const Batch& batch, std::ostream& out);
void showValue(const Kernel& kernel, std::ostream& out);
void showValue(const Direction& direction, std::ostream& out);
}  // namespace leafproof::reference
