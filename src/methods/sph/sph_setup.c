// Building: liquids filled and trimmed, wall samples of the domain, volumes of samples.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "data/call.h"
#include "geom/sampler.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_kernels.h"
#include "par/kernel_define.h"

SPH_POINT_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE)
SPH_PAIR_KERNELS(KP_DECLARE_PAIR)

// Cells a little larger than the support: a pair at exactly the support cannot fall between two of
// them.
#define CELL_MARGIN (1.0 + 1e-6)
#define DENSE_WALL_CELLS ((int64_t)1 << 26)

// Cells per support, by bench. A card tests a candidate in three instructions and reads neighbours
// best where they lie together, so that large cells pay unless they hold many (H200, 4 M particles:
// scene A with 8 particles in a cell 1,550 Mps/s, with halves of the edge 1,230; scene B with 64 in
// a cell 230, with halves and thirds of the edge 305 and 309). The host packs the candidates of a
// cell once for all its particles.
static double cell_edge(const kp_sph *sph, const kp_env *env) {
  bool is_card = env->backend->vt->kind == KP_BACKEND_CUDA;
  double cells = is_card && sph->def.support > 2.5 ? 3.0 : 1.0;
  return sph->support * CELL_MARGIN / cells;
}

// Sum of the density kernel over a layer of the lattice (a row in 2D) at height y off its centre.
static double layer_sum(const kp_sph *sph, double spacing, int dimension, double y) {
  int reach = (int)ceil(sph->support / spacing);
  int depth = dimension == 2 ? 0 : reach;
  double sum = 0.0;
  for (int k = -depth; k <= depth; ++k) {
    for (int i = -reach; i <= reach; ++i) {
      double r = sqrt(y * y + spacing * spacing * (double)(i * i + k * k));
      sum += kp_smooth_value(sph->w_kind, r, sph->support, dimension);
    }
  }
  return sum;
}

double kp_sph_lattice_volume(const kp_sph *sph, double spacing, int dimension) {
  int reach = (int)ceil(sph->support / spacing);
  double sum = 0.0;
  for (int j = -reach; j <= reach; ++j) {
    sum += layer_sum(sph, spacing, dimension, spacing * j);
  }
  return 1.0 / sum;
}

// Factor on V_b = 1 / sum_b' W (Akinci et al. 2012) of samples in two flat layers: with it each
// stands for a full cell of the lattice, as the samples of the domain do (cf. gamma in Band et al.
// 2018).
static double surface_factor(const kp_sph *sph, double spacing, int dimension) {
  double own =
      layer_sum(sph, spacing, dimension, 0.0) + layer_sum(sph, spacing, dimension, spacing);
  return own * kp_sph_lattice_volume(sph, spacing, dimension);
}

// ---- liquids ------------------------------------------------------------------------------------

// Signed distance to the nearest solid, negative inside.
static double distance_to_solids(const kp_sph_setup *setup, kp_vec3 p) {
  double nearest = HUGE_VAL;
  for (size_t s = 0; s < setup->n_solids; ++s) {
    const kp_sph_solid *solid = &setup->solids[s];
    kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(solid->turn), kp_vec3_sub(p, solid->origin));
    nearest = fmin(nearest, kp_shape_distance(solid->shape, local));
  }
  return nearest;
}

static bool in_domain(const kp_domain_def *domain, int dimension, kp_vec3 p) {
  bool flat =
      p.x > domain->min.x && p.x < domain->max.x && p.y > domain->min.y && p.y < domain->max.y;
  return flat && (dimension == 2 || (p.z > domain->min.z && p.z < domain->max.z));
}

// Drop the points outside the domain and in or against solids; in place, order kept.
static void trim(const kp_sph_setup *setup, const kp_env *env, const kp_liquid_def *def,
                 kp_points *points) {
  size_t kept = 0;
  size_t outside = 0;
  size_t buried = 0;
  for (size_t i = 0; i < points->count; ++i) {
    kp_vec3 p = points->data[i];
    double distance = distance_to_solids(setup, p);
    if (!in_domain(&env->domain, env->dimension, p)) {
      outside += 1;
    } else if (distance < 0.4999 * def->spacing) {  // a lattice laid against a solid stays whole
      buried += distance < 0.0 ? 1 : 0;
    } else {
      points->data[kept++] = p;
    }
  }
  points->count = kept;
  if (outside > 0) {
    kp_log(KP_LOG_WARN, "sph", "liquid \"%s\": %zu particles outside the domain were left out",
           def->name, outside);
  }
  if (buried > 0) {
    kp_log(KP_LOG_WARN, "sph", "liquid \"%s\": %zu particles inside solids were left out",
           def->name, buried);
  }
}

static kp_result fill(kp_sph_fluid *fluid, kp_env *env, const kp_sph_setup *setup) {
  const kp_liquid_def *def = &fluid->def;
  kp_points points = { 0 };
  kp_shape *shape = NULL;
  kp_vec3 *velocities = NULL;
  kp_result result = KP_OK;
  KP_TRY(kp_shape_build(&def->shape, setup->folder, &shape));
  if (env->dimension == 2) {
    KP_TRY_GOTO(result, kp_shape_flatten(shape), done);
  }
  kp_fill_def how = kp_default_fill_def(def->spacing);
  how.jitter = def->jitter;
  how.seed = (uint64_t)env->simulation.seed;
  how.clip = (kp_aabb){ env->domain.min, env->domain.max };
  if (kp_shape_is_bounded(shape)) {
    how.clip = kp_shape_bounds(shape);
  }
  KP_TRY_GOTO(result, kp_sampler_fill(shape, &how, &points), done);
  trim(setup, env, def, &points);
  if (points.count == 0) {
    result = kp_fail(KP_ERROR_SCENE, "liquid \"%s\": its shape holds no particle of spacing %g m",
                     def->name, def->spacing);
    goto done;
  }
  velocities = kp_alloc(points.count * sizeof *velocities, KP_MEMORY_SCRATCH);
  if (velocities == NULL) {
    result = KP_ERROR_MEMORY;
    goto done;
  }
  for (size_t i = 0; i < points.count; ++i) {
    velocities[i] = def->velocity;
  }
  result = kp_set_add(fluid->set, (int64_t)points.count, points.data, velocities);
done:
  kp_free(velocities);
  kp_array_free(&points);
  kp_shape_destroy(&shape);
  return result;
}

// Speed the liquid can reach by falling through the domain or that it starts or is emitted with.
static double expected_speed(const kp_sph_setup *setup, const kp_env *env, const kp_liquid_def *def,
                             const kp_aabb *filled) {
  kp_vec3 g = env->simulation.gravity;
  int up = kp_env_up_axis(env);
  const double top[3] = { filled->max.x, filled->max.y, filled->max.z };
  const double bottom[3] = { env->domain.min.x, env->domain.min.y, env->domain.min.z };
  double height = fmax(top[up] - bottom[up], def->spacing);
  double speed = sqrt(2.0 * kp_vec3_length(g) * height);
  speed = fmax(speed, kp_vec3_length(def->velocity));
  for (size_t e = 0; e < setup->n_emitters; ++e) {
    const kp_curve *jet = &setup->emitters[e].speed;
    speed = jet->n == 0 ? fmax(speed, fabs(jet->constant[0])) : speed;
    for (int32_t k = 0; k < jet->n; ++k) {
      speed = fmax(speed, fabs(jet->samples[k]));
    }
  }
  return speed > 0.0 ? speed : 1.0;
}

static void choose_stiffness(kp_sph_fluid *fluid, double speed) {
  const kp_liquid_def *def = &fluid->def;
  bool tait = def->eos == 1;
  fluid->sound_speed = isnan(def->sound_speed) ? 10.0 * speed : def->sound_speed;
  if (!isnan(def->stiffness)) {
    // c^2 = dp/drho at rest
    fluid->stiffness = def->stiffness;
    fluid->sound_speed =
        sqrt(tait ? def->stiffness * def->exponent / def->rest_density : def->stiffness);
  } else {
    double c2 = fluid->sound_speed * fluid->sound_speed;
    fluid->stiffness = tait ? def->rest_density * c2 / def->exponent : c2;
  }
}

static kp_result add_fluid_fields(kp_sph *sph, kp_sph_fluid *fluid) {
  kp_space *space = fluid->set->space;
  bool kept = sph->def.fused || sph->def.density == 1;
  uint32_t density_flags = KP_FIELD_EXPORT | KP_FIELD_GHOST | (kept ? KP_FIELD_STATE : 0u);
  kp_field_desc density = { "density", KP_TYPE_REAL,  1,
                            "kg/m^3",  density_flags, fluid->def.rest_density };
  kp_field_desc pressure = { "pressure", KP_TYPE_REAL, 1, "Pa", KP_FIELD_GHOST, 0.0 };
  kp_field_desc inverse = { "inverse_density", KP_TYPE_REAL, 1, "m^3/kg", KP_FIELD_GHOST, 0.0 };
  KP_TRY(kp_space_add_field(space, &density, &fluid->density));
  KP_TRY(kp_space_add_field(space, &pressure, &fluid->pressure));
  KP_TRY(kp_space_add_field(space, &inverse, &fluid->inverse));
  if (sph->def.fused) {
    kp_field_desc last = { "density_last", KP_TYPE_REAL, 1, "kg/m^3", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_field(space, &last, &fluid->density_last));
  }
  if (sph->def.density == 1) {
    kp_field_desc rate = { "density_rate", KP_TYPE_REAL, 1, "kg/m^3/s", KP_FIELD_SORT, 0.0 };
    kp_field_desc start = { "density_start", KP_TYPE_REAL, 1, "kg/m^3", KP_FIELD_SORT, 0.0 };
    kp_field_desc last = { "density_rate_last", KP_TYPE_REAL, 1, "kg/m^3/s", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_field(space, &rate, &fluid->rate));
    if (sph->def.integrator == KP_INTEGRATOR_RK2) {
      KP_TRY(kp_space_add_field(space, &start, &fluid->density_start));
    } else {
      KP_TRY(kp_space_add_field(space, &last, &fluid->rate_last));
    }
  }
  return kp_integrate_create(&fluid->integrate, fluid->set, sph->def.integrator);
}

static kp_result create_ghosts(kp_sph *sph, kp_sph_fluid *fluid, kp_env *env) {
  const kp_domain_def *d = &env->domain;
  bool periodic[3] = { d->boundary_x == KP_BOUNDARY_PERIODIC, d->boundary_y == KP_BOUNDARY_PERIODIC,
                       d->boundary_z == KP_BOUNDARY_PERIODIC && env->dimension == 3 };
  if (!periodic[0] && !periodic[1] && !periodic[2]) {
    return KP_OK;
  }
  kp_ghosts_def def = { .box = { d->min, d->max },
                        .periodic = { periodic[0], periodic[1], periodic[2] },
                        .width = sph->support };
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.30s.images", fluid->def.name);
  KP_TRY(kp_ghosts_create(env->registry, name, fluid->set, &def, &fluid->ghosts));
  return kp_cells_create(fluid->ghosts->set, cell_edge(sph, env), &fluid->ghost_cells);
}

static kp_result setup_fluid(kp_sph *sph, kp_env *env, const kp_sph_setup *setup,
                             kp_sph_fluid *fluid) {
  kp_buffer_init(&fluid->keep, env->backend);
  KP_TRY(kp_set_create(env->registry, fluid->def.name, KP_SET_FREE, env->dimension, &fluid->set));
  KP_TRY(add_fluid_fields(sph, fluid));
  fluid->mass =
      fluid->def.rest_density * kp_sph_lattice_volume(sph, fluid->def.spacing, env->dimension);
  kp_aabb filled = { env->domain.min, env->domain.max };
  if (!fluid->def.empty) {
    KP_TRY(fill(fluid, env, setup));
    filled = kp_aabb_empty();
    const kp_pos *x[3];
    for (int c = 0; c < 3; ++c) {
      x[c] = kp_buffer_host(&fluid->set->position->buffers[c], KP_ACCESS_READ);
    }
    for (int64_t i = 0; i < fluid->set->space->n; ++i) {
      filled = kp_aabb_grow(filled, kp_vec3_make(x[0][i], x[1][i], x[2][i]));
    }
  }
  choose_stiffness(fluid, expected_speed(setup, env, &fluid->def, &filled));
  fluid->max_speed = kp_vec3_length(fluid->def.velocity);
  KP_TRY(kp_cells_create(fluid->set, cell_edge(sph, env), &fluid->cells));
  return create_ghosts(sph, fluid, env);
}

static kp_result find_fluid(const kp_sph *sph, const kp_emitter_def *def, int *out) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    if (strcmp(sph->fluids.data[f].def.name, def->into) == 0) {
      *out = (int)f;
      return KP_OK;
    }
  }
  return kp_fail(KP_ERROR_SCENE, "emitter \"%s\": there is no liquid \"%s\"", def->name, def->into);
}

kp_result kp_sph_setup_fluids(kp_sph *sph, kp_env *env, const kp_sph_setup *setup) {
  KP_TRY(kp_array_reserve(&sph->fluids, setup->n_liquids));
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    kp_sph_fluid *fluid = &sph->fluids.data[sph->fluids.count++];
    *fluid = (kp_sph_fluid){ .def = setup->liquids[l] };
    KP_TRY(setup_fluid(sph, env, setup, fluid));
  }
  for (size_t e = 0; e < setup->n_emitters; ++e) {
    kp_sph_emitter emitter = { .def = setup->emitters[e] };
    KP_TRY(find_fluid(sph, &emitter.def, &emitter.fluid));
    // the first layer leaves at once
    emitter.travelled = sph->fluids.data[emitter.fluid].def.spacing;
    KP_TRY(kp_array_push(&sph->emitters, emitter));
  }
  for (size_t s = 0; s < setup->n_sinks; ++s) {
    kp_shape_kind kind = setup->sinks[s].shape.kind;
    if (s >= SPH_SINKS || (kind != KP_SHAPE_BOX && kind != KP_SHAPE_SPHERE)) {
      return kp_fail(KP_ERROR_SCENE, "sink \"%s\": %s", setup->sinks[s].name,
                     s >= SPH_SINKS ? "a world has at most 8 sinks"
                                    : "its shape must be a box or a sphere");
    }
    KP_TRY(kp_array_push(&sph->sinks, setup->sinks[s]));
  }
  return KP_OK;
}

// ---- walls --------------------------------------------------------------------------------------

// Coordinates of the sample lattice along one axis: layers below, the inside, layers above.
typedef KP_ARRAY(double) coordinates;

static kp_result axis_lattice(double lo, double hi, double spacing, int below, int above,
                              coordinates *out) {
  int64_t n = llround((hi - lo) / spacing);
  n = n < 1 ? 1 : n;
  double step = (hi - lo) / (double)n;
  for (int64_t k = -below; k < n + above; ++k) {
    double x = lo + ((double)k + 0.5) * step;
    if (k < 0) {
      x = lo + ((double)k + 0.5) * spacing;
    } else if (k >= n) {
      x = hi + ((double)(k - n) + 0.5) * spacing;
    }
    KP_TRY(kp_array_push(out, x));
  }
  return KP_OK;
}

typedef struct wall_points {
  KP_ARRAY(kp_vec3) positions;
  KP_ARRAY(kp_vec3) normals;
  KP_ARRAY(double) areas;
} wall_points;

static double side_of(double x, double lo, double hi) {
  return x < lo ? 1.0 : (x > hi ? -1.0 : 0.0);
}

static kp_result add_wall_point(wall_points *w, kp_vec3 p, kp_vec3 inward, double area) {
  KP_TRY(kp_array_push(&w->positions, p));
  KP_TRY(kp_array_push(&w->normals, kp_vec3_normalize(inward)));
  return kp_array_push(&w->areas, area);
}

// Every lattice point outside the box belongs to a closed face: axes have layers only there.
static kp_result lattice_shell(const kp_domain_def *d, const coordinates axes[3], bool shell[3],
                               double area, wall_points *out) {
  for (size_t k = 0; k < axes[2].count; ++k) {
    for (size_t j = 0; j < axes[1].count; ++j) {
      for (size_t i = 0; i < axes[0].count; ++i) {
        kp_vec3 p = kp_vec3_make(axes[0].data[i], axes[1].data[j], axes[2].data[k]);
        kp_vec3 inward = kp_vec3_make(shell[0] ? side_of(p.x, d->min.x, d->max.x) : 0.0,
                                      shell[1] ? side_of(p.y, d->min.y, d->max.y) : 0.0,
                                      shell[2] ? side_of(p.z, d->min.z, d->max.z) : 0.0);
        if (inward.x != 0.0 || inward.y != 0.0 || inward.z != 0.0) {
          KP_TRY(add_wall_point(out, p, inward, area));
        } else if (i > 0 && i + 1 < axes[0].count && axes[0].count > 8) {
          // jump over the inside of the row: the first point beyond it is the next candidate
          size_t layers = axes[0].count;
          for (size_t n = i; n < axes[0].count; ++n) {
            if (shell[0] && side_of(axes[0].data[n], d->min.x, d->max.x) != 0.0) {
              layers = n;
              break;
            }
          }
          i = layers - 1;
        }
      }
    }
  }
  return KP_OK;
}

kp_result kp_sph_wall_samples(kp_env *env, const kp_sph_def *def, double spacing,
                              kp_interface *walls, kp_index body) {
  int layers = (int)ceil(def->support - 0.5);
  coordinates axes[3] = { { 0 }, { 0 }, { 0 } };
  bool shell[3];
  wall_points points = { 0 };
  kp_result result = KP_OK;
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    shell[axis] = faces.closed_lo;
    // walls reach past periodic faces, where the images of the fluid see them
    int below = faces.closed_lo || faces.periodic ? layers : 0;
    int above = faces.closed_hi || faces.periodic ? layers : 0;
    if (axis >= env->dimension) {
      KP_TRY_GOTO(result, kp_array_push(&axes[axis], 0.0), done);
    } else {
      KP_TRY_GOTO(result, axis_lattice(faces.lo, faces.hi, spacing, below, above, &axes[axis]),
                  done);
    }
  }
  double area = env->dimension == 2 ? spacing : spacing * spacing;
  KP_TRY_GOTO(result, lattice_shell(&env->domain, axes, shell, area, &points), done);
  if (points.positions.count > 0) {
    kp_interface_samples samples = { (int64_t)points.positions.count, points.positions.data,
                                     points.normals.data, points.areas.data };
    result = kp_interface_add(walls, env->bodies, body, &samples);
  }
done:
  for (int axis = 0; axis < 3; ++axis) {
    kp_array_free(&axes[axis]);
  }
  kp_array_free(&points.positions);
  kp_array_free(&points.normals);
  kp_array_free(&points.areas);
  return result;
}

static double finest_spacing(const kp_sph *sph) {
  double spacing = sph->spacing;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    spacing = fmin(spacing, sph->fluids.data[f].def.spacing);
  }
  return spacing;
}

static const kp_kernel *const volume_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_density_mueller_kernel, &sph_density_cubic_kernel, &sph_density_wendland_kernel,
  &sph_density_desbrun_kernel, &sph_density_poly6_kernel
};

// V_b = gamma / sum_b' W for surfaces of one or few layers; lattice samples of the domain stand for
// a full cell each.
static kp_result sample_volumes(kp_sph *sph, kp_env *env, kp_sph_wall_fields *wall) {
  kp_interface *samples = wall->interface;
  sph_density_args d = { .w = sph->w, .mass = (kp_real)1 };
  kp_pair_job job;
  kp_call call;
  kp_call_init(&call, volume_kernels[sph->def.kernel], &d);
  KP_BIND(&call, &d, density, &wall->density->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_pair_job_make(wall->cells, wall->cells, sph->support, &job));
  KP_TRY(kp_call_pairs(env->backend, &call, &job));
  sph_sample_volume_args v = { .factor = (kp_real)surface_factor(sph, finest_spacing(sph),
                                                                 env->dimension) };
  kp_call_init(&call, &sph_sample_volume_kernel, &v);
  KP_BIND(&call, &v, density, &wall->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &v, volume, &samples->volume->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, samples->set->space->n));
  kp_real cell = (kp_real)kp_sph_lattice_volume(sph, finest_spacing(sph), env->dimension);
  kp_real *volume = kp_buffer_host(&samples->volume->buffers[0], KP_ACCESS_WRITE);
  if (volume == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t r = 0; r < samples->ranges.count; ++r) {
    const kp_interface_range *range = &samples->ranges.data[r];
    bool domain = strcmp(env->bodies->models.data[range->body].name, "domain") == 0;
    for (int64_t i = range->first; domain && i < range->first + range->count; ++i) {
      volume[i] = cell;
    }
  }
  return KP_OK;
}

const kp_sph_fluid *kp_sph_stiffest(const kp_sph *sph) {
  const kp_sph_fluid *found = &sph->fluids.data[0];
  for (size_t f = 1; f < sph->fluids.count; ++f) {
    const kp_sph_fluid *fluid = &sph->fluids.data[f];
    double c2 = fluid->sound_speed * fluid->sound_speed;
    bool stiffer = fluid->def.rest_density * c2 >
                   found->def.rest_density * found->sound_speed * found->sound_speed;
    found = stiffer ? fluid : found;
  }
  return found;
}

static const kp_kernel *const own_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_wall_density_mueller_kernel, &sph_wall_density_cubic_kernel,
  &sph_wall_density_wendland_kernel, &sph_wall_density_desbrun_kernel,
  &sph_wall_density_poly6_kernel
};

// What samples give to the density of each other. Bodies are rigid, so it stays.
static kp_result own_density(kp_sph *sph, kp_env *env, kp_sph_wall_fields *wall) {
  sph_wall_density_args a = { .w = sph->w,
                              .rest_density = (kp_real)kp_sph_stiffest(sph)->def.rest_density };
  kp_pair_job job;
  kp_call call;
  kp_call_init(&call, own_kernels[sph->def.kernel], &a);
  KP_BIND(&call, &a, density, &wall->own->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, j_volume, &wall->interface->volume->buffers[0], KP_ACCESS_READ);
  KP_TRY(kp_pair_job_make(wall->cells, wall->cells, sph->support, &job));
  return kp_call_pairs(env->backend, &call, &job);
}

// The samples of bodies come on their surfaces. They are moved half a spacing into the solid, where
// those of the domain are: then a lattice of liquid that starts half a spacing off the surface is
// at rest, and what floats displaces its own volume. Contact between bodies (methods/rigid) adds
// the half spacing again.
static kp_result sink_samples(kp_env *env, kp_interface *samples) {
  kp_real *area = kp_buffer_host(&samples->area->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    kp_pos *x = kp_buffer_host(&samples->set->position->buffers[c], KP_ACCESS_WRITE);
    double *local = kp_buffer_host(&samples->local->buffers[c], KP_ACCESS_WRITE);
    const kp_real *n = kp_buffer_host(&samples->normal->buffers[c], KP_ACCESS_READ);
    const kp_real *local_n = kp_buffer_host(&samples->local_normal->buffers[c], KP_ACCESS_READ);
    if (area == NULL || x == NULL || local == NULL || n == NULL || local_n == NULL) {
      return KP_ERROR_MEMORY;
    }
    for (size_t r = 0; r < samples->ranges.count; ++r) {
      const kp_interface_range *range = &samples->ranges.data[r];
      bool domain = strcmp(env->bodies->models.data[range->body].name, "domain") == 0;
      double depth = 0.5 * kp_interface_spacing(area + range->first, range->count, env->dimension);
      for (int64_t i = range->first; !domain && i < range->first + range->count; ++i) {
        x[i] -= depth * (double)n[i];
        local[i] -= depth * (double)local_n[i];
      }
    }
  }
  return KP_OK;
}

kp_result kp_sph_setup_walls(kp_sph *sph, kp_env *env) {
  kp_interface *both[2] = { env->walls, env->movers };
  for (int w = 0; w < 2; ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (both[w] == NULL || both[w]->set->space->n == 0 || sph->fluids.count == 0) {
      continue;
    }
    wall->interface = both[w];
    kp_space *space = both[w]->set->space;
    kp_field_desc density = { "density", KP_TYPE_REAL, 1, "kg/m^3", 0, 0.0 };
    kp_field_desc pressure = { "pressure", KP_TYPE_REAL, 1, "", 0, 0.0 };
    kp_field_desc inverse = { "inverse_density", KP_TYPE_REAL, 1, "", 0, 0.0 };
    KP_TRY(kp_space_add_field(space, &density, &wall->density));
    KP_TRY(kp_space_add_field(space, &pressure, &wall->pressure));
    KP_TRY(kp_space_add_field(space, &inverse, &wall->inverse));
    KP_TRY(sink_samples(env, both[w]));
    KP_TRY(kp_cells_create(both[w]->set, cell_edge(sph, env), &wall->cells));
    // every particle looks for walls and few find any: a table of cells answers that fastest
    wall->cells->dense_cells = DENSE_WALL_CELLS;
    KP_TRY(kp_cells_build(wall->cells, NULL));
    KP_TRY(sample_volumes(sph, env, wall));
    if (sph->def.wall == KP_SPH_WALL_SPH) {
      kp_field_desc own = { "own_density", KP_TYPE_REAL, 1, "kg/m^3", 0, 0.0 };
      KP_TRY(kp_space_add_field(space, &own, &wall->own));
      KP_TRY(own_density(sph, env, wall));
    }
  }
  return KP_OK;
}
