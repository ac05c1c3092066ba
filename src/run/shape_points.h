// Points all over the visible shapes of a world, where a quick picture (render/live.h) draws them:
// made once, and placed anew only when their body has moved or changes its form.
#pragma once

#include "data/buffer.h"
#include "run/shape_meshes.h"

typedef struct kp_shape_points {
  kp_index body;
  const struct kp_morph *morph;  // NULL: it keeps its form
  int64_t n;
  int *cuts;                  // of the edges of each triangle
  kp_vec3 *places, *normals;  // relative to the body's centre, body axes
  kp_buffer position[3];      // POS, in the world
  kp_buffer light;            // REAL, 0..1: how far a point faces the sun
  kp_frame3 frame;            // of the body where they were placed
  double time;                // s, when
  bool is_placed;
} kp_shape_points;

typedef struct kp_shape_cloud {
  KP_ARRAY(kp_shape_points) items;
} kp_shape_cloud;

// Points no farther apart than `spacing` [m]; those of a shape that changes its form, at rest.
KP_NODISCARD kp_result kp_shape_cloud_make(kp_shape_cloud *cloud, kp_world *world, double spacing);
void kp_shape_cloud_free(kp_shape_cloud *cloud);
// All of them where their bodies are now, lit from `sun`, a unit vector towards it. Nothing is
// copied for bodies that rest and keep their form.
KP_NODISCARD kp_result kp_shape_cloud_place(kp_shape_cloud *cloud, kp_world *world, kp_vec3 sun);
