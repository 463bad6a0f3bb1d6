// Compiles every functor of the builder for the device, so that none of them drifts into host-only
// code: each is instantiated in a kernel that applies it to an index range. The kernels are the
// same shape in which an executor for CUDA launches them. This file has been compiled, not run on a
// GPU.
#include <cstdint>

#include "gpu/adopt.h"
#include "gpu/assemble.h"
#include "gpu/copy_members.h"
#include "gpu/discover.h"
#include "gpu/list_rules.h"
#include "gpu/range_error.h"
#include "gpu/rules.h"

namespace leafproof::gpu {
namespace {

template <class Functor>
__global__ void apply(Functor functor, Count n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
       i < n.get(); i += stride) {
    functor(i);
  }
}

template <class Value>
__global__ void evaluate(Value value, Count n, std::int64_t* out) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < n.bound) out[i] = i < n.get() ? value(i) : 0;
}

template <class Segments>
__global__ void reduce(Segments segments, Count n) {
  const std::int64_t s = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (s >= n.get()) return;
  std::int64_t begin = 0, end = 0;
  segments.range(s, begin, end);
  Extent sum;
  for (std::int64_t i = begin; i < end; ++i) sum.add(segments.value(s, i));
  segments.store(s, sum);
}

template <class... Functors>
void compile_functors() {
  (static_cast<void>(&apply<Functors>), ...);
}
template <class... Values>
void compile_values() {
  (static_cast<void>(&evaluate<Values>), ...);
}
template <class... Segments>
void compile_segments() {
  (static_cast<void>(&reduce<Segments>), ...);
}

template <class Rule>
void compile_rule() {
  using namespace discovery;
  compile_values<CountReached<Level::Upper, Rule>, CountReached<Level::Lower, Rule>,
                 CountReached<Level::Leaf, Rule>>();
  compile_functors<ListTiles<Level::Upper, Rule>, ListTiles<Level::Leaf, Rule>, MarkLowers<Rule>,
                   MarkLowersOfLeaves<Rule>, MarkLeaves<Rule>, CountLeaves<Rule>,
                   ListLeaves<Rule, std::uint64_t>, ListLeaves<Rule, TileKey>,
                   assembly::WriteLeaves<Rule>, assembly::MeasureLeaves<Rule>>();
}

template <class Key>
void compile_keys() {
  using namespace discovery;
  compile_values<Begins<Key>>();
  compile_functors<ReadKeys<Key>, ListVoxels<Key>, StartLeaves<Key>,
                   assembly::WriteLeaves<SortedRule<Key>>,
                   assembly::MeasureLeaves<SortedRule<Key>>>();
}

}  // namespace

/// Referenced by nobody: it is here to be compiled.
void compile_every_functor() {
  using namespace discovery;
  using namespace assembly;
  compile_rule<KeepRule>();
  compile_rule<CoarsenRule>();
  compile_rule<RelationRule>();
  compile_rule<RefineRule>();
  compile_rule<DilateNearRule>();
  compile_rule<DilateUnitRule>();
  compile_rule<ErodeRule>();
  compile_rule<SetRule>();
  compile_keys<std::uint64_t>();
  compile_keys<TileKey>();
  compile_functors<MarkLowersOfLeaves<DenseRule>, MarkLeaves<DenseRule>, WriteLeaves<DenseRule>,
                   MeasureLeaves<DenseRule>, MeasureRows, QuantisePoints, FillDense, ZeroMasks,
                   RankMask<kLowerWords>, RankMask<kUpperWords>, ListLowers, StartMembers, CopyLast,
                   SelectVoxels, WriteHeaders, WriteUppers, WriteLowers, WriteOffsets,
                   WriteLowerBoxes, WriteUpperBoxes, WriteExtents, WriteMetadata,
                   copying::CopyTiles, copying::CopyNodes<UpperNode>, copying::CopyNodes<LowerNode>,
                   copying::CopyLeaves, CopyLeaf, FindOutOfRange, adoption::CheckLeaves,
                   adoption::CheckOffsets, adoption::CheckNodes<LowerNode>,
                   adoption::CheckNodes<UpperNode>, adoption::CheckTiles, adoption::CopyEnds,
                   adoption::WalkGrids, adoption::CopyHeads, adoption::CopyNumbers>();
  compile_values<ValueAt, StaysLower, StaysUpper, VoxelsOf, adoption::CountChildren<LowerNode>,
                 adoption::CountChildren<UpperNode>>();
  compile_segments<ReduceLeaves, ReduceLowers, ReduceUppers, adoption::BoxMembers>();
}

}  // namespace leafproof::gpu
