// Random points, as plain functions that kernels may call too. A value depends on the key and
// nothing else: equal for any number of threads, in any order, after any restart.
#pragma once

#include <math.h>

#include "base/random.h"
#include "geom/frame.h"

#define KP_SAMPLER_TURN 6.28318530717958647693  // 2 pi

// Which random number. Uses counters 4 counter ... 4 counter + 3 of the stream.
typedef struct kp_sampler_key {
  uint64_t seed;
  uint32_t stream;  // kp_rng_stream
  uint64_t id;
  uint64_t counter;
} kp_sampler_key;

KP_FN double kp_sampler_uniform(kp_sampler_key key, uint64_t i) {
  return kp_rng_uniform(key.seed, key.stream, key.id, 4 * key.counter + i);
}

// Uniform unit vector: height uniform on the axis, angle uniform around it (Archimedes).
// Listing 6.1 of Lyes 2015 swaps the two angles, which crowds the poles.
KP_FN kp_vec3 kp_sampler_direction(kp_sampler_key key) {
  double z = 1.0 - 2.0 * kp_sampler_uniform(key, 0);
  double angle = KP_SAMPLER_TURN * kp_sampler_uniform(key, 1);
  double r2 = 1.0 - z * z;
  double r = sqrt(r2 > 0.0 ? r2 : 0.0);
  return kp_vec3_make(r * cos(angle), r * sin(angle), z);
}

// Uniform in a ball: cube-root radius, isotropic direction (Lyes, feature L6).
KP_FN kp_vec3 kp_sampler_ball(kp_sampler_key key, kp_vec3 center, double radius) {
  return kp_vec3_madd(center, radius * cbrt(kp_sampler_uniform(key, 2)), kp_sampler_direction(key));
}

typedef enum kp_disc_kind {
  KP_DISC_UNIFORM,    // radius sqrt(u): even over the area
  KP_DISC_CLUSTERED,  // radius u: denser at the centre, as printed in Lyes, listing 3.2
  KP_DISC_KIND_COUNT
} kp_disc_kind;

KP_FN kp_vec3 kp_sampler_disc(kp_sampler_key key, kp_vec3 center, kp_vec3 normal, double radius,
                              kp_disc_kind kind) {
  kp_vec3 u, v;
  kp_frame_make(kp_vec3_normalize(normal), &u, &v);
  double share = kp_sampler_uniform(key, 0);
  double r = radius * (kind == KP_DISC_CLUSTERED ? share : sqrt(share));
  double angle = KP_SAMPLER_TURN * kp_sampler_uniform(key, 1);
  return kp_vec3_madd(kp_vec3_madd(center, r * cos(angle), u), r * sin(angle), v);
}

// Uniform in a box.
KP_FN kp_vec3 kp_sampler_cube(kp_sampler_key key, kp_aabb box) {
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  return kp_vec3_make(box.min.x + size.x * kp_sampler_uniform(key, 0),
                      box.min.y + size.y * kp_sampler_uniform(key, 1),
                      box.min.z + size.z * kp_sampler_uniform(key, 2));
}
