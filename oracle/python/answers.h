// Answers of backends as Python's, and what Python says was answered as something to be judged.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "oracle/judge.h"
#include "oracle/python/arguments.h"
#include "oracle/python/batch.h"

namespace leafproof::python {

/// The backend of a name. Those of this build are made once; a command is a program of its own each
/// time. Errors as make_backend().
std::shared_ptr<const oracle::Backend> backend_named(const std::string& name);

/// A Batch, a KernelMap, an array, three of them, maps as two arrays, (ijk, offsets) of a program
/// from outside; a refusal as an Error that is not raised, and NotImplemented. `source`, `target`:
/// the batches of the question, where Python has them. Corrupt for what the backend met instead of
/// answering.
nb::object python_of(const oracle::Case& question, oracle::Answer answer, std::string_view backend,
                     std::shared_ptr<Batch> source = {}, std::shared_ptr<Batch> target = {});

/// How an answer of Python is judged beyond what it says itself.
struct Claims {
  std::optional<oracle::Profile> profile;
  nb::object source_rows = nb::none(), target_rows = nb::none();  // [M-7]
  nb::object accumulator = nb::none(), multiplier = nb::none();   // [V-3]
};

/// The forms that docs/python.md lists. An Error where it is none of them, or none of the
/// operation's; contents are the judge's to distrust.
oracle::Answer answer_of(const oracle::Case& question, nb::handle given, const Claims& claims);

/// Judges as `verify` does; the clause of a difference of voxels is the operation's.
oracle::Verdict verdict_of(const oracle::Case& question, const oracle::Answer& answer,
                           const oracle::Backend& reference);

}  // namespace leafproof::python
