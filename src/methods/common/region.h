// Sinks, and whatever else is the inside of a shape of any kind that may move.
#pragma once

#include "methods/common/motion.h"
#include "methods/common/region_view.h"

typedef struct kp_region {
  char name[KP_TEXT_SIZE];
  kp_shape *shape;
  kp_motion motion;
  kp_distance_grid baked;  // of meshes
} kp_region;

typedef KP_ARRAY(kp_region) kp_regions;

// Its motion is made apart (kp_motion_create). Distances of meshes are kept at points `cell` [m]
// apart. On failure kp_region_free is still to be called.
KP_NODISCARD kp_result kp_region_create(kp_region *region, const kp_env *env,
                                        const kp_shape_def *shape, double cell);
void kp_region_free(kp_region *region);

// All sinks of the scene.
KP_NODISCARD kp_result kp_regions_of_sinks(kp_regions *regions, const kp_env *env, double cell);
void kp_regions_free(kp_regions *regions);

// Where it is at a time of this sub-step. `values`, to be bound to the kernel, is NULL where it is
// not a mesh.
kp_region_view kp_region_at(kp_region *region, const kp_env *env, double time, kp_buffer **values);

// A box around it then, without end where it has none.
kp_aabb kp_region_box(const kp_region *region, const kp_env *env, double time);
