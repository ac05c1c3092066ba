#include "methods/common/release.h"

#include <stddef.h>

#include "methods/common/release_kernels.h"
#include "par/kernel_define.h"

RELEASE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// Cells along the axes from air to water that may be let go; beside bodies from air with no water
// beside it, one or two above the surface.
#define AIR_REACH 5

// Cells of water whose weight a wall holds in any case. Walls have water beside them all the time,
// and where it is at rest a pressure that is rounding off 0 would cost a second solve.
#define WALL_SLACK 0.1

static kp_result begin(kp_flow *flow, bool from_air) {
  release_begin_args a = { .grid = flow->mac->view, .from_air = from_air };
  kp_call call;
  kp_call_init(&call, &release_begin_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &flow->known[0], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(flow->mac, &flow->known[0]);
}

static kp_result spread(kp_flow *flow, int round) {
  release_around_args a = { .grid = flow->mac->view };
  kp_buffer *out = &flow->known[1 - round % 2];
  kp_call call;
  kp_call_init(&call, &release_around_kernel, &a);
  KP_BIND(&call, &a, in, &flow->known[round % 2], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, out, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(flow->mac, out);
}

// Not 0 in flow->known[reach % 2] within so many cells of those where it begins. Ghosts hold none
// of them: behind walls they look like air.
static kp_result find_around(kp_flow *flow, bool from_air, int reach) {
  for (int k = 0; k < 2; ++k) {
    void *memory;
    KP_TRY(kp_buffer_get(&flow->known[k], KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(flow->mac->backend, memory, 0, flow->known[k].used));
  }
  KP_TRY(begin(flow, from_air));
  for (int round = 0; round < reach; ++round) {
    KP_TRY(spread(flow, round));
  }
  return KP_OK;
}

static void bind_cells(kp_call *call, release_mark_args *a, kp_flow *flow,
                       const kp_flow_projection *how) {
  KP_BIND(call, a, pressure, &flow->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, distance, how->distance, KP_ACCESS_READ);
  KP_BIND(call, a, fraction_x, kp_grid_solids_part(&flow->solids.fraction[0]), KP_ACCESS_READ);
  KP_BIND(call, a, fraction_y, kp_grid_solids_part(&flow->solids.fraction[1]), KP_ACCESS_READ);
  KP_BIND(call, a, fraction_z, kp_grid_solids_part(&flow->solids.fraction[2]), KP_ACCESS_READ);
}

static kp_result count_pulled(kp_flow *flow, const kp_flow_projection *how,
                              const release_mark_args *cells, double *count) {
  release_pulled_args a = { .cells = *cells };
  kp_call call;
  kp_call inner;
  kp_call_init(&call, &release_pulled_kernel, &a);
  // pointers of the inner arguments lie where they lie in `a`
  kp_call_init(&inner, &release_mark_kernel, &a.cells);
  bind_cells(&inner, &a.cells, flow, how);
  KP_BIND(&inner, &a.cells, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  for (int b = 0; b < inner.n_binds; ++b) {
    kp_call_bind(&call, inner.binds[b].offset + offsetof(release_pulled_args, cells),
                 inner.binds[b].buffer, (kp_access)inner.binds[b].access);
  }
  return KP_MAC_REDUCE(flow->mac, &call, &a, count);
}

kp_result kp_release_mark(kp_flow *flow, const kp_env *env, const kp_flow_projection *how,
                          double *count) {
  kp_mac *mac = flow->mac;
  kp_buffer *flags = &flow->flags->buffers[0];
  double slack =
      WALL_SLACK * flow->density * kp_vec3_length(env->simulation.gravity) * mac->view.cell;
  release_mark_args a = { .grid = mac->view,
                          .sides = flow->solids.sides,
                          .least = (kp_real)-how->suction,
                          .least_wall = (kp_real)(-how->suction - slack) };
  KP_TRY(count_pulled(flow, how, &a, count));
  bool looks = how->is_near && *count > 0.0;
  if (looks) {
    KP_TRY(find_around(flow, true, AIR_REACH));
  }
  kp_call call;
  kp_call_init(&call, &release_mark_kernel, &a);
  bind_cells(&call, &a, flow, how);
  KP_BIND(&call, &a, near, looks ? &flow->known[AIR_REACH % 2] : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, flags, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_periodic(mac, flags));
  if (*count == 0.0) {
    return KP_OK;
  }
  release_count_args c = { .grid = mac->view };
  kp_call_init(&call, &release_count_kernel, &c);
  KP_BIND(&call, &c, flags, flags, KP_ACCESS_READ);
  return KP_MAC_REDUCE(mac, &call, &c, count);
}

kp_result kp_release_finish(kp_flow *flow) {
  kp_mac *mac = flow->mac;
  if (flow->n_released == 0.0) {
    return KP_OK;
  }
  flow->n_released = 0.0;
  KP_TRY(find_around(flow, false, 2));
  release_finish_args a = { .grid = mac->view };
  kp_call call;
  kp_call_init(&call, &release_finish_kernel, &a);
  KP_BIND(&call, &a, near, &flow->known[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  return kp_mac_fill_periodic(mac, &flow->flags->buffers[0]);
}
