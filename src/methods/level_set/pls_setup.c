// What the water starts as.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/curve.h"
#include "methods/level_set/pls.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// One body of water has one density.
static kp_result check_alike(const kp_pls_setup *setup) {
  const kp_liquid_def *first = &setup->liquids[0];
  for (size_t l = 1; l < setup->n_liquids; ++l) {
    const kp_liquid_def *other = &setup->liquids[l];
    const char *key = other->rest_density != first->rest_density         ? "rest_density"
                      : other->viscosity != first->viscosity             ? "viscosity"
                      : other->surface_tension != first->surface_tension ? "surface_tension"
                                                                         : NULL;
    if (key != NULL) {
      return kp_fail(KP_ERROR_SCENE,
                     "liquid \"%s\": %s differs from that of \"%s\"; all liquids of method "
                     "'level_set' are one body of water",
                     other->name, key, first->name);
    }
  }
  return KP_OK;
}

static kp_result start_along(kp_pls *pls, const kp_liquid_def *liquid, int axis,
                             kp_buffer *values) {
  kp_mac *mac = pls->flow.mac;
  KP_TRY(kp_flow_sample(&pls->flow, axis, &liquid->velocity_at, liquid->velocity, values));
  pls_start_args a = { .grid = mac->view, .axis = axis };
  kp_call call;
  kp_call_init(&call, &pls_start_kernel, &a);
  KP_BIND(&call, &a, phi, &pls->shape_phi, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity, &pls->flow.velocity->buffers[axis], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, (kp_mac_kind)axis, &call);
}

static kp_result start_velocity(kp_pls *pls, const kp_liquid_def *liquid) {
  kp_mac *mac = pls->flow.mac;
  kp_buffer values;
  kp_result result = kp_mac_scratch(mac, KP_TYPE_REAL, &values);
  for (int axis = 0; result == KP_OK && axis < mac->view.dimension; ++axis) {
    result = start_along(pls, liquid, axis, &values);
  }
  kp_buffer_free(&values);
  KP_TRY(result);
  kp_vec3 v = liquid->velocity;
  // the sum of the axes is at most sqrt(3) times the length
  double most = liquid->velocity_at.n[0] > 0
                    ? sqrt(3.0) * kp_vec_lattice_longest(&liquid->velocity_at, v)
                    : fabs(v.x) + fabs(v.y) + fabs(v.z);
  pls->flow.max_sum = fmax(pls->flow.max_sum, most);
  return kp_mac_fill_velocity(mac, pls->flow.velocity);
}

static kp_result add_shape(kp_pls *pls, kp_env *env, const kp_liquid_def *liquid) {
  kp_shape *shape = NULL;
  KP_TRY(kp_shape_build(&liquid->shape, env->scenery.folder, &shape));
  kp_result result = env->dimension == 2 ? kp_shape_flatten(shape) : KP_OK;
  if (result == KP_OK) {
    result = kp_level_set_shape(&pls->level, shape, &pls->shape_phi);
  }
  kp_shape_destroy(&shape);
  KP_TRY(result);
  KP_TRY(start_velocity(pls, liquid));
  return kp_level_set_unite(&pls->level, &pls->phi->buffers[0], &pls->shape_phi);
}

static kp_result add_state(kp_pls *pls, kp_env *env, const char *name) {
  static const kp_field_desc desc = { "numbers", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 };
  char text[KP_NAME_SIZE];
  snprintf(text, sizeof text, "%.36s.level_set", name);
  KP_TRY(kp_registry_add_space(env->registry, text, KP_SPACE_GLOBAL, &pls->state));
  KP_TRY(kp_space_add_fields(pls->state, &desc, 1));
  return kp_space_append(pls->state, 4, NULL, 0);
}

static kp_result make_flow(kp_pls *pls, kp_env *env, const kp_pls_setup *setup) {
  const kp_liquid_def *first = &setup->liquids[0];
  kp_flow_def how = { .word = "liquid",
                      .name = first->name,
                      .cell = NAN,
                      .density = first->rest_density,
                      .grid = setup->grid,
                      .lets_go = setup->def->lets_go,
                      .shows_pressure = true };
  KP_TRY(kp_flow_create(&pls->flow, env, &how));
  KP_TRY(kp_vortex_particles_create(&pls->vortices, env, &pls->flow));
  if (kp_vortex_particles_any(&pls->vortices)) {
    KP_TRY(kp_vorticity_init(&pls->vorticity, &pls->flow));
  }
  kp_mac *mac = pls->flow.mac;
  mac->ends_at_open = true;
  pls->is_closed = true;
  for (int c = 0; c < mac->view.dimension; ++c) {
    for (int s = 0; s < 2; ++s) {
      kp_mac_side_kind kind = mac->sides[c][s].kind;
      pls->is_closed = pls->is_closed && (kind == KP_MAC_WALL || kind == KP_MAC_PERIODIC);
    }
  }
  // wide enough for the particles, for what moves in a step and for interpolation
  pls->band = ceil(fmax(pls->def.particle_band, setup->grid->cfl)) + 2.0;
  kp_field_desc phi = {
    "distance", KP_TYPE_REAL, 1, "m", KP_FIELD_SAVE | KP_FIELD_EXPORT, pls->band * mac->view.cell
  };
  KP_TRY(kp_mac_add_field(mac, &phi, &pls->phi));
  KP_TRY(kp_pls_balance_create(pls));
  KP_TRY(kp_level_set_init(&pls->level, mac));
  pls->level.start =
      pls->def.start == KP_LEVEL_SET_BY_CROSSINGS ? KP_LEVEL_SET_CROSSINGS : KP_LEVEL_SET_SLOPE;
  kp_buffer_free(&pls->shape_phi);
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, &pls->shape_phi));
  kp_buffer_free(&pls->jump);
  return pls->surface_tension > 0.0 ? kp_mac_scratch(mac, KP_TYPE_REAL, &pls->jump) : KP_OK;
}

kp_result kp_pls_setup_all(kp_pls *pls, kp_env *env, const kp_pls_setup *setup) {
  const kp_liquid_def *first = &setup->liquids[0];
  pls->def = *setup->def;
  pls->viscosity = first->viscosity;
  pls->surface_tension = first->surface_tension;
  pls->seed = kp_hash_bytes(first->name, strlen(first->name), (uint64_t)env->simulation.seed);
  KP_TRY(check_alike(setup));
  KP_TRY(make_flow(pls, env, setup));
  KP_TRY(kp_pls_inlets_create(pls, env, setup));
  KP_TRY(add_state(pls, env, first->name));
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    if (!setup->liquids[l].empty) {
      KP_TRY(add_shape(pls, env, &setup->liquids[l]));
    }
  }
  kp_buffer_free(&pls->shape_phi);
  kp_buffer_init(&pls->shape_phi, env->backend);
  KP_TRY(kp_level_set_band(&pls->level, &pls->phi->buffers[0], pls->band));
  KP_TRY(kp_flow_solids(&pls->flow, env, KP_CELL_AIR));
  KP_TRY(kp_pls_into_solids(pls));
  KP_TRY(kp_pls_flags(pls));
  KP_TRY(kp_pls_particles_create(pls, env));
  KP_TRY(kp_mac_fill_cells(pls->flow.mac, &pls->phi->buffers[0], KP_MAC_DISTANCE));
  KP_TRY(kp_pls_volume_begin(pls));
  return kp_pls_store(pls);
}
