// Cloth under water without the water (Ozgen 2013, chapter 3): buoyancy, viscous drag, and drag and
// damping by fractional derivatives of the position, which remember.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "data/curve.h"
#include "linalg/vector.h"
#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_flow_kernel, fabric_march_kernel, fabric_look_kernel,
    fabric_immerse_kernel, fabric_recall_kernel;

#define STILL 1e-9          // m/s: slower than this a node has no direction
#define SHORTEST_AGE 1e-4   // s: of the sum of exponentials
#define LONGEST_AGE 1000.0  // s
#define NODE_SPACING 1.0    // good to 0.2 %

// ---- coefficients -------------------------------------------------------------------------------

static kp_result host(kp_buffer *buffer, kp_access access, void *pointer) {
  return kp_buffer_get(buffer, KP_SIDE_HOST, access, pointer);
}

// A third of the triangles around each node.
static kp_result areas_of(const kp_deform *d, kp_range nodes, double *area) {
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(host(&d->set->position->buffers[c], KP_ACCESS_READ, &x[c]));
  }
  memset(area, 0, sizeof *area * (size_t)nodes.n);
  for (size_t t = 0; t < d->triangles.count; ++t) {
    const kp_index *v = d->triangles.data[t].v;
    if (v[0] < nodes.first || v[0] >= nodes.first + nodes.n) {
      continue;
    }
    kp_vec3 p[3];
    for (int c = 0; c < 3; ++c) {
      p[c] = kp_vec3_make(x[0][v[c]], x[1][v[c]], x[2][v[c]]);
    }
    kp_vec3 normal = kp_vec3_cross(kp_vec3_sub(p[1], p[0]), kp_vec3_sub(p[2], p[0]));
    for (int c = 0; c < 3; ++c) {
      area[v[c] - nodes.first] += kp_vec3_length(normal) / 6.0;
    }
  }
  return KP_OK;
}

static kp_result fill_drag(kp_immersion *w, kp_deform *d, const double *area) {
  kp_real *drag, *slow, *mass;
  KP_TRY(kp_buffer_room(&w->drag, KP_TYPE_REAL, w->nodes.n, &drag));
  KP_TRY(host(&d->slow, KP_ACCESS_WRITE, &slow));
  KP_TRY(host(&d->mass, KP_ACCESS_WRITE, &mass));
  double carried = w->def.added_mass * w->def.water_density / w->def.fibre_density;
  for (int64_t e = 0; e < w->nodes.n; ++e) {
    int64_t i = w->nodes.first + e;
    drag[e] = (kp_real)(w->def.memory_drag * area[e]);
    slow[i] += (kp_real)(w->def.drag * area[e]);
    mass[i] *= (kp_real)(1.0 + carried);
  }
  double weight = (1.0 - w->def.water_density / w->def.fibre_density) / (1.0 + carried) - 1.0;
  w->buoyancy = kp_vec3_make(weight, weight, weight);
  return KP_OK;
}

static kp_result fill_damping(kp_immersion *w, kp_deform *d) {
  kp_real *damping;
  KP_TRY(kp_buffer_room(&w->damping, KP_TYPE_REAL, w->springs.n, &damping));
  for (int64_t e = 0; e < w->springs.n; ++e) {
    kp_spring_kind kind = (kp_spring_kind)d->springs.kinds.data[w->springs.first + e];
    double c = kind == KP_SPRING_EDGE    ? w->def.damping
               : kind == KP_SPRING_SHEAR ? w->def.damping_shear
               : kind == KP_SPRING_BEND  ? w->def.damping_bend
                                         : 0.0;
    damping[e] = (kp_real)c;
  }
  return KP_OK;
}

static kp_result fill(kp_immersion *w, kp_deform *d) {
  KP_ARRAY(double) area = { 0 };
  KP_TRY(kp_array_resize(&area, (size_t)w->nodes.n));
  kp_result result = areas_of(d, w->nodes, area.data);
  if (result == KP_OK) {
    result = fill_drag(w, d, area.data);
  }
  kp_array_free(&area);
  KP_TRY(result);
  return fill_damping(w, d);
}

// ---- the past -----------------------------------------------------------------------------------

static bool is_plain(const kp_immersion *w) {
  return w->def.order >= 1.0;  // D^1 x = v: no past
}

static kp_result add_past(kp_immersion *w) {
  const kp_field_desc fields[] = {
    { "velocity", KP_TYPE_REAL, 3, "m/s", 0, 0.0 },
    { "half", KP_TYPE_REAL, 3, "m/s^q", 0, 0.0 },
  };
  KP_TRY(kp_space_add_field(w->space, &fields[0], &w->velocity));
  KP_TRY(kp_space_add_field(w->space, &fields[1], &w->half));
  if (is_plain(w)) {
    return KP_OK;
  }
  char clock[KP_NAME_SIZE];
  (void)snprintf(clock, sizeof clock, "%.30s.clock", w->def.name);
  if (w->def.window == KP_WINDOW_FULL) {
    KP_TRY(
        kp_frac_exponentials_make(w->def.order, SHORTEST_AGE, LONGEST_AGE, NODE_SPACING, &w->sum));
    const kp_field_desc states = {
      "past", KP_TYPE_REAL, 3, "m", KP_FIELD_STATE | KP_FIELD_COLD, 0.0
    };
    const kp_field_desc last = { "last", KP_TYPE_REAL, 3, "m/s", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_wide_field(w->space, &states, w->sum.n, &w->states));
    KP_TRY(kp_space_add_field(w->space, &last, &w->last));
    w->has_clock = true;
    return kp_history_clock_create(w->space->registry, clock, 1, 0.0, &w->clock);
  }
  bool steps = w->def.window == KP_WINDOW_STEPS;
  w->has_history = true;
  return kp_history_create(w->space, 3, clock, steps ? w->def.steps : w->def.samples,
                           steps ? 0.0 : w->def.memory / (double)w->def.samples, &w->history);
}

static kp_result create(kp_immersion *w, kp_deform *d, kp_env *env) {
  const kp_deform_part *part;
  KP_TRY(kp_fabric_find(d, "immersion", w->def.name, w->def.of, &part));
  if (part->springs.n == 0) {
    return kp_fail(KP_ERROR_SCENE,
                   "immersion \"%s\": \"%s\" has no springs, which it damps: give it model = "
                   "\"edges\" or \"grid\"",
                   w->def.name, w->def.of);
  }
  w->nodes = part->nodes;
  w->springs = part->springs;
  KP_TRY(fill(w, d));
  char name[KP_NAME_SIZE];
  (void)snprintf(name, sizeof name, "%.30s.past", w->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_VERTICES, &w->space));
  KP_TRY(add_past(w));
  return kp_space_append(w->space, w->nodes.n, NULL, 0);
}

kp_result kp_immersion_create(kp_deform *d, kp_env *env, const kp_immersion_def *def,
                              kp_immersion **out) {
  kp_immersion *w = kp_alloc_zero(sizeof *w, KP_MEMORY_WORLD);
  if (w == NULL) {
    return KP_ERROR_MEMORY;
  }
  w->def = *def;
  kp_buffer_init(&w->drag, env->backend);
  kp_buffer_init(&w->damping, env->backend);
  kp_result result = create(w, d, env);
  if (result != KP_OK) {
    kp_immersion_destroy(&w);
    return result;
  }
  *out = w;
  return KP_OK;
}

void kp_immersion_destroy(kp_immersion **water) {
  kp_immersion *w = *water;
  if (w == NULL) {
    return;
  }
  if (w->has_history) {
    kp_history_free(&w->history);
  }
  if (w->has_clock) {
    kp_history_clock_free(&w->clock);
  }
  kp_buffer_free(&w->drag);
  kp_buffer_free(&w->damping);
  kp_free(w);
  *water = NULL;
}

// ---- a step -------------------------------------------------------------------------------------

static kp_result flow(kp_immersion *w, kp_buffer v[3], kp_vec3 current) {
  fabric_flow_args a = { .first = w->nodes.first,
                         .cx = (kp_real)current.x,
                         .cy = (kp_real)current.y,
                         .cz = (kp_real)current.z };
  kp_call call;
  kp_call_init(&call, &fabric_flow_kernel, &a);
  KP_BIND(&call, &a, vx, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &v[2], KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, w->velocity, KP_ACCESS_OVERWRITE);
  return kp_call_run(w->space->backend, &call, w->nodes.n);
}

// Nothing has passed yet: D is 0.
static kp_result begin_march(kp_immersion *w) {
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_vector_fill(w->nodes.n, 0.0, &w->half->buffers[c]));
    KP_TRY(kp_buffer_copy(&w->last->buffers[c], &w->velocity->buffers[c]));
  }
  w->present = w->gain = 0.0;
  return KP_OK;
}

static kp_result march(kp_immersion *w, double time) {
  const double *last;
  KP_TRY(host(&w->clock.time->buffers[0], KP_ACCESS_READ, &last));
  double h = time - *last;
  bool is_first = kp_history_clock_count(&w->clock) == 0;
  int64_t place;
  KP_TRY(kp_history_clock_keep(&w->clock, time, &place));
  if (is_first) {
    return begin_march(w);
  }
  fabric_march_args a = { .march = kp_frac_march_make(&w->sum, h), .width = w->sum.n };
  kp_call call;
  kp_call_init(&call, &fabric_march_kernel, &a);
  KP_BIND(&call, &a, slot, &w->space->slot->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, w->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, l, w->last, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, s, w->states, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, d, w->half, KP_ACCESS_OVERWRITE);
  w->present = (double)a.march.newer;
  return kp_call_run(w->space->backend, &call, w->nodes.n);
}

static kp_history_rule rule_of(const kp_immersion *w) {
  return (kp_history_rule){ .end = w->def.interior ? KP_FRAC_INTERIOR : KP_FRAC_WINDOW,
                            .order = w->def.order,
                            .memory = w->def.window == KP_WINDOW_STEPS ? HUGE_VAL : w->def.memory,
                            .is_unit_sum = w->def.unit };
}

// `half` from the velocity against the water. The derivative of order one is that velocity.
static kp_result remember(kp_immersion *w, const kp_deform *d) {
  if (is_plain(w)) {
    for (int c = 0; c < 3; ++c) {
      KP_TRY(kp_buffer_copy(&w->half->buffers[c], &w->velocity->buffers[c]));
    }
    w->gain = w->present = 1.0;
    return KP_OK;
  }
  if (!w->has_history) {
    w->gain = kp_frac_gain(w->def.order, d->time);
    return march(w, d->time);
  }
  kp_history_rule rule = rule_of(w);
  KP_TRY(kp_history_weigh(&w->history, &rule, d->time));
  w->gain = w->def.unit ? 1.0 : w->history.sum.gain;
  w->present = w->history.sum.present;
  return kp_history_sum(&w->history, w->velocity, w->half, true);
}

// The current is the wind of drags that are proportional to the velocity.
static kp_result set_current(kp_immersion *w, kp_deform *d, kp_vec3 current) {
  const double c[3] = { current.x, current.y, current.z };
  for (int axis = 0; axis < 3; ++axis) {
    kp_real *wind;
    KP_TRY(host(&d->wind.c[axis], KP_ACCESS_WRITE, &wind));
    for (int64_t e = 0; e < w->nodes.n; ++e) {
      wind[w->nodes.first + e] = (kp_real)c[axis];
    }
  }
  return KP_OK;
}

// `half` as it would be a time h from now with the velocity against the water that is proposed for
// then.
static kp_result foresee(kp_immersion *w, const kp_deform *d, double h) {
  if (is_plain(w)) {
    for (int c = 0; c < 3; ++c) {
      KP_TRY(kp_buffer_copy(&w->half->buffers[c], &w->velocity->buffers[c]));
    }
    return KP_OK;
  }
  if (w->has_history) {
    kp_history_rule rule = rule_of(w);
    KP_TRY(kp_history_weigh(&w->history, &rule, d->time + h));
    return kp_history_sum(&w->history, w->velocity, w->half, false);
  }
  fabric_look_args a = { .march = kp_frac_march_make(&w->sum, h), .width = w->sum.n };
  kp_call call;
  kp_call_init(&call, &fabric_look_kernel, &a);
  KP_BIND(&call, &a, slot, &w->space->slot->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, w->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, l, w->last, KP_ACCESS_READ);
  KP_BIND3(&call, &a, s, w->states, KP_ACCESS_READ);
  KP_BIND3(&call, &a, d, w->half, KP_ACCESS_OVERWRITE);
  return kp_call_run(w->space->backend, &call, w->nodes.n);
}

static kp_vec3 current_at(const kp_immersion *w, double time) {
  double c[3];
  kp_curve_at(&w->def.current, time, c, NULL);
  return kp_vec3_make(c[0], c[1], c[2]);
}

// Adds `share` of what the water does to nodes with the velocity and the derivative of `w`.
static kp_result immerse(kp_immersion *w, kp_deform *d, kp_env *env, double share) {
  kp_vec3 g = env->simulation.gravity;
  fabric_immerse_args a = { .first = w->nodes.first,
                            .bx = (kp_real)(w->buoyancy.x * g.x),
                            .by = (kp_real)(w->buoyancy.y * g.y),
                            .bz = (kp_real)(w->buoyancy.z * g.z),
                            .still = (kp_real)STILL,
                            .clamp = w->def.clamp,
                            .share = (kp_real)share };
  kp_call call;
  kp_call_init(&call, &fabric_immerse_kernel, &a);
  KP_BIND(&call, &a, drag, &w->drag, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, w->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, d, w->half, KP_ACCESS_READ);
  KP_BIND3(&call, &a, e, d->extra, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, w->nodes.n);
}

kp_result kp_immersion_forces(kp_immersion *w, kp_deform *d, kp_env *env) {
  kp_vec3 current = current_at(w, d->time);
  KP_TRY(set_current(w, d, current));
  KP_TRY(flow(w, d->set->velocity->buffers, current));
  KP_TRY(remember(w, d));
  return immerse(w, d, env, 1.0);
}

kp_result kp_immersion_foresee(kp_immersion *w, kp_deform *d, kp_env *env,
                               const kp_deform_group *group, kp_buffer v[3]) {
  bool is_of_group =
      w->nodes.first >= group->nodes.first && w->nodes.first < group->nodes.first + group->nodes.n;
  if (!is_of_group) {
    return KP_OK;
  }
  kp_vec3 current = current_at(w, d->time + d->dt);
  KP_TRY(immerse(w, d, env, -1.0));
  KP_TRY(set_current(w, d, current));
  KP_TRY(flow(w, v, current));
  KP_TRY(foresee(w, d, d->dt));
  return immerse(w, d, env, 1.0);
}

kp_result kp_immersion_recall(kp_immersion *w, kp_deform *d, const kp_deform_group *group) {
  bool is_of_group =
      w->nodes.first >= group->nodes.first && w->nodes.first < group->nodes.first + group->nodes.n;
  if (!is_of_group || w->springs.n == 0) {
    return KP_OK;
  }
  bool is_implicit = kp_schemes[group->scheme].is_implicit;
  kp_deform_springs *s = &d->springs;
  fabric_recall_args a = { .first = w->springs.first,
                           .first_node = w->nodes.first,
                           .present = is_implicit ? (kp_real)w->present : (kp_real)0 };
  kp_call call;
  kp_call_init(&call, &fabric_recall_kernel, &a);
  KP_BIND(&call, &a, a, &s->a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &s->b, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &w->damping, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &s->direction, KP_ACCESS_READ);
  KP_BIND3(&call, &a, h, w->half, KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, w->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, &s->force, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, rate, &s->rate, KP_ACCESS_WRITE);
  return kp_call_run(w->space->backend, &call, w->springs.n);
}
