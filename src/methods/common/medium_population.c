// Emission and removal.
#include <math.h>

#include "base/log.h"
#include "data/call.h"
#include "data/probe.h"
#include "geom/sampler.h"
#include "methods/common/medium.h"
#include "methods/common/medium_kernels.h"
#include "par/kernel_define.h"

MEDIUM_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// ---- emitters -----------------------------------------------------------------------------------

// Spacings: nearer to a particle a place is not free. A shape that is kept full finds no room in
// the middle of a cube of particles, sqrt(3)/2 away from them.
#define TAKEN 0.75
#define TAKEN_INSIDE 0.95

// Keeps the points that have no particle of the medium around them, in their order.
static kp_result keep_free(kp_medium *medium, const kp_env *env, double radius, kp_points *points,
                           kp_points *velocities) {
  KP_ARRAY(kp_probe_value) seen = { 0 };
  kp_probe *probe = NULL;
  kp_result result = KP_OK;
  if (points->count == 0 || medium->set->space->n == 0) {
    return KP_OK;
  }
  KP_TRY_GOTO(result, kp_array_resize(&seen, points->count), done);
  KP_TRY_GOTO(result,
              kp_probe_create(KP_PROBE_MEAN, medium->set->space, env->dimension, points->data,
                              (int64_t)points->count, radius, &probe),
              done);
  KP_TRY_GOTO(result, kp_probe_look(probe, seen.data), done);
  size_t kept = 0;
  for (size_t i = 0; i < points->count; ++i) {
    if (seen.data[i].count < 0.5) {
      points->data[kept] = points->data[i];
      velocities->data[kept++] = velocities->data[i];
    }
  }
  points->count = kept;
done:
  kp_probe_destroy(&probe);
  kp_array_free(&seen);
  return result;
}

// Not beyond a face of the domain, unless what comes in there is seen on the other side.
static bool is_in_domain(const kp_env *env, kp_vec3 p) {
  const double x[3] = { p.x, p.y, p.z };
  for (int axis = 0; axis < env->dimension; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    bool is_over = x[axis] > faces.hi && !faces.open_top;
    if (!faces.periodic && (x[axis] < faces.lo || is_over)) {
      return false;
    }
  }
  return true;
}

// In or against a solid, where that is now.
static bool is_in_solid(const kp_medium *medium, const kp_env *env, kp_vec3 p) {
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    kp_frame3 frame = kp_bodies_frame(env->bodies, solid->body);
    kp_vec3 local = kp_body_to_shape(&env->bodies->models.data[solid->body], &frame, p);
    if (kp_shape_distance(solid->shape, local) < 0.4999 * medium->spacing) {
      return true;
    }
  }
  return false;
}

static void keep_allowed(const kp_medium *medium, const kp_env *env, kp_emitter *emitter,
                         kp_points *places, kp_points *velocities) {
  bool fills = emitter->def.from == KP_EMITTER_INSIDE;
  size_t kept = 0;
  size_t outside = 0;
  for (size_t i = 0; i < places->count; ++i) {
    if (!is_in_domain(env, places->data[i])) {
      outside += 1;
    } else if (!fills || !is_in_solid(medium, env, places->data[i])) {
      places->data[kept] = places->data[i];
      velocities->data[kept++] = velocities->data[i];
    }
  }
  places->count = velocities->count = kept;
  if (outside > 0 && !emitter->has_told) {
    kp_log(KP_LOG_WARN, "world", "emitter \"%s\": what it lets out beyond the domain is left out",
           emitter->def.name);
    emitter->has_told = true;
  }
}

// What may come in: inside the domain, not beyond the limit and, if so asked, only where there is
// room. Velocities stay in step with places.
static kp_result choose(kp_medium *medium, kp_env *env, kp_emitter *emitter, kp_points *places,
                        kp_points *velocities) {
  size_t left = (size_t)(emitter->def.limit - emitter->count);
  bool fills = emitter->def.from == KP_EMITTER_INSIDE;
  keep_allowed(medium, env, emitter, places, velocities);
  if (fills || emitter->def.only_free) {
    double radius = (fills ? TAKEN_INSIDE : TAKEN) * medium->spacing;
    KP_TRY(keep_free(medium, env, radius, places, velocities));
  }
  places->count = places->count > left ? left : places->count;
  velocities->count = places->count;
  return KP_OK;
}

// What is known of the medium holds for newcomers too.
static void stretch_bounds(kp_medium *medium, const kp_points *places,
                           const kp_points *velocities) {
  for (size_t i = 0; i < places->count; ++i) {
    medium->bounds = kp_aabb_grow(medium->bounds, places->data[i]);
    medium->max_speed = fmax(medium->max_speed, kp_vec3_length(velocities->data[i]));
  }
}

static kp_result emit(kp_medium *medium, kp_env *env, kp_emitter *emitter) {
  kp_points places = { 0 };
  kp_points velocities = { 0 };
  kp_result result = KP_OK;
  KP_TRY_GOTO(result, kp_emitter_pour(emitter, env, &places, &velocities), done);
  KP_TRY_GOTO(result, choose(medium, env, emitter, &places, &velocities), done);
  KP_TRY_GOTO(result, kp_set_add(medium->set, (int64_t)places.count, places.data, velocities.data),
              done);
  emitter->count += (int64_t)places.count;
  env->report.n_emitted += (int64_t)places.count;
  stretch_bounds(medium, &places, &velocities);
done:
  kp_array_free(&places);
  kp_array_free(&velocities);
  return result;
}

// ---- removal ------------------------------------------------------------------------------------

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

static kp_result mark_inside(kp_medium *medium, kp_env *env) {
  medium_keep_args a = { 0 };
  exits(env, &a);
  kp_call call;
  kp_call_init(&call, &medium_keep_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, keep, &medium->keep, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, medium->set->space->n);
}

static bool is_apart(kp_aabb a, kp_aabb b) {
  return a.max.x < b.min.x || a.max.y < b.min.y || a.max.z < b.min.z || b.max.x < a.min.x ||
         b.max.y < a.min.y || b.max.z < a.min.z;
}

static kp_result mark_sink(kp_medium *medium, kp_env *env, kp_region *sink) {
  kp_aabb box = kp_region_box(sink, env, env->time);
  if (medium->bounds_known && is_apart(box, medium->bounds)) {
    return KP_OK;
  }
  kp_buffer *values;
  medium_drain_args a = { .sink = kp_region_at(sink, env, env->time, &values) };
  kp_call call;
  kp_call_init(&call, &medium_drain_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &a, keep, &medium->keep, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, medium->set->space->n);
}

static kp_result remove_leavers(kp_medium *medium, kp_env *env) {
  medium_keep_args a = { 0 };
  int64_t before = medium->set->space->n;
  if (before == 0 || !exits(env, &a) || !may_have_left(medium, env, &a)) {
    return KP_OK;
  }
  KP_TRY(kp_buffer_resize(&medium->keep, (size_t)before * sizeof(uint32_t)));
  KP_TRY(mark_inside(medium, env));
  for (size_t s = 0; s < medium->sinks.count; ++s) {
    KP_TRY(mark_sink(medium, env, &medium->sinks.data[s]));
  }
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
