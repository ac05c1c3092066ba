// Elements of four nodes: their constants, and the calls of their kernels.
#include <math.h>
#include <string.h>

#include "methods/deform/deform.h"
#include "methods/deform/deform_blocks_kernels.h"
#include "par/kernel_define.h"

DEFORM_TETS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- constants ----------------------------------------------------------------------------------

static bool is_elastic(const kp_tet *tet) {
  return tet->kind == KP_TET_ELASTIC;
}

static bool is_hinge(const kp_tet *tet) {
  return tet->kind == KP_TET_HINGE || tet->kind == KP_TET_BEND;
}

static kp_result room(kp_buffer *buffer, kp_type type, int64_t n, void *pointer) {
  buffer->type = (uint8_t)type;
  KP_TRY(kp_buffer_resize(buffer, kp_type_size(type) * (size_t)n));
  void *data;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &data));
  memset(data, 0, kp_type_size(type) * (size_t)n);
  *(void **)pointer = data;
  return KP_OK;
}

static void rest_corners(const kp_part *part, const kp_tet *tet, kp_vec3 x[4]) {
  for (int c = 0; c < 4; ++c) {
    x[c] = part->x.data[tet->v[c]];
  }
}

// Lengths of the seven altitudes, squares of the six edges, the floor; the angle of a hinge.
static void axis_rest(const kp_tet *tet, const kp_vec3 x[4], double out[DEFORM_AXIS_REST]) {
  if (is_hinge(tet)) {
    kp_vec3 unused[4];
    memset(out, 0, DEFORM_AXIS_REST * sizeof *out);
    out[0] = kp_hinge_angle(x, unused);
    for (int k = 0; k < 2; ++k) {  // squares of twice the areas of its triangles
      kp_vec3 e = kp_vec3_sub(x[3], x[2]), f = kp_vec3_sub(x[k], x[2]);
      kp_vec3 normal = kp_vec3_cross(e, f);
      out[k + 1] = kp_vec3_dot(normal, normal);
    }
    return;
  }
  for (int a = 0; a < KP_ALTITUDES; ++a) {
    out[a] = kp_altitude_make(x, a).length;
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      kp_vec3 d = kp_vec3_sub(x[j], x[i]);
      out[KP_ALTITUDES + kp_altitude_edge(i, j)] = kp_vec3_dot(d, d);
    }
  }
  out[DEFORM_AXIS_FLOOR] = tet->floor;
}

// B, the volume and the constants of the energy.
static void solid_rest(const kp_tet *tet, const kp_vec3 x[4], double out[DEFORM_SOLID_REST]) {
  kp_vec3 e[3];
  for (int c = 0; c < 3; ++c) {
    e[c] = kp_vec3_sub(x[c + 1], x[0]);
  }
  double volume6 = kp_vec3_dot(e[0], kp_vec3_cross(e[1], e[2]));
  for (int c = 0; c < 3; ++c) {  // rows of the inverse of a matrix with columns e
    kp_vec3 row = kp_vec3_scale(kp_vec3_cross(e[(c + 1) % 3], e[(c + 2) % 3]), 1.0 / volume6);
    out[DEFORM_SOLID_B + 3 * c] = row.x;
    out[DEFORM_SOLID_B + 3 * c + 1] = row.y;
    out[DEFORM_SOLID_B + 3 * c + 2] = row.z;
  }
  double shear = tet->stiffness / (2.0 * (1.0 + tet->poisson));
  double bulk = 2.0 * shear * tet->poisson / (1.0 - 2.0 * tet->poisson);
  out[DEFORM_SOLID_VOLUME] = volume6 / 6.0;
  out[DEFORM_SOLID_MU] = 4.0 / 3.0 * shear;
  out[DEFORM_SOLID_LAMBDA] = bulk + 5.0 / 6.0 * shear;
  out[DEFORM_SOLID_ETA] = tet->damping;
}

static kp_result make_room(kp_deform *d, int64_t n_axes, int64_t n_solids) {
  kp_deform_axes *a = &d->tets.axes;
  kp_deform_materials *s = &d->tets.solids;
  void *unused;
  a->n = n_axes;
  s->n = n_solids;
  KP_TRY(room(&a->corner, KP_TYPE_I32, 4 * n_axes, &unused));
  KP_TRY(room(&a->tet, KP_TYPE_I32, n_axes, &unused));
  KP_TRY(room(&a->kind, KP_TYPE_U8, n_axes, &unused));
  KP_TRY(room(&a->rest, KP_TYPE_REAL, DEFORM_AXIS_REST * n_axes, &unused));
  KP_TRY(room(&a->stiffness, KP_TYPE_REAL, n_axes, &unused));
  KP_TRY(room(&a->damping, KP_TYPE_REAL, n_axes, &unused));
  KP_TRY(room(&a->slope, KP_TYPE_REAL, 12 * n_axes, &unused));
  KP_TRY(room(&a->force, KP_TYPE_REAL, n_axes, &unused));
  KP_TRY(room(&a->rate, KP_TYPE_REAL, n_axes, &unused));
  // lanes reach beyond the last element
  KP_TRY(room(&s->corner, KP_TYPE_I32, 4 * n_solids + KP_LANES, &unused));
  KP_TRY(room(&s->tet, KP_TYPE_I32, n_solids, &unused));
  KP_TRY(room(&s->inverse, KP_TYPE_F64, 9 * n_solids, &unused));
  KP_TRY(room(&s->rest, KP_TYPE_REAL, DEFORM_SOLID_REST * n_solids + KP_LANES, &unused));
  return room(&s->state, KP_TYPE_REAL, DEFORM_SOLID_STATE * n_solids, &unused);
}

// Blocks of all elements, for groups that are solved by sweeps.
kp_result kp_deform_make_blocks(kp_deform *d) {
  kp_deform_tets *t = &d->tets;
  int64_t n = t->n, n_runs = (t->solids.n + KP_LANES - 1) / KP_LANES;
  void *unused;
  kp_row_segment *runs;
  KP_TRY(room(&t->block, KP_TYPE_REAL, BLOCKS_ITEM * n, &unused));
  KP_TRY(room(&t->pull, KP_TYPE_REAL, BLOCKS_PULL * n + KP_RECORD, &unused));
  KP_TRY(kp_buffer_resize(&t->lanes, sizeof *runs * (size_t)n_runs));
  KP_TRY(kp_buffer_get(&t->lanes, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&runs));
  for (int64_t k = 0; k < n_runs; ++k) {
    runs[k] =
        (kp_row_segment){ .i0 = (int32_t)(k * KP_LANES), .i1 = (int32_t)((k + 1) * KP_LANES) };
  }
  return KP_OK;
}

typedef struct tet_arrays {
  int32_t *axis_corner, *axis_tet, *solid_corner, *solid_tet;
  uint8_t *kind;
  kp_real *axis_rest, *stiffness, *damping, *solid_rest;
  double *inverse;
} tet_arrays;

static kp_result open_arrays(kp_deform *d, tet_arrays *out) {
  kp_deform_axes *a = &d->tets.axes;
  kp_deform_materials *s = &d->tets.solids;
  struct {
    kp_buffer *buffer;
    void *pointer;
  } all[] = {
    { &a->corner, &out->axis_corner },  { &a->tet, &out->axis_tet },
    { &a->kind, &out->kind },           { &a->rest, &out->axis_rest },
    { &a->stiffness, &out->stiffness }, { &a->damping, &out->damping },
    { &s->corner, &out->solid_corner }, { &s->tet, &out->solid_tet },
    { &s->rest, &out->solid_rest },     { &s->inverse, &out->inverse },
  };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    KP_TRY(kp_buffer_get(all[k].buffer, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)all[k].pointer));
  }
  return KP_OK;
}

static void write_axis(const kp_deform *d, const tet_arrays *to, int64_t m, int64_t t,
                       const kp_vec3 x[4]) {
  int64_t n = d->tets.axes.n;
  const kp_tet *tet = &d->tets.model.data[t];
  double rest[DEFORM_AXIS_REST];
  axis_rest(tet, x, rest);
  for (int k = 0; k < DEFORM_AXIS_REST; ++k) {
    to->axis_rest[k * n + m] = (kp_real)rest[k];
  }
  for (int c = 0; c < 4; ++c) {
    to->axis_corner[c * n + m] = (int32_t)tet->v[c];
  }
  to->axis_tet[m] = (int32_t)t;
  to->kind[m] = (uint8_t)(tet->kind == KP_TET_HINGE        ? DEFORM_AXIS_HINGE
                          : tet->kind == KP_TET_BEND       ? DEFORM_AXIS_BEND
                          : tet->kind == KP_TET_POINT_FACE ? DEFORM_AXIS_FACE
                                                           : DEFORM_AXIS_ALTITUDE);
  to->stiffness[m] = (kp_real)tet->stiffness;
  to->damping[m] = (kp_real)tet->damping;
}

static void write_solid(const kp_deform *d, const tet_arrays *to, int64_t m, int64_t t,
                        const kp_vec3 x[4]) {
  int64_t n = d->tets.solids.n;
  const kp_tet *tet = &d->tets.model.data[t];
  double rest[DEFORM_SOLID_REST];
  solid_rest(tet, x, rest);
  for (int k = 0; k < DEFORM_SOLID_REST; ++k) {
    to->solid_rest[k * n + m] = (kp_real)rest[k];
  }
  for (int c = 0; c < 4; ++c) {
    to->solid_corner[c * n + m] = (int32_t)tet->v[c];
  }
  to->solid_tet[m] = (int32_t)t;
  memcpy(to->inverse + 9 * m, rest + DEFORM_SOLID_B, 9 * sizeof *rest);
}

// The ranges of a group are those of its parts, which lie side by side.
static void join_ranges(kp_deform *d) {
  for (size_t g = 0; g < d->groups.count; ++g) {
    kp_deform_group *group = &d->groups.data[g];
    for (size_t p = 0; p < d->parts.count; ++p) {
      const kp_deform_part *part = &d->parts.data[p];
      if (part->scheme != group->scheme) {
        continue;
      }
      group->axes.first = group->axes.n == 0 ? part->axes.first : group->axes.first;
      group->axes.n += part->axes.n;
      group->solids.first = group->solids.n == 0 ? part->solids.first : group->solids.first;
      group->solids.n += part->solids.n;
      group->membranes.first =
          group->membranes.n == 0 ? part->membranes.first : group->membranes.first;
      group->membranes.n += part->membranes.n;
    }
  }
}

kp_result kp_deform_fill_tets(kp_deform *d, const kp_part *const *order) {
  KP_TRY(kp_deform_fill_membranes(d, order));
  int64_t n_solids = 0;
  for (int64_t t = 0; t < d->tets.n; ++t) {
    n_solids += is_elastic(&d->tets.model.data[t]);
  }
  KP_TRY(make_room(d, d->tets.n - n_solids - d->tets.membranes.n, n_solids));
  tet_arrays to;
  KP_TRY(open_arrays(d, &to));
  int64_t axis = 0, solid = 0;
  for (size_t p = 0; p < d->parts.count; ++p) {
    kp_deform_part *part = &d->parts.data[p];
    part->axes.first = axis;
    part->solids.first = solid;
    for (int64_t t = part->tets.first; t < part->tets.first + part->tets.n; ++t) {
      kp_vec3 x[4];
      if (d->tets.model.data[t].kind == KP_TET_MEMBRANE) {
        continue;
      }
      rest_corners(order[p], &order[p]->tets.data[t - part->tets.first], x);
      if (is_elastic(&d->tets.model.data[t])) {
        write_solid(d, &to, solid++, t, x);
      } else {
        write_axis(d, &to, axis++, t, x);
      }
    }
    part->axes.n = axis - part->axes.first;
    part->solids.n = solid - part->solids.first;
  }
  join_ranges(d);
  return kp_deform_fill_edges(d);
}

// ---- stability of explicit steps ----------------------------------------------------------------

bool kp_deform_tet_changes(const kp_tet *tet) {
  return is_hinge(tet) || tet->kind == KP_TET_MEMBRANE;
}

// Half the sum of a row of the stiffness, as springs give it (deform_setup.c).
void kp_deform_tet_limits(const kp_part *part, bool all, double *stiff, double *damp) {
  for (size_t t = 0; t < part->tets.count; ++t) {
    const kp_tet *tet = &part->tets.data[t];
    if (!all && kp_deform_tet_changes(tet)) {
      continue;
    }
    kp_vec3 x[4];
    if (tet->kind == KP_TET_MEMBRANE) {
      kp_deform_membrane_limit(part, tet, stiff, damp);
      continue;
    }
    rest_corners(part, tet, x);
    double rest[DEFORM_AXIS_REST > DEFORM_SOLID_REST ? DEFORM_AXIS_REST : DEFORM_SOLID_REST];
    if (is_elastic(tet)) {
      solid_rest(tet, x, rest);
      double slopes[4], sum = 0.0;
      kp_vec3 first = { 0.0, 0.0, 0.0 };
      for (int c = 1; c < 4; ++c) {
        const double *b = rest + DEFORM_SOLID_B + 3 * (c - 1);
        kp_vec3 row = { b[0], b[1], b[2] };
        first = kp_vec3_add(first, row);
        slopes[c] = kp_vec3_length(row);
        sum += slopes[c];
      }
      slopes[0] = kp_vec3_length(first);
      sum += slopes[0];
      // the stiffest way to strain: lambda + 2 mu of linear elasticity
      double shear = 0.75 * rest[DEFORM_SOLID_MU];
      double modulus = rest[DEFORM_SOLID_LAMBDA] + (2.0 - 5.0 / 6.0) * shear;
      for (int c = 0; c < 4; ++c) {
        double row = rest[DEFORM_SOLID_VOLUME] * slopes[c] * sum;
        stiff[tet->v[c]] += 0.5 * modulus * row;
        damp[tet->v[c]] += rest[DEFORM_SOLID_ETA] * row;
      }
      continue;
    }
    kp_vec3 slope[4];
    double k = tet->stiffness, row = 1.0;
    if (is_hinge(tet)) {
      (void)kp_hinge_angle(x, slope);
      double sum = 0.0;
      for (int c = 0; c < 4; ++c) {
        sum += kp_vec3_length(slope[c]);
      }
      row = 0.5 * sum;
      for (int c = 0; c < 4; ++c) {
        stiff[tet->v[c]] += 0.5 * k * kp_vec3_length(slope[c]) * row;
        damp[tet->v[c]] += tet->damping * kp_vec3_length(slope[c]) * row;
      }
      continue;
    }
    axis_rest(tet, x, rest);
    double shortest = HUGE_VAL;
    for (int a = 0; a < KP_ALTITUDES; ++a) {
      shortest = fmin(shortest, fmax(rest[a], tet->floor));
    }
    for (int c = 0; c < 4; ++c) {  // weights are at most one and their sizes sum to two
      stiff[tet->v[c]] += k / shortest;
      damp[tet->v[c]] += tet->damping;
    }
  }
}

// ---- evaluation ---------------------------------------------------------------------------------

static kp_result evaluate_axes(kp_deform *d, kp_range range, kp_buffer x[3], double implicit,
                               double strength) {
  kp_deform_axes *t = &d->tets.axes;
  deform_axis_args a = {
    .first = range.first, .n = t->n, .implicit = (kp_real)implicit, .strength = (kp_real)strength
  };
  kp_call call;
  kp_call_init(&call, &deform_axis_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, kind, &t->kind, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &t->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &t->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, slope, &t->slope, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, force, &t->force, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, rate, &t->rate, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, range.n);
}

static kp_result evaluate_solids(kp_deform *d, const kp_deform_part *part, kp_buffer x[3],
                                 double implicit) {
  kp_deform_materials *t = &d->tets.solids;
  deform_solid_args a = { .first = part->solids.first,
                          .n = t->n,
                          .implicit = (kp_real)implicit,
                          .strength = (kp_real)part->strength_now };
  KP_TRY(kp_deform_edges_evaluate(d, part, x));
  kp_call call;
  kp_call_init(&call, &deform_solid_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  kp_deform_bind_means(d, part, &call, &a.means);
  KP_BIND(&call, &a, state, &t->state, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, part->solids.n);
}

kp_result kp_deform_tets_evaluate(kp_deform *d, const kp_deform_part *part, kp_buffer x[3],
                                  double implicit) {
  if (part->axes.n > 0) {
    KP_TRY(evaluate_axes(d, part->axes, x, implicit, part->strength_now));
  }
  if (part->solids.n > 0) {
    KP_TRY(evaluate_solids(d, part, x, implicit));
  }
  return part->membranes.n > 0 ? kp_deform_membranes_evaluate(d, part, x, implicit) : KP_OK;
}

// ---- forces -------------------------------------------------------------------------------------

static kp_result pull_axes(kp_deform *d, const kp_deform_group *group, kp_buffer *const v[3],
                           deform_in view, bool elastic) {
  kp_deform_axes *t = &d->tets.axes;
  deform_axis_pull_args a = {
    .first = group->axes.first, .n = t->n, .elastic = elastic ? (kp_real)1 : (kp_real)0, .v = view
  };
  kp_call call;
  kp_call_init(&call, &deform_axis_pull_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet, &t->tet, KP_ACCESS_READ);
  KP_BIND(&call, &a, slope, &t->slope, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, &t->force, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &t->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, v.x, v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.y, v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.z, v[2], KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, t, &d->tets.force, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, group->axes.n);
}

static kp_result pull_solids(kp_deform *d, const kp_deform_group *group, kp_buffer *const v[3],
                             deform_in view, bool elastic) {
  kp_deform_materials *t = &d->tets.solids;
  deform_solid_pull_args a = {
    .first = group->solids.first, .n = t->n, .elastic = elastic ? (kp_real)1 : (kp_real)0, .v = view
  };
  kp_call call;
  kp_call_init(&call, &deform_solid_pull_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet, &t->tet, KP_ACCESS_READ);
  KP_BIND(&call, &a, state, &t->state, KP_ACCESS_READ);
  KP_BIND(&call, &a, v.x, v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.y, v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.z, v[2], KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, t, &d->tets.force, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, group->solids.n);
}

kp_result kp_deform_tets_pull(kp_deform *d, const kp_deform_group *group, kp_buffer *const v[3],
                              deform_in view, bool elastic) {
  if (group->axes.n > 0) {
    KP_TRY(pull_axes(d, group, v, view, elastic));
  }
  if (group->solids.n > 0) {
    KP_TRY(pull_solids(d, group, v, view, elastic));
  }
  return group->membranes.n > 0 ? kp_deform_membranes_pull(d, group, v, view, elastic) : KP_OK;
}

kp_result kp_deform_tets_diagonal(kp_deform *d, const kp_deform_group *group) {
  kp_call call;
  if (group->axes.n > 0) {
    deform_axis_diagonal_args a = { .first = group->axes.first, .n = d->tets.axes.n };
    kp_call_init(&call, &deform_axis_diagonal_kernel, &a);
    KP_BIND(&call, &a, tet, &d->tets.axes.tet, KP_ACCESS_READ);
    KP_BIND(&call, &a, slope, &d->tets.axes.slope, KP_ACCESS_READ);
    KP_BIND(&call, &a, rate, &d->tets.axes.rate, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, q, &d->tets.diagonal, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, group->axes.n));
  }
  if (group->solids.n > 0) {
    deform_solid_diagonal_args a = { .first = group->solids.first, .n = d->tets.solids.n };
    kp_call_init(&call, &deform_solid_diagonal_kernel, &a);
    KP_BIND(&call, &a, tet, &d->tets.solids.tet, KP_ACCESS_READ);
    KP_BIND(&call, &a, state, &d->tets.solids.state, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, q, &d->tets.diagonal, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, group->solids.n));
  }
  return group->membranes.n > 0 ? kp_deform_membranes_diagonal(d, group) : KP_OK;
}

// ---- rate of strain -----------------------------------------------------------------------------

kp_result kp_deform_tets_strain_rate(kp_deform *d, double *out) {
  kp_deform_materials *t = &d->tets.solids;
  double in_membranes = 0.0;
  *out = 0.0;
  if (d->tets.membranes.n > 0) {
    KP_TRY(kp_deform_membranes_rate(d, &in_membranes));
  }
  if (t->n == 0) {
    *out = in_membranes;
    return KP_OK;
  }
  deform_solid_rate_args a = { .n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_solid_rate_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(d->set->space->backend, &call, t->n, out));
  *out = fmax(*out, in_membranes);
  return KP_OK;
}

// ---- energy -------------------------------------------------------------------------------------

kp_result kp_deform_tets_energy(kp_deform *d, const kp_deform_part *part, double *out) {
  kp_call call;
  double axes = 0.0, solids = 0.0, membranes = 0.0;
  if (part->axes.n > 0) {
    kp_deform_axes *t = &d->tets.axes;
    deform_axis_energy_args a = { .first = part->axes.first,
                                  .n = t->n,
                                  .strength = (kp_real)part->strength_now };
    kp_call_init(&call, &deform_axis_energy_kernel, &a);
    KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
    KP_BIND(&call, &a, kind, &t->kind, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
    KP_BIND(&call, &a, stiffness, &t->stiffness, KP_ACCESS_READ);
    KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
    KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
    KP_TRY(kp_call_reduce(d->set->space->backend, &call, part->axes.n, &axes));
  }
  if (part->solids.n > 0) {
    KP_TRY(kp_deform_edges_energy(d, part, &solids));
  }
  if (part->membranes.n > 0) {
    KP_TRY(kp_deform_membranes_energy(d, part, &membranes));
  }
  *out = axes + solids + membranes;
  return KP_OK;
}
