#include "tests/gpu_check/checks.h"

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gpu/benchmarks/workloads.h"
#include "gpu/cuda_builder.h"
#include "oracle/backend.h"
#include "oracle/vectors.h"
#include "oracle/verify.h"
#include "tests/builder_support.h"
#include "tests/gpu_check/device.h"

namespace leafproof::gpu_check {
namespace {

using namespace leafproof::tests;

constexpr std::array kEngines{gpu::Engine::Mask, gpu::Engine::Sort};

const char* name_of(gpu::Engine engine) {
  return engine == gpu::Engine::Mask ? "mask" : "sort";
}

gpu::CudaOptions on(CudaStream stream, const gpu::BuildSettings& settings = {}) {
  gpu::CudaOptions options;
  static_cast<gpu::BuildSettings&>(options) = settings;
  options.stream = stream;
  return options;
}

/// Equal to what the host executor built, metadata and padding included.
std::string difference(const GridBatch& expected, BatchedBuilder& builder, const GridBatch& found) {
  const GridBatch here = builder.to_host(found);
  if (const auto same = same_bytes(expected, here); !same) return same.message();
  const auto &p = *expected.storage(), &q = *here.storage();
  if (p.total_bytes != q.total_bytes) return "metadata of another size";
  if (p.total_bytes > 0 &&
      std::memcmp(p.memory.get(), q.memory.get(), static_cast<std::size_t>(p.total_bytes)) != 0) {
    return "the metadata behind the grids differ";
  }
  for (std::int64_t m = 0; m < expected.size(); ++m) {
    const auto &a = expected.member(m), &b = here.member(m);
    if (a.voxels != b.voxels || a.box != b.box || !(a.map == b.map) || a.name != b.name) {
      return fmt::format("what the host knows of member {} differs", m);
    }
  }
  return "";
}

/// Batches that are rich in kinds of nodes, and shells.
struct Input {
  const char* name;
  Members source, other;
};
std::vector<Input> inputs() {
  std::vector<Input> all{{"rich", rich_members(), rich_others()}};
  Members shells, moved;
  for (std::int32_t m = 0; m < 16; ++m) {
    for (Members* to : {&shells, &moved}) {
      const std::int32_t shift = to == &moved ? 5 : 0;
      auto& member = to->emplace_back();
      for (const auto& v : gpu::benchmarks::shell(24.2, {m + shift, -m, 3 * m - 20})) {
        member.push_back({v[0], v[1], v[2]});
      }
      reference::make_canonical(member);
    }
  }
  all.push_back({"shells", std::move(shells), std::move(moved)});
  return all;
}

/// What the host executor makes of an input, by pass.
std::vector<GridBatch> expected_of(const Input& input) {
  BatchedBuilder host;
  const Operands operands = tests::operands(host, input.source, input.other);
  std::vector<GridBatch> all;
  for (const Pass& pass : passes()) all.push_back(pass.run(host, operands));
  return all;
}

/// Runs every pass on a builder and compares.
void compare_passes(Findings& findings, const std::string& where, BatchedBuilder& builder,
                    const Input& input, const std::vector<GridBatch>& expected) {
  const Operands operands = tests::operands(builder, input.source, input.other);
  for (std::size_t p = 0; p < passes().size(); ++p) {
    const std::string what = difference(expected[p], builder, passes()[p].run(builder, operands));
    findings.check(what.empty(), fmt::format("{}, {}: {}", where, passes()[p].name, what));
  }
}

}  // namespace

void check_vectors(Findings& findings, const std::filesystem::path& folder) {
  using namespace oracle;
  for (const char* name : {"cuda-mask", "cuda-sort"}) {
    const auto backend = make_backend(name);
    Tally all;
    for (const auto& file : vector_files(folder)) {
      findings.progress(fmt::format("{} {}", name, file.filename().string()));
      const Tally tally = run_vectors(
          read_vectors(file), *backend, [&](const Vector& vector, const Verdict& verdict) {
            findings.check(verdict.ok(), fmt::format("{} {} #{} on {}: {}", vector.file,
                                                     to_string(vector.question.op), vector.id, name,
                                                     verdict.first ? verdict.first->what
                                                     : verdict.outcome == Outcome::NotImplemented
                                                         ? "not implemented"
                                                         : "different"));
          });
      all.passed += tally.passed;
      all.failed += tally.failed + tally.not_implemented;
    }
    findings.note(fmt::format("{}: {} passed, {} failed", name, all.passed, all.failed));
    findings.note(std::string(backend->description()));  // where numbers are computed
    findings.check(all.passed > 0, "no vector passed");
  }
}

void check_sweep(Findings& findings, std::uint64_t seed, std::int64_t cases) {
  using namespace oracle;
  const auto reference = make_backend("reference");
  const auto host = make_backend("host"), mask = make_backend("cuda-mask"),
             sort = make_backend("cuda-sort");
  VerifyOptions options;
  options.ops = generated_ops();
  options.level = 1;
  options.seed = seed;
  options.cases = cases;
  options.threads = 4;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    findings.progress(fmt::format("{} of {}", done, total));
  };
  const Verification result = verify(*reference, {host.get(), mask.get(), sort.get()}, {}, options);
  for (const Row& row : result.report.rows) {
    findings.check(
        row.different == 0 && row.not_implemented == 0 && row.equal > 0,
        fmt::format("{} on {}: {} of {} cases differ from the reference or from the "
                    "bytes of `host`, {} are not implemented",
                    row.operation, row.backend, row.different, row.cases, row.not_implemented));
  }
  for (const Failure& failure : result.report.failures) {
    const auto& first = failure.verdict.first;
    findings.note(fmt::format("{}: {}", failure.case_id, first ? first->what : "different"));
  }
  findings.note(
      fmt::format("seed {}, {} cases for each of {} passes", seed, cases, options.ops.size()));
}

void check_passes(Findings& findings) {
  const auto stream = new_stream();
  for (const Input& input : inputs()) {
    const std::vector<GridBatch> expected = expected_of(input);
    for (const auto engine : kEngines) {
      for (const bool counted : {false, true}) {
        gpu::BuildSettings settings;
        settings.engine = engine;
        if (counted) settings.scratch_budget = 0;
        const std::string where =
            fmt::format("{}, {}{}", input.name, name_of(engine), counted ? ", counted" : "");
        findings.progress(where);
        BatchedBuilder builder = gpu::cuda_builder(on(stream.get(), settings));
        compare_passes(findings, where, builder, input, expected);

        BuilderOptions host_options;
        static_cast<gpu::BuildSettings&>(host_options) = settings;
        BatchedBuilder host(host_options);
        const Operands here = operands(host, input.source, input.other);
        const Operands there = operands(builder, input.source, input.other);
        for (const Pass& pass : passes()) {
          pass.run(host, here);
          pass.run(builder, there);
          const gpu::Costs &p = host.costs(), &q = builder.costs();
          findings.check(p.launches == q.launches && p.synchronisations == q.synchronisations &&
                             q.synchronisations <= 2,
                         fmt::format("{}, {}: {} launches and {} synchronisations, {} and {} on "
                                     "the host",
                                     where, pass.name, q.launches, q.synchronisations, p.launches,
                                     p.synchronisations));
        }
      }
    }
  }
}

void check_adopt(Findings& findings) {
  const auto stream = new_stream();
  BatchedBuilder host, builder = gpu::cuda_builder(on(stream.get()));
  const GridBatch source = build(host, rich_members());
  const auto bytes = source.bytes();
  const GridBatch adopted = builder.adopt(builder.to_device(bytes), bytes.size());
  const GridBatch back = builder.to_host(adopted);
  findings.check(same_bytes(source, back), "an adopted buffer changed");
  const GridBatch fine = builder.refine(adopted, {2, 2, 2});
  findings.check(difference(host.refine(source, {2, 2, 2}), builder, fine).empty(),
                 "refine of an adopted buffer differs");
  // One bit of one leaf's mask: a prefix sum or a box is no longer right.
  std::vector<std::byte> broken(bytes.begin(), bytes.end());
  const gpu::MemberInfo& member = source.member(0);
  const auto leaf = static_cast<std::size_t>(member.offset + member.leaves_at);
  broken[leaf + 16] ^= std::byte{1};
  std::string refusal;
  try {
    builder.adopt(builder.to_device(broken), broken.size());
  } catch (const gpu::Error& error) {
    refusal = error.what();
  }
  std::string on_host;
  try {
    auto copy = host.to_device(broken);
    host.adopt(copy, broken.size());
  } catch (const gpu::Error& error) {
    on_host = error.what();
  }
  findings.check(!refusal.empty() && refusal == on_host,
                 fmt::format("a broken buffer: '{}', on the host '{}'", refusal, on_host));
}

void check_busy(Findings& findings) {
  const auto stream = new_stream();
  const std::vector<Input> all = inputs();
  for (const auto engine : kEngines) {
    gpu::BuildSettings settings;
    settings.engine = engine;
    BatchedBuilder builder = gpu::cuda_builder(on(stream.get(), settings));
    const std::vector<GridBatch> expected = expected_of(all.back());
    compare_passes(findings, "before", builder, all.back(), expected);  // kernels are loaded now
    const Busy busy;
    compare_passes(findings, fmt::format("beside a busy stream, {}", name_of(engine)), builder,
                   all.back(), expected);
    findings.check(busy.running(), "the builds waited for the other stream");
  }
}

void check_stream_order(Findings& findings) {
  const auto stream = new_stream();
  BatchedBuilder host, builder = gpu::cuda_builder(on(stream.get()));
  const gpu::benchmarks::Workload shells = gpu::benchmarks::shells(24.2, 16, true);
  const GridBatch expected =
      host.dilate_box(host.from_ijk({shells.ijk, shells.offsets}), {-1, -1, -1}, {1, 1, 1});
  const auto source = builder.to_device(std::as_bytes(std::span(shells.ijk)));
  synchronise(stream.get());
  const std::size_t bytes = shells.ijk.size() * sizeof(std::int32_t);
  for (int round = 0; round < 8; ++round) {
    const auto rows = device_bytes(bytes, stream.get());
    enqueue_zero(rows.get(), bytes, stream.get());
    enqueue_delay(stream.get(), 5);  // the input is made late, and nobody waits for it here
    enqueue_copy(rows.get(), source.get(), bytes, stream.get());
    const std::span<const std::int32_t> ijk(reinterpret_cast<const std::int32_t*>(rows.get()),
                                            shells.ijk.size());
    const GridBatch made =
        builder.dilate_box(builder.from_ijk({ijk, shells.offsets}), {-1, -1, -1}, {1, 1, 1});
    const auto total = static_cast<std::size_t>(made.storage()->total_bytes);
    const auto copy = device_bytes(total, stream.get());
    enqueue_copy(copy.get(), made.storage()->memory.get(), total, stream.get());
    const std::string what = difference(expected, builder, made.moved_to(copy));
    findings.check(what.empty(), fmt::format("round {}: {}", round, what));
  }
}

void check_threads(Findings& findings) {
  const std::vector<Input> all = inputs();
  const std::vector<GridBatch> expected = expected_of(all.front());
  constexpr int kThreads = 4, kRounds = 3;
  std::vector<std::string> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      try {
        gpu::BuildSettings settings;
        settings.engine = kEngines[static_cast<std::size_t>(t % 2)];
        const auto stream = new_stream();
        BatchedBuilder builder = gpu::cuda_builder(on(stream.get(), settings));
        for (int round = 0; round < kRounds; ++round) {
          const Operands operands = tests::operands(builder, all.front().source, all.front().other);
          for (std::size_t p = 0; p < passes().size(); ++p) {
            const std::string what =
                difference(expected[p], builder, passes()[p].run(builder, operands));
            if (!what.empty())
              wrong[static_cast<std::size_t>(t)] = passes()[p].name + (": " + what);
          }
        }
      } catch (const std::exception& error) {
        wrong[static_cast<std::size_t>(t)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    findings.check(wrong[static_cast<std::size_t>(t)].empty(),
                   fmt::format("thread {}: {}", t, wrong[static_cast<std::size_t>(t)]));
  }
}

void check_allocator(Findings& findings) {
  const auto stream = new_stream();
  const Input input = inputs().front();
  const std::vector<GridBatch> expected = expected_of(input);
  for (const auto engine : kEngines) {
    gpu::CudaOptions options = on(stream.get());
    options.engine = engine;
    BatchedBuilder plain = gpu::cuda_builder(options);
    const Operands operands = tests::operands(plain, input.source, input.other);
    for (std::size_t p = 0; p < passes().size(); ++p) {
      const std::string pass = fmt::format("{}, {}", passes()[p].name, name_of(engine));
      findings.progress(pass);
      bool built = false;
      for (std::int64_t n = 1; !built && n < 100; ++n) {
        WatchedAllocator watched;
        watched.fail_at = n;
        options.allocator = watched.allocator();
        {
          BatchedBuilder builder = gpu::cuda_builder(options);
          try {
            const GridBatch made = passes()[p].run(builder, operands);
            built = watched.calls < n;
            const std::string what = difference(expected[p], builder, made);
            findings.check(what.empty(), fmt::format("{}: {}", pass, what));
          } catch (const gpu::Error& error) {
            findings.check(error.kind() == gpu::ErrorKind::OutOfMemory,
                           fmt::format("{}: allocation {} failing: {}", pass, n, error.what()));
          }
        }
        findings.check(watched.live_blocks == 0 && watched.live_bytes == 0,
                       fmt::format("{}: allocation {} failing leaks {} blocks", pass, n,
                                   watched.live_blocks.load()));
      }
      findings.check(built, pass + ": never built");
    }
  }
}

void check_refusals(Findings& findings) {
  for (const std::uintptr_t stream : {0, 1, 2}) {  // null, legacy, per thread
    std::string kind = "none";
    try {
      gpu::cuda_builder(on(reinterpret_cast<CudaStream>(stream)));
    } catch (const gpu::Error& error) {
      kind = error.kind() == gpu::ErrorKind::InvalidArgument ? "" : error.what();
    }
    findings.check(kind.empty(), fmt::format("default stream {}: refusal {}", stream, kind));
  }
}

int provoke_failure() {
  const auto stream = new_stream();
  try {
    BatchedBuilder builder = gpu::cuda_builder(on(stream.get()));
    const gpu::benchmarks::Workload shells = gpu::benchmarks::shells(24.2, 1, false);
    const auto rows = builder.to_device(std::as_bytes(std::span(shells.ijk)));
    enqueue_fault(stream.get());
    builder.from_ijk(
        {{reinterpret_cast<const std::int32_t*>(rows.get()), shells.ijk.size()}, shells.offsets});
  } catch (const gpu::CudaFailure& failure) {
    fmt::print("{}\n", failure.what());
    std::fflush(stdout);
    std::_Exit(0);  // the context is lost: nothing can be released
  } catch (const std::exception& error) {
    fmt::print("not a CudaFailure: {}\n", error.what());
    std::fflush(stdout);
    std::_Exit(1);
  }
  fmt::print("nothing was reported\n");
  std::fflush(stdout);
  std::_Exit(1);
}

}  // namespace leafproof::gpu_check
