// Burning and its books. Fuel is a share of the volume; what burns leaves the fuel. The books know
// what must be there, what was emitted less what burnt less what left through open sides, and
// transport keeps to it (smoke_sums.c); how much that changed is in the books too.
#include <math.h>
#include <stdio.h>

#include "data/call.h"
#include "methods/smoke/smoke.h"
#include "methods/smoke/smoke_kernels.h"
#include "par/kernel_define.h"

SMOKE_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

static double cell_volume(const kp_gas *gas) {
  return pow(gas->flow.mac->view.cell, gas->flow.mac->view.dimension);
}

static kp_result sum(kp_gas *gas, double v[3]) {
  kp_flow *flow = &gas->flow;
  smoke_sums_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &smoke_sums_kernel, &a);
  KP_BIND(&call, &a, u, &flow->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &flow->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &flow->velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, fuel, &gas->fuel->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, flame, &gas->flame->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  for (int k = 0; k < 3; ++k) {
    v[k] *= cell_volume(gas);
  }
  return KP_OK;
}

kp_result kp_smoke_fire_create(kp_gas *gas, kp_env *env) {
  static const kp_field_desc desc = { "books", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 };
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.account", gas->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_GLOBAL, &gas->account));
  KP_TRY(kp_space_add_fields(gas->account, &desc, 1));
  KP_TRY(kp_space_append(gas->account, KP_SMOKE_ACCOUNT_COUNT, NULL, 0));
  double v[3];
  KP_TRY(sum(gas, v));
  gas->books[KP_SMOKE_EMITTED] = v[0];
  return kp_smoke_fire_store(gas);
}

kp_result kp_smoke_fire_store(kp_gas *gas) {
  double *out;
  kp_buffer *buffer = &gas->account->fields.data[0]->buffers[0];
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&out));
  for (int k = 0; k < KP_SMOKE_ACCOUNT_COUNT; ++k) {
    out[k] = gas->books[k];
  }
  return KP_OK;
}

kp_result kp_smoke_fire_loaded(kp_gas *gas) {
  const double *in;
  kp_buffer *buffer = &gas->account->fields.data[0]->buffers[0];
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&in));
  for (int k = 0; k < KP_SMOKE_ACCOUNT_COUNT; ++k) {
    gas->books[k] = in[k];
  }
  return KP_OK;
}

// ---- transport

static kp_result dilute(kp_gas *gas, kp_env *env, kp_field *field) {
  smoke_dilute_args a = { .grid = gas->flow.mac->view, .dt = (kp_real)env->dt };
  kp_call call;
  kp_call_init(&call, &smoke_dilute_kernel, &a);
  KP_BIND(&call, &a, divergence, &gas->divergence->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, values, &field->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(gas->flow.mac, KP_MAC_CELL, &call);
}

kp_result kp_smoke_fire_dilute(kp_gas *gas, kp_env *env) {
  if (gas->divergence == NULL) {
    return KP_OK;
  }
  KP_TRY(dilute(gas, env, gas->density));
  return gas->fuel != NULL ? dilute(gas, env, gas->fuel) : KP_OK;
}

// ---- reaction

kp_result kp_smoke_fire_burn(kp_gas *gas, kp_env *env) {
  const kp_smoke_def *def = &gas->def;
  smoke_burn_args a = { .grid = gas->flow.mac->view,
                        .most = (kp_real)(def->burn_rate * env->dt),
                        .inverse_dt = (kp_real)(1.0 / env->dt),
                        .ignition = (kp_real)def->ignition,
                        .heat = (kp_real)def->heat,
                        .soot = (kp_real)def->soot,
                        .swelling = (kp_real)(def->expansion - 1.0) };
  kp_call call;
  kp_call_init(&call, &smoke_burn_kernel, &a);
  KP_BIND(&call, &a, flags, &gas->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fuel, &gas->fuel->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, temperature, &gas->temperature->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, density, &gas->density->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, flame, &gas->flame->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, divergence, &gas->divergence->buffers[0], KP_ACCESS_WRITE);
  return kp_mac_rows(gas->flow.mac, KP_MAC_CELL, &call);
}

kp_result kp_smoke_fire_count(kp_gas *gas, kp_env *env) {
  double v[3];
  KP_TRY(sum(gas, v));
  gas->books[KP_SMOKE_BURNT] += v[1] * env->dt;
  gas->books[KP_SMOKE_OPENED] += v[2] * env->dt;
  return KP_OK;
}
