#include "data/call_check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/timer.h"
#include "data/pairs.h"

// A block of at least so many bytes; contents are not kept.
static kp_result provide(void **memory, size_t size) {
  if (*memory != NULL && kp_alloc_size(*memory) >= size) {
    return KP_OK;
  }
  kp_free(*memory);
  *memory = kp_alloc(size, KP_MEMORY_SCRATCH);
  return *memory != NULL ? KP_OK : KP_ERROR_MEMORY;
}

// Bits of the device before the call. An array that is bound twice has one shadow.
static kp_result shadow_of(kp_call_check *check, const kp_buffer *buffer, void **out) {
  for (size_t k = 0; k < check->n_shadows; ++k) {
    if (check->shadows.data[k].buffer == buffer) {
      *out = check->shadows.data[k].memory;
      return KP_OK;
    }
  }
  if (check->n_shadows == check->shadows.count) {
    KP_TRY(kp_array_push(&check->shadows, (kp_call_shadow){ 0 }));
  }
  kp_call_shadow *shadow = &check->shadows.data[check->n_shadows];
  KP_TRY(provide(&shadow->memory, buffer->used));
  KP_TRY(kp_copy_out(check->backend, shadow->memory, buffer->device, buffer->used));
  if (check->tolerance > 0.0) {
    KP_TRY(provide(&shadow->before, buffer->used));
    memcpy(shadow->before, shadow->memory, buffer->used);
  }
  shadow->buffer = buffer;
  ++check->n_shadows;
  *out = shadow->memory;
  return KP_OK;
}

static kp_result shadow_args(kp_call_check *check, const kp_call *call) {
  KP_TRY(provide(&check->args, call->kernel->args_size));
  memcpy(check->args, call->args, call->kernel->args_size);
  for (int k = 0; k < call->n_binds; ++k) {
    const kp_bind *bind = &call->binds[k];
    if (bind->buffer != NULL) {
      void *memory;
      KP_TRY(shadow_of(check, bind->buffer, &memory));
      memcpy((char *)check->args + bind->offset, &memory, sizeof memory);
    }
  }
  return KP_OK;
}

// The view of a cell grid with all its pointers on the host.
static kp_result shadow_view(kp_call_check *check, const kp_cells *cells, kp_cells_view *view) {
  const kp_field *position = cells->set->position;
  const struct {
    size_t offset;
    const kp_buffer *buffer;
  } pointers[] = {
    { offsetof(kp_cells_view, cell_start), &cells->cell_start },
    { offsetof(kp_cells_view, row_start), &cells->row_start },
    { offsetof(kp_cells_view, row_lo), &cells->row_lo },
    { offsetof(kp_cells_view, row_key), &cells->row_key },
    { offsetof(kp_cells_view, order), &cells->order },
    { offsetof(kp_cells_view, x), &position->buffers[0] },
    { offsetof(kp_cells_view, y), &position->buffers[1] },
    { offsetof(kp_cells_view, z), &position->buffers[2] },
  };
  for (size_t k = 0; k < sizeof pointers / sizeof pointers[0]; ++k) {
    void *memory;
    memcpy(&memory, (char *)view + pointers[k].offset, sizeof memory);
    // what the device's view does not use stays NULL
    if (memory != NULL) {
      KP_TRY(shadow_of(check, pointers[k].buffer, &memory));
      memcpy((char *)view + pointers[k].offset, &memory, sizeof memory);
    }
  }
  return KP_OK;
}

// Devices walk slots and have no list of work items (data/cells.h), so one is made here: cells, cut
// where they are too full.
static kp_result list_work(kp_call_check *check, int64_t n_cells, kp_pair_job *job) {
  const uint32_t *start = job->i.cell_start;
  // an item holds one slot at least
  KP_TRY(provide(&check->work, ((size_t)job->i.n + 1) * sizeof *start));
  uint32_t *work = check->work;
  int64_t n_work = 0;
  for (int64_t c = 0; c < n_cells; ++c) {
    for (uint32_t slot = start[c]; slot < start[c + 1]; slot += KP_CELLS_ITEM) {
      work[n_work++] = slot;
    }
  }
  work[n_work] = (uint32_t)job->i.n;
  job->work = work;
  job->n_work = n_work;
  return KP_OK;
}

static kp_result shadow_job(kp_call_check *check, const kp_pair_job *from, kp_pair_job *job) {
  *job = *from;
  KP_TRY(shadow_view(check, from->i_cells, &job->i));
  KP_TRY(shadow_view(check, from->j_cells, &job->j));
  if (from->n_work == 0) {
    return list_work(check, from->i_cells->n_cells, job);
  }
  // where the device has a list, the same one gives the same bits
  void *work;
  KP_TRY(shadow_of(check, &from->i_cells->work, &work));
  job->work = work;
  return KP_OK;
}

static double item_at(const void *items, uint8_t type, size_t i) {
  switch (type) {
  case KP_TYPE_REAL:
    return (double)((const kp_real *)items)[i];
  case KP_TYPE_F32:
    return (double)((const float *)items)[i];
  case KP_TYPE_POS:
  case KP_TYPE_F64:
    return ((const double *)items)[i];
  case KP_TYPE_I32:
    return (double)((const int32_t *)items)[i];
  case KP_TYPE_U32:
    return (double)((const uint32_t *)items)[i];
  case KP_TYPE_U64:
    return (double)((const uint64_t *)items)[i];
  default:
    return (double)((const uint8_t *)items)[i];
  }
}

// Cards flush what is smaller than the smallest normal float to zero, so arrays that hold nothing
// but such leftovers are compared with this.
#define LEFTOVER 1e-30

// Where two arrays differ most; most calls write the same bits, which one look tells. `terms` holds
// the least size an element is compared with; NULL: that of the largest alone.
static void compare(kp_call_difference *difference, const void *device, const void *cpu,
                    uint8_t type, size_t n, const double *terms) {
  size_t item = kp_type_size((kp_type)type);
  if (memcmp(device, cpu, n * item) == 0) {
    return;
  }
  double largest = LEFTOVER;
  for (size_t i = 0; i < n; ++i) {
    double b = fabs(item_at(cpu, type, i));
    largest = isfinite(b) && b > largest ? b : largest;
  }
  for (size_t i = 0; i < n; ++i) {
    if (memcmp((const char *)device + i * item, (const char *)cpu + i * item, item) == 0) {
      continue;
    }
    double a = item_at(device, type, i);
    double b = item_at(cpu, type, i);
    double off = isnan(a) && isnan(b) ? 0.0 : fabs(a - b);
    off = isnan(off) ? HUGE_VAL : off;
    double size = terms != NULL ? fmax(terms[i], largest) : largest;
    ++difference->n_different;
    difference->absolute = fmax(difference->absolute, off);
    if (off / size > difference->relative) {
      difference->relative = off / size;
      difference->worst = (kp_call_worst){ (int64_t)i, a, b, size };
    }
  }
}

// ---- the size of terms
//
// A difference of nearly equal numbers is as large as its rounding, and two machines that round
// otherwise (a card keeps products that it adds unrounded) agree on nothing but that. A kernel is
// right if what it gives is what nearly the same inputs give exactly, so an element is held against
// the terms it consists of: f(x) with every input moved by a share d of itself moves by at most
// d sum |x_k df/dx_k|, which is d times the sum of the magnitudes of its terms where f is a sum. So
// the CPU runs the call again from inputs moved at random, a few times, and the farthest an element
// got, over d, is its size. What a formula loses by itself does not show in that: one that rounds
// more than its answer depends on its inputs stays off, and so does a wrong one.

#define LAST_PLACE (sizeof(kp_real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON)
#define TRIALS 24       // an element that goes one way alone does not move in half of them
#define MOVE 16.0       // units in the last place that inputs are moved by at most
#define ROUNDINGS 16.0  // units in the last place of the terms that an element may be off

// The inputs of a call as they were, reals moved a little.
static void restore(kp_call_check *check, uint64_t seed) {
  for (size_t k = 0; k < check->n_shadows; ++k) {
    const kp_call_shadow *shadow = &check->shadows.data[k];
    uint8_t type = shadow->buffer->type;
    memcpy(shadow->memory, shadow->before, shadow->buffer->used);
    // what floats are computed from doubles is the rounding of differences, which moves with
    // neither
    bool is_moved =
        type == KP_TYPE_REAL || (sizeof(kp_real) == 8 && kp_type_is_real((kp_type)type));
    if (!is_moved) {
      continue;
    }
    size_t n = shadow->buffer->used / kp_type_size((kp_type)type);
    double share = MOVE * LAST_PLACE;
    for (size_t i = 0; i < n; ++i) {
      // anything from -1 to 1: equal moves would cancel in differences
      double move = (double)(kp_hash_mix(seed ^ kp_hash_mix(k << 40 ^ i)) >> 11) * 0x1p-52 - 1.0;
      double factor = 1.0 + share * move;
      ((kp_real *)shadow->memory)[i] *= (kp_real)factor;
    }
  }
}

static kp_result provide_terms(kp_call_check *check) {
  while (check->terms.count < check->n_shadows) {
    KP_TRY(kp_array_push(&check->terms, (kp_call_terms){ 0 }));
  }
  for (size_t k = 0; k < check->n_shadows; ++k) {
    const kp_buffer *buffer = check->shadows.data[k].buffer;
    kp_call_terms *terms = &check->terms.data[k];
    void *size = terms->size;
    size_t n = kp_type_is_real((kp_type)buffer->type)
                   ? buffer->used / kp_type_size((kp_type)buffer->type)
                   : 0;
    KP_TRY(provide(&terms->result, buffer->used));
    kp_result result = provide(&size, (n + 1) * sizeof *terms->size);
    terms->size = size;
    KP_TRY(result);
    memset(terms->size, 0, n * sizeof *terms->size);
    memcpy(terms->result, check->shadows.data[k].memory, buffer->used);
  }
  return KP_OK;
}

static void widen_terms(const kp_call_shadow *shadow, const kp_call_terms *terms) {
  uint8_t type = shadow->buffer->type;
  size_t n =
      kp_type_is_real((kp_type)type) ? shadow->buffer->used / kp_type_size((kp_type)type) : 0;
  double share = MOVE * LAST_PLACE;
  for (size_t i = 0; i < n; ++i) {
    double off = fabs(item_at(shadow->memory, type, i) - item_at(terms->result, type, i));
    terms->size[i] = isfinite(off) ? fmax(terms->size[i], off / share) : terms->size[i];
  }
}

// Least sizes that the elements of this call are compared with, for the tolerance of the check.
static kp_result find_terms(kp_call_check *check, const kp_call_event *second) {
  double values[KP_REDUCE_VALUES];
  kp_call_event again = *second;
  again.values = values;
  KP_TRY(provide_terms(check));
  for (uint64_t trial = 1; trial <= TRIALS; ++trial) {
    restore(check, trial);
    KP_TRY(kp_call_perform(&again));
    for (size_t k = 0; k < check->n_shadows; ++k) {
      widen_terms(&check->shadows.data[k], &check->terms.data[k]);
    }
  }
  double share = ROUNDINGS * LAST_PLACE / check->tolerance;
  for (size_t k = 0; k < check->n_shadows; ++k) {
    const kp_buffer *buffer = check->shadows.data[k].buffer;
    size_t n = kp_type_is_real((kp_type)buffer->type)
                   ? buffer->used / kp_type_size((kp_type)buffer->type)
                   : 0;
    memcpy(check->shadows.data[k].memory, check->terms.data[k].result, buffer->used);
    for (size_t i = 0; i < n; ++i) {
      check->terms.data[k].size[i] *= share;
    }
  }
  return KP_OK;
}

// Results of a reduction. What is left of a sum that cancels is as large as its rounding, so a sum
// is compared with the sum of the magnitudes that went into it.
static void compare_values(kp_call_difference *difference, const double *device,
                           const kp_call *call, const double *cpu, int64_t n) {
  const kp_kernel *kernel = call->kernel;
  double scale[KP_REDUCE_VALUES] = { 0 };
  for (int64_t i = 0; i < n; ++i) {
    double v[KP_REDUCE_VALUES];
    kernel->reduce[kp_isa_current()](i, i + 1, call->args, v);
    for (int k = 0; k < kernel->n_values; ++k) {
      double size = isfinite(v[k]) ? fabs(v[k]) : 0.0;
      bool is_sum = kernel->ops[k] == KP_REDUCE_SUM;
      scale[k] = is_sum ? scale[k] + size : fmax(scale[k], size);
    }
  }
  for (int k = 0; k < kernel->n_values; ++k) {
    bool is_equal = memcmp(&device[k], &cpu[k], sizeof cpu[k]) == 0;
    double off = is_equal || (isnan(device[k]) && isnan(cpu[k])) ? 0.0 : fabs(device[k] - cpu[k]);
    off = isnan(off) ? HUGE_VAL : off;
    difference->n_different += is_equal ? 0 : 1;
    difference->absolute = fmax(difference->absolute, off);
    if (off > 0.0) {
      difference->relative = fmax(difference->relative, off / fmax(scale[k], LEFTOVER));
    }
  }
  difference->n_items += kernel->n_values;
}

static kp_result find_row(kp_call_check *check, const kp_kernel *kernel, kp_call_row **out) {
  for (size_t k = 0; k < check->rows.count; ++k) {
    if (strcmp(check->rows.data[k].name, kernel->name) == 0) {
      *out = &check->rows.data[k];
      return KP_OK;
    }
  }
  KP_TRY(kp_array_push(&check->rows, (kp_call_row){ .name = kernel->name, .kind = kernel->kind }));
  *out = &check->rows.data[check->rows.count - 1];
  return KP_OK;
}

static kp_result find_written(kp_call_row *row, const kp_bind *bind, kp_call_written **out) {
  for (size_t k = 0; k < row->written.count; ++k) {
    if (row->written.data[k].offset == bind->offset) {
      *out = &row->written.data[k];
      return KP_OK;
    }
  }
  kp_call_written written = { .offset = bind->offset, .type = bind->buffer->type };
  KP_TRY(kp_array_push(&row->written, written));
  *out = &row->written.data[row->written.count - 1];
  return KP_OK;
}

static void join(kp_call_difference *all, const kp_call_difference *one) {
  all->n_items += one->n_items;
  all->n_different += one->n_different;
  all->absolute = fmax(all->absolute, one->absolute);
  if (one->relative > all->relative) {
    all->relative = one->relative;
    all->worst = one->worst;
  }
}

// Which shadow an array has; there is one for every array that is bound.
static size_t shadow_number(const kp_call_check *check, const kp_buffer *buffer) {
  size_t k = 0;
  while (check->shadows.data[k].buffer != buffer) {
    ++k;
  }
  return k;
}

static kp_result compare_written(kp_call_check *check, kp_call_row *row, const kp_call *call,
                                 const kp_call_event *second) {
  bool has_terms = false;
  for (int k = 0; k < call->n_binds; ++k) {
    const kp_bind *bind = &call->binds[k];
    if (bind->buffer == NULL || bind->access == KP_ACCESS_READ) {
      continue;
    }
    const kp_buffer *buffer = bind->buffer;
    size_t shadow = shadow_number(check, buffer);
    const void *cpu = check->shadows.data[shadow].memory;
    kp_call_written *written;
    KP_TRY(find_written(row, bind, &written));
    KP_TRY(provide(&check->result, buffer->used));
    KP_TRY(kp_copy_out(check->backend, check->result, buffer->device, buffer->used));
    // a back buffer serves fields of several types: take the one it has now
    size_t n = buffer->used / kp_type_size((kp_type)buffer->type);
    kp_call_difference difference = { .n_items = (int64_t)n };
    compare(&difference, check->result, cpu, buffer->type, n, NULL);
    // the terms are those of numbers as wide as reals
    bool has_size = check->tolerance > 0.0 && kp_type_is_real((kp_type)buffer->type) &&
                    (buffer->type != KP_TYPE_F32 || sizeof(kp_real) == sizeof(float));
    if (has_size && difference.relative > check->tolerance) {
      KP_TRY(has_terms ? KP_OK : find_terms(check, second));
      has_terms = true;
      difference = (kp_call_difference){ .n_items = (int64_t)n };
      compare(&difference, check->result, cpu, buffer->type, n, check->terms.data[shadow].size);
    }
    join(&written->difference, &difference);
  }
  return KP_OK;
}

static kp_result perform_timed(const kp_call_event *event, double *seconds) {
  KP_TRY(kp_wait(event->backend));
  double begin = kp_time_now();
  KP_TRY(kp_call_perform(event));
  KP_TRY(kp_wait(event->backend));
  *seconds += kp_time_now() - begin;
  return KP_OK;
}

static int64_t elements_of(const kp_call_event *event) {
  return event->job != NULL ? event->job->i.n : event->n;
}

static void count(kp_call_row *row, const kp_call_event *event) {
  ++row->n_calls;
  row->n_elements += elements_of(event);
  for (int k = 0; k < event->call->n_binds; ++k) {
    const kp_buffer *buffer = event->call->binds[k].buffer;
    row->n_bytes += buffer != NULL ? (int64_t)buffer->used : 0;
  }
}

static kp_result around(const kp_call_event *event, void *user) {
  kp_call_check *check = user;
  kp_call *call = event->call;
  kp_call_row *row;
  KP_TRY(kp_call_prepare(event));
  KP_TRY(find_row(check, call->kernel, &row));
  count(row, event);
  if (call->has_unbound) {
    ++row->n_skipped;
    return kp_call_perform(event);
  }
  if (check->every > 0 && row->n_calls > check->all && row->n_calls % check->every != 0) {
    return kp_call_perform(event);
  }
  ++row->n_compared;
  row->n_timed += elements_of(event);

  // the same call for the cpu, on copies of the bits the device is about to see
  check->n_shadows = 0;
  KP_TRY(shadow_args(check, call));
  kp_pair_job job;
  double values[KP_REDUCE_VALUES];
  kp_call twin = *call;
  twin.args = check->args;
  kp_call_event second = { .backend = check->cpu, .call = &twin, .n = event->n, .values = values };
  if (event->job != NULL) {
    KP_TRY(shadow_job(check, event->job, &job));
    second.job = &job;
  }
  if (event->list != NULL) {
    void *segments;
    KP_TRY(shadow_of(check, event->list, &segments));
    second.segments = segments;
  }
  KP_TRY(perform_timed(event, &row->seconds));
  KP_TRY(perform_timed(&second, &row->cpu_seconds));
  if (event->values != NULL) {
    compare_values(&row->values, event->values, &twin, values, event->n);
  }
  return compare_written(check, row, call, &second);
}

kp_result kp_call_check_begin(kp_call_check *check, kp_backend *backend) {
  *check = (kp_call_check){ .backend = backend };
  KP_TRY(kp_backend_create(KP_BACKEND_CPU, &check->cpu));
  check->observer = (kp_call_observer){ .around = around, .user = check };
  backend->observer = &check->observer;
  return KP_OK;
}

void kp_call_check_end(kp_call_check *check) {
  check->backend->observer = NULL;
  for (size_t k = 0; k < check->rows.count; ++k) {
    kp_array_free(&check->rows.data[k].written);
  }
  for (size_t k = 0; k < check->shadows.count; ++k) {
    kp_free(check->shadows.data[k].memory);
    kp_free(check->shadows.data[k].before);
  }
  for (size_t k = 0; k < check->terms.count; ++k) {
    kp_free(check->terms.data[k].result);
    kp_free(check->terms.data[k].size);
  }
  kp_array_free(&check->terms);
  kp_array_free(&check->rows);
  kp_array_free(&check->shadows);
  kp_free(check->args);
  kp_free(check->result);
  kp_free(check->work);
  kp_backend_destroy(&check->cpu);
}
