// What the lanes of kp_wide do, written out for a test: CPU only, because on a card a lane is a
// thread.
#pragma once

#include "kelpie/config.h"

typedef struct toy_lanes_args {
  const kp_real *a, *b;  // 16 per element, aligned
  kp_real *less_select, *smaller, *larger, *root, *arithmetic, *both;
  kp_real *sum, *largest;  // one per element
} toy_lanes_args;

void toy_lanes_cpu_base(int64_t begin, int64_t end, const void *args);
void toy_lanes_cpu_v3(int64_t begin, int64_t end, const void *args);
void toy_lanes_cpu_v4(int64_t begin, int64_t end, const void *args);
