// Wind at the nodes: kp_wind_def of the scene -> records -> velocities of the air.
#include "data/curve.h"
#include "methods/deform/deform.h"

extern const kp_kernel deform_blow_kernel;

static void put3(double out[3], kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

static deform_breeze breeze_at(const kp_wind_def *def, double time) {
  deform_breeze b = { .inward = def->inward,
                      .swirl = def->swirl,
                      .from = def->from,
                      .to = def->until,
                      .radius = def->radius };
  kp_curve_at(&def->velocity, time, b.steady, NULL);
  put3(b.at, def->center);
  put3(b.axis, kp_vec3_normalize(def->axis));
  return b;
}

kp_result kp_deform_blow(kp_deform *d, kp_env *env) {
  const kp_scenery *scenery = &env->scenery;
  if (scenery->n_winds == 0) {
    return KP_OK;
  }
  kp_buffer *records = &d->bodies.breezes;
  KP_TRY(kp_buffer_resize(records, scenery->n_winds * sizeof(deform_breeze)));
  deform_breeze *to;
  KP_TRY(kp_buffer_get(records, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&to));
  for (size_t w = 0; w < scenery->n_winds; ++w) {
    to[w] = breeze_at(&scenery->winds[w], d->time + 0.5 * d->dt);
  }
  deform_blow_args a = { .n = (int32_t)scenery->n_winds };
  kp_call call;
  kp_call_init(&call, &deform_blow_kernel, &a);
  KP_BIND(&call, &a, breezes, records, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->wind, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}
