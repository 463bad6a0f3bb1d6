// A shared library that answers `from_ijk` with the voxels that it is given, and misbehaves as the
// environment says: ROGUE is the way, ROGUE_WHEN the question at which (1: the first that this
// process is asked). Built once more with another entry, and once more for the memory of a device.
#include <leafproof_backend.h>
#include <signal.h>
#include <unistd.h>

#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#ifndef ROGUE_MEMORY
#define ROGUE_MEMORY LEAFPROOF_HOST_MEMORY
#endif
#ifndef ROGUE_ENTRY
#define ROGUE_ENTRY leafproof_backend_v1
#endif

namespace {

std::string how() {
  const char* const text = std::getenv("ROGUE");
  return text != nullptr ? text : "";
}

int questions = 0;

bool now(const char* way) {
  const char* const when = std::getenv("ROGUE_WHEN");
  return how() == way && questions == (when != nullptr ? std::atoi(when) : 1);
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

void crash() {
  ::raise(SIGSEGV);
}

struct AtLoad {
  AtLoad() {
    if (how() == "load_crash") crash();
    if (how() == "load_hang") hang();
    if (how() == "load_exit") std::exit(0);
    if (how() == "load_print") std::puts("loaded, says the library on stdout");
  }
} at_load;

const char* why_not(const leafproof_parameters* p) {
  ++questions;
  if (now("why_not_crash")) crash();
  if (now("why_not_write")) const_cast<leafproof_parameters*>(p)->operation = 3;
  return p->operation == LEAFPROOF_FROM_IJK ? nullptr : "lists only";
}

std::int32_t set_up(const leafproof_environment*, void** context, const char** reason) {
  if (how() == "set_up_crash") crash();
  if (how() == "set_up_fails") {
    *reason = "no licence";
    return LEAFPROOF_FAILED;
  }
  if (how() == "set_up_not") {
    *reason = "no such card";
    return LEAFPROOF_NOT_IMPLEMENTED;
  }
  if (how() == "set_up_status") return 3;
  *context = new int(7);
  return LEAFPROOF_OK;
}

template <class T>
T* take(leafproof_answer* answer, std::int32_t array, std::int32_t type, std::int64_t rows,
        std::int64_t columns = 0) {
  const std::int64_t shape[2] = {rows, columns};
  return static_cast<T*>(answer->allocate(answer, array, type, columns == 0 ? 1 : 2, shape));
}

/// What takes the place of an answer. -1: nothing does.
std::int32_t misbehave(const leafproof_question* q, leafproof_answer* answer) {
  const leafproof_batch& source = *q->source;
  const std::int64_t rows = source.offsets[source.members];
  auto* const voxels = const_cast<std::int32_t*>(source.voxels);
  if (now("crash")) crash();
  if (now("abort")) std::abort();
  if (now("exit")) std::exit(0);
  if (now("hang")) hang();
  if (now("throw")) throw std::runtime_error("thrown in C");
  if (now("throw_int")) throw 7;
  if (now("write_input")) voxels[1] = 5;
  if (now("write_input_beyond")) voxels[3 * rows] = 5;
  if (now("write_offsets")) const_cast<std::int64_t*>(source.offsets)[0] = 1;
  if (now("write_question")) const_cast<leafproof_question*>(q)->view = nullptr;
  if (now("write_in_thread")) std::thread([&] { voxels[0] = 5; }).join();
  if (now("read_beyond")) return voxels[3 * rows] == 0 ? LEAFPROOF_FAILED : LEAFPROOF_CORRUPT;
  if (now("read_names")) return source.names[source.name_offsets[source.members]] + 99;
  if (now("print")) {
    std::puts("2 answer1 grid voxels=[9,9,9]");
    std::fflush(stdout);
    static_cast<void>(!::write(1, "2 answer1\n", 10));
  }
  if (now("read_stdin") && std::getchar() != EOF) return LEAFPROOF_FAILED;
  if (now("close")) ::close(1), ::close(0);
  if (now("rounding")) std::fesetround(FE_UPWARD);
  if (now("status")) return 77;
  if (now("not_implemented")) {
    answer->reason = "too many";
    return LEAFPROOF_NOT_IMPLEMENTED;
  }
  if (now("failed")) {
    answer->reason = "a fault of mine";
    return LEAFPROOF_FAILED;
  }
  if (now("refused")) return LEAFPROOF_SHAPE_MISMATCH;
  if (now("nothing")) return LEAFPROOF_OK;
  if (now("negative") && take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, -1, 3) == nullptr)
    return LEAFPROOF_OK;
  if (now("negative_used"))
    *take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, -1, 3) = 5;  // of the null
  if (now("huge")) take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, INT64_MAX / 2, 3);
  if (now("large")) take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, 1LL << 28, 3);
  if (now("two_columns")) take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, 2, 2);
  if (now("rank")) take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, 6);
  if (now("no_array")) take<int>(answer, 17, LEAFPROOF_INT32, 6);
  if (now("no_type")) take<int>(answer, LEAFPROOF_GATHER, 6, 6);
  if (now("float_voxels")) take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_FLOAT32, 2, 3);
  if (now("no_shape")) answer->allocate(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, 2, nullptr);
  if (now("half")) {
    take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, 0, 3);
    return LEAFPROOF_OK;
  }
  if (now("maps")) {
    for (const int array : {LEAFPROOF_VOXEL_SIZES, LEAFPROOF_ORIGINS})
      take<double>(answer, array, LEAFPROOF_FLOAT64, 2, 3);
    return LEAFPROOF_OK;
  }
  if (now("grids")) {
    auto* const bytes = take<char>(answer, LEAFPROOF_GRIDS, LEAFPROOF_UINT8, 33);
    std::memset(bytes, 0, 33);
    return LEAFPROOF_OK;
  }
  if (how() == "grids_of_file") {  // whatever it is asked
    std::ifstream file(std::getenv("ROGUE_FILE"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    auto* const to = take<char>(answer, LEAFPROOF_GRIDS, LEAFPROOF_UINT8,
                                static_cast<std::int64_t>(bytes.size()));
    if (reinterpret_cast<std::uintptr_t>(to) % 32 != 0) return LEAFPROOF_FAILED;
    std::memcpy(to, bytes.data(), bytes.size());
    answer->profile = LEAFPROOF_BYTES;
    return LEAFPROOF_OK;
  }
  if (now("grids_beyond")) {
    auto* const bytes = take<char>(answer, LEAFPROOF_GRIDS, LEAFPROOF_UINT8, 33);
    std::memset(bytes, 0, 34);  // within the page
    return LEAFPROOF_OK;
  }
  if (now("write_answer")) answer->allocate = nullptr, answer->caller = nullptr, answer->size = 0;
  if (now("write_beyond_answer")) std::memset(answer + 1, 0, 1);
  if (now("write_before_answer")) std::memset(reinterpret_cast<char*>(answer) - 2, 0, 1);
  return -1;
}

std::int32_t run(void*, const leafproof_question* q, leafproof_answer* answer) {
  if (const std::int32_t instead = misbehave(q, answer); instead >= 0) return instead;
  if (now("write_answer") || now("write_beyond_answer") || now("write_before_answer"))
    return LEAFPROOF_FAILED;
  const leafproof_batch& source = *q->source;
  const std::int64_t rows = source.offsets[source.members];
  if (now("twice")) take<int>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, rows, 3);
  auto* const offsets =
      take<std::int64_t>(answer, LEAFPROOF_OFFSETS, LEAFPROOF_INT64, source.members + 1);
  auto* const voxels = take<std::int32_t>(answer, LEAFPROOF_VOXELS, LEAFPROOF_INT32, rows, 3);
  if (offsets == nullptr || voxels == nullptr) return LEAFPROOF_OK;  // the caller knows why
  std::memcpy(offsets, source.offsets, sizeof(std::int64_t) * (source.members + 1));
  if (!now("unwritten")) std::memcpy(voxels, source.voxels, sizeof(std::int32_t) * 3 * rows);
  answer->order = LEAFPROOF_OWN_ORDER;
  if (now("order")) answer->order = 2;
  if (now("offsets_start")) offsets[0] = -1;
  if (now("offsets_fall")) offsets[1] = 5;
  if (now("offsets_end")) offsets[source.members] = 1'000'000;
  if (now("write_before")) reinterpret_cast<char*>(voxels)[-1] = 0;
  if (now("write_far_before")) reinterpret_cast<char*>(voxels)[-5000] = 0;
  if (now("write_beyond")) voxels[3 * rows] = 5;
  if (now("leave_thread")) std::thread(hang).detach();
  return LEAFPROOF_OK;
}

void tear_down(void* context) {
  delete static_cast<int*>(context);
  if (how() == "tear_down_crash") crash();
}

}  // namespace

extern "C" LEAFPROOF_EXPORT const leafproof_backend* ROGUE_ENTRY() {
  static leafproof_backend backend;
  backend = {LEAFPROOF_ABI_VERSION,
             sizeof(leafproof_backend),
             "rogue 0.1",
             "a library that does what it must not",
             ROGUE_MEMORY,
             0,
             why_not,
             set_up,
             run,
             tear_down};
  if (how() == "entry_null") return nullptr;
  if (how() == "entry_crash") crash();
  if (how() == "entry_version") backend.abi_version = 7;
  if (how() == "entry_short") backend.size = 8;
  if (how() == "entry_name") backend.name = nullptr;
  if (how() == "entry_description") backend.description = nullptr;
  if (how() == "entry_why_not") backend.why_not = nullptr;
  if (how() == "entry_set_up") backend.set_up = nullptr;
  if (how() == "entry_run") backend.run = nullptr;
  if (how() == "entry_tear_down") backend.tear_down = nullptr;
  if (how() == "entry_memory") backend.memory = 2;
  return &backend;
}
