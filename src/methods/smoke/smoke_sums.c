// Sums that transport must keep: of smoke, of heat and of fuel.
//
// Traces back do not conserve sums. What was there at the end of the last step, less what leaves
// through open sides, is what must be there after an advection. The difference goes where the
// scheme errs: where values differ from those beside them, in proportion to how far they may move
// without leaving the range of these, and to the share of a cell that the flow crosses. So no value
// grows beyond its neighbours, and what is still stays as it is. Where that is not room enough all
// edges take part, and at last all values are multiplied by one factor.
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/smoke/smoke.h"
#include "methods/smoke/smoke_kernels.h"
#include "par/kernel_define.h"

SMOKE_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define LAYERS 3             // of cells that solids cover get the values beside them
#define MOST_CORRECTION 2.0  // factor of one step: beyond it something else is wrong
#define ROUNDING 1e-9        // of a sum: not worth another pass

static double cell_volume(const kp_gas *gas) {
  return pow(gas->flow.mac->view.cell, gas->flow.mac->view.dimension);
}

int kp_smoke_n_amounts(const kp_gas *gas) {
  return gas->fuel != NULL ? KP_SMOKE_AMOUNT_COUNT : KP_SMOKE_FUEL;
}

kp_buffer *kp_smoke_values(kp_gas *gas, int amount, double *rest) {
  kp_field *const fields[] = { gas->density, gas->temperature, gas->fuel };
  *rest = amount == KP_SMOKE_HEAT ? gas->def.ambient : 0.0;
  return &fields[amount]->buffers[0];
}

// What is there, and in v[KP_SMOKE_AMOUNT_COUNT] the heat that swelling adds per second.
static kp_result sum_amounts(kp_gas *gas, double v[KP_SMOKE_AMOUNT_COUNT + 1]) {
  kp_flow *flow = &gas->flow;
  smoke_amounts_args a = { .ambient = (kp_real)gas->def.ambient };
  kp_buffer *fuel = gas->fuel != NULL ? &gas->fuel->buffers[0] : NULL;
  kp_buffer *divergence = gas->divergence != NULL ? &gas->divergence->buffers[0] : NULL;
  kp_call call;
  kp_call_init(&call, &smoke_amounts_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &gas->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, temperature, &gas->temperature->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fuel, fuel, KP_ACCESS_READ);
  KP_BIND(&call, &a, divergence, divergence, KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  for (int k = 0; k <= KP_SMOKE_AMOUNT_COUNT; ++k) {
    v[k] *= cell_volume(gas);
  }
  return KP_OK;
}

kp_result kp_smoke_amounts(kp_gas *gas, double amounts[KP_SMOKE_AMOUNT_COUNT]) {
  double v[KP_SMOKE_AMOUNT_COUNT + 1];
  KP_TRY(sum_amounts(gas, v));
  for (int k = 0; k < KP_SMOKE_AMOUNT_COUNT; ++k) {
    amounts[k] = v[k];
  }
  return KP_OK;
}

// ---- before the transport

kp_result kp_smoke_count_kept(kp_gas *gas) {
  if (!gas->def.conserve) {
    return KP_OK;
  }
  KP_TRY(kp_smoke_amounts(gas, gas->kept));
  for (int k = 0; k < kp_smoke_n_amounts(gas) && gas->flow.solids.has_solids; ++k) {
    double rest;
    KP_TRY(kp_flow_extrapolate_cells(&gas->flow, kp_smoke_values(gas, k, &rest), LAYERS));
  }
  return KP_OK;
}

// Through the open sides, in the coming step.
static kp_result leak(kp_gas *gas, kp_env *env, int amount, double *out) {
  kp_mac *mac = gas->flow.mac;
  double rest;
  kp_buffer *values = kp_smoke_values(gas, amount, &rest);
  kp_buffer *divergence = gas->divergence != NULL ? &gas->divergence->buffers[0] : NULL;
  *out = 0.0;
  for (int axis = 0; axis < env->dimension; ++axis) {
    smoke_leak_args a = { .grid = mac->view,
                          .axis = axis,
                          .shift = env->dt / mac->view.cell,
                          .dt = env->dt,
                          .rest = (kp_real)rest };
    bool has_reached[2] = { mac->window_lo[axis] == 0, mac->window_hi[axis] == mac->view.n[axis] };
    for (int s = 0; s < 2; ++s) {
      a.is_open[s] = has_reached[s] && mac->sides[axis][s].kind == KP_MAC_OPEN;
    }
    memcpy(a.lo, mac->window_lo, sizeof a.lo);
    memcpy(a.hi, mac->window_hi, sizeof a.hi);
    if (!a.is_open[0] && !a.is_open[1]) {
      continue;
    }
    kp_call call;
    kp_call_init(&call, &smoke_leak_kernel, &a);
    KP_BIND(&call, &a, flags, &gas->flow.flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, speed, &gas->flow.velocity->buffers[axis], KP_ACCESS_READ);
    KP_BIND(&call, &a, divergence, divergence, KP_ACCESS_READ);
    KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
    double sum;
    KP_TRY(kp_call_reduce(env->backend, &call, kp_mac_n_all(mac) / mac->view.n[axis], &sum));
    *out += sum * cell_volume(gas);
  }
  return KP_OK;
}

kp_result kp_smoke_count_gone(kp_gas *gas, kp_env *env) {
  if (gas->def.conserve && gas->divergence != NULL) {
    double v[KP_SMOKE_AMOUNT_COUNT + 1];
    KP_TRY(sum_amounts(gas, v));
    gas->kept[KP_SMOKE_HEAT] += v[KP_SMOKE_AMOUNT_COUNT] * env->dt;
  }
  for (int k = gas->def.conserve ? 0 : KP_SMOKE_FUEL; k < kp_smoke_n_amounts(gas); ++k) {
    double gone;
    KP_TRY(leak(gas, env, k, &gone));
    gas->kept[k] -= gone;
    gas->books[KP_SMOKE_GONE] += k == KP_SMOKE_FUEL ? gone : 0.0;
  }
  return KP_OK;
}

// ---- after it

static void bind_room(kp_call *call, smoke_room_args *a, kp_gas *gas, kp_buffer *values) {
  kp_flow *flow = &gas->flow;
  KP_BIND(call, a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, u, &flow->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, v, &flow->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(call, a, w, &flow->velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(call, a, values, values, KP_ACCESS_READ);
}

// Take what room there is for *missing; without a time everywhere alike.
static kp_result settle(kp_gas *gas, int amount, double dt, double *missing) {
  kp_mac *mac = gas->flow.mac;
  double rest;
  kp_buffer *values = kp_smoke_values(gas, amount, &rest);
  kp_buffer *out = &gas->flow.advect.answer.buffers[0];
  smoke_room_args a = { .grid = mac->view, .shift = (kp_real)(dt / mac->view.cell) };
  memcpy(a.lo, mac->window_lo, sizeof a.lo);
  memcpy(a.hi, mac->window_hi, sizeof a.hi);
  kp_call call;
  kp_call_init(&call, &smoke_room_kernel, &a);
  bind_room(&call, &a, gas, values);
  double v[3];
  KP_TRY(KP_MAC_REDUCE(mac, &call, &a, v));
  double room = (*missing > 0.0 ? v[1] : v[2]) * cell_volume(gas);
  if (!(room > 0.0)) {
    return KP_OK;
  }
  double share = fmin(fmax(*missing / room, -1.0), 1.0);
  a.share = (kp_real)share;
  // cells outside the window are not written: they come along
  KP_TRY(kp_buffer_copy(out, values));
  kp_call_init(&call, &smoke_settle_kernel, &a);
  bind_room(&call, &a, gas, values);
  KP_BIND(&call, &a, out, out, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  kp_buffer_swap_device(values, out);
  *missing -= share * room;
  return kp_mac_fill_cells(mac, values, rest);
}

// Multiply what is left of it by one factor.
static kp_result scale(kp_gas *gas, int amount, double wanted, double *missing) {
  double rest;
  kp_buffer *values = kp_smoke_values(gas, amount, &rest);
  double sum = wanted - *missing;
  double factor = wanted / sum;
  if (!(factor > 0.0) || isinf(factor)) {
    return KP_OK;
  }
  factor = fmin(fmax(factor, 1.0 / MOST_CORRECTION), MOST_CORRECTION);
  smoke_scale_args a = { .grid = gas->flow.mac->view,
                         .factor = (kp_real)factor,
                         .rest = (kp_real)rest };
  kp_call call;
  kp_call_init(&call, &smoke_scale_kernel, &a);
  KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
  *missing = wanted - factor * sum;
  return kp_mac_rows(gas->flow.mac, KP_MAC_CELL, &call);
}

// Bring a sum from what it is to what is wanted; *missing: what could not be.
static kp_result balance(kp_gas *gas, kp_env *env, int amount, double wanted, double *missing) {
  double least = ROUNDING * fabs(wanted);
  if (gas->def.conserve && fabs(*missing) > least) {
    KP_TRY(settle(gas, amount, env->dt, missing));
  }
  if (gas->def.conserve && fabs(*missing) > least) {
    KP_TRY(settle(gas, amount, 0.0, missing));
  }
  return fabs(*missing) > least ? scale(gas, amount, wanted, missing) : KP_OK;
}

kp_result kp_smoke_conserve(kp_gas *gas, kp_env *env) {
  if (!gas->def.conserve && gas->fuel == NULL) {
    return KP_OK;
  }
  double *books = gas->books;
  if (gas->fuel != NULL) {
    gas->kept[KP_SMOKE_FUEL] =
        books[KP_SMOKE_EMITTED] - books[KP_SMOKE_BURNT] - books[KP_SMOKE_GONE];
  }
  double now[KP_SMOKE_AMOUNT_COUNT];
  KP_TRY(kp_smoke_amounts(gas, now));
  for (int k = gas->def.conserve ? 0 : KP_SMOKE_FUEL; k < kp_smoke_n_amounts(gas); ++k) {
    double change = gas->kept[k] - now[k];
    double missing = change;
    KP_TRY(balance(gas, env, k, gas->kept[k], &missing));
    if (k == KP_SMOKE_FUEL) {
      books[KP_SMOKE_DRIFT] += missing - change;
      // what cannot be brought back has left all the same
      books[KP_SMOKE_GONE] += missing;
    }
  }
  return KP_OK;
}
