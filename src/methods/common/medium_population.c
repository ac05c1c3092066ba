// Emission and removal.
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "data/probe.h"
#include "geom/sampler.h"
#include "methods/common/medium.h"
#include "methods/common/medium_kernels.h"
#include "par/kernel_define.h"

MEDIUM_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// ---- emitters -----------------------------------------------------------------------------------

#define TAKEN 0.75  // spacings: nearer to a particle a place is not free

// In 2D a width is enough.
static bool is_rectangle(const kp_emitter_def *def, const kp_env *env) {
  return def->width > 0.0 && (def->height > 0.0 || env->dimension == 2);
}

// Two unit vectors across the jet: those of a rectangle are level and upright where they can be.
static void across(const kp_emitter_def *def, const kp_env *env, kp_vec3 *u, kp_vec3 *v) {
  kp_vec3 direction = kp_vec3_normalize(def->direction);
  if (env->dimension == 2) {
    *u = kp_vec3_make(-direction.y, direction.x, 0.0);
    *v = kp_vec3_make(0.0, 0.0, 1.0);
    return;
  }
  int axis = kp_env_up_axis(env);
  kp_vec3 up = kp_vec3_make(axis == 0, axis == 1, axis == 2);
  kp_vec3 level = kp_vec3_cross(up, direction);
  if (is_rectangle(def, env) && kp_vec3_length(level) > 1e-6) {
    *u = kp_vec3_normalize(level);
    *v = kp_vec3_cross(direction, *u);
    return;
  }
  kp_vec3 help = fabs(direction.x) < 0.9 ? kp_vec3_make(1, 0, 0) : kp_vec3_make(0, 1, 0);
  *u = kp_vec3_normalize(kp_vec3_cross(direction, help));
  *v = kp_vec3_cross(direction, *u);
}

// One layer of the jet: a square lattice cut to the disc, or laid evenly into the rectangle,
// `ahead` metres past the nozzle. In 2D a rectangle is the line of its width.
static kp_result layer_points(const kp_emitter_def *def, const kp_env *env, double spacing,
                              double ahead, kp_points *out) {
  kp_vec3 u;
  kp_vec3 v;
  across(def, env, &u, &v);
  bool flat = env->dimension == 2;
  bool rectangle = is_rectangle(def, env);
  // places along u and v, counted from the middle; an even number has none in the middle
  double n_u = rectangle ? fmax(floor(def->width / spacing + 1e-6), 1.0)
                         : 2.0 * floor(def->radius / spacing) + 1.0;
  double n_v = rectangle ? fmax(floor(def->height / spacing + 1e-6), 1.0) : n_u;
  n_v = flat ? 1.0 : n_v;
  kp_vec3 middle = kp_vec3_madd(def->position, ahead, kp_vec3_normalize(def->direction));
  for (double b = 0.0; b < n_v; b += 1.0) {
    for (double a = 0.0; a < n_u; a += 1.0) {
      double s = spacing * (a - 0.5 * (n_u - 1.0));
      double t = spacing * (b - 0.5 * (n_v - 1.0));
      if (rectangle || s * s + t * t <= def->radius * def->radius) {
        KP_TRY(kp_array_push(out, kp_vec3_madd(kp_vec3_madd(middle, s, u), t, v)));
      }
    }
  }
  return KP_OK;
}

// Keeps the points that have no particle of the medium around them, in their order.
static kp_result keep_free(kp_medium *medium, const kp_env *env, kp_points *points) {
  KP_ARRAY(kp_probe_value) seen = { 0 };
  kp_probe *probe = NULL;
  kp_result result = KP_OK;
  if (points->count == 0 || medium->set->space->n == 0) {
    return KP_OK;
  }
  KP_TRY_GOTO(result, kp_array_resize(&seen, points->count), done);
  KP_TRY_GOTO(result,
              kp_probe_create(KP_PROBE_MEAN, medium->set->space, env->dimension, points->data,
                              (int64_t)points->count, TAKEN * medium->spacing, &probe),
              done);
  KP_TRY_GOTO(result, kp_probe_look(probe, seen.data), done);
  size_t kept = 0;
  for (size_t i = 0; i < points->count; ++i) {
    if (seen.data[i].count < 0.5) {
      points->data[kept++] = points->data[i];
    }
  }
  points->count = kept;
done:
  kp_probe_destroy(&probe);
  kp_array_free(&seen);
  return result;
}

static kp_result emit_layer(kp_medium *medium, kp_env *env, kp_medium_emitter *emitter,
                            double speed) {
  kp_points points = { 0 };
  kp_points velocities = { 0 };
  kp_result result = KP_OK;
  kp_vec3 velocity = kp_vec3_scale(kp_vec3_normalize(emitter->def.direction), speed);
  KP_TRY_GOTO(result,
              layer_points(&emitter->def, env, medium->spacing, emitter->travelled, &points), done);
  if (emitter->def.only_free) {
    KP_TRY_GOTO(result, keep_free(medium, env, &points), done);
  }
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
