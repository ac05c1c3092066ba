// Particles of both signs around the surface.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/level_set/pls.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

static kp_buffer *phi_of(kp_pls *pls) {
  return &pls->phi->buffers[0];
}

static void domain_of(const kp_mac *mac, double lo[3], double hi[3]) {
  for (int c = 0; c < 3; ++c) {
    lo[c] = mac->view.lo[c];
    hi[c] = mac->view.lo[c] + mac->view.cell * mac->view.n[c];
  }
}

kp_result kp_pls_particles_create(kp_pls *pls, kp_env *env) {
  if (pls->def.particles == 0) {
    return KP_OK;
  }
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.markers", pls->flow.name);
  KP_TRY(kp_set_create(env->registry, name, KP_SET_FREE, env->dimension, &pls->set));
  kp_space *space = pls->set->space;
  uint32_t shown = pls->def.show_particles ? KP_FIELD_EXPORT : 0;
  for (size_t f = 0; f < space->fields.count; ++f) {
    space->fields.data[f]->flags &= ~(uint32_t)KP_FIELD_EXPORT;
    space->fields.data[f]->flags |= shown;
  }
  kp_field_desc sign = { "sign", KP_TYPE_I32, 1, "", KP_FIELD_STATE | shown, 0.0 };
  kp_field_desc radius = { "radius", KP_TYPE_REAL, 1, "m", KP_FIELD_STATE | shown, 0.0 };
  KP_TRY(kp_space_add_field(space, &sign, &pls->sign));
  KP_TRY(kp_space_add_field(space, &radius, &pls->radius));
  KP_TRY(kp_cells_create(pls->set, pls->flow.mac->view.cell, &pls->cells));
  pls->cells->dense_cells = INT64_MAX;
  kp_buffer_free(&pls->counts);
  kp_buffer_free(&pls->places);
  KP_TRY(kp_mac_scratch(pls->flow.mac, KP_TYPE_U32, &pls->counts));
  KP_TRY(kp_mac_scratch(pls->flow.mac, KP_TYPE_U32, &pls->places));
  // the sum comes behind the last cell
  KP_TRY(kp_buffer_resize(&pls->places, pls->places.used + sizeof(uint32_t)));
  return kp_pls_particles_seed(pls);
}

// ---- moving

static kp_result run_keep(kp_pls *pls, bool only_lost) {
  pls_keep_args a = { .grid = pls->flow.mac->view,
                      .reach = (kp_real)(pls->def.particle_band * pls->flow.mac->view.cell),
                      .only_lost = only_lost };
  int64_t n = pls->set->space->n;
  domain_of(pls->flow.mac, a.lo, a.hi);
  pls->marks.type = KP_TYPE_U32;
  KP_TRY(kp_buffer_resize(&pls->marks, (size_t)n * sizeof(uint32_t)));
  kp_call call;
  kp_call_init(&call, &pls_keep_kernel, &a);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND3(&call, &a, , pls->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, sign, &pls->sign->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &pls->radius->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, keep, &pls->marks, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(pls->flow.mac->backend, &call, n));
  return kp_space_remove(pls->set->space, &pls->marks);
}

static kp_result sort(kp_pls *pls) {
  double lo[3];
  double hi[3];
  domain_of(pls->flow.mac, lo, hi);
  kp_aabb box = { kp_vec3_make(lo[0], lo[1], lo[2]), kp_vec3_make(hi[0], hi[1], hi[2]) };
  if (pls->set->dimension == 2) {
    box.min.z = 0.0;
    box.max.z = 0.0;
  }
  return kp_cells_build(pls->cells, &box);
}

kp_result kp_pls_particles_move(kp_pls *pls, kp_env *env) {
  if (pls->set == NULL) {
    return KP_OK;
  }
  kp_mac *mac = pls->flow.mac;
  kp_buffer *solid = kp_grid_solids_part(&pls->flow.solids.distance);
  pls_move_args a = { .grid = mac->view, .dt = env->dt };
  bool is_open = false;
  domain_of(mac, a.lo, a.hi);
  for (int c = 0; c < mac->view.dimension; ++c) {
    for (int s = 0; s < 2; ++s) {
      a.is_closed[c][s] = mac->sides[c][s].kind == KP_MAC_WALL;
      is_open = is_open || (!a.is_closed[c][s] && mac->sides[c][s].kind != KP_MAC_PERIODIC);
    }
  }
  kp_call call;
  kp_call_init(&call, &pls_move_kernel, &a);
  KP_BIND(&call, &a, u, &pls->flow.velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &pls->flow.velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &pls->flow.velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, solid, solid, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , pls->set->position, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(mac->backend, &call, pls->set->space->n));
  if (is_open) {
    KP_TRY(run_keep(pls, true));
  }
  return sort(pls);
}

kp_result kp_pls_particles_strike(kp_pls *pls, kp_env *env, kp_region *sink) {
  kp_buffer *values;
  pls_strike_args a = { .sink = kp_region_at(sink, env, env->time, &values) };
  kp_call call;
  kp_call_init(&call, &pls_strike_kernel, &a);
  KP_BIND3(&call, &a, , pls->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &a, sign, &pls->sign->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(pls->flow.mac->backend, &call, pls->set->space->n);
}

// ---- correction

// Which have escaped, and how many before each particle.
static kp_result find_escaped(kp_pls *pls) {
  kp_backend *backend = pls->flow.mac->backend;
  int64_t n = pls->set->space->n;
  kp_buffer *lists[] = { &pls->marks, &pls->first, &pls->list };
  for (int k = 0; k < 3; ++k) {
    lists[k]->type = KP_TYPE_U32;
    KP_TRY(kp_buffer_resize(lists[k], (size_t)(n + 1) * sizeof(uint32_t)));
  }
  pls_escape_args a = { .grid = pls->flow.mac->view };
  kp_call call;
  kp_call_init(&call, &pls_escape_kernel, &a);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND3(&call, &a, , pls->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, sign, &pls->sign->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &pls->radius->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, mark, &pls->marks, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  void *in;
  void *out;
  KP_TRY(kp_buffer_get(&pls->marks, KP_SIDE_DEVICE, KP_ACCESS_READ, &in));
  KP_TRY(kp_buffer_get(&pls->first, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &out));
  KP_TRY(kp_scan(backend, in, out, n));
  pls_list_args l = { 0 };
  kp_call_init(&call, &pls_list_kernel, &l);
  KP_BIND(&call, &l, mark, &pls->marks, KP_ACCESS_READ);
  KP_BIND(&call, &l, first, &pls->first, KP_ACCESS_READ);
  KP_BIND(&call, &l, list, &pls->list, KP_ACCESS_WRITE);
  return kp_call_run(backend, &call, n);
}

kp_result kp_pls_particles_correct(kp_pls *pls) {
  kp_mac *mac = pls->flow.mac;
  KP_TRY(kp_mac_fill_cells(mac, phi_of(pls), KP_MAC_DISTANCE));
  if (pls->set == NULL || pls->set->space->n == 0) {
    return KP_OK;
  }
  KP_TRY(find_escaped(pls));
  pls_correct_args a = { .grid = mac->view,
                         .reach = (kp_real)(0.999 * pls->band * mac->view.cell),
                         .cells = pls->cells->shape };
  kp_call call;
  kp_call_init(&call, &pls_correct_kernel, &a);
  KP_BIND(&call, &a, cell_start, &pls->cells->cell_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, first, &pls->first, KP_ACCESS_READ);
  KP_BIND(&call, &a, list, &pls->list, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , pls->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, sign, &pls->sign->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &pls->radius->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(mac, phi_of(pls), KP_MAC_DISTANCE);
}

kp_result kp_pls_particles_fit(kp_pls *pls) {
  if (pls->set == NULL) {
    return KP_OK;
  }
  pls_fit_args a = { .grid = pls->flow.mac->view };
  kp_call call;
  kp_call_init(&call, &pls_fit_kernel, &a);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND3(&call, &a, , pls->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, sign, &pls->sign->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, radius, &pls->radius->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(pls->flow.mac->backend, &call, pls->set->space->n);
}

// ---- seeding

static pls_grow grow_of(const kp_pls *pls) {
  return (pls_grow){ .seed = pls->seed,
                     .round = pls->rounds,
                     .per_cell = (int32_t)pls->def.particles,
                     .in_air = pls->def.air_particles,
                     .reach = (kp_real)(pls->def.particle_band * pls->flow.mac->view.cell) };
}

// Particles to come per cell and before each cell; their sum.
static kp_result count_seeds(kp_pls *pls, int64_t *total) {
  kp_mac *mac = pls->flow.mac;
  if (pls->seeded_in != mac->window_revision) {
    // cells that the window has left get none
    void *memory;
    KP_TRY(kp_buffer_get(&pls->counts, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(mac->backend, memory, 0, pls->counts.used));
    pls->seeded_in = mac->window_revision;
  }
  pls_count_args a = { .grid = mac->view, .grow = grow_of(pls) };
  kp_call call;
  kp_call_init(&call, &pls_count_kernel, &a);
  KP_BIND(&call, &a, flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &pls->counts, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  uint32_t *in;
  uint32_t *out;
  uint32_t last;
  KP_TRY(kp_buffer_get(&pls->counts, KP_SIDE_DEVICE, KP_ACCESS_READ, (void **)&in));
  KP_TRY(kp_buffer_get(&pls->places, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, (void **)&out));
  KP_TRY(kp_scan(mac->backend, in, out, mac->view.count));
  KP_TRY(kp_copy_out(mac->backend, &last, out + mac->view.count, sizeof last));
  *total = (int64_t)last;
  return KP_OK;
}

kp_result kp_pls_particles_seed(kp_pls *pls) {
  if (pls->set == NULL) {
    return KP_OK;
  }
  kp_mac *mac = pls->flow.mac;
  kp_set *set = pls->set;
  int64_t total;
  KP_TRY(run_keep(pls, false));
  KP_TRY(count_seeds(pls, &total));
  pls_seed_args a = {
    .grid = mac->view, .grow = grow_of(pls), .old = set->space->n, .next_id = set->next_id
  };
  KP_TRY(kp_space_append(set->space, total, NULL, 0));
  set->next_id += (kp_gid)total;
  pls->age = 0;
  ++pls->rounds;
  kp_call call;
  kp_call_init(&call, &pls_seed_kernel, &a);
  KP_BIND(&call, &a, flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, places, &pls->places, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, id, &set->id->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, sign, &pls->sign->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, radius, &pls->radius->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}
