// Grains at the start: a random packing in place of the lattice that fills the shape.
#include <math.h>

#include "base/log.h"
#include "data/curve.h"
#include "geom/packing.h"
#include "methods/grains/grains.h"

#define FEWEST 50  // grains; fewer stay on their lattice
#define SHAKE 0.5  // spacings that a coordinate may be shifted before overlaps are taken away

// A grain keeps a radius away from the surface of the shape, from solids and from the faces of the
// domain, or what its place in the lattice had where that was less.
typedef struct place {
  kp_vec3 start;
  double inside, outside;  // m to the surface of the shape, to the nearest solid
  double least_inside, least_outside;
  double margin;
} place;

typedef struct filling {
  const kp_env *env;
  const kp_shape *shape;
  KP_ARRAY(place) places;
} filling;

// Signed distance to the nearest solid and, where asked for, its normal.
static double nearest_solid(const kp_scenery *scenery, kp_vec3 p, kp_vec3 *normal) {
  double nearest = HUGE_VAL;
  for (size_t s = 0; s < scenery->n_solids; ++s) {
    const kp_solid *solid = &scenery->solids[s];
    kp_vec3 local = kp_solid_local(solid, p);
    double distance = kp_shape_distance(solid->shape, local);
    if (distance < nearest) {
      nearest = distance;
      if (normal != NULL) {
        *normal = kp_quat_rotate(solid->turn, kp_shape_normal(solid->shape, local));
      }
    }
  }
  return nearest;
}

static double within(double x, double start, double low, double high, double margin) {
  double from_low = fmin(margin, start - low);
  double from_high = fmin(margin, high - start);
  return fmin(fmax(x, low + from_low), high - from_high);
}

// Distances change no faster than one moves, so a grain far from everything is not asked again.
static kp_vec3 keep_inside(void *user, size_t i, kp_vec3 p) {
  const filling *f = user;
  const place *at = &f->places.data[i];
  double moved = kp_vec3_length(kp_vec3_sub(p, at->start));
  kp_vec3 n;
  if (at->outside - moved < at->least_outside) {
    double distance = nearest_solid(&f->env->scenery, p, &n);
    p = distance < at->least_outside ? kp_vec3_madd(p, at->least_outside - distance, n) : p;
  }
  if (at->inside - moved < at->least_inside) {
    double depth = -kp_shape_query(f->shape, p, &n);
    p = depth < at->least_inside ? kp_vec3_madd(p, depth - at->least_inside, n) : p;
  }
  const kp_domain_def *d = &f->env->domain;
  p.x = within(p.x, at->start.x, d->min.x, d->max.x, at->margin);
  p.y = within(p.y, at->start.y, d->min.y, d->max.y, at->margin);
  p.z = f->env->dimension == 2 ? 0.0 : within(p.z, at->start.z, d->min.z, d->max.z, at->margin);
  return p;
}

static kp_result find_places(filling *f, const kp_points *points, const double *radii) {
  for (size_t i = 0; i < points->count; ++i) {
    kp_vec3 p = points->data[i];
    place at = { .start = p, .margin = radii[i] };
    at.inside = -kp_shape_distance(f->shape, p);
    at.outside = nearest_solid(&f->env->scenery, p, NULL);
    at.least_inside = fmin(at.margin, at.inside);
    at.least_outside = fmin(at.margin, at.outside);
    KP_TRY(kp_array_push(&f->places, at));
  }
  return KP_OK;
}

// ---- from and to the set ------------------------------------------------------------------------

typedef KP_ARRAY(double) lengths;

static kp_result read_set(kp_grains_set *set, kp_points *points, lengths *radii) {
  kp_set *s = set->medium.set;
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&s->position->buffers[c], KP_ACCESS_READ);
  }
  const kp_real *radius = kp_buffer_host(&set->radius->buffers[0], KP_ACCESS_READ);
  if (x[0] == NULL || x[1] == NULL || x[2] == NULL || radius == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < s->space->n; ++i) {
    KP_TRY(kp_array_push(points, kp_vec3_make(x[0][i], x[1][i], x[2][i])));
    KP_TRY(kp_array_push(radii, (double)radius[i]));
  }
  return KP_OK;
}

// Places, and the velocities that the scene gives there.
static kp_result write_set(kp_grains_set *set, const kp_points *points) {
  kp_set *s = set->medium.set;
  kp_pos *x[3];
  kp_real *v[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&s->position->buffers[c], KP_ACCESS_WRITE);
    v[c] = kp_buffer_host(&s->velocity->buffers[c], KP_ACCESS_WRITE);
    if (x[c] == NULL || v[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (size_t i = 0; i < points->count; ++i) {
    kp_vec3 p = points->data[i];
    kp_vec3 u = kp_vec_lattice_at(&set->medium.velocity_at, set->medium.velocity, p);
    x[0][i] = p.x;
    x[1][i] = p.y;
    v[0][i] = (kp_real)u.x;
    v[1][i] = (kp_real)u.y;
    if (s->dimension == 3) {
      x[2][i] = p.z;
      v[2][i] = (kp_real)u.z;
    }
  }
  set->medium.bounds_known = false;
  return kp_medium_store(&set->medium);
}

kp_result kp_grains_shake(kp_grains_set *set, kp_env *env) {
  // a handful is placed on purpose, one in the middle of its box
  if (set->medium.set->space->n < FEWEST) {
    return KP_OK;
  }
  kp_points points = { 0 };
  lengths radii = { 0 };
  filling f = { .env = env };
  kp_shape *shape = NULL;
  bool is_done = false;
  kp_result result = kp_shape_build(&set->def.shape, env->scenery.folder, &shape);
  if (result == KP_OK && env->dimension == 2) {
    result = kp_shape_flatten(shape);
  }
  f.shape = shape;
  KP_TRY_GOTO(result, result, done);
  KP_TRY_GOTO(result, read_set(set, &points, &radii), done);
  KP_TRY_GOTO(result, find_places(&f, &points, radii.data), done);
  kp_packing_def def = { .dimension = env->dimension,
                         .seed = (uint64_t)env->simulation.seed,
                         .shake = SHAKE * set->def.spacing,
                         .radii = radii.data,
                         .keep = keep_inside,
                         .user = &f };
  KP_TRY_GOTO(result, kp_packing_shake(&def, &points, &is_done), done);
  if (is_done) {
    result = write_set(set, &points);
  } else {
    kp_log(KP_LOG_INFO, "grains",
           "grains \"%s\" start on a lattice: their shape is too tight for a random packing",
           set->def.name);
  }
done:
  kp_array_free(&points);
  kp_array_free(&radii);
  kp_array_free(&f.places);
  kp_shape_destroy(&shape);
  return result;
}
