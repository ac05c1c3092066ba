// Implicit viscosity of a flow (kp_flow_viscosity).
#include <math.h>

#include "linalg/vector.h"
#include "methods/common/flow.h"
#include "methods/common/viscous_kernels.h"
#include "par/kernel_define.h"

VISCOUS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define VISCOUS_TOLERANCE 1e-5

static double component(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : (axis == 1 ? v.y : v.z);
}

// Only viscous flows pay for the solvers and their arrays.
static kp_result prepare(kp_flow *flow, int axis) {
  if (flow->viscous[axis] != NULL) {
    return KP_OK;
  }
  if (flow->viscous_extra.used == 0) {
    KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_REAL, &flow->viscous_extra));
    KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_REAL, &flow->viscous_answer));
  }
  kp_poisson_def def = kp_default_poisson_def();
  def.name = "viscosity";
  def.lattice = (kp_mac_kind)axis;
  def.solver = flow->grid.solver;
  def.tolerance = fmin(flow->grid.tolerance, VISCOUS_TOLERANCE);
  def.max_iterations = (int)flow->grid.iterations;
  def.relaxation = flow->grid.relaxation;
  return kp_poisson_create(flow->mac, &def, &flow->viscous[axis]);
}

static kp_result mark(kp_flow *flow, int axis) {
  viscous_unknowns_args a = { .grid = flow->mac->view, .sides = flow->solids.sides, .axis = axis };
  void *memory;
  KP_TRY(kp_buffer_get(&flow->known[0], KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  KP_TRY(kp_fill(flow->mac->backend, memory, KP_CELL_AIR, flow->known[0].used));
  kp_call call;
  kp_call_init(&call, &viscous_unknowns_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction, kp_grid_solids_part(&flow->solids.fraction[axis]), KP_ACCESS_READ);
  KP_BIND(&call, &a, unknown, &flow->known[0], KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call);
}

static bool does_stick(const kp_mac_side *side) {
  return side->kind == KP_MAC_INFLOW || (side->kind == KP_MAC_WALL && side->no_slip);
}

static kp_result couple(kp_flow *flow, int axis, double nu, kp_buffer *per_cell) {
  // beyond the last face of an open side is nothing, and rows of corners end with that face
  KP_TRY(kp_vector_fill(flow->mac->view.count, 0.0, &flow->coefficient[axis]));
  for (int along = 0; along < flow->mac->view.dimension; ++along) {
    viscous_couple_args a = { .grid = flow->mac->view,
                              .axis = axis,
                              .along = along,
                              .sticks_to_solids = flow->grid.no_slip,
                              .viscosity = (kp_real)nu,
                              .inverse_density = (kp_real)(1.0 / flow->density) };
    for (int s = 0; s < 2; ++s) {
      a.sticks[s] = does_stick(&flow->mac->sides[along][s]);
    }
    kp_call call;
    kp_call_init(&call, &viscous_couple_kernel, &a);
    KP_BIND(&call, &a, per_cell, per_cell, KP_ACCESS_READ);
    KP_BIND(&call, &a, unknown, &flow->known[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, couple, &flow->coefficient[along], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, KP_MAC_NODE, &call));
    KP_TRY(kp_mac_fill_periodic(flow->mac, &flow->coefficient[along]));
  }
  return KP_OK;
}

static kp_result write_right(kp_flow *flow, int axis, double dt) {
  viscous_right_args a = { .grid = flow->mac->view,
                           .axis = axis,
                           .inverse_dt = (kp_real)(1.0 / dt) };
  for (int s = 0; s < 6; ++s) {
    a.wall[s / 2][s % 2] = (kp_real)component(flow->mac->sides[s / 2][s % 2].velocity, axis);
  }
  kp_call call;
  kp_call_init(&call, &viscous_right_kernel, &a);
  KP_BIND(&call, &a, unknown, &flow->known[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, couple_x, &flow->coefficient[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, couple_y, &flow->coefficient[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, couple_z, &flow->coefficient[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity, &flow->velocity->buffers[axis], KP_ACCESS_READ);
  KP_BIND(&call, &a, right, &flow->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, extra, &flow->viscous_extra, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, answer, &flow->viscous_answer, KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call);
}

static kp_result solve(kp_flow *flow, int axis) {
  kp_poisson_system system = { .flags = &flow->known[0],
                               .faces = { &flow->coefficient[0], &flow->coefficient[1],
                                          &flow->coefficient[2] },
                               .extra = &flow->viscous_extra,
                               .right = &flow->right,
                               .answer = &flow->viscous_answer };
  kp_poisson_report report;
  KP_TRY(kp_poisson_solve(flow->viscous[axis], &system, &report));
  viscous_take_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &viscous_take_kernel, &a);
  KP_BIND(&call, &a, unknown, &flow->known[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, answer, &flow->viscous_answer, KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity, &flow->velocity->buffers[axis], KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call);
}

kp_result kp_flow_viscosity(kp_flow *flow, kp_env *env, double viscosity, kp_buffer *per_cell) {
  if (viscosity <= 0.0 && per_cell == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_mac_fill_velocity(flow->mac, flow->velocity));
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    KP_TRY(prepare(flow, axis));
    KP_TRY(mark(flow, axis));
    KP_TRY(couple(flow, axis, viscosity / flow->density, per_cell));
    KP_TRY(write_right(flow, axis, env->dt));
    KP_TRY(solve(flow, axis));
  }
  return kp_mac_fill_velocity(flow->mac, flow->velocity);
}
