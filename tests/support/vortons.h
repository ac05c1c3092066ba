// The vortons of a flame under test.
#pragma once

#include "methods/vortex_fire/vortex_fire.h"

#include "support/media.h"

static inline kp_vortex_fire *kp_test_vortex_fire(kp_world *world) {
  return kp_test_system(world, &kp_vortex_fire_method);
}

static inline kp_vortex_flame *kp_test_flame(kp_world *world) {
  return &kp_test_vortex_fire(world)->flames.data[0];
}

// Vorton i, counted in the present order, to a place and a vorticity.
static inline void kp_test_vorton(kp_world *world, int64_t i, kp_vec3 x, kp_vec3 w) {
  kp_vortex_flame *f = kp_test_flame(world);
  const double values[3] = { w.x, w.y, w.z };
  kp_test_place(world, "flame", i, x, kp_vec3_make(0, 0, 0));
  for (int c = 0; c < 3; ++c) {
    kp_real *to = kp_buffer_host(&f->vorticity->buffers[c], KP_ACCESS_WRITE);
    to[i] = (kp_real)values[c];
  }
  f->flame.medium.bounds_known = false;
}
