// The visible shapes of a world as triangle meshes, made once and placed by their bodies in every
// frame.
#pragma once

#include "geom/mesh.h"
#include "run/batch.h"

typedef struct kp_shape_mesh {
  char name[KP_NAME_SIZE];
  kp_index body;
  kp_mesh mesh;                  // relative to the body's centre, body axes
  const struct kp_morph *morph;  // NULL: it keeps its form
} kp_shape_mesh;

typedef struct kp_shape_meshes {
  KP_ARRAY(kp_shape_mesh) items;
} kp_shape_meshes;

// Shapes without a closed surface (planes) and containers, which would hide what is in them, have
// none.
KP_NODISCARD kp_result kp_shape_meshes_make(kp_world *world, kp_shape_meshes *out);
// Of every stride-th shape alone: a sample of them.
KP_NODISCARD kp_result kp_shape_meshes_sample(kp_world *world, size_t stride, kp_shape_meshes *out);
void kp_shape_meshes_free(kp_shape_meshes *meshes);

// Where a body is now: the world has scripted ones where the last sub-step began.
kp_frame3 kp_shape_frame(const kp_world *world, kp_index body);

// "mesh/<name>/..." of every shape where it is now, with the velocity of each vertex.
KP_NODISCARD kp_result kp_shape_meshes_add(const kp_shape_meshes *meshes, kp_world *world,
                                           kp_batch *batch);
