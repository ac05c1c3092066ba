// A mesh that changes its form with time: blend shapes. With x_i the vertices at rest, y_ki those
// of target k, which has the same triangles, and w_k(t) its weight, vertex i is at
//
//   x_i(t) = x_i + sum_k w_k(t) (y_ki - x_i)
//
// All of it follows from the time: a morph has no state.
#pragma once

#include "base/array.h"
#include "geom/shape.h"
#include "kelpie/types.h"

typedef struct kp_morph_target {
  kp_vec3 *offsets;  // m: y_k - x, owned
  double longest;    // m: of the offsets
  kp_curve weight;   // samples not owned
} kp_morph_target;

typedef struct kp_morph {
  kp_mesh mesh;  // at rest, owned
  KP_ARRAY(kp_morph_target) targets;
} kp_morph;

// Of a solid with an end, as a mesh; without targets it keeps its form. Shapes of a formula are cut
// into triangles by their size, so that those of one kind mostly have the same.
KP_NODISCARD kp_result kp_morph_create(const kp_shape *shape, kp_morph **out);
void kp_morph_destroy(kp_morph **morph);

// Fails with KP_ERROR_SCENE where the target has other triangles than the solid at rest.
KP_NODISCARD kp_result kp_morph_add(kp_morph *morph, const kp_shape *target,
                                    const kp_curve *weight);

// Vertices and their velocities (may be NULL) at a time.
void kp_morph_at(const kp_morph *morph, double time, kp_vec3 *x, kp_vec3 *v);

// No vertex is faster at a time [m/s].
double kp_morph_speed(const kp_morph *morph, double time);

// A box that holds it at all times.
kp_aabb kp_morph_bounds(const kp_morph *morph);
