// The mirror backend: a "device" whose memory is apart from the host's but whose kernels run on the
// CPU. Code that forgets to copy, or uses device memory it gave back, fails here on any machine.
#include <string.h>

#include "backend/cpu/backend_cpu.h"
#include "backend/cpu/pairs_cpu.h"
#include "base/memory.h"

// NaN as a real, -1 or a huge number as an integer.
#define POISON 0xff

static kp_result open_mirror(kp_backend *backend) {
  (void)backend;
  return KP_OK;
}

static void close_mirror(kp_backend *backend) {
  (void)backend;
}

static void *alloc_mirror(kp_backend *backend, size_t size) {
  void *memory = kp_alloc(size, KP_MEMORY_DEVICE);
  if (memory != NULL) {
    memset(memory, POISON, size);
    backend->counters.device_bytes += (int64_t)size;
  }
  return memory;
}

static void free_mirror(kp_backend *backend, void *memory) {
  size_t size = kp_alloc_size(memory);
  backend->counters.device_bytes -= (int64_t)size;
  memset(memory, POISON, size);
  kp_free(memory);
}

const kp_backend_class kp_backend_mirror = {
  .name = "mirror",
  .kind = KP_BACKEND_MIRROR,
  .shares_host_memory = false,
  .open = open_mirror,
  .close = close_mirror,
  .alloc = alloc_mirror,
  .free = free_mirror,
  .copy_in = kp_cpu_copy,
  .copy_out = kp_cpu_copy,
  .copy = kp_cpu_copy,
  .fill = kp_cpu_fill,
  .launch = kp_cpu_launch,
  .reduce = kp_cpu_reduce,
  .rows = kp_cpu_rows,
  .pairs = kp_cpu_pairs,
  .scan = kp_cpu_scan,
  .sort32 = kp_cpu_sort32,
  .sort64 = kp_cpu_sort64,
  .wait = kp_cpu_wait,
};
