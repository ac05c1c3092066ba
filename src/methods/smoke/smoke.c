#include "methods/smoke/smoke.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/timer.h"
#include "data/call.h"
#include "data/curve.h"
#include "methods/smoke/smoke_kernels.h"
#include "par/kernel_define.h"

SMOKE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define CENTERING 0.55  // second order in time but for a tenth of a first-order step, which damps

// ---- set-up -------------------------------------------------------------------------------------

static bool swells(const kp_gas *gas) {
  bool any = gas->def.burn_rate > 0.0 && gas->def.expansion != 1.0;
  for (size_t s = 0; s < gas->sources.list.count; ++s) {
    const kp_curve *d = &gas->sources.list.data[s].def.divergence;
    any = any || d->n > 0 || d->constant[0] != 0.0;
  }
  return any;
}

static kp_result add_fields(kp_gas *gas) {
  uint32_t shown = KP_FIELD_SAVE | KP_FIELD_EXPORT;
  kp_mac *mac = gas->flow.mac;
  kp_field_desc density = { "density", KP_TYPE_REAL, 1, "", shown, 0.0 };
  kp_field_desc temperature = { "temperature", KP_TYPE_REAL, 1, "K", shown, gas->def.ambient };
  kp_field_desc fuel = { "fuel", KP_TYPE_REAL, 1, "", shown, 0.0 };
  kp_field_desc flame = { "flame", KP_TYPE_REAL, 1, "1/s", shown, 0.0 };
  kp_field_desc divergence = { "divergence", KP_TYPE_REAL, 1, "1/s", KP_FIELD_SAVE, 0.0 };
  KP_TRY(kp_mac_add_field(mac, &density, &gas->density));
  KP_TRY(kp_mac_add_field(mac, &temperature, &gas->temperature));
  if (gas->def.burn_rate > 0.0) {
    KP_TRY(kp_mac_add_field(mac, &fuel, &gas->fuel));
    KP_TRY(kp_mac_add_field(mac, &flame, &gas->flame));
  }
  if (gas->fuel != NULL || swells(gas)) {
    KP_TRY(kp_mac_add_field(mac, &divergence, &gas->divergence));
  }
  return KP_OK;
}

// value + share (to - value) in the listed cells, on the host
static kp_result fill_listed(const kp_grid_sources *sources, kp_field *field, double to) {
  kp_real *values;
  KP_TRY(kp_buffer_get(&field->buffers[0], KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&values));
  for (size_t i = 0; i < sources->items.count; ++i) {
    kp_real *value = &values[sources->items.data[i]];
    *value += sources->weights.data[i] * ((kp_real)to - *value);
  }
  return KP_OK;
}

static kp_result fill_shape(kp_gas *gas, kp_env *env) {
  kp_shape *shape = NULL;
  KP_TRY(kp_shape_build(&gas->def.shape, env->scenery.folder, &shape));
  kp_result result = env->dimension == 2 ? kp_shape_flatten(shape) : KP_OK;
  if (result == KP_OK) {
    const kp_frame3 still = { .orientation = kp_quat_identity() };
    result = kp_grid_sources_cover(&gas->sources, shape, &still, KP_MAC_CELL);
  }
  kp_shape_destroy(&shape);
  KP_TRY(result);
  KP_TRY(fill_listed(&gas->sources, gas->density, gas->def.density));
  if (!isnan(gas->def.temperature)) {
    KP_TRY(fill_listed(&gas->sources, gas->temperature, gas->def.temperature));
  }
  return gas->fuel != NULL ? fill_listed(&gas->sources, gas->fuel, gas->def.fuel) : KP_OK;
}

static kp_result setup_gas(kp_gas *gas, kp_env *env, const kp_grid_def *grid) {
  kp_flow_def how = { .word = "smoke",
                      .name = gas->def.name,
                      .cell = KP_AUTO,
                      .density = gas->def.air_density,
                      .velocity = gas->def.velocity,
                      .velocity_at = gas->def.velocity_at,
                      .grid = grid,
                      .centering = CENTERING,
                      .is_gas = true };
  KP_TRY(kp_flow_create(&gas->flow, env, &how));
  gas->how = (kp_advect_def){ .scheme = grid->advection,
                              .limiter = grid->limiter,
                              .trace = grid->trace,
                              .interpolation = grid->interpolation };
  KP_TRY(kp_grid_sources_create(&gas->sources, env, gas->flow.mac, gas->def.name));
  KP_TRY(add_fields(gas));
  KP_TRY(kp_vortex_particles_create(&gas->vortices, env, &gas->flow));
  gas->has_vorticity = gas->def.confinement > 0.0 || kp_vortex_particles_any(&gas->vortices);
  if (gas->has_vorticity) {
    KP_TRY(kp_vorticity_init(&gas->vorticity, &gas->flow));
  }
  if (!gas->def.empty) {
    KP_TRY(fill_shape(gas, env));
  }
  // so that the first frame knows what is gas; what solids cover of the start does not count
  KP_TRY(kp_flow_solids(&gas->flow, env, KP_CELL_FLUID));
  return gas->fuel != NULL ? kp_smoke_fire_create(gas, env) : KP_OK;
}

static void smoke_destroy(void **self) {
  kp_smoke *smoke = *self;
  if (smoke == NULL) {
    return;
  }
  for (size_t g = 0; g < smoke->gases.count; ++g) {
    kp_gas *gas = &smoke->gases.data[g];
    kp_vortex_particles_free(&gas->vortices);
    kp_vorticity_free(&gas->vorticity);
    kp_grid_sources_free(&gas->sources);
    kp_flow_free(&gas->flow);
  }
  kp_array_free(&smoke->gases);
  kp_free(smoke);
  *self = NULL;
}

static kp_result setup(kp_smoke *smoke, kp_env *env, const kp_grid_def *grid,
                       const kp_smoke_def *defs, size_t n) {
  KP_TRY(kp_array_reserve(&smoke->gases, n));
  for (size_t g = 0; g < n; ++g) {
    kp_gas *gas = &smoke->gases.data[smoke->gases.count++];
    *gas = (kp_gas){ .def = defs[g] };
    KP_TRY(setup_gas(gas, env, grid));
  }
  return KP_OK;
}

kp_result kp_smoke_create(kp_env *env, const kp_grid_def *grid, const kp_smoke_def *defs, size_t n,
                          kp_smoke **out) {
  kp_smoke *smoke = kp_alloc_zero(sizeof *smoke, KP_MEMORY_WORLD);
  if (smoke == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = setup(smoke, env, grid, defs, n);
  if (result != KP_OK) {
    void *self = smoke;
    smoke_destroy(&self);
    return result;
  }
  *out = smoke;
  return KP_OK;
}

// ---- transport ----------------------------------------------------------------------------------

// Everything goes along the velocity that the last projection left.
static kp_result carry(kp_gas *gas, kp_env *env) {
  kp_flow *flow = &gas->flow;
  kp_advect_item items[KP_SMOKE_AMOUNT_COUNT];
  int n_items = kp_smoke_n_amounts(gas);
  for (int k = 0; k < n_items; ++k) {
    items[k].values = kp_smoke_values(gas, k, &items[k].outside);
  }
  KP_TRY(kp_smoke_count_gone(gas, env));
  kp_buffer *flags = &flow->flags->buffers[0];
  KP_TRY(kp_advect_items(&flow->advect, &gas->how, KP_MAC_CELL, items, n_items, flow->velocity,
                         flags, env->dt));
  KP_TRY(kp_smoke_conserve(gas, env));
  return kp_flow_advect(flow, env);
}

// ---- sources ------------------------------------------------------------------------------------

static kp_result feed_source(kp_gas *gas, kp_env *env, size_t s, double *fuel) {
  const kp_source_def *def = &gas->sources.list.data[s].def;
  kp_buffer *flags = &gas->flow.flags->buffers[0];
  kp_grid_feed density = { .kind = KP_MAC_CELL,
                           .values = &gas->density->buffers[0],
                           .flags = flags,
                           .held = def->density,
                           .rate = def->density_rate };
  kp_grid_feed temperature = { .kind = KP_MAC_CELL,
                               .values = &gas->temperature->buffers[0],
                               .flags = flags,
                               .held = def->temperature,
                               .rate = def->temperature_rate };
  KP_TRY(kp_grid_source_feed(&gas->sources, env, s, &density));
  KP_TRY(kp_grid_source_feed(&gas->sources, env, s, &temperature));
  if (gas->fuel != NULL) {
    kp_grid_feed feed = { .kind = KP_MAC_CELL,
                          .values = &gas->fuel->buffers[0],
                          .flags = flags,
                          .held = def->fuel,
                          .rate = def->fuel_rate,
                          .gained = fuel };
    KP_TRY(kp_grid_source_feed(&gas->sources, env, s, &feed));
  }
  return KP_OK;
}

static kp_result feed(kp_gas *gas, kp_env *env) {
  double fuel = 0.0;
  KP_TRY(kp_grid_sources_move(&gas->sources, env));
  for (size_t s = 0; s < gas->sources.list.count; ++s) {
    KP_TRY(feed_source(gas, env, s, &fuel));
  }
  gas->books[KP_SMOKE_EMITTED] += fuel * pow(gas->flow.mac->view.cell, env->dimension);
  return KP_OK;
}

// The divergence that sources ask for; fire adds to it.
static kp_result feed_divergence(kp_gas *gas, kp_env *env) {
  void *memory;
  kp_buffer *divergence = &gas->divergence->buffers[0];
  KP_TRY(kp_buffer_get(divergence, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  KP_TRY(kp_fill(env->backend, memory, 0, divergence->used));
  for (size_t s = 0; s < gas->sources.list.count; ++s) {
    double rate;
    kp_curve_at(&gas->sources.list.data[s].def.divergence, env->time + 0.5 * env->dt, &rate, NULL);
    kp_grid_feed feed = { .kind = KP_MAC_CELL,
                          .values = divergence,
                          .flags = &gas->flow.flags->buffers[0],
                          .held = NAN,
                          .rate = rate / env->dt };
    KP_TRY(kp_grid_source_feed(&gas->sources, env, s, &feed));
  }
  return KP_OK;
}

static kp_result hold_velocity(kp_gas *gas, kp_env *env) {
  for (size_t s = 0; s < gas->sources.list.count; ++s) {
    kp_vec3 v = gas->sources.list.data[s].def.velocity;
    const double speed[3] = { v.x, v.y, v.z };
    for (int c = 0; c < env->dimension && kp_vec3_length(v) > 0.0; ++c) {
      kp_grid_feed feed = { .kind = (kp_mac_kind)c,
                            .values = &gas->flow.velocity->buffers[c],
                            .held = speed[c] };
      KP_TRY(kp_grid_source_feed(&gas->sources, env, s, &feed));
    }
  }
  return KP_OK;
}

// ---- what happens in a cell ---------------------------------------------------------------------

static kp_result fade(kp_gas *gas, kp_env *env) {
  const kp_smoke_def *def = &gas->def;
  kp_call call;
  if (def->dissipation > 0.0 || def->cooling > 0.0) {
    smoke_fade_args a = { .grid = gas->flow.mac->view,
                          .density_left = (kp_real)exp(-def->dissipation * env->dt),
                          .heat_left = (kp_real)exp(-def->cooling * env->dt),
                          .ambient = (kp_real)def->ambient };
    kp_call_init(&call, &smoke_fade_kernel, &a);
    KP_BIND(&call, &a, density, &gas->density->buffers[0], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, temperature, &gas->temperature->buffers[0], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(gas->flow.mac, KP_MAC_CELL, &call));
  }
  if (def->radiation > 0.0) {
    double range = def->hottest - def->ambient;
    smoke_radiate_args a = { .grid = gas->flow.mac->view,
                             .triple = (kp_real)(3.0 * def->radiation / range * env->dt),
                             .ambient = (kp_real)def->ambient,
                             .range = (kp_real)range };
    kp_call_init(&call, &smoke_radiate_kernel, &a);
    KP_BIND(&call, &a, temperature, &gas->temperature->buffers[0], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(gas->flow.mac, KP_MAC_CELL, &call));
  }
  return KP_OK;
}

// ---- forces -------------------------------------------------------------------------------------

static kp_result lift(kp_gas *gas, kp_env *env) {
  const kp_smoke_def *def = &gas->def;
  int up = kp_env_up_axis(env);
  kp_mac *mac = gas->flow.mac;
  if (def->weight == 0.0 && def->lift == 0.0) {
    return KP_OK;
  }
  KP_TRY(kp_mac_fill_cells(mac, &gas->density->buffers[0], 0.0));
  KP_TRY(kp_mac_fill_cells(mac, &gas->temperature->buffers[0], def->ambient));
  smoke_lift_args a = { .grid = mac->view,
                        .axis = up,
                        .weight = (kp_real)(def->weight * env->dt),
                        .lift = (kp_real)(def->lift * env->dt),
                        .ambient = (kp_real)def->ambient };
  kp_call call;
  kp_call_init(&call, &smoke_lift_kernel, &a);
  KP_BIND(&call, &a, density, &gas->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, temperature, &gas->temperature->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, values, &gas->flow.velocity->buffers[up], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, (kp_mac_kind)up, &call);
}

// What vortex particles take of a step, beside its stages in the profile.
static void note_vortices(kp_gas *gas, kp_env *env, double start) {
  if (kp_vortex_particles_any(&gas->vortices)) {
    kp_profile_add(env->profile, kp_profile_slot(env->profile, "vortices"), kp_time_now() - start);
  }
}

static kp_result push(kp_gas *gas, kp_env *env) {
  KP_TRY(lift(gas, env));
  if (gas->has_vorticity) {
    double start = kp_time_now();
    KP_TRY(kp_vorticity_begin(&gas->vorticity));
    if (gas->def.confinement > 0.0) {
      KP_TRY(kp_vorticity_confine(&gas->vorticity, gas->def.confinement, NULL));
    }
    KP_TRY(kp_vortex_particles_force(&gas->vortices, &gas->vorticity));
    KP_TRY(kp_vorticity_push(&gas->vorticity, env->dt));
    note_vortices(gas, env, start);
  }
  return kp_flow_forces(&gas->flow, env, 0.0);
}

// ---- stages -------------------------------------------------------------------------------------

#define FOR_EACH_GAS(smoke, gas)                                                                   \
  for (kp_gas *gas = (smoke)->gases.data, *end_ = gas + (smoke)->gases.count; gas < end_; ++gas)

// Smoke, heat and fuel tell where something is going on; a thousandth of the usual is nothing.
static kp_result follow(kp_gas *gas) {
  kp_flow_watch watches[3] = {
    { &gas->density->buffers[0], 0.0, 1e-3 },
    { &gas->temperature->buffers[0], gas->def.ambient, 0.3 },
    { gas->fuel != NULL ? &gas->fuel->buffers[0] : NULL, 0.0, 1e-3 },
  };
  kp_flow_activity activity = { .watches = watches, .n_watches = 3 };
  return kp_flow_follow(&gas->flow, &activity);
}

static kp_result smoke_space(void *self, kp_env *env) {
  kp_smoke *smoke = self;
  FOR_EACH_GAS(smoke, gas) {
    KP_TRY(follow(gas));
    KP_TRY(kp_smoke_count_kept(gas));
    KP_TRY(kp_flow_solids(&gas->flow, env, KP_CELL_FLUID));
  }
  return KP_OK;
}

static kp_result step_gas(kp_gas *gas, kp_env *env) {
  bool burns = gas->fuel != NULL;
  KP_TRY(kp_flow_boundaries(&gas->flow, env));
  KP_TRY(kp_smoke_fire_dilute(gas, env));
  KP_TRY(carry(gas, env));
  KP_TRY(feed(gas, env));
  KP_TRY(gas->divergence != NULL ? feed_divergence(gas, env) : KP_OK);
  KP_TRY(burns ? kp_smoke_fire_burn(gas, env) : KP_OK);
  KP_TRY(fade(gas, env));
  KP_TRY(push(gas, env));
  if (gas->def.viscosity > 0.0) {
    KP_TRY(kp_flow_viscosity(&gas->flow, env, gas->def.viscosity, NULL));
  }
  KP_TRY(hold_velocity(gas, env));
  kp_flow_projection how = { .source =
                                 gas->divergence != NULL ? &gas->divergence->buffers[0] : NULL };
  KP_TRY(kp_flow_project(&gas->flow, env, &how));
  // traces near solids read the faces inside them
  if (gas->flow.solids.has_solids) {
    KP_TRY(kp_flow_extrapolate(&gas->flow, 3));
  }
  return burns ? kp_smoke_fire_count(gas, env) : KP_OK;
}

static kp_result smoke_solve(void *self, kp_env *env) {
  kp_smoke *smoke = self;
  FOR_EACH_GAS(smoke, gas) {
    KP_TRY(step_gas(gas, env));
  }
  return KP_OK;
}

static kp_result smoke_correct(void *self, kp_env *env) {
  kp_smoke *smoke = self;
  FOR_EACH_GAS(smoke, gas) {
    double start = kp_time_now();
    KP_TRY(kp_vortex_particles_move(&gas->vortices, env, NULL));
    note_vortices(gas, env, start);
  }
  return KP_OK;
}

static kp_result smoke_population(void *self, kp_env *env) {
  kp_smoke *smoke = self;
  FOR_EACH_GAS(smoke, gas) {
    KP_TRY(kp_vortex_particles_emit(&gas->vortices, env));
  }
  return KP_OK;
}

static kp_result smoke_check(void *self, kp_env *env) {
  kp_smoke *smoke = self;
  FOR_EACH_GAS(smoke, gas) {
    KP_TRY(kp_flow_check(&gas->flow, env));
    KP_TRY(gas->fuel != NULL ? kp_smoke_fire_store(gas) : KP_OK);
  }
  return KP_OK;
}

// The speed that lift can give in one step is not to cross more cells than the flow may either; so
// are jets that have not reached the grid yet.
static double gas_max_dt(const kp_gas *gas, const kp_env *env) {
  const kp_smoke_def *def = &gas->def;
  double dt = kp_flow_max_dt(&gas->flow, env);
  double reach = gas->flow.grid.cfl * gas->flow.mac->view.cell;
  double hottest = isnan(def->temperature) ? def->ambient : def->temperature;
  hottest = def->burn_rate > 0.0 ? fmax(hottest, def->ignition + def->heat) : hottest;
  for (size_t s = 0; s < gas->sources.list.count; ++s) {
    const kp_source_def *source = &gas->sources.list.data[s].def;
    hottest = isnan(source->temperature) ? hottest : fmax(hottest, source->temperature);
    double speed = kp_vec3_length(source->velocity);
    dt = speed > 0.0 && env->time < source->stop ? fmin(dt, reach / speed) : dt;
  }
  double rise = def->lift * (hottest - def->ambient);
  return rise > 0.0 ? fmin(dt, sqrt(2.0 * reach / rise)) : dt;
}

static double smoke_max_dt(void *self, kp_env *env) {
  kp_smoke *smoke = self;
  double dt = HUGE_VAL;
  FOR_EACH_GAS(smoke, gas) {
    dt = fmin(dt, gas_max_dt(gas, env));
  }
  return dt;
}

static int smoke_n_populations(const void *self) {
  return (int)((const kp_smoke *)self)->gases.count;
}

// What flows is the air: its mass is not that of the smoke.
static kp_result smoke_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_smoke *smoke = self;
  kp_gas *gas = &smoke->gases.data[population];
  double amounts[KP_SMOKE_AMOUNT_COUNT];
  KP_TRY(kp_flow_stats(&gas->flow, env, out));
  KP_TRY(kp_smoke_amounts(gas, amounts));
  out->amounts[out->n_amounts++] = (kp_amount){ "air_mass", out->mass };
  out->mass = NAN;
  for (int k = 0; k < kp_smoke_n_amounts(gas); ++k) {
    static const char *const names[] = { "smoke", "heat", "fuel" };
    out->amounts[out->n_amounts++] = (kp_amount){ names[k], amounts[k] };
  }
  return KP_OK;
}

static kp_result smoke_loaded(void *self) {
  kp_smoke *smoke = self;
  FOR_EACH_GAS(smoke, gas) {
    KP_TRY(kp_flow_loaded(&gas->flow));
    KP_TRY(kp_vortex_particles_loaded(&gas->vortices));
    KP_TRY(gas->fuel != NULL ? kp_smoke_fire_loaded(gas) : KP_OK);
  }
  return KP_OK;
}

const kp_method kp_smoke_method = {
  .name = "smoke",
  .text = "Gases on a grid: smoke, fire, explosions.",
  .stages = { [KP_STAGE_POPULATION] = smoke_population,
              [KP_STAGE_SPACE] = smoke_space,
              [KP_STAGE_SOLVE] = smoke_solve,
              [KP_STAGE_CORRECT] = smoke_correct,
              [KP_STAGE_CHECK] = smoke_check },
  .max_dt = smoke_max_dt,
  .longest_step = 1.0 / 24.0,
  .n_populations = smoke_n_populations,
  .stats = smoke_stats,
  .loaded = smoke_loaded,
  .destroy = smoke_destroy,
};
