// leafproof_backend.h: how a builder in a shared library is judged by Leafproof. C99, and C++ from
// C++98 on; nothing but this file is needed to write one, and nothing of Leafproof to link.
//
// The library exports one function, leafproof_backend_v1(), and is judged by
//
//     leafproof verify --backend ./libmine.so --skips mine.skips
//
// For each case it is asked `why_not` by the parameters alone, then `run` with the whole question.
// Questions are in the caller's memory and may only be read; answers are written into the caller's
// memory, which `allocate` hands out. What an operation means: docs/spec.md, by whose clauses the
// comments below are marked ([T-4]). The contract in words, and two whole libraries: docs/c-abi.md.
//
// A version's structs grow at their ends only: `size` is what the other side was compiled with.
#ifndef LEAFPROOF_BACKEND_H
#define LEAFPROOF_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAFPROOF_ABI_VERSION 1

#if defined(__GNUC__)
#define LEAFPROOF_EXPORT __attribute__((visibility("default")))
#else
#define LEAFPROOF_EXPORT
#endif

// Operations.
enum {
  LEAFPROOF_FROM_IJK = 0,                // [T-1]
  LEAFPROOF_FROM_POINTS = 1,             // [T-1]
  LEAFPROOF_REFINE = 2,                  // [T-2]
  LEAFPROOF_COARSEN = 3,                 // [T-3]
  LEAFPROOF_DILATE_BOX = 4,              // [T-4]
  LEAFPROOF_DUAL = 5,                    // [T-4]
  LEAFPROOF_ERODE_BOX = 6,               // [T-5]
  LEAFPROOF_PRUNE = 7,                   // [T-6]
  LEAFPROOF_MERGE = 8,                   // [T-6]
  LEAFPROOF_INTERSECT = 9,               // [T-6]
  LEAFPROOF_SUBTRACT = 10,               // [T-6]
  LEAFPROOF_MAP_AFTER = 11,              // [G-7] the maps alone, after the operation `mapped`
  LEAFPROOF_CONV_GRID = 12,              // [K-3]
  LEAFPROOF_CONV_TRANSPOSE_GRID = 13,    // [K-4]
  LEAFPROOF_SUBMANIFOLD_INDEX_MAP = 14,  // [M-5] in the dense form
  LEAFPROOF_CONVOLUTION = 15,            // [V-1]
  LEAFPROOF_CONVOLUTION_GRADIENTS = 16,  // [V-2]
  LEAFPROOF_KERNEL_MAP = 17              // [M-2], or [M-4] where `dense` is set
};

// Types of numbers.
enum {
  LEAFPROOF_UINT8 = 0,
  LEAFPROOF_INT32 = 1,
  LEAFPROOF_INT64 = 2,
  LEAFPROOF_FLOAT16 = 3,  // IEEE binary16
  LEAFPROOF_FLOAT32 = 4,
  LEAFPROOF_FLOAT64 = 5
};

// What `set_up` and `run` return: that there is an answer, that there is none, or the kind of the
// refusal that the case must get [E-3]. No exception may leave them.
enum {
  LEAFPROOF_OK = 0,
  LEAFPROOF_NOT_IMPLEMENTED = 1,  // fails a sweep unless --skips lists it; `reason` says why
  LEAFPROOF_FAILED = 2,           // a fault that the backend met itself; `reason` says which
  LEAFPROOF_INVALID_ARGUMENT = 10,
  LEAFPROOF_SHAPE_MISMATCH = 11,
  LEAFPROOF_OUT_OF_RANGE = 12,
  LEAFPROOF_CAPACITY_EXCEEDED = 13,
  LEAFPROOF_OUT_OF_MEMORY = 14,
  LEAFPROOF_UNSUPPORTED = 15,
  LEAFPROOF_CORRUPT = 16
};

// Where the large arrays of questions and answers lie: those that have an entry per voxel, point,
// row, pair or number. They are marked (d) below. All else is host memory, always.
enum { LEAFPROOF_HOST_MEMORY = 0, LEAFPROOF_DEVICE_MEMORY = 1 };

// --- A question. Arrays are aligned for their elements and for no more; the byte after the last
// one of each may not be touched.

// Which of the optional parts a question has; bits of `given`.
enum {
  LEAFPROOF_GIVEN_VIEW = 1,
  LEAFPROOF_GIVEN_OTHER = 2,
  LEAFPROOF_GIVEN_MASK = 4,
  LEAFPROOF_GIVEN_TARGET = 8,
  LEAFPROOF_GIVEN_BIAS = 16
};

// All of a question but its data. A triple is (x, y, z). What the operation does not take is 1 in
// factors and kernels, else 0. Values may be ones that must be refused.
typedef struct leafproof_parameters {
  uint32_t size;
  int32_t operation;       // LEAFPROOF_REFINE, ...
  int64_t factor[3];       // refine, coarsen, map_after
  int64_t lo[3], hi[3];    // dilate_box, erode_box
  int64_t kernel_size[3];  // [K], of the operations of convolution
  int64_t stride[3];
  int64_t dilation[3];
  int32_t mapped;            // map_after: the operation
  int32_t transposed;        // 0 or 1: direction of a kernel map, of a convolution [M-1]
  int32_t dense;             // 0 or 1: kernel_map in the form of [M-4]
  int32_t number_type;       // of a convolution [V-6]
  int32_t target_is_source;  // 0 or 1 [V-4]
  uint32_t given;            // LEAFPROOF_GIVEN_VIEW | ...
} leafproof_parameters;

// Members of a batch, one after the other: member m has the rows offsets[m] ... offsets[m + 1].
// Canonical order [G-2] without repeats, but for the source of from_ijk: a list in any order.
typedef struct leafproof_batch {
  int64_t members;              // B >= 0
  const int64_t* offsets;       // [B + 1], from 0 on
  const int32_t* voxels;        // [offsets[B]][3] (d)
  const double* voxel_sizes;    // [B][3] [G-7]
  const double* origins;        // [B][3]
  const int64_t* name_offsets;  // [B + 1]
  const char* names;  // [name_offsets[B]] bytes, no NUL behind them; there may be one within
} leafproof_batch;

typedef struct leafproof_points {
  int64_t members;         // as many as the source has
  const int64_t* offsets;  // [members + 1]
  const double* xyz;       // [offsets[members]][3] (d)
} leafproof_points;

// A flag of 0 or 1 per voxel. There may be more or fewer than there are voxels [T-10].
typedef struct leafproof_mask {
  int64_t members;
  const int64_t* offsets;  // [members + 1]
  const uint8_t* flags;    // [offsets[members]] (d)
} leafproof_mask;

// The operation reads these members of the source, in this order [T-9]. `other`, `target`, `mask`
// and features are in that order already. An index may be one that must be refused.
typedef struct leafproof_view {
  int64_t count;
  const int64_t* members;  // [count]
} leafproof_view;

// Numbers, last axis fastest. The type is that of the convolution; FLOAT64 only where that is INT32
// and does not hold one of them, which must be refused [V-6]. A shape may be one that must be
// refused, and need not have `count` elements then.
typedef struct leafproof_array {
  int32_t type, rank;
  const int64_t* shape;  // [rank]
  int64_t count;
  const void* values;  // [count] (d)
} leafproof_array;

// What a case does not have is NULL. Nothing outlives the call.
typedef struct leafproof_question {
  uint32_t size;
  uint32_t reserved;
  const leafproof_parameters* parameters;
  const leafproof_batch* source;    // always there
  const leafproof_points* points;   // from_points; the source has its maps and names, and no voxels
  const leafproof_view* view;       // none: the source as it is
  const leafproof_batch* other;     // merge, intersect, subtract
  const leafproof_mask* mask;       // prune; refine, where masked
  const leafproof_batch* target;    // restricted; none: the complete one [K-6]
  const leafproof_array* features;  // [source rows][Cin]
  const leafproof_array* weights;   // [Cout][Cin][Kx][Ky][Kz], or [Cout][Cin] [V-4]
  const leafproof_array* bias;      // [Cout]
  const leafproof_array* grad_output;  // [target rows][Cout]
} leafproof_question;

// --- An answer

// Arrays of an answer. Which are there says what it is:
//   passes, grids     VOXELS and OFFSETS; VOXEL_SIZES and ORIGINS as well, if you like, which are
//                     judged of from_points alone
//                     or GRIDS: NanoVDB grids, one after the other, whole with headers [G-6]
//   map_after         VOXEL_SIZES and ORIGINS (asked by vectors and replay, not by verify)
//   kernel_map        TAP_OFFSETS, GATHER and SCATTER; with `dense` INDEX
//   submanifold_...   INDEX
//   convolution       OUTPUT
//   ..._gradients     GRAD_FEATURES, GRAD_WEIGHTS and GRAD_BIAS
// Rows are canonical ones of the whole batch, from 0. A backend that numbers them its own way tells
// what they are by SOURCE_VOXELS and SOURCE_OFFSETS, or TARGET_..., like a batch [M-7].
enum {
  LEAFPROOF_OFFSETS = 0,          // INT64 [B + 1]
  LEAFPROOF_VOXELS = 1,           // INT32 [offsets[B]][3] (d)
  LEAFPROOF_VOXEL_SIZES = 2,      // FLOAT64 [B][3]
  LEAFPROOF_ORIGINS = 3,          // FLOAT64 [B][3]
  LEAFPROOF_GRIDS = 4,            // UINT8 [bytes], aligned to 32 (d)
  LEAFPROOF_TAP_OFFSETS = 5,      // INT64 [taps + 1]
  LEAFPROOF_GATHER = 6,           // INT32 or INT64 [pairs]: source rows, in any order in a tap (d)
  LEAFPROOF_SCATTER = 7,          // INT32 or INT64 [pairs]: target rows (d)
  LEAFPROOF_INDEX = 8,            // INT32 or INT64 [taps][target rows]: source rows, or -1 (d)
  LEAFPROOF_OUTPUT = 9,           // a type of [V-6], [target rows][Cout] (d)
  LEAFPROOF_GRAD_FEATURES = 10,   // the same, in the shape of the features (d)
  LEAFPROOF_GRAD_WEIGHTS = 11,    // (d)
  LEAFPROOF_GRAD_BIAS = 12,       // (d)
  LEAFPROOF_SOURCE_OFFSETS = 13,  // INT64 [B + 1]
  LEAFPROOF_SOURCE_VOXELS = 14,   // INT32 [rows][3] (d)
  LEAFPROOF_TARGET_OFFSETS = 15,  // the same
  LEAFPROOF_TARGET_VOXELS = 16    // (d)
};

// Values of `order`, `profile`, and `multiplier` and `accumulator`; 0 is what is meant where
// nothing is said.
enum { LEAFPROOF_CANONICAL_ORDER = 0, LEAFPROOF_OWN_ORDER = 1 };
enum { LEAFPROOF_TOPOLOGY = 0, LEAFPROOF_SETS = 1, LEAFPROOF_LAYOUT = 2, LEAFPROOF_BYTES = 3 };
enum {
  LEAFPROOF_ARITHMETIC_OF_TYPE = 0,  // [V-6]
  LEAFPROOF_FP64 = 1,
  LEAFPROOF_FP32 = 2,
  LEAFPROOF_TF32 = 3,
  LEAFPROOF_FP16 = 4
};

typedef struct leafproof_answer leafproof_answer;
struct leafproof_answer {
  uint32_t size;
  int32_t order;       // of VOXELS, within a member; an own order is judged as a set
  int32_t profile;     // of GRIDS: what they are judged by [G-9]
  int32_t multiplier;  // of numbers: the bound of [V-3] is made of these
  int32_t accumulator;
  int32_t reserved;
  const char* reason;  // with any status but OK; read before the next call into the library
  void* caller;        // not yours
  // Memory for an array of this answer: LEAFPROOF_VOXELS, ..., once each, of a type and shape as
  // above. It is filled with garbage, and what is written outside of it is found. NULL where there
  // is no such array, or no memory: return LEAFPROOF_OUT_OF_MEMORY then. Not to be freed. To be
  // called by one thread at a time.
  void* (*allocate)(leafproof_answer* answer, int32_t array, int32_t type, int32_t rank,
                    const int64_t* shape);
};

// --- A backend

typedef struct leafproof_environment {
  uint32_t size;
  int32_t memory;  // LEAFPROOF_DEVICE_MEMORY: arrays marked (d) are there; only if it is asked for
  int32_t device;  // its CUDA device, current in every thread that calls
  int32_t reserved;
  // A cudaStream_t, none of the default ones. What `run` is given is ready for work on it, and what
  // it makes is read after all work on it: `run` need not wait.
  void* stream;
} leafproof_environment;

typedef struct leafproof_backend {
  uint32_t abi_version;     // LEAFPROOF_ABI_VERSION
  uint32_t size;            // sizeof(leafproof_backend)
  const char* name;         // "mine 1.2"
  const char* description;  // a line
  int32_t memory;           // where arrays are wanted, LEAFPROOF_HOST_MEMORY or ..._DEVICE_MEMORY
  int32_t reserved;
  // NULL where questions of such parameters are answered; else why not, a phrase. No context.
  const char* (*why_not)(const leafproof_parameters* parameters);
  // Makes a context, for one thread at a time. There are several where several threads ask; each
  // serves one case or many. Anything but OK is the answer to the case at hand. `reason`: as that
  // of an answer.
  int32_t (*set_up)(const leafproof_environment* environment, void** context, const char** reason);
  int32_t (*run)(void* context, const leafproof_question* question, leafproof_answer* answer);
  void (*tear_down)(void* context);
} leafproof_backend;

// The one function that the library defines and exports. What it returns lives on.
LEAFPROOF_EXPORT const leafproof_backend* leafproof_backend_v1(void);

#ifdef __cplusplus
}
#endif

#endif  // LEAFPROOF_BACKEND_H
