// Pins: nodes that are held or led. What a pin says is a motion x -> R(t) (x - pivot) + pivot +
// p(t); in a step a led node goes by the motion from the start to the end of it, from wherever it
// is, so that a pin may take hold at any time. Where contact made it wait it lags behind what the
// pin says, and catches up once it can.
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "data/curve.h"
#include "geom/shape.h"
#include "methods/deform/deform.h"

extern const kp_kernel deform_lead_kernel, deform_release_kernel, deform_forget_kernel;

static bool is_of_part(const kp_deform *d, const kp_pin_def *pin, int64_t node) {
  if (pin->of[0] == '\0') {
    return true;
  }
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    if (node >= part->nodes.first && node < part->nodes.first + part->nodes.n) {
      return strcmp(part->name, pin->of) == 0;
    }
  }
  return false;
}

static kp_result check_owner(const kp_deform *d, const kp_pin_def *pin) {
  for (size_t p = 0; p < d->parts.count && pin->of[0] != '\0'; ++p) {
    if (strcmp(d->parts.data[p].name, pin->of) == 0) {
      return KP_OK;
    }
  }
  return pin->of[0] == '\0'
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE, "pin \"%s\": of = \"%s\" is no cloth, hair or soft body",
                       pin->name, pin->of);
}

static kp_result add_pin(kp_deform *d, kp_env *env, const kp_pin_def *def) {
  KP_TRY(check_owner(d, def));
  kp_shape *shape;
  KP_TRY(kp_shape_build(&def->shape, env->scenery.folder, &shape));
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  KP_ARRAY(int32_t) list = { 0 };
  kp_result result = KP_OK;
  for (int64_t i = 0; i < d->set->space->n && result == KP_OK; ++i) {
    kp_vec3 p = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
    if (is_of_part(d, def, i) && kp_shape_distance(shape, p) <= 0.0) {
      result = kp_array_push(&list, (int32_t)i);
    }
  }
  kp_shape_destroy(&shape);
  kp_deform_pin pin = {
    .def = *def, .nodes = { (int64_t)(d->pin_list.used / sizeof(int32_t)), (int64_t)list.count }
  };
  if (result == KP_OK && list.count == 0) {
    kp_log(KP_LOG_WARN, "solids", "pin \"%s\" holds no node: none lies in its shape at the start",
           def->name);
  }
  if (result == KP_OK) {
    result = kp_buffer_append(&d->pin_list, list.data, list.count * sizeof(int32_t));
  }
  kp_array_free(&list);
  KP_TRY(result);
  return kp_array_push(&d->pins, pin);
}

kp_result kp_deform_make_pins(kp_deform *d, kp_env *env, const kp_pin_def *pins, size_t n_pins) {
  d->pin_list.type = KP_TYPE_I32;
  for (size_t p = 0; p < n_pins; ++p) {
    KP_TRY(add_pin(d, env, &pins[p]));
  }
  return KP_OK;
}

// ---- motion -------------------------------------------------------------------------------------

typedef struct motion {
  kp_mat3 turn;
  kp_vec3 shift;
} motion;

// x -> turn x + shift at a time
static motion motion_at(const kp_pin_def *pin, double time) {
  double p[3], r[3];
  kp_curve_at(&pin->position, time, p, NULL);
  kp_curve_at(&pin->rotation_deg, time, r, NULL);
  kp_mat3 turn = kp_quat_to_mat3(kp_quat_from_euler_deg(kp_vec3_make(r[0], r[1], r[2])));
  kp_vec3 pivot = kp_mat3_mul_vec3(&turn, pin->pivot);
  kp_vec3 shift = kp_vec3_sub(kp_vec3_add(pin->pivot, kp_vec3_make(p[0], p[1], p[2])), pivot);
  return (motion){ turn, shift };
}

// from the first to the second: b a^-1
static motion between(const motion *a, const motion *b) {
  motion m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      m.turn.m[i][j] = b->turn.m[i][0] * a->turn.m[j][0] + b->turn.m[i][1] * a->turn.m[j][1] +
                       b->turn.m[i][2] * a->turn.m[j][2];
    }
  }
  m.shift = kp_vec3_sub(b->shift, kp_mat3_mul_vec3(&m.turn, a->shift));
  return m;
}

static uint8_t axes_of(const kp_pin_def *pin) {
  return (uint8_t)((pin->free.x != 0.0 ? 0 : 1) | (pin->free.y != 0.0 ? 0 : 2) |
                   (pin->free.z != 0.0 ? 0 : 4));
}

static bool is_on(const kp_pin_def *pin, double time) {
  return time >= pin->start && (isnan(pin->stop) || time < pin->stop);
}

// Of nodes that had to wait: the time in which their lag falls to 1/e [s].
#define CATCH_UP 0.05

static void bind_lag(kp_call *call, deform_lead_args *a, kp_deform *d) {
  a->share = -expm1(-d->dt / CATCH_UP);
  KP_BIND(call, a, lx, d->lag != NULL ? &d->lag->buffers[0] : NULL, KP_ACCESS_WRITE);
  KP_BIND(call, a, ly, d->lag != NULL ? &d->lag->buffers[1] : NULL, KP_ACCESS_WRITE);
  KP_BIND(call, a, lz, d->lag != NULL ? &d->lag->buffers[2] : NULL, KP_ACCESS_WRITE);
}

static kp_result forget(kp_deform *d, kp_env *env) {
  if (d->lag == NULL) {
    return KP_OK;
  }
  deform_forget_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &deform_forget_kernel, &a);
  KP_BIND(&call, &a, held, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, l, d->lag, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}

kp_result kp_deform_lead_nodes(kp_deform *d, kp_env *env, const kp_mat3 *turn, kp_vec3 shift,
                               kp_buffer *list, kp_range nodes, uint8_t axes) {
  deform_lead_args a = {
    .first = nodes.first, .dt = d->dt, .shift = { shift.x, shift.y, shift.z }, .hold = axes
  };
  memcpy(a.turn, turn->m, sizeof a.turn);
  kp_call call;
  kp_call_init(&call, &deform_lead_kernel, &a);
  KP_BIND(&call, &a, list, list, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, held, &d->hold, KP_ACCESS_WRITE);
  bind_lag(&call, &a, d);
  return kp_call_run(env->backend, &call, nodes.n);
}

kp_result kp_deform_lead(kp_deform *d, kp_env *env) {
  deform_release_args none = { 0 };
  kp_call call;
  kp_call_init(&call, &deform_release_kernel, &none);
  KP_BIND(&call, &none, held, &d->hold, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, d->set->space->n));
  for (size_t p = 0; p < d->pins.count; ++p) {
    const kp_deform_pin *pin = &d->pins.data[p];
    if (is_on(&pin->def, d->time) && pin->nodes.n > 0) {
      motion start = motion_at(&pin->def, d->time);
      motion end = motion_at(&pin->def, d->time + d->dt);
      motion step = between(&start, &end);
      KP_TRY(kp_deform_lead_nodes(d, env, &step.turn, step.shift, &d->pin_list, pin->nodes,
                                  axes_of(&pin->def)));
    }
  }
  return forget(d, env);
}
