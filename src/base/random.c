#include "base/random.h"

#include <math.h>

#define TWO_PI 6.283185307179586

double kp_rng_normal(uint64_t seed, uint32_t stream, uint64_t id, uint64_t counter) {
  // 1 - u lies in (0, 1], where the logarithm is finite
  double u = 1.0 - kp_rng_uniform(seed, stream, id, 2 * counter);
  double v = kp_rng_uniform(seed, stream, id, 2 * counter + 1);
  return sqrt(-2.0 * log(u)) * cos(TWO_PI * v);
}
