// Keeps the volume of the water: what tracking the surface has added or lost is given back by a
// small divergence: where it was lost as far as the balance of the cells tells (pls_balance.c), and
// in all of the water what nobody knows the place of (after Kim et al. 2007, for the whole in place
// of regions).
#include <math.h>

#include "base/log.h"
#include "methods/level_set/pls.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// At most this share of the volume in a step: water a hundred cells deep then rises by half a cell.
#define PLS_SWELL_MOST 0.005
#define PLS_SWELL_CELL 0.5  // at most this share of a cell: spray that comes back arrives at once

#define PLS_WARN_DRIFT 0.03  // of the volume
#define PLS_WARN_LEAST 64.0  // cells: less is spray

kp_result kp_pls_volume(kp_pls *pls, double *cells) {
  pls_volume_args a = { .grid = pls->flow.mac->view };
  kp_call call;
  kp_call_init(&call, &pls_volume_kernel, &a);
  KP_BIND(&call, &a, wet.flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, wet.phi, &pls->phi->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, wet.solid, kp_grid_solids_part(&pls->flow.solids.distance), KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(pls->flow.mac, &call, &a, cells));
  *cells /= PLS_SHARES;
  return KP_OK;
}

kp_result kp_pls_volume_begin(kp_pls *pls) {
  KP_TRY(kp_pls_balance_begin(pls));
  return kp_pls_volume(pls, &pls->volume);
}

kp_result kp_pls_volume_pass(kp_pls *pls, double dt) {
  // the balance knows what passes better
  if (pls->is_closed || pls->fraction != NULL) {
    return KP_OK;
  }
  kp_mac *mac = pls->flow.mac;
  pls_pass_args a = { .grid = mac->view, .shift = dt / mac->view.cell };
  for (int c = 0; c < mac->view.dimension; ++c) {
    for (int s = 0; s < 2; ++s) {
      a.is_open[c][s] = mac->sides[c][s].kind == KP_MAC_OPEN;
      a.is_inflow[c][s] = mac->sides[c][s].kind == KP_MAC_INFLOW;
    }
  }
  double parts[2];
  double cells = 0.0;
  kp_call call;
  kp_call_init(&call, &pls_pass_kernel, &a);
  KP_BIND(&call, &a, flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, &pls->phi->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &pls->flow.velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &pls->flow.velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &pls->flow.velocity->buffers[2], KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(mac, &call, &a, parts));
  if (parts[0] > 0.0) {
    KP_TRY(kp_pls_volume(pls, &cells));
    double share = cells > 0.0 ? fmin(parts[0] / PLS_SHARES / cells, 1.0) : 0.0;
    pls->volume *= 1.0 - share;
  }
  pls->volume += parts[1] / PLS_SHARES;
  return KP_OK;
}

// Said once: what the correction does not hold.
static void warn_of_drift(kp_pls *pls, double cells, double time) {
  double off = cells / pls->volume - 1.0;
  if (pls->has_warned || pls->volume < PLS_WARN_LEAST || fabs(off) < PLS_WARN_DRIFT) {
    return;
  }
  pls->has_warned = true;
  kp_log(KP_LOG_WARN, "level_set",
         "liquid \"%s\": at %.4g s its volume is %.1f %% %s than what was put in, poured, drained "
         "and let out leaves; smaller cells or a larger level_set { volume } (now %.3g) keep it "
         "closer (said once)",
         pls->flow.name, time, 100.0 * fabs(off), off > 0.0 ? "more" : "less", pls->def.volume);
}

// A share of what the whole lacks, in a step [1].
static double swell(const kp_pls *pls, double lacking, double cells) {
  double share = pls->def.volume * lacking / cells;
  return fmin(fmax(share, -PLS_SWELL_MOST), PLS_SWELL_MOST);
}

kp_result kp_pls_volume_source(kp_pls *pls, kp_env *env, double time, kp_buffer **out) {
  double cells = 0.0;
  double held = 0.0;
  *out = NULL;
  KP_TRY(kp_pls_volume(pls, &cells));
  warn_of_drift(pls, cells, env->time);
  // drops below a cell are not worth the while
  if (pls->fraction == NULL || cells < 1.0) {
    return KP_OK;
  }
  KP_TRY(kp_pls_balance_total(pls, &held));
  if (pls->source.used == 0) {
    KP_TRY(kp_mac_scratch(pls->flow.mac, KP_TYPE_REAL, &pls->source));
  }
  pls_swell_args a = { .grid = pls->flow.mac->view,
                       .rate = (kp_real)(swell(pls, pls->volume - held, cells) / time),
                       .share = (kp_real)(pls->def.volume / time),
                       .most = (kp_real)(PLS_SWELL_CELL / time) };
  kp_call call;
  kp_call_init(&call, &pls_swell_kernel, &a);
  KP_BIND(&call, &a, flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, solid, kp_grid_solids_part(&pls->flow.solids.distance), KP_ACCESS_READ);
  KP_BIND(&call, &a, deficit, &pls->deficit, KP_ACCESS_READ);
  KP_BIND(&call, &a, source, &pls->source, KP_ACCESS_WRITE);
  *out = &pls->source;
  return kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call);
}
