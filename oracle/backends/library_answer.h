// What a shared library answers: arrays that it asks for and fills, read without being believed.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "oracle/abi/leafproof_backend.h"
#include "oracle/backend.h"
#include "oracle/backends/guarded_memory.h"

namespace leafproof::oracle {

class LibraryAnswer {
 public:
  /// `there`: where arrays marked (d) are; null: on the host.
  explicit LibraryAnswer(DeviceMemory* there);
  LibraryAnswer(const LibraryAnswer&) = delete;
  LibraryAnswer& operator=(const LibraryAnswer&) = delete;

  /// What the library is given to fill.
  leafproof_answer* get();

  /// What it did when it had returned `status`: an answer, a refusal, or the fault that it made.
  /// `read_grids` reads NanoVDB grids; without one a GridBuffer is their bytes, not looked into.
  Answer read(std::int32_t status, const Case& question,
              const std::function<GridBuffer(std::span<const std::byte>)>& read_grids);

 private:
  static constexpr std::size_t kArrays = 17;
  struct Taken {
    std::unique_ptr<Area> area;
    std::int32_t type = 0;
    std::vector<std::int64_t> shape;
  };

  static void* allocate(leafproof_answer* answer, std::int32_t array, std::int32_t type,
                        std::int32_t rank, const std::int64_t* shape);
  void* take(std::int32_t array, std::int32_t type, std::int32_t rank, const std::int64_t* shape);

  std::string violation();
  Answer answer(const Case& question,
                const std::function<GridBuffer(std::span<const std::byte>)>& read_grids);
  template <class T>
  std::vector<T> values(std::int32_t array) const;
  std::vector<std::int64_t> integers(std::int32_t array) const;
  std::vector<double> reals(std::int32_t array) const;
  std::vector<std::int64_t> offsets(std::int32_t array, std::int64_t end) const;
  std::vector<std::vector<Voxel>> members(std::int32_t offsets, std::int32_t voxels) const;
  std::optional<RowVoxels> rows(std::int32_t offsets, std::int32_t voxels) const;
  std::vector<Map> maps() const;
  NumbersAnswer numbers(std::int32_t array) const;
  bool has(std::int32_t array) const;

  DeviceMemory* there_;
  GuardedMemory memory_;  // of the leafproof_answer
  std::array<Taken, kArrays> arrays_;
  std::size_t bytes_ = 0;  // of all arrays
  std::string fault_;      // the first misuse of `allocate`
};

}  // namespace leafproof::oracle
