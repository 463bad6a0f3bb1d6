// The choices that a builder is made of: which engine finds the target leaves, who runs a launch on
// a CPU, and which set a pass over two batches makes.
#pragma once

namespace leafproof::gpu {

enum class Engine { Mask, Sort };

enum class Threads {
  Tbb,     // TBB's arena of the calling thread
  Serial,  // the calling thread alone
  Own,  // four plain threads a launch, in scattered order: for race detectors, which TBB confuses
};

enum class SetOperation { Merge, Intersect, Subtract };  // [T-6]

}  // namespace leafproof::gpu
