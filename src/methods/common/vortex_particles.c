#include "methods/common/vortex_particles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "methods/common/vortex_particles_kernels.h"
#include "par/kernel_define.h"

VORTEX_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define RADIUS_CELLS 4.0  // of a particle unless said otherwise
#define MOST_TRIES 10000  // draws for one place inside a shape

// u, v and w of a flow.
#define BIND_FACES(call, args, flow)                                                               \
  (KP_BIND(call, args, u, &(flow)->velocity->buffers[0], KP_ACCESS_READ),                          \
   KP_BIND(call, args, v, &(flow)->velocity->buffers[1], KP_ACCESS_READ),                          \
   KP_BIND(call, args, w, &(flow)->velocity->buffers[2], KP_ACCESS_READ))

// ---- life ---------------------------------------------------------------------------------------

static kp_result add_fields(kp_vortex_swarm *swarm) {
  kp_space *space = swarm->set->space;
  uint32_t kept = KP_FIELD_STATE;
  uint32_t shown = KP_FIELD_STATE | KP_FIELD_EXPORT;
  kp_field_desc vorticity = { "vorticity", KP_TYPE_REAL, 3, "", shown, 0.0 };
  kp_field_desc size = { "size", KP_TYPE_REAL, 1, "", kept, 0.0 };
  kp_field_desc radius = { "radius", KP_TYPE_REAL, 1, "m", shown, 0.0 };
  kp_field_desc strength = { "strength", KP_TYPE_REAL, 1, "", kept, 0.0 };
  kp_field_desc norm = { "norm", KP_TYPE_REAL, 1, "", kept, 0.0 };
  kp_field_desc acting = { "acting", KP_TYPE_REAL, 3, "", 0, 0.0 };
  KP_TRY(kp_space_add_field(space, &vorticity, &swarm->vorticity));
  KP_TRY(kp_space_add_field(space, &size, &swarm->size));
  KP_TRY(kp_space_add_field(space, &radius, &swarm->radius));
  KP_TRY(kp_space_add_field(space, &strength, &swarm->strength));
  KP_TRY(kp_space_add_field(space, &norm, &swarm->norm));
  return swarm->def.forcing == KP_VORTICES_ATTENUATED
             ? kp_space_add_field(space, &acting, &swarm->acting)
             : KP_OK;
}

static kp_result add_state(kp_vortex_swarm *swarm, kp_env *env) {
  static const kp_field_desc desc = { "numbers", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 };
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.births", swarm->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_GLOBAL, &swarm->state));
  KP_TRY(kp_space_add_fields(swarm->state, &desc, 1));
  return kp_space_append(swarm->state, 3, NULL, 0);
}

static int n_spread(const kp_vortices_def *def) {
  if (def->forcing == KP_VORTICES_DIFFERENCE) {
    return 3;
  }
  return def->forcing == KP_VORTICES_CONFINEMENT ? 1 : 0;
}

static kp_result setup_swarm(kp_vortex_swarm *swarm, kp_env *env, kp_flow *flow) {
  const kp_vortices_def *def = &swarm->def;
  kp_buffer_init(&swarm->keep, env->backend);
  double radius = isnan(def->radius) ? RADIUS_CELLS * flow->mac->view.cell : def->radius;
  swarm->def.radius = radius;
  swarm->largest = radius * (1.0 + def->radius_spread);
  KP_TRY(kp_shape_build(&def->shape, env->scenery.folder, &swarm->shape));
  KP_TRY(env->dimension == 2 ? kp_shape_flatten(swarm->shape) : KP_OK);
  KP_TRY(kp_set_create(env->registry, def->name, KP_SET_FREE, env->dimension, &swarm->set));
  KP_TRY(add_fields(swarm));
  KP_TRY(add_state(swarm, env));
  KP_TRY(kp_cells_create(swarm->set, swarm->largest, &swarm->cells));
  for (int c = 0; c < n_spread(def); ++c) {
    KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_REAL, &swarm->spread[c]));
  }
  return KP_OK;
}

kp_result kp_vortex_particles_add(kp_vortex_particles *particles, kp_env *env, const char *into) {
  kp_flow *flow = particles->flow;
  for (size_t v = 0; v < env->scenery.n_vortices; ++v) {
    const kp_vortices_def *def = &env->scenery.vortices[v];
    if (strcmp(def->into, into) != 0) {
      continue;
    }
    kp_vortex_swarm empty = { .def = *def };
    KP_TRY(kp_array_push(&particles->swarms, empty));
    kp_result result = setup_swarm(&particles->swarms.data[particles->swarms.count - 1], env, flow);
    if (result != KP_OK) {
      return kp_fail_in(result, "vortices \"%s\"", def->name);
    }
  }
  return KP_OK;
}

kp_result kp_vortex_particles_create(kp_vortex_particles *particles, kp_env *env, kp_flow *flow) {
  *particles = (kp_vortex_particles){ .flow = flow };
  return kp_vortex_particles_add(particles, env, flow->name);
}

void kp_vortex_particles_free(kp_vortex_particles *particles) {
  for (size_t s = 0; s < particles->swarms.count; ++s) {
    kp_vortex_swarm *swarm = &particles->swarms.data[s];
    for (int c = 0; c < n_spread(&swarm->def); ++c) {
      kp_buffer_free(&swarm->spread[c]);
    }
    kp_buffer_free(&swarm->keep);
    kp_array_free(&swarm->places);
    kp_cells_destroy(&swarm->cells);
    kp_set_destroy(&swarm->set);
    kp_shape_destroy(&swarm->shape);
  }
  kp_array_free(&particles->swarms);
}

bool kp_vortex_particles_any(const kp_vortex_particles *particles) {
  return particles->swarms.count > 0;
}

#define FOR_EACH_SWARM(particles, swarm)                                                           \
  for (kp_vortex_swarm *swarm = (particles)->swarms.data,                                          \
                       *end_ = swarm + (particles)->swarms.count;                                  \
       swarm < end_; ++swarm)

kp_result kp_vortex_particles_store(kp_vortex_particles *particles) {
  FOR_EACH_SWARM(particles, swarm) {
    double *out;
    kp_buffer *buffer = &swarm->state->fields.data[0]->buffers[0];
    KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&out));
    out[0] = (double)swarm->set->next_id;
    out[1] = swarm->debt;
    out[2] = (double)swarm->n_born;
  }
  return KP_OK;
}

kp_result kp_vortex_particles_loaded(kp_vortex_particles *particles) {
  FOR_EACH_SWARM(particles, swarm) {
    const double *in;
    kp_buffer *buffer = &swarm->state->fields.data[0]->buffers[0];
    KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&in));
    swarm->set->next_id = (kp_gid)in[0];
    swarm->debt = in[1];
    swarm->n_born = (int64_t)in[2];
  }
  return KP_OK;
}

// ---- birth --------------------------------------------------------------------------------------

// Uniform inside the shape and the domain, by trial; the draw depends on the id alone.
static kp_result draw_place(const kp_vortex_swarm *swarm, const kp_env *env, kp_gid id,
                            kp_vec3 *out) {
  kp_aabb box = kp_shape_bounds(swarm->shape);
  box.min = kp_vec3_max(box.min, env->domain.min);
  box.max = kp_vec3_min(box.max, env->domain.max);
  for (uint64_t n = 0; n < MOST_TRIES; ++n) {
    kp_sampler_key key = { (uint64_t)env->simulation.seed, KP_RNG_VORTEX, id, 16 + n };
    kp_vec3 p = kp_sampler_cube(key, box);
    p.z = env->dimension == 2 ? 0.0 : p.z;
    if (kp_shape_distance(swarm->shape, p) <= 0.0) {
      *out = p;
      return KP_OK;
    }
  }
  return kp_fail(KP_ERROR_SCENE, "vortices \"%s\": its shape has no volume inside the domain",
                 swarm->def.name);
}

static kp_result bear(kp_vortex_swarm *swarm, kp_env *env, kp_flow *flow, int64_t first,
                      int64_t n) {
  const kp_vortices_def *def = &swarm->def;
  kp_aabb box = kp_shape_bounds(swarm->shape);
  vortex_birth_args a = { .grid = flow->mac->view,
                          .first = first,
                          .seed = (uint64_t)env->simulation.seed,
                          .rule = def->rule,
                          .up = kp_env_up_axis(env),
                          .center = { 0.5 * (box.min.x + box.max.x), 0.5 * (box.min.y + box.max.y),
                                      0.5 * (box.min.z + box.max.z) },
                          .magnitude = def->magnitude,
                          .radius = def->radius,
                          .radius_spread = def->radius_spread,
                          .strength = def->strength,
                          .threshold = def->threshold,
                          .shape = def->kernel };
  kp_call call;
  kp_call_init(&call, &vortex_birth_kernel, &a);
  BIND_FACES(&call, &a, flow);
  KP_BIND3(&call, &a, , swarm->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, id, &swarm->set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, wx, &swarm->vorticity->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &swarm->vorticity->buffers[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &swarm->vorticity->buffers[2], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, size, &swarm->size->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, r, &swarm->radius->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, eps, &swarm->strength->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, norm, &swarm->norm->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, n);
}

static kp_result emit(kp_vortex_swarm *swarm, kp_env *env, kp_flow *flow) {
  const kp_vortices_def *def = &swarm->def;
  double seconds = fmin(env->time + env->dt, def->stop) - fmax(env->time, def->start);
  swarm->debt += def->rate * fmax(seconds, 0.0);
  int64_t n = (int64_t)floor(swarm->debt + 1e-9);  // a sum of steps may fall short by rounding
  swarm->debt -= (double)n;
  n = n < def->limit - swarm->n_born ? n : def->limit - swarm->n_born;
  if (n <= 0) {
    return KP_OK;
  }
  swarm->places.count = 0;
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 p;
    KP_TRY(draw_place(swarm, env, swarm->set->next_id + (kp_gid)i, &p));
    KP_TRY(kp_array_push(&swarm->places, p));
  }
  int64_t first = swarm->set->space->n;
  KP_TRY(kp_set_add(swarm->set, n, swarm->places.data, NULL));
  swarm->n_born += n;
  env->report.n_emitted += n;
  return bear(swarm, env, flow, first, n);
}

kp_result kp_vortex_particles_emit(kp_vortex_particles *particles, kp_env *env) {
  FOR_EACH_SWARM(particles, swarm) {
    KP_TRY(emit(swarm, env, particles->flow));
  }
  return kp_vortex_particles_store(particles);
}

// ---- forces -------------------------------------------------------------------------------------

static void set_period(const kp_mac_view *g, double period[3]) {
  for (int c = 0; c < 3; ++c) {
    period[c] = g->cell * g->n[c];
  }
}

// Sums over the particles near each cell, added to `out`.
static kp_result gather(kp_vortex_swarm *swarm, kp_flow *flow, const kp_kernel *kernel,
                        kp_buffer *out, int n_out) {
  kp_field *acting = swarm->acting != NULL ? swarm->acting : swarm->vorticity;
  kp_cells *cells = swarm->cells;
  vortex_force_args a = { .grid = flow->mac->view,
                          .cells = cells->shape,
                          .shape = swarm->def.kernel,
                          .largest = swarm->largest };
  set_period(&flow->mac->view, a.period);
  kp_call call;
  kp_call_init(&call, kernel, &a);
  KP_BIND(&call, &a, cells.cell_start, &cells->cell_start, KP_ACCESS_READ);
  if (a.cells.sparse) {
    KP_BIND(&call, &a, cells.row_start, &cells->row_start, KP_ACCESS_READ);
    KP_BIND(&call, &a, cells.row_lo, &cells->row_lo, KP_ACCESS_READ);
    KP_BIND(&call, &a, cells.row_key, &cells->row_key, KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, cells.x, &swarm->set->position->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, cells.y, &swarm->set->position->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, cells.z, &swarm->set->position->buffers[2], KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, acting, KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &swarm->radius->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, strength, &swarm->strength->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, norm, &swarm->norm->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, ox, &out[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, oy, n_out > 1 ? &out[1] : NULL, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, oz, n_out > 1 ? &out[2] : NULL, KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, KP_MAC_CELL, &call);
}

static kp_result attenuate(kp_vortex_swarm *swarm, kp_flow *flow) {
  vortex_attenuate_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &vortex_attenuate_kernel, &a);
  BIND_FACES(&call, &a, flow);
  KP_BIND3(&call, &a, , swarm->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, swarm->vorticity, KP_ACCESS_READ);
  KP_BIND(&call, &a, norm, &swarm->norm->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, o, swarm->acting, KP_ACCESS_OVERWRITE);
  return kp_call_run(flow->mac->backend, &call, swarm->set->space->n);
}

// Variant D: confine the difference of what the particles and the grid hold.
static kp_result drive(kp_vortex_swarm *swarm, kp_vorticity *vorticity) {
  kp_flow *flow = vorticity->flow;
  kp_call call;
  vortex_differ_args d = { .grid = flow->mac->view };
  kp_call_init(&call, &vortex_differ_kernel, &d);
  BIND_FACES(&call, &d, flow);
  KP_BIND(&call, &d, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &d, wx, &swarm->spread[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &d, wy, &swarm->spread[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &d, wz, &swarm->spread[2], KP_ACCESS_WRITE);
  KP_BIND(&call, &d, magnitude, &vorticity->magnitude, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_cells(flow->mac, &vorticity->magnitude, NAN));

  vortex_drive_args a = { .grid = flow->mac->view,
                          .strength = (kp_real)(swarm->def.strength * flow->mac->view.cell) };
  kp_call_init(&call, &vortex_drive_kernel, &a);
  KP_BIND(&call, &a, wx, &swarm->spread[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, wy, &swarm->spread[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, wz, &swarm->spread[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, magnitude, &vorticity->magnitude, KP_ACCESS_READ);
  KP_BIND(&call, &a, fx, &vorticity->force[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fy, &vorticity->force[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fz, &vorticity->force[2], KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, KP_MAC_CELL, &call);
}

static kp_result clear(kp_backend *backend, kp_buffer *buffer) {
  void *memory;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  return kp_fill(backend, memory, 0, buffer->used);
}

static kp_result force(kp_vortex_swarm *swarm, kp_vorticity *vorticity) {
  kp_flow *flow = vorticity->flow;
  if (swarm->set->space->n == 0) {
    return KP_OK;
  }
  KP_TRY(kp_cells_build(swarm->cells, NULL));
  for (int c = 0; c < n_spread(&swarm->def); ++c) {
    KP_TRY(clear(flow->mac->backend, &swarm->spread[c]));
  }
  switch ((kp_vortices_forcing)swarm->def.forcing) {
  case KP_VORTICES_CONFINEMENT:
    KP_TRY(gather(swarm, flow, &vortex_amount_kernel, swarm->spread, 1));
    return kp_vorticity_confine(vorticity, 0.0, &swarm->spread[0]);
  case KP_VORTICES_DIFFERENCE:
    KP_TRY(gather(swarm, flow, &vortex_spread_kernel, swarm->spread, 3));
    return drive(swarm, vorticity);
  case KP_VORTICES_ATTENUATED:
    KP_TRY(attenuate(swarm, flow));
    break;
  case KP_VORTICES_ANALYTIC:
    break;
  }
  return gather(swarm, flow, &vortex_force_kernel, vorticity->force, 3);
}

kp_result kp_vortex_particles_force(kp_vortex_particles *particles, kp_vorticity *vorticity) {
  if (kp_vortex_particles_any(particles)) {
    KP_TRY(kp_mac_fill_velocity(vorticity->flow->mac, vorticity->flow->velocity));
  }
  FOR_EACH_SWARM(particles, swarm) {
    KP_TRY(force(swarm, vorticity));
  }
  return KP_OK;
}

// ---- motion -------------------------------------------------------------------------------------

static kp_result turn(kp_vortex_swarm *swarm, kp_env *env, kp_flow *flow) {
  vortex_turn_args a = { .grid = flow->mac->view,
                         .stretch = swarm->def.stretching,
                         .dt = env->dt,
                         .most = swarm->def.most };
  kp_call call;
  kp_call_init(&call, &vortex_turn_kernel, &a);
  BIND_FACES(&call, &a, flow);
  KP_BIND3(&call, &a, , swarm->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, size, &swarm->size->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, wx, &swarm->vorticity->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &swarm->vorticity->buffers[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &swarm->vorticity->buffers[2], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, swarm->set->space->n);
}

static kp_result move(kp_vortex_swarm *swarm, kp_env *env, kp_flow *flow) {
  vortex_move_args a = { .grid = flow->mac->view, .dt = env->dt };
  set_period(&flow->mac->view, a.period);
  kp_call call;
  kp_call_init(&call, &vortex_move_kernel, &a);
  BIND_FACES(&call, &a, flow);
  KP_BIND3(&call, &a, , swarm->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, swarm->set->velocity, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, swarm->set->space->n);
}

static kp_result remove_lost(kp_vortex_swarm *swarm, kp_env *env, kp_flow *flow,
                             kp_buffer *liquid) {
  int64_t before = swarm->set->space->n;
  vortex_keep_args a = { .grid = flow->mac->view, .pushes = swarm->def.solids == KP_VORTICES_PUSH };
  KP_TRY(kp_buffer_resize(&swarm->keep, (size_t)before * sizeof(uint32_t)));
  kp_call call;
  kp_call_init(&call, &vortex_keep_kernel, &a);
  KP_BIND(&call, &a, solid, kp_grid_solids_part(&flow->solids.distance), KP_ACCESS_READ);
  KP_BIND(&call, &a, liquid, liquid, KP_ACCESS_READ);
  KP_BIND(&call, &a, size, &swarm->size->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , swarm->set->position, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, keep, &swarm->keep, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, before));
  KP_TRY(kp_space_remove(swarm->set->space, &swarm->keep));
  env->report.n_removed += before - swarm->set->space->n;
  return KP_OK;
}

kp_result kp_vortex_particles_move(kp_vortex_particles *particles, kp_env *env, kp_buffer *liquid) {
  FOR_EACH_SWARM(particles, swarm) {
    if (swarm->set->space->n > 0) {
      KP_TRY(turn(swarm, env, particles->flow));
      KP_TRY(move(swarm, env, particles->flow));
      KP_TRY(remove_lost(swarm, env, particles->flow, liquid));
    }
  }
  return KP_OK;
}
