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

// An element that differs, and the largest of its array on the CPU.
typedef struct kp_call_worst {
  int64_t index;
  double device, cpu, largest;
} kp_call_worst;

// Largest differences over all calls. `relative` is over the largest magnitude the array had in
// that call, so noise beside large values does not count as an error, or over the size of the terms
// that made the element, where that gives more (kp_call_check.tolerance). A NaN on one side alone
// is infinite.
typedef struct kp_call_difference {
  double absolute, relative;
  int64_t n_items, n_different;  // compared; not bit-equal
  kp_call_worst worst;           // behind `relative`
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
  int64_t n_calls, n_skipped;  // skipped: ran on the device alone, it holds pointers nobody bound
  int64_t n_compared;
  int64_t n_elements, n_bytes;  // summed over calls; bytes of all bound arrays
  double seconds, cpu_seconds;  // of the calls that were compared
  int64_t n_timed;              // their elements
  kp_call_difference values;    // of a reduction
  KP_ARRAY(kp_call_written) written;
} kp_call_row;

// A copy of one array as it was before the call, for the CPU to work on, and another to go back to.
typedef struct kp_call_shadow {
  const kp_buffer *buffer;
  void *memory, *before;
} kp_call_shadow;

// What the CPU wrote into one array, and how far its elements move with the inputs.
typedef struct kp_call_terms {
  void *result;
  double *size;
} kp_call_terms;

typedef struct kp_call_check {
  kp_backend *backend, *cpu;
  kp_call_observer observer;
  KP_ARRAY(kp_call_row) rows;
  KP_ARRAY(kp_call_shadow) shadows;
  size_t n_shadows;     // in use by the call at hand
  void *args, *result;  // arguments for the CPU; what the device wrote
  void *work;           // occupied cells of a pair job
  // Of each kernel the first `all` calls are compared and then every `every`th; 0: all of them.
  int64_t all, every;
  // Where an array differs by more than this from what the CPU wrote, differences are held against
  // the terms that its elements consist of; 0: never, bits are equal or they are not.
  double tolerance;
  KP_ARRAY(kp_call_terms) terms;  // by shadow
} kp_call_check;

// Observe a backend until the end. The check must not move in between.
KP_NODISCARD kp_result kp_call_check_begin(kp_call_check *check, kp_backend *backend);
void kp_call_check_end(kp_call_check *check);
