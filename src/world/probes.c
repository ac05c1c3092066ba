#include "world/probes.h"

#include <math.h>
#include <string.h>

#include "geom/sampler.h"
#include "world/world.h"

// ---- building
// -------------------------------------------------------------------------------------------------

static double at_share(double lo, double hi, int64_t k, int64_t n) {
  return n > 1 ? lo + (hi - lo) * (double)k / (double)(n - 1) : 0.5 * (lo + hi);
}

// Centres of the regions, x fastest.
static kp_result make_centres(const kp_probe_def *def, int dimension, kp_points *out) {
  int64_t nx = (int64_t)def->counts.x;
  int64_t ny = (int64_t)def->counts.y;
  int64_t nz = dimension == 2 ? 1 : (int64_t)def->counts.z;
  for (int64_t k = 0; k < nz; ++k) {
    for (int64_t j = 0; j < ny; ++j) {
      for (int64_t i = 0; i < nx; ++i) {
        double z = dimension == 2 ? 0.0 : at_share(def->min.z, def->max.z, k, nz);
        kp_vec3 p = kp_vec3_make(at_share(def->min.x, def->max.x, i, nx),
                                 at_share(def->min.y, def->max.y, j, ny), z);
        KP_TRY(kp_array_push(out, p));
      }
    }
  }
  return KP_OK;
}

// Half the smallest distance between neighbouring centres.
static double touching_radius(const kp_probe_def *def, int dimension) {
  const double n[3] = { def->counts.x, def->counts.y, def->counts.z };
  kp_vec3 size = kp_vec3_sub(def->max, def->min);
  const double extent[3] = { size.x, size.y, size.z };
  double least = HUGE_VAL;
  for (int axis = 0; axis < dimension; ++axis) {
    if (n[axis] > 1.0) {
      least = fmin(least, 0.5 * fabs(extent[axis]) / (n[axis] - 1.0));
    }
  }
  return least;
}

static kp_index find_body(const kp_world *world, const char *name) {
  for (size_t b = 0; b < world->bodies->models.count; ++b) {
    if (strcmp(world->bodies->models.data[b].name, name) == 0) {
      return (kp_index)b;
    }
  }
  return -1;
}

static kp_result build_probe(kp_world *world, const kp_probe_def *def, kp_world_probe *out) {
  int dimension = world->env.dimension;
  *out = (kp_world_probe){ .def = *def, .body = -1 };
  kp_space *space = kp_registry_find(world->registry, def->of);
  if (space == NULL) {
    out->body = find_body(world, def->of);
    return kp_array_resize(&out->samples, 1);
  }
  kp_points centres = { 0 };
  kp_result result = make_centres(def, dimension, &centres);
  double radius = isnan(def->radius) ? touching_radius(def, dimension) : def->radius;
  if (result == KP_OK) {
    result = kp_probe_create((kp_probe_kind)def->kind, space, dimension, centres.data,
                             (int64_t)centres.count, radius, &out->probe);
  }
  kp_array_free(&centres);
  if (result != KP_OK) {
    return kp_fail_in(result, "probe \"%s\"", def->name);
  }
  out->probe->particle = def->particle;
  return kp_array_resize(&out->samples, (size_t)kp_probe_count(out->probe));
}

kp_result kp_world_probes_build(kp_world *world) {
  kp_world_probes *probes = &world->probes;
  size_t n = world->spec.probes.count;
  KP_TRY(kp_array_reserve(&probes->all, n));
  for (size_t i = 0; i < n; ++i) {
    kp_world_probe *probe = &probes->all.data[probes->all.count++];
    KP_TRY(build_probe(world, &world->spec.probes.data[i], probe));
  }
  return KP_OK;
}

void kp_world_probes_free(kp_world *world) {
  for (size_t i = 0; i < world->probes.all.count; ++i) {
    kp_probe_destroy(&world->probes.all.data[i].probe);
    kp_array_free(&world->probes.all.data[i].samples);
  }
  kp_array_free(&world->probes.all);
  kp_array_free(&world->probes.rows);
}

// ---- looking
// -------------------------------------------------------------------------------------------------

static kp_result look(kp_world *world, kp_world_probe *probe) {
  if (probe->probe != NULL) {
    return kp_probe_look(probe->probe, probe->samples.data);
  }
  kp_frame3 frame = kp_bodies_frame(world->bodies, probe->body);
  probe->samples.data[0] = (kp_probe_value){ .position = frame.position,
                                             .count = 1.0,
                                             .velocity = frame.velocity,
                                             .speed = kp_vec3_length(frame.velocity) };
  return KP_OK;
}

static kp_result look_and_keep(kp_world *world, size_t index) {
  kp_world_probes *probes = &world->probes;
  kp_world_probe *probe = &probes->all.data[index];
  KP_TRY(look(world, probe));
  for (size_t r = 0; r < probe->samples.count; ++r) {
    kp_probe_row row = { .probe = (int32_t)index,
                         .region = (int32_t)r,
                         .step = world->n_steps,
                         .time = world->env.time,
                         .sample = probe->samples.data[r] };
    KP_TRY(kp_array_push(&probes->rows, row));
  }
  return KP_OK;
}

// A matter of times and the count of steps alone, which are state: a resumed run looks at the same
// moments.
static bool is_due(const kp_world *world, const kp_probe_def *def, double before) {
  if (isnan(def->interval)) {
    return world->n_steps % def->every == 0;
  }
  const double slack = 1e-9;
  return floor(world->env.time / def->interval + slack) > floor(before / def->interval + slack);
}

kp_result kp_world_probes_step(kp_world *world, double before) {
  for (size_t i = 0; world->probes.keep && i < world->probes.all.count; ++i) {
    if (is_due(world, &world->probes.all.data[i].def, before)) {
      KP_TRY(look_and_keep(world, i));
    }
  }
  return KP_OK;
}

kp_result kp_world_probes_start(kp_world *world) {
  for (size_t i = 0; i < world->probes.all.count; ++i) {
    KP_TRY(look_and_keep(world, i));
  }
  return KP_OK;
}

kp_result kp_world_probe_now(kp_world *world, const char *name, kp_probe_value *out, int64_t n,
                             int64_t *count) {
  KP_TRY(kp_world_need_built(world));
  if (name == NULL || count == NULL || (out == NULL && n > 0)) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "a name, a place for values and one for their count are needed");
  }
  for (size_t i = 0; i < world->probes.all.count; ++i) {
    kp_world_probe *probe = &world->probes.all.data[i];
    if (strcmp(probe->def.name, name) == 0) {
      KP_TRY(look(world, probe));
      *count = (int64_t)probe->samples.count;
      for (int64_t r = 0; r < *count && r < n; ++r) {
        out[r] = probe->samples.data[r];
      }
      return KP_OK;
    }
  }
  return kp_fail(KP_ERROR_ARGUMENT, "there is no probe \"%s\"", name);
}
