// What is asked in Python's words: an operation and its arguments by name. As a Case for whoever
// answers cases; or asked of the builder over grids as they are, which copies nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/plan.h"
#include "oracle/python/arguments.h"
#include "oracle/python/batch.h"
#include "oracle/python/kernel_map.h"

namespace leafproof::python {

/// The batch, or InvalidArgument.
std::shared_ptr<Batch> batch_in(const Argument& argument, nb::handle given);

class Question {
 public:
  /// Arguments of the operation (docs/python.md); None is as if it were not given.
  /// InvalidArgument for an operation that is none and for an argument that it does not take; what
  /// the operation itself refuses is refused by who answers.
  Question(const std::string& op, const nb::kwargs& given);

  oracle::Op op() const { return case_.op; }
  bool dense() const { return case_.dense; }
  const std::shared_ptr<Batch>& source() const { return source_; }
  const std::shared_ptr<Batch>& target() const { return target_; }  // null: complete

  // Both without the GIL.
  /// A copy of all that is asked.
  oracle::Case as_case() const;
  /// The builder's answer to a pass, and to a kernel map; Errors of gpu.
  gpu::GridBatch ask_builder() const;
  std::shared_ptr<KernelMap> ask_builder_for_map() const;

 private:
  struct Lists {
    Numbers<std::int32_t> ijk;
    Numbers<double> xyz;
    std::vector<std::int64_t> offsets{0};
  };
  struct Flags {
    Numbers<std::uint8_t> all;                // one array for the whole batch
    std::vector<Numbers<std::uint8_t>> each;  // or one per member
    bool by_member = false;
  };
  void read_lists(const nb::kwargs& given);
  void read_mask(nb::handle given);
  void read_kernel(const nb::kwargs& given);
  void read_operands(const nb::kwargs& given);
  Argument argument(const char* name) const { return {operation_, name}; }

  std::string operation_;
  oracle::Case case_;  // without what the following hold
  std::shared_ptr<Batch> source_, other_, target_;
  Lists lists_;
  std::vector<Map> maps_;
  std::vector<std::string> names_;
  std::optional<Flags> mask_;
};

}  // namespace leafproof::python
