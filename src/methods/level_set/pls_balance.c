// What every cell of water with a level set should hold: a volume fraction that is carried through
// the faces of cells, so that what one loses another gains. phi stays the surface; what it does not
// show of the fraction around it is the local error of tracking (as in CLSVOF, Sussman & Puckett
// 2000, but given back by a divergence in place of a new phi; the density of Chentanez & Mueller
// 2012 serves alike).
#include <math.h>
#include <string.h>

#include "methods/level_set/pls.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define PLS_SPREAD_PASSES 2

static kp_buffer *flags_of(kp_pls *pls) {
  return &pls->flow.flags->buffers[0];
}

static kp_buffer *phi_of(kp_pls *pls) {
  return &pls->phi->buffers[0];
}

// Scratch of the level set, which nobody needs meanwhile.
static kp_buffer *flux_of(kp_pls *pls, int axis) {
  kp_buffer *free_ones[3] = { &pls->level.distance[0], &pls->level.distance[1],
                              &pls->level.known[0] };
  return free_ones[axis];
}

static kp_buffer *between_of(kp_pls *pls) {
  return &pls->level.known[1];
}

static kp_buffer *open_of(kp_pls *pls, int axis) {
  return kp_grid_solids_part(&pls->flow.solids.fraction[axis]);
}

kp_result kp_pls_balance_create(kp_pls *pls) {
  if (pls->def.volume == 0.0) {
    return KP_OK;
  }
  const kp_field_desc desc = { "fraction", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 };
  KP_TRY(kp_mac_add_field(pls->flow.mac, &desc, &pls->fraction));
  kp_buffer_free(&pls->deficit);
  pls->balanced_in = pls->flow.mac->window_revision;
  return kp_mac_scratch(pls->flow.mac, KP_TYPE_REAL, &pls->deficit);
}

static kp_result balance(kp_pls *pls, pls_balance_mode mode) {
  kp_grid_solids *solids = &pls->flow.solids;
  double h = pls->flow.mac->view.cell;
  pls_balance_args a = { .grid = pls->flow.mac->view,
                         .mode = mode,
                         .reach = (kp_real)((pls->flow.grid.cfl + 1.0) * h) };
  kp_buffer *still = solids->has_moving ? kp_grid_solids_part(&solids->still_distance) : NULL;
  kp_call call;
  kp_call_init(&call, &pls_balance_kernel, &a);
  KP_BIND(&call, &a, wet.flags, flags_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, wet.phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, wet.solid, kp_grid_solids_part(&solids->distance), KP_ACCESS_READ);
  KP_BIND(&call, &a, still, still, KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction, &pls->fraction->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, deficit, &pls->deficit, KP_ACCESS_WRITE);
  return kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call);
}

kp_result kp_pls_balance_begin(kp_pls *pls) {
  return pls->fraction != NULL ? balance(pls, PLS_BALANCE_BEGIN) : KP_OK;
}

kp_result kp_pls_balance_before_pour(kp_pls *pls) {
  return pls->fraction != NULL ? balance(pls, PLS_BALANCE_MEASURE) : KP_OK;
}

kp_result kp_pls_balance_after_pour(kp_pls *pls) {
  return pls->fraction != NULL ? balance(pls, PLS_BALANCE_KEEP) : KP_OK;
}

kp_result kp_pls_balance_follow(kp_pls *pls) {
  kp_mac *mac = pls->flow.mac;
  if (pls->fraction == NULL || pls->balanced_in == mac->window_revision) {
    return KP_OK;
  }
  pls->balanced_in = mac->window_revision;
  pls_forget_args a = { .grid = mac->view };
  memcpy(a.lo, mac->window_lo, sizeof a.lo);
  memcpy(a.hi, mac->window_hi, sizeof a.hi);
  kp_call call;
  kp_call_init(&call, &pls_forget_kernel, &a);
  KP_BIND(&call, &a, fraction, &pls->fraction->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(mac->backend, &call, mac->view.count);
}

kp_result kp_pls_balance_total(kp_pls *pls, double *cells) {
  pls_total_args a = { .grid = pls->flow.mac->view };
  kp_call call;
  kp_call_init(&call, &pls_total_kernel, &a);
  KP_BIND(&call, &a, fraction, &pls->fraction->buffers[0], KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(pls->flow.mac, &call, &a, cells));
  *cells /= PLS_SHARES;
  return KP_OK;
}

// ---- a step

static kp_result flux(kp_pls *pls, int axis, double dt) {
  kp_mac *mac = pls->flow.mac;
  double h = mac->view.cell;
  pls_flux_args a = { .grid = mac->view,
                      .axis = axis,
                      .shift = (kp_real)(dt / h),
                      .reach = (kp_real)(0.999 * pls->band * h) };
  for (int s = 0; s < 2; ++s) {
    a.is_wall[s] = mac->sides[axis][s].kind == KP_MAC_WALL;
    a.is_open[s] = mac->sides[axis][s].kind == KP_MAC_OPEN;
  }
  kp_call call;
  kp_call_init(&call, &pls_flux_kernel, &a);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, deficit, &pls->deficit, KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction, open_of(pls, axis), KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &pls->flow.velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &pls->flow.velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &pls->flow.velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, flux, flux_of(pls, axis), KP_ACCESS_WRITE);
  return kp_mac_rows(mac, (kp_mac_kind)axis, &call);
}

static kp_result carry(kp_pls *pls, double dt) {
  kp_mac *mac = pls->flow.mac;
  bool is_flat = mac->view.dimension == 2;
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    KP_TRY(flux(pls, axis, dt));
  }
  pls_carry_args a = { .grid = mac->view };
  kp_call call;
  kp_call_init(&call, &pls_carry_kernel, &a);
  KP_BIND(&call, &a, x, flux_of(pls, 0), KP_ACCESS_READ);
  KP_BIND(&call, &a, y, flux_of(pls, 1), KP_ACCESS_READ);
  KP_BIND(&call, &a, z, is_flat ? NULL : flux_of(pls, 2), KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction, &pls->fraction->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

kp_result kp_pls_balance_carry(kp_pls *pls, double dt) {
  if (pls->fraction == NULL) {
    return KP_OK;
  }
  double before = 0.0;
  double after = 0.0;
  KP_TRY(kp_mac_fill_cells(pls->flow.mac, phi_of(pls), KP_MAC_DISTANCE));
  KP_TRY(balance(pls, PLS_BALANCE_MEASURE));
  KP_TRY(kp_mac_fill_cells(pls->flow.mac, &pls->deficit, NAN));
  if (!pls->is_closed) {
    KP_TRY(kp_pls_balance_total(pls, &before));
  }
  KP_TRY(carry(pls, dt));
  if (!pls->is_closed) {
    KP_TRY(kp_pls_balance_total(pls, &after));
    pls->volume = fmax(pls->volume + after - before, 0.0);
  }
  return KP_OK;
}

// Along the axis nearest to gravity.
static kp_result fall(kp_pls *pls, kp_env *env) {
  kp_mac *mac = pls->flow.mac;
  const double g[3] = { env->simulation.gravity.x, env->simulation.gravity.y,
                        env->simulation.gravity.z };
  pls_fall_args a = { .grid = mac->view, .far = (kp_real)(0.999 * pls->band * mac->view.cell) };
  memcpy(a.lo, mac->window_lo, sizeof a.lo);
  memcpy(a.hi, mac->window_hi, sizeof a.hi);
  for (int c = 1; c < mac->view.dimension; ++c) {
    a.axis = fabs(g[c]) > fabs(g[a.axis]) ? c : a.axis;
  }
  if (g[a.axis] == 0.0) {
    return KP_OK;
  }
  a.way = g[a.axis] > 0.0 ? 1 : -1;
  kp_call call;
  kp_call_init(&call, &pls_fall_kernel, &a);
  KP_BIND(&call, &a, flags, flags_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, deficit, &pls->deficit, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fraction, &pls->fraction->buffers[0], KP_ACCESS_WRITE);
  int64_t n = kp_mac_n_cells(mac) / (mac->window_hi[a.axis] - mac->window_lo[a.axis]);
  return kp_call_run(mac->backend, &call, n);
}

static kp_result spread(kp_pls *pls, kp_buffer *in, kp_buffer *out) {
  kp_mac *mac = pls->flow.mac;
  pls_spread_args a = { .grid = mac->view };
  memcpy(a.lo, mac->window_lo, sizeof a.lo);
  memcpy(a.hi, mac->window_hi, sizeof a.hi);
  kp_call call;
  kp_call_init(&call, &pls_spread_kernel, &a);
  KP_BIND(&call, &a, flags, flags_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_READ);
  KP_BIND(&call, &a, solid, kp_grid_solids_part(&pls->flow.solids.distance), KP_ACCESS_READ);
  for (int axis = 0; axis < 3; ++axis) {
    kp_buffer *open = axis < mac->view.dimension ? open_of(pls, axis) : NULL;
    KP_BIND(&call, &a, open[axis], open, KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, in, in, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, out, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fraction, &pls->fraction->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

kp_result kp_pls_balance_settle(kp_pls *pls, kp_env *env) {
  if (pls->fraction == NULL) {
    return KP_OK;
  }
  KP_TRY(balance(pls, PLS_BALANCE_MEASURE));
  KP_TRY(fall(pls, env));
  for (int pass = 0; pass < PLS_SPREAD_PASSES; pass += 2) {
    KP_TRY(spread(pls, &pls->deficit, between_of(pls)));
    KP_TRY(spread(pls, between_of(pls), &pls->deficit));
  }
  return KP_OK;
}
