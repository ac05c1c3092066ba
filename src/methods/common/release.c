#include "methods/common/release.h"

#include "methods/common/release_kernels.h"
#include "par/kernel_define.h"

RELEASE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

kp_result kp_release_mark(kp_flow *flow, kp_buffer *distance, double suction, double *count) {
  kp_mac *mac = flow->mac;
  kp_buffer *flags = &flow->flags->buffers[0];
  release_mark_args a = { .grid = mac->view,
                          .sides = flow->solids.sides,
                          .least = (kp_real)-suction };
  kp_call call;
  kp_call_init(&call, &release_mark_kernel, &a);
  KP_BIND(&call, &a, pressure, &flow->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, distance, distance, KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction_x, &flow->solids.fraction[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction_y, &flow->solids.fraction[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction_z, kp_grid_solids_part(&flow->solids.fraction[2]), KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, flags, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_periodic(mac, flags));
  release_count_args c = { .grid = mac->view };
  kp_call_init(&call, &release_count_kernel, &c);
  KP_BIND(&call, &c, flags, flags, KP_ACCESS_READ);
  return KP_MAC_REDUCE(mac, &call, &c, count);
}

static kp_result spread(kp_flow *flow, int round) {
  release_around_args a = { .grid = flow->mac->view, .is_first = round == 0 };
  kp_buffer *out = &flow->known[round % 2];
  kp_call call;
  kp_call_init(&call, &release_around_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, in, &flow->known[1 - round % 2], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, out, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(flow->mac, out);
}

kp_result kp_release_finish(kp_flow *flow) {
  kp_mac *mac = flow->mac;
  for (int k = 0; k < 2; ++k) {
    void *memory;
    KP_TRY(kp_buffer_get(&flow->known[k], KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(mac->backend, memory, 0, flow->known[k].used));
  }
  KP_TRY(spread(flow, 0));
  KP_TRY(spread(flow, 1));
  release_finish_args a = { .grid = mac->view };
  kp_call call;
  kp_call_init(&call, &release_finish_kernel, &a);
  KP_BIND(&call, &a, near, &flow->known[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(mac, &flow->flags->buffers[0]);
}
