#include "gpu/batched_builder.h"

#include <utility>

#include "gpu/builder_state.h"

namespace leafproof::gpu {

BatchedBuilder::BatchedBuilder(BuilderOptions options) : state_(std::make_unique<State>(options)) {}
BatchedBuilder::~BatchedBuilder() = default;
BatchedBuilder::BatchedBuilder(BatchedBuilder&&) noexcept = default;
BatchedBuilder& BatchedBuilder::operator=(BatchedBuilder&&) noexcept = default;

int BatchedBuilder::synchronisations() const {
  return state_->synchronisations;
}
std::size_t BatchedBuilder::peak_scratch() const {
  return state_->workspace.peak();
}

}  // namespace leafproof::gpu
