// Forces of elements and surroundings, and the linear system of an implicit step.
#include <float.h>
#include <math.h>

#include "methods/common/force_field.h"
#include "methods/deform/deform_sweep.h"
#include "methods/deform/deform_sweep_kernels.h"
#include "methods/deform/fabric.h"
#include "par/kernel_define.h"

extern const kp_kernel sweep_push_kernel;

DEFORM_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- vectors ------------------------------------------------------------------------------------

// A vector of the solver holds the group's nodes only: x of all, then y, then z.
static deform_in solver_in(const kp_deform_group *group) {
  int64_t n = group->nodes.n, first = group->nodes.first;
  return (deform_in){ .o = -first, .p = n - first, .q = 2 * n - first };
}

static deform_out solver_out(const kp_deform_group *group) {
  deform_in in = solver_in(group);
  return (deform_out){ .o = in.o, .p = in.p, .q = in.q };
}

// ---- evaluation ---------------------------------------------------------------------------------

static kp_result evaluate_springs(kp_deform *d, const kp_deform_part *part, kp_buffer x[3],
                                  double implicit) {
  kp_deform_springs *s = &d->springs;
  deform_spring_args a = { .first = part->springs.first,
                           .implicit = (kp_real)implicit,
                           .turns = d->def.turns ? (kp_real)implicit : 0,
                           .strength = (kp_real)part->strength_now };
  kp_call call;
  kp_call_init(&call, &deform_spring_kernel, &a);
  KP_BIND(&call, &a, a, &s->a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &s->b, KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &s->rest, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffness, &s->stiffness, KP_ACCESS_READ);
  KP_BIND(&call, &a, compression, &s->compression, KP_ACCESS_READ);
  KP_BIND(&call, &a, damping, &s->damping, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &s->direction, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, force, &s->force, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, rate, &s->rate, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, side, &s->side, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, part->springs.n);
}

static kp_range joined(kp_range a, kp_range b) {
  return (kp_range){ a.n > 0 ? a.first : b.first, a.n + b.n };
}

// `by_rows`: tetrahedra as blocks, for the sweeps of the group.
static kp_result evaluate(kp_deform *d, const kp_deform_group *group, kp_buffer x[3],
                          double implicit, bool by_rows) {
  d->is_filled[group->scheme] = false;
  if (d->sweeps[group->scheme] != NULL) {
    d->sweeps[group->scheme]->h = 0.0;
  }
  for (size_t p = 0; p < d->parts.count;) {
    // parts of one strength are evaluated at once
    kp_deform_part run = d->parts.data[p++];
    if (run.scheme != group->scheme) {
      continue;
    }
    for (; p < d->parts.count; ++p) {
      const kp_deform_part *next = &d->parts.data[p];
      if (next->scheme != run.scheme || next->strength_now != run.strength_now ||
          next->is_beyond_rounding != run.is_beyond_rounding) {
        break;
      }
      run.springs = joined(run.springs, next->springs);
      run.axes = joined(run.axes, next->axes);
      run.solids = joined(run.solids, next->solids);
      run.membranes = joined(run.membranes, next->membranes);
      run.edges = joined(run.edges, next->edges);
    }
    if (run.springs.n > 0) {
      KP_TRY(evaluate_springs(d, &run, x, implicit));
    }
    KP_TRY(by_rows ? kp_sweep_evaluate(d, &run, x, implicit)
                   : kp_deform_tets_evaluate(d, &run, x, implicit));
  }
  KP_TRY(kp_hair_evaluate(d, group, x, implicit));
  return kp_fabric_recall(d, group);
}

kp_result kp_deform_evaluate(kp_deform *d, const kp_deform_group *group, kp_buffer x[3],
                             double implicit) {
  return evaluate(d, group, x, implicit, false);
}

// Tensions at a velocity: of a field (three arrays) or of a vector of the solver.
static kp_result tensions(kp_deform *d, const kp_deform_group *group, kp_buffer *const v[3],
                          deform_in view, bool elastic) {
  kp_deform_springs *s = &d->springs;
  deform_tension_args a = { .first = group->springs.first,
                            .elastic = elastic ? (kp_real)1 : (kp_real)0,
                            .v = view };
  kp_call call;
  kp_call_init(&call, &deform_tension_kernel, &a);
  KP_BIND(&call, &a, a, &s->a, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &s->b, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &s->direction, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, &s->force, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &s->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, v.x, v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.y, v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.z, v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, tension, &s->tension, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(d->set->space->backend, &call, group->springs.n));
  KP_TRY(kp_deform_tets_pull(d, group, v, view, elastic));
  return kp_hair_tensions(d, group, v, view, elastic);
}

// `v`: the velocities whose forces are gathered.
static void bind_gather(kp_call *call, deform_gather *g, kp_deform *d, kp_buffer *const v[3]) {
  kp_deform_springs *s = &d->springs;
  kp_deform_tets *t = &d->tets;
  size_t base = (size_t)((char *)g - (char *)call->args);
  g->turns = d->def.turns;
#define BIND_IN(member, buffer)                                                                    \
  kp_call_bind(call, base + offsetof(deform_gather, member), (buffer), KP_ACCESS_READ)
  BIND_IN(a, &s->a);
  BIND_IN(b, &s->b);
  BIND_IN(side, &s->side);
  BIND_IN(v.x, v[0]);
  BIND_IN(v.y, v[1]);
  BIND_IN(v.z, v[2]);
  BIND_IN(spring_start, &s->start);
  BIND_IN(spring_refs, &s->refs);
  BIND_IN(dx, &s->direction.c[0]);
  BIND_IN(dy, &s->direction.c[1]);
  BIND_IN(dz, &s->direction.c[2]);
  BIND_IN(tension, &s->tension);
  BIND_IN(tet_start, &t->start);
  BIND_IN(tet_refs, &t->refs);
  BIND_IN(tx, &t->force.c[0]);
  BIND_IN(ty, &t->force.c[1]);
  BIND_IN(tz, &t->force.c[2]);
  kp_hair_links *l = &d->hair.links;
  BIND_IN(link_start, &l->start);
  BIND_IN(link_refs, &l->refs);
  BIND_IN(link_weight, &l->weight);
  BIND_IN(link_pull, &l->pull);
#undef BIND_IN
}

static void bind_outer(kp_call *call, deform_outer *o, kp_deform *d, const kp_env *env) {
  size_t base = (size_t)((char *)o - (char *)call->args);
  kp_vec3 g = env->simulation.gravity;
  o->gx = (kp_real)g.x;
  o->gy = (kp_real)g.y;
  o->gz = (kp_real)g.z;
#define BIND_IN(member, buffer)                                                                    \
  kp_call_bind(call, base + offsetof(deform_outer, member), (buffer), KP_ACCESS_READ)
  BIND_IN(mass, &d->mass);
  BIND_IN(slow, &d->slow);
  BIND_IN(drag, &d->drag);
  BIND_IN(nx, &d->outward.c[0]);
  BIND_IN(ny, &d->outward.c[1]);
  BIND_IN(nz, &d->outward.c[2]);
  BIND_IN(wx, &d->wind.c[0]);
  BIND_IN(wy, &d->wind.c[1]);
  BIND_IN(wz, &d->wind.c[2]);
  BIND_IN(ex, &d->extra->buffers[0]);
  BIND_IN(ey, &d->extra->buffers[1]);
  BIND_IN(ez, &d->extra->buffers[2]);
#undef BIND_IN
}

// ---- impulses -----------------------------------------------------------------------------------

// The same where the rows of a solver hold the springs as they are.
static kp_result impulse_by_rows(kp_deform *d, kp_env *env, const kp_deform_group *group,
                                 kp_buffer v[3], bool whole) {
  kp_sweep *s = d->sweeps[group->scheme];
  KP_TRY(kp_sweep_pull(d, s, v));
  sweep_push_args a = {
    .first = group->nodes.first, .h = (kp_real)s->h, .whole = whole, .b = solver_out(group)
  };
  kp_call call;
  kp_call_init(&call, &sweep_push_kernel, &a);
  bind_outer(&call, &a.outer, d, env);
  KP_BIND(&call, &a, row, &s->row, KP_ACCESS_READ);
  KP_BIND(&call, &a, springs, &s->product, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, b.x, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.y, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.z, &d->right, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

kp_result kp_deform_impulse(kp_deform *d, kp_env *env, const kp_deform_group *group, kp_buffer v[3],
                            double h, bool whole) {
  const kp_sweep *sweep = d->sweeps[group->scheme];
  if (sweep != NULL && sweep->h == h) {
    return impulse_by_rows(d, env, group, v, whole);
  }
  kp_buffer *field[3] = { &v[0], &v[1], &v[2] };
  KP_TRY(tensions(d, group, field, (deform_in){ 0 }, true));
  deform_push_args a = {
    .first = group->nodes.first, .h = (kp_real)h, .whole = whole, .b = solver_out(group)
  };
  kp_call call;
  kp_call_init(&call, &deform_push_kernel, &a);
  bind_gather(&call, &a.gather, d, field);
  bind_outer(&call, &a.outer, d, env);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, v.x, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.y, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, v.z, &v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, b.x, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.y, &d->right, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, b.z, &d->right, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

// ---- the implicit step --------------------------------------------------------------------------

typedef struct system_of {
  kp_deform *deform;
  kp_env *env;
  const kp_deform_group *group;
  double h;
  bool is_banded;  // the matrix is that of hairs and their links
  bool is_exact;   // and what is not linked is solved exactly by the decomposition of its hair
} system_of;

static kp_result apply(void *self, kp_buffer *x, kp_buffer *y) {
  const system_of *s = self;
  kp_deform *d = s->deform;
  kp_buffer *vector[3] = { x, x, x };
  KP_TRY(kp_deform_tets_pull(d, s->group, vector, solver_in(s->group), false));
  deform_apply_args a = { .h = (kp_real)s->h, .u = solver_in(s->group), .y = solver_out(s->group) };
  kp_call call;
  kp_call_init(&call, &deform_apply_kernel, &a);
  KP_BIND(&call, &a, rows.start, &d->springs.slice, KP_ACCESS_READ);
  KP_BIND(&call, &a, rows.other, &d->springs.other, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, rows.q, &d->springs.root, KP_ACCESS_READ);
  KP_BIND(&call, &a, rows.qs, d->def.turns ? &d->springs.turning : NULL, KP_ACCESS_READ);
  if (s->group->tets.n > 0) {
    KP_BIND(&call, &a, tet_start, &d->tets.start, KP_ACCESS_READ);
    KP_BIND(&call, &a, tet_refs, &d->tets.refs, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, t, &d->tets.force, KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND(&call, &a, drag, &d->drag, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->outward, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.y, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, u.z, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, y.x, y, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y.y, y, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y.z, y, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(s->env->backend, &call, &d->springs.segments[s->group->scheme],
                      s->group->n_segments));
  return kp_hair_apply(d, s->group, s->h, x, y, y);
}

// q of the rows, from the directions and coefficients of the springs.
static kp_result fill_rows(const system_of *s) {
  kp_deform_springs *springs = &s->deform->springs;
  deform_fill_args a = { .first = s->group->entries.first };
  kp_call call;
  kp_call_init(&call, &deform_fill_kernel, &a);
  KP_BIND(&call, &a, spring, &springs->entry, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &springs->direction, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &springs->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, side, &springs->side, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, q, &springs->root, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, qs, &springs->turning, KP_ACCESS_WRITE);
  return kp_call_run(s->env->backend, &call, s->group->entries.n);
}

// The first guess of the change, as far as nodes are free: what the first solve of the last step
// gave, and for a second one what the first solve of this step gave and both differed by in the
// last step.
static kp_result guess(const system_of *s, int which) {
  kp_deform *d = s->deform;
  deform_guess_args a = { .first = s->group->nodes.first, .d = solver_out(s->group) };
  kp_call call;
  kp_call_init(&call, &deform_guess_kernel, &a);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, d->answer[which], KP_ACCESS_READ);
  if (which == 1) {
    KP_BIND3(&call, &a, a, d->answer[0], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, d.x, &d->change, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, d.y, &d->change, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, d.z, &d->change, KP_ACCESS_WRITE);
  return kp_call_run(s->env->backend, &call, s->group->nodes.n);
}

static kp_result keep_answer(const system_of *s, int which) {
  kp_deform *d = s->deform;
  deform_keep_args a = { .first = s->group->nodes.first, .d = solver_in(s->group) };
  kp_call call;
  kp_call_init(&call, &deform_keep_kernel, &a);
  KP_BIND(&call, &a, d.x, &d->change, KP_ACCESS_READ);
  KP_BIND(&call, &a, d.y, &d->change, KP_ACCESS_READ);
  KP_BIND(&call, &a, d.z, &d->change, KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, d->answer[which], KP_ACCESS_WRITE);
  if (which == 1) {
    KP_BIND3(&call, &a, a, d->answer[0], KP_ACCESS_READ);
  }
  return kp_call_run(s->env->backend, &call, s->group->nodes.n);
}

static kp_result diagonal(const system_of *s) {
  kp_deform *d = s->deform;
  KP_TRY(kp_deform_tets_diagonal(d, s->group));
  deform_diagonal_args a = { .first = s->group->nodes.first,
                             .h = (kp_real)s->h,
                             .inverse = solver_out(s->group) };
  kp_call call;
  kp_call_init(&call, &deform_diagonal_kernel, &a);
  KP_BIND(&call, &a, spring_start, &d->springs.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, spring_refs, &d->springs.refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet_start, &d->tets.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, tet_refs, &d->tets.refs, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &d->springs.direction, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &d->springs.rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, side, &d->springs.side, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, q, &d->tets.diagonal, KP_ACCESS_READ);
  kp_hair_links *l = &d->hair.links;
  KP_BIND(&call, &a, link_start, &l->start, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_refs, &l->refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_weight, &l->weight, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_along, &l->along, KP_ACCESS_READ);
  KP_BIND(&call, &a, link_rate, &l->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND(&call, &a, drag, &d->drag, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->outward, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse.x, &d->inverse, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, inverse.y, &d->inverse, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, inverse.z, &d->inverse, KP_ACCESS_WRITE);
  return kp_call_run(s->env->backend, &call, s->group->nodes.n);
}

// out = v + s d
kp_result kp_deform_kick(kp_deform *d, const kp_deform_group *group, kp_buffer v[3],
                         kp_buffer *change, kp_buffer out[3]) {
  deform_kick_args a = { .first = group->nodes.first, .s = 1, .d = solver_in(group) };
  kp_call call;
  kp_call_init(&call, &deform_kick_kernel, &a);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, vx, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, d.x, change, KP_ACCESS_READ);
  KP_BIND(&call, &a, d.y, change, KP_ACCESS_READ);
  KP_BIND(&call, &a, d.z, change, KP_ACCESS_READ);
  KP_BIND(&call, &a, wx, &out[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &out[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &out[2], KP_ACCESS_WRITE);
  a.by_mass = change == &d->right;
  return kp_call_run(d->set->space->backend, &call, group->nodes.n);
}

static kp_result precondition(void *self, kp_buffer *r, kp_buffer *u) {
  const system_of *s = self;
  return kp_hair_precondition(s->deform, s->group, r, u);
}

static kp_result apply_band(void *self, kp_buffer *x, kp_buffer *y) {
  const system_of *s = self;
  return kp_hair_product(s->deform, s->group, s->h, x, y);
}

static kp_result add_links(void *self, kp_buffer *r, kp_buffer *u, kp_buffer *w) {
  const system_of *s = self;
  return kp_hair_apply(s->deform, s->group, s->h, u, r, w);
}

// By conjugate gradients with the diagonal, or with hairs solved one by one.
static kp_result solve_plainly(system_of *s, bool has_hair) {
  kp_deform *d = s->deform;
  kp_pcg_def how = kp_default_pcg_def();
  how.name = "solids";
  how.n = 3 * s->group->nodes.n;
  how.apply = s->is_banded ? apply_band : apply;
  how.apply_self = s;
  how.inverse_diagonal = &d->inverse;
  if (has_hair) {
    how.precondition = precondition;
    how.precondition_self = s;
    how.add_rest = s->is_exact ? add_links : NULL;
  }
  // what is known of bands by their decomposition alone cannot be multiplied by them: no guess
  how.is_correction = s->is_exact;
  how.has_first = s->is_exact;
  how.looks_early = s->is_exact;
  how.fits_guess = !s->is_exact;
  how.tolerance = d->def.tolerance;
  how.max_iterations = (int)d->def.iterations;
  return kp_pcg_solve(&d->pcg, &how, &d->right, &d->change);
}

// Whether masses are still seen beside the stiffness, which is (2 h/limit)^2 times as large. If
// not, a guess is worse than none, because what rounding leaves of its forces moves the nodes, and
// only differences of velocities keep what moves as a whole.
static double rounding_over_mass(const system_of *s) {
  double rounding = sizeof(kp_real) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
  double ratio = 2.0 * s->h / s->group->limit;
  return rounding * ratio * ratio;
}

static bool is_within_rounding(const system_of *s) {
  return rounding_over_mass(s) < 1.0;
}

#define LOST 0.1     // of the right side: a residual that is no answer
#define DRIFTS 1e-3  // rounding over mass from which on bodies drift that should not

// The system of a group of any elements, and its solution.
static kp_result solve_elements(system_of *s, const kp_deform_stage *stage) {
  kp_deform *d = s->deform;
  bool is_mild = is_within_rounding(s);
  kp_sweep *sweep = is_mild ? d->sweeps[s->group->scheme] : NULL;
  bool is_again = d->is_filled[s->group->scheme];
  if (!is_again) {
    KP_TRY(sweep != NULL ? kp_sweep_fill(d, sweep, s->h) : fill_rows(s));
    d->is_filled[s->group->scheme] = true;
  }
  KP_TRY(kp_deform_impulse(d, s->env, s->group, stage->v, s->h, false));
  KP_TRY(is_mild ? guess(s, stage->which) : kp_vector_fill(3 * s->group->nodes.n, 0.0, &d->change));
  if (sweep != NULL) {
    KP_TRY(kp_sweep_factor(d, sweep, s->h, 2.0 * s->h / s->group->limit, is_again));
    kp_result result = kp_sweep_solve(d, sweep);
    bool is_lost = result == KP_ERROR_PHYSICS ||
                   (!d->pcg.report.is_converged && d->pcg.report.residual > LOST);
    if (!is_lost || s->group->tets.n == 0) {
      return result;
    }
    // Four point/face springs of a flat element have no bound: where some nodes are 1e6 times as
    // stiff as others rounding makes the sums of blocks indefinite. One by one elements are never.
    KP_TRY(evaluate(d, s->group, stage->x, stage->implicit, false));
    KP_TRY(fill_rows(s));
    KP_TRY(kp_deform_impulse(d, s->env, s->group, stage->v, s->h, false));
    KP_TRY(guess(s, stage->which));
  }
  bool has_hair;
  KP_TRY(diagonal(s));
  KP_TRY(kp_hair_factor(d, s->env, s->group, stage, &has_hair));
  return solve_plainly(s, has_hair);
}

// The same of hairs and their links.
static kp_result solve_bands(system_of *s, const kp_deform_stage *stage) {
  kp_deform *d = s->deform;
  KP_TRY(kp_hair_begin(d, s->env, s->group, stage, s->is_exact ? &d->change : NULL));
  KP_TRY(s->is_exact ? KP_OK : guess(s, stage->which));
  return solve_plainly(s, true);
}

kp_result kp_deform_solve(kp_deform *d, kp_env *env, const kp_deform_group *group,
                          const kp_deform_stage *stage) {
  bool is_banded = kp_hair_is_banded(d, group);
  system_of s = { d, env, group, stage->h, is_banded, kp_hair_is_exact(d, group, stage) };
  // the second solve of backward Euler finds the elements as the first one left them
  bool is_same =
      stage->which == 1 && group->scheme == KP_SCHEME_BACKWARD_EULER && d->is_filled[group->scheme];
  d->is_filled[group->scheme] = is_same;
  if (is_banded) {
    KP_TRY(kp_hair_evaluate(d, group, stage->x, stage->implicit));
  } else if (!is_same) {
    bool by_rows = d->sweeps[group->scheme] != NULL && is_within_rounding(&s);
    KP_TRY(evaluate(d, group, stage->x, stage->implicit, by_rows));
  }
  if (s.is_exact && kp_hair_links_of(d, group).n == 0) {
    return kp_hair_solve(d, env, group, stage);
  }
  KP_TRY(is_banded ? solve_bands(&s, stage) : solve_elements(&s, stage));
  KP_TRY(rounding_over_mass(&s) > DRIFTS ? kp_deform_carry(d, group, s.h) : KP_OK);
  d->iterations += d->pcg.report.iterations;
  KP_TRY(s.is_exact ? KP_OK : keep_answer(&s, stage->which));
  return kp_deform_kick(d, group, stage->v, &d->change, stage->out);
}

kp_result kp_deform_explicit(kp_deform *d, kp_env *env, const kp_deform_group *group,
                             kp_buffer v[3], double h, kp_buffer out[3]) {
  // friction needs what forces do along the normals of contacts; kick minds what is held
  KP_TRY(kp_deform_impulse(d, env, group, v, h, true));
  return kp_deform_kick(d, group, v, &d->right, out);
}

// ---- surroundings -------------------------------------------------------------------------------

static kp_result add_user_force(kp_deform *d, kp_env *env) {
  kp_set *set = d->set;
  kp_force_view view = { .set = set->space->name, .n = set->space->n, .time = d->time };
  const kp_pos **x[3] = { &view.x, &view.y, &view.z };
  const kp_real **v[3] = { &view.vx, &view.vy, &view.vz };
  kp_real **a[3] = { &view.ax, &view.ay, &view.az };
  for (int c = 0; c < 3; ++c) {
    *x[c] = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_READ);
    *v[c] = kp_buffer_host(&set->velocity->buffers[c], KP_ACCESS_READ);
    *a[c] = kp_buffer_host(&d->extra->buffers[c], KP_ACCESS_WRITE);
    if (*x[c] == NULL || *v[c] == NULL || *a[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  env->force(&view, env->force_user);
  return KP_OK;
}

// Accelerations from outside: fields, the user's hand, water and contacts of particles.
static kp_result gather_extra(kp_deform *d, kp_env *env) {
  bool fabric = d->fabric != NULL && d->fabric->adds_forces;
  if (env->fields == NULL && env->force == NULL && !fabric) {
    return KP_OK;
  }
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_vector_fill(d->set->space->n, 0.0, &d->extra->buffers[c]));
  }
  for (size_t p = 0; env->fields != NULL && p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    KP_TRY(kp_force_fields_add_to(env->fields, env, part->name, d->set, part->nodes.first,
                                  part->nodes.n, d->extra));
  }
  if (env->force != NULL) {
    KP_TRY(add_user_force(d, env));
  }
  return kp_fabric_forces(d, env);
}

kp_result kp_deform_weather(kp_deform *d, kp_env *env) {
  kp_set *set = d->set;
  KP_TRY(gather_extra(d, env));
  if (!d->has_drag) {
    return KP_OK;
  }
  KP_TRY(kp_deform_blow(d, env));
  deform_normal_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &deform_normal_kernel, &a);
  KP_BIND(&call, &a, start, &d->triangle_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, refs, &d->triangle_refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, ta, &d->triangle[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, tb, &d->triangle[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, tc, &d->triangle[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, drag_per_area, &d->drag_area, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->outward, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, drag, &d->drag, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, set->space->n);
}
