#include "methods/common/flow.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "data/curve.h"
#include "methods/common/flow_kernels.h"
#include "methods/common/force_field.h"
#include "methods/common/medium.h"
#include "methods/common/release.h"
#include "methods/common/thrust.h"
#include "par/kernel_define.h"

FLOW_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define GRID_SUFFIX ".grid"
#define STATE_SUFFIX ".flow"
#define CELLS_ACROSS 64  // of the longest side, where nobody said an edge
#define TOLERANCE 1e-4   // of the pressure, where nobody said one

static const kp_field_desc flow_fields[] = {
  { "velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
  { "pressure", KP_TYPE_REAL, 1, "Pa", KP_FIELD_SAVE, 0.0 },
  { "flags", KP_TYPE_U8, 1, "", KP_FIELD_SAVE, KP_CELL_AIR },
};

// ---- life

static double component(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : (axis == 1 ? v.y : v.z);
}

// An open side that the stream enters through is an inflow.
static kp_mac_side side_of(const kp_env *env, const kp_grid_def *grid, int axis, int end) {
  kp_faces faces = kp_env_faces(env, axis);
  kp_mac_side side = { .velocity = grid->stream, .no_slip = grid->no_slip };
  bool is_closed = end == 0 ? faces.closed_lo : faces.closed_hi;
  double inwards = component(grid->stream, axis) * (end == 0 ? 1.0 : -1.0);
  if (faces.periodic) {
    side.kind = KP_MAC_PERIODIC;
  } else if (is_closed || axis >= env->dimension) {
    bool is_lid = end == 1 && axis == kp_env_up_axis(env);
    side.kind = KP_MAC_WALL;
    side.velocity = is_lid ? grid->lid : kp_vec3_make(0.0, 0.0, 0.0);
  } else {
    side.kind = inwards > 0.0 ? KP_MAC_INFLOW : KP_MAC_OPEN;
  }
  return side;
}

double kp_flow_cell(const kp_domain_def *domain, const kp_grid_def *grid) {
  double longest = 0.0;
  for (int c = 0; c < (int)domain->dimension; ++c) {
    longest = fmax(longest, component(domain->max, c) - component(domain->min, c));
  }
  return isnan(grid->cell) ? longest / CELLS_ACROSS : grid->cell;
}

// Where an axis of the domain is not a whole number of cells, half of what is too much or too
// little lies at either end, so that symmetric scenes are symmetric; the side gravity pulls to
// stays.
static void centre_cells(kp_mac_def *mac, const kp_env *env) {
  double *lo[3] = { &mac->box.min.x, &mac->box.min.y, &mac->box.min.z };
  double *hi[3] = { &mac->box.max.x, &mac->box.max.y, &mac->box.max.z };
  for (int c = 0; c < env->dimension; ++c) {
    double length = *hi[c] - *lo[c];
    double over = mac->cell * fmax(1.0, round(length / mac->cell)) - length;
    bool is_whole = fabs(over) <= 1e-6 * length;
    double pull = component(env->simulation.gravity, c);
    double below = pull < 0.0 ? 0.0 : pull > 0.0 ? 1.0 : 0.5;
    if (!is_whole) {
      *lo[c] -= below * over;
      *hi[c] = *lo[c] + length + over;
    }
  }
}

static kp_result make_grid(kp_flow *flow, kp_env *env, const kp_flow_def *def) {
  char name[KP_NAME_SIZE + sizeof GRID_SUFFIX];
  kp_text_copy(name, KP_NAME_SIZE, def->name);
  memcpy(name + strlen(name), GRID_SUFFIX, sizeof GRID_SUFFIX);
  kp_mac_def mac = { .name = name,
                     .box = { env->domain.min, env->domain.max },
                     .cell = isnan(def->cell) ? kp_flow_cell(&env->domain, def->grid) : def->cell,
                     .dimension = env->dimension };
  for (int axis = 0; axis < 3; ++axis) {
    mac.sides[axis][0] = side_of(env, def->grid, axis, 0);
    mac.sides[axis][1] = side_of(env, def->grid, axis, 1);
  }
  centre_cells(&mac, env);
  KP_TRY(kp_mac_create(env->registry, &mac, &flow->mac));
  for (int c = 0; c < env->dimension; ++c) {
    double length = component(env->domain.max, c) - component(env->domain.min, c);
    double off = fabs(length - mac.cell * flow->mac->view.n[c]);
    if (off > 1e-6 * length) {
      kp_log(KP_LOG_WARN, "grid", "%s \"%s\": %d cells of %g m leave %.3g m of the domain along %c",
             def->word, def->name, flow->mac->view.n[c], mac.cell, off, "xyz"[c]);
    }
  }
  return kp_env_add_grid(env, def->name, flow->mac);
}

static kp_result add_fields(kp_flow *flow, const kp_flow_def *def) {
  kp_field **fields[] = { &flow->velocity, &flow->pressure, &flow->flags };
  for (size_t f = 0; f < sizeof flow_fields / sizeof flow_fields[0]; ++f) {
    kp_field_desc desc = flow_fields[f];
    bool is_shown = def->shows_pressure && fields[f] == &flow->pressure;
    desc.flags |= is_shown ? KP_FIELD_EXPORT : 0u;
    KP_TRY(kp_mac_add_field(flow->mac, &desc, fields[f]));
  }
  for (int axis = 0; axis < 3; ++axis) {
    KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_REAL, &flow->coefficient[axis]));
  }
  for (int k = 0; k < 2; ++k) {
    KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_U8, &flow->known[k]));
  }
  return kp_mac_scratch(flow->mac, KP_TYPE_REAL, &flow->right);
}

const kp_field_desc kp_flow_shown_pressure = { "pressure", KP_TYPE_REAL,    1,
                                               "Pa",       KP_FIELD_EXPORT, 0.0 };

kp_result kp_flow_show_pressure(kp_flow *flow, kp_set *set, kp_field *out) {
  flow_pressure_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &flow_pressure_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, pressure, &flow->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &out->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(flow->mac->backend, &call, set->space->n);
}

static kp_result add_state(kp_flow *flow, kp_env *env, const char *name) {
  static const kp_field_desc desc = { "speed", KP_TYPE_F64, 1, "m/s", KP_FIELD_SAVE, 0.0 };
  char text[KP_NAME_SIZE + sizeof STATE_SUFFIX];
  kp_text_copy(text, KP_NAME_SIZE, name);
  memcpy(text + strlen(text), STATE_SUFFIX, sizeof STATE_SUFFIX);
  KP_TRY(kp_registry_add_space(env->registry, text, KP_SPACE_GLOBAL, &flow->state));
  KP_TRY(kp_space_add_fields(flow->state, &desc, 1));
  return kp_space_append(flow->state, 2, NULL, 0);
}

static kp_result store(kp_flow *flow) {
  double *out;
  kp_buffer *buffer = &flow->state->fields.data[0]->buffers[0];
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&out));
  out[0] = flow->max_speed;
  out[1] = flow->max_sum;
  return KP_OK;
}

kp_result kp_flow_loaded(kp_flow *flow) {
  const double *in;
  kp_buffer *buffer = &flow->state->fields.data[0]->buffers[0];
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&in));
  flow->max_speed = in[0];
  flow->max_sum = in[1];
  return kp_mac_loaded(flow->mac);
}

static double most_along(const kp_vec_lattice *lattice, kp_vec3 constant, int axis) {
  double most = lattice->n[0] == 0 ? fabs(component(constant, axis)) : 0.0;
  int64_t n = (int64_t)lattice->n[0] * lattice->n[1] * lattice->n[2];
  for (int64_t i = 0; i < n; ++i) {
    most = fmax(most, fabs(lattice->samples[3 * i + axis]));
  }
  return most;
}

kp_result kp_flow_sample(const kp_flow *flow, int axis, const kp_vec_lattice *lattice,
                         kp_vec3 constant, kp_buffer *out) {
  const kp_mac_view *g = &flow->mac->view;
  kp_real *v;
  KP_TRY(kp_buffer_get(out, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&v));
  for (int64_t i = 0; i < g->count; ++i) {
    int64_t cell[3];
    double x[3];
    kp_mac_cell_of(g, i, cell);
    kp_mac_place(g, axis, cell[0], cell[1], cell[2], x);
    kp_vec3 at = kp_vec_lattice_at(lattice, constant, kp_vec3_make(x[0], x[1], x[2]));
    v[i] = (kp_real)component(at, axis);
  }
  return KP_OK;
}

// The velocity of the start. The stream that flows through adds to one that is the same everywhere;
// a function of place says all of it.
static kp_result set_velocity(kp_flow *flow, const kp_flow_def *def) {
  kp_vec3 constant = kp_vec3_add(def->velocity, def->grid->stream);
  for (int c = 0; c < flow->mac->view.dimension; ++c) {
    kp_buffer *buffer = &flow->velocity->buffers[c];
    KP_TRY(kp_flow_sample(flow, c, &def->velocity_at, constant, buffer));
    flow->max_sum += most_along(&def->velocity_at, constant, c);
  }
  flow->max_speed = kp_vec_lattice_longest(&def->velocity_at, constant);
  return store(flow);
}

// Cubics smear a velocity less: half the error in a cavity of 64 x 64 cells. In a layer they cost a
// tenth of a step, in three dimensions half of one, so there a scene must ask for them.
static int interpolation_of(const kp_env *env, const kp_flow_def *def) {
  const kp_grid_def *grid = def->grid;
  bool is_auto = grid->interpolation == KP_ADVECT_AUTO;
  bool is_cubic = def->is_gas && grid->advection == KP_ADVECT_MACCORMACK && env->dimension == 2;
  return is_auto ? (is_cubic ? KP_ADVECT_CUBIC : KP_ADVECT_LINEAR) : grid->interpolation;
}

kp_result kp_flow_create(kp_flow *flow, kp_env *env, const kp_flow_def *def) {
  *flow = (kp_flow){ .grid = *def->grid, .density = def->density, .late = 1.0 };
  if (isnan(def->grid->centering)) {
    flow->grid.centering = def->centering > 0.0 ? def->centering : 1.0;
  }
  if (isnan(def->grid->tolerance)) {
    flow->grid.tolerance = def->tolerance > 0.0 ? def->tolerance : TOLERANCE;
  }
  flow->grid.interpolation = interpolation_of(env, def);
  kp_text_copy(flow->word, sizeof flow->word, def->word);
  kp_text_copy(flow->name, sizeof flow->name, def->name);
  kp_text_copy(flow->set, sizeof flow->set, def->medium != NULL ? def->medium : def->name);
  KP_TRY(kp_loads_medium(env->loads, flow->set, !def->pushes_bodies, &flow->medium));
  KP_TRY(make_grid(flow, env, def));
  KP_TRY(add_fields(flow, def));
  flow->mac->loose = def->lets_go ? &flow->flags->buffers[0] : NULL;
  KP_TRY(add_state(flow, env, def->name));
  KP_TRY(kp_advect_init(&flow->advect, flow->mac));
  double reach = fmin(def->grid->cfl, 4.0) * flow->mac->view.cell;
  KP_TRY(kp_grid_solids_create(&flow->solids, env, flow->mac, reach));
  flow->solids.passes_walls = def->is_gas;
  kp_poisson_def poisson = kp_default_poisson_def();
  poisson.name = flow->name;
  poisson.solver = def->grid->solver;
  poisson.tolerance = flow->grid.tolerance;
  poisson.max_iterations = (int)def->grid->iterations;
  poisson.relaxation = def->grid->relaxation;
  KP_TRY(kp_poisson_create(flow->mac, &poisson, &flow->poisson));
  return set_velocity(flow, def);
}

void kp_flow_free(kp_flow *flow) {
  kp_poisson_destroy(&flow->poisson);
  if (flow->mac != NULL) {
    kp_advect_free(&flow->advect);
    kp_grid_solids_free(&flow->solids);
  }
  for (int axis = 0; axis < 3; ++axis) {
    kp_poisson_destroy(&flow->viscous[axis]);
    kp_buffer_free(&flow->coefficient[axis]);
    kp_buffer_free(&flow->carried.buffers[axis]);
  }
  kp_buffer_free(&flow->viscous_extra);
  kp_buffer_free(&flow->viscous_answer);
  kp_buffer_free(&flow->known[0]);
  kp_buffer_free(&flow->known[1]);
  kp_buffer_free(&flow->right);
  kp_mac_destroy(&flow->mac);
  kp_array_free(&flow->force_places);
  kp_array_free(&flow->force_values);
}

// ---- the window

static kp_result quieten(kp_flow *flow) {
  flow_quiet_args a = { .grid = flow->mac->view };
  memcpy(a.lo, flow->mac->window_lo, sizeof a.lo);
  memcpy(a.hi, flow->mac->window_hi, sizeof a.hi);
  kp_call call;
  kp_call_init(&call, &flow_quiet_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, pressure, &flow->pressure->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u, &flow->velocity->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, v, &flow->velocity->buffers[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, w, &flow->velocity->buffers[2], KP_ACCESS_WRITE);
  return kp_call_run(flow->mac->backend, &call, flow->mac->view.count);
}

// Lowest and highest cell per axis where a watched array says so.
static kp_result find_active(kp_flow *flow, const kp_flow_activity *activity, double v[6]) {
  flow_active_args a = { .grid = flow->mac->view };
  kp_buffer *watched[KP_FLOW_WATCHED] = { NULL, NULL, NULL };
  for (int w = 0; w < activity->n_watches; ++w) {
    a.rest[w] = (kp_real)activity->watches[w].rest;
    a.tolerance[w] = (kp_real)activity->watches[w].tolerance;
    watched[w] = activity->watches[w].values;
  }
  kp_call call;
  kp_call_init(&call, &flow_active_kernel, &a);
  KP_BIND(&call, &a, first, watched[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, second, watched[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, third, watched[2], KP_ACCESS_READ);
  return kp_call_reduce(flow->mac->backend, &call, flow->mac->view.count, v);
}

// Cells of a box, cut at the grid.
static void include_box(const kp_mac_view *g, const kp_aabb *box, double v[6]) {
  for (int c = 0; c < 3; ++c) {
    double last = (double)g->n[c] - 1.0;
    double lo = floor((component(box->min, c) - g->lo[c]) / g->cell);
    double hi = floor((component(box->max, c) - g->lo[c]) / g->cell);
    v[c] = fmin(v[c], fmin(fmax(lo, 0.0), last));
    v[3 + c] = fmax(v[3 + c], fmin(fmax(hi, 0.0), last));
  }
}

kp_result kp_flow_box(kp_flow *flow, kp_set *set, kp_aabb *out) {
  flow_box_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &flow_box_kernel, &a);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  double v[6];
  KP_TRY(kp_call_reduce(flow->mac->backend, &call, set->space->n, v));
  *out = (kp_aabb){ { v[0], v[1], v[2] }, { v[3], v[4], v[5] } };
  return KP_OK;
}

kp_result kp_flow_follow(kp_flow *flow, const kp_flow_activity *activity) {
  if (!flow->grid.follow) {
    return KP_OK;
  }
  double v[6] = { HUGE_VAL, HUGE_VAL, HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL };
  if (activity->n_watches > 0) {
    KP_TRY(find_active(flow, activity, v));
  }
  for (size_t b = 0; b < activity->n_boxes; ++b) {
    include_box(&flow->mac->view, &activity->boxes[b], v);
  }
  int32_t lo[3] = { 0, 0, 0 };
  int32_t hi[3] = { 1, 1, 1 };
  for (int c = 0; c < 3 && v[0] <= v[3]; ++c) {
    lo[c] = (int32_t)v[c];
    hi[c] = (int32_t)v[3 + c] + 1;
  }
  uint64_t revision = flow->mac->window_revision;
  // what moves on by a step, and the flow around it that drives it there
  int32_t margin = (int32_t)ceil(flow->grid.cfl) + KP_MAC_BLOCK / 2;
  KP_TRY(kp_mac_set_window(flow->mac, lo, hi, margin));
  if (flow->mac->window_revision == revision) {
    return KP_OK;
  }
  KP_TRY(quieten(flow));
  // ghosts beside the window are outside of it too, and the method may trace before it fills them
  return kp_mac_fill_velocity(flow->mac, flow->velocity);
}

// ---- solids and sides

kp_result kp_flow_solids(kp_flow *flow, kp_env *env, uint8_t kind) {
  return kp_grid_solids_update(&flow->solids, env, flow->flags, kind);
}

kp_result kp_flow_boundaries(kp_flow *flow, kp_env *env) {
  (void)env;
  return kp_mac_fill_velocity(flow->mac, flow->velocity);
}

static kp_buffer *fraction_of(kp_flow *flow, int axis) {
  return kp_grid_solids_part(&flow->solids.fraction[axis]);
}

static kp_buffer *solid_velocity_of(kp_flow *flow, int axis) {
  return kp_grid_solids_part(&flow->solids.velocity[axis]);
}

// ---- projection

static kp_result write_coefficients(kp_flow *flow, const kp_flow_projection *how) {
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    flow_coefficients_args a = { .grid = flow->mac->view,
                                 .sides = flow->solids.sides,
                                 .axis = axis,
                                 .inverse_density = (kp_real)(1.0 / flow->density) };
    kp_buffer *field = how->inverse_density != NULL ? &how->inverse_density[axis] : NULL;
    kp_call call;
    kp_call_init(&call, &flow_coefficients_kernel, &a);
    KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, fraction, fraction_of(flow, axis), KP_ACCESS_READ);
    KP_BIND(&call, &a, distance, how->distance, KP_ACCESS_READ);
    KP_BIND(&call, &a, inverse_field, field, KP_ACCESS_READ);
    KP_BIND(&call, &a, coefficient, &flow->coefficient[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call));
    KP_TRY(kp_mac_fill_periodic(flow->mac, &flow->coefficient[axis]));
  }
  return KP_OK;
}

static void bind_cell(kp_call *call, flow_right_args *a, kp_flow *flow,
                      const kp_flow_projection *how) {
  KP_BIND(call, a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, u, &flow->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, v, &flow->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(call, a, w, &flow->velocity->buffers[2], KP_ACCESS_READ);
  KP_BIND(call, a, fraction_x, fraction_of(flow, 0), KP_ACCESS_READ);
  KP_BIND(call, a, fraction_y, fraction_of(flow, 1), KP_ACCESS_READ);
  KP_BIND(call, a, fraction_z, fraction_of(flow, 2), KP_ACCESS_READ);
  KP_BIND(call, a, solid_x, solid_velocity_of(flow, 0), KP_ACCESS_READ);
  KP_BIND(call, a, solid_y, solid_velocity_of(flow, 1), KP_ACCESS_READ);
  KP_BIND(call, a, solid_z, solid_velocity_of(flow, 2), KP_ACCESS_READ);
  KP_BIND(call, a, source, how->source, KP_ACCESS_READ);
  KP_BIND(call, a, distance, how->distance, KP_ACCESS_READ);
  KP_BIND(call, a, jump, how->surface_pressure, KP_ACCESS_READ);
  KP_BIND(call, a, coefficient_x, &flow->coefficient[0], KP_ACCESS_READ);
  KP_BIND(call, a, coefficient_y, &flow->coefficient[1], KP_ACCESS_READ);
  KP_BIND(call, a, coefficient_z, &flow->coefficient[2], KP_ACCESS_READ);
}

static kp_result write_right(kp_flow *flow, const kp_flow_projection *how, double dt) {
  flow_right_args a = { .grid = flow->mac->view,
                        .sides = flow->solids.sides,
                        .inverse_dt = (kp_real)(1.0 / dt) };
  kp_call call;
  kp_call_init(&call, &flow_right_kernel, &a);
  bind_cell(&call, &a, flow, how);
  KP_BIND(&call, &a, right, &flow->right, KP_ACCESS_WRITE);
  return kp_mac_rows(flow->mac, KP_MAC_CELL, &call);
}

// A pressure, and what float has no digits for of it.
typedef struct pressure_parts {
  kp_buffer *whole, *rest;
} pressure_parts;

// velocity -= dt c / A grad p
static kp_result push(kp_flow *flow, const kp_flow_projection *how, pressure_parts p,
                      kp_field *velocity, double dt) {
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    flow_correct_args a = { .grid = flow->mac->view, .axis = axis, .dt = (kp_real)dt };
    kp_call call;
    kp_call_init(&call, &flow_correct_kernel, &a);
    KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, coefficient, &flow->coefficient[axis], KP_ACCESS_READ);
    KP_BIND(&call, &a, fraction, fraction_of(flow, axis), KP_ACCESS_READ);
    KP_BIND(&call, &a, pressure, p.whole, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, p.rest, KP_ACCESS_READ);
    KP_BIND(&call, &a, distance, how->distance, KP_ACCESS_READ);
    KP_BIND(&call, &a, jump, how->surface_pressure, KP_ACCESS_READ);
    KP_BIND(&call, &a, velocity, &velocity->buffers[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call));
  }
  return kp_mac_fill_velocity(flow->mac, velocity);
}

static kp_result solve(kp_flow *flow, const kp_flow_projection *how, double dt) {
  KP_TRY(write_coefficients(flow, how));
  KP_TRY(write_right(flow, how, dt));
  kp_poisson_system system = { .flags = &flow->flags->buffers[0],
                               .faces = { &flow->coefficient[0], &flow->coefficient[1],
                                          &flow->coefficient[2] },
                               .right = &flow->right,
                               .answer = &flow->pressure->buffers[0] };
  KP_TRY(kp_poisson_solve(flow->poisson, &system, &flow->solved));
  if (!flow->solved.is_converged && !flow->has_warned) {
    flow->has_warned = true;
    kp_log(KP_LOG_WARN, "grid",
           "%s \"%s\": the pressure reached %.2g of %.2g in %d iterations (said once)", flow->word,
           flow->name, flow->solved.residual, flow->grid.tolerance, flow->solved.iterations);
  }
  return KP_OK;
}

kp_result kp_flow_project(kp_flow *flow, kp_env *env, const kp_flow_projection *how) {
  static const kp_flow_projection plain = { 0 };
  how = how != NULL ? how : &plain;
  double dt = flow->late * env->dt;
  flow->n_released = 0.0;
  KP_TRY(kp_mac_fill_velocity(flow->mac, flow->velocity));
  KP_TRY(solve(flow, how, dt));
  if (how->releases) {
    KP_TRY(kp_release_mark(flow, env, how, &flow->n_released));
  }
  if (flow->n_released > 0.0) {
    KP_TRY(solve(flow, how, dt));
  }
  const pressure_parts p = { &flow->pressure->buffers[0], kp_poisson_rest(flow->poisson) };
  KP_TRY(push(flow, how, p, flow->velocity, dt));
  KP_TRY(kp_thrust_tell(flow, env));
  return how->leaves_released ? KP_OK : kp_release_finish(flow);
}

// ---- advection

static kp_advect_def advect_of(const kp_flow *flow) {
  return (kp_advect_def){ .scheme = flow->grid.advection,
                          .limiter = flow->grid.limiter,
                          .trace = flow->grid.trace,
                          .interpolation = flow->grid.interpolation };
}

static kp_result need_carried(kp_flow *flow) {
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    kp_buffer *carried = &flow->carried.buffers[axis];
    if (carried->used == 0) {
      KP_TRY(kp_mac_scratch(flow->mac, KP_TYPE_REAL, carried));
    }
  }
  return KP_OK;
}

// The velocity as it is, with the pressure of the last step acting for the first part of this one.
static kp_result carry_pressure(kp_flow *flow, double dt) {
  static const kp_flow_projection plain = { 0 };
  KP_TRY(need_carried(flow));
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    KP_TRY(kp_buffer_copy(&flow->carried.buffers[axis], &flow->velocity->buffers[axis]));
  }
  KP_TRY(write_coefficients(flow, &plain));
  // what the pressure cannot hold is not saved, so that a run that goes on from a checkpoint has
  // none: no run takes it here
  void *rest;
  KP_TRY(kp_buffer_get(&flow->right, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &rest));
  KP_TRY(kp_fill(flow->mac->backend, rest, 0, flow->right.used));
  const pressure_parts p = { &flow->pressure->buffers[0], &flow->right };
  return push(flow, &plain, p, &flow->carried, dt);
}

kp_result kp_flow_advect(kp_flow *flow, kp_env *env) {
  kp_advect_def how = advect_of(flow);
  kp_buffer *flags = &flow->flags->buffers[0];
  flow->late = flow->grid.centering;
  double early = (1.0 - flow->late) * env->dt;
  if (early <= 0.0) {
    return kp_advect_velocity(&flow->advect, &how, flow->velocity, flags, env->dt);
  }
  KP_TRY(carry_pressure(flow, early));
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    KP_TRY(kp_advect_values(&flow->advect, &how, (kp_mac_kind)axis, &flow->carried.buffers[axis],
                            flow->velocity, flags, NAN, env->dt));
  }
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    kp_buffer_swap_device(&flow->velocity->buffers[axis], &flow->carried.buffers[axis]);
  }
  return kp_mac_fill_velocity(flow->mac, flow->velocity);
}

// ---- velocity beyond the fluid

static kp_result mark_known(kp_flow *flow, int axis, bool has_walls) {
  flow_known_args a = {
    .grid = flow->mac->view, .sides = flow->solids.sides, .axis = axis, .without_sides = !has_walls
  };
  kp_call call;
  kp_call_init(&call, &flow_known_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, fraction, fraction_of(flow, axis), KP_ACCESS_READ);
  KP_BIND(&call, &a, known, &flow->known[0], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call));
  return kp_mac_fill_periodic(flow->mac, &flow->known[0]);
}

// `kind`: that of the places, an axis for the faces across it.
static kp_result spread(kp_flow *flow, kp_buffer *velocity, int kind, int n_layers) {
  for (int layer = 0; layer < n_layers; ++layer) {
    flow_spread_args a = { .grid = flow->mac->view };
    kp_call call;
    kp_call_init(&call, &flow_spread_kernel, &a);
    KP_BIND(&call, &a, known, &flow->known[layer % 2], KP_ACCESS_READ);
    KP_BIND(&call, &a, known_next, &flow->known[1 - layer % 2], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, velocity, velocity, KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)kind, &call));
    KP_TRY(kp_mac_fill_periodic(flow->mac, &flow->known[1 - layer % 2]));
    KP_TRY(kp_mac_fill_periodic(flow->mac, velocity));
  }
  return KP_OK;
}

// Ghosts hold no known faces: what the buffers had before must not be read as such.
static kp_result clear_known(kp_flow *flow) {
  for (int k = 0; k < 2; ++k) {
    void *memory;
    KP_TRY(kp_buffer_get(&flow->known[k], KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(flow->mac->backend, memory, 0, flow->known[k].used));
  }
  return KP_OK;
}

static kp_result constrain(kp_flow *flow) {
  const kp_mac_view *g = &flow->mac->view;
  KP_TRY(kp_mac_fill_velocity(flow->mac, flow->velocity));
  for (int axis = 0; axis < g->dimension; ++axis) {
    flow_constrain_args a = { .grid = *g, .axis = axis, .no_slip = flow->grid.no_slip };
    kp_call call;
    kp_call_init(&call, &flow_constrain_kernel, &a);
    KP_BIND(&call, &a, u, &flow->velocity->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, v, &flow->velocity->buffers[1], KP_ACCESS_READ);
    KP_BIND(&call, &a, w, &flow->velocity->buffers[2], KP_ACCESS_READ);
    KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, fraction, fraction_of(flow, axis), KP_ACCESS_READ);
    KP_BIND(&call, &a, distance, &flow->solids.distance, KP_ACCESS_READ);
    KP_BIND(&call, &a, solid_x, solid_velocity_of(flow, 0), KP_ACCESS_READ);
    KP_BIND(&call, &a, solid_y, solid_velocity_of(flow, 1), KP_ACCESS_READ);
    KP_BIND(&call, &a, solid_z, solid_velocity_of(flow, 2), KP_ACCESS_READ);
    // faces outside the window are not written: they come along
    KP_TRY(kp_buffer_copy(&flow->coefficient[axis], &flow->velocity->buffers[axis]));
    KP_BIND(&call, &a, out, &flow->coefficient[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call));
  }
  for (int axis = 0; axis < g->dimension; ++axis) {
    kp_buffer_swap_device(&flow->velocity->buffers[axis], &flow->coefficient[axis]);
  }
  return KP_OK;
}

kp_result kp_flow_extrapolate(kp_flow *flow, int n_layers) {
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    KP_TRY(clear_known(flow));
    KP_TRY(mark_known(flow, axis, true));
    KP_TRY(spread(flow, &flow->velocity->buffers[axis], axis, n_layers));
  }
  if (flow->solids.has_solids) {
    KP_TRY(constrain(flow));
  }
  return kp_mac_fill_velocity(flow->mac, flow->velocity);
}

kp_result kp_flow_extrapolate_cells(kp_flow *flow, kp_buffer *values, int n_layers) {
  flow_wet_args a = { .grid = flow->mac->view };
  KP_TRY(clear_known(flow));
  kp_call call;
  kp_call_init(&call, &flow_wet_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, known, &flow->known[0], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_periodic(flow->mac, &flow->known[0]));
  return spread(flow, values, KP_MAC_CELL, n_layers);
}

kp_result kp_flow_push_ahead(kp_flow *flow, kp_buffer *pressure, double time, int n_layers) {
  static const kp_flow_projection plain = { 0 };
  KP_TRY(need_carried(flow));
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    void *memory;
    kp_buffer *carried = &flow->carried.buffers[axis];
    KP_TRY(kp_buffer_get(carried, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(flow->mac->backend, memory, 0, carried->used));
  }
  const pressure_parts p = { pressure, kp_poisson_rest(flow->poisson) };
  KP_TRY(push(flow, &plain, p, &flow->carried, time));
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    KP_TRY(clear_known(flow));
    KP_TRY(mark_known(flow, axis, false));
    KP_TRY(spread(flow, &flow->carried.buffers[axis], axis, n_layers));
  }
  return KP_OK;
}

// ---- forces, limits, sums

kp_result kp_flow_forces(kp_flow *flow, kp_env *env, double weight) {
  int32_t n_fields = 0;
  if (env->fields != NULL) {
    KP_TRY(kp_force_fields_write(env->fields, flow->set, env->time, &n_fields));
  }
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    double change = env->dt * weight * component(env->simulation.gravity, axis);
    if (change == 0.0 && n_fields == 0) {
      continue;
    }
    flow_force_args a = { .grid = flow->mac->view,
                          .axis = axis,
                          .n_fields = n_fields,
                          .change = (kp_real)change,
                          .dt = env->dt };
    kp_call call;
    kp_call_init(&call, &flow_force_kernel, &a);
    KP_BIND(&call, &a, records, n_fields > 0 ? &env->fields->records : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, velocity, &flow->velocity->buffers[axis], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(flow->mac, (kp_mac_kind)axis, &call));
  }
  return kp_flow_user_force(flow, env);
}

double kp_flow_max_dt(const kp_flow *flow, const kp_env *env) {
  double speed = fmax(fmax(flow->max_sum, kp_medium_fastest_body(env)), 1e-30);
  return flow->grid.cfl * flow->mac->view.cell / speed;
}

kp_result kp_flow_check(kp_flow *flow, kp_env *env) {
  flow_report_args a = { .grid = flow->mac->view };
  kp_call call;
  kp_call_init(&call, &flow_report_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &flow->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &flow->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &flow->velocity->buffers[2], KP_ACCESS_READ);
  double v[3];
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  flow->max_sum = fmax(v[0], 0.0);
  flow->max_speed = sqrt(fmax(v[1], 0.0));
  env->report.n_bad += (int64_t)v[2];
  env->report.max_speed = fmax(env->report.max_speed, flow->max_speed);
  return store(flow);
}

kp_result kp_flow_stats(kp_flow *flow, kp_env *env, kp_population_stats *out) {
  const kp_mac_view *g = &flow->mac->view;
  kp_vec3 gravity = env->simulation.gravity;
  flow_sums_args a = { .grid = *g, .up = { -gravity.x, -gravity.y, -gravity.z } };
  kp_call call;
  kp_call_init(&call, &flow_sums_kernel, &a);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &flow->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &flow->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &flow->velocity->buffers[2], KP_ACCESS_READ);
  double v[6];
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  double mass = flow->density * pow(g->cell, g->dimension);
  *out = (kp_population_stats){
    .count = (int64_t)v[0],
    .mass = mass * v[0],
    .momentum = kp_vec3_make(mass * v[1], mass * v[2], mass * v[3]),
    .kinetic_energy = mass * v[4],
    .potential_energy = mass * v[5],
    .internal_energy = NAN,
    .memory_gain = NAN,
    .memory_share = NAN,
    .bounds = { env->domain.min, env->domain.max },
    .max_speed = flow->max_speed,
  };
  kp_text_copy(out->name, sizeof out->name, flow->name);
  return KP_OK;
}

kp_result kp_flow_divergence(kp_flow *flow, const kp_flow_projection *how, double *worst) {
  static const kp_flow_projection plain = { 0 };
  how = how != NULL ? how : &plain;
  flow_residual_args a = { .cell = { .grid = flow->mac->view, .sides = flow->solids.sides } };
  kp_call call;
  kp_call_init(&call, &flow_residual_kernel, &a);
  // pointers of the inner arguments lie where they lie in `a`
  kp_call inner;
  kp_call_init(&inner, &flow_right_kernel, &a.cell);
  bind_cell(&inner, &a.cell, flow, how);
  for (int b = 0; b < inner.n_binds; ++b) {
    kp_call_bind(&call, inner.binds[b].offset + offsetof(flow_residual_args, cell),
                 inner.binds[b].buffer, (kp_access)inner.binds[b].access);
  }
  return KP_MAC_REDUCE(flow->mac, &call, &a, worst);
}
