// The faults that are planted, one enumerator each, and what kills them. No product target links
// this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/compare.h"

namespace leafproof::faults {

using oracle::Case;
using oracle::Op;

/// What is bent. Where an id stands for several ways to go wrong, each has its own: the part of the
/// name after the id.
enum class Fault {
  None,
  // Lattice arithmetic.
  FloorAsTrunc,
  ModSigned,
  EvenPhaseUp,
  EvenPhaseZero,
  CoarseByFloor,
  KEqualsS,
  K1Identity,
  K1Coarsening,
  TapsMirrored,
  TapsAxesSwapped,
  StrideFirstOnly,
  StridePermuted,
  DilationDropped,
  DilationPhase,
  FactorPow2,
  FactorFirstOnly,
  RangeWraps,
  NeighbourWraps,
  RegionKind,
  TapLastDropped,
  TapCentreDropped,
  // Keys, tables, counts.
  LinearKey32,
  MemberNotInKey,
  DuplicatesKept,
  InputAssumedSorted,
  PairTwice,
  PairLost,
  CountNarrowed,
  CapacityMinusOne,
  TailBlock,
  // Tree and layout.
  TilesUnsigned,
  TileKeyBiased,
  NeighbourCorner,
  NeighbourTile,
  LastWriterWins,
  PhantomLeaf,
  PhantomLower,
  OffsetFromZero,
  OffsetRunsOn,
  PrefixSumLate,
  PrefixSumOverflows,
  MaskBitOrder,
  NodeBaseLeaf,
  NodeBaseLower,
  BoxOfNodes,
  BoxOffByOne,
  BoxFromZero,
  BoxOfEmpty,
  FlagOfEmpty,
  StaleBytes,
  ValueTiles,
  // Batches.
  HeaderMap,
  HeaderIndex,
  HeaderCount,
  HeaderName,
  EmptyShifts,
  OffsetSearch,
  BaseOfNeighbour,
  ViewPhysical,
  LastEmptyLost,
  MembersInterleaved,
  LengthsTotalOnly,
  ScratchReused,
  MaskOfWrongRow,
  // Kernel maps and convolution.
  IdentityByCount,
  HalfMap,
  CacheWithoutSize,
  CacheWithoutStride,
  CacheWithoutDilation,
  CacheWithoutDirection,
  CacheWithoutIdentity,
  TransposeColumns,
  TransposeRederived,
  WeightsTransposed,
  TargetIgnored,
  NanTimesZero,
  NarrowAccumulator,
  NanPassesActual,
  NanPassesExpected,
  MinusOneAsZero,
  BiasPerTap,
  BiasOnlyWhereJoined,
  ChunkSeamTwice,
  ChunkSeamLost,
  AliasedInput,
  DenseWeightsLayout,
  // Execution.
  EmptyLaunch,
  DefaultStream,
  HiddenSync,
  Race,
  HostReadsDevice,
  AllocLeaks,
  AllocHalfBuilt,
};

/// How a fault was found out: a sentence, and the verdict where one was given.
struct Kill {
  std::string by;      // "[K-3] a missing voxel", "two synchronisations expected, 4 made"
  std::string clause;  // "K-3"
  std::optional<oracle::Verdict> verdict;
};

/// Asks one question of something in which `fault` is planted (None: of a healthy one); a Kill
/// where that shows. Safe from several threads at once.
using Mechanism = std::optional<Kill> (*)(const Case& question, Fault fault);

/// One planted fault.
struct Planted {
  std::string_view id;       // as the list of faults has it
  std::string_view variant;  // which of its ways; may be empty
  Fault fault;
  std::string_view broken;     // what is wrong, in one line
  std::string_view mechanism;  // the name of what kills it
  Mechanism ask;
  std::vector<Op> ops;       // operations whose generated cases are asked, in turn
  std::string name() const;  // "cache-key/stride"
};

/// All of them, in the order of the list.
const std::vector<Planted>& planted();

}  // namespace leafproof::faults
