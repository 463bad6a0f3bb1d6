// Asks a backend through the oracle, and reads whatever it answers as voxels.
#include "properties/subject.h"

#include <stdexcept>

#include "oracle/layout_view.h"

namespace leafproof::properties {

Layout Subject::layout(const Case& question) const {
  const Answer answer = backend_->answer(question);
  if (const auto* layout = std::get_if<Layout>(&answer)) return *layout;
  if (const auto* buffer = std::get_if<GridBuffer>(&answer)) return read_layout(*buffer);
  if (const auto* error = std::get_if<Error>(&answer)) throw *error;
  if (const auto* absent = std::get_if<NotImplemented>(&answer)) {
    throw std::runtime_error("not implemented: " + absent->reason);
  }
  throw std::runtime_error("an answer without voxels");
}

Batch Subject::operator()(const Case& question) const {
  return batch_of(layout(question));
}

std::vector<std::string> subjects() {
  std::vector<std::string> names = backend_names();
  std::erase(names, "brute_force");
  std::erase(names, "host");
  return names;
}

}  // namespace leafproof::properties
