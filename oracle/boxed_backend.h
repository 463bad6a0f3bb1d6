// A backend whose work grows with the volume of a box, asked only where the boxes are small: how
// `verify` keeps brute_force within the time of its level.
#pragma once

#include <cstdint>
#include <memory>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// `inner`, but NotImplemented where the boxes of the source's and the result's members have more
/// than `cells` cells together. Name and description are the inner ones.
std::unique_ptr<Backend> make_boxed(std::unique_ptr<Backend> inner, std::int64_t cells);

/// The cells of those boxes, rounded as doubles are; of a convolution's result each counts as often
/// as there are taps to ask for. O(voxels).
double box_cells(const Case& question);

}  // namespace leafproof::oracle
