#include "methods/common/region.h"

#include "base/text.h"

#define FAR 1e7  // m, beyond any domain

// A box that is flat along an axis is unbounded along it.
static kp_shape_def unbounded(const kp_shape_def *def) {
  kp_shape_def shape = *def;
  double *lo[3] = { &shape.min.x, &shape.min.y, &shape.min.z };
  double *hi[3] = { &shape.max.x, &shape.max.y, &shape.max.z };
  for (int c = 0; c < 3 && def->kind == KP_SHAPE_BOX; ++c) {
    if (*lo[c] == *hi[c]) {
      *lo[c] = -FAR;
      *hi[c] = FAR;
    }
  }
  return shape;
}

kp_result kp_region_create(kp_region *region, const kp_env *env, const kp_shape_def *shape,
                           double cell) {
  kp_shape_def def = unbounded(shape);
  kp_buffer_init(&region->baked.values, env->backend);
  KP_TRY(kp_shape_build(&def, env->scenery.folder, &region->shape));
  if (env->dimension == 2) {
    KP_TRY(kp_shape_flatten(region->shape));
  }
  if (region->shape->def.kind != KP_SHAPE_MESH) {
    return KP_OK;
  }
  kp_aabb room = { env->domain.min, env->domain.max };
  return kp_distance_grid_bake(&region->baked, env->backend, region->shape, cell, cell, &room);
}

void kp_region_free(kp_region *region) {
  kp_distance_grid_free(&region->baked);
  kp_shape_destroy(&region->shape);
}

static kp_result create_sink(kp_region *region, const kp_env *env, const kp_sink_def *def,
                             double cell) {
  kp_text_copy(region->name, sizeof region->name, def->name);
  KP_TRY(kp_motion_create(env, &def->position, &def->rotation_deg, def->parent, "sink", def->name,
                          &region->motion));
  kp_result result = kp_region_create(region, env, &def->shape, cell);
  return result == KP_OK ? KP_OK : kp_fail_in(result, "sink \"%s\"", def->name);
}

kp_result kp_regions_of_sinks(kp_regions *regions, const kp_env *env, double cell) {
  for (size_t s = 0; s < env->scenery.n_sinks; ++s) {
    kp_region empty = { 0 };
    KP_TRY(kp_array_push(regions, empty));
    KP_TRY(create_sink(&regions->data[regions->count - 1], env, &env->scenery.sinks[s], cell));
  }
  return KP_OK;
}

void kp_regions_free(kp_regions *regions) {
  for (size_t r = 0; r < regions->count; ++r) {
    kp_region_free(&regions->data[r]);
  }
  kp_array_free(regions);
}

kp_region_view kp_region_at(kp_region *region, const kp_env *env, double time, kp_buffer **values) {
  kp_frame3 frame = kp_motion_frame(&region->motion, env, time);
  kp_vec3 o = frame.position;
  kp_region_view view = { .is_baked = region->shape->def.kind == KP_SHAPE_MESH,
                          .baked = region->baked.view,
                          .origin = { o.x, o.y, o.z } };
  if (!view.is_baked) {
    view.shape = kp_shape_view_of(region->shape);
  }
  for (int c = 0; c < 3; ++c) {
    kp_vec3 axis = kp_quat_rotate(frame.orientation, kp_vec3_make(c == 0, c == 1, c == 2));
    view.axes[c][0] = axis.x;
    view.axes[c][1] = axis.y;
    view.axes[c][2] = axis.z;
  }
  *values = view.is_baked ? &region->baked.values : NULL;
  return view;
}

kp_aabb kp_region_box(const kp_region *region, const kp_env *env, double time) {
  kp_frame3 frame = kp_motion_frame(&region->motion, env, time);
  return kp_motion_box(region->shape, &frame);
}
