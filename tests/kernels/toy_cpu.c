#include "math/wide.h"
#include "par/kernel_cpu.h"

#include "kernels/toy_kernels.h"
#include "kernels/toy_lanes.h"

TOY_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
TOY_TEAM_KERNELS(KP_CPU_TEAM)

static inline void store(kp_real *out, kp_w lanes) {
  *(kp_w *)out = lanes;
}

// One register's worth of the lanes of element i.
static inline kp_w toy_lanes_part(int64_t at, const toy_lanes_args *args) {
  kp_w a = kp_w_load(args->a + at);
  kp_w b = kp_w_load(args->b + at);
  kp_w one = kp_w_splat(1);
  kp_wmask is_less = kp_w_less(a, b);
  store(args->less_select + at, kp_w_select(is_less, a, kp_w_splat(-1)));
  store(args->both + at, kp_w_select(kp_w_and(is_less, kp_w_less(one, b)), one, a));
  store(args->smaller + at, kp_w_min(a, b));
  store(args->larger + at, kp_w_max(a, b));
  store(args->root + at, kp_w_sqrt(a * a + b * b));
  store(args->arithmetic + at, (a + b) * (a - b) / (one + b * b));
  return a;
}

static inline void toy_lanes(int64_t i, const toy_lanes_args *args) {
  kp_w sum[KP_W_PARTS];
  kp_w largest[KP_W_PARTS];
  for (int p = 0; p < KP_W_PARTS; ++p) {
    sum[p] = toy_lanes_part(i * KP_LANES + p * KP_W_LANES, args);
    largest[p] = sum[p];
  }
  // the parts are folded as the pair driver does it
  for (int half = KP_W_PARTS / 2; half > 0; half /= 2) {
    for (int p = 0; p < half; ++p) {
      sum[p] += sum[p + half];
      largest[p] = kp_w_max(largest[p], largest[p + half]);
    }
  }
  args->sum[i] = kp_w_sum(sum[0]);
  args->largest[i] = kp_w_largest(largest[0]);
}

KP_CPU_POINT(toy, lanes)
