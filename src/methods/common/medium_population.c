// Emission and removal.
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "geom/sampler.h"
#include "methods/common/medium.h"
#include "methods/common/medium_kernels.h"
#include "par/kernel_define.h"

MEDIUM_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// ---- emitters -----------------------------------------------------------------------------------

// Two unit vectors across the jet.
static void across(kp_vec3 direction, int dimension, kp_vec3 *u, kp_vec3 *v) {
  if (dimension == 2) {
    *u = kp_vec3_make(-direction.y, direction.x, 0.0);
    *v = kp_vec3_make(0.0, 0.0, 1.0);
    return;
  }
  kp_vec3 help = fabs(direction.x) < 0.9 ? kp_vec3_make(1, 0, 0) : kp_vec3_make(0, 1, 0);
  *u = kp_vec3_normalize(kp_vec3_cross(direction, help));
  *v = kp_vec3_cross(direction, *u);
}

// One layer of the jet: a square lattice cut to the disc, `ahead` metres past the nozzle.
static kp_result layer_points(const kp_emitter_def *def, double spacing, int dimension,
                              double ahead, kp_points *out) {
  kp_vec3 direction = kp_vec3_normalize(def->direction);
  kp_vec3 u;
  kp_vec3 v;
  across(direction, dimension, &u, &v);
  int reach = (int)floor(def->radius / spacing);
  int depth = dimension == 2 ? 0 : reach;
  for (int b = -depth; b <= depth; ++b) {
    for (int a = -reach; a <= reach; ++a) {
      double s = spacing * a;
      double t = spacing * b;
      if (s * s + t * t <= def->radius * def->radius) {
        kp_vec3 p = kp_vec3_madd(def->position, ahead, direction);
        KP_TRY(kp_array_push(out, kp_vec3_madd(kp_vec3_madd(p, s, u), t, v)));
      }
    }
  }
  return KP_OK;
}

static kp_result emit_layer(kp_medium *medium, kp_env *env, kp_medium_emitter *emitter,
                            double speed) {
  kp_points points = { 0 };
  kp_points velocities = { 0 };
  kp_result result = KP_OK;
  kp_vec3 velocity = kp_vec3_scale(kp_vec3_normalize(emitter->def.direction), speed);
  KP_TRY_GOTO(
      result,
      layer_points(&emitter->def, medium->spacing, env->dimension, emitter->travelled, &points),
      done);
  int64_t left = emitter->def.limit - emitter->count;
  points.count = (int64_t)points.count > left ? (size_t)left : points.count;
  KP_TRY_GOTO(result, kp_array_resize(&velocities, points.count), done);
  for (size_t i = 0; i < points.count; ++i) {
    velocities.data[i] = velocity;
  }
  KP_TRY_GOTO(result, kp_set_add(medium->set, (int64_t)points.count, points.data, velocities.data),
              done);
  emitter->count += (int64_t)points.count;
  env->report.n_emitted += (int64_t)points.count;
  // newcomers lie outside the known bounds
  medium->bounds_known = false;
  medium->max_speed = fmax(medium->max_speed, fabs(speed));
done:
  kp_array_free(&points);
  kp_array_free(&velocities);
  return result;
}

// The jet advances by speed x dt; a layer leaves for every spacing of it.
static kp_result emit(kp_medium *medium, kp_env *env, kp_medium_emitter *emitter) {
  const kp_emitter_def *def = &emitter->def;
  if (env->time < def->start || env->time >= def->stop || emitter->count >= def->limit) {
    return KP_OK;
  }
  double speed;
  kp_curve_at(&def->speed, env->time, &speed, NULL);
  while (emitter->travelled >= medium->spacing && emitter->count < def->limit) {
    emitter->travelled -= medium->spacing;
    KP_TRY(emit_layer(medium, env, emitter, speed));
  }
  emitter->travelled += fmax(speed, 0.0) * env->dt;
  return KP_OK;
}

// ---- removal ------------------------------------------------------------------------------------

static void add_sink(medium_keep_args *a, const kp_shape_def *shape) {
  int s = a->n_sinks++;
  const double lo[3] = { shape->min.x, shape->min.y, shape->min.z };
  const double hi[3] = { shape->max.x, shape->max.y, shape->max.z };
  const double center[3] = { shape->center.x, shape->center.y, shape->center.z };
  bool ball = shape->kind == KP_SHAPE_SPHERE;
  a->sink_radius[s] = ball ? shape->radius : 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    // a box that is flat along an axis is unbounded along it
    bool flat = lo[axis] == hi[axis];
    a->sink_lo[s][axis] = flat ? -HUGE_VAL : lo[axis];
    a->sink_hi[s][axis] = flat ? HUGE_VAL : hi[axis];
    a->sink_center[s][axis] = center[axis];
  }
}

// Faces through which particles leave; false when nothing can leave at all.
static bool exits(const kp_env *env, medium_keep_args *a) {
  bool any = env->scenery.n_sinks > 0;
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    // what splashes over an open top may fall back; it is gone once it is a whole domain away
    double over = faces.open_top ? faces.hi + (faces.hi - faces.lo) : HUGE_VAL;
    a->lo[axis] = faces.open ? faces.lo : -HUGE_VAL;
    a->hi[axis] = faces.open ? faces.hi : over;
    any = any || faces.open || faces.open_top;
  }
  return any;
}

// Particles are looked at only when the known bounds say that one may have left.
static bool may_have_left(const kp_medium *medium, const kp_env *env, const medium_keep_args *a) {
  if (env->scenery.n_sinks > 0 || !medium->bounds_known) {
    return true;
  }
  const kp_vec3 lo = medium->bounds.min;
  const kp_vec3 hi = medium->bounds.max;
  return lo.x < a->lo[0] || lo.y < a->lo[1] || lo.z < a->lo[2] || hi.x > a->hi[0] ||
         hi.y > a->hi[1] || hi.z > a->hi[2];
}

static kp_result remove_leavers(kp_medium *medium, kp_env *env) {
  medium_keep_args a = { 0 };
  int64_t before = medium->set->space->n;
  if (before == 0 || !exits(env, &a) || !may_have_left(medium, env, &a)) {
    return KP_OK;
  }
  for (size_t s = 0; s < env->scenery.n_sinks; ++s) {
    add_sink(&a, &env->scenery.sinks[s].shape);
  }
  KP_TRY(kp_buffer_resize(&medium->keep, (size_t)before * sizeof(uint32_t)));
  kp_call call;
  kp_call_init(&call, &medium_keep_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, keep, &medium->keep, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, before));
  KP_TRY(kp_space_remove(medium->set->space, &medium->keep));
  env->report.n_removed += before - medium->set->space->n;
  return KP_OK;
}

kp_result kp_medium_population(kp_medium *medium, kp_env *env) {
  KP_TRY(remove_leavers(medium, env));
  medium->first_new = medium->set->space->n;
  for (size_t e = 0; e < medium->emitters.count; ++e) {
    KP_TRY(emit(medium, env, &medium->emitters.data[e]));
  }
  return KP_OK;
}
