// What comes in and goes out: liquid at emitters and in sinks, which may move.
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "methods/level_set/pls.h"
#include "methods/level_set/pls_kernels.h"
#include "par/kernel_define.h"

PLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define NOZZLE 0.75  // cells: half the length of the cylinder that an opening keeps full

static kp_buffer *phi_of(kp_pls *pls) {
  return &pls->phi->buffers[0];
}

// ---- life

// There are no particles to count, to leave out or to let out of a surface.
static kp_result check(const kp_emitter_def *def) {
  const kp_emitter_def standard = kp_default_emitter_def();
  const char *key = def->from == KP_EMITTER_SURFACE  ? "from = 'surface'"
                    : def->width + def->height > 0.0 ? "width and height"
                    : def->only_free                 ? "only_free"
                    : def->limit != standard.limit   ? "limit"
                                                     : NULL;
  return key == NULL ? KP_OK
                     : kp_fail(KP_ERROR_SCENE,
                               "emitter \"%s\": %s is of particles; liquid \"%s\" of method "
                               "'level_set' has none",
                               def->name, key, def->into);
}

static kp_result add_inlet(kp_pls *pls, kp_env *env, const kp_emitter_def *def) {
  KP_TRY(check(def));
  kp_pls_inlet empty = { .def = *def };
  KP_TRY(kp_array_push(&pls->inlets, empty));
  KP_TRY(kp_array_push(&pls->boxes, kp_aabb_empty()));
  kp_pls_inlet *inlet = &pls->inlets.data[pls->inlets.count - 1];
  KP_TRY(kp_motion_create(env, &def->position, &def->rotation_deg, def->parent, "emitter",
                          def->name, &inlet->region.motion));
  if (def->from == KP_EMITTER_OPENING) {
    return KP_OK;
  }
  kp_result result =
      kp_region_create(&inlet->region, env, &def->shape, 0.5 * pls->flow.mac->view.cell);
  return result == KP_OK ? KP_OK : kp_fail_in(result, "emitter \"%s\"", def->name);
}

kp_result kp_pls_inlets_create(kp_pls *pls, kp_env *env, const kp_pls_setup *setup) {
  for (size_t e = 0; e < env->scenery.n_emitters; ++e) {
    const kp_emitter_def *def = &env->scenery.emitters[e];
    for (size_t l = 0; l < setup->n_liquids; ++l) {
      if (strcmp(def->into, setup->liquids[l].name) == 0) {
        KP_TRY(add_inlet(pls, env, def));
      }
    }
  }
  return kp_regions_of_sinks(&pls->sinks, env, 0.5 * pls->flow.mac->view.cell);
}

void kp_pls_inlets_free(kp_pls *pls) {
  for (size_t e = 0; e < pls->inlets.count; ++e) {
    kp_region_free(&pls->inlets.data[e].region);
  }
  kp_array_free(&pls->inlets);
  kp_array_free(&pls->boxes);
  kp_regions_free(&pls->sinks);
}

// ---- where they are

void kp_pls_inlet_boxes(kp_pls *pls, kp_env *env) {
  for (size_t e = 0; e < pls->inlets.count; ++e) {
    kp_pls_inlet *inlet = &pls->inlets.data[e];
    if (inlet->def.from != KP_EMITTER_OPENING) {
      pls->boxes.data[e] = kp_region_box(&inlet->region, env, env->time);
      continue;
    }
    kp_vec3 at = kp_motion_frame(&inlet->region.motion, env, env->time).position;
    double r = 2.0 * inlet->def.radius;
    kp_vec3 reach = kp_vec3_make(r, r, r);
    pls->boxes.data[e] = (kp_aabb){ kp_vec3_sub(at, reach), kp_vec3_add(at, reach) };
  }
}

static double jet_of(const kp_pls_inlet *inlet, double time) {
  double speed;
  kp_curve_at(&inlet->def.speed, time, &speed, NULL);
  return fabs(speed);
}

double kp_pls_inlet_speed(const kp_pls *pls, const kp_env *env) {
  double fastest = 0.0;
  for (size_t e = 0; e < pls->inlets.count; ++e) {
    const kp_pls_inlet *inlet = &pls->inlets.data[e];
    kp_frame3 frame = kp_motion_frame(&inlet->region.motion, env, env->time);
    fastest = fmax(fastest, jet_of(inlet, env->time) + kp_vec3_length(frame.velocity));
  }
  return fastest;
}

static void put(double to[3], kp_vec3 v) {
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
}

static pls_inlet view_of(const kp_pls *pls, const kp_env *env, kp_pls_inlet *inlet,
                         kp_buffer **values) {
  kp_frame3 frame = kp_motion_frame(&inlet->region.motion, env, env->time);
  kp_vec3 axis = kp_quat_rotate(frame.orientation, kp_vec3_normalize(inlet->def.direction));
  double half = NOZZLE * pls->flow.mac->view.cell;
  pls_inlet view = { .is_region = inlet->def.from != KP_EMITTER_OPENING,
                     .radius = inlet->def.radius,
                     .half = half };
  put(view.center, kp_vec3_madd(frame.position, half, axis));
  put(view.axis, axis);
  put(view.origin, frame.position);
  put(view.spin, frame.angular_velocity);
  put(view.velocity, kp_vec3_madd(frame.velocity, jet_of(inlet, env->time), axis));
  *values = NULL;
  if (view.is_region) {
    view.region = kp_region_at(&inlet->region, env, env->time, values);
  }
  return view;
}

// ---- in and out

static kp_result pour_one(kp_pls *pls, kp_env *env, kp_pls_inlet *inlet) {
  kp_mac *mac = pls->flow.mac;
  kp_buffer *values;
  pls_pour_args a = { .grid = mac->view, .inlet = view_of(pls, env, inlet, &values) };
  kp_call call;
  kp_call_init(&call, &pls_pour_kernel, &a);
  KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    pls_push_args p = { .grid = mac->view, .axis = axis, .inlet = a.inlet };
    kp_call_init(&call, &pls_push_kernel, &p);
    KP_BIND(&call, &p, values, values, KP_ACCESS_READ);
    KP_BIND(&call, &p, velocity, &pls->flow.velocity->buffers[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, (kp_mac_kind)axis, &call));
  }
  return KP_OK;
}

static kp_result drain_one(kp_pls *pls, kp_env *env, kp_region *sink) {
  kp_buffer *values;
  pls_drain_args a = { .grid = pls->flow.mac->view,
                       .sink = kp_region_at(sink, env, env->time, &values) };
  kp_call call;
  kp_call_init(&call, &pls_drain_kernel, &a);
  KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &a, phi, phi_of(pls), KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(pls->flow.mac, KP_MAC_CELL, &call));
  return pls->set != NULL ? kp_pls_particles_strike(pls, env, sink) : KP_OK;
}

static bool is_on(const kp_pls_inlet *inlet, double time) {
  return time >= inlet->def.start && time < inlet->def.stop;
}

static kp_result pour_and_drain(kp_pls *pls, kp_env *env) {
  for (size_t e = 0; e < pls->inlets.count; ++e) {
    kp_pls_inlet *inlet = &pls->inlets.data[e];
    if (is_on(inlet, env->time)) {
      KP_TRY(pour_one(pls, env, inlet));
    }
  }
  for (size_t s = 0; s < pls->sinks.count; ++s) {
    KP_TRY(drain_one(pls, env, &pls->sinks.data[s]));
  }
  return kp_mac_fill_cells(pls->flow.mac, phi_of(pls), KP_MAC_DISTANCE);
}

// What the water should be, so far as anybody counts it.
static kp_result held(kp_pls *pls, double *cells) {
  return pls->fraction != NULL ? kp_pls_balance_total(pls, cells) : kp_pls_volume(pls, cells);
}

kp_result kp_pls_pour(kp_pls *pls, kp_env *env) {
  bool is_counted = pls->sinks.count > 0;
  for (size_t e = 0; e < pls->inlets.count; ++e) {
    is_counted = is_counted || is_on(&pls->inlets.data[e], env->time);
  }
  double before = 0.0;
  double after = 0.0;
  if (is_counted) {
    // what has let go of walls since is not the nozzles' doing
    KP_TRY(kp_mac_fill_cells(pls->flow.mac, phi_of(pls), KP_MAC_DISTANCE));
    KP_TRY(kp_pls_balance_before_pour(pls));
    KP_TRY(held(pls, &before));
  }
  KP_TRY(pour_and_drain(pls, env));
  if (is_counted) {
    KP_TRY(kp_pls_balance_after_pour(pls));
    KP_TRY(held(pls, &after));
    pls->volume = fmax(pls->volume + after - before, 0.0);
  }
  return KP_OK;
}
