#include "couple/fluid_grains.h"

#include <math.h>

#include "couple/fluid_grains_kernels.h"
#include "data/call.h"
#include "par/kernel_define.h"

SOAK_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- life ---------------------------------------------------------------------------------------

static void destroy(void **self) {
  kp_fluid_grains *c = *self;
  if (c != NULL) {
    kp_array_free(&c->sets);
    kp_array_free(&c->fluids);
    kp_free(c);
    *self = NULL;
  }
}

static kp_result add_grains(kp_fluid_grains *c, kp_grains_set *grains) {
  static const kp_field_desc descs[] = {
    { .name = "fluid_flow", .type = KP_TYPE_REAL, .components = 6, .unit = "" },
    { .name = "fluid_factor", .type = KP_TYPE_REAL, .components = 1, .unit = "kg/s" },
    { .name = "fluid_lift", .type = KP_TYPE_REAL, .components = 1, .unit = "m^3" },
  };
  kp_space *space = grains->medium.set->space;
  KP_TRY(kp_space_add_fields(space, descs, 3));
  kp_soaked_grains set = { .grains = grains,
                           .flow = kp_space_find(space, "fluid_flow"),
                           .factor = kp_space_find(space, "fluid_factor"),
                           .lift = kp_space_find(space, "fluid_lift") };
  return kp_array_push(&c->sets, set);
}

static kp_result add_fluid(kp_fluid_grains *c, kp_sph_fluid *fluid) {
  static const kp_field_desc descs[] = {
    { .name = "grains_seen", .type = KP_TYPE_REAL, .components = 4, .unit = "" },
    { .name = "grains_rest", .type = KP_TYPE_REAL, .components = 3, .unit = "m/s^2" },
  };
  kp_space *space = fluid->medium.set->space;
  KP_TRY(kp_space_add_fields(space, descs, 2));
  kp_soaked_fluid soaked = { .fluid = fluid,
                             .seen = kp_space_find(space, "grains_seen"),
                             .rest = kp_space_find(space, "grains_rest") };
  return kp_array_push(&c->fluids, soaked);
}

// Images must reach as far as the exchange does.
static void widen(kp_medium *medium, double reach) {
  if (medium->ghosts != NULL) {
    medium->ghosts->def.width = fmax(medium->ghosts->def.width, reach);
  }
}

static kp_result setup(kp_fluid_grains *c, kp_env *env, kp_sph *sph, kp_grains *grains) {
  double largest = 0.0;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    largest = fmax(largest, grains->sets.data[s].largest);
    KP_TRY(add_grains(c, &grains->sets.data[s]));
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(add_fluid(c, &sph->fluids.data[f]));
  }
  // a large grain looks past what it covers itself
  c->reach = fmax(sph->support, 3.0 * largest);
  c->w = kp_smooth_make(KP_SMOOTH_WENDLAND, c->reach, env->dimension);
  for (size_t s = 0; s < grains->sets.count; ++s) {
    widen(&grains->sets.data[s].medium, c->reach);
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    widen(&sph->fluids.data[f].medium, c->reach);
  }
  // pairs of grains and liquid are found in fresh cells
  grains->sorts_always = true;
  return KP_OK;
}

kp_result kp_fluid_grains_create(kp_env *env, kp_sph *sph, kp_grains *grains,
                                 kp_fluid_grains **out) {
  *out = NULL;
  if (sph->implicit != NULL) {
    return kp_fail(KP_ERROR_SCENE,
                   "grains and liquids in one world need an equation of state: sph.solver must not "
                   "be 'dfsph'");
  }
  kp_fluid_grains *c = kp_alloc_zero(sizeof *c, KP_MEMORY_WORLD);
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = setup(c, env, sph, grains);
  if (result != KP_OK) {
    void *self = c;
    destroy(&self);
    return result;
  }
  *out = c;
  return KP_OK;
}

// ---- passes -------------------------------------------------------------------------------------

// The field of the same name of a set or of its images.
static kp_field *field_of(kp_set *set, const kp_field *field) {
  return kp_space_find(set->space, field->name);
}

static kp_access first_access(bool is_first) {
  return is_first ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE;
}

static kp_result see(kp_fluid_grains *c, kp_soaked_grains *set, kp_sph_fluid *fluid,
                     kp_cells *liquid, bool is_first) {
  soak_see_args a = { .w = c->w,
                      .mass = (kp_real)fluid->medium.mass,
                      .rest_density = (kp_real)fluid->def.rest_density,
                      .viscosity = (kp_real)fluid->def.viscosity,
                      .add = !is_first };
  kp_set *j = liquid->set;
  kp_call call;
  kp_call_init(&call, &soak_see_kernel, &a);
  KP_BIND3(&call, &a, j_v, j->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &field_of(j, fluid->inverse)->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, share, &set->flow->buffers[0], first_access(is_first));
  KP_BIND(&call, &a, ux, &set->flow->buffers[1], first_access(is_first));
  KP_BIND(&call, &a, uy, &set->flow->buffers[2], first_access(is_first));
  KP_BIND(&call, &a, uz, &set->flow->buffers[3], first_access(is_first));
  KP_BIND(&call, &a, density, &set->flow->buffers[4], first_access(is_first));
  KP_BIND(&call, &a, thickness, &set->flow->buffers[5], first_access(is_first));
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(set->grains->medium.cells, liquid, c->reach, &job));
  return kp_call_pairs(set->flow->buffers[0].backend, &call, &job);
}

static kp_result drag(kp_env *env, kp_soaked_grains *set) {
  kp_grains_set *g = set->grains;
  soak_drag_args a = { .dt = env->dt, .dimension = env->dimension };
  kp_call call;
  kp_call_init(&call, &soak_drag_kernel, &a);
  KP_BIND(&call, &a, radius, &g->radius->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &g->medium.mass_field->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, g->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, share, &set->flow->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, ux, &set->flow->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, uy, &set->flow->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, uz, &set->flow->buffers[3], KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &set->flow->buffers[4], KP_ACCESS_READ);
  KP_BIND(&call, &a, thickness, &set->flow->buffers[5], KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, &set->factor->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, lift, &set->lift->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, g->medium.set->space->n));
  if (g->medium.ghosts != NULL) {
    KP_TRY(kp_ghosts_refresh(g->medium.ghosts, set->factor));
    KP_TRY(kp_ghosts_refresh(g->medium.ghosts, set->lift));
  }
  return KP_OK;
}

static kp_result react(kp_fluid_grains *c, kp_soaked_grains *set, kp_soaked_fluid *soaked,
                       kp_cells *grains, bool is_first) {
  soak_react_args a = { .w = c->w, .add = !is_first };
  kp_set *j = grains->set;
  kp_call call;
  kp_call_init(&call, &soak_react_kernel, &a);
  KP_BIND3(&call, &a, v, soaked->fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, j->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_factor, &field_of(j, set->factor)->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_lift, &field_of(j, set->lift)->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, &soaked->seen->buffers[0], first_access(is_first));
  KP_BIND(&call, &a, dx, &soaked->seen->buffers[1], first_access(is_first));
  KP_BIND(&call, &a, dy, &soaked->seen->buffers[2], first_access(is_first));
  KP_BIND(&call, &a, dz, &soaked->seen->buffers[3], first_access(is_first));
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(soaked->fluid->medium.cells, grains, c->reach, &job));
  job.adds_only = !is_first;
  return kp_call_pairs(soaked->seen->buffers[0].backend, &call, &job);
}

static kp_result yield(kp_env *env, kp_soaked_fluid *soaked) {
  kp_medium *medium = &soaked->fluid->medium;
  kp_vec3 g = env->simulation.gravity;
  soak_yield_args a = { .gx = (kp_real)g.x, .gy = (kp_real)g.y, .gz = (kp_real)g.z };
  kp_call call;
  kp_call_init(&call, &soak_yield_kernel, &a);
  KP_BIND(&call, &a, inverse, &soaked->fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, &soaked->seen->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, dx, &soaked->seen->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, dy, &soaked->seen->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, dz, &soaked->seen->buffers[3], KP_ACCESS_READ);
  KP_BIND3(&call, &a, r, soaked->rest, KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, medium->set->space->n));
  return medium->ghosts != NULL ? kp_ghosts_refresh(medium->ghosts, soaked->rest) : KP_OK;
}

static kp_result lift(kp_fluid_grains *c, kp_soaked_grains *set, kp_soaked_fluid *soaked,
                      kp_cells *liquid) {
  kp_grains_set *g = set->grains;
  soak_lift_args a = { .w = c->w, .fluid_mass = (kp_real)soaked->fluid->medium.mass };
  kp_set *j = liquid->set;
  kp_call call;
  kp_call_init(&call, &soak_lift_kernel, &a);
  KP_BIND(&call, &a, mass, &g->medium.mass_field->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, g->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, &set->factor->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, lift, &set->lift->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, j->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &field_of(j, soaked->fluid->inverse)->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_r, field_of(j, soaked->rest), KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, g->medium.integrate.acceleration, KP_ACCESS_WRITE);
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(g->medium.cells, liquid, c->reach, &job));
  job.adds_only = true;
  return kp_call_pairs(set->flow->buffers[0].backend, &call, &job);
}

// ---- exchange -----------------------------------------------------------------------------------

static bool is_empty(const kp_medium *medium) {
  return medium->set->space->n == 0;
}

static kp_result look(kp_fluid_grains *c, kp_env *env, kp_soaked_grains *set) {
  bool is_first = true;
  for (size_t f = 0; f < c->fluids.count; ++f) {
    kp_sph_fluid *fluid = c->fluids.data[f].fluid;
    KP_TRY(see(c, set, fluid, fluid->medium.cells, is_first));
    is_first = false;
    if (fluid->medium.ghosts != NULL) {
      KP_TRY(see(c, set, fluid, fluid->medium.ghost_cells, false));
    }
  }
  return drag(env, set);
}

static kp_result give(kp_fluid_grains *c, kp_env *env, kp_soaked_fluid *soaked) {
  bool is_first = true;
  for (size_t s = 0; s < c->sets.count; ++s) {
    kp_soaked_grains *set = &c->sets.data[s];
    if (!is_empty(&set->grains->medium)) {
      KP_TRY(react(c, set, soaked, set->grains->medium.cells, is_first));
      is_first = false;
      if (set->grains->medium.ghosts != NULL) {
        KP_TRY(react(c, set, soaked, set->grains->medium.ghost_cells, false));
      }
    }
  }
  return is_first ? KP_OK : yield(env, soaked);
}

static kp_result take(kp_fluid_grains *c, kp_soaked_grains *set) {
  for (size_t f = 0; f < c->fluids.count; ++f) {
    kp_soaked_fluid *soaked = &c->fluids.data[f];
    if (!is_empty(&soaked->fluid->medium)) {
      KP_TRY(lift(c, set, soaked, soaked->fluid->medium.cells));
      if (soaked->fluid->medium.ghosts != NULL) {
        KP_TRY(lift(c, set, soaked, soaked->fluid->medium.ghost_cells));
      }
    }
  }
  return KP_OK;
}

static kp_result exchange(void *self, kp_env *env) {
  kp_fluid_grains *c = self;
  for (size_t s = 0; s < c->sets.count && env->evaluation == 0; ++s) {
    if (!is_empty(&c->sets.data[s].grains->medium)) {
      KP_TRY(look(c, env, &c->sets.data[s]));
    }
  }
  for (size_t f = 0; f < c->fluids.count && env->evaluation == 0; ++f) {
    if (!is_empty(&c->fluids.data[f].fluid->medium)) {
      KP_TRY(give(c, env, &c->fluids.data[f]));
    }
  }
  for (size_t s = 0; s < c->sets.count && env->evaluation == 0; ++s) {
    kp_grains_set *g = c->sets.data[s].grains;
    if (!is_empty(&g->medium) && !g->def.frozen) {
      KP_TRY(take(c, &c->sets.data[s]));
    }
  }
  return KP_OK;
}

const kp_method kp_fluid_grains_method = {
  .longest_step = KP_ANY_STEP,
  .name = "fluid-grains",
  .text = "Drag and lift of liquids on grains, and back.",
  .stages = { [KP_STAGE_FORCES] = exchange },
  .destroy = destroy,
};
