// Triangles of a membrane: their constants, and the calls of their kernels.
#include <math.h>
#include <string.h>

#include "methods/deform/deform.h"
#include "methods/deform/deform_membrane_kernels.h"
#include "par/kernel_define.h"

DEFORM_MEMBRANE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- constants ----------------------------------------------------------------------------------

// In the frame whose first axis is the edge from the first to the second corner.
static void rest_of(const kp_tet *tet, const kp_vec3 *nodes, double out[MEMBRANE_REST]) {
  kp_vec3 e = kp_vec3_sub(nodes[tet->v[1]], nodes[tet->v[0]]);
  kp_vec3 f = kp_vec3_sub(nodes[tet->v[2]], nodes[tet->v[0]]);
  double length = kp_vec3_length(e), area2 = kp_vec3_length(kp_vec3_cross(e, f));
  double along = kp_vec3_dot(e, f) / length, height = area2 / length;
  out[MEMBRANE_B] = 1.0 / length;
  out[MEMBRANE_B + 1] = -along / area2;
  out[MEMBRANE_B + 2] = 1.0 / height;
  out[MEMBRANE_AREA] = 0.5 * area2;
  out[MEMBRANE_LAMBDA] = tet->stiffness * tet->poisson / (1.0 - tet->poisson * tet->poisson);
  out[MEMBRANE_MU] = tet->stiffness / (2.0 * (1.0 + tet->poisson));
  out[MEMBRANE_TAU] = tet->damping;
}

static kp_result make_room(kp_deform_membranes *t, int64_t n, int32_t **corner, int32_t **tet,
                           kp_real **rest) {
  kp_real *state;
  t->n = n;
  KP_TRY(kp_buffer_room(&t->corner, KP_TYPE_I32, 3 * n, corner));
  KP_TRY(kp_buffer_room(&t->tet, KP_TYPE_I32, n, tet));
  KP_TRY(kp_buffer_room(&t->rest, KP_TYPE_REAL, MEMBRANE_REST * n, rest));
  KP_TRY(kp_buffer_room(&t->state, KP_TYPE_REAL, MEMBRANE_STATE * n, &state));
  memset(state, 0, sizeof *state * (size_t)(MEMBRANE_STATE * n));
  return KP_OK;
}

kp_result kp_deform_fill_membranes(kp_deform *d, const kp_part *const *order) {
  int64_t n = 0;
  for (int64_t t = 0; t < d->tets.n; ++t) {
    n += d->tets.model.data[t].kind == KP_TET_MEMBRANE;
  }
  int32_t *corner, *number;
  kp_real *to;
  KP_TRY(make_room(&d->tets.membranes, n, &corner, &number, &to));
  int64_t m = 0;
  for (size_t p = 0; p < d->parts.count; ++p) {
    kp_deform_part *part = &d->parts.data[p];
    part->membranes.first = m;
    for (int64_t t = part->tets.first; t < part->tets.first + part->tets.n; ++t) {
      if (d->tets.model.data[t].kind != KP_TET_MEMBRANE) {
        continue;
      }
      double rest[MEMBRANE_REST];
      rest_of(&order[p]->tets.data[t - part->tets.first], order[p]->x.data, rest);
      for (int k = 0; k < MEMBRANE_REST; ++k) {
        to[k * n + m] = (kp_real)rest[k];
      }
      for (int c = 0; c < 3; ++c) {
        corner[c * n + m] = (int32_t)d->tets.model.data[t].v[c];
      }
      number[m++] = (int32_t)t;
    }
    part->membranes.n = m - part->membranes.first;
  }
  return KP_OK;
}

// Half the sum of a row of the stiffness, as springs give it (deform_setup.c).
void kp_deform_membrane_limit(const kp_part *part, const kp_tet *tet, double *stiff, double *damp) {
  double rest[MEMBRANE_REST], slopes[3];
  rest_of(tet, part->x.data, rest);
  const double *b = rest + MEMBRANE_B;
  slopes[0] = hypot(b[0], b[1] + b[2]);
  slopes[1] = hypot(b[0], b[1]);
  slopes[2] = b[2];
  double modulus = rest[MEMBRANE_LAMBDA] + 2.0 * rest[MEMBRANE_MU];
  for (int c = 0; c < 3; ++c) {
    double row = rest[MEMBRANE_AREA] * modulus * slopes[c] * (slopes[0] + slopes[1] + slopes[2]);
    stiff[tet->v[c]] += 0.5 * row;
    damp[tet->v[c]] += rest[MEMBRANE_TAU] * row;
  }
}

// ---- calls --------------------------------------------------------------------------------------

kp_result kp_deform_membranes_evaluate(kp_deform *d, const kp_deform_part *part, kp_buffer x[3],
                                       double implicit) {
  kp_deform_membranes *t = &d->tets.membranes;
  deform_membrane_args a = { .first = part->membranes.first,
                             .n = t->n,
                             .implicit = (kp_real)implicit,
                             .turns = d->def.turns ? (kp_real)implicit : 0,
                             .strength = (kp_real)part->strength_now };
  kp_call call;
  kp_call_init(&call, &deform_membrane_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, state, &t->state, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, part->membranes.n);
}

kp_result kp_deform_membranes_pull(kp_deform *d, const kp_deform_group *group,
                                   kp_buffer *const v[3], deform_in view, bool elastic) {
  kp_deform_membranes *t = &d->tets.membranes;
  deform_membrane_pull_args a = { .first = group->membranes.first,
                                  .n = t->n,
                                  .elastic = elastic ? (kp_real)1 : (kp_real)0,
                                  .v = view };
  kp_call call;
  kp_call_init(&call, &deform_membrane_pull_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet, &t->tet, KP_ACCESS_READ);
  KP_BIND(&call, &a, state, &t->state, KP_ACCESS_READ);
  KP_BIND(&call, &a, v.x, v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.y, v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.z, v[2], KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, t, &d->tets.force, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, group->membranes.n);
}

kp_result kp_deform_membranes_diagonal(kp_deform *d, const kp_deform_group *group) {
  deform_membrane_diagonal_args a = { .first = group->membranes.first, .n = d->tets.membranes.n };
  kp_call call;
  kp_call_init(&call, &deform_membrane_diagonal_kernel, &a);
  KP_BIND(&call, &a, tet, &d->tets.membranes.tet, KP_ACCESS_READ);
  KP_BIND(&call, &a, state, &d->tets.membranes.state, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, q, &d->tets.diagonal, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, group->membranes.n);
}

kp_result kp_deform_membranes_rate(kp_deform *d, double *out) {
  kp_deform_membranes *t = &d->tets.membranes;
  deform_membrane_rate_args a = { .n = t->n };
  kp_call call;
  kp_call_init(&call, &deform_membrane_rate_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, t->n, out);
}

kp_result kp_deform_membranes_energy(kp_deform *d, const kp_deform_part *part, double *out) {
  kp_deform_membranes *t = &d->tets.membranes;
  deform_membrane_energy_args a = { .first = part->membranes.first,
                                    .n = t->n,
                                    .strength = (kp_real)part->strength_now };
  kp_call call;
  kp_call_init(&call, &deform_membrane_energy_kernel, &a);
  KP_BIND(&call, &a, corner, &t->corner, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &t->rest, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, part->membranes.n, out);
}
