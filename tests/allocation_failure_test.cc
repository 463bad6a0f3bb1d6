// Memory that the C++ library does not have, at each allocation of each operation in turn: every
// one is the typed refusal [E-3], nothing is leaked, and afterwards the same call succeeds.
// `operator new` is this program's own; the allocators of a builder fail in builder_failure_test.
// label: slow
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "gpu/plan.h"
#include "gpu/subm_conv.h"
#include "oracle/answer_text.h"
#include "oracle/backend.h"
#include "oracle/case_bytes.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/input/answer_files.h"
#include "oracle/input/input.h"
#include "oracle/input/npz.h"
#include "oracle/input/voxel_lists.h"
#include "oracle/layout_view.h"
#include "tests/builder_support.h"
#include "tests/input_files.h"

namespace {

std::atomic<std::int64_t> live_blocks{0};
thread_local std::int64_t until_failure = 0;  // of this thread; 0: none fails
thread_local bool failed = false;
bool* failed_somewhere = nullptr;  // in memory that is shared with child processes

void* take(std::size_t size, std::size_t alignment) noexcept {
  if (until_failure > 0 && --until_failure == 0) {
    failed = true;
    if (failed_somewhere != nullptr) *failed_somewhere = true;
    return nullptr;
  }
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory != nullptr) ++live_blocks;
  return memory;
}
void* take_or_throw(std::size_t size, std::size_t alignment) {
  void* memory = take(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void give_back(void* memory) noexcept {
  if (memory != nullptr) --live_blocks;
  std::free(memory);
}
constexpr std::size_t kAlign = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t size) {
  return take_or_throw(size, kAlign);
}
void* operator new[](std::size_t size) {
  return take_or_throw(size, kAlign);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return take_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return take_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return take(size, kAlign);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return take(size, kAlign);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  give_back(memory);
}
void operator delete[](void* memory) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give_back(memory);
}

namespace {

using namespace leafproof;
using namespace leafproof::tests;

/// Runs `call` with its first, second, ... allocation failing, until none is left to fail. What it
/// returns is let go at once. `memory_ran_out(answer)`: for calls that return their refusals.
template <class Call, class RanOut>
void every_allocation_fails(const std::string& what, const Call& call, const RanOut& ran_out) {
  SCOPED_TRACE(what);
  call();  // what is made once and kept is made here
  for (std::int64_t n = 1;; ++n) {
    ASSERT_LT(n, 200'000) << "never succeeds";
    const std::int64_t before = live_blocks;
    std::string wrong;
    bool refused = false;
    failed = false;
    until_failure = n;
    try {
      refused = ran_out(call());
      until_failure = 0;
    } catch (const gpu::Error& error) {
      until_failure = 0;
      refused = error.kind() == gpu::ErrorKind::OutOfMemory;
      if (!refused) wrong = error.what();
    } catch (const oracle::Error& error) {
      until_failure = 0;
      refused = error.kind() == oracle::ErrorKind::OutOfMemory;
      if (!refused) wrong = error.what();
    } catch (const std::exception& error) {
      until_failure = 0;
      wrong = std::string("no typed error: ") + error.what();
    }
    ASSERT_EQ(wrong, "") << "allocation " << n;
    wrong = {};
    ASSERT_EQ(live_blocks, before) << "leaked at allocation " << n;
    if (!failed) {
      EXPECT_GT(n, 1) << "allocates nothing";
      ASSERT_FALSE(refused);
      return;
    }
    // What only wanted memory to be faster may go on without.
  }
}
template <class Call>
void every_allocation_fails(const std::string& what, const Call& call) {
  every_allocation_fails(what, call, [](const auto&) { return false; });
}

/// A serial builder, two batches, and a kernel map.
class BuilderAllocations : public testing::Test {
 protected:
  BuilderAllocations() : builder(serial()), o(operands(builder, rich_members(), rich_others())) {}
  static gpu::BuilderOptions serial() {
    gpu::BuilderOptions options;
    options.threads = gpu::Threads::Serial;
    return options;
  }
  BatchedBuilder builder;
  Operands o;
  const gpu::ConvGeometry geometry{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}};
  const gpu::ConvolutionOptions plain{gpu::ConvolutionForm::PerTap, gpu::Threads::Serial,
                                      std::int64_t{64} << 20};
};

TEST_F(BuilderAllocations, Passes) {
  for (const gpu::Engine engine : {gpu::Engine::Mask, gpu::Engine::Sort}) {
    gpu::BuilderOptions options = serial();
    options.engine = engine;
    every_allocation_fails("a builder", [&] { return BatchedBuilder(options).synchronisations(); });
    for (const Pass& pass : passes())
      every_allocation_fails(pass.name, [&] {
        BatchedBuilder fresh(options);
        return pass.run(fresh, o);
      });
  }
}

TEST_F(BuilderAllocations, MapsViewsAndForeignBuffers) {
  every_allocation_fails("kernel_map", [&] {
    return builder.kernel_map(o.source, o.other, {{3, 2, 1}, {2, 1, 1}, {1, 2, 1}},
                              gpu::Direction::Transposed);
  });
  every_allocation_fails("submanifold_map",
                         [&] { return builder.submanifold_map(o.source, geometry); });
  const gpu::KernelMap map = builder.submanifold_map(o.source, geometry);
  every_allocation_fails("dense_map", [&] { return builder.dense_map(map); });
  every_allocation_fails("view", [&] { return o.source.view(o.picks); });
  const GridBatch view = o.source.view(o.picks);
  every_allocation_fails("rebuild", [&] { return builder.rebuild(view); });
  every_allocation_fails("to_device", [&] { return builder.to_device(o.source.bytes()); });
  const auto memory = builder.to_device(o.source.bytes());
  every_allocation_fails("adopt", [&] { return builder.adopt(memory, o.source.bytes().size()); });
}

TEST_F(BuilderAllocations, ConvolutionPlansAndLayers) {
  const gpu::ConvolutionMap map =
      gpu::ConvolutionMap::of(builder, builder.submanifold_map(o.source, geometry), {3, 3, 3});
  const std::int64_t rows = o.source.voxel_count();
  const std::vector<float> features(static_cast<std::size_t>(rows * 3), 0.5f),
      weights(2 * 3 * 27, 0.25f), bias(2, 1.0f), gradient(static_cast<std::size_t>(rows * 2), 1.0f);
  const gpu::ConvolutionInput<float> input{
      {features, {rows, 3}}, {weights, {2, 3, 3, 3, 3}}, gpu::Tensor<float>{bias, {2}}};
  const gpu::Tensor<float> grad_output{gradient, {rows, 2}};
  for (const auto form : {gpu::ConvolutionForm::PerTap, gpu::ConvolutionForm::Chunked}) {
    gpu::ConvolutionOptions options = plain;
    options.form = form;
    every_allocation_fails("convolve", [&] { return gpu::convolve(map, input, options); });
    every_allocation_fails("gradients", [&] {
      return gpu::convolution_gradients(map, input, grad_output, options).weights;
    });
  }
  const gpu::ConvGeometry strided{{3, 3, 3}, {2, 2, 2}, {1, 1, 1}};
  every_allocation_fails("plan", [&] { return gpu::Plan::build(builder, o.source, strided); });
  const gpu::Plan plan = gpu::Plan::build(builder, o.source, strided);
  every_allocation_fails("coverage", [&] { return plan.coverage().source.histogram; });
  every_allocation_fails("report", [&] { return plan.report(); });
  const gpu::Tensor<float> rows_of_features{features, {rows, 3}};
  const gpu::SubMConv3dOptions options{.seed = 7, .convolution = plain};
  every_allocation_fails("layer", [&] {
    const gpu::SubMConv3d<float> layer(3, 2, options);
    return layer.forward(builder, o.source, rows_of_features);
  });
  every_allocation_fails("layer, backward", [&] {
    const gpu::SubMConv3d<float> layer(3, 2, options);
    return layer.backward(builder, o.source, rows_of_features, grad_output).bias;
  });
}

// A plan whose entry could not be made is in neither list of the cache: plans that come later are
// found, and the oldest of them is let go.
TEST_F(BuilderAllocations, ACacheOutlivesFailures) {
  const auto strided = [](std::int64_t s) {
    return gpu::ConvGeometry{{1, 1, 1}, {s, s, s}, {1, 1, 1}};
  };
  for (const std::int64_t s : {1, 2, 3}) gpu::Plan::build(builder, o.source, strided(s));
  every_allocation_fails("cache", [&] {
    gpu::PlanCache cache(2);
    const auto get = [&](std::int64_t s) {
      return cache.get_named(std::to_string(s), builder, o.source, strided(s));
    };
    const auto unfailing = [&](std::int64_t s) {
      const std::int64_t left = std::exchange(until_failure, 0);
      get(s);
      until_failure = left;
    };
    unfailing(1);
    try {
      get(2);
    } catch (const gpu::Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.kind(), gpu::ErrorKind::OutOfMemory) << text;
      unfailing(2);
      unfailing(3);  // lets 1 go
      EXPECT_EQ(cache.size(), 2u);
      const std::int64_t hits = cache.hits();
      unfailing(3);
      unfailing(2);
      EXPECT_EQ(cache.hits(), hits + 2);
      unfailing(1);
      EXPECT_EQ(cache.hits(), hits + 2);
    }
    return cache.size();
  });
}

// ---- the oracle's readers

/// Of 200 cases of an operation the smallest that is answered, or that is refused.
oracle::Case small_case(oracle::Op op, bool refused) {
  static const auto reference = oracle::make_backend("reference");
  std::optional<oracle::Case> smallest;
  std::size_t bytes = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    oracle::Case question = oracle::generate(op, 5, i);
    const std::size_t size = oracle::write_case_bytes(question).size();
    if (smallest && size >= bytes) continue;
    if (std::holds_alternative<oracle::Error>(reference->answer(question)) != refused) continue;
    smallest = std::move(question);
    bytes = size;
  }
  if (!smallest) throw std::logic_error("no such case");
  return *smallest;
}

// Not JSON: nlohmann's values allocate where they are destroyed, which nothing can be made of.
TEST(OracleAllocations, CasesAsTextAndBytes) {
  for (const oracle::Op op : oracle::generated_ops()) {
    const oracle::Case question = small_case(op, false);
    SCOPED_TRACE(oracle::to_string(op));
    const std::string text = oracle::write_case_text(question);
    const auto bytes = oracle::write_case_bytes(question);
    every_allocation_fails("write text", [&] { return oracle::write_case_text(question); });
    every_allocation_fails("write bytes", [&] { return oracle::write_case_bytes(question); });
    every_allocation_fails("text", [&] { return oracle::read_case_text(text).source; });
    every_allocation_fails("bytes", [&] { return oracle::read_case_bytes(bytes).source; });
  }
}

TEST(OracleAllocations, AnswersOfBothReferences) {
  for (const char* name : {"reference", "brute_force"}) {
    const auto backend = oracle::make_backend(name);
    for (const oracle::Op op : oracle::generated_ops()) {
      for (const bool refused : {false, true}) {
        const oracle::Case question = small_case(op, refused);
        every_allocation_fails(
            std::string(name) + ", " + oracle::write_case_text(question),
            [&] { return backend->answer(question); },
            [](const oracle::Answer& answer) {
              const auto* error = std::get_if<oracle::Error>(&answer);
              return error != nullptr && error->kind() == oracle::ErrorKind::OutOfMemory;
            });
      }
    }
  }
}

TEST(OracleAllocations, AnswersAsTextAndInArchives) {
  const auto reference = oracle::make_backend("reference");
  for (const oracle::Op op : oracle::generated_ops()) {
    SCOPED_TRACE(oracle::to_string(op));
    const oracle::Case question = small_case(op, false);
    const oracle::Answer answer = reference->answer(question);
    const std::string text = oracle::write_answer_text(answer);
    every_allocation_fails("write answer", [&] { return oracle::write_answer_text(answer); });
    every_allocation_fails("answer", [&] { return oracle::read_answer_text(text, question); });
  }
}

TEST(OracleAllocations, LayoutsAndFiles) {
  BatchedBuilder builder;
  const Operands o = operands(builder, rich_members(), rich_others());
  const auto memory = builder.to_device(o.source.bytes());
  const oracle::GridBuffer buffer =
      oracle::grids_in(memory, {memory.get(), o.source.bytes().size()});
  every_allocation_fails("grids_in", [&] {
    return oracle::grids_in(memory, {memory.get(), o.source.bytes().size()});
  });
  every_allocation_fails("read_layout", [&] { return oracle::read_layout(buffer); });
  every_allocation_fails("examine", [&] { return oracle::examine(buffer); });
  const oracle::Layout layout = oracle::read_layout(buffer);
  every_allocation_fails("write_layout", [&] { return oracle::write_layout(layout); });

  const Folder folder;
  const std::vector<fs::path> nvdb{folder / "grids.nvdb"},
      points{folder.write("points.xyz", "0.5 1 2\n3 4 5\n-7 8 9.25\n")};
  oracle::write_nvdb(nvdb[0], buffer);
  every_allocation_fails("write_nvdb", [&] {
    oracle::write_nvdb(nvdb[0], buffer);
    return 0;
  });
  every_allocation_fails("read_nvdb", [&] { return oracle::read_nvdb(nvdb[0]); });
  every_allocation_fails("nvdb", [&] { return oracle::read_input(nvdb, {}); });
  every_allocation_fails("xyz", [&] { return oracle::read_input(points, {}); });
  const std::vector<fs::path> npz{folder / "voxels.npz"};
  const oracle::Batch batch = oracle::read_input(nvdb, {}).batch;
  every_allocation_fails("write npz", [&] {
    oracle::write_voxel_npz(npz[0], batch);
    return 0;
  });
  EXPECT_EQ(folder.names().size(), 3u) << "a part of a file was left";
  every_allocation_fails("npz", [&] { return oracle::read_input(npz, {}); });
  const fs::path answer_file = folder / "answer.npz";
  oracle::NpzWriter answer({"write .npz", answer_file});
  answer.add("offsets", oracle::npy_bytes<std::int64_t>("<i8", {2}, {0, 1}));
  for (const char* column : {"gather", "scatter"})
    answer.add(column, oracle::npy_bytes<std::int64_t>("<i8", {1}, {0}));
  answer.write();
  every_allocation_fails("npz answer", [&] { return oracle::read_npz_answer(answer_file, "map"); });
}

#ifdef LEAFPROOF_HAS_ASSIMP
// Assimp runs in a child; what this process lacks, and what the child lacks, are tested apart.
bool children_lack_memory = true;

const std::string_view kTriangle = "v 0 0 0\nv 4 0 0\nv 0 4 1\nf 1 2 3\n";

TEST(OracleAllocations, Meshes) {
  const auto in_child = [] {
    if (!children_lack_memory) until_failure = 0;
  };
  ASSERT_EQ(pthread_atfork(nullptr, nullptr, in_child), 0);
  const Folder folder;
  const std::vector<fs::path> mesh{folder.write("mesh.obj", kTriangle)};
  children_lack_memory = false;
  every_allocation_fails("mesh", [&] { return oracle::read_input(mesh, {}); });
  children_lack_memory = true;
}

// What Assimp lacks is a refusal, or it goes on without and nothing is missing.
TEST(OracleAllocations, MeshesInTheChild) {
  void* const shared =
      ::mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  failed_somewhere = static_cast<bool*>(shared);
  const Folder folder;
  const std::vector<fs::path> mesh{folder.write("mesh.obj", kTriangle)};
  const oracle::Batch wanted = oracle::read_input(mesh, {}).batch;
  std::int64_t ran_out = 0;
  for (std::int64_t n = 1;; ++n) {
    ASSERT_LT(n, 200'000) << "never succeeds";
    *failed_somewhere = false;
    until_failure = n;  // counts on in the child
    try {
      const oracle::Input input = oracle::read_input(mesh, {});
      until_failure = 0;
      ASSERT_EQ(input.batch, wanted) << "allocation " << n;
    } catch (const oracle::Error& error) {
      until_failure = 0;
      ran_out += error.kind() == oracle::ErrorKind::OutOfMemory;
    }
    if (!*failed_somewhere) break;
  }
  EXPECT_GT(ran_out, 100);
  failed_somewhere = nullptr;
  ::munmap(shared, sizeof(bool));
}
#endif

}  // namespace
