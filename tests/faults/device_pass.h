// A pass on any executor, small enough to be broken one line at a time: prune [T-6] as a compaction
// of rows. Rows, flags and offsets go to the device; a scan says where each kept row goes; one
// read-back for its total, one allocation, one read-back for the result.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "gpu/error.h"
#include "gpu/executor.h"
#include "gpu/strict_device.h"
#include "tests/faults/plain_lattice.h"

namespace leafproof::faults {

/// What it reads: the rows of all members, a flag for each, and where members begin (B+1).
struct Rows {
  std::vector<Voxel> voxels;
  std::vector<std::uint8_t> flags;
  std::vector<std::int64_t> offsets;
};

/// Where the pass runs, besides its executor.
struct Surroundings {
  gpu::StrictDevice* device = nullptr;              // to reach other streams; none on the host
  std::shared_ptr<std::byte>* forgotten = nullptr;  // where a leak leaves its block
};

namespace device_pass {

struct FlagOf {
  const std::uint8_t* flags;
  std::int64_t operator()(std::int64_t i) const { return flags[i] != 0; }
};

struct CopyRow {
  const Voxel* from;
  Voxel* to;
  void operator()(std::int64_t i) const { to[i] = from[i]; }
};

struct Scatter {
  const Voxel* rows;
  const std::uint8_t* flags;
  const std::int64_t* places;
  std::byte* kept;
  void operator()(std::int64_t i) const {
    if (flags[i] != 0) std::memcpy(kept + places[i] * 12, &rows[i], 12);
  }
};

/// Where member m's kept rows begin.
struct StartOf {
  const std::int64_t* places;
  const std::int64_t* offsets;
  std::int64_t* starts;
  void operator()(std::int64_t m) const { starts[m] = places[offsets[m]]; }
};

/// The same by whoever comes last: every kept row says that its member ends behind it.
struct EndBehind {
  const std::uint8_t* flags;
  const std::int64_t* places;
  const std::int64_t* offsets;
  std::int64_t members;
  std::int64_t* starts;
  void operator()(std::int64_t i) const {
    if (flags[i] == 0) return;
    std::int64_t m = 0;
    while (m + 1 < members && offsets[m + 1] <= i) ++m;
    std::atomic_ref(starts[m + 1]).store(places[i] + 1, std::memory_order_relaxed);
  }
};

/// Kept rows of a member, added to what is there.
struct AddCount {
  const std::int64_t* places;
  const std::int64_t* offsets;
  std::int64_t* counts;
  void operator()(std::int64_t m) const {
    counts[m] = static_cast<std::int64_t>(
        static_cast<std::uint64_t>(counts[m]) +
        static_cast<std::uint64_t>(places[offsets[m + 1]] - places[offsets[m]]));
  }
};

struct CountOf {
  const std::int64_t* counts;
  std::int64_t operator()(std::int64_t m) const { return counts[m] & 0xFFFFFFFF; }
};

template <gpu::Executor E, class T>
T* uploaded(E& executor, const std::vector<T>& values) {
  T* there = gpu::scratch<T>(executor, static_cast<std::int64_t>(values.size()));
  if (!values.empty()) executor.upload(there, values.data(), values.size() * sizeof(T));
  return there;
}

}  // namespace device_pass

/// The kept rows, member by member. Errors: gpu::Error.
template <gpu::Executor E>
std::vector<std::vector<Voxel>> pruned_on(E& executor, const Rows& in, Fault fault,
                                          const Surroundings& around = {}) {
  using namespace device_pass;
  constexpr std::int64_t kGrain = 256, kBlock = 64;
  const auto n = static_cast<std::int64_t>(in.voxels.size());
  const auto members = static_cast<std::int64_t>(in.offsets.size()) - 1;
  executor.begin();
  const Voxel* given = uploaded(executor, in.voxels);
  const std::uint8_t* flags = uploaded(executor, in.flags);
  const std::int64_t* offsets = uploaded(executor, in.offsets);

  // A copy of the rows, on the caller's stream, which made them.
  Voxel* rows = gpu::scratch<Voxel>(executor, n);
  const CopyRow copy{given, rows};
  if (fault == Fault::DefaultStream)
    around.device->elsewhere([&] { around.device->run(n, copy); });
  else
    executor.for_each_index({n}, copy, kGrain);

  auto* places = gpu::scratch<std::int64_t>(executor, n + 1);
  executor.exclusive_scan({n}, FlagOf{flags}, places);
  std::int64_t total = 0;
  if (fault == Fault::HostReadsDevice) {
    total = *const_cast<volatile std::int64_t*>(places + n);
  } else if (fault == Fault::EmptyLaunch) {  // the last row's place and flag; there may be none
    std::uint8_t flag = 0;
    executor.read_back(&total, reinterpret_cast<std::byte*>(places) + (n - 1) * 8, sizeof total);
    executor.read_back(&flag, reinterpret_cast<const std::byte*>(flags) + (n - 1), sizeof flag);
    total += flag != 0;
  } else {
    executor.read_back(&total, places + n, sizeof total);
  }
  if (total < 0 || total > n)
    throw gpu::Error(gpu::ErrorKind::CapacityExceeded, "prune", "rows", std::to_string(total),
                     "more rows than there are");

  // Starts of the members, then their rows.
  const std::int64_t head = (members + 1) * 8;
  const std::int64_t room =
      fault == Fault::CapacityMinusOne ? std::max<std::int64_t>(total - 1, 0) : total;
  bool zeroed = false;
  std::shared_ptr<std::byte> result;
  try {
    if (around.forgotten != nullptr) *around.forgotten = executor.result_bytes(8, &zeroed);
    result = executor.result_bytes(static_cast<std::size_t>(head + 12 * room), &zeroed);
  } catch (const gpu::Error&) {
    if (fault == Fault::AllocHalfBuilt)
      return std::vector<std::vector<Voxel>>(in.offsets.size() - 1);
    if (fault != Fault::AllocLeaks && around.forgotten != nullptr) around.forgotten->reset();
    throw;
  }
  if (around.forgotten != nullptr) around.forgotten->reset();
  auto* starts = reinterpret_cast<std::int64_t*>(result.get());
  if (fault == Fault::Race) {
    executor.zero(starts, static_cast<std::size_t>(head));
    executor.for_each_index({n}, EndBehind{flags, places, offsets, members, starts}, kGrain);
  } else if (fault == Fault::ScratchReused) {
    auto* counts = gpu::scratch<std::int64_t>(executor, members);
    executor.for_each_index({members}, AddCount{places, offsets, counts}, kGrain);
    executor.exclusive_scan({members}, CountOf{counts}, starts);
  } else {
    executor.for_each_index({members + 1}, StartOf{places, offsets, starts}, kGrain);
  }
  const std::int64_t launched = fault == Fault::TailBlock ? n / kBlock * kBlock : n;
  executor.for_each_index({launched}, Scatter{rows, flags, places, result.get() + head}, kGrain);

  std::vector<std::byte> bytes(static_cast<std::size_t>(head + 12 * room));
  if (fault == Fault::HiddenSync) {  // the starts, then each member's rows
    executor.read_back(bytes.data(), result.get(), static_cast<std::size_t>(head));
    const auto start = [&](std::int64_t m) {
      std::int64_t at = 0;
      std::memcpy(&at, bytes.data() + 8 * m, sizeof at);
      return at;
    };
    for (std::int64_t m = 0; m < members; ++m)
      executor.read_back(bytes.data() + head + 12 * start(m), result.get() + head + 12 * start(m),
                         static_cast<std::size_t>(12 * (start(m + 1) - start(m))));
  } else {
    executor.read_back(bytes.data(), result.get(), bytes.size());
  }

  std::vector<std::vector<Voxel>> kept;
  std::int64_t begin = 0;
  for (std::int64_t m = 0; m < members; ++m) {
    std::int64_t end = 0;
    std::memcpy(&end, bytes.data() + 8 * (m + 1), sizeof end);
    if (fault == Fault::Race) end = std::max(begin, end);
    if (end < begin || end > room)
      throw gpu::Error(gpu::ErrorKind::Corrupt, "prune", "starts", std::to_string(end),
                       "between the start before it and the rows there are", m);
    auto& member = kept.emplace_back(static_cast<std::size_t>(end - begin));
    if (!member.empty())
      std::memcpy(member.data(), bytes.data() + head + 12 * begin, 12 * member.size());
    begin = end;
  }
  return kept;
}

}  // namespace leafproof::faults
