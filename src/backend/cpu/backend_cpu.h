// What the cpu backend is made of. The mirror backend, whose memory is its own but whose processor
// is the same, shares all of it. The contracts are those of par/backend.h; n is never 0 but for a
// scan.
#pragma once

#include "par/backend.h"

kp_result kp_cpu_copy(kp_backend *backend, void *to, const void *from, size_t size);
kp_result kp_cpu_fill(kp_backend *backend, void *memory, int byte, size_t size);
kp_result kp_cpu_launch(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args);
kp_result kp_cpu_reduce(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args,
                        double *values);
kp_result kp_cpu_rows(kp_backend *backend, const kp_kernel *kernel, const kp_row_segment *segments,
                      int64_t n, const void *args);
kp_result kp_cpu_scan(kp_backend *backend, const uint32_t *in, uint32_t *out, int64_t n);
kp_result kp_cpu_sort32(kp_backend *backend, uint32_t *keys, uint32_t *values, int64_t n, int bits);
kp_result kp_cpu_sort64(kp_backend *backend, uint64_t *keys, uint32_t *values, int64_t n, int bits);
kp_result kp_cpu_wait(kp_backend *backend);
