#include "methods/method.h"

#include "base/text.h"

const char *const kp_stage_names[KP_STAGE_COUNT] = { "population", "space",   "prepare",
                                                     "forces",     "predict", "contact",
                                                     "solve",      "correct", "check" };

int kp_env_up_axis(const kp_env *env) {
  kp_vec3 g = env->simulation.gravity;
  if (fabs(g.z) > fabs(g.y) && fabs(g.z) >= fabs(g.x)) {
    return 2;
  }
  return fabs(g.x) > fabs(g.y) ? 0 : 1;
}

kp_faces kp_env_faces(const kp_env *env, int axis) {
  const kp_domain_def *d = &env->domain;
  const int kinds[3] = { d->boundary_x, d->boundary_y, d->boundary_z };
  const double lo[3] = { d->min.x, d->min.y, d->min.z };
  const double hi[3] = { d->max.x, d->max.y, d->max.z };
  bool counts = axis < env->dimension;
  bool closed = counts && kinds[axis] == KP_BOUNDARY_CLOSED;
  bool open_top = counts && d->open_top && axis == kp_env_up_axis(env);
  return (kp_faces){
    .lo = lo[axis],
    .hi = hi[axis],
    .closed_lo = closed,
    .closed_hi = closed && !open_top,
    .open = counts && kinds[axis] == KP_BOUNDARY_OPEN,
    .open_top = open_top,
    .periodic = counts && kinds[axis] == KP_BOUNDARY_PERIODIC,
  };
}

kp_result kp_env_add_grid(kp_env *env, const char *name, kp_mac *mac) {
  kp_env_grid grid = { .mac = mac };
  kp_text_copy(grid.name, sizeof grid.name, name);
  return kp_array_push(&env->grids, grid);
}

static void free_part(kp_env_part *part) {
  kp_array_free(&part->triangles);
  kp_array_free(&part->tets);
  kp_array_free(&part->points);
  kp_array_free(&part->offsets);
}

kp_result kp_env_show_part(kp_env *env, kp_env_part *part) {
  kp_result result = kp_array_push(&env->parts, *part);
  if (result != KP_OK) {
    free_part(part);
  }
  return result;
}

void kp_env_free_parts(kp_env *env) {
  for (size_t p = 0; p < env->parts.count; ++p) {
    free_part(&env->parts.data[p]);
  }
  kp_array_free(&env->parts);
}
