// A solid that changes its form, as signed distances and velocities at key times, and what it is
// between them (Selle 2008, section 7.5).
//
// With phi, v at the keys n and n + 1, a time Dt apart, and a in [0, 1] between them, a point looks
// back to the first key and ahead to the second along the mean velocity u = (v(n) + v(n+1))/2:
//
//   phi(x, a) = (1 - a) phi(n)(x - Dt a u) + a phi(n+1)(x + Dt (1 - a) u)
//
// Blending phi in place, (1 - a) phi(n)(x) + a phi(n+1)(x), makes a moving solid shrink or vanish
// between keys; going on from one side, phi(n)(x - Dt a v(n)), jumps at the keys. Both are kept as
// baselines.
#pragma once

#include "base/array.h"
#include "geom/distance_grid.h"
#include "geom/mesh.h"

typedef enum kp_key_blend {
  KP_KEY_TWO_SIDED,
  KP_KEY_LINEAR,
  KP_KEY_ONE_SIDED,
} kp_key_blend;

// The two keys around a time, for kernels: distance, then the three components of the velocity,
// each n[0] n[1] n[2] numbers.
typedef struct kp_key_view {
  kp_distance_view from, to;  // distances
  int64_t stride;             // from one component to the next
  double interval;            // Dt [s]
  double alpha;
  int32_t blend;
} kp_key_view;

KP_FN double kp_key_component(const kp_distance_view *key, int64_t stride, int c,
                              const double p[3]) {
  kp_distance_view v = *key;
  v.values += stride * c;
  // beyond the grid the value of the rim counts
  double q[3];
  for (int k = 0; k < 3; ++k) {
    double last = v.lo[k] + v.cell * (double)(v.n[k] - 1);
    q[k] = p[k] < v.lo[k] ? v.lo[k] : (p[k] > last ? last : p[k]);
  }
  return kp_distance_sample(&v, q[0], q[1], q[2]);
}

// Velocity of the solid at p [m/s].
KP_FN void kp_key_velocity(const kp_key_view *k, const double p[3], double v[3]) {
  for (int c = 0; c < 3; ++c) {
    double a = kp_key_component(&k->from, k->stride, 1 + c, p);
    double b = kp_key_component(&k->to, k->stride, 1 + c, p);
    v[c] = (1.0 - k->alpha) * a + k->alpha * b;
  }
}

// Signed distance at p [m].
KP_FN double kp_key_distance(const kp_key_view *k, const double p[3]) {
  double a = k->alpha;
  double back[3] = { p[0], p[1], p[2] };
  double ahead[3] = { p[0], p[1], p[2] };
  for (int c = 0; c < 3 && k->blend != KP_KEY_LINEAR; ++c) {
    double u = kp_key_component(&k->from, k->stride, 1 + c, p);
    if (k->blend == KP_KEY_TWO_SIDED) {
      u = 0.5 * (u + kp_key_component(&k->to, k->stride, 1 + c, p));
    }
    back[c] -= k->interval * a * u;
    ahead[c] += k->interval * (1.0 - a) * u;
  }
  double from = kp_distance_sample(&k->from, back[0], back[1], back[2]);
  if (k->blend == KP_KEY_ONE_SIDED) {
    return from;
  }
  return (1.0 - a) * from + a * kp_distance_sample(&k->to, ahead[0], ahead[1], ahead[2]);
}

// Keys `interval` apart on one grid.
typedef struct kp_level_set_keys {
  kp_distance_view grid;     // without values
  double start, interval;    // s
  KP_ARRAY(kp_buffer) keys;  // REAL: distance, velocity x, y, z
} kp_level_set_keys;

// Corners `cell` apart over `box`, coarser where that would be more than KP_DISTANCE_CORNERS along
// an axis. All keys share the grid: the box must hold the solid at every key.
KP_NODISCARD kp_result kp_level_set_keys_init(kp_level_set_keys *keys, kp_aabb box, double cell,
                                              double start, double interval);
void kp_level_set_keys_free(kp_level_set_keys *keys);

// Signed distance and velocity of the solid at a point.
typedef double (*kp_key_fn)(kp_vec3 p, kp_vec3 *velocity, void *user);

// Add the next key: from a function that may be called from any thread, or from a closed mesh with
// the velocities of its vertices (NULL: at rest), whose nearest point a corner takes over.
KP_NODISCARD kp_result kp_level_set_keys_add(kp_level_set_keys *keys, kp_backend *backend,
                                             kp_key_fn solid, void *user);
KP_NODISCARD kp_result kp_level_set_keys_add_mesh(kp_level_set_keys *keys, kp_backend *backend,
                                                  const kp_mesh *mesh, const kp_vec3 *velocities);

// The numbers of one such key, 4 n[0] n[1] n[2] of them, for those who keep keys themselves.
KP_NODISCARD kp_result kp_level_set_key_of_mesh(const kp_distance_view *grid, const kp_mesh *mesh,
                                                const kp_vec3 *velocities, kp_real *out);

// The keys around a time, on the host; before the first and after the last nothing moves.
kp_key_view kp_level_set_keys_at(kp_level_set_keys *keys, double time, kp_key_blend blend);

// Which interval a time is in, and where in it.
int64_t kp_level_set_keys_find(const kp_level_set_keys *keys, double time, double *alpha);
