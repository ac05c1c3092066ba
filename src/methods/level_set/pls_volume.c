// Keeps the volume of the water: what tracking the surface has added or lost in all is given back
// by a small divergence in all of the water (after Kim et al. 2007, for the whole in place of
// regions).
#include <math.h>

#include "methods/level_set/pls.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// At most this share of the volume in a step: water a hundred cells deep then rises by half a cell.
#define PLS_SWELL_MOST 0.005

kp_result kp_pls_volume(kp_pls *pls, double *cells) {
  pls_volume_args a = { .grid = pls->flow.mac->view };
  kp_call call;
  kp_call_init(&call, &pls_volume_kernel, &a);
  KP_BIND(&call, &a, flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, &pls->phi->buffers[0], KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(pls->flow.mac, &call, &a, cells));
  *cells /= PLS_SHARES;
  return KP_OK;
}

kp_result kp_pls_volume_begin(kp_pls *pls) {
  const kp_mac *mac = pls->flow.mac;
  bool is_closed = true;
  for (int c = 0; c < mac->view.dimension; ++c) {
    for (int s = 0; s < 2; ++s) {
      kp_mac_side_kind kind = mac->sides[c][s].kind;
      is_closed = is_closed && (kind == KP_MAC_WALL || kind == KP_MAC_PERIODIC);
    }
  }
  pls->volume = -1.0;
  return is_closed && pls->def.volume > 0.0 ? kp_pls_volume(pls, &pls->volume) : KP_OK;
}

kp_result kp_pls_volume_source(kp_pls *pls, double time, kp_buffer **out) {
  double cells = 0.0;
  *out = NULL;
  if (pls->volume < 0.0) {
    return KP_OK;
  }
  KP_TRY(kp_pls_volume(pls, &cells));
  // drops below a cell are not worth the while
  if (cells < 1.0 || cells == pls->volume) {
    return KP_OK;
  }
  double share = pls->def.volume * (pls->volume / cells - 1.0);
  double rate = fmin(fmax(share, -PLS_SWELL_MOST), PLS_SWELL_MOST) / time;
  if (pls->source.used == 0) {
    KP_TRY(kp_mac_scratch(pls->flow.mac, KP_TYPE_REAL, &pls->source));
  }
  pls_swell_args a = { .grid = pls->flow.mac->view, .rate = (kp_real)rate };
  kp_call call;
  kp_call_init(&call, &pls_swell_kernel, &a);
  KP_BIND(&call, &a, flags, &pls->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, source, &pls->source, KP_ACCESS_WRITE);
  *out = &pls->source;
  return kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call);
}
