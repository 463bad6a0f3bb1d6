// Hostile NanoVDB buffers for read_layout and compare: a valid buffer, and patches to it. The
// smallest non-empty grid has 305 kB, mostly zeros, so raw bytes would find nothing.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "fuzz/target.h"
#include "oracle/compare.h"
#include "oracle/layout_view.h"
#include "reference/passes.h"

namespace leafproof::fuzz {
namespace {

using namespace oracle;

struct Seed {
  Layout layout;
  GridBuffer buffer;
  std::vector<std::size_t> places;  // where a patch can matter: headers, and words that are not 0
};

Seed seed_of(const std::vector<std::vector<Voxel>>& lists) {
  Seed seed;
  seed.layout = reference::layout_of(reference::from_ijk(lists));
  seed.buffer = write_layout(seed.layout);
  for (std::size_t at = 0; at + 8 <= seed.buffer.bytes.size(); at += 8) {
    const auto word = seed.buffer.bytes.subspan(at, 8);
    const bool header = std::ranges::any_of(
        seed.buffer.offsets, [at](std::uint64_t grid) { return at >= grid && at < grid + 1024; });
    if (header || std::ranges::any_of(word, [](std::byte b) { return b != std::byte{0}; })) {
      seed.places.push_back(at);
    }
  }
  return seed;
}

const Seed& seed(std::size_t which) {
  static const std::array<Seed, 4> seeds{
      seed_of({{}}), seed_of({{{1, 2, 3}}}), seed_of({{{-1, -1, -1}, {0, 0, 0}, {9, 0, 0}}, {}}),
      seed_of({{}, {{5000, 0, 0}, {-5000, 0, 0}, {0, 128, 8}}, {{7, 7, 7}}})};
  return seeds[which % seeds.size()];
}

/// Exactly as long as it must be, so that the sanitizer sees one byte too far; aligned as a buffer
/// of grids is.
std::shared_ptr<std::byte[]> copy_of(std::span<const std::byte> bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 32, bytes.size()) != 0) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

/// The buffer of a seed with patches, which are taken back when it ends: a copy for every input
/// would take longer than all that is asked of it.
class Patched {
 public:
  explicit Patched(const Seed& base) : base_(base.buffer.bytes) {
    static std::map<const Seed*, std::shared_ptr<std::byte[]>> copies;
    auto& copy = copies[&base];
    if (!copy) copy = copy_of(base_);
    bytes_ = copy;
  }
  ~Patched() {
    for (const auto& [place, width] : patches_)
      std::memcpy(bytes_.get() + place, base_.data() + place, width);
  }
  Patched(const Patched&) = delete;
  Patched& operator=(const Patched&) = delete;

  void patch(std::size_t place, std::size_t width, std::uint64_t value) {
    if (place + width > base_.size()) return;
    std::memcpy(bytes_.get() + place, &value, width);
    patches_.emplace_back(place, width);
  }
  const std::shared_ptr<std::byte[]>& bytes() const { return bytes_; }

 private:
  std::span<const std::byte> base_;
  std::shared_ptr<std::byte[]> bytes_;
  std::vector<std::pair<std::size_t, std::size_t>> patches_;
};

void run(Bytes input) {
  const Seed& base = seed(input.choice(4));
  Patched patched(base);
  std::size_t size = base.buffer.bytes.size();
  while (!input.empty()) {
    const std::size_t width = std::array<std::size_t, 5>{1, 2, 4, 8, 0}[input.choice(5)];
    const std::size_t place =
        base.places[input.next<std::uint16_t>() % base.places.size()] + input.choice(8);
    if (width == 0)
      size = std::min(size, place);  // truncated here
    else
      patched.patch(place, width, input.next<std::uint64_t>());
  }
  const bool whole = size == base.buffer.bytes.size();
  const auto bytes = whole ? patched.bytes() : copy_of({patched.bytes().get(), size});
  const GridBuffer grids{bytes, {bytes.get(), size}, base.buffer.offsets};
  may_refuse([&] { batch_of(read_layout(grids)); });
  may_refuse([&] { grids_in(bytes, grids.bytes); });
  // Never throws, and never calls a buffer equal that it would not read.
  const Verdict verdict = compare(base.layout, grids, Profile::Layout);
  if (!verdict.ok() && !verdict.first) finding("different, without a first difference");
}

}  // namespace
}  // namespace leafproof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  leafproof::fuzz::run(leafproof::fuzz::Bytes({data, std::min<std::size_t>(size, 512)}));
  return 0;
}
