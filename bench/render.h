#pragma once

#include "base/result.h"

// Prints a table; see render.c. threads 0: all of the machine. Rays one by one are measured on the
// CPU alone, pictures by rays on any backend.
KP_NODISCARD kp_result kp_bench_render(int64_t n_triangles, int threads, const char *backend);
