// Second order in time: the pressure of a step acts after the motion and takes |dt grad p|^2 / 2 of
// the energy with it, so particles take half of what turns the flow along into the next step
// (Crank & Nicolson 1947 for the convective pressure). What gravity and tension ask of the pressure
// is left to the projection: pressing first and moving the surface after it, as leapfrog does,
// neither gains nor loses waves, whereas half of it taken along would let them grow by
// (omega dt)^2 / 2 of their energy in a step.
#include "data/call.h"
#include "methods/common/thrust.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

bool kp_flip_is_centred(const kp_flip *flip) {
  return flip->liquids.data[0].ahead != NULL;
}

static kp_result find_bend(kp_flip *flip) {
  kp_flow *flow = &flip->flow;
  flip_bend_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &flip_bend_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  for (int c = 0; c < a.grid.dimension; ++c) {
    KP_BIND(&call, &a, velocity[c], &flow->velocity->buffers[c], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, bend, &flip->excess, KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, KP_MAC_CELL, &call);
}

static kp_result add(kp_mac *mac, kp_buffer *values, kp_buffer *more, double share) {
  flip_add_args a = { .share = (kp_real)share };
  kp_call call;
  kp_call_init(&call, &flip_add_kernel, &a);
  KP_BIND(&call, &a, more, more, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
  return kp_call_run(mac->backend, &call, mac->view.count);
}

kp_result kp_flip_ahead_find(kp_flip *flip, kp_env *env, int n_layers) {
  kp_flow *flow = &flip->flow;
  double share = 1.0 - flow->grid.centering;
  KP_TRY(find_bend(flip));
  KP_TRY(kp_flip_clear(&flip->push));
  kp_poisson_report report;
  KP_TRY(kp_poisson_solve_next(flow->poisson, &flip->excess, &flip->push,
                               flip->def.volume_tolerance, &report));
  KP_TRY(kp_mac_fill_periodic(flow->mac, &flip->push));
  KP_TRY(kp_flow_push_ahead(flow, &flip->push, share * env->dt, n_layers));
  KP_TRY(kp_flip_fill(flow->mac, &flow->carried));
  // the pressure of a step is that of its projection and what acts ahead of it
  KP_TRY(add(flow->mac, &flow->pressure->buffers[0], &flip->push, share));
  return kp_thrust_tell(flow, env);
}

kp_result kp_flip_ahead_add(kp_flip *flip, kp_buffer out[3]) {
  kp_flow *flow = &flip->flow;
  for (int c = 0; c < flow->mac->view.dimension; ++c) {
    KP_TRY(kp_buffer_copy(&out[c], &flow->velocity->buffers[c]));
    KP_TRY(add(flow->mac, &out[c], &flow->carried.buffers[c], 1.0));
  }
  return KP_OK;
}

kp_result kp_flip_ahead_join(kp_flip *flip, kp_flip_liquid *liquid) {
  flip_join_ahead_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &flip_join_ahead_kernel, &a);
  KP_BIND3(&call, &a, a, liquid->ahead, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, liquid->medium.set->velocity, KP_ACCESS_WRITE);
  return kp_call_run(flip->flow.mac->backend, &call, liquid->medium.set->space->n);
}

kp_result kp_flip_ahead_look(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_flow *flow = &flip->flow;
  flip_look_ahead_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &flip_look_ahead_kernel, &a);
  KP_BIND(&call, &a, push.u, &flow->carried.buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, push.v, &flow->carried.buffers[1], KP_ACCESS_READ);
  kp_buffer *w = &flow->carried.buffers[2];
  KP_BIND(&call, &a, push.w, w->used > 0 ? w : NULL, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , liquid->medium.set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, liquid->ahead, KP_ACCESS_WRITE);
  return kp_call_run(flow->mac->backend, &call, liquid->medium.set->space->n);
}
