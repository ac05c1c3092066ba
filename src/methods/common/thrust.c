#include "methods/common/thrust.h"

#include "data/call.h"
#include "methods/common/thrust_kernels.h"
#include "par/kernel_define.h"

THRUST_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// THRUST_BODIES of them in one look.
static kp_result find_some(kp_flow *flow, kp_env *env, const kp_index *bodies, size_t n,
                           kp_load *out) {
  kp_mac_view *g = &flow->mac->view;
  thrust_sum_args a = { .grid = *g };
  for (size_t b = 0; b < THRUST_BODIES; ++b) {
    kp_vec3 center = kp_bodies_frame(env->bodies, bodies[b < n ? b : 0]).position;
    a.bodies[b] = b < n ? bodies[b] : -2;
    a.centers[b][0] = center.x;
    a.centers[b][1] = center.y;
    a.centers[b][2] = center.z;
  }
  kp_call call;
  kp_call_init(&call, &thrust_sum_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, pressure, &flow->pressure->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    kp_buffer *fraction = c < g->dimension ? &flow->solids.fraction[c] : NULL;
    KP_BIND(&call, &a, fraction[c], fraction, KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, distance, &flow->solids.distance, KP_ACCESS_READ);
  KP_BIND(&call, &a, body, &flow->solids.body, KP_ACCESS_READ);
  double v[6 * THRUST_BODIES];
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  for (size_t b = 0; b < n; ++b) {
    const double *w = v + 6 * b;
    out[b] = (kp_load){ { w[0], w[1], w[2] }, { w[3], w[4], w[5] } };
  }
  return KP_OK;
}

kp_result kp_thrust_find(kp_flow *flow, kp_env *env, const kp_index *bodies, size_t n,
                         kp_load *out) {
  for (size_t from = 0; from < n; from += THRUST_BODIES) {
    size_t some = n - from < THRUST_BODIES ? n - from : THRUST_BODIES;
    KP_TRY(find_some(flow, env, bodies + from, some, out + from));
  }
  return KP_OK;
}

kp_result kp_thrust_tell(kp_flow *flow, kp_env *env) {
  kp_loads *loads = env->loads;
  for (size_t k = 0; loads != NULL && flow->solids.has_solids && k < loads->bodies.count; ++k) {
    kp_load force;
    KP_TRY(kp_thrust_find(flow, env, &loads->bodies.data[k], 1, &force));
    kp_loads_set(loads, loads->bodies.data[k], flow->medium, force);
  }
  return KP_OK;
}
