// Inside the generator: what cases of convolution are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oracle/case.h"
#include "oracle/choice_source.h"
#include "oracle/shapes.h"

namespace leafproof::oracle {

/// Breaks a good case in one way; false when the way does not apply to it.
struct Refusal {
  std::string_view reason;
  bool (*apply)(Case&, ChoiceSource&);
  bool of_parameters = false;  // must be refused of a batch of nothing, too
};

/// Gives a batch that stands beside the case's source, member by member, another number of them: as
/// many as the batch has that the view is of, or one for all, or one less or more.
void miscount(Batch& batch, const Case& c, ChoiceSource& r);

/// K, S, D and the direction. `safe`: small ones.
void draw_kernel(Case& c, ChoiceSource& r, bool safe);

/// Where members lie so that the result meets the boundaries, and how many voxels keep the taps in
/// time; `budget` is what they might have were there one tap.
void place_for_kernel(const Case& c, std::int64_t budget, Place& place);

/// Adds to the source of a submanifold map voxels that a tap joins to others: those at the ends of
/// a wide kernel are seldom there by chance.
void add_partners(Case& c, ChoiceSource& r);

/// A copy in which one voxel between the first and the last is moved by one: as many, and in the
/// same box, but not the same.
std::vector<Voxel> nudged(const std::vector<Voxel>& voxels, ChoiceSource& r);

/// Target and operands of a case whose source and view are drawn.
void draw_operands(Case& c, ChoiceSource& r);

std::string kernel_text(const Case& c);

const std::vector<Refusal>& convolution_refusals();

}  // namespace leafproof::oracle
