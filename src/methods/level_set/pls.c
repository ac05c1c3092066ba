#include "methods/level_set/pls.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "methods/common/medium.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define PI 3.14159265358979323846

// ---- life

static void pls_destroy(void **self) {
  kp_pls *pls = *self;
  if (pls == NULL) {
    return;
  }
  kp_buffer *all[] = { &pls->shape_phi, &pls->jump,   &pls->marks,  &pls->first,  &pls->list,
                       &pls->counts,    &pls->places, &pls->source, &pls->deficit };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_cells_destroy(&pls->cells);
  kp_set_destroy(&pls->set);
  kp_level_set_free(&pls->level);
  kp_vortex_particles_free(&pls->vortices);
  kp_vorticity_free(&pls->vorticity);
  kp_flow_free(&pls->flow);
  kp_pls_inlets_free(pls);
  kp_free(pls);
  *self = NULL;
}

kp_result kp_pls_create(kp_env *env, const kp_pls_setup *setup, kp_pls **out) {
  kp_pls *pls = kp_alloc_zero(sizeof *pls, KP_MEMORY_WORLD);
  if (pls == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_buffer *all[] = { &pls->shape_phi, &pls->jump,   &pls->marks,  &pls->first,  &pls->list,
                       &pls->counts,    &pls->places, &pls->source, &pls->deficit };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_init(all[k], env->backend);
  }
  kp_result result = kp_pls_setup_all(pls, env, setup);
  if (result != KP_OK) {
    void *self = pls;
    pls_destroy(&self);
    return result;
  }
  *out = pls;
  return KP_OK;
}

// ---- cells

static kp_buffer *phi_of(kp_pls *pls) {
  return &pls->phi->buffers[0];
}

static kp_buffer *flags_of(kp_pls *pls) {
  return &pls->flow.flags->buffers[0];
}

kp_result kp_pls_flags(kp_pls *pls) {
  const kp_mac_view *g = &pls->flow.mac->view;
  double near = pls->def.near_surface == KP_LEVEL_SET_NEAR_FIRST ? pls->def.near_distance : 0.0;
  pls_flags_args a = { .grid = *g, .near = (kp_real)(near * g->cell) };
  kp_call call;
  kp_call_init(&call, &pls_flags_kernel, &a);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, flags_of(pls), KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(pls->flow.mac, flags_of(pls));
}

kp_result kp_pls_into_solids(kp_pls *pls) {
  if (!pls->flow.solids.has_solids) {
    return KP_OK;
  }
  // as deep as a solid may uncover in a step, and one more for the slopes there
  int n_layers = (int)ceil(pls->flow.grid.cfl) + 2;
  kp_buffer *reached = pls->level.known;
  for (int layer = 0; layer <= n_layers; ++layer) {
    pls_into_solid_args a = { .grid = pls->flow.mac->view, .layer = layer };
    kp_call call;
    kp_call_init(&call, &pls_into_solid_kernel, &a);
    KP_BIND(&call, &a, flags, flags_of(pls), KP_ACCESS_READ);
    KP_BIND(&call, &a, solid, &pls->flow.solids.distance, KP_ACCESS_READ);
    KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_WRITE);
    KP_BIND(&call, &a, reached_in, &reached[(layer + 1) % 2], KP_ACCESS_READ);
    KP_BIND(&call, &a, reached, &reached[layer % 2], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call));
    KP_TRY(kp_mac_fill_cells(pls->flow.mac, &reached[layer % 2], NAN));
    KP_TRY(kp_mac_fill_cells(pls->flow.mac, phi_of(pls), KP_MAC_DISTANCE));
  }
  return KP_OK;
}

// ---- stages

// The window to where phi is not that of open air, and to the nozzles.
static kp_result follow(kp_pls *pls) {
  double h = pls->flow.mac->view.cell;
  kp_flow_watch water = { .values = phi_of(pls), .rest = pls->band * h, .tolerance = 1e-3 * h };
  kp_flow_activity activity = {
    .watches = &water, .n_watches = 1, .boxes = pls->boxes.data, .n_boxes = pls->boxes.count
  };
  return kp_flow_follow(&pls->flow, &activity);
}

static kp_result pls_population(void *self, kp_env *env) {
  kp_pls *pls = self;
  kp_pls_inlet_boxes(pls, env);
  KP_TRY(follow(pls));
  KP_TRY(kp_pls_balance_follow(pls));
  KP_TRY(kp_pls_pour(pls, env));
  return kp_vortex_particles_emit(&pls->vortices, env);
}

static kp_result pls_space(void *self, kp_env *env) {
  kp_pls *pls = self;
  if (env->evaluation > 0) {
    return KP_OK;
  }
  KP_TRY(kp_flow_solids(&pls->flow, env, KP_CELL_AIR));
  KP_TRY(kp_pls_into_solids(pls));
  return kp_pls_flags(pls);
}

// The surface and the particles around it, along the velocity as it is.
static kp_result move_surface(kp_pls *pls, kp_env *env) {
  kp_advect_def first = kp_default_advect_def();
  first.scheme = KP_ADVECT_SEMI_LAGRANGIAN;
  first.trace = KP_ADVECT_RK2;
  KP_TRY(kp_pls_particles_move(pls, env));
  return kp_advect_values(&pls->flow.advect, &first, KP_MAC_CELL, phi_of(pls), pls->flow.velocity,
                          flags_of(pls), KP_MAC_DISTANCE, env->dt);
}

static kp_result measure_distance(kp_pls *pls) {
  if (pls->def.distance == KP_LEVEL_SET_SWEEP) {
    return kp_level_set_sweep(&pls->level, phi_of(pls));
  }
  if (pls->def.distance == KP_LEVEL_SET_MARCH) {
    return kp_level_set_march(&pls->level, phi_of(pls), pls->band);
  }
  return kp_level_set_band(&pls->level, phi_of(pls), pls->band);
}

// Particles, distance, particles again: what the second has blurred is mended by the third.
static kp_result mend_surface(kp_pls *pls) {
  KP_TRY(kp_pls_particles_correct(pls));
  KP_TRY(kp_pls_into_solids(pls));
  KP_TRY(measure_distance(pls));
  KP_TRY(kp_pls_particles_correct(pls));
  KP_TRY(kp_pls_particles_fit(pls));
  ++pls->age;
  if (pls->def.reseed > 0 && pls->age >= pls->def.reseed) {
    KP_TRY(kp_pls_particles_seed(pls));
  }
  return KP_OK;
}

kp_result kp_pls_surface(kp_pls *pls, kp_env *env) {
  KP_TRY(move_surface(pls, env));
  return mend_surface(pls);
}

static kp_result pls_predict(void *self, kp_env *env) {
  kp_pls *pls = self;
  if (env->evaluation > 0) {
    return KP_OK;
  }
  const kp_grid_def *grid = &pls->flow.grid;
  kp_advect_def how = { grid->advection, grid->limiter, grid->trace, grid->interpolation };
  KP_TRY(kp_pls_volume_pass(pls, env->dt));
  KP_TRY(kp_pls_balance_carry(pls, env->dt));
  KP_TRY(move_surface(pls, env));
  KP_TRY(kp_advect_velocity(&pls->flow.advect, &how, pls->flow.velocity, flags_of(pls), env->dt));
  KP_TRY(mend_surface(pls));
  KP_TRY(kp_pls_balance_settle(pls, env));
  if (kp_vortex_particles_any(&pls->vortices)) {
    KP_TRY(kp_vorticity_begin(&pls->vorticity));
    KP_TRY(kp_vortex_particles_force(&pls->vortices, &pls->vorticity));
    KP_TRY(kp_vorticity_push(&pls->vorticity, env->dt));
  }
  return kp_flow_forces(&pls->flow, env, 1.0);
}

static kp_result write_jump(kp_pls *pls) {
  // a jet that leaves through an open side goes on beyond it: its rim there is no edge
  KP_TRY(kp_mac_fill_cells(pls->flow.mac, phi_of(pls), pls->is_closed ? KP_MAC_DISTANCE : NAN));
  KP_TRY(kp_level_set_curvature(&pls->level, phi_of(pls), &pls->jump));
  KP_TRY(kp_mac_fill_cells(pls->flow.mac, phi_of(pls), KP_MAC_DISTANCE));
  pls_jump_args a = { .grid = pls->flow.mac->view, .tension = (kp_real)pls->surface_tension };
  kp_call call;
  kp_call_init(&call, &pls_jump_kernel, &a);
  KP_BIND(&call, &a, jump, &pls->jump, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(pls->flow.mac, &pls->jump, NAN);
}

// Time for `cfl` cells. What gravity adds in a step counts too: water that is let go is not seen to
// move yet. So do bodies, whose way must not be longer than phi is known into them: one that hits
// water at rest would be deep in it before the first step that sees it.
static double courant_dt(const kp_pls *pls, kp_env *env) {
  double h = pls->flow.mac->view.cell;
  double speed = pls->flow.max_sum + sqrt(h * kp_vec3_length(env->simulation.gravity));
  speed = fmax(speed, kp_medium_fastest_body(env));
  speed = fmax(speed, kp_pls_inlet_speed(pls, env));
  return pls->flow.grid.cfl * h / fmax(speed, 1e-30);
}

static kp_result pls_solve(void *self, kp_env *env) {
  kp_pls *pls = self;
  kp_flow_projection how = { .distance = phi_of(pls),
                             .releases = pls->def.lets_go,
                             .suction = pls->def.suction };
  KP_TRY(kp_pls_flags(pls));
  if (pls->viscosity > 0.0) {
    KP_TRY(kp_flow_viscosity(&pls->flow, env, pls->viscosity, NULL));
  }
  if (pls->surface_tension > 0.0) {
    KP_TRY(write_jump(pls));
    how.surface_pressure = &pls->jump;
  }
  // steps that tension or the end of a frame make short correct less
  double time = fmax(env->dt, courant_dt(pls, env));
  KP_TRY(kp_pls_volume_source(pls, env, time, &how.source));
  return kp_flow_project(&pls->flow, env, &how);
}

// As far as phi and particles travel, and one more for their interpolation.
static kp_result pls_correct_stage(void *self, kp_env *env) {
  kp_pls *pls = self;
  double reach = ceil(pls->flow.grid.cfl) + 3.0;
  KP_TRY(kp_flow_extrapolate(&pls->flow, (int)reach));
  if (pls->def.extrapolation == KP_LEVEL_SET_ALONG_DISTANCE) {
    KP_TRY(kp_level_set_extend(&pls->level, phi_of(pls), pls->flow.velocity, flags_of(pls), reach));
    KP_TRY(kp_mac_fill_velocity(pls->flow.mac, pls->flow.velocity));
  }
  return kp_vortex_particles_move(&pls->vortices, env, phi_of(pls));
}

static kp_result pls_check(void *self, kp_env *env) {
  kp_pls *pls = self;
  KP_TRY(kp_flow_check(&pls->flow, env));
  if (pls->set != NULL) {
    env->report.n_particles += pls->set->space->n;
  }
  return kp_pls_store(pls);
}

// ---- limits and sums

static double pls_max_dt(void *self, kp_env *env) {
  const kp_pls *pls = self;
  double dt = courant_dt(pls, env);
  if (pls->surface_tension > 0.0) {
    // Brackbill, Kothe & Zemach 1992 with one fluid
    double h = pls->flow.mac->view.cell;
    double waves = pls->flow.density * h * h * h / (4.0 * PI * pls->surface_tension);
    dt = fmin(dt, sqrt(waves));
  }
  return dt;
}

static int pls_n_populations(const void *self) {
  (void)self;
  return 1;
}

kp_result kp_pls_measure(kp_pls *pls, kp_level_set_sums *out) {
  return kp_level_set_measure(&pls->level, phi_of(pls), flags_of(pls), out);
}

// Around every place of liquid is liquid as far as the distance says.
static kp_result find_bounds(kp_pls *pls, kp_aabb *out) {
  const kp_mac *mac = pls->flow.mac;
  const kp_mac_view *g = &mac->view;
  const uint8_t *flags = kp_buffer_host(flags_of(pls), KP_ACCESS_READ);
  const kp_real *phi = kp_buffer_host(phi_of(pls), KP_ACCESS_READ);
  if (flags == NULL || phi == NULL) {
    return KP_ERROR_MEMORY;
  }
  double lo[3] = { HUGE_VAL, HUGE_VAL, HUGE_VAL };
  double hi[3] = { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL };
  for (int64_t k = mac->window_lo[2]; k < mac->window_hi[2]; ++k) {
    for (int64_t j = mac->window_lo[1]; j < mac->window_hi[1]; ++j) {
      for (int64_t i = mac->window_lo[0]; i < mac->window_hi[0]; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        double x[3];
        kp_mac_place(g, KP_MAC_CELL, i, j, k, x);
        for (int c = 0; c < 3 && (flags[at] & KP_CELL_KIND) == KP_CELL_FLUID; ++c) {
          double reach = c < g->dimension ? fmax(-(double)phi[at], 0.0) : 0.0;
          double end = g->lo[c] + g->cell * g->n[c];
          lo[c] = fmin(lo[c], c < g->dimension ? fmax(x[c] - reach, g->lo[c]) : 0.0);
          hi[c] = fmax(hi[c], c < g->dimension ? fmin(x[c] + reach, end) : 0.0);
        }
      }
    }
  }
  *out = (kp_aabb){ { lo[0], lo[1], lo[2] }, { hi[0], hi[1], hi[2] } };
  return KP_OK;
}

static kp_result pls_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  (void)population;
  kp_pls *pls = self;
  const kp_mac_view *g = &pls->flow.mac->view;
  kp_vec3 gravity = env->simulation.gravity;
  KP_TRY(kp_flow_stats(&pls->flow, env, out));
  pls_sums_args a = { .grid = *g, .up = { -gravity.x, -gravity.y, -gravity.z } };
  kp_call call;
  kp_call_init(&call, &pls_sums_kernel, &a);
  KP_BIND(&call, &a, flags, flags_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &pls->flow.velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &pls->flow.velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &pls->flow.velocity->buffers[2], KP_ACCESS_READ);
  double v[6];
  KP_TRY(KP_MAC_REDUCE(pls->flow.mac, &call, &a, v));
  double mass = pls->flow.density * pow(g->cell, g->dimension);
  kp_level_set_sums sums;
  KP_TRY(kp_pls_measure(pls, &sums));
  KP_TRY(find_bounds(pls, &out->bounds));
  out->mass = pls->flow.density * sums.volume;
  out->momentum = kp_vec3_make(mass * v[1], mass * v[2], mass * v[3]);
  out->kinetic_energy = mass * v[4];
  out->potential_energy = mass * v[5];
  return KP_OK;
}

// ---- state outside the arrays

kp_result kp_pls_store(kp_pls *pls) {
  double *out;
  kp_buffer *buffer = &pls->state->fields.data[0]->buffers[0];
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&out));
  out[0] = (double)pls->age;
  out[1] = (double)pls->rounds;
  out[2] = pls->set != NULL ? (double)pls->set->next_id : 0.0;
  out[3] = pls->volume;
  return KP_OK;
}

static kp_result pls_loaded(void *self) {
  kp_pls *pls = self;
  const double *in;
  kp_buffer *buffer = &pls->state->fields.data[0]->buffers[0];
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&in));
  pls->age = (int64_t)in[0];
  pls->rounds = (uint64_t)in[1];
  pls->volume = in[3];
  if (pls->set != NULL) {
    pls->set->next_id = (kp_gid)in[2];
  }
  KP_TRY(kp_vortex_particles_loaded(&pls->vortices));
  return kp_flow_loaded(&pls->flow);
}

const kp_method kp_pls_method = {
  .name = "level_set",
  .text = "Water whose surface is a level set with particles of both signs.",
  .stages = { [KP_STAGE_POPULATION] = pls_population,
              [KP_STAGE_SPACE] = pls_space,
              [KP_STAGE_PREDICT] = pls_predict,
              [KP_STAGE_SOLVE] = pls_solve,
              [KP_STAGE_CORRECT] = pls_correct_stage,
              [KP_STAGE_CHECK] = pls_check },
  .max_dt = pls_max_dt,
  .n_populations = pls_n_populations,
  .stats = pls_stats,
  .loaded = pls_loaded,
  .destroy = pls_destroy,
};
