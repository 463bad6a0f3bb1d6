// Questions one after another, which differ in one thing: what a backend keeps from call to call
// (plans, buffers, answers) must not show in the next answer. A cache whose key lacks a parameter
// answers any single question rightly.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "oracle/backend.h"

namespace leafproof::oracle {

/// The one thing. Of three for the three axes one is changed.
enum class Change {
  FactorX,  // of refine, coarsen, map_after
  FactorY,
  FactorZ,
  FactorOrder,  // its axes in another order: the same product
  BoxX,         // of dilate_box, erode_box: its width
  BoxY,
  BoxZ,
  BoxPlace,     // as wide, moved by one
  KernelSizeX,  // of convolution, as all that follow of a kernel
  KernelSizeY,
  KernelSizeZ,
  KernelSizeOrder,
  StrideX,
  StrideY,
  StrideZ,
  StrideOrder,
  DilationX,
  DilationY,
  DilationZ,
  Direction,
  Form,     // pairs, or dense [M-4]
  VoxelsX,  // of the source: as many, moved along an axis
  VoxelsY,  // ...
  VoxelsZ,
  Middle,     // of the source: one voxel, neither the first nor the last of its member
  Members,    // of the source: one voxel to the next member
  More,       // of the source: a neighbour beside each voxel, so that what follows is smaller
  Partner,    // as VoxelsX, of the second batch, or of the target
  Mask,       // one flag
  MaskOrder,  // a mask of as many ones
  View,       // its members turned round [T-9]
  Maps,       // the first member's map and name [G-7]
  Origin,     // the first member's origin
  Features,   // the numbers, as those that follow
  Weights,
  Bias,
  GradOutput,
  Type,  // of the numbers [V-6]
};
/// "kernel_size_x", ..., as `--after` takes them; and back (nullopt when unknown).
std::string_view to_string(Change change);
std::optional<Change> parse_change(std::string_view name);
std::span<const Change> changes();

/// Whether the question has that thing.
bool has(const Case& question, Change change);

/// The question with the thing changed (has() must hold), so that it is hardly more work. It may be
/// one that must be refused.
Case changed(const Case& question, Change change);

/// Asks the backend each question right after the same one with one thing changed, whose answer is
/// thrown away. Without a change, and where the question has not that thing, it is asked alone. The
/// backend must outlive it.
class AfterAnother : public Backend {
 public:
  AfterAnother(const Backend& backend, std::optional<Change> change)
      : backend_(backend), change_(change) {}
  std::string_view name() const override { return backend_.name(); }
  std::string_view description() const override { return backend_.description(); }
  Answer answer(const Case& question) const override;

 private:
  const Backend& backend_;
  std::optional<Change> change_;
};

}  // namespace leafproof::oracle
