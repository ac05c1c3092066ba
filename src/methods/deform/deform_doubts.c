// What a scene says of its deformables that cannot be meant: parts that start beyond closed faces
// or inside bodies, wind that nothing feels, and stiffness that hides masses from rounding. Steps
// would bring all of it to an end without a word, so it is said before the first one.
#include <math.h>

#include "base/log.h"
#include "methods/deform/deform.h"

#define BEYOND_SHARE 1e-6  // of the domain's width: nodes on a face are not beyond it

// Nodes that touch, as those of cloth that lies on a table, may be in by their thickness.
static bool is_beyond(const kp_env *env, kp_vec3 p, double thickness) {
  const double x[3] = { p.x, p.y, p.z };
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    double margin = fmax(BEYOND_SHARE * (faces.hi - faces.lo), thickness);
    if ((faces.closed_lo && x[axis] < faces.lo - margin) ||
        (faces.closed_hi && x[axis] > faces.hi + margin)) {
      return true;
    }
  }
  return false;
}

static kp_result doubt_place(const kp_env *env, const kp_part *part) {
  size_t n = 0;
  for (size_t i = 0; i < part->x.count; ++i) {
    n += is_beyond(env, part->x.data[i], part->surface.thickness) ? 1 : 0;
  }
  if (n > 0 && n == part->x.count) {
    return kp_fail(KP_ERROR_SCENE, "\"%s\" lies outside the domain", part->name);
  }
  if (n > 0) {
    kp_log(KP_LOG_WARN, "solids",
           "%zu of %zu nodes of \"%s\" start beyond a closed face of the domain and are put on it; "
           "make the domain larger, or the face open",
           n, part->x.count, part->name);
  }
  return KP_OK;
}

static void doubt_solids(const kp_env *env, const kp_part *part) {
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    size_t n = 0;
    for (size_t i = 0; i < part->x.count && solid->morph == NULL; ++i) {
      kp_vec3 local = kp_solid_local(solid, part->x.data[i]);
      n += kp_shape_distance(solid->shape, local) < -part->surface.thickness ? 1 : 0;
    }
    if (n > 0) {
      kp_log(KP_LOG_WARN, "solids",
             "%zu of %zu nodes of \"%s\" start inside \"%s\" and are pushed out of it at once", n,
             part->x.count, part->name, env->bodies->models.data[solid->body].name);
    }
  }
}

static void doubt_wind(const kp_env *env, kp_part *const *parts, size_t n_parts) {
  for (size_t p = 0; p < n_parts; ++p) {
    if (parts[p]->drag > 0.0 || parts[p]->viscosity > 0.0) {
      return;
    }
  }
  for (size_t w = 0; w < env->scenery.n_winds && n_parts > 0; ++w) {
    kp_log(KP_LOG_WARN, "solids",
           "wind \"%s\" moves nothing: give cloth or a soft body a drag, or hair a viscosity",
           env->scenery.winds[w].name);
  }
}

kp_result kp_deform_doubt(const kp_deform *d, const kp_env *env, kp_part *const *parts,
                          size_t n_parts) {
  for (size_t p = 0; p < n_parts && d->def.bodies; ++p) {
    KP_TRY(doubt_place(env, parts[p]));
    // roots of hair lie in what it grows on
    if (parts[p]->hairs.count == 0) {
      doubt_solids(env, parts[p]);
    }
  }
  doubt_wind(env, parts, n_parts);
  return KP_OK;
}

static bool is_hair(const kp_deform *d, size_t part) {
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    if (d->hair.places.data[k].part == part) {
      return true;
    }
  }
  return false;
}

// Beside stiffness k a float sees a mass m in steps of h while k h^2/m is below 1/FLT_EPSILON.
void kp_deform_doubt_stiffness(const kp_deform *d, const kp_env *env) {
  const char *precision = sizeof(kp_real) == sizeof(float) ? "single" : "double";
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    const char *key = part->solids.n > 0 ? "young" : is_hair(d, p) ? "edge_stiffness" : "stiffness";
    double most = kp_deform_rounding_step(d, part);
    double wanted = isnan(d->def.dt) ? env->simulation.dt_max : d->def.dt;
    double share = (most / wanted) * (most / wanted);
    if (share >= 1.0) {
      continue;
    }
    if (isnan(d->def.dt)) {
      kp_log(KP_LOG_WARN, "solids",
             "\"%s\": steps are cut to %.2g s, since its %s is more than %s precision holds beside "
             "its masses in steps of %.2g s; %.2g times that %s needs no cut",
             part->name, most, key, precision, wanted, share, key);
    } else {
      kp_log(
          KP_LOG_WARN, "solids",
          "\"%s\": its %s is more than %s precision holds beside its masses in steps of "
          "solids.dt = %.2g s, and may make it drift or break; %.2g s, or %.2g times that %s, are "
          "safe",
          part->name, key, precision, wanted, most, share, key);
    }
  }
}
