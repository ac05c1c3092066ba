// The longest step of explicit schemes. What springs and solids bear is known from their rest;
// angles and membranes are asked where they are at the start of every turn, since the slopes of an
// angle grow as a cell folds.
#include <math.h>
#include <string.h>

#include "data/curve.h"
#include "methods/deform/deform.h"
#include "methods/deform/deform_steps_kernels.h"
#include "par/kernel_define.h"

// Of the longest stable step. The bound is about 1.5 times the highest frequency there is. Without
// damping fast waves keep what slow ones leave to them, and where omega h is above 1 they take part
// in resonances with the step: a sheet that crumples for 20 s gains 7 % of its swing at 0.9, and
// loses 0.7 % at 0.6, without a trend.
#define DAMPED_SHARE 0.9
#define UNDAMPED_SHARE 0.6

DEFORM_STEPS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

bool kp_deform_is_explicit(const kp_deform *d, kp_solid_scheme scheme) {
  return !kp_schemes[scheme].is_implicit || !d->def.implicit;
}

static bool does_change(const kp_deform *d, const kp_part *part) {
  bool changes = false;
  for (size_t t = 0; t < part->tets.count; ++t) {
    changes = changes || kp_deform_tet_changes(&part->tets.data[t]);
  }
  return changes && kp_deform_is_explicit(d, part->scheme);
}

static kp_result make_room(kp_deform *d) {
  kp_deform_steps *s = &d->steps;
  double *unused;
  int64_t n = d->set->space->n, n_rows = 4 * d->tets.n;
  KP_TRY(kp_buffer_room(&s->stiff, KP_TYPE_F64, n, &unused));
  KP_TRY(kp_buffer_room(&s->damp, KP_TYPE_F64, n, &unused));
  KP_TRY(kp_buffer_room(&s->row_stiff, KP_TYPE_F64, n_rows, &unused));
  memset(unused, 0, sizeof *unused * (size_t)n_rows);
  KP_TRY(kp_buffer_room(&s->row_damp, KP_TYPE_F64, n_rows, &unused));
  memset(unused, 0, sizeof *unused * (size_t)n_rows);
  return KP_OK;
}

// What of a part does not change: springs, solids, `viscosity`, drag of its surface as it rests.
static void write_base(const kp_part *part, double *stiff, double *damp) {
  memset(stiff, 0, sizeof *stiff * part->x.count);
  memset(damp, 0, sizeof *damp * part->x.count);
  kp_deform_spring_limits(part, stiff, damp);
  kp_deform_tet_limits(part, false, stiff, damp);
  for (size_t i = 0; i < part->x.count; ++i) {
    damp[i] += 0.5 * part->viscosity * part->mass.data[i];
  }
  for (size_t k = 0; k < part->triangles.count; ++k) {
    const kp_index *v = part->triangles.data[k].v;
    kp_vec3 a = part->x.data[v[0]];
    double area = 0.5 * kp_vec3_length(kp_vec3_cross(kp_vec3_sub(part->x.data[v[1]], a),
                                                     kp_vec3_sub(part->x.data[v[2]], a)));
    for (int c = 0; c < 3; ++c) {
      damp[v[c]] += 0.5 * part->drag * area / 3.0;
    }
  }
}

kp_result kp_deform_fill_steps(kp_deform *d, const kp_part *const *order) {
  bool any = false;
  for (size_t p = 0; p < d->parts.count; ++p) {
    d->parts.data[p].changes = does_change(d, order[p]);
    any = any || d->parts.data[p].changes;
  }
  if (!any) {
    return KP_OK;
  }
  KP_TRY(make_room(d));
  double *stiff, *damp;
  KP_TRY(kp_buffer_get(&d->steps.stiff, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&stiff));
  KP_TRY(kp_buffer_get(&d->steps.damp, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&damp));
  for (size_t p = 0; p < d->parts.count; ++p) {
    int64_t first = d->parts.data[p].nodes.first;
    write_base(order[p], stiff + first, damp + first);
  }
  return KP_OK;
}

// ---- where the nodes are now --------------------------------------------------------------------

static kp_result axis_rows(kp_deform *d, const kp_deform_part *part) {
  kp_deform_axes *t = &d->tets.axes;
  deform_axis_row_args a = { .first = part->axes.first, .n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_axis_row_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet, &t->tet, KP_ACCESS_READ);
  KP_BIND(&call, &a, kind, &t->kind, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &t->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &t->damping, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, out.stiff, &d->steps.row_stiff, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, out.damp, &d->steps.row_damp, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, part->axes.n);
}

static kp_result membrane_rows(kp_deform *d, const kp_deform_part *part) {
  kp_deform_membranes *t = &d->tets.membranes;
  deform_membrane_row_args a = { .first = part->membranes.first, .n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_membrane_row_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet, &t->tet, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, out.stiff, &d->steps.row_stiff, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, out.damp, &d->steps.row_damp, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, part->membranes.n);
}

static kp_result largest_rate(kp_deform *d, const kp_deform_part *part, double *out) {
  KP_TRY(part->axes.n > 0 ? axis_rows(d, part) : KP_OK);
  KP_TRY(part->membranes.n > 0 ? membrane_rows(d, part) : KP_OK);
  deform_node_rate_args a = { .first = part->nodes.first };
  kp_call call;
  kp_call_init(&call, &deform_node_rate_kernel, &a);
  KP_BIND(&call, &a, stiff, &d->steps.stiff, KP_ACCESS_READ);
  KP_BIND(&call, &a, damp, &d->steps.damp, KP_ACCESS_READ);
  KP_BIND(&call, &a, row_stiff, &d->steps.row_stiff, KP_ACCESS_READ);
  KP_BIND(&call, &a, row_damp, &d->steps.row_damp, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet_start, &d->tets.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet_refs, &d->tets.refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, part->nodes.n, out);
}

// The largest factor of the stiffness at the ends of what the world may step; frequencies and rates
// of damping go with its root.
static double strongest(const kp_deform_part *part, const kp_env *env) {
  double most = 1.0;
  for (int k = 0; k < 2 && part->strength.components > 0; ++k) {
    double at = 1.0;
    kp_curve_at(&part->strength, env->time + k * env->simulation.dt_max, &at, NULL);
    most = fmax(most, at);
  }
  return most;
}

kp_result kp_deform_explicit_step(kp_deform *d, const kp_env *env, double *stable,
                                  double *advised) {
  *stable = *advised = HUGE_VAL;
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    if (!kp_deform_is_explicit(d, part->scheme)) {
      continue;
    }
    double limit = part->limit;
    if (part->changes) {
      double rate;
      KP_TRY(largest_rate(d, part, &rate));
      limit = rate > 0.0 ? 1.0 / rate : HUGE_VAL;
    }
    limit /= sqrt(strongest(part, env));
    *stable = fmin(*stable, limit);
    *advised = fmin(*advised, (part->is_damped ? DAMPED_SHARE : UNDAMPED_SHARE) * limit);
  }
  return KP_OK;
}
