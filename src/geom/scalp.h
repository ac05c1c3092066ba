// Roots on a surface: random points spread by their density, then evened out by letting them push
// each other along the surface (Turk 1991, "Generating textures on arbitrary surfaces using
// reaction-diffusion", section 4). Serial; a pure function of the arguments.
#pragma once

#include "base/array.h"
#include "geom/mesh_query.h"

typedef struct kp_scalp_root {
  kp_vec3 position;
  kp_vec3 normal;     // of the surface, unit, interpolated between its corners
  kp_index triangle;  // the root lies in
  double weights[3];  // barycentric
} kp_scalp_root;

typedef KP_ARRAY(kp_scalp_root) kp_scalp_roots;

// How dense roots are at a point of the surface, 0 to 1; NULL: 1 everywhere.
typedef double (*kp_scalp_density_fn)(kp_vec3 p, kp_vec3 normal, void *user);

typedef struct kp_scalp_def {
  int64_t count;   // of roots
  int iterations;  // of pushing
  uint64_t seed;
  kp_scalp_density_fn density;
  void *user;
} kp_scalp_def;

// Appends `count` roots. Fails with KP_ERROR_SCENE where the density leaves no room for them.
KP_NODISCARD kp_result kp_scalp_seed(const kp_mesh_query *surface, const kp_scalp_def *def,
                                     kp_scalp_roots *roots);

// Roots in the order of a curve that fills space (Morton 1966): those that are near each other get
// numbers that are near each other, and so do the hairs that grow from them.
KP_NODISCARD kp_result kp_scalp_order(kp_scalp_roots *roots);
