// Reads any NanoVDB ValueOnIndex buffer into a Layout, trusting nothing: every offset, count, size,
// chain and cycle is checked before it is followed [E-2]. The byte offsets of the format are this
// side's own (oracle/nanovdb_format.h), so that the builder's header use is checked too.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// What a finding is about, and so which judgement it decides [G-9].
enum class Concern {
  Tree,    // the buffer says two things about where its voxels are: no profile passes
  Layout,  // a field of [G-4] [G-5] [G-6] that a Layout does not hold: `layout` and above
  Map,     // [G-7]: `bytes`, and operations about maps
};

/// What is odd in a buffer that could nevertheless be followed: the clause, where, and expected /
/// actual as text.
struct Finding {
  Concern concern = Concern::Layout;
  std::string clause;  // "G-4"
  std::string what;    // "value of slot 17"
  std::string expected, actual;
  std::int64_t member = -1;
  std::string path;                  // "tile (-1,0,0) > upper 0 > lower 2 > leaf 3"
  std::optional<Voxel> coordinate;   // where it applies
  std::optional<ErrorKind> refusal;  // read_layout() refuses it, with this kind [G-7]
};

/// A buffer as read: its layout as it stands, and what was odd. Of each concern only the first few
/// findings of a member are kept; `counts` counts them all, by concern.
struct Examination {
  Layout layout;
  std::vector<Finding> findings;  // in member order
  std::array<std::int64_t, 3> counts{};
  std::optional<reference::Error> stopped;  // why no further member was read
};

/// Reads every member. Throws Error(Corrupt) at the first thing that cannot be followed (a pointer
/// out of the buffer or between two nodes, a count that does not fit, a wrong magic, version or
/// type, levels that overlap), Error(Unsupported) at a value tile, Error(OutOfMemory), and nothing
/// else; its `reason` is what would have been right, its `value` what stands there. The place of a
/// node is where the tree has it; a root tile is where two of its key, its upper node's box and its
/// first leaf's box say. O(bytes touched).
Examination examine(const GridBuffer& buffer);

/// The same, but what examine() throws becomes `stopped`: the members before it are kept. When the
/// offsets themselves contradict each other there are none.
Examination examine_while_sound(const GridBuffer& buffer);

/// The same for input: refuses in addition (Unsupported) rotation, shear and taper, and
/// (InvalidArgument) a map that is not finite and positive [G-7]; a tree that contradicts itself is
/// Corrupt. Other oddities that can be followed (a wrong flag, a wrong count, a box of nodes) are
/// read as they stand: `compare` judges them. O(bytes touched).
Layout read_layout(const GridBuffer& buffer);

/// The same for bytes whose grids simply follow one another (a raw buffer): finds the offsets by
/// the grid sizes. Throws Error(Corrupt) as above.
GridBuffer grids_in(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);

/// The voxels, maps and names of a layout: members in stored order.
Batch batch_of(const Layout& layout);

/// The canonical bytes of a layout [G-6], written from the clauses alone (never by the builder):
/// the expected side of a `bytes` judgement, and how a reference's answer becomes a file. Fields
/// that a Layout holds are written as they stand; places and sizes follow from the node counts.
/// Throws Error(CapacityExceeded) naming the size when it would exceed `budget_bytes` or a count
/// does not fit its field, Error(InvalidArgument) for a layout whose tables do not fit each other
/// or a name over 255 bytes, Error(OutOfMemory).
GridBuffer write_layout(const Layout& layout, std::uint64_t budget_bytes = std::uint64_t{1} << 35);

/// Whether a buffer is, byte for byte, what write_layout() writes of a layout; it is not written,
/// and nothing in the buffer is believed. Throws as write_layout() does, but for the budget.
bool has_bytes_of(const GridBuffer& buffer, const Layout& layout);

/// NanoVDB's map fields (264 bytes from mMatF to mTaperD, then the 24 of mVoxelSize) of a map
/// [G-7].
struct MapBytes {
  std::array<std::byte, 264> map{};
  std::array<std::byte, 24> voxel_size{};
};
MapBytes map_bytes(const Map& map);

/// Who owns byte `at` of the canonical bytes of `layout`: the field's name, its node and member.
struct ByteOwner {
  std::string field;  // "mPrefixSum", "padding of RootData"
  std::string clause, path;
  std::int64_t member = -1;
  std::uint64_t field_at = 0, field_size = 0;  // where the field lies in the buffer
};
ByteOwner owner_of_byte(const Layout& layout, std::uint64_t at);

/// "tile (-1,0,0) > upper 0 > lower 2 > leaf 3": the chain down to node `index` of a level
/// (0 leaf, 1 lower, 2 upper) of a grid; as far as there is one.
std::string node_path(const reference::Grid& grid, int level, std::uint64_t index);

/// The voxel at offset n (0 ... 511) of a leaf [G-2].
Voxel voxel_of(const reference::Leaf& leaf, std::uint32_t n);

/// "(1,-2,3)".
std::string to_text(const Voxel& voxel);

}  // namespace leafproof::oracle
