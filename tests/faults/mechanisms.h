// What kills faults: each asks a question in its own way, of a healthy thing or of one with a fault
// planted in it, and must be quiet about the healthy one.
#pragma once

#include "tests/faults/fault.h"

namespace leafproof::faults {

using Killed = std::optional<Kill>;

/// The second implementation's answer is the reference's: element by element [G-9].
Killed by_answers(const Case& question, Fault fault);
/// The same as a NanoVDB buffer: byte by byte, names too.
Killed by_bytes(const Case& question, Fault fault);
/// A convolution leaves its operands as they were: asked again with them, it answers the same.
Killed by_inputs(const Case& question, Fault fault);
/// A cache of kernel maps gives each call its own, whatever was asked before.
Killed by_calls(const Case& question, Fault fault);

/// A healthy buffer of the batched builder in which memory was left as it was [G-6].
Killed by_stale_bytes(const Case& question, Fault fault);
/// A grid with a value tile is refused where it comes in [G-7], by the builder as by the oracle.
/// With the fault a reader that asks child masks alone hands it on.
Killed by_value_tiles(const Case& question, Fault fault);
/// A batch in which each leaf of the question's stands for many is placed by the builder's sizes
/// [L-6], and read there.
Killed by_virtual_counts(const Case& question, Fault fault);
/// An engine that gives its fast path's numbers where they agree with its slow path's: as right as
/// that comparison is about NaN [V-3].
Killed by_nan(const Case& question, Fault fault);

// A pass on an executor (device_pass.h), of whose answers `answers` is asked first.
Killed by_strict_device(const Case& question, Fault fault);     // queued work, poison, shuffles
Killed by_launch_orders(const Case& question, Fault fault);     // forwards, backwards, shuffled
Killed by_guard_bytes(const Case& question, Fault fault);       // behind the result
Killed by_costs(const Case& question, Fault fault);             // synchronisations
Killed by_closed_memory(const Case& question, Fault fault);     // in a child that may die
Killed by_failing_memory(const Case& question, Fault fault);    // every n-th allocation
Killed by_reused_workspace(const Case& question, Fault fault);  // the same again

}  // namespace leafproof::faults
