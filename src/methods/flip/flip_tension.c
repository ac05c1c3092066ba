// Surface tension: the pressure at the surface is sigma times its curvature (ghost fluid, as
// methods/level_set does), which is that of a level set made from how full cells are.
#include <math.h>

#include "data/call.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define BAND 4.0        // cells around the surface that curvature is asked in
#define N_SMOOTHINGS 4  // particles make a rough surface: with 2 a drop has 10 % too much pressure

kp_result kp_flip_tension_create(kp_flip_tension *tension, kp_mac *mac, double sigma) {
  tension->sigma = sigma;
  KP_TRY(kp_level_set_init(&tension->level, mac));
  tension->is_there = true;
  kp_buffer *all[] = { &tension->phi[0], &tension->phi[1], &tension->jump };
  for (int k = 0; k < 3; ++k) {
    KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, all[k]));
  }
  return KP_OK;
}

void kp_flip_tension_free(kp_flip_tension *tension) {
  if (tension->is_there) {
    kp_level_set_free(&tension->level);
  }
  kp_buffer_free(&tension->phi[0]);
  kp_buffer_free(&tension->phi[1]);
  kp_buffer_free(&tension->jump);
}

static kp_result smooth(kp_mac *mac, kp_buffer *in, kp_buffer *out) {
  flip_smooth_args a = { .grid = mac->view };
  kp_call call;
  kp_call_init(&call, &flip_smooth_kernel, &a);
  KP_BIND(&call, &a, in, in, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, out, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(mac, out, NAN);
}

kp_result kp_flip_tension_write(kp_flip *flip) {
  kp_flip_tension *tension = &flip->tension;
  kp_mac *mac = flip->flow.mac;
  kp_buffer *phi = tension->phi;
  KP_TRY(kp_buffer_copy(&phi[0], &flip->distance));
  KP_TRY(kp_mac_fill_cells(mac, &phi[0], NAN));
  KP_TRY(kp_level_set_band(&tension->level, &phi[0], BAND));
  for (int n = 0; n < N_SMOOTHINGS; ++n) {
    KP_TRY(smooth(mac, &phi[n % 2], &phi[1 - n % 2]));
  }
  KP_TRY(kp_level_set_curvature(&tension->level, &phi[N_SMOOTHINGS % 2], &tension->jump));
  flip_jump_args a = { .grid = mac->view, .sigma = (kp_real)tension->sigma };
  kp_call call;
  kp_call_init(&call, &flip_jump_kernel, &a);
  KP_BIND(&call, &a, jump, &tension->jump, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  return kp_mac_fill_cells(mac, &tension->jump, NAN);
}
