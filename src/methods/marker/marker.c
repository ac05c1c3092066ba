#include "methods/marker/marker.h"

#include <math.h>

#include "methods/common/medium.h"
#include "methods/marker/marker_kernels.h"
#include "par/kernel_define.h"

MARKER_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define STEEPEST 0.9  // largest CFL number of what is explicit

// ---- life

static void marker_destroy(void **self) {
  kp_marker *marker = *self;
  if (marker == NULL) {
    return;
  }
  kp_medium_free(&marker->medium);
  kp_flow_free(&marker->flow);
  kp_free(marker);
  *self = NULL;
}

static bool is_explicit(const kp_marker *marker) {
  return marker->def.scheme == KP_MARKER_FOSTER_METAXAS;
}

static kp_result setup_all(kp_marker *marker, kp_env *env, const kp_marker_setup *setup) {
  const kp_liquid_def *liquid = setup->liquid;
  kp_grid_def grid = *setup->grid;
  marker->def = *setup->def;
  marker->viscosity = liquid->viscosity;
  if (is_explicit(marker)) {
    // relaxation goes cell by cell, which cards cannot; multigrid finds the same answer
    bool is_card = env->backend->vt->kind == KP_BACKEND_CUDA;
    grid.solver = is_card ? KP_POISSON_MULTIGRID : KP_POISSON_SOR;
    grid.advection = KP_ADVECT_UPWIND;
    grid.cfl = fmin(grid.cfl, STEEPEST);
  } else {
    grid.advection = KP_ADVECT_SEMI_LAGRANGIAN;
  }
  kp_flow_def how = { .word = "liquid",
                      .name = liquid->name,
                      .cell = NAN,
                      .density = liquid->rest_density,
                      .velocity = liquid->velocity,
                      .velocity_at = liquid->velocity_at,
                      .grid = &grid,
                      .shows_pressure = true };
  KP_TRY(kp_flow_create(&marker->flow, env, &how));
  kp_mac *mac = marker->flow.mac;
  kp_field_desc kind = { "kind", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 };
  KP_TRY(kp_mac_add_field(mac, &kind, &marker->kind));
  kp_medium_def medium = { .word = "liquid",
                           .name = liquid->name,
                           .spacing = 0.5 * mac->view.cell,
                           .jitter = liquid->jitter,
                           .velocity = liquid->velocity,
                           .velocity_at = liquid->velocity_at,
                           .integrator = KP_INTEGRATOR_COUNT };
  KP_TRY(kp_medium_create(&marker->medium, env, &medium));
  KP_TRY(kp_space_add_field(marker->medium.set->space, &kp_flow_shown_pressure, &marker->shown));
  marker->medium.mass = liquid->rest_density * pow(medium.spacing, (double)env->dimension);
  if (!liquid->empty) {
    KP_TRY(kp_medium_fill(&marker->medium, env, &liquid->shape));
  }
  KP_TRY(kp_medium_grid(&marker->medium, env, mac->view.cell, 0.0));
  marker->medium.cells->dense_cells = INT64_MAX;
  return kp_medium_store(&marker->medium);
}

kp_result kp_marker_create(kp_env *env, const kp_marker_setup *setup, kp_marker **out) {
  kp_marker *marker = kp_alloc_zero(sizeof *marker, KP_MEMORY_WORLD);
  if (marker == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = setup_all(marker, env, setup);
  if (result != KP_OK) {
    void *self = marker;
    marker_destroy(&self);
    return result;
  }
  *out = marker;
  return KP_OK;
}

// ---- cells

kp_result kp_marker_kinds(kp_marker *marker) {
  kp_mac *mac = marker->flow.mac;
  kp_set *set = marker->medium.set;
  kp_buffer *flags = &marker->flow.flags->buffers[0];
  marker_flags_args a = { .grid = mac->view, .cells = marker->medium.cells->shape };
  a.cells.n = set->space->n;
  kp_call call;
  kp_call_init(&call, &marker_flags_kernel, &a);
  KP_BIND(&call, &a, cell_start, &marker->medium.cells->cell_start, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, flags, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_periodic(mac, flags));
  marker_kinds_args k = { .grid = mac->view };
  kp_call_init(&call, &marker_kinds_kernel, &k);
  KP_BIND(&call, &k, flags, flags, KP_ACCESS_READ);
  KP_BIND(&call, &k, kind, &marker->kind->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

kp_result kp_marker_open_faces(kp_marker *marker) {
  kp_mac *mac = marker->flow.mac;
  kp_field *velocity = marker->flow.velocity;
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    marker_open_args a = { .grid = mac->view, .axis = axis };
    kp_call call;
    kp_call_init(&call, &marker_open_kernel, &a);
    KP_BIND(&call, &a, flags, &marker->flow.flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &velocity->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, v, &velocity->buffers[1], KP_ACCESS_READ);
    KP_BIND(&call, &a, w, &velocity->buffers[2], KP_ACCESS_READ);
    KP_BIND(&call, &a, out, &velocity->buffers[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, (kp_mac_kind)axis, &call));
  }
  return kp_mac_fill_velocity(mac, velocity);
}

static kp_result rest_air(kp_marker *marker) {
  kp_mac *mac = marker->flow.mac;
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    marker_rest_air_args a = { .grid = mac->view, .axis = axis };
    kp_call call;
    kp_call_init(&call, &marker_rest_air_kernel, &a);
    KP_BIND(&call, &a, flags, &marker->flow.flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, velocity, &marker->flow.velocity->buffers[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, (kp_mac_kind)axis, &call));
  }
  return KP_OK;
}

// ---- stages

static kp_result marker_population(void *self, kp_env *env) {
  kp_marker *marker = self;
  return kp_medium_population(&marker->medium, env);
}

static kp_result marker_space(void *self, kp_env *env) {
  kp_marker *marker = self;
  if (env->evaluation > 0) {
    return KP_OK;
  }
  marker->medium.bounds_known = false;
  KP_TRY(kp_medium_space(&marker->medium, env));
  KP_TRY(kp_flow_solids(&marker->flow, env, KP_CELL_AIR));
  return kp_marker_kinds(marker);
}

static kp_result diffuse(kp_marker *marker, kp_env *env) {
  kp_mac *mac = marker->flow.mac;
  double nu = marker->viscosity / marker->flow.density;
  if (!is_explicit(marker)) {
    return kp_flow_viscosity(&marker->flow, env, marker->viscosity, NULL);
  }
  KP_TRY(kp_mac_fill_velocity(mac, marker->flow.velocity));
  for (int axis = 0; axis < mac->view.dimension && nu > 0.0; ++axis) {
    kp_buffer *values = &marker->flow.velocity->buffers[axis];
    kp_buffer *next = &marker->flow.right;  // free until the pressure is solved for
    marker_diffuse_args a = { .grid = mac->view,
                              .rate = (kp_real)(nu * env->dt / (mac->view.cell * mac->view.cell)) };
    KP_TRY(kp_buffer_copy(next, values));
    kp_call call;
    kp_call_init(&call, &marker_diffuse_kernel, &a);
    KP_BIND(&call, &a, in, next, KP_ACCESS_READ);
    KP_BIND(&call, &a, out, values, KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, (kp_mac_kind)axis, &call));
  }
  return KP_OK;
}

static kp_result marker_predict(void *self, kp_env *env) {
  kp_marker *marker = self;
  if (env->evaluation > 0) {
    return KP_OK;
  }
  const kp_grid_def *grid = &marker->flow.grid;
  kp_advect_def how = { grid->advection, grid->limiter, grid->trace, grid->interpolation };
  KP_TRY(kp_advect_velocity(&marker->flow.advect, &how, marker->flow.velocity,
                            &marker->flow.flags->buffers[0], env->dt));
  KP_TRY(kp_flow_forces(&marker->flow, env, 1.0));
  return diffuse(marker, env);
}

static kp_result marker_solve(void *self, kp_env *env) {
  kp_marker *marker = self;
  KP_TRY(kp_flow_project(&marker->flow, env, NULL));
  if (marker->def.surface == KP_MARKER_CASES) {
    KP_TRY(kp_marker_open_faces(marker));
  }
  KP_TRY(rest_air(marker));
  return kp_flow_extrapolate(&marker->flow, (int)ceil(marker->flow.grid.cfl) + 2);
}

static kp_result marker_correct(void *self, kp_env *env) {
  kp_marker *marker = self;
  kp_set *set = marker->medium.set;
  marker_move_args a = { .grid = marker->flow.mac->view,
                         .dt = env->dt,
                         .is_midpoint = !is_explicit(marker) };
  kp_call call;
  kp_call_init(&call, &marker_move_kernel, &a);
  KP_BIND(&call, &a, u, &marker->flow.velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &marker->flow.velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &marker->flow.velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, solid, kp_grid_solids_part(&marker->flow.solids.distance), KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, set->velocity, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, set->space->n));
  return kp_medium_domain(&marker->medium, env);
}

static kp_result marker_check(void *self, kp_env *env) {
  kp_marker *marker = self;
  KP_TRY(kp_flow_check(&marker->flow, env));
  return kp_medium_check(&marker->medium, env, HUGE_VAL);
}

// ---- limits and sums

static double marker_max_dt(void *self, kp_env *env) {
  const kp_marker *marker = self;
  double h = marker->flow.mac->view.cell;
  double speed = marker->flow.max_sum + sqrt(h * kp_vec3_length(env->simulation.gravity));
  speed = fmax(speed, kp_medium_fastest_body(env));
  double dt = marker->flow.grid.cfl * h / fmax(speed, 1e-30);
  double nu = marker->viscosity / marker->flow.density;
  bool limits = is_explicit(marker) && nu > 0.0;
  return limits ? fmin(dt, STEEPEST * h * h / (2.0 * env->dimension * nu)) : dt;
}

static int marker_n_populations(const void *self) {
  (void)self;
  return 1;
}

static kp_result marker_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  (void)population;
  kp_marker *marker = self;
  return kp_medium_stats(&marker->medium, env, out);
}

static kp_result marker_show(void *self, kp_env *env) {
  (void)env;
  kp_marker *marker = self;
  return kp_flow_show_pressure(&marker->flow, marker->medium.set, marker->shown);
}

static kp_result marker_loaded(void *self) {
  kp_marker *marker = self;
  KP_TRY(kp_medium_loaded(&marker->medium));
  return kp_flow_loaded(&marker->flow);
}

const kp_method kp_marker_method = {
  .name = "marker",
  .text = "Liquids by marker cells: Foster & Metaxas, or stable fluids.",
  .stages = { [KP_STAGE_POPULATION] = marker_population,
              [KP_STAGE_SPACE] = marker_space,
              [KP_STAGE_PREDICT] = marker_predict,
              [KP_STAGE_SOLVE] = marker_solve,
              [KP_STAGE_CORRECT] = marker_correct,
              [KP_STAGE_CHECK] = marker_check },
  .max_dt = marker_max_dt,
  .n_populations = marker_n_populations,
  .stats = marker_stats,
  .show = marker_show,
  .loaded = marker_loaded,
  .destroy = marker_destroy,
};
