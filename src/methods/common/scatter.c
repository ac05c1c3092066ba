#include "methods/common/scatter.h"

#include <math.h>

#include "base/random.h"
#include "geom/sampler.h"

#define TRIES 10000  // of one particle: a shape that fills less of its box than 1/1000 is refused

static bool is_free(const kp_env *env, const kp_shape *shape, kp_vec3 p) {
  const kp_domain_def *d = &env->domain;
  bool inside = p.x > d->min.x && p.x < d->max.x && p.y > d->min.y && p.y < d->max.y;
  inside = inside && (env->dimension == 2 || (p.z > d->min.z && p.z < d->max.z));
  for (size_t s = 0; s < env->scenery.n_solids && inside; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    kp_vec3 local = kp_solid_local(solid, p);
    inside = kp_shape_distance(solid->shape, local) > 0.0;
  }
  return inside && kp_shape_distance(shape, p) < 0.0;
}

static kp_result place(const kp_medium *medium, const kp_env *env, const kp_shape *shape,
                       kp_points *points) {
  kp_aabb box = kp_shape_bounds(shape);
  kp_sampler_key key = { .seed = (uint64_t)env->simulation.seed,
                         .stream = KP_RNG_SCATTER,
                         .id = points->count };
  for (key.counter = 0; key.counter < TRIES; ++key.counter) {
    kp_vec3 p = kp_sampler_cube(key, box);
    p.z = env->dimension == 2 ? 0.0 : p.z;
    if (is_free(env, shape, p)) {
      return kp_array_push(points, p);
    }
  }
  return kp_fail(KP_ERROR_SCENE, "%s \"%s\": its shape has no room for particles in the domain",
                 medium->word, medium->name);
}

kp_result kp_scatter_fill(kp_medium *medium, kp_env *env, const kp_shape_def *def, int64_t n) {
  kp_points points = { 0 };
  kp_shape *shape = NULL;
  kp_result result = KP_OK;
  KP_TRY(kp_shape_build(def, env->scenery.folder, &shape));
  if (env->dimension == 2) {
    KP_TRY_GOTO(result, kp_shape_flatten(shape), done);
  }
  if (!kp_shape_is_bounded(shape)) {
    result = kp_fail(KP_ERROR_SCENE, "%s \"%s\": its shape has no end", medium->word, medium->name);
    goto done;
  }
  KP_TRY_GOTO(result, kp_array_reserve(&points, (size_t)n), done);
  for (int64_t i = 0; i < n && result == KP_OK; ++i) {
    result = place(medium, env, shape, &points);
  }
  if (result == KP_OK) {
    result = kp_medium_add(medium, n, points.data, NULL);
  }
  if (result == KP_OK) {
    result = kp_medium_store(medium);
  }
done:
  kp_array_free(&points);
  kp_shape_destroy(&shape);
  return result;
}
