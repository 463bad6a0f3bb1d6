// The table: which line is bent, what kills it, and on which operations.
#include <fmt/format.h>

#include "tests/faults/mechanisms.h"

namespace leafproof::faults {
namespace {

using F = Fault;
using Ops = std::vector<Op>;

const Ops kGrids{Op::ConvGrid, Op::ConvTransposeGrid};
const Ops kMaps{Op::KernelMap, Op::ConvGrid, Op::ConvTransposeGrid};
const Ops kFactors{Op::Coarsen, Op::Refine};
const Ops kPasses{Op::FromIjk, Op::DilateBox, Op::Coarsen, Op::Refine, Op::Merge};
const Ops kViews{Op::DilateBox, Op::Coarsen, Op::Prune, Op::KernelMap};
const Ops kSums{Op::Convolution, Op::ConvolutionGradients};

/// A fault that the reference's answers kill.
Planted differs(const char* id, const char* variant, F fault, const Ops& ops, const char* broken) {
  return {id, variant, fault, broken, "answers", by_answers, ops};
}
/// A fault that another mechanism kills.
Planted other(const char* id, const char* variant, F fault, const Ops& ops, const char* mechanism,
              Mechanism ask, const char* broken) {
  return {id, variant, fault, broken, mechanism, ask, ops};
}

}  // namespace

std::string Planted::name() const {
  return variant.empty() ? std::string(id) : fmt::format("{}/{}", id, variant);
}

const std::vector<Planted>& planted() {
  static const std::vector<Planted> all{
      // Lattice arithmetic.
      differs("floor-as-trunc", "", F::FloorAsTrunc, {Op::Coarsen, Op::ConvGrid},
              "a quotient is rounded toward zero"),
      differs("mod-signed", "", F::ModSigned, kMaps, "a remainder has the sign of the number"),
      differs("even-phase-up", "", F::EvenPhaseUp, kMaps, "P is D*K/2 for even K"),
      differs("even-phase-zero", "", F::EvenPhaseZero, kMaps, "P is 0 for even K"),
      differs("coarse-by-floor", "", F::CoarseByFloor, {Op::ConvGrid, Op::KernelMap},
              "the coarse set is floor(fine/S)"),
      differs("k-equals-s", "", F::KEqualsS, {Op::ConvGrid, Op::KernelMap},
              "K=S at D=1 is taken for coarsening"),
      differs("k1-strided", "identity", F::K1Identity, kGrids,
              "K=1 is the identity, whatever S is"),
      differs("k1-strided", "coarsening", F::K1Coarsening, {Op::ConvGrid},
              "K=1 is coarsening by S"),
      differs("taps-mirrored", "", F::TapsMirrored, {Op::KernelMap, Op::Convolution},
              "tap t is stored as K-1-t"),
      differs("taps-axes-swapped", "", F::TapsAxesSwapped, {Op::KernelMap, Op::Convolution},
              "taps are numbered with x fastest"),
      differs("stride-one-axis", "first", F::StrideFirstOnly, kMaps, "S[0] is every axis's stride"),
      differs("stride-one-axis", "permuted", F::StridePermuted, kMaps, "S is read as (z,y,x)"),
      differs("dilation-dropped", "", F::DilationDropped, kMaps, "D is accepted and ignored"),
      differs("dilation-phase", "", F::DilationPhase, kMaps, "P is D*floor((K-1)/2)"),
      differs("factor-pow2", "shift", F::FactorPow2, kFactors, "a factor is a shift"),
      differs("factor-pow2", "isotropic", F::FactorFirstOnly, kFactors,
              "f[0] is every axis's factor"),
      differs("range-wraps", "result", F::RangeWraps,
              {Op::Dual, Op::Refine, Op::DilateBox, Op::ConvTransposeGrid},
              "a result beyond 32 bits wraps"),
      differs("range-wraps", "neighbour", F::NeighbourWraps,
              {Op::ErodeBox, Op::SubmanifoldIndexMap, Op::KernelMap, Op::Convolution,
               Op::ConvolutionGradients},
              "a neighbour beyond 32 bits is looked for at the other end"),
      differs("region-kind", "", F::RegionKind, kMaps, "a cube of taps is a cross"),
      differs("tap-dropped", "last", F::TapLastDropped, kMaps, "the last tap is skipped"),
      differs("tap-dropped", "centre", F::TapCentreDropped, kMaps, "the middle tap is skipped"),
      // Keys, tables, counts.
      differs("linear-key-32", "", F::LinearKey32, {Op::KernelMap, Op::SubmanifoldIndexMap},
              "(x*H + y)*W + z in 32 bits is a voxel's key"),
      differs("member-not-in-key", "", F::MemberNotInKey, {Op::KernelMap, Op::SubmanifoldIndexMap},
              "a voxel's key lacks its member"),
      differs("duplicates-kept", "", F::DuplicatesKept, {Op::FromIjk, Op::FromPoints},
              "a repeated voxel is counted again"),
      differs("input-assumed-sorted", "", F::InputAssumedSorted, {Op::FromIjk, Op::FromPoints},
              "rows are taken as they come"),
      differs("pair-twice", "", F::PairTwice, {Op::KernelMap, Op::Convolution},
              "pairs of one row are emitted twice"),
      differs("pair-lost", "", F::PairLost, {Op::KernelMap, Op::Convolution},
              "pairs of one row are lost"),
      other("count-narrowed", "", F::CountNarrowed, {Op::FromIjk, Op::DilateBox}, "virtual counts",
            by_virtual_counts, "bytes of leaves are counted in 32 bits"),
      other("capacity-minus-one", "", F::CapacityMinusOne, {Op::Prune}, "guard bytes",
            by_guard_bytes, "the result has room for one row less"),
      other("tail-block", "", F::TailBlock, {Op::Prune}, "strict device", by_strict_device,
            "the last partial block of a launch is not launched"),
      // Tree and layout.
      differs("tiles-unsigned", "", F::TilesUnsigned, kPasses, "root tiles are sorted unsigned"),
      differs("tile-key-biased", "", F::TileKeyBiased, kPasses, "a root tile's key has a bias"),
      differs("neighbour-missing", "corner", F::NeighbourCorner, {Op::DilateBox, Op::Dual},
              "a leaf across an edge of three axes is missing"),
      differs("neighbour-missing", "tile", F::NeighbourTile, {Op::DilateBox, Op::Dual},
              "a root tile beside one is missing"),
      differs("last-writer-wins", "", F::LastWriterWins, {Op::Coarsen, Op::DilateBox, Op::ConvGrid},
              "the last of a leaf's sources overwrites the others"),
      differs("phantom-node", "leaf", F::PhantomLeaf, kPasses, "an unused leaf survives"),
      differs("phantom-node", "lower", F::PhantomLower, kPasses, "an unused lower node survives"),
      differs("offset-base", "zero", F::OffsetFromZero, kPasses, "mOffset begins at 0"),
      differs("offset-base", "runs-on", F::OffsetRunsOn, kPasses,
              "mOffset runs on between members"),
      differs("prefix-sum", "late", F::PrefixSumLate, kPasses, "mPrefixSum is one word late"),
      differs("prefix-sum", "overflow", F::PrefixSumOverflows, kPasses,
              "mPrefixSum's fields hold 8 bits"),
      differs("mask-bit-order", "", F::MaskBitOrder, kPasses, "a leaf's bits have x fastest"),
      differs("node-base", "leaf", F::NodeBaseLeaf, kPasses, "a lower node's first leaf is wrong"),
      differs("node-base", "lower", F::NodeBaseLower, kPasses,
              "an upper node's first lower node is wrong"),
      differs("bbox-of-nodes", "nodes", F::BoxOfNodes, kPasses, "a box is of nodes"),
      differs("bbox-of-nodes", "off-by-one", F::BoxOffByOne, kPasses, "a box's max is one more"),
      differs("bbox-of-nodes", "zero", F::BoxFromZero, kPasses, "a box's min starts from 0"),
      differs("bbox-of-empty", "box", F::BoxOfEmpty, kPasses, "an empty member has a box"),
      differs("bbox-of-empty", "flag", F::FlagOfEmpty, kPasses, "an empty member says HasBBox"),
      other("stale-bytes", "", F::StaleBytes, {Op::FromIjk, Op::Merge}, "bytes", by_stale_bytes,
            "bytes behind a name are what they were"),
      other("value-tiles", "", F::ValueTiles, {Op::FromIjk, Op::Dual}, "refusals", by_value_tiles,
            "value masks are not looked at"),
      // Batches.
      differs("header-of-first", "map", F::HeaderMap, kPasses, "every member has member 0's map"),
      differs("header-of-first", "index", F::HeaderIndex, kPasses, "every grid index is 0"),
      differs("header-of-first", "count", F::HeaderCount, kPasses, "every grid count is 1"),
      other("header-of-first", "name", F::HeaderName, kPasses, "bytes", by_bytes,
            "every member has member 0's name"),
      differs("empty-shifts", "", F::EmptyShifts, kPasses, "headers skip empty members"),
      differs("offset-search", "", F::OffsetSearch, kPasses,
              "a row's member is the first of equal offsets"),
      differs("base-of-neighbour", "", F::BaseOfNeighbour, kPasses,
              "children are counted from another member's base"),
      differs("view-physical", "", F::ViewPhysical, kViews, "a view reads the batch's own order"),
      differs("last-empty-lost", "", F::LastEmptyLost, kPasses,
              "empty members at the end are lost"),
      differs("members-interleaved", "", F::MembersInterleaved, {Op::KernelMap, Op::Convolution},
              "rows are numbered without regard to members"),
      differs("lengths-total-only", "", F::LengthsTotalOnly, {Op::Prune, Op::Refine},
              "mask lengths are checked in sum"),
      other("scratch-reused", "", F::ScratchReused, {Op::Prune}, "workspace", by_reused_workspace,
            "counters are not zeroed before they are used"),
      differs("mask-of-wrong-row", "", F::MaskOfWrongRow, {Op::Prune, Op::Refine},
              "flags are read in the order of the input"),
      // Kernel maps and convolution.
      differs("identity-by-count", "", F::IdentityByCount, {Op::KernelMap, Op::Convolution},
              "sets of equal size are taken for one"),
      differs("half-map", "", F::HalfMap, {Op::SubmanifoldIndexMap},
              "half of a map is mirrored from the wrong taps"),
      other("cache-key", "size", F::CacheWithoutSize, {Op::KernelMap}, "calls", by_calls,
            "a cached map's key lacks K"),
      other("cache-key", "stride", F::CacheWithoutStride, {Op::KernelMap}, "calls", by_calls,
            "a cached map's key lacks S"),
      other("cache-key", "dilation", F::CacheWithoutDilation, {Op::KernelMap}, "calls", by_calls,
            "a cached map's key lacks D"),
      other("cache-key", "direction", F::CacheWithoutDirection, {Op::KernelMap}, "calls", by_calls,
            "a cached map's key lacks the direction"),
      other("cache-key", "identity", F::CacheWithoutIdentity, {Op::KernelMap}, "calls", by_calls,
            "a cached map's key has sizes for identities"),
      differs("transpose-columns", "", F::TransposeColumns, {Op::KernelMap, Op::Convolution},
              "a transposed map's columns are not swapped"),
      differs("transpose-rederived", "", F::TransposeRederived,
              {Op::KernelMap, Op::ConvTransposeGrid}, "a transposed map has a phase of its own"),
      differs("weights-transposed", "", F::WeightsTransposed, kSums, "W is read as [Cin][Cout]"),
      differs("target-ignored", "", F::TargetIgnored, {Op::KernelMap, Op::Convolution},
              "a given target is replaced by the generated one"),
      differs("nan-times-zero", "", F::NanTimesZero, {Op::Convolution},
              "an absent neighbour is zero times its weight"),
      differs("narrow-accumulator", "", F::NarrowAccumulator, kSums,
              "float16 is summed in float16"),
      other("nan-passes", "actual", F::NanPassesActual, {Op::Convolution}, "comparison", by_nan,
            "NaN passes for a number"),
      other("nan-passes", "expected", F::NanPassesExpected, {Op::Convolution}, "comparison", by_nan,
            "a number passes for NaN"),
      differs("minus-one-as-zero", "", F::MinusOneAsZero, {Op::Convolution},
              "an absent neighbour is read as row 0"),
      differs("bias-twice", "per-tap", F::BiasPerTap, {Op::Convolution},
              "the bias is added per tap"),
      differs("bias-twice", "joined", F::BiasOnlyWhereJoined, {Op::Convolution},
              "a row without pairs has no bias"),
      differs("chunk-seam", "twice", F::ChunkSeamTwice, kSums, "a chunk's last row is added twice"),
      differs("chunk-seam", "lost", F::ChunkSeamLost, kSums, "a chunk's last row is lost"),
      other("aliased-input", "", F::AliasedInput, {Op::Convolution}, "inputs", by_inputs,
            "features are used as scratch"),
      differs("dense-weights-layout", "", F::DenseWeightsLayout, kSums,
              "W is read as [...][Kz][Ky][Kx]"),
      // Execution.
      other("empty-launch", "", F::EmptyLaunch, {Op::Prune}, "strict device", by_strict_device,
            "row n-1 is read where there is none"),
      other("default-stream", "", F::DefaultStream, {Op::Prune}, "strict device", by_strict_device,
            "a launch does not wait for the caller's stream"),
      other("hidden-sync", "", F::HiddenSync, {Op::Prune}, "costs", by_costs,
            "each member is read back by itself"),
      other("race", "", F::Race, {Op::Prune}, "launch orders", by_launch_orders,
            "several rows write one word"),
      other("host-reads-device", "", F::HostReadsDevice, {Op::Prune}, "closed memory",
            by_closed_memory, "the host reads a count in device memory"),
      other("alloc-fails", "leak", F::AllocLeaks, {Op::Prune}, "failing memory", by_failing_memory,
            "a block is kept when the next one fails"),
      other("alloc-fails", "half-built", F::AllocHalfBuilt, {Op::Prune}, "failing memory",
            by_failing_memory, "a failed allocation gives an empty result"),
  };
  return all;
}

}  // namespace leafproof::faults
