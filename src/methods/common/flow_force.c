// The user's force on a flow: its points are the faces of the grid, and of the acceleration that is
// added at a face the component across it counts.
#include "data/mac_sample.h"
#include "methods/common/flow.h"

typedef struct window {
  int64_t lo[3], hi[3];  // faces across an axis, hi exclusive
} window;

static window faces_of(const kp_mac *mac, int axis) {
  window w;
  for (int c = 0; c < 3; ++c) {
    bool has_upper =
        c == axis && !(mac->view.is_periodic[c] && mac->window_hi[c] == mac->view.n[c]);
    w.lo[c] = mac->window_lo[c];
    w.hi[c] = mac->window_hi[c] + (has_upper ? 1 : 0);
  }
  return w;
}

static int64_t n_faces(const kp_mac *mac) {
  int64_t n = 0;
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    window w = faces_of(mac, axis);
    n += (w.hi[0] - w.lo[0]) * (w.hi[1] - w.lo[1]) * (w.hi[2] - w.lo[2]);
  }
  return n;
}

#define EACH_FACE(w, i, j, k)                                                                      \
  for (int64_t k = (w).lo[2]; k < (w).hi[2]; ++k)                                                  \
    for (int64_t j = (w).lo[1]; j < (w).hi[1]; ++j)                                                \
      for (int64_t i = (w).lo[0]; i < (w).hi[0]; ++i)

static void write_points(const kp_flow *flow, kp_mac_velocity velocity, kp_pos *x[3],
                         kp_real *v[3]) {
  const kp_mac_view *g = &flow->mac->view;
  int64_t n = 0;
  for (int axis = 0; axis < g->dimension; ++axis) {
    window w = faces_of(flow->mac, axis);
    EACH_FACE(w, i, j, k) {
      double place[3];
      kp_real u[3];
      kp_mac_place(g, axis, i, j, k, place);
      kp_mac_velocity_at(g, velocity, place[0], place[1], place[2], u);
      for (int c = 0; c < 3; ++c) {
        x[c][n] = place[c];
        v[c][n] = u[c];
      }
      ++n;
    }
  }
}

// All of a view in one array each, component after component.
static kp_result lay_out(kp_flow *flow, int64_t n, kp_pos *x[3], kp_real *v[3], kp_real *a[3]) {
  size_t all = 3 * (size_t)n;
  KP_TRY(kp_array_resize(&flow->force_places, all));
  KP_TRY(kp_array_resize(&flow->force_values, 2 * all));
  for (int c = 0; c < 3; ++c) {
    x[c] = flow->force_places.data + c * n;
    v[c] = flow->force_values.data + c * n;
    a[c] = flow->force_values.data + (3 + c) * n;
  }
  for (size_t i = 0; i < all; ++i) {
    a[0][i] = 0;
  }
  return KP_OK;
}

kp_result kp_flow_user_force(kp_flow *flow, kp_env *env) {
  const kp_mac_view *g = &flow->mac->view;
  if (env->force == NULL) {
    return KP_OK;
  }
  int64_t n = n_faces(flow->mac);
  kp_pos *x[3];
  kp_real *v[3];
  kp_real *a[3];
  KP_TRY(lay_out(flow, n, x, v, a));
  KP_TRY(kp_mac_fill_velocity(flow->mac, flow->velocity));
  kp_real *velocity[3] = { NULL, NULL, NULL };
  for (int c = 0; c < g->dimension; ++c) {
    KP_TRY(kp_buffer_get(&flow->velocity->buffers[c], KP_SIDE_HOST, KP_ACCESS_WRITE,
                         (void **)&velocity[c]));
  }
  write_points(flow, (kp_mac_velocity){ velocity[0], velocity[1], velocity[2] }, x, v);
  const kp_force_view view = { .set = flow->set,
                               .n = n,
                               .time = env->time,
                               .x = x[0],
                               .y = x[1],
                               .z = x[2],
                               .vx = v[0],
                               .vy = v[1],
                               .vz = v[2],
                               .ax = a[0],
                               .ay = a[1],
                               .az = a[2] };
  env->force(&view, env->force_user);
  int64_t next = 0;
  for (int axis = 0; axis < g->dimension; ++axis) {
    window w = faces_of(flow->mac, axis);
    EACH_FACE(w, i, j, k) {
      velocity[axis][kp_mac_at(g, i, j, k)] += (kp_real)env->dt * a[axis][next++];
    }
  }
  return KP_OK;
}
