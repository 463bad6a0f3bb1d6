// A whole backend in C99: three passes and kernel maps, on sorted lists of voxels. What it does not
// do it says, and sorted_lists.skips lists it with the reason.
//
//     leafproof verify --backend ./libsorted_lists.so --skips sorted_lists.skips
#include <leafproof_backend.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A voxel of a member, and its row.
typedef struct {
  int64_t member, row;
  int32_t x[3];
} site;

typedef struct {
  site* at;
  int64_t count, room;
  int32_t status;  // what first went wrong
} sites;

static void push(sites* list, int64_t member, int64_t row, const int64_t x[3]) {
  for (int a = 0; a < 3; ++a)
    if (x[a] < INT32_MIN || x[a] > INT32_MAX) list->status = LEAFPROOF_OUT_OF_RANGE;  // [L-5]
  if (list->status == LEAFPROOF_OK && list->count == list->room) {
    const int64_t room = 2 * list->room + 1024;
    site* const at = realloc(list->at, (size_t)room * sizeof(site));
    if (at == NULL) list->status = LEAFPROOF_OUT_OF_MEMORY;
    if (at != NULL) list->at = at, list->room = room;
  }
  if (list->status != LEAFPROOF_OK) return;
  site* const s = &list->at[list->count++];
  s->member = member;
  s->row = row;
  for (int a = 0; a < 3; ++a) s->x[a] = (int32_t)x[a];
}

static int compare(const void* left, const void* right) {
  const site *l = left, *r = right;
  if (l->member != r->member) return l->member < r->member ? -1 : 1;
  for (int a = 0; a < 3; ++a)
    if (l->x[a] != r->x[a]) return l->x[a] < r->x[a] ? -1 : 1;
  return 0;
}

static void sort(sites* list) {
  if (list->count > 0) qsort(list->at, (size_t)list->count, sizeof(site), compare);
}

// Sorted, each once, with rows in that order.
static void make_set(sites* list) {
  int64_t kept = 0;
  sort(list);
  for (int64_t i = 0; i < list->count; ++i)
    if (kept == 0 || compare(&list->at[i], &list->at[kept - 1]) != 0) {
      list->at[kept] = list->at[i];
      list->at[kept].row = kept;
      ++kept;
    }
  list->count = kept;
}

// The member that a view has in this place [T-9]; without a view the place itself.
static int64_t selected(const leafproof_view* view, int64_t place) {
  return view != NULL ? view->members[place] : place;
}

static void read_batch(sites* list, const leafproof_batch* batch, const leafproof_view* view,
                       int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    const int64_t m = selected(view, k);
    for (int64_t i = batch->offsets[m]; i < batch->offsets[m + 1]; ++i) {
      const int32_t* const v = &batch->voxels[3 * i];
      const int64_t x[3] = {v[0], v[1], v[2]};
      push(list, k, list->count, x);
    }
  }
}

// Maps and names are not kept, but bad ones must be refused [G-7]. `finer`: sizes are divided.
static int maps_are_good(const leafproof_batch* b, const leafproof_view* view, int64_t count,
                         const int64_t factor[3], int finer) {
  for (int64_t k = 0; k < count; ++k) {
    const int64_t m = selected(view, k), name = b->name_offsets[m];
    const int64_t length = b->name_offsets[m + 1] - name;
    if (length > 255 || memchr(&b->names[name], 0, (size_t)length) != NULL) return 0;
    for (int a = 0; a < 3; ++a) {
      const double size = b->voxel_sizes[3 * m + a], f = (double)factor[a];
      const double after = finer ? size / f : size * f;
      if (!(size > 0 && after > 0 && isfinite(size + after + b->origins[3 * m + a]))) return 0;
    }
  }
  return 1;
}

static int64_t floor_div(int64_t n, int64_t d) {
  return n / d - (n % d < 0);
}

// All of factor * s + lo ... hi.
static void spread(sites* out, const site* s, const int64_t factor[3], const int64_t lo[3],
                   const int64_t hi[3]) {
  int64_t d[3], x[3];
  for (int a = 0; a < 3; ++a)
    if (lo[a] < -(INT64_C(1) << 33) || hi[a] > INT64_C(1) << 33)
      out->status = LEAFPROOF_OUT_OF_RANGE;
  for (d[0] = lo[0]; d[0] <= hi[0] && out->status == LEAFPROOF_OK; ++d[0])
    for (d[1] = lo[1]; d[1] <= hi[1]; ++d[1])
      for (d[2] = lo[2]; d[2] <= hi[2]; ++d[2]) {
        for (int a = 0; a < 3; ++a) x[a] = factor[a] * s->x[a] + d[a];
        push(out, s->member, 0, x);
      }
}

// The voxel that tap t joins s to; 0 where there is none. fine = S coarse + D t - P [K-1]
static int partner(const leafproof_parameters* p, const int64_t t[3], const site* s, int64_t x[3]) {
  for (int a = 0; a < 3; ++a) {
    const int64_t S = p->stride[a], D = p->dilation[a], P = D * (p->kernel_size[a] - 1) / 2;
    const int64_t fine = s->x[a] - D * t[a] + P;
    x[a] = p->transposed ? S * s->x[a] + D * t[a] - P : floor_div(fine, S);
    if (!p->transposed && S * x[a] != fine) return 0;
  }
  return 1;
}

// A sorted set, as two arrays of the answer.
static int32_t write_set(const sites* set, int64_t members, leafproof_answer* answer,
                         int32_t offsets_array, int32_t voxels_array) {
  const int64_t ends[1] = {members + 1}, shape[2] = {set->count, 3};
  int64_t* const offsets = answer->allocate(answer, offsets_array, LEAFPROOF_INT64, 1, ends);
  int32_t* const voxels = answer->allocate(answer, voxels_array, LEAFPROOF_INT32, 2, shape);
  if (offsets == NULL || voxels == NULL) return LEAFPROOF_OUT_OF_MEMORY;
  for (int64_t m = 0, i = 0; m <= members; ++m) {
    while (i < set->count && set->at[i].member < m) ++i;
    offsets[m] = i;
  }
  for (int64_t i = 0; i < set->count; ++i) memcpy(&voxels[3 * i], set->at[i].x, sizeof(int32_t[3]));
  return LEAFPROOF_OK;
}

static int32_t pass(const leafproof_question* q, leafproof_answer* answer, int64_t members) {
  static const int64_t zero[3] = {0, 0, 0};
  const leafproof_parameters* const p = q->parameters;
  const int finer = p->operation == LEAFPROOF_REFINE, boxes = p->operation == LEAFPROOF_DILATE_BOX;
  int64_t top[3];
  for (int a = 0; a < 3; ++a) {
    if (p->factor[a] < 1 || p->lo[a] > p->hi[a]) return LEAFPROOF_INVALID_ARGUMENT;
    if (finer && p->factor[a] > 1024) return LEAFPROOF_UNSUPPORTED;
    if ((uint64_t)p->hi[a] - (uint64_t)p->lo[a] >= 1024) return LEAFPROOF_UNSUPPORTED;
    top[a] = p->factor[a] - 1;
  }
  if (!maps_are_good(q->source, q->view, members, p->factor, finer))
    return LEAFPROOF_INVALID_ARGUMENT;
  sites source = {0}, result = {0};
  read_batch(&source, q->source, q->view, members);
  for (int64_t i = 0; i < source.count && result.status == LEAFPROOF_OK; ++i) {
    const site* const s = &source.at[i];
    int64_t x[3];
    if (finer || boxes) {
      spread(&result, s, p->factor, boxes ? p->lo : zero, boxes ? p->hi : top);
    } else {
      for (int a = 0; a < 3; ++a) x[a] = floor_div(s->x[a], p->factor[a]);
      push(&result, s->member, 0, x);
    }
  }
  make_set(&result);
  int32_t status = source.status != LEAFPROOF_OK ? source.status : result.status;
  if (status == LEAFPROOF_OK)
    status = write_set(&result, members, answer, LEAFPROOF_OFFSETS, LEAFPROOF_VOXELS);
  answer->order = LEAFPROOF_OWN_ORDER;
  free(source.at);
  free(result.at);
  return status;
}

// Of tap t the pairs, into `gather` and `scatter` unless those are NULL. How many there are.
static int64_t pairs_of_tap(const leafproof_parameters* p, const int64_t t[3], const sites* source,
                            const sites* target, int64_t* gather, int64_t* scatter) {
  int64_t count = 0, x[3];
  for (int64_t i = 0; i < source->count && target->count > 0; ++i) {
    if (!partner(p, t, &source->at[i], x)) continue;
    const site wanted = {source->at[i].member, 0, {(int32_t)x[0], (int32_t)x[1], (int32_t)x[2]}};
    if (wanted.x[0] != x[0] || wanted.x[1] != x[1] || wanted.x[2] != x[2]) continue;  // [K-6]
    const site* const found =
        bsearch(&wanted, target->at, (size_t)target->count, sizeof(site), compare);
    if (found == NULL) continue;
    if (gather != NULL) gather[count] = source->at[i].row;
    if (scatter != NULL) scatter[count] = found->row;
    ++count;
  }
  return count;
}

// The next tap in the order of [K-2]; 0 after the last.
static int next_tap(const leafproof_parameters* p, int64_t t[3]) {
  for (int a = 2; a >= 0; --a) {
    if (++t[a] < p->kernel_size[a]) return 1;
    t[a] = 0;
  }
  return 0;
}

static int32_t write_map(const leafproof_parameters* p, const sites* source, const sites* target,
                         int64_t taps, leafproof_answer* answer) {
  int64_t t[3] = {0, 0, 0}, tap = 0, pairs = 0;
  const int64_t ends = taps + 1;
  int64_t* const offsets =
      answer->allocate(answer, LEAFPROOF_TAP_OFFSETS, LEAFPROOF_INT64, 1, &ends);
  if (offsets == NULL) return LEAFPROOF_OUT_OF_MEMORY;
  do offsets[tap++] = pairs, pairs += pairs_of_tap(p, t, source, target, NULL, NULL);
  while (next_tap(p, t));
  offsets[taps] = pairs;
  int64_t* const gather = answer->allocate(answer, LEAFPROOF_GATHER, LEAFPROOF_INT64, 1, &pairs);
  int64_t* const scatter = answer->allocate(answer, LEAFPROOF_SCATTER, LEAFPROOF_INT64, 1, &pairs);
  if (gather == NULL || scatter == NULL) return LEAFPROOF_OUT_OF_MEMORY;
  tap = 0;
  do pairs_of_tap(p, t, source, target, &gather[offsets[tap]], &scatter[offsets[tap]]), ++tap;
  while (next_tap(p, t));
  return LEAFPROOF_OK;
}

static int32_t kernel_map(const leafproof_question* q, leafproof_answer* answer, int64_t members) {
  const leafproof_parameters* const p = q->parameters;
  const leafproof_batch* const given = q->target;
  int64_t taps = 1, t[3] = {0, 0, 0}, x[3];
  for (int a = 0; a < 3; ++a)
    if (p->kernel_size[a] < 1 || p->stride[a] < 1 || p->dilation[a] < 1)
      return LEAFPROOF_INVALID_ARGUMENT;
  for (int a = 0; a < 3; ++a) {  // [K-7]
    if (p->kernel_size[a] > 128 || p->stride[a] > 64 || p->dilation[a] > 16)
      return LEAFPROOF_UNSUPPORTED;
    taps *= p->kernel_size[a];
  }
  if (taps > 4096) return LEAFPROOF_UNSUPPORTED;
  if (given != NULL && given->members != members) return LEAFPROOF_SHAPE_MISMATCH;
  if (given == NULL && !maps_are_good(q->source, q->view, members, p->stride, p->transposed))
    return LEAFPROOF_INVALID_ARGUMENT;
  sites source = {0}, target = {0};
  read_batch(&source, q->source, q->view, members);
  if (given != NULL) {
    read_batch(&target, given, NULL, members);
    sort(&target);
  } else {
    do
      for (int64_t i = 0; i < source.count; ++i)
        if (partner(p, t, &source.at[i], x)) push(&target, source.at[i].member, 0, x);
    while (next_tap(p, t));
    make_set(&target);
  }
  int32_t status = source.status != LEAFPROOF_OK ? source.status : target.status;
  if (status == LEAFPROOF_OK) status = write_map(p, &source, &target, taps, answer);
  if (status == LEAFPROOF_OK && given == NULL)  // rows of our own [M-7]
    status = write_set(&target, members, answer, LEAFPROOF_TARGET_OFFSETS, LEAFPROOF_TARGET_VOXELS);
  free(source.at);
  free(target.at);
  return status;
}

static const char* why_not(const leafproof_parameters* p) {
  if (p->operation == LEAFPROOF_KERNEL_MAP) return p->dense ? "no dense maps" : NULL;
  if (p->given & LEAFPROOF_GIVEN_MASK) return "no masks";
  const int known = p->operation == LEAFPROOF_COARSEN || p->operation == LEAFPROOF_REFINE ||
                    p->operation == LEAFPROOF_DILATE_BOX;
  return known ? NULL : "lists of voxels only";
}

static int32_t set_up(const leafproof_environment* environment, void** context,
                      const char** reason) {
  (void)environment, (void)reason;
  *context = NULL;  // nothing is kept between two questions
  return LEAFPROOF_OK;
}

static int32_t run(void* context, const leafproof_question* q, leafproof_answer* answer) {
  (void)context;
  const int64_t members = q->view != NULL ? q->view->count : q->source->members;
  for (int64_t k = 0; k < members; ++k)
    if (selected(q->view, k) < 0 || selected(q->view, k) >= q->source->members)
      return LEAFPROOF_INVALID_ARGUMENT;
  return q->parameters->operation == LEAFPROOF_KERNEL_MAP ? kernel_map(q, answer, members)
                                                          : pass(q, answer, members);
}

static void tear_down(void* context) {
  (void)context;
}

const leafproof_backend* leafproof_backend_v1(void) {
  static const leafproof_backend backend = {
      .abi_version = LEAFPROOF_ABI_VERSION,
      .size = sizeof(leafproof_backend),
      .name = "sorted_lists 1.0",
      .description = "three passes and kernel maps in C, on sorted lists of voxels",
      .memory = LEAFPROOF_HOST_MEMORY,
      .why_not = why_not,
      .set_up = set_up,
      .run = run,
      .tear_down = tear_down,
  };
  return &backend;
}
