#include "methods/deform/deform_poly.h"

#include <math.h>

#include "methods/deform/deform_poly_kernels.h"
#include "methods/deform/deform_sweep.h"
#include "par/kernel_define.h"

DEFORM_POLY_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)
DEFORM_POLY_TEAM_KERNELS(KP_DEFINE_TEAM)

// Terms of the polynomial; even, so that it ends elsewhere than it begins.
#define TERMS 8
// It damps what lies above (SMOOTHED/TERMS)^2 of the highest eigenvalue: a polynomial of so many
// terms leaves about a fifth of that, and what lies below is left to conjugate gradients.
#define SMOOTHED 1.2

// Nodes of sheets and of solids up to which a card is faster with the polynomial than with sweeps
// (bench/results/nvidia-h200/soft_team.txt).
#define MOST_NODES 8192

_Static_assert(TERMS % 2 == 0, "records of the last term must not be those of the first");

#define N_BUFFERS 7

static void each_buffer(kp_poly *p, kp_buffer *out[N_BUFFERS]) {
  kp_buffer *all[N_BUFFERS] = { &p->hub,  &p->hub_row,  &p->hub_start, &p->hub_tile,
                                &p->sums, &p->hub_sums, &p->report };
  for (int k = 0; k < N_BUFFERS; ++k) {
    out[k] = all[k];
  }
}

void kp_poly_init(kp_poly *p, kp_backend *backend) {
  *p = (kp_poly){ 0 };
  kp_buffer *all[N_BUFFERS];
  each_buffer(p, all);
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_init(all[k], backend);
  }
}

void kp_poly_free(kp_poly *p) {
  kp_buffer *all[N_BUFFERS];
  each_buffer(p, all);
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_free(all[k]);
  }
}

// ---- tables -------------------------------------------------------------------------------------

// Slices of shares from `from` on that have one owner and make one tile.
static int64_t tile_end(const int32_t *owner, int64_t n, int64_t from) {
  int64_t k = from;
  while (k < n && owner[k] == owner[from] && k - from < KP_TEAM_TILE / SWEEP_SLICE) {
    ++k;
  }
  return k;
}

static kp_result list_hubs(kp_poly *p, kp_sweep *s) {
  int64_t n = s->whole.n_shares, n_slices = s->rows / SWEEP_SLICE, n_tiles = 0;
  const int32_t *owner;
  int32_t *hub, *row, *start, *tile;
  KP_TRY(kp_buffer_get(&s->owner, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&owner));
  KP_TRY(kp_buffer_room(&p->hub, KP_TYPE_I32, n_slices, &hub));
  for (int64_t k = 0; k < n_slices; ++k) {
    hub[k] = -1;
  }
  p->n_hubs = 0;
  for (int64_t k = 0; k < n; ++k) {
    p->n_hubs += k == 0 || owner[k] != owner[k - 1];
  }
  KP_TRY(kp_buffer_room(&p->hub_row, KP_TYPE_I32, p->n_hubs, &row));
  KP_TRY(kp_buffer_room(&p->hub_start, KP_TYPE_I32, p->n_hubs + 1, &start));
  KP_TRY(kp_buffer_room(&p->hub_tile, KP_TYPE_I32, 2 * n, &tile));
  int32_t h = 0;
  for (int64_t k = 0; k < n; k = tile_end(owner, n, k)) {
    if (k == 0 || owner[k] != owner[k - 1]) {
      hub[owner[k] / SWEEP_SLICE] = h;
      row[h] = owner[k];
      start[h++] = (int32_t)n_tiles;
    }
    tile[2 * n_tiles] = (int32_t)(n_slices + k);
    tile[2 * n_tiles + 1] = (int32_t)(n_slices + tile_end(owner, n, k));
    ++n_tiles;
  }
  start[h] = (int32_t)n_tiles;
  p->n_tiles += n_tiles;
  return kp_buffer_room(&p->hub_sums, KP_TYPE_F64, 3 * n_tiles, &(void *){ NULL });
}

// Bodies of edges are seven times as fast with it at 30 thousand nodes. In sheets and solids sweeps
// need fewer products, and levels hold the number of their iterations where that of the polynomial
// grows with the resolution.
static bool is_worth_it(const kp_sweep *s, const kp_backend *backend) {
  bool is_of_edges = s->has_wide && !s->has_blocks;
  return backend->vt->kind == KP_BACKEND_CUDA && (is_of_edges || s->nodes.n <= MOST_NODES);
}

kp_result kp_poly_make(kp_deform *d, kp_sweep *s, kp_backend *backend) {
  kp_poly *p = &s->poly;
  p->is_used = d->def.solver == KP_SOLVER_POLYNOMIAL ||
               (d->def.solver == KP_SOLVER_AUTO && is_worth_it(s, backend));
  if (!p->is_used) {
    return KP_OK;
  }
  p->n_tiles = kp_team_tiles(s->rows);
  if (s->has_wide) {
    KP_TRY(list_hubs(p, s));
  }
  void *unused;
  KP_TRY(kp_buffer_room(&p->report, KP_TYPE_F64, POLY_REPORT, &unused));
  return kp_buffer_room(&p->sums, KP_TYPE_F64, POLY_SUMS * kp_team_tiles(s->rows), &unused);
}

// ---- the solve ----------------------------------------------------------------------------------

static void bind_freedom(kp_call *call, poly_freedom *is, kp_deform *d, kp_sweep *s) {
  char *args = call->args;
  kp_buffer *buffers[] = { &s->node, &d->hold, &d->normal.c[0], &d->normal.c[1], &d->normal.c[2] };
  const void *members[] = { &is->node, &is->hold, &is->cx, &is->cy, &is->cz };
  for (int k = 0; k < 5; ++k) {
    kp_call_bind(call, (size_t)((const char *)members[k] - args), buffers[k], KP_ACCESS_READ);
  }
}

kp_result kp_poly_take(kp_deform *d, kp_sweep *s, kp_buffer *x, kp_buffer *out) {
  poly_take_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &poly_take_kernel, &a);
  bind_freedom(&call, &a.is, d, s);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, out, KP_ACCESS_WRITE);
  return kp_call_rows(d->set->space->backend, &call, &s->whole.segments, s->whole.n);
}

static kp_result launch(kp_deform *d, kp_sweep *s, poly_solve_args *a) {
  kp_poly *p = &s->poly;
  bool has_hubs = p->n_hubs > 0;
  kp_call call;
  kp_call_init(&call, &poly_solve_kernel, a);
  kp_sweep_bind_entries(&call, &a->entries, s);
  a->entries.has_totals = 0;
  bind_freedom(&call, &a->is, d, s);
  KP_BIND(&call, a, hub, has_hubs ? &p->hub : NULL, KP_ACCESS_READ);
  KP_BIND(&call, a, hub_row, has_hubs ? &p->hub_row : NULL, KP_ACCESS_READ);
  KP_BIND(&call, a, hub_start, has_hubs ? &p->hub_start : NULL, KP_ACCESS_READ);
  KP_BIND(&call, a, hub_tile, has_hubs ? &p->hub_tile : NULL, KP_ACCESS_READ);
  KP_BIND(&call, a, inverse, &s->inverse, KP_ACCESS_READ);
  KP_BIND(&call, a, own, &s->own, KP_ACCESS_READ);
  KP_BIND(&call, a, r, &s->right, KP_ACCESS_WRITE);
  KP_BIND(&call, a, x, &s->change, KP_ACCESS_WRITE);
  KP_BIND(&call, a, p, &d->pcg.p, KP_ACCESS_WRITE);
  KP_BIND(&call, a, s, &d->pcg.s, KP_ACCESS_WRITE);
  KP_BIND(&call, a, w, &d->pcg.w, KP_ACCESS_WRITE);
  KP_BIND(&call, a, d, &s->minus, KP_ACCESS_WRITE);
  KP_BIND(&call, a, u[0], &s->t, KP_ACCESS_WRITE);
  KP_BIND(&call, a, u[1], &s->w, KP_ACCESS_WRITE);
  KP_BIND(&call, a, sums, &p->sums, KP_ACCESS_WRITE);
  KP_BIND(&call, a, hub_sums, has_hubs ? &p->hub_sums : NULL, KP_ACCESS_WRITE);
  KP_BIND(&call, a, report, &p->report, KP_ACCESS_WRITE);
  return kp_call_team(d->set->space->backend, &call, p->n_tiles);
}

kp_result kp_poly_solve(kp_deform *d, kp_sweep *s, double tolerance, double length,
                        int max_iterations) {
  // elements of four nodes may reach four times the blocks of their nodes, springs twice
  double highest = s->has_blocks ? 4.0 : 2.0, enough = tolerance * length;
  poly_solve_args a = { .rows = s->rows,
                        .n_hubs = s->poly.n_hubs,
                        .n_terms = TERMS,
                        .max_iterations = max_iterations,
                        .lowest = highest * (SMOOTHED / TERMS) * (SMOOTHED / TERMS),
                        .highest = highest,
                        .enough = enough * enough };
  kp_buffer *vectors[] = { &d->pcg.p, &d->pcg.s, &d->pcg.w };
  for (size_t k = 0; k < sizeof vectors / sizeof vectors[0]; ++k) {
    KP_TRY(kp_vector_resize(vectors[k], 3 * s->rows));
  }
  KP_TRY(launch(d, s, &a));
  const double *report;
  KP_TRY(kp_buffer_get(&s->poly.report, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&report));
  kp_pcg_report *out = &d->pcg.report;
  *out = (kp_pcg_report){ .iterations = (int)report[0],
                          .applications = (int)report[0] + 1,
                          .residual = sqrt(report[1]) / length,
                          .right = length };
  out->is_converged = report[1] <= a.enough;
  if (report[2] == POLY_NOT_FINITE) {
    return kp_fail(KP_ERROR_PHYSICS, "solids: numbers stopped being finite after %d iterations",
                   out->iterations);
  }
  // after some iterations it is the residual that has lost its digits: the caller asks for another
  if (report[2] == POLY_NOT_DEFINITE && out->iterations == 0) {
    return kp_fail(KP_ERROR_PHYSICS, "solids: the system is not positive definite");
  }
  return KP_OK;
}
