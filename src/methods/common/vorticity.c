#include "methods/common/vorticity.h"

#include <math.h>

#include "data/call.h"
#include "methods/common/vorticity_kernels.h"
#include "par/kernel_define.h"

VORTICITY_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

kp_result kp_vorticity_init(kp_vorticity *vorticity, kp_flow *flow) {
  vorticity->flow = flow;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_REAL, &vorticity->force[c]));
  }
  return kp_mac_scratch(flow->mac, KP_TYPE_REAL, &vorticity->magnitude);
}

void kp_vorticity_free(kp_vorticity *vorticity) {
  if (vorticity->flow != NULL) {
    for (int c = 0; c < 3; ++c) {
      kp_buffer_free(&vorticity->force[c]);
    }
    kp_buffer_free(&vorticity->magnitude);
  }
}

kp_result kp_vorticity_begin(kp_vorticity *vorticity) {
  for (int c = 0; c < 3; ++c) {
    void *memory;
    kp_buffer *force = &vorticity->force[c];
    KP_TRY(kp_buffer_get(force, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(vorticity->flow->mac->backend, memory, 0, force->used));
  }
  return KP_OK;
}

// u, v and w of a flow.
#define BIND_FACES(call, args, flow)                                                               \
  (KP_BIND(call, args, u, &(flow)->velocity->buffers[0], KP_ACCESS_READ),                          \
   KP_BIND(call, args, v, &(flow)->velocity->buffers[1], KP_ACCESS_READ),                          \
   KP_BIND(call, args, w, &(flow)->velocity->buffers[2], KP_ACCESS_READ))

kp_result kp_vorticity_confine(kp_vorticity *vorticity, double strength, kp_buffer *strengths) {
  kp_flow *flow = vorticity->flow;
  KP_TRY(kp_mac_fill_velocity(flow->mac, flow->velocity));
  vorticity_magnitude_args m = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &vorticity_magnitude_kernel, &m);
  BIND_FACES(&call, &m, flow);
  KP_BIND(&call, &m, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &m, magnitude, &vorticity->magnitude, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_cells(flow->mac, &vorticity->magnitude, NAN));

  vorticity_confine_args a = { .grid = flow->mac->view,
                               .strength = (kp_real)(strength * flow->mac->view.cell) };
  kp_call_init(&call, &vorticity_confine_kernel, &a);
  BIND_FACES(&call, &a, flow);
  KP_BIND(&call, &a, strengths, strengths, KP_ACCESS_READ);
  KP_BIND(&call, &a, magnitude, &vorticity->magnitude, KP_ACCESS_READ);
  KP_BIND(&call, &a, fx, &vorticity->force[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fy, &vorticity->force[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fz, &vorticity->force[2], KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, KP_MAC_CELL, &call);
}

kp_result kp_vorticity_push(kp_vorticity *vorticity, double dt) {
  kp_flow *flow = vorticity->flow;
  for (int c = 0; c < flow->mac->view.dimension; ++c) {
    kp_buffer *force = &vorticity->force[c];
    KP_TRY(kp_mac_fill_cells(flow->mac, force, NAN));
    vorticity_push_args a = { .grid = flow->mac->view, .axis = c, .dt = (kp_real)dt };
    kp_call call;
    kp_call_init(&call, &vorticity_push_kernel, &a);
    KP_BIND(&call, &a, force, force, KP_ACCESS_READ);
    KP_BIND(&call, &a, values, &flow->velocity->buffers[c], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)c, &call));
  }
  return KP_OK;
}
