#include "data/call_check.h"

#include <math.h>
#include <string.h>

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

static void compare(kp_call_difference *difference, const void *device, const void *cpu,
                    uint8_t type, size_t n) {
  size_t item = kp_type_size((kp_type)type);
  double largest = 0.0;
  double worst = 0.0;
  for (size_t i = 0; i < n; ++i) {
    double a = item_at(device, type, i);
    double b = item_at(cpu, type, i);
    bool is_equal =
        memcmp((const char *)device + i * item, (const char *)cpu + i * item, item) == 0;
    difference->n_different += is_equal ? 0 : 1;
    double off = is_equal || (isnan(a) && isnan(b)) ? 0.0 : fabs(a - b);
    worst = fmax(worst, isnan(off) ? HUGE_VAL : off);
    largest = fmax(largest, isfinite(b) ? fabs(b) : 0.0);
  }
  difference->n_items += (int64_t)n;
  difference->absolute = fmax(difference->absolute, worst);
  if (worst > 0.0) {
    difference->relative = fmax(difference->relative, worst / fmax(largest, LEFTOVER));
  }
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

static kp_result compare_written(kp_call_check *check, kp_call_row *row, const kp_call *call) {
  for (int k = 0; k < call->n_binds; ++k) {
    const kp_bind *bind = &call->binds[k];
    if (bind->buffer == NULL || bind->access == KP_ACCESS_READ) {
      continue;
    }
    const kp_buffer *buffer = bind->buffer;
    void *cpu;
    kp_call_written *written;
    KP_TRY(shadow_of(check, buffer, &cpu));
    KP_TRY(find_written(row, bind, &written));
    KP_TRY(provide(&check->result, buffer->used));
    KP_TRY(kp_copy_out(check->backend, check->result, buffer->device, buffer->used));
    // a back buffer serves fields of several types: take the one it has now
    compare(&written->difference, check->result, cpu, buffer->type,
            buffer->used / kp_type_size((kp_type)buffer->type));
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

static void count(kp_call_row *row, const kp_call_event *event) {
  ++row->n_calls;
  row->n_elements += event->job != NULL ? event->job->i.n : event->n;
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
    return perform_timed(event, &row->seconds);
  }

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
  return compare_written(check, row, call);
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
  }
  kp_array_free(&check->rows);
  kp_array_free(&check->shadows);
  kp_free(check->args);
  kp_free(check->result);
  kp_free(check->work);
  kp_backend_destroy(&check->cpu);
}
