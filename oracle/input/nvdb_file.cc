// See nvdb_file.h.
#include "oracle/input/nvdb_file.h"

#include <fmt/format.h>
#include <zlib.h>
#ifdef LEAFPROOF_HAS_BLOSC
#include <blosc.h>
#endif

#include <algorithm>
#include <limits>

#include "oracle/input/nvdb_format.h"
#include "oracle/nanovdb_format.h"

namespace leafproof::oracle {
namespace {

using format::GridData;

constexpr std::uint64_t smallest_grid = GridData::size + format::TreeData::size;

// No stream that NanoVDB writes grows further: deflate by 1032 at most, LZ4 by 255.
constexpr std::uint64_t max_expansion = 1032;

// One grid of the file, still as it is stored.
struct Stored {
  std::uint64_t size = 0;  // of the grid in memory
  std::uint16_t codec = 0;
  std::span<const std::byte> bytes;
};

class Loader {
 public:
  Loader(const FileTask& task, std::span<const std::byte> bytes) : task_(task), bytes_(bytes) {}

  GridBuffer load() {
    if (is_raw()) {
      find_raw_grids();
    } else {
      read_segments();
    }
    GridBuffer buffer;
    for (const Stored& grid : grids_) {
      const std::uint64_t before = buffer.offsets.back();
      if (grid.size > std::numeric_limits<std::uint64_t>::max() / 2 - before) {
        corrupt(fmt::format("a grid of {} bytes fits no memory", grid.size));
      }
      buffer.offsets.push_back(before + round_up(grid.size));
    }
    const std::uint64_t total = buffer.offsets.back();
    const auto owner = aligned_bytes(task_, total);
    for (std::size_t i = 0; i < grids_.size(); ++i) {
      std::span<std::byte> target(owner.get() + buffer.offsets[i],
                                  buffer.offsets[i + 1] - buffer.offsets[i]);
      expand(grids_[i], target.first(grids_[i].size), i);
      std::ranges::fill(target.subspan(grids_[i].size), std::byte{0});
      check_grid(target, grids_[i].size, i);
    }
    buffer.owner = owner;
    buffer.bytes = {owner.get(), total};
    return buffer;
  }

 private:
  static std::uint64_t round_up(std::uint64_t size) {
    return (size + format::alignment - 1) / format::alignment * format::alignment;
  }

  [[noreturn]] void corrupt(std::string reason, std::optional<std::size_t> grid = {}) const {
    std::optional<std::int64_t> member;
    if (grid) member = static_cast<std::int64_t>(*grid);
    task_.refuse(ErrorKind::Corrupt, std::move(reason), member);
  }

  // A raw grid and an old file may begin with the same magic; then the versions tell, of which the
  // file's is its third word and the grid's its fifth.
  bool is_raw() const {
    if (bytes_.size() < FileHeader::size) return false;
    const auto magic = format::load<std::uint64_t>(bytes_.data());
    if (magic == format::magic_grid) return true;
    if (magic != format::magic_of_old || bytes_.size() < smallest_grid) return false;
    const auto file = format::load<std::uint32_t>(bytes_.data() + FileHeader::version.at);
    const auto grid = format::load<std::uint32_t>(bytes_.data() + GridData::version.at);
    return format::major_of(file) != format::major_version &&
           format::major_of(grid) == format::major_version;
  }

  void find_raw_grids() {
    Cursor cursor(task_, bytes_);
    while (cursor.left() > 0) {
      const std::string what = fmt::format("grid {}", grids_.size());
      if (cursor.left() < smallest_grid) cursor.take(smallest_grid, what);
      const std::byte* grid = bytes_.data() + cursor.position();
      const auto size = format::load<std::uint64_t>(grid + GridData::byte_size.at);
      if (size < smallest_grid) {
        corrupt(fmt::format("grid {} says that it has {} bytes", grids_.size(), size),
                grids_.size());
      }
      grids_.push_back({size, codec_none, cursor.take(size, what)});
    }
  }

  void read_segments() {
    Cursor cursor(task_, bytes_);
    while (cursor.left() > 0) read_segment(cursor);
  }

  void read_segment(Cursor& cursor) {
    const std::byte* header = cursor.take(FileHeader::size, "the header of a segment").data();
    const auto magic = format::load<std::uint64_t>(header + FileHeader::magic.at);
    if (magic != magic_file && magic != format::magic_of_old) {
      const bool swapped = __builtin_bswap64(magic) == magic_file ||
                           __builtin_bswap64(magic) == format::magic_of_old;
      if (swapped) task_.refuse(ErrorKind::Unsupported, "is a big-endian NanoVDB file");
      corrupt(fmt::format("has no NanoVDB file or grid at byte {}",
                          cursor.position() - FileHeader::size));
    }
    const auto version = format::load<std::uint32_t>(header + FileHeader::version.at);
    if (format::major_of(version) != format::major_version) {
      task_.refuse(ErrorKind::Unsupported,
                   fmt::format("is written in NanoVDB's format {}; {} is read",
                               format::major_of(version), format::major_version));
    }
    const auto count = format::load<std::uint16_t>(header + FileHeader::grid_count.at);
    const auto codec = format::load<std::uint16_t>(header + FileHeader::codec.at);
    if (count == 0) corrupt("has a segment without grids");
    if (codec > codec_blosc) {
      task_.refuse(ErrorKind::Unsupported,
                   fmt::format("uses the codec {}, which nobody knows", codec));
    }
    struct Record {
      std::uint64_t size, stored;
    };
    std::vector<Record> records;
    for (std::uint16_t i = 0; i < count; ++i) {
      const std::size_t grid = grids_.size() + i;
      const std::byte* record = cursor.take(FileRecord::size, "the record of a grid").data();
      records.push_back({format::load<std::uint64_t>(record + FileRecord::grid_size.at),
                         format::load<std::uint64_t>(record + FileRecord::file_size.at)});
      if (format::load<std::uint16_t>(record + FileRecord::codec.at) != codec) {
        corrupt("the segment and the record of a grid name different codecs", grid);
      }
      const auto name_size = format::load<std::uint32_t>(record + FileRecord::name_size.at);
      const auto name = as_text(cursor.take(name_size, "the name of a grid"));
      if (!name.ends_with('\0')) corrupt("the name in the record of a grid has no end", grid);
    }
    for (const Record& record : records) {
      const std::size_t grid = grids_.size();
      const auto stored = cursor.take(record.stored, fmt::format("grid {}", grid));
      const std::uint64_t expansion = codec == codec_none ? 1 : max_expansion;
      if (record.size < smallest_grid || record.size / expansion > record.stored) {
        corrupt(fmt::format("{} stored bytes cannot hold a grid of {} bytes", record.stored,
                            record.size),
                grid);
      }
      grids_.push_back({record.size, codec, stored});
    }
  }

  void expand(const Stored& grid, std::span<std::byte> target, std::size_t index) const {
    if (grid.codec == codec_none) {
      if (grid.bytes.size() != target.size()) {
        corrupt(fmt::format("{} stored bytes for a plain grid of {} bytes", grid.bytes.size(),
                            target.size()),
                index);
      }
      std::ranges::copy(grid.bytes, target.begin());
    } else if (grid.codec == codec_zip) {
      inflate_grid(grid, target, index);
    } else {
      expand_blosc(grid, target, index);
    }
  }

  // The length of the stream, then one zlib stream.
  void inflate_grid(const Stored& grid, std::span<std::byte> target, std::size_t index) const {
    Cursor cursor(task_, grid.bytes);
    const auto size = cursor.get<std::uint64_t>("the length of a deflated grid");
    const auto stream = cursor.take(size, "a deflated grid");
    uLongf got = target.size(), used = stream.size();
    const int code = ::uncompress2(reinterpret_cast<Bytef*>(target.data()), &got,
                                   reinterpret_cast<const Bytef*>(stream.data()), &used);
    if (code != Z_OK || got != target.size() || used != stream.size() || cursor.left() != 0) {
      corrupt(fmt::format("the deflated grid is damaged ({} of {} bytes come out)",
                          code == Z_OK ? got : 0, target.size()),
              index);
    }
  }

#ifdef LEAFPROOF_HAS_BLOSC
  // Chunks of at most 1 GiB, each its length, then a Blosc buffer.
  void expand_blosc(const Stored& grid, std::span<std::byte> target, std::size_t index) const {
    Cursor cursor(task_, grid.bytes);
    while (!target.empty()) {
      const auto size = cursor.get<std::uint64_t>("the length of a Blosc chunk");
      const auto chunk = cursor.take(size, "a Blosc chunk");
      const std::size_t expected = std::min<std::size_t>(target.size(), blosc_chunk);
      std::size_t promised = 0;
      const bool sound = chunk.size() >= BLOSC_MIN_HEADER_LENGTH &&
                         blosc_cbuffer_validate(chunk.data(), chunk.size(), &promised) == 0 &&
                         promised == expected;
      const int got = sound ? blosc_decompress_ctx(chunk.data(), target.data(), expected, 1) : -1;
      if (got < 0 || static_cast<std::size_t>(got) != expected) {
        corrupt("a Blosc chunk of the grid is damaged", index);
      }
      target = target.subspan(expected);
    }
    if (cursor.left() != 0) corrupt("bytes are left after the Blosc chunks of the grid", index);
  }
#else
  void expand_blosc(const Stored&, std::span<std::byte>, std::size_t index) const {
    task_.refuse(ErrorKind::Unsupported,
                 "is compressed by Blosc, and this build has no Blosc to read it with",
                 static_cast<std::int64_t>(index));
  }
#endif

  // What everybody who looks at a grid believes first.
  void check_grid(std::span<const std::byte> grid, std::uint64_t size, std::size_t index) const {
    const auto magic = format::load<std::uint64_t>(grid.data() + GridData::magic.at);
    if (magic != format::magic_grid && magic != format::magic_of_old) {
      corrupt("the grid does not begin like a NanoVDB grid", index);
    }
    const auto version = format::load<std::uint32_t>(grid.data() + GridData::version.at);
    if (format::major_of(version) != format::major_version) {
      task_.refuse(ErrorKind::Unsupported,
                   fmt::format("the grid is in NanoVDB's format {}; {} is read",
                               format::major_of(version), format::major_version),
                   static_cast<std::int64_t>(index));
    }
    const auto own = format::load<std::uint64_t>(grid.data() + GridData::byte_size.at);
    if (own != size) {
      corrupt(fmt::format("the grid says that it has {} bytes, the file {}", own, size), index);
    }
  }

  const FileTask& task_;
  std::span<const std::byte> bytes_;
  std::vector<Stored> grids_;
};

}  // namespace

GridBuffer load_nvdb(const FileTask& task) {
  const FileBytes file = read_file(task);
  return Loader(task, file.bytes).load();
}

std::uint32_t grid_type(const GridBuffer& buffer, std::size_t grid) {
  return format::load<std::uint32_t>(buffer.bytes.data() + buffer.offsets[grid] +
                                     GridData::grid_type.at);
}

}  // namespace leafproof::oracle
