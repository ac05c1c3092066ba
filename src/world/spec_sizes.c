#include "world/spec_sizes.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "methods/common/flow.h"
#include "methods/flip/flip.h"
#include "methods/method.h"
#include "methods/mps/mps.h"
#include "methods/sph/sph.h"

#define COUNT_LIMIT 2147483647.0  // kp_index
#define GIGA 1e9

// Bytes of memory at the peak of a first step, with neighbours, sorted copies and what solvers
// keep, measured on scenes of 1e5 to 1e6 (tests/unit/test_spec_sizes.c holds them to it).
#define BYTES_PER_GRAIN 900.0
#define BYTES_PER_CLOUD_PARTICLE 200.0
#define BYTES_PER_IMPLICIT_PARTICLE 1300.0  // with DFSPH
#define BYTES_PER_VISCOUS_PARTICLE 1430.0   // with viscosity that is solved for as well
#define BYTES_PER_SAMPLE 190.0
#define BYTES_PER_CLOTH_NODE 3000.0
#define BYTES_PER_HAIR_NODE 1500.0
#define BYTES_PER_SOFT_NODE 6700.0
// Nodes of a shape that is no box: corners and middles of cells, and those on its surface, which is
// taken for half that of its bounds.
#define SOFT_NODES_PER_CELL 2.0
#define SOFT_NODES_PER_FACE 0.73
#define BYTES_PER_REGION 150.0  // of a probe
#define BYTES_PER_SITE 100.0    // of an emitter

static double component(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static double extent_of(const kp_spec *spec, int axis) {
  return axis < (int)spec->domain.dimension
             ? component(spec->domain.max, axis) - component(spec->domain.min, axis)
             : 1.0;
}

// ---- what the builder goes by too

// The finest liquid of those that see samples of solids, or of FLIP, which sees their shapes on its
// grid.
static double finest_liquid(const kp_spec *spec, bool sees_samples) {
  double spacing = HUGE_VAL;
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    int method = spec->liquids.data[i].method;
    bool is_grid = method == KP_LIQUID_LEVEL_SET || method == KP_LIQUID_MARKER;
    bool is_flip = method == KP_LIQUID_FLIP;
    bool counts = !is_grid && is_flip != sees_samples;
    spacing = counts ? fmin(spacing, spec->liquids.data[i].spacing) : spacing;
  }
  return spacing;
}

// Finer samples than a liquid's spacing, in as many layers, would be a wall thinner than its
// kernels.
double kp_spec_finest_spacing(const kp_spec *spec) {
  double spacing = finest_liquid(spec, true);
  spacing = isfinite(spacing) ? spacing : finest_liquid(spec, false);
  for (size_t i = 0; i < spec->grains.count && spec->liquids.count == 0; ++i) {
    spacing = fmin(spacing, spec->grains.data[i].spacing);
  }
  return spacing;
}

static bool has_liquid(const kp_spec *spec, kp_liquid_method method) {
  for (size_t l = 0; l < spec->liquids.count; ++l) {
    if (spec->liquids.data[l].method == (int)method) {
      return true;
    }
  }
  return false;
}

int kp_spec_wall_layers(const kp_spec *spec) {
  bool sph = has_liquid(spec, KP_LIQUID_SPH) && spec->sph.domain_walls == 0;
  int layers = sph ? kp_sph_wall_layers(&spec->sph) : 0;
  if (has_liquid(spec, KP_LIQUID_MPS)) {
    int wanted = kp_mps_wall_layers(&spec->mps);
    layers = wanted > layers ? wanted : layers;
  }
  return layers;
}

// ---- particles

static const kp_liquid_def *find_liquid(const kp_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    if (strcmp(spec->liquids.data[i].name, name) == 0) {
      return &spec->liquids.data[i];
    }
  }
  return NULL;
}

static const kp_grains_def *find_grains(const kp_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->grains.count; ++i) {
    if (strcmp(spec->grains.data[i].name, name) == 0) {
      return &spec->grains.data[i];
    }
  }
  return NULL;
}

static double bytes_of_particle(const kp_spec *spec, const char *name) {
  static const double bytes[] = {
    [KP_LIQUID_SPH] = 330.0,  [KP_LIQUID_SPRINGS] = 200.0, [KP_LIQUID_STF] = 10000.0,
    [KP_LIQUID_MPS] = 1700.0, [KP_LIQUID_FLIP] = 350.0,    [KP_LIQUID_MARKER] = 200.0,
  };
  const kp_liquid_def *liquid = find_liquid(spec, name);
  if (liquid == NULL) {
    return find_grains(spec, name) != NULL ? BYTES_PER_GRAIN : BYTES_PER_CLOUD_PARTICLE;
  }
  bool is_implicit = liquid->method == KP_LIQUID_SPH && spec->sph.solver == KP_SPH_SOLVER_DFSPH;
  bool is_viscous = is_implicit && spec->sph.viscosity_model == KP_SPH_VISCOSITY_CENTRAL;
  double implicit = is_viscous ? BYTES_PER_VISCOUS_PARTICLE : BYTES_PER_IMPLICIT_PARTICLE;
  return is_implicit ? implicit : bytes[liquid->method];
}

// How many a volume holds. Grids keep them nowhere, in every cell or near the surface alone.
static double count_particles(const kp_spec *spec, const kp_population_def *p, double volume,
                              kp_aabb box) {
  const kp_liquid_def *liquid = find_liquid(spec, p->name);
  double dimension = (double)spec->domain.dimension, spacing = p->spacing;
  if (liquid != NULL && liquid->method == KP_LIQUID_LEVEL_SET) {
    return 0.0;
  }
  if (liquid != NULL && liquid->method == KP_LIQUID_MARKER) {
    spacing = 0.5 * kp_flow_cell(&spec->domain, &spec->grid);
  }
  if (liquid != NULL && liquid->method == KP_LIQUID_FLIP && spec->flip.band > 0.0) {
    kp_vec3 size = kp_vec3_sub(box.max, box.min);
    double around = dimension == 2.0 ? 2.0 * (size.x + size.y)
                                     : 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x);
    volume = fmin(volume, around * spec->flip.band * kp_flip_cell(&spec->grid, liquid));
  }
  return volume / pow(spacing, dimension);
}

kp_result kp_spec_sizes_add_particles(kp_spec_sizes *sizes, const kp_spec *spec,
                                      const kp_population_def *p, double volume, kp_aabb box) {
  double n = p->particles > 0 ? (double)p->particles : count_particles(spec, p, volume, box);
  kp_spec_size size = { p->word,     p->name,
                        "particles", p->particles > 0 ? "particles fewer" : "spacing larger",
                        n,           n * bytes_of_particle(spec, p->name) };
  return kp_array_push(sizes, size);
}

// ---- samples

kp_result kp_spec_sizes_add_samples(kp_spec_sizes *sizes, const kp_spec *spec, const char *word,
                                    const char *name, double area, double spacing, double layers) {
  double step = isnan(spacing) ? kp_spec_finest_spacing(spec) : spacing;
  if (!isfinite(step) || layers == 0.0) {
    return KP_OK;  // nobody needs them
  }
  double n = layers * area / (spec->domain.dimension == 2 ? step : step * step);
  kp_spec_size size = { word, name, "surface samples", "spacing larger", n, n * BYTES_PER_SAMPLE };
  return kp_array_push(sizes, size);
}

// ---- the domain and grids

// The lattice of kp_walls_of_domain less its inside, which goes on over periodic faces.
static kp_result add_walls(kp_spec_sizes *sizes, const kp_spec *spec) {
  kp_env env = { .domain = spec->domain,
                 .dimension = (int)spec->domain.dimension,
                 .simulation = spec->simulation };
  double layers = (double)kp_spec_wall_layers(spec), step = kp_spec_finest_spacing(spec);
  double all = 1.0, inside = 1.0;
  for (int axis = 0; axis < env.dimension && layers > 0.0; ++axis) {
    kp_faces faces = kp_env_faces(&env, axis);
    double n = fmax(1.0, round(extent_of(spec, axis) / step));
    double below = faces.closed_lo || faces.periodic ? layers : 0.0;
    double above = faces.closed_hi || faces.periodic ? layers : 0.0;
    all *= below + n + above;
    inside *= faces.periodic ? below + n + above : n;
  }
  double n = all - inside;
  kp_spec_size size = {
    "domain", "", "wall samples", "liquids' spacing larger", n, n * BYTES_PER_SAMPLE
  };
  return n > 0.0 ? kp_array_push(sizes, size) : KP_OK;
}

static kp_result add_grid(kp_spec_sizes *sizes, const kp_spec *spec, const char *word,
                          const char *name, double cell, double bytes_per_cell) {
  double n = 1.0;
  for (int axis = 0; axis < (int)spec->domain.dimension; ++axis) {
    n *= fmax(1.0, round(extent_of(spec, axis) / cell));
  }
  kp_spec_size size = { word, name, "cells", "cells larger", n, n * bytes_per_cell };
  return kp_array_push(sizes, size);
}

static kp_result add_grids(kp_spec_sizes *sizes, const kp_spec *spec) {
  double cell = kp_flow_cell(&spec->domain, &spec->grid);
  bool has_flip = false;
  for (size_t i = 0; i < spec->smokes.count; ++i) {
    KP_TRY(add_grid(sizes, spec, "smoke", spec->smokes.data[i].name, cell, 180.0));
  }
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    const kp_liquid_def *def = &spec->liquids.data[i];
    if (def->method == KP_LIQUID_LEVEL_SET || def->method == KP_LIQUID_MARKER) {
      KP_TRY(add_grid(sizes, spec, "liquid", def->name, cell, 400.0));
    } else if (def->method == KP_LIQUID_FLIP && !has_flip) {
      has_flip = true;  // all of them share one
      KP_TRY(add_grid(sizes, spec, "liquid", def->name, kp_flip_cell(&spec->grid, def), 280.0));
    }
  }
  return KP_OK;
}

// ---- deformables

static kp_result add_cloths(kp_spec_sizes *sizes, const kp_spec *spec) {
  for (size_t i = 0; i < spec->cloths.count; ++i) {
    const kp_cloth_def *def = &spec->cloths.data[i];
    if (def->mesh[0] != '\0') {
      continue;  // as large as its file
    }
    double n = ((double)def->columns + 1.0) * ((double)def->rows + 1.0) * (double)def->layers;
    kp_spec_size size = { "cloth",    def->name,
                          "vertices", "columns and rows fewer",
                          n,          n * BYTES_PER_CLOTH_NODE };
    KP_TRY(kp_array_push(sizes, size));
  }
  return KP_OK;
}

static kp_result add_hairs(kp_spec_sizes *sizes, const kp_spec *spec) {
  for (size_t i = 0; i < spec->hairs.count; ++i) {
    const kp_hair_def *def = &spec->hairs.data[i];
    // a node between two others holds the twist
    double n = (double)def->count * (2.0 * (double)def->segments + 1.0);
    kp_spec_size size = { "hair",  def->name,
                          "nodes", "count or segments smaller",
                          n,       n * BYTES_PER_HAIR_NODE };
    KP_TRY(kp_array_push(sizes, size));
  }
  return KP_OK;
}

kp_result kp_spec_sizes_add_soft(kp_spec_sizes *sizes, const kp_soft_def *def, kp_aabb box,
                                 double volume) {
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  double h = def->spacing, cells = volume / (h * h * h);
  double faces = 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x) / (h * h);
  double n = SOFT_NODES_PER_CELL * cells + SOFT_NODES_PER_FACE * faces;
  if (def->grade > 0.0) {
    // fine cells lie below the surface alone
    n = fmin(n, 2.0 * faces * fmax(1.0, 1.0 / def->grade));
  } else if (def->shape.kind == KP_SHAPE_BOX) {
    n = (round(size.x / h) + 1.0) * (round(size.y / h) + 1.0) * (round(size.z / h) + 1.0);
  }
  kp_spec_size counted = {
    "soft", def->name, "nodes", "spacing larger", n, n * BYTES_PER_SOFT_NODE
  };
  return kp_array_push(sizes, counted);
}

// ---- emitters and probes

static double spacing_of(const kp_spec *spec, const char *name) {
  const kp_liquid_def *liquid = find_liquid(spec, name);
  const kp_grains_def *grains = find_grains(spec, name);
  return liquid != NULL ? liquid->spacing : grains != NULL ? grains->spacing : HUGE_VAL;
}

// Particles of a spacing in the opening of an emitter, or in or on its shape.
static kp_result count_sites(const kp_spec *spec, const kp_emitter_def *def, double step,
                             double *n) {
  double pi = 3.14159265358979323846;
  bool is_flat = spec->domain.dimension == 2;
  if (def->from == KP_EMITTER_OPENING) {
    bool is_disc = def->width == 0.0;
    double area = is_disc ? pi * def->radius * def->radius : def->width * def->height;
    double width = is_disc ? 2.0 * def->radius : def->width;
    *n = is_flat ? width / step : area / (step * step);
    return KP_OK;
  }
  kp_shape *shape = NULL;
  KP_TRY(kp_shape_build(&def->shape, spec->folder, &shape));
  kp_aabb box = kp_shape_bounds(shape);
  kp_vec3 size = kp_vec3_scale(kp_vec3_sub(box.max, box.min), 1.0 / step);
  double faces = 2.0 * (size.x * size.y + size.y * size.z + size.z * size.x);
  double volume = kp_shape_volume(shape) / (step * step * step);
  double inside = is_flat ? size.x * size.y : volume;
  *n = def->from == KP_EMITTER_INSIDE ? inside : is_flat ? 2.0 * (size.x + size.y) : faces;
  kp_shape_destroy(&shape);
  return KP_OK;
}

static kp_result add_emitters(kp_spec_sizes *sizes, const kp_spec *spec) {
  for (size_t i = 0; i < spec->emitters.count; ++i) {
    const kp_emitter_def *def = &spec->emitters.data[i];
    bool is_opening = def->from == KP_EMITTER_OPENING;
    double n;
    KP_TRY(count_sites(spec, def, spacing_of(spec, def->into), &n));
    // a layer that is let in at once, or all of the shape
    kp_spec_size size = { "emitter",
                          def->name,
                          is_opening ? "particles of a layer" : "places of its shape",
                          is_opening ? "opening smaller" : "shape smaller",
                          n,
                          n * (BYTES_PER_SITE + bytes_of_particle(spec, def->into)) };
    KP_TRY(kp_array_push(sizes, size));
  }
  return KP_OK;
}

static kp_result add_probes(kp_spec_sizes *sizes, const kp_spec *spec) {
  for (size_t i = 0; i < spec->probes.count; ++i) {
    const kp_probe_def *def = &spec->probes.data[i];
    double n = def->counts.x * def->counts.y * def->counts.z;
    kp_spec_size size = {
      "probe", def->name, "regions", "counts smaller", n, n * BYTES_PER_REGION
    };
    KP_TRY(kp_array_push(sizes, size));
  }
  return KP_OK;
}

kp_result kp_spec_sizes_add_rest(kp_spec_sizes *sizes, const kp_spec *spec) {
  KP_TRY(add_walls(sizes, spec));
  KP_TRY(add_grids(sizes, spec));
  KP_TRY(add_cloths(sizes, spec));
  KP_TRY(add_hairs(sizes, spec));
  KP_TRY(add_emitters(sizes, spec));
  return add_probes(sizes, spec);
}

// ---- what there is

double kp_spec_sizes_bytes(const kp_spec_sizes *sizes) {
  double bytes = 0.0;
  for (size_t i = 0; i < sizes->count; ++i) {
    bytes += sizes->data[i].bytes;
  }
  return bytes;
}

static const kp_spec_size *find_largest(const kp_spec_sizes *sizes) {
  const kp_spec_size *largest = &sizes->data[0];
  for (size_t i = 1; i < sizes->count; ++i) {
    largest = sizes->data[i].bytes > largest->bytes ? &sizes->data[i] : largest;
  }
  return largest;
}

kp_result kp_spec_sizes_check(const kp_spec_sizes *sizes, const kp_spec *spec) {
  if (sizes->count == 0) {
    return KP_OK;
  }
  const kp_spec_size *largest = find_largest(sizes);
  double need = kp_spec_sizes_bytes(sizes), have = kp_memory_limit();
  bool is_said = GIGA * spec->simulation.memory_limit < have;
  have = is_said ? GIGA * spec->simulation.memory_limit : have;
  const char *quote = largest->name[0] != '\0' ? "\"" : "";
  const char *space = largest->name[0] != '\0' ? " " : "";
  if (need > have) {
    return kp_fail(KP_ERROR_SCENE,
                   "the scene needs about %.3g GB of memory and %s %.3g GB; %.3g GB are for "
                   "%.3g %s of %s%s%s%s%s, so make its %s",
                   need / GIGA, is_said ? "simulation.memory_limit is" : "this machine has",
                   have / GIGA, largest->bytes / GIGA, largest->n, largest->what, largest->word,
                   space, quote, largest->name, quote, largest->key);
  }
  for (size_t i = 0; i < sizes->count; ++i) {
    const kp_spec_size *size = &sizes->data[i];
    if (size->n > COUNT_LIMIT) {
      return kp_fail(KP_ERROR_SCENE,
                     "%s \"%s\" would have about %.3g %s, of at most %.3g, so make its %s",
                     size->word, size->name, size->n, size->what, COUNT_LIMIT, size->key);
    }
  }
  return KP_OK;
}
