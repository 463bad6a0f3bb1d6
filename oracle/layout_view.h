// Reads any NanoVDB ValueOnIndex buffer into a Layout, trusting nothing: every offset, count, size,
// chain and cycle is checked before it is followed [E-2]. The byte offsets of the format are this
// side's own (oracle/nanovdb_format.h), so that the builder's header use is checked too.
#pragma once

#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// What is structurally wrong with a buffer; the clause, where, and expected / actual as text.
struct Finding {
  std::string clause;  // "G-4"
  std::string what;    // "mOffset of leaf 3"
  std::string expected, actual;
  std::int64_t member = -1;
  std::string path;  // "grid 1 > tile 0 (-1,0,0) > upper 0 > lower 2 > leaf 3"
};

/// Reads every member. Throws Error(Corrupt) at the first thing that cannot be followed (a pointer
/// out of the buffer, a count that does not fit, a wrong magic or type, a cycle), and
/// Error(Unsupported) for what is refused from outside: rotation, shear, taper, value tiles [G-7].
/// Oddities that can be followed (a wrong flag, a wrong count, a box of nodes) are read as they
/// stand: `compare` judges them. O(bytes touched).
Layout read_layout(const GridBuffer& buffer);

/// The same for bytes whose grids simply follow one another (a raw buffer): finds the offsets by the
/// grid sizes. Throws Error(Corrupt) as above.
GridBuffer grids_in(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);

/// The voxels, maps and names of a layout: members in stored order.
Batch batch_of(const Layout& layout);

/// The canonical bytes of a layout [G-6], written from the clauses alone (never by the builder):
/// the expected side of a `bytes` judgement, and how a reference's answer becomes a file.
/// Throws Error(CapacityExceeded) naming the size when it would exceed `budget_bytes`.
GridBuffer write_layout(const Layout& layout, std::uint64_t budget_bytes = std::uint64_t{1} << 35);

}  // namespace leafproof::oracle
