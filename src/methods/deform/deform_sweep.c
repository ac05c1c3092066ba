#include "methods/deform/deform_sweep.h"

#include <math.h>

#include "methods/deform/deform_sweep_kernels.h"
#include "par/kernel_define.h"

DEFORM_SWEEP_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define PASSES 8          // corrections of one solve, at most
#define INNER_SHARE 0.95  // of the tolerance that a correction goes to

// ---- a system -----------------------------------------------------------------------------------

// Elastic tetrahedra lie in lanes; the others are evaluated as ever.
kp_result kp_sweep_evaluate(kp_deform *d, const kp_deform_part *part, kp_buffer x[3],
                            double implicit) {
  kp_deform_tets *t = &d->tets;
  kp_backend *backend = d->set->space->backend;
  kp_call call;
  if (part->solids.n > 0) {
    KP_TRY(kp_deform_edges_evaluate(d, part, x));
    blocks_solid_args a = { .first = part->solids.first,
                            .count = part->solids.n,
                            .n = t->solids.n,
                            .implicit = (kp_real)implicit,
                            .strength = (kp_real)part->strength_now };
    kp_call_init(&call, &blocks_solid_kernel, &a);
    KP_BIND(&call, &a, corner, &t->solids.corner, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, &t->solids.rest, KP_ACCESS_READ);
    kp_deform_bind_means(d, part, &call, &a.means);
    KP_BIND(&call, &a, x, &x[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, y, &x[1], KP_ACCESS_READ);
    KP_BIND(&call, &a, z, &x[2], KP_ACCESS_READ);
    KP_BIND(&call, &a, block, &t->block, KP_ACCESS_WRITE);
    KP_BIND(&call, &a, pull, &t->pull, KP_ACCESS_WRITE);
    KP_TRY(kp_call_rows(backend, &call, &t->lanes, (part->solids.n + KP_LANES - 1) / KP_LANES));
  }
  if (part->axes.n > 0) {
    kp_deform_part axes = *part;
    axes.solids.n = axes.membranes.n = 0;
    KP_TRY(kp_deform_tets_evaluate(d, &axes, x, implicit));
    blocks_axis_args a = { .first = part->axes.first, .n = t->axes.n, .place = t->solids.n };
    kp_call_init(&call, &blocks_axis_kernel, &a);
    KP_BIND(&call, &a, slope, &t->axes.slope, KP_ACCESS_READ);
    KP_BIND(&call, &a, force, &t->axes.force, KP_ACCESS_READ);
    KP_BIND(&call, &a, rate, &t->axes.rate, KP_ACCESS_READ);
    KP_BIND(&call, &a, block, &t->block, KP_ACCESS_WRITE);
    KP_BIND(&call, &a, pull, &t->pull, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(backend, &call, part->axes.n));
  }
  if (part->membranes.n > 0) {
    KP_TRY(kp_deform_membranes_evaluate(d, part, x, implicit));
    blocks_membrane_args a = { .first = part->membranes.first,
                               .n = t->membranes.n,
                               .place = t->solids.n + t->axes.n };
    kp_call_init(&call, &blocks_membrane_kernel, &a);
    KP_BIND(&call, &a, state, &t->membranes.state, KP_ACCESS_READ);
    KP_BIND(&call, &a, block, &t->block, KP_ACCESS_WRITE);
    KP_BIND(&call, &a, pull, &t->pull, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(backend, &call, part->membranes.n));
  }
  return KP_OK;
}

static kp_result join_blocks(kp_deform *d, kp_sweep *s, double h) {
  sweep_join_args a = { .h = (kp_real)h };
  kp_call call;
  kp_call_init(&call, &sweep_join_kernel, &a);
  KP_BIND(&call, &a, low, &s->low, KP_ACCESS_READ);
  KP_BIND(&call, &a, high, &s->high, KP_ACCESS_READ);
  KP_BIND(&call, &a, begins, &s->begins, KP_ACCESS_READ);
  KP_BIND(&call, &a, pair_start, &s->pair_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, pair_springs, &s->pair_springs, KP_ACCESS_READ);
  KP_BIND(&call, &a, part_start, &s->part_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, parts, &s->parts, KP_ACCESS_READ);
  KP_BIND(&call, &a, item, &d->tets.block, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &d->springs.direction, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, &d->springs.force, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &d->springs.rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, side, &d->springs.side, KP_ACCESS_READ);
  KP_BIND(&call, &a, block, &s->blocks, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, f, s->has_springs ? &s->pull : NULL, KP_ACCESS_WRITE);
  s->h = h;
  return kp_call_run(d->set->space->backend, &call, s->n_pairs);
}

kp_result kp_sweep_fill(kp_deform *d, kp_sweep *s, double h) {
  if (s->has_blocks) {
    return join_blocks(d, s, h);
  }
  kp_backend *backend = d->set->space->backend;
  sweep_ready_args p = { .h = (kp_real)h };
  kp_call call;
  kp_call_init(&call, &sweep_ready_kernel, &p);
  KP_BIND(&call, &p, pair_start, &s->pair_start, KP_ACCESS_READ);
  KP_BIND(&call, &p, pair_springs, &s->pair_springs, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &p, d, &d->springs.direction, KP_ACCESS_READ);
  KP_BIND(&call, &p, force, &d->springs.force, KP_ACCESS_READ);
  KP_BIND(&call, &p, rate, &d->springs.rate, KP_ACCESS_READ);
  KP_BIND(&call, &p, side, &d->springs.side, KP_ACCESS_READ);
  KP_BIND(&call, &p, record, &s->records, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(backend, &call, s->n_pairs));
  sweep_fill_args a = { 0 };
  kp_call_init(&call, &sweep_fill_kernel, &a);
  KP_BIND(&call, &a, pair, &s->pair, KP_ACCESS_READ);
  KP_BIND(&call, &a, sign, &s->sign, KP_ACCESS_READ);
  KP_BIND(&call, &a, record, &s->records, KP_ACCESS_READ);
  KP_BIND(&call, &a, q, &s->springs, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, f, &s->pull, KP_ACCESS_WRITE);
  s->h = h;
  return kp_call_rows(backend, &call, &s->entries, s->n_entries / SWEEP_SLICE);
}

void kp_sweep_bind_entries(kp_call *call, sweep_entries *e, kp_sweep *s) {
  size_t base = (size_t)((char *)e - (char *)call->args);
  e->slices = s->slices;
  e->has_totals = s->has_wide;
#define BIND_IN(member, buffer)                                                                    \
  kp_call_bind(call, base + offsetof(sweep_entries, member), (buffer), KP_ACCESS_READ)
  BIND_IN(start, &s->start);
  BIND_IN(other, &s->other);
  BIND_IN(run, &s->run);
  BIND_IN(q, s->has_blocks ? NULL : &s->springs);
  BIND_IN(block, s->has_blocks ? &s->blocks : NULL);
  BIND_IN(wide, s->has_wide ? &s->wide : NULL);
  BIND_IN(total, s->has_wide ? &s->total : NULL);
#undef BIND_IN
}

// ---- wide rows ----------------------------------------------------------------------------------

static kp_result fold(kp_sweep *s, kp_backend *backend, const kp_sweep_rows *rows, int items,
                      int used) {
  sweep_fold_args a = { .first = rows->totals.first, .items = items, .used = used };
  kp_call call;
  kp_call_init(&call, &sweep_fold_kernel, &a);
  KP_BIND(&call, &a, start, &s->fold, KP_ACCESS_READ);
  KP_BIND(&call, &a, share, &s->share, KP_ACCESS_READ);
  KP_BIND(&call, &a, total, &s->total, KP_ACCESS_WRITE);
  return kp_call_run(backend, &call, rows->totals.n);
}

// Totals of wide rows at the records x, for the kernel that asks for them next; f: of a pull.
static kp_result share(kp_sweep *s, kp_backend *backend, kp_sweep_rows *rows, int what,
                       kp_buffer *x, kp_buffer *f) {
  if (rows->n_shares == 0) {
    return KP_OK;
  }
  sweep_share_args a = { .what = what, .rows = s->rows };
  kp_call call;
  kp_call_init(&call, &sweep_share_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, owner, &s->owner, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, f, f, KP_ACCESS_READ);
  KP_BIND(&call, &a, share, &s->share, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(backend, &call, &rows->shares, rows->n_shares));
  return fold(s, backend, rows, KP_RECORD, 3);
}

static kp_result share_blocks(kp_sweep *s, kp_backend *backend) {
  if (!s->has_wide) {
    return KP_OK;
  }
  sweep_share_block_args a = { .rows = s->rows };
  kp_call call;
  kp_call_init(&call, &sweep_share_block_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, share, &s->share, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(backend, &call, &s->whole.shares, s->whole.n_shares));
  return fold(s, backend, &s->whole, SWEEP_BOTH, SWEEP_BOTH);
}

kp_result kp_sweep_pull(kp_deform *d, kp_sweep *s, kp_buffer v[3]) {
  kp_backend *backend = d->set->space->backend;
  sweep_collect_args p = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_collect_kernel, &p);
  KP_BIND(&call, &p, node, &s->node, KP_ACCESS_READ);
  KP_BIND(&call, &p, x, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &p, y, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &p, z, &v[2], KP_ACCESS_READ);
  KP_BIND(&call, &p, to, &s->t, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, s->rows));
  KP_TRY(share(s, backend, &s->whole, SWEEP_OF_PULL, &s->t, s->has_springs ? &s->pull : NULL));
  sweep_pull_args a = { .h = (kp_real)s->h };
  kp_call_init(&call, &sweep_pull_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, f, s->has_springs ? &s->pull : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, corner_start, s->has_blocks ? &s->corner_start : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, corner, s->has_blocks ? &s->corner : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, s->has_blocks ? &d->tets.pull : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &s->t, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &s->product, KP_ACCESS_WRITE);
  return kp_call_rows(backend, &call, &s->whole.segments, s->whole.n);
}

kp_result kp_sweep_factor(kp_deform *d, kp_sweep *s, double h, double reach, bool is_again) {
  kp_backend *backend = d->set->space->backend;
  KP_TRY(share_blocks(s, backend));
  sweep_block_args a = { .h = (kp_real)h, .again = is_again };
  kp_call call;
  kp_call_init(&call, &sweep_block_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, node, &s->node, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND(&call, &a, drag, &d->drag, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->outward, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, block, &s->block, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, inverse, &s->inverse, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, own, &s->own, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, half, &s->half, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(backend, &call, &s->whole.segments, s->whole.n));
  return kp_levels_factor(&s->levels, backend, reach, &s->block, &s->own);
}

// ---- sweeps -------------------------------------------------------------------------------------

typedef struct job {
  kp_deform *deform;
  kp_sweep *sweep;
  kp_backend *backend;
} job;

static kp_result over_all(const job *j, kp_call *call) {
  return kp_call_rows(j->backend, call, &j->sweep->whole.segments, j->sweep->whole.n);
}

// Rows of a colour in a sweep with records x, of the side `what`.
static kp_result over_colour(const job *j, kp_call *call, sweep_entries *entries,
                             kp_sweep_rows *rows, int what, kp_buffer *x) {
  entries->has_totals = rows->has_side[what];
  if (rows->has_side[what]) {
    KP_TRY(share(j->sweep, j->backend, rows, what, x, NULL));
  }
  return kp_call_rows(j->backend, call, &rows->segments, rows->n);
}

// t = (D + L^T)^-1 x; `minus` may be NULL.
static kp_result back(const job *j, kp_buffer *x, kp_buffer *t, kp_buffer *minus) {
  kp_sweep *s = j->sweep;
  sweep_back_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_back_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, inverse, &s->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, t, t, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, minus, minus, KP_ACCESS_WRITE);
  for (size_t c = s->colours.count; c-- > 0;) {
    KP_TRY(over_colour(j, &call, &a.entries, &s->colours.data[c], SWEEP_OF_LATER, t));
  }
  return KP_OK;
}

// y = t + (D + L)^-1 x; t may be NULL.
static kp_result forth(const job *j, kp_buffer *x, kp_buffer *t, kp_buffer *y) {
  kp_sweep *s = j->sweep;
  sweep_forth_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_forth_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, inverse, &s->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, t, t, KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &s->w, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y, y, KP_ACCESS_WRITE);
  for (size_t c = 0; c < s->colours.count; ++c) {
    KP_TRY(over_colour(j, &call, &a.entries, &s->colours.data[c], SWEEP_OF_EARLIER, &s->w));
  }
  return KP_OK;
}

static kp_result apply_inner(void *self, kp_buffer *x, kp_buffer *y) {
  const job *j = self;
  KP_TRY(back(j, x, &j->sweep->t, &j->sweep->minus));
  return forth(j, &j->sweep->minus, &j->sweep->t, y);
}

static kp_result weigh(void *self, kp_buffer *r, kp_buffer *u) {
  const job *j = self;
  kp_sweep *s = j->sweep;
  if (s->levels.n_used > 0) {
    return kp_levels_weigh(&s->levels, j->backend, &s->block, &s->half, r, u);
  }
  sweep_weigh_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_weigh_kernel, &a);
  KP_BIND(&call, &a, block, &s->block, KP_ACCESS_READ);
  KP_BIND(&call, &a, r, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, u, KP_ACCESS_WRITE);
  return over_all(j, &call);
}

// A vector of nodes as one of rows.
static kp_result gather(const job *j, kp_buffer *from, kp_buffer *to) {
  kp_sweep *s = j->sweep;
  int64_t n = s->nodes.n, first = s->nodes.first;
  sweep_gather_args a = { .from = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &sweep_gather_kernel, &a);
  KP_BIND(&call, &a, node, &s->node, KP_ACCESS_READ);
  KP_BIND(&call, &a, from.x, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, from.y, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, from.z, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, to, to, KP_ACCESS_OVERWRITE);
  return kp_call_run(j->backend, &call, s->rows);
}

// out = (D + L)^-1 x, or x where no sweeps take out what nodes are not free to do, and its length.
static kp_result enter(const job *j, kp_buffer *x, kp_buffer *out, double *length) {
  bool is_poly = j->sweep->poly.is_used;
  double sums[3];
  KP_TRY(is_poly ? kp_poly_take(j->deform, j->sweep, x, out) : forth(j, x, NULL, out));
  KP_TRY(kp_vector_dots(3 * j->sweep->rows, out, out, out, sums));
  *length = sqrt(sums[2]);
  return KP_OK;
}

// A vector as records.
static kp_result pack(const job *j, kp_buffer *from, kp_buffer *to) {
  sweep_pack_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_pack_kernel, &a);
  KP_BIND(&call, &a, from, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, to, to, KP_ACCESS_OVERWRITE);
  return kp_call_run(j->backend, &call, j->sweep->rows);
}

// product = A u
static kp_result multiply(const job *j, kp_buffer *u) {
  kp_sweep *s = j->sweep;
  KP_TRY(pack(j, u, &s->t));
  KP_TRY(share(s, j->backend, &s->whole, SWEEP_OF_PRODUCT, &s->t, NULL));
  sweep_product_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_product_kernel, &a);
  kp_sweep_bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, own, &s->own, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &s->t, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &s->product, KP_ACCESS_WRITE);
  return over_all(j, &call);
}

// deform->change += (D + L^T)^-1 x, or x
static kp_result leave(const job *j, kp_buffer *x) {
  kp_sweep *s = j->sweep;
  int64_t n = s->nodes.n, first = s->nodes.first;
  KP_TRY(s->poly.is_used ? pack(j, x, &s->t) : back(j, x, &s->t, NULL));
  sweep_scatter_args a = { .first = first,
                           .to = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_buffer *to = &j->deform->change;
  kp_call call;
  kp_call_init(&call, &sweep_scatter_kernel, &a);
  KP_BIND(&call, &a, row, &s->row, KP_ACCESS_READ);
  KP_BIND(&call, &a, from, &s->t, KP_ACCESS_READ);
  KP_BIND(&call, &a, to.x, to, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, to.y, to, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, to.z, to, KP_ACCESS_WRITE);
  return kp_call_run(j->backend, &call, n);
}

// ---- the solve ----------------------------------------------------------------------------------

// The guess, as the best of its line (pcg.h), and product = what it leaves to be done.
static kp_result fit_guess(const job *j) {
  kp_sweep *s = j->sweep;
  int64_t n = 3 * s->rows;
  double sums[3];
  KP_TRY(kp_vector_dots(n, &s->wanted, &s->guess, &s->product, sums));
  double factor = sums[1] > 0.0 && isfinite(sums[0] / sums[1]) ? sums[0] / sums[1] : 0.0;
  KP_TRY(kp_vector_scale(3 * s->nodes.n, factor, &j->deform->change));
  return kp_vector_xpay(n, &s->wanted, -factor, &s->product);
}

kp_result kp_sweep_solve(kp_deform *d, kp_sweep *s) {
  job j = { d, s, d->set->space->backend };
  kp_pcg_report total = { 0 };
  kp_pcg_def how = kp_default_pcg_def();
  how.name = "solids";
  how.n = 3 * s->rows;
  how.apply = apply_inner;
  how.apply_self = &j;
  how.precondition = weigh;
  how.precondition_self = &j;
  how.is_correction = true;
  how.tolerance = INNER_SHARE * d->def.tolerance;
  KP_TRY(gather(&j, &d->right, &s->wanted));
  KP_TRY(enter(&j, &s->wanted, &s->right, &how.right));
  if (!isfinite(how.right)) {
    return kp_fail(KP_ERROR_PHYSICS, "solids: forces are not finite");
  }
  total.right = how.right;
  for (int pass = 0; how.right > 0.0; ++pass) {
    double length;
    KP_TRY(gather(&j, &d->change, &s->guess));
    KP_TRY(multiply(&j, &s->guess));
    KP_TRY(pass == 0 ? fit_guess(&j) : kp_vector_xpay(how.n, &s->wanted, -1.0, &s->product));
    KP_TRY(enter(&j, &s->product, &s->right, &length));
    total.residual = length / how.right;
    total.is_converged = total.residual <= d->def.tolerance;
    how.max_iterations = (int)d->def.iterations - total.iterations;
    if (total.is_converged || pass == PASSES || how.max_iterations <= 0) {
      break;
    }
    KP_TRY(s->poly.is_used ? kp_poly_solve(d, s, how.tolerance, how.right, how.max_iterations)
                           : kp_pcg_solve(&d->pcg, &how, &s->right, &s->change));
    total.iterations += d->pcg.report.iterations;
    total.restarts += pass > 0;
    KP_TRY(leave(&j, &s->change));
  }
  if (how.right == 0.0) {
    KP_TRY(kp_vector_fill(3 * s->nodes.n, 0.0, &d->change));
  }
  d->pcg.report = total;
  return KP_OK;
}
