// Every call a second time on the CPU: from the same bits, compared array by array, timed kernel by
// kernel (kelpie bench kernels --backend cuda). Slow on purpose: each call copies all it touches.
//
//   kp_call_check check;
//   KP_TRY(kp_call_check_begin(&check, backend));
//   ... steps ...
//   for (size_t k = 0; k < check.rows.count; ++k) { print(&check.rows.data[k]); }
//   kp_call_check_end(&check);
#pragma once

#include "base/array.h"
#include "data/call.h"

// Largest differences over all calls. `relative` is over the largest magnitude the array had in
// that call, so noise beside large values does not count as an error. A NaN on one side alone is
// infinite.
typedef struct kp_call_difference {
  double absolute, relative;
  int64_t n_items, n_different;  // compared; not bit-equal
} kp_call_difference;

// One array that a kernel wrote, known by where its pointer lies in the arguments.
typedef struct kp_call_written {
  uint32_t offset;
  uint8_t type;  // kp_type
  kp_call_difference difference;
} kp_call_written;

typedef struct kp_call_row {
  const char *name;  // of the kernel
  kp_kernel_kind kind;
  int64_t n_calls, n_skipped;   // skipped: ran on the device alone, it holds pointers nobody bound
  int64_t n_elements, n_bytes;  // summed over calls; bytes of all bound arrays
  double seconds, cpu_seconds;
  kp_call_difference values;  // of a reduction
  KP_ARRAY(kp_call_written) written;
} kp_call_row;

// A copy of one array as it was before the call.
typedef struct kp_call_shadow {
  const kp_buffer *buffer;
  void *memory;
} kp_call_shadow;

typedef struct kp_call_check {
  kp_backend *backend, *cpu;
  kp_call_observer observer;
  KP_ARRAY(kp_call_row) rows;
  KP_ARRAY(kp_call_shadow) shadows;
  size_t n_shadows;     // in use by the call at hand
  void *args, *result;  // arguments for the CPU; what the device wrote
  void *work;           // occupied cells of a pair job
} kp_call_check;

// Observe a backend until the end. The check must not move in between.
KP_NODISCARD kp_result kp_call_check_begin(kp_call_check *check, kp_backend *backend);
void kp_call_check_end(kp_call_check *check);
