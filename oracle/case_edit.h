// Edits of a case that keep it one: with a voxel goes its flag, its row of features and of
// gradients; with a member its map, name and all that belongs to it; with a tap its weights. Where
// such a part does not fit (a case that must be refused for it) it is left as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "oracle/case.h"

namespace leafproof::oracle {

enum class Side { Source, Other, Target };

/// The batch of a side, or nullptr.
const Batch* batch_on(const Case& c, Side side);

/// Voxels of all members of a side (of source.members, not of the view), counted through.
std::size_t voxels_on(const Case& c, Side side);
void drop_voxels(Case& c, Side side, std::size_t begin, std::size_t count);

/// The last voxels of a member of the source and as many flags of another's mask, as if they did
/// not belong together: for a case that is wrong in that they do not. No more than both have.
void drop_voxels_and_flags(Case& c, std::size_t member, std::size_t mask, std::size_t count);

/// Every voxel becomes another, and each member is put in canonical order again (but for the lists
/// of from_ijk); of voxels that become one, the first keeps its row.
void map_voxels(Case& c, Side side, const std::function<Voxel(const Voxel&)>& map);

/// Members as they are read: of the view where there is one [T-9].
std::size_t positions(const Case& c);
void drop_positions(Case& c, std::size_t begin, std::size_t count);

/// A member of the source goes, where the view does not read it.
void drop_unread_member(Case& c, std::size_t member);

/// The view's members as a source of their own, where its indices are good.
void resolve_view(Case& c);

std::size_t points_in(const Case& c);
void drop_points(Case& c, std::size_t begin, std::size_t count);

/// K of an axis becomes `size`, which is 1 ... K; the weights of the first taps stay, or of the
/// last.
void cut_kernel(Case& c, std::size_t axis, std::int64_t size, bool keep_first);

/// Two axes change places, in voxels, points, maps, parameters and weights.
void exchange_axes(Case& c, std::size_t a, std::size_t b);

/// The rows of the complete target [K-6] of the members that are read; none where there is no such
/// target. Cost: that of making it.
std::optional<std::int64_t> complete_rows(const Case& c);

/// After an edit of a case in which the gradient of a complete target had its rows: it has them
/// again, the first ones as they were.
void fit_gradient(Case& c);
/// Whether there is one, and it has them.
bool has_fitting_gradient(const Case& c);

/// One channel in (Cin) or out (Cout) less, where there is more than one.
void drop_channel(Case& c, bool in, std::int64_t channel);

}  // namespace leafproof::oracle
