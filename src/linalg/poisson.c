#include "linalg/poisson.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "linalg/multigrid.h"
#include "linalg/pockets.h"
#include "linalg/poisson_kernels.h"
#include "linalg/relaxed.h"
#include "par/kernel_define.h"

POISSON_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

#define CARD_RUNS (1 << 17)  // items
#define SOR_SWEEPS 10        // between looks at the residual

struct kp_poisson {
  kp_mac *mac;
  kp_poisson_def def;
  char name[KP_NAME_SIZE];
  kp_pcg pcg;
  kp_multigrid *multigrid;  // NULL for other solvers
  kp_pockets pockets;
  double pattern[2];            // of what the pockets were found in
  kp_buffer low;                // what the answer cannot hold of p
  kp_buffer inverse_diagonal;   // of A, or of the incomplete factor
  kp_buffer work[2];            // of SOR: residual and correction
  kp_poisson_system system;     // of the last solve
  const kp_poisson_system *of;  // that of the present one
  bool has_matrix;              // diagonal, factor or levels are those of the system
  poisson_grid grid;            // all items
  poisson_grid box;             // those inside the window
  int64_t first, n;             // flat range of the window
  uint64_t window_revision;
  kp_real scale;  // 1/h^2
};

kp_poisson_def kp_default_poisson_def(void) {
  return (kp_poisson_def){ .name = "pressure",
                           .lattice = KP_MAC_CELL,
                           .solver = KP_POISSON_MULTIGRID,
                           .tolerance = 1e-6,
                           .max_iterations = 200,
                           .relaxation = 1.7 };
}

// ---- layout

static bool is_flat(const kp_poisson *p) {
  return p->mac->view.dimension == 2;
}

// Items of the lattice along an axis inside the window; see range_of in mac.c.
static void set_ranges(kp_poisson *p) {
  const kp_mac_view *g = &p->mac->view;
  int32_t last[3];
  p->grid = (poisson_grid){ .row = g->row, .slab = is_flat(p) ? 0 : g->slab, .start = g->start };
  p->box = p->grid;
  for (int c = 0; c < 3; ++c) {
    bool has_end = (int)p->def.lattice == c && !g->is_periodic[c];
    p->grid.n[c] = g->n[c] + (has_end ? 1 : 0);
    p->box.n[c] = p->mac->window_hi[c] - p->mac->window_lo[c] + (has_end ? 1 : 0);
    last[c] = p->mac->window_lo[c] + p->box.n[c] - 1;
  }
  p->first = kp_mac_at(g, p->mac->window_lo[0], p->mac->window_lo[1], p->mac->window_lo[2]);
  p->box.start = (int32_t)p->first;
  p->n = kp_mac_at(g, last[0], last[1], last[2]) + 1 - p->first;
}

static kp_result rows(kp_poisson *p, kp_call *call) {
  return kp_mac_rows(p->mac, p->def.lattice, call);
}

// Only where unknowns are, once that is known.
static kp_result runs(kp_poisson *p, kp_call *call) {
  if (p->multigrid == NULL || !p->has_matrix) {
    return rows(p, call);
  }
  return kp_call_rows(p->mac->backend, call, kp_multigrid_runs(p->multigrid),
                      p->mac->n_segments[p->def.lattice]);
}

// One layer around the window across an axis.
static kp_result border(kp_poisson *p, int axis, poisson_border_kind kind, kp_buffer *values) {
  poisson_border_args a = { .grid = p->box, .axis = axis, .kind = (int32_t)kind };
  kp_call call;
  kp_call_init(&call, &poisson_border_kernel, &a);
  KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
  int64_t n_lines = (int64_t)p->box.n[0] * p->box.n[1] * p->box.n[2] / p->box.n[axis];
  return kp_call_run(p->mac->backend, &call, n_lines);
}

// Images across periodic axes for the operator to read.
static kp_result wrap(kp_poisson *p, kp_buffer *values) {
  for (int axis = 0; axis < p->mac->view.dimension; ++axis) {
    if (p->mac->view.is_periodic[axis]) {
      KP_TRY(border(p, axis, POISSON_BORDER_IMAGE, values));
    }
  }
  return KP_OK;
}

// ---- the operator

#define BIND_MATRIX(call, args, system)                                                            \
  do {                                                                                             \
    KP_BIND((call), (args), flags, (system)->flags, KP_ACCESS_READ);                               \
    KP_BIND((call), (args), cx, (system)->faces[0], KP_ACCESS_READ);                               \
    KP_BIND((call), (args), cy, (system)->faces[1], KP_ACCESS_READ);                               \
    KP_BIND((call), (args), cz, (args)->grid.slab ? (system)->faces[2] : NULL, KP_ACCESS_READ);    \
    KP_BIND((call), (args), extra, (system)->extra, KP_ACCESS_READ);                               \
  } while (0)

static kp_result apply(void *self, kp_buffer *x, kp_buffer *y) {
  kp_poisson *p = self;
  KP_TRY(wrap(p, x));
  poisson_apply_args a = { .grid = p->grid, .scale = p->scale };
  kp_call call;
  kp_call_init(&call, &poisson_apply_kernel, &a);
  BIND_MATRIX(&call, &a, p->of);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, y, KP_ACCESS_WRITE);
  return runs(p, &call);
}

// r = b - A (answer + low). The iteration adds to low alone; here it goes over to the answer.
static kp_result residual(void *self, kp_buffer *b, kp_buffer *low, kp_buffer *r) {
  kp_poisson *p = self;
  poisson_join_args j = { .grid = p->grid };
  kp_call call;
  kp_call_init(&call, &poisson_join_kernel, &j);
  KP_BIND(&call, &j, x, p->of->answer, KP_ACCESS_WRITE);
  KP_BIND(&call, &j, low, low, KP_ACCESS_WRITE);
  KP_TRY(runs(p, &call));
  KP_TRY(wrap(p, p->of->answer));
  KP_TRY(wrap(p, low));
  poisson_residual_args a = { .grid = p->grid, .scale = p->scale };
  kp_call_init(&call, &poisson_residual_kernel, &a);
  BIND_MATRIX(&call, &a, p->of);
  KP_BIND(&call, &a, b, b, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, p->of->answer, KP_ACCESS_READ);
  KP_BIND(&call, &a, low, low, KP_ACCESS_READ);
  KP_BIND(&call, &a, r, r, KP_ACCESS_WRITE);
  KP_TRY(runs(p, &call));
  // rounding leaves a little of the null space, which the preconditioner would blow up
  return kp_pockets_project(&p->pockets, r, NULL);
}

static kp_result make_diagonal(kp_poisson *p) {
  poisson_diagonal_args a = { .grid = p->grid, .scale = p->scale };
  memcpy(a.is_periodic, p->mac->view.is_periodic, sizeof a.is_periodic);
  kp_call call;
  kp_call_init(&call, &poisson_diagonal_kernel, &a);
  BIND_MATRIX(&call, &a, p->of);
  KP_BIND(&call, &a, inverse, &p->inverse_diagonal, KP_ACCESS_WRITE);
  return rows(p, &call);
}

// ---- regions without a given pressure

// Regions are sought again only when what is connected changed.
static kp_result find_pockets(kp_poisson *p) {
  kp_mac *mac = p->mac;
  poisson_pattern_args a = { .grid = p->grid, .first = p->first };
  kp_call call;
  kp_call_init(&call, &poisson_pattern_kernel, &a);
  BIND_MATRIX(&call, &a, p->of);
  double pattern[2];
  KP_TRY(kp_call_reduce(mac->backend, &call, p->n, pattern));
  if (p->pockets.first == p->first && p->pockets.n_flat == p->n &&
      memcmp(pattern, p->pattern, sizeof pattern) == 0) {
    return KP_OK;
  }
  memcpy(p->pattern, pattern, sizeof pattern);
  kp_pockets_system s = { .box = p->box,
                          .first = p->first,
                          .n = p->n,
                          .length = mac->view.count,
                          .flags = p->of->flags,
                          .faces = { p->of->faces[0], p->of->faces[1], p->of->faces[2] },
                          .extra = p->of->extra,
                          .segments = &mac->segments[p->def.lattice],
                          .n_segments = mac->n_segments[p->def.lattice] };
  for (int c = 0; c < 3; ++c) {
    s.lo[c] = mac->window_lo[c];
    s.is_periodic[c] = mac->view.is_periodic[c];
  }
  return kp_pockets_find(&p->pockets, &s);
}

static kp_result measure(kp_poisson *p, double *right2, double *n) {
  poisson_measure_args a = { .first = p->first };
  kp_call call;
  kp_call_init(&call, &poisson_measure_kernel, &a);
  KP_BIND(&call, &a, flags, p->of->flags, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, p->of->right, KP_ACCESS_READ);
  double v[2];
  KP_TRY(kp_call_reduce(p->mac->backend, &call, p->n, v));
  *right2 = v[0];
  *n = v[1];
  if (!isfinite(v[0])) {
    return kp_fail(KP_ERROR_PHYSICS, "%s: the right side is not finite", p->name);
  }
  return KP_OK;
}

// ---- a solve

static kp_result prepare(kp_poisson *p) {
  kp_mac *mac = p->mac;
  const kp_poisson_system *s = p->of;
  set_ranges(p);
  if (p->window_revision != mac->window_revision) {
    KP_TRY(kp_vector_fill(mac->view.count, 0.0, &p->low));
    KP_TRY(kp_vector_fill(mac->view.count, 0.0, &p->inverse_diagonal));
    p->window_revision = mac->window_revision;
  }
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    if (mac->view.is_periodic[axis]) {
      KP_TRY(border(p, axis, POISSON_BORDER_UPPER, s->faces[axis]));
    }
  }
  return KP_OK;
}

// The first guess: nothing where there is no unknown.
static kp_result begin_answer(kp_poisson *p) {
  kp_mac *mac = p->mac;
  const kp_poisson_system *s = p->of;
  for (int axis = 0; axis < mac->view.dimension; ++axis) {
    if (!mac->view.is_periodic[axis]) {
      KP_TRY(border(p, axis, POISSON_BORDER_ZERO, s->answer));
    }
  }
  poisson_mask_args a = { .grid = p->grid };
  kp_call call;
  kp_call_init(&call, &poisson_mask_kernel, &a);
  KP_BIND(&call, &a, flags, s->flags, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, s->answer, KP_ACCESS_WRITE);
  KP_TRY(rows(p, &call));
  return kp_vector_fill(mac->view.count, 0.0, &p->low);
}

// ---- baselines, item by item

static kp_result get(kp_buffer *buffer, kp_access access, void *out) {
  *(void **)out = NULL;
  return buffer ? kp_buffer_get(buffer, KP_SIDE_HOST, access, out) : KP_OK;
}

static kp_result get_matrix(kp_poisson *p, kp_relaxed_matrix *m) {
  const kp_poisson_system *s = p->of;
  *m = (kp_relaxed_matrix){ .grid = p->box, .scale = p->scale };
  memcpy(m->is_periodic, p->mac->view.is_periodic, sizeof m->is_periodic);
  KP_TRY(get(s->flags, KP_ACCESS_READ, (void *)&m->flags));
  KP_TRY(get(s->faces[0], KP_ACCESS_READ, (void *)&m->cx));
  KP_TRY(get(s->faces[1], KP_ACCESS_READ, (void *)&m->cy));
  KP_TRY(get(is_flat(p) ? NULL : s->faces[2], KP_ACCESS_READ, (void *)&m->cz));
  return get(s->extra, KP_ACCESS_READ, (void *)&m->extra);
}

static kp_result factorise(kp_poisson *p) {
  kp_relaxed_matrix m;
  kp_real *inverse;
  KP_TRY(get_matrix(p, &m));
  KP_TRY(get(&p->inverse_diagonal, KP_ACCESS_WRITE, (void *)&inverse));
  kp_relaxed_factor(&m, inverse);
  return KP_OK;
}

static kp_result precondition_ic(void *self, kp_buffer *r, kp_buffer *u) {
  kp_poisson *p = self;
  kp_relaxed_matrix m;
  const kp_real *inverse;
  const kp_real *in;
  kp_real *out;
  KP_TRY(get_matrix(p, &m));
  KP_TRY(get(&p->inverse_diagonal, KP_ACCESS_READ, (void *)&inverse));
  KP_TRY(get(r, KP_ACCESS_READ, (void *)&in));
  KP_TRY(get(u, KP_ACCESS_WRITE, (void *)&out));
  kp_relaxed_precondition(&m, inverse, in, out);
  return KP_OK;
}

static kp_result sweep(kp_poisson *p, int n_sweeps) {
  kp_relaxed_matrix m;
  const kp_real *inverse;
  const kp_real *b;
  kp_real *x;
  KP_TRY(get_matrix(p, &m));
  KP_TRY(get(&p->inverse_diagonal, KP_ACCESS_READ, (void *)&inverse));
  KP_TRY(get(&p->work[0], KP_ACCESS_READ, (void *)&b));
  KP_TRY(get(&p->work[1], KP_ACCESS_WRITE, (void *)&x));
  for (int k = 0; k < n_sweeps; ++k) {
    kp_relaxed_sweep(&m, (kp_real)p->def.relaxation, inverse, b, x);
  }
  return KP_OK;
}

// work[0] = r, and |r| over |b|.
static kp_result look_at_residual(kp_poisson *p, double tolerance, double right,
                                  kp_poisson_report *report) {
  KP_TRY(residual(p, p->of->right, &p->low, &p->work[0]));
  double rr;
  KP_TRY(kp_vector_dot(p->mac->view.count, &p->work[0], &p->work[0], &rr));
  report->residual = sqrt(rr) / right;
  report->is_converged = report->residual <= tolerance;
  return isfinite(rr) ? KP_OK
                      : kp_fail(KP_ERROR_PHYSICS, "%s: the residual is not finite", p->name);
}

// A few sweeps at a time on what is left to solve for: the same as sweeps on the answer, but for
// rounding.
static kp_result relax(kp_poisson *p, double tolerance, double right, kp_poisson_report *report) {
  int64_t count = p->mac->view.count;
  KP_TRY(make_diagonal(p));
  KP_TRY(look_at_residual(p, tolerance, right, report));
  while (!report->is_converged && report->iterations < p->def.max_iterations) {
    int left = p->def.max_iterations - report->iterations;
    int n_sweeps = left < SOR_SWEEPS ? left : SOR_SWEEPS;
    KP_TRY(kp_vector_fill(count, 0.0, &p->work[1]));
    KP_TRY(sweep(p, n_sweeps));
    KP_TRY(kp_vector_axpy(count, 1.0, &p->work[1], &p->low));
    report->iterations += n_sweeps;
    KP_TRY(look_at_residual(p, tolerance, right, report));
  }
  return KP_OK;
}

// ---- conjugate gradients

static kp_result precondition(void *self, kp_buffer *r, kp_buffer *u) {
  kp_poisson *p = self;
  return kp_multigrid_cycle(p->multigrid, r, u);
}

static kp_result build_levels(kp_poisson *p) {
  kp_mac *mac = p->mac;
  kp_multigrid_fine fine = { .grid = p->grid,
                             .revision = mac->window_revision,
                             .scale = p->scale,
                             .faces = { p->of->faces[0], p->of->faces[1],
                                        is_flat(p) ? NULL : p->of->faces[2] },
                             .extra = p->of->extra,
                             .inverse = &p->inverse_diagonal,
                             .segments = &mac->segments[p->def.lattice],
                             .n_segments = mac->n_segments[p->def.lattice] };
  for (int c = 0; c < 3; ++c) {
    fine.lo[c] = mac->window_lo[c];
    fine.hi[c] = mac->window_lo[c] + p->box.n[c];
    fine.is_periodic[c] = mac->view.is_periodic[c];
  }
  return kp_multigrid_build(p->multigrid, &fine);
}

// What the preconditioner needs of the matrix.
static kp_result make_matrix(kp_poisson *p) {
  if (p->has_matrix) {
    return KP_OK;
  }
  p->has_matrix = true;
  if (p->def.solver == KP_POISSON_IC) {
    return factorise(p);
  }
  if (p->def.solver != KP_POISSON_CG) {
    KP_TRY(make_diagonal(p));
  }
  if (p->multigrid == NULL) {
    return KP_OK;
  }
  // what an earlier solve left outside the runs of this one
  kp_buffer *written[] = { &p->pcg.u, &p->pcg.w, &p->pcg.r };
  for (int k = 0; k < 3; ++k) {
    KP_TRY(kp_vector_fill((int64_t)(written[k]->used / sizeof(kp_real)), 0.0, written[k]));
  }
  return build_levels(p);
}

// Vectors are visited by the runs of rows that hold unknowns where these are few. A thread of a
// card would go along a run, which pays for short vectors alone.
static kp_pcg_runs runs_of(kp_poisson *p, int64_t n_unknowns) {
  kp_mac *mac = p->mac;
  bool is_card = mac->backend->vt->kind == KP_BACKEND_CUDA;
  kp_pcg_runs all = { .list = NULL };
  if (p->multigrid == NULL || 2 * n_unknowns > p->n || (is_card && p->n > CARD_RUNS)) {
    return all;
  }
  return (kp_pcg_runs){ .list = kp_multigrid_runs(p->multigrid),
                        .n = mac->n_segments[p->def.lattice],
                        .start = p->grid.start,
                        .row = p->grid.row,
                        .slab = p->grid.slab };
}

static kp_result conjugate_gradients(kp_poisson *p, double tolerance, double right,
                                     kp_poisson_report *report) {
  kp_pcg_def def = kp_default_pcg_def();
  def.name = p->name;
  def.first = p->first;
  def.n = p->n;
  def.length = p->mac->view.count;
  def.apply = apply;
  def.apply_self = p;
  def.residual = residual;
  def.tolerance = tolerance;
  def.max_iterations = p->def.max_iterations;
  def.right = right;
  def.precondition_self = p;
  KP_TRY(make_matrix(p));
  if (p->def.solver == KP_POISSON_IC) {
    def.precondition = precondition_ic;
  } else if (p->def.solver != KP_POISSON_CG) {
    def.inverse_diagonal = &p->inverse_diagonal;
  }
  if (p->multigrid != NULL) {
    def.precondition = precondition;
    def.runs = runs_of(p, report->n_cells);
  }
  KP_TRY(kp_pcg_solve(&p->pcg, &def, p->of->right, &p->low));
  report->n_levels = p->multigrid ? kp_multigrid_n_levels(p->multigrid) : 1;
  report->iterations = p->pcg.report.iterations;
  report->is_converged = p->pcg.report.is_converged;
  report->residual = p->pcg.report.residual;
  return KP_OK;
}

static kp_result find_worst(kp_poisson *p, double *worst) {
  poisson_worst_args a = { .first = p->first };
  kp_call call;
  kp_call_init(&call, &poisson_worst_kernel, &a);
  kp_buffer *r = p->def.solver == KP_POISSON_SOR ? &p->work[0] : &p->pcg.r;
  KP_BIND(&call, &a, r, r, KP_ACCESS_READ);
  return kp_call_reduce(p->mac->backend, &call, p->n, worst);
}

static kp_result solve_right(kp_poisson *p, double tolerance, kp_poisson_report *report) {
  const kp_poisson_system *system = p->of;
  KP_TRY(begin_answer(p));
  double before;
  double right2;
  double n;
  KP_TRY(measure(p, &before, &n));
  right2 = before;
  if (p->pockets.n > 0) {
    KP_TRY(kp_pockets_project(&p->pockets, system->right, NULL));
    KP_TRY(measure(p, &right2, &n));
  }
  report->n_cells = (int64_t)n;
  report->n_pockets = (int)p->pockets.n;
  // what rounding leaves of a right side that only the null space had is nothing
  double floor = (sizeof(kp_real) == 4 ? 1e-13 : 1e-30) * before;
  if (right2 <= floor) {
    report->is_converged = true;
    return kp_vector_fill(p->mac->view.count, 0.0, system->answer);
  }
  double right = sqrt(right2);
  KP_TRY(p->def.solver == KP_POISSON_SOR ? relax(p, tolerance, right, report)
                                         : conjugate_gradients(p, tolerance, right, report));
  KP_TRY(find_worst(p, &report->worst));
  return kp_pockets_project(&p->pockets, system->answer, &p->low);
}

kp_result kp_poisson_solve(kp_poisson *p, const kp_poisson_system *system,
                           kp_poisson_report *report) {
  *report = (kp_poisson_report){ 0 };
  p->system = *system;
  p->of = &p->system;
  p->has_matrix = false;
  KP_TRY(prepare(p));
  KP_TRY(find_pockets(p));
  return solve_right(p, p->def.tolerance, report);
}

kp_result kp_poisson_solve_next(kp_poisson *p, kp_buffer *right, kp_buffer *answer,
                                double tolerance, kp_poisson_report *report) {
  *report = (kp_poisson_report){ 0 };
  KP_ASSERT(p->of != NULL);
  p->system.right = right;
  p->system.answer = answer;
  return solve_right(p, tolerance, report);
}

kp_buffer *kp_poisson_rest(kp_poisson *p) {
  return &p->low;
}

// ---- life

// Item by item is no way for a card.
static kp_result check_solver(const kp_mac *mac, const kp_poisson_def *def) {
  bool is_serial = def->solver == KP_POISSON_IC || def->solver == KP_POISSON_SOR;
  if (is_serial && mac->backend->vt->kind == KP_BACKEND_CUDA) {
    return kp_fail(KP_ERROR_SCENE,
                   "%s: solver \"%s\" goes cell by cell and does not run on backend cuda; choose "
                   "multigrid, jacobi or cg, or backend cpu",
                   def->name, def->solver == KP_POISSON_IC ? "ic" : "sor");
  }
  return KP_OK;
}

static kp_result make_room(kp_poisson *p) {
  KP_TRY(kp_mac_scratch(p->mac, KP_TYPE_REAL, &p->low));
  KP_TRY(kp_mac_scratch(p->mac, KP_TYPE_REAL, &p->inverse_diagonal));
  if (p->def.solver == KP_POISSON_SOR) {
    KP_TRY(kp_mac_scratch(p->mac, KP_TYPE_REAL, &p->work[0]));
    return kp_mac_scratch(p->mac, KP_TYPE_REAL, &p->work[1]);
  }
  return p->def.solver == KP_POISSON_MULTIGRID ? kp_multigrid_create(p->mac->backend, &p->multigrid)
                                               : KP_OK;
}

kp_result kp_poisson_create(kp_mac *mac, const kp_poisson_def *def, kp_poisson **out) {
  *out = NULL;
  KP_TRY(check_solver(mac, def));
  kp_poisson *p = kp_alloc_zero(sizeof *p, KP_MEMORY_FIELD);
  if (p == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = p;
  p->mac = mac;
  p->def = *def;
  (void)snprintf(p->name, sizeof p->name, "%s", def->name);
  p->scale = (kp_real)(1.0 / (mac->view.cell * mac->view.cell));
  kp_pcg_init(&p->pcg, mac->backend);
  kp_pockets_init(&p->pockets, mac->backend);
  kp_buffer_init(&p->work[0], mac->backend);
  kp_buffer_init(&p->work[1], mac->backend);
  kp_buffer_init(&p->low, mac->backend);
  kp_buffer_init(&p->inverse_diagonal, mac->backend);
  kp_result result = make_room(p);
  if (result != KP_OK) {
    kp_poisson_destroy(out);
  }
  return result;
}

void kp_poisson_destroy(kp_poisson **poisson) {
  kp_poisson *p = *poisson;
  if (p == NULL) {
    return;
  }
  kp_pcg_free(&p->pcg);
  kp_pockets_free(&p->pockets);
  kp_multigrid_destroy(&p->multigrid);
  kp_buffer_free(&p->low);
  kp_buffer_free(&p->inverse_diagonal);
  kp_buffer_free(&p->work[0]);
  kp_buffer_free(&p->work[1]);
  kp_free(p);
  *poisson = NULL;
}

double kp_poisson_bytes_per_cell(const kp_poisson *p) {
  const kp_buffer *all[] = {
    &p->pcg.r,   &p->pcg.u,  &p->pcg.w, &p->pcg.p, &p->pcg.s, &p->low, &p->inverse_diagonal,
    &p->work[0], &p->work[1]
  };
  double bytes = kp_pockets_bytes(&p->pockets);
  bytes += p->multigrid ? kp_multigrid_bytes(p->multigrid) : 0.0;
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    bytes += (double)all[k]->capacity;
  }
  return bytes / (double)kp_mac_n_all(p->mac);
}
