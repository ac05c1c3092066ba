#include "world/probes.h"

#include <math.h>
#include <string.h>

#include "geom/sampler.h"
#include "world/probe_patch.h"
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

static const kp_liquid_def *liquid_of(const kp_spec *spec, const char *name) {
  for (size_t l = 0; l < spec->liquids.count; ++l) {
    if (strcmp(spec->liquids.data[l].name, name) == 0) {
      return &spec->liquids.data[l];
    }
  }
  return NULL;
}

// The name of the grid that holds something: liquids of method level_set share that of the first,
// those of method flip have one of that name.
static const char *grid_name(const kp_spec *spec, const char *name) {
  const kp_liquid_def *liquid = liquid_of(spec, name);
  if (liquid == NULL || liquid->method != KP_LIQUID_LEVEL_SET) {
    return liquid != NULL && liquid->method == KP_LIQUID_FLIP ? "flip" : name;
  }
  size_t first = 0;
  while (spec->liquids.data[first].method != KP_LIQUID_LEVEL_SET) {
    ++first;
  }
  return spec->liquids.data[first].name;
}

static kp_mac *find_grid(const kp_world *world, const char *name) {
  const char *wanted = grid_name(&world->spec, name);
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    if (strcmp(world->env.grids.data[g].name, wanted) == 0) {
      return world->env.grids.data[g].mac;
    }
  }
  return NULL;
}

// Distance of the particles of a population at the start.
static double spacing_of(const kp_world *world, const char *name) {
  const kp_spec *spec = &world->spec;
  const kp_liquid_def *liquid = liquid_of(spec, name);
  if (liquid != NULL) {
    kp_mac *mac = liquid->method == KP_LIQUID_MARKER ? find_grid(world, name) : NULL;
    return mac != NULL ? 0.5 * mac->view.cell : liquid->spacing;
  }
  for (size_t g = 0; g < spec->grains.count; ++g) {
    if (strcmp(spec->grains.data[g].name, name) == 0) {
      return spec->grains.data[g].spacing;
    }
  }
  return NAN;
}

// Spacings that are looked at: with less a gauge would take a drop for the surface, and a patch of
// a wall the layers that particles form beside it for a slope of the pressure.
#define GAUGE_RADIUS 2.5
#define WALL_RADIUS 4.0

// Of the solids where they are now.
static double distance_to_solids(const void *user, kp_vec3 at) {
  const kp_world *world = user;
  double least = HUGE_VAL;
  for (size_t s = 0; s < world->solids.count; ++s) {
    const kp_solid *solid = &world->solids.data[s];
    kp_frame3 frame = kp_bodies_frame(world->bodies, solid->body);
    kp_vec3 d =
        kp_quat_rotate(kp_quat_conjugate(frame.orientation), kp_vec3_sub(at, frame.position));
    kp_vec3 local = kp_vec3_add(d, world->bodies->models.data[solid->body].center);
    least = fmin(least, kp_shape_distance(solid->shape, local));
  }
  return least;
}

static void build_gauge(const kp_world *world, kp_world_probe *out) {
  double spacing = spacing_of(world, out->def.of);
  int dimension = world->env.dimension;
  const kp_liquid_def *liquid = liquid_of(&world->spec, out->def.of);
  bool is_flip = liquid != NULL && liquid->method == KP_LIQUID_FLIP;
  out->gauge =
      (kp_gauge){ .reading = (kp_gauge_reading)out->def.reading,
                  .dimension = dimension,
                  .up = kp_env_up_axis(&world->env),
                  .radius = isnan(out->def.radius) ? GAUGE_RADIUS * spacing : out->def.radius,
                  .volume = pow(spacing, dimension),
                  .box = { world->env.domain.min, world->env.domain.max },
                  .full =
                      is_flip && world->spec.flip.band > 0.0 ? world->spec.flip.band - 0.5 : 0.0,
                  .solid = world->solids.count > 0 ? distance_to_solids : NULL,
                  .solids = world };
  for (int axis = 0; axis < dimension; ++axis) {
    kp_faces faces = kp_env_faces(&world->env, axis);
    out->gauge.closed[axis][0] = faces.closed_lo;
    out->gauge.closed[axis][1] = faces.closed_hi;
    out->gauge.periodic[axis] = faces.periodic;
  }
}

// What answers: particles, a grid, or the column of a gauge in either.
static kp_result build_eye(kp_world *world, const kp_points *spots, kp_world_probe *out) {
  const kp_probe_def *def = &out->def;
  int dimension = world->env.dimension;
  bool is_wall = def->kind == KP_PROBE_WALL;
  double radius = isnan(def->radius) ? touching_radius(def, dimension) : def->radius;
  radius = is_wall ? WALL_RADIUS * spacing_of(world, def->of) : radius;
  if (def->kind == KP_PROBE_GAUGE) {
    build_gauge(world, out);
    return KP_OK;
  }
  // alone a region on a grid is a cell wide, and patches on walls look at two
  out->radius = isfinite(radius) && !(is_wall && out->space == NULL) ? radius : 0.0;
  out->kind = is_wall ? KP_PROBE_FIT : (kp_probe_kind)def->kind;
  if (out->space == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_probe_create(out->kind, out->space, dimension, spots->data, (int64_t)spots->count,
                         radius, &out->probe));
  out->probe->particle = def->particle;
  return kp_probe_watch(out->probe);
}

// Where each region is asked.
static kp_result make_spots(const kp_world *world, const kp_world_probe *probe,
                            const kp_points *centres, kp_points *out) {
  const kp_probe_def *def = &probe->def;
  double radius = isnan(def->radius) ? touching_radius(def, world->env.dimension) : def->radius;
  for (size_t i = 0; i < centres->count; ++i) {
    if (def->kind == KP_PROBE_WALL) {
      KP_TRY(kp_probe_patch(world, centres->data[i], radius, out));
    } else {
      KP_TRY(kp_array_push(out, centres->data[i]));
    }
  }
  return KP_OK;
}

static kp_result make_values(const kp_points *places, kp_world_probe *probe) {
  bool is_path = probe->def.kind == KP_PROBE_TRACK;
  size_t n = is_path ? 1 : places->count;
  KP_TRY(kp_array_resize(&probe->seen, n));
  KP_TRY(kp_array_resize(&probe->on_grid, probe->grid.mac != NULL ? n : 0));
  for (size_t i = 0; i < n; ++i) {
    probe->seen.data[i] = (kp_probe_value){ .height = NAN };
    if (!is_path) {
      probe->seen.data[i].position = places->data[i];
    }
  }
  for (size_t i = 0; i < probe->on_grid.count; ++i) {
    probe->on_grid.data[i] = probe->seen.data[i];
  }
  return kp_array_resize(&probe->samples, n / (size_t)probe->spots);
}

static kp_result build_probe(kp_world *world, const kp_probe_def *def, kp_world_probe *out) {
  *out = (kp_world_probe){ .def = *def,
                           .space = kp_registry_find(world->registry, def->of),
                           .spots = 1,
                           .body = -1,
                           .watch = -1 };
  if (def->kind == KP_PROBE_WALL) {
    out->spots = kp_probe_patch_spots(world->env.dimension);
  }
  kp_mac *mac = find_grid(world, def->of);
  if (mac != NULL) {
    out->grid = kp_probe_grid_of(mac);
  }
  kp_points centres = { 0 };
  kp_points spots = { 0 };
  kp_result result = make_centres(def, world->env.dimension, &centres);
  KP_TRY_GOTO(result, make_spots(world, out, &centres, &spots), done);
  KP_TRY_GOTO(result, make_values(&spots, out), done);
  if (mac != NULL || out->space != NULL) {
    result = build_eye(world, &spots, out);
  } else {
    out->body = find_body(world, def->of);
  }
done:
  kp_array_free(&centres);
  kp_array_free(&spots);
  return result == KP_OK ? KP_OK : kp_fail_in(result, "probe \"%s\"", def->name);
}

kp_result kp_world_probes_build(kp_world *world) {
  kp_world_probes *probes = &world->probes;
  size_t n = world->spec.probes.count;
  int n_watches = 0;
  KP_TRY(kp_array_reserve(&probes->all, n));
  for (size_t i = 0; i < n; ++i) {
    kp_world_probe *probe = &probes->all.data[probes->all.count++];
    KP_TRY(build_probe(world, &world->spec.probes.data[i], probe));
    // they are watched in this order
    probe->watch = probe->body >= 0 ? n_watches++ : -1;
  }
  return KP_OK;
}

void kp_world_probes_free(kp_world *world) {
  for (size_t i = 0; i < world->probes.all.count; ++i) {
    kp_probe_destroy(&world->probes.all.data[i].probe);
    kp_array_free(&world->probes.all.data[i].seen);
    kp_array_free(&world->probes.all.data[i].on_grid);
    kp_array_free(&world->probes.all.data[i].samples);
  }
  kp_array_free(&world->probes.all);
  kp_array_free(&world->probes.rows);
  kp_array_free(&world->probes.loads);
  kp_array_free(&world->probes.media);
}

// ---- looking
// -------------------------------------------------------------------------------------------------

// Means of all media, in probes.media, and what the body feels of them.
static kp_result look_at_loads(kp_world *world, const kp_world_probe *probe, kp_load *felt) {
  const kp_loads *loads = world->env.loads;
  kp_probe_loads *media = &world->probes.media;
  bool is_free = world->bodies->models.data[probe->body].kind == KP_BODY_FREE;
  KP_TRY(kp_array_resize(media, loads->media.count));
  kp_loads_mean(loads, (size_t)probe->watch, world->env.time, media->data);
  *felt = (kp_load){ 0 };
  for (size_t m = 0; m < media->count; ++m) {
    if (!is_free || !loads->media.data[m].is_one_way) {
      *felt = kp_load_sum(*felt, 1.0, media->data[m]);
    }
  }
  return KP_OK;
}

static kp_result look_at_body(kp_world *world, const kp_world_probe *probe) {
  kp_frame3 frame = kp_bodies_frame(world->bodies, probe->body);
  kp_load felt;
  KP_TRY(look_at_loads(world, probe, &felt));
  probe->seen.data[0] = (kp_probe_value){ .position = frame.position,
                                          .count = 1.0,
                                          .velocity = frame.velocity,
                                          .speed = kp_vec3_length(frame.velocity),
                                          .height = NAN,
                                          .orientation = frame.orientation,
                                          .angular_velocity = frame.angular_velocity,
                                          .force = felt.force,
                                          .torque = felt.torque };
  kp_probe_put((const double[]){ NAN, NAN, NAN }, &probe->seen.data[0]);
  return KP_OK;
}

static kp_result look_at_grid(const kp_world_probe *probe, kp_probe_value *out) {
  return kp_probe_grid_look(&probe->grid, probe->kind, probe->radius, out,
                            (int64_t)probe->seen.count);
}

// Particles tell all but the pressure that a grid behind them has.
static kp_result look_at_particles(const kp_world_probe *probe) {
  KP_TRY(kp_probe_look(probe->probe, probe->seen.data));
  if (probe->grid.mac == NULL || probe->kind == KP_PROBE_TRACK) {
    return KP_OK;
  }
  KP_TRY(look_at_grid(probe, probe->on_grid.data));
  for (size_t i = 0; i < probe->seen.count; ++i) {
    probe->seen.data[i].pressure = probe->on_grid.data[i].pressure;
  }
  return KP_OK;
}

static kp_result look_at_spots(kp_world *world, kp_world_probe *probe) {
  kp_probe_value *values = probe->seen.data;
  int64_t n = (int64_t)probe->seen.count;
  if (probe->def.kind == KP_PROBE_GAUGE) {
    return probe->space != NULL
               ? kp_gauge_particles(&probe->gauge, probe->space, &probe->grid, values, n)
               : kp_gauge_grid(&probe->gauge, &probe->grid, values, n);
  }
  if (probe->probe != NULL) {
    return look_at_particles(probe);
  }
  return probe->grid.mac != NULL ? look_at_grid(probe, values) : look_at_body(world, probe);
}

static kp_result look(kp_world *world, kp_world_probe *probe) {
  KP_TRY(look_at_spots(world, probe));
  for (size_t r = 0; r < probe->samples.count; ++r) {
    const kp_probe_value *seen = &probe->seen.data[r * (size_t)probe->spots];
    if (probe->spots > 1) {
      kp_probe_patch_mean(seen, probe->spots, &probe->samples.data[r]);
    } else {
      probe->samples.data[r] = *seen;
    }
  }
  return KP_OK;
}

// They belong to the row, and the next mean begins here.
static kp_result keep_loads(kp_world *world, const kp_world_probe *probe) {
  for (size_t m = 0; m < world->probes.media.count; ++m) {
    KP_TRY(kp_array_push(&world->probes.loads, world->probes.media.data[m]));
  }
  kp_loads_take(world->env.loads, (size_t)probe->watch, world->env.time);
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
                         .sample = probe->samples.data[r],
                         .load = probe->body < 0 ? -1 : (int64_t)probes->loads.count };
    KP_TRY(kp_array_push(&probes->rows, row));
  }
  return probe->body < 0 ? KP_OK : keep_loads(world, probe);
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
  bool is_shown = false;
  for (size_t i = 0; world->probes.keep && i < world->probes.all.count; ++i) {
    if (is_due(world, &world->probes.all.data[i].def, before)) {
      KP_TRY(is_shown ? KP_OK : kp_world_show(world));
      is_shown = true;
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
      KP_TRY(kp_world_show(world));
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
