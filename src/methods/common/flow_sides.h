// The sides of the domain as kernels of a flow see them.
#pragma once

#include "data/mac_view.h"

typedef struct flow_sides {
  int32_t is_closed[3][2];  // no pressure acts across it: wall or inflow
  int32_t is_wall[3][2];
  kp_real speed[3][2];  // m/s across it, along the axis
} flow_sides;

// Which closed side the face with this coordinate along its axis lies in: 0, 1, or -1.
KP_FN int flow_side_of(const kp_mac_view *g, const flow_sides *s, int axis, int64_t at) {
  if (at == 0 && s->is_closed[axis][0]) {
    return 0;
  }
  return at == g->n[axis] && s->is_closed[axis][1] ? 1 : -1;
}
