// How full cells are, and the shift of particles that keeps them from being too full.
#include <math.h>

#include "data/call.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// Of a cell, in one step: how much is moved away at most.
#define MOST_EXCESS 4.0

// Behind walls nothing is open, beyond open sides all is as inside.
kp_result kp_flip_fill_open(kp_mac *mac, kp_buffer *open) {
  kp_mac turned = *mac;
  for (int side = 0; side < 6; ++side) {
    kp_mac_side *s = &turned.sides[side / 2][side % 2];
    if (s->kind != KP_MAC_PERIODIC) {
      s->kind = s->kind == KP_MAC_WALL ? KP_MAC_OPEN : KP_MAC_WALL;
    }
  }
  return kp_mac_fill_cells(&turned, open, 0.0);
}

kp_result kp_flip_find_room(kp_flip *flip) {
  kp_flow *flow = &flip->flow;
  kp_mac *mac = flow->mac;
  if (flip->knows_room && !flow->solids.has_moving) {
    return KP_OK;
  }
  flip->knows_room = true;
  kp_call call;
  flip_open_args open = { .grid = mac->view };
  kp_call_init(&call, &flip_open_kernel, &open);
  KP_BIND(&call, &open, distance, kp_grid_solids_part(&flow->solids.distance), KP_ACCESS_READ);
  KP_BIND(&call, &open, open, &flip->open, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(kp_flip_fill_open(mac, &flip->open));
  flip_room_args room = { .grid = mac->view };
  kp_call_init(&call, &flip_room_kernel, &room);
  KP_BIND(&call, &room, open, &flip->open, KP_ACCESS_READ);
  KP_BIND(&call, &room, room, &flip->room, KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

kp_result kp_flip_mark(kp_flip *flip) {
  kp_flow *flow = &flip->flow;
  kp_mac *mac = flow->mac;
  flip_mark_args a = { .grid = mac->view };
  kp_call call;
  kp_call_init(&call, &flip_mark_kernel, &a);
  KP_BIND(&call, &a, count, &flip->count, KP_ACCESS_READ);
  KP_BIND(&call, &a, room, &flip->room, KP_ACCESS_READ);
  KP_BIND(&call, &a, fill, &flip->fill, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, distance, &flip->distance, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_periodic(mac, &flip->distance));
  return kp_mac_fill_cells(mac, &flip->fill, NAN);
}

static kp_result find_excess(kp_flip *flip) {
  kp_flow *flow = &flip->flow;
  flip_excess_args a = { .grid = flow->mac->view,
                         .share = (kp_real)flip->def.volume,
                         .most = (kp_real)MOST_EXCESS };
  kp_call call;
  kp_call_init(&call, &flip_excess_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fill, &flip->fill, KP_ACCESS_READ);
  if (flip->band.is_there) {
    a.full = (kp_real)kp_flip_band_full(flip);
    KP_BIND(&call, &a, depth, &flip->band.depth->buffers[0], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, excess, &flip->excess, KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, KP_MAC_CELL, &call);
}

kp_result kp_flip_clear(kp_buffer *values) {
  void *memory;
  KP_TRY(kp_buffer_get(values, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  return kp_fill(values->backend, memory, 0, values->used);
}

// div d = excess with d = -c grad q in the matrix of the pressure: full cells push their particles
// to where there is room.
kp_result kp_flip_spread(kp_flip *flip) {
  kp_flow *flow = &flip->flow;
  kp_mac *mac = flow->mac;
  KP_TRY(find_excess(flip));
  KP_TRY(kp_flip_clear(&flip->push));
  KP_TRY(kp_poisson_solve_next(flow->poisson, &flip->excess, &flip->push,
                               flip->def.volume_tolerance, &flip->spread));
  flip->totals.volume_iterations += flip->spread.iterations;
  KP_TRY(kp_mac_fill_periodic(mac, &flip->push));
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    flip_spread_args a = { .grid = mac->view,
                           .axis = axis,
                           .most = (kp_real)(KP_FLIP_MOST_SHIFT * mac->view.cell) };
    kp_call call;
    KP_TRY(kp_flip_clear(&flip->shift[axis]));
    kp_call_init(&call, &flip_spread_kernel, &a);
    KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, coefficient, &flow->coefficient[axis], KP_ACCESS_READ);
    KP_BIND(&call, &a, fraction, kp_grid_solids_part(&flow->solids.fraction[axis]), KP_ACCESS_READ);
    KP_BIND(&call, &a, push, &flip->push, KP_ACCESS_READ);
    KP_BIND(&call, &a, shift, &flip->shift[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, (kp_mac_kind)axis, &call));
    KP_TRY(kp_mac_fill_periodic(mac, &flip->shift[axis]));
  }
  return KP_OK;
}

kp_result kp_flip_measure(kp_flip *flip, kp_flip_volumes *out) {
  kp_flow *flow = &flip->flow;
  double v[4];
  flip_report_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &flip_report_kernel, &a);
  KP_BIND(&call, &a, count, &flip->count, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fill, &flip->fill, KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  double cell = pow(flow->mac->view.cell, flow->mac->view.dimension);
  *out =
      (kp_flip_volumes){ .cells = v[0], .volume = v[1] * cell, .fullest = v[2], .particles = v[3] };
  return KP_OK;
}
