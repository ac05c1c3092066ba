#include "linalg/pcg.h"

#include <math.h>

#include "base/assert.h"
#include "data/call.h"
#include "linalg/vector_kernels.h"
#include "par/kernel_define.h"

VECTOR_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_NO_PAIR)

// Where the caller has a residual of its own, it takes the place of the recursion's whenever that
// fell tenfold, before both part (van der Vorst & Ye 2000): on squares.
#define REPLACE 1e-2

#define SHORT (1 << 17)  // items

// One solve on its way.
typedef struct solve {
  kp_pcg *pcg;
  const kp_pcg_def *def;
  kp_buffer *b, *x;
  double null2;        // v.v
  double drop_b;       // v.b / v.v
  double drop;         // v.r / v.v of the present residual, taken off by the next step
  double alpha, beta;  // of the next step
  double gamma;        // r.u
  double rr;           // r.r
  bool is_first;       // no direction yet
  double rr_true;      // r.r when the residual was last evaluated
  bool is_stale;       // it has fallen far since
  bool fits;           // the guess is yet to be scaled
  bool has_first;      // u is M r of the first residual
} solve;

kp_pcg_def kp_default_pcg_def(void) {
  return (kp_pcg_def){ .name = "linear system", .tolerance = 1e-6, .max_iterations = 1000 };
}

static void each_vector(kp_pcg *pcg, kp_buffer *out[5]) {
  out[0] = &pcg->r;
  out[1] = &pcg->u;
  out[2] = &pcg->w;
  out[3] = &pcg->p;
  out[4] = &pcg->s;
}

void kp_pcg_init(kp_pcg *pcg, kp_backend *backend) {
  *pcg = (kp_pcg){ .backend = backend };
  kp_buffer *vectors[5];
  each_vector(pcg, vectors);
  for (int k = 0; k < 5; ++k) {
    kp_buffer_init(vectors[k], backend);
  }
}

void kp_pcg_free(kp_pcg *pcg) {
  kp_buffer *vectors[5];
  each_vector(pcg, vectors);
  for (int k = 0; k < 5; ++k) {
    kp_buffer_free(vectors[k]);
  }
  kp_array_free(&pcg->history);
}

static int64_t length_of(const kp_pcg_def *def) {
  return def->length > 0 ? def->length : def->n;
}

static kp_result make_room(kp_pcg *pcg, const kp_pcg_def *def) {
  kp_buffer *vectors[5];
  each_vector(pcg, vectors);
  int64_t length = length_of(def);
  bool is_range = length != def->n;
  bool is_fresh = (size_t)length * sizeof(kp_real) != pcg->r.used || pcg->n != def->n ||
                  pcg->first != def->first;
  for (int k = 0; k < 5; ++k) {
    KP_TRY(kp_vector_resize(vectors[k], length));
    if (is_range && is_fresh) {
      KP_TRY(kp_vector_fill(length, 0.0, vectors[k]));
    }
  }
  pcg->first = def->first;
  pcg->n = def->n;
  pcg->history.count = 0;
  return kp_array_reserve(&pcg->history, (size_t)def->max_iterations + 2);
}

static kp_result apply(solve *s, kp_buffer *x, kp_buffer *y) {
  s->pcg->report.applications += 1;
  return s->def->apply(s->def->apply_self, x, y);
}

static bool has_diagonal(const solve *s) {
  return s->def->precondition == NULL;
}

// Arrays longer than the vectors keep what lies outside the range.
static kp_access overwrite(const solve *s) {
  return length_of(s->def) > s->def->n ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
}

static kp_result precondition(solve *s) {
  if (has_diagonal(s)) {
    return KP_OK;  // done where r was written
  }
  return s->def->precondition(s->def->precondition_self, &s->pcg->r, &s->pcg->u);
}

static void remember(solve *s) {
  double residual = sqrt(s->rr) / s->pcg->report.right;
  // the room for all iterations was made at the start
  s->pcg->history.data[s->pcg->history.count++] = residual;
}

static bool is_small(const solve *s) {
  return sqrt(s->rr) <= s->def->tolerance * s->pcg->report.right;
}

// ---- the passes ---------------------------------------------------------------------------------

static bool has_runs(const solve *s) {
  return s->def->runs.list != NULL;
}

static vector_rows rows_of(const solve *s) {
  const kp_pcg_runs *runs = &s->def->runs;
  return (vector_rows){ .start = runs->start, .row = runs->row, .slab = runs->slab };
}

static kp_result measure_right(solve *s) {
  vector_cg_begin_args a = { .first = s->def->first };
  kp_call call;
  kp_call_init(&call, &vector_cg_begin_kernel, &a);
  KP_BIND(&call, &a, b, s->b, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, s->def->null_vector, KP_ACCESS_READ);
  double v[3];
  KP_TRY(kp_call_reduce(s->pcg->backend, &call, s->def->n, v));
  s->null2 = v[2];
  s->drop_b = v[2] > 0.0 ? v[1] / v[2] : 0.0;
  double across = v[0] - s->drop_b * v[1];
  // what rounding leaves of a right side along the null vector is nothing
  double floor = (sizeof(kp_real) == 4 ? 1e-13 : 1e-30) * v[0];
  s->pcg->report.right = v[2] > 0.0 && across < floor ? 0.0 : sqrt(fmax(across, 0.0));
  if (!isfinite(v[0]) || !isfinite(v[1])) {
    return kp_fail(KP_ERROR_PHYSICS, "%s: the right side is not finite", s->def->name);
  }
  return KP_OK;
}

// r = b over the runs.
static kp_result copy_runs(solve *s, kp_buffer *b) {
  vector_copy_runs_args a = { .grid = rows_of(s) };
  kp_call call;
  kp_call_init(&call, &vector_copy_runs_kernel, &a);
  KP_BIND(&call, &a, x, b, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &s->pcg->r, KP_ACCESS_WRITE);
  return kp_call_rows(s->pcg->backend, &call, s->def->runs.list, s->def->runs.n);
}

// r = b - q across the null vector, and u = M r where M is a diagonal.
static kp_result subtract(solve *s, kp_buffer *b, kp_buffer *q) {
  kp_pcg *pcg = s->pcg;
  vector_residual_args a = { .first = s->def->first,
                             .drop = (kp_real)s->drop_b,
                             .has_diagonal = has_diagonal(s) };
  kp_call call;
  kp_call_init(&call, &vector_residual_kernel, &a);
  KP_BIND(&call, &a, b, b, KP_ACCESS_READ);
  KP_BIND(&call, &a, q, q, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, s->def->null_vector, KP_ACCESS_READ);
  KP_BIND(&call, &a, r, &pcg->r, overwrite(s));
  if (has_diagonal(s)) {
    KP_BIND(&call, &a, m, s->def->inverse_diagonal, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &pcg->u, overwrite(s));
  }
  return kp_call_run(pcg->backend, &call, s->def->n);
}

// x and w = A x by the factor that makes x the best of its line: x.b / x.w.
static kp_result fit_guess(solve *s) {
  kp_pcg *pcg = s->pcg;
  int64_t length = length_of(s->def);
  double with_b, with_a;
  s->fits = false;
  KP_TRY(kp_vector_dot(length, s->x, s->b, &with_b));
  KP_TRY(kp_vector_dot(length, s->x, &pcg->w, &with_a));
  double factor = with_a > 0.0 ? with_b / with_a : 0.0;
  factor = isfinite(factor) ? factor : 0.0;
  KP_TRY(kp_vector_scale(length, factor, s->x));
  return kp_vector_scale(length, factor, &pcg->w);
}

// r = b - A x across the null vector, and u = M r where M is a diagonal.
static kp_result evaluate_residual(solve *s) {
  kp_pcg *pcg = s->pcg;
  if (s->def->residual != NULL) {
    pcg->report.applications += 1;
    KP_TRY(s->def->residual(s->def->apply_self, s->b, s->x, &pcg->w));
    return has_runs(s) ? copy_runs(s, &pcg->w) : subtract(s, &pcg->w, NULL);
  }
  KP_TRY(apply(s, s->x, &pcg->w));
  if (s->fits) {
    KP_TRY(fit_guess(s));
  }
  return subtract(s, s->b, &pcg->w);
}

// r.u, w.u and r.r over the runs.
static kp_result sum_runs(solve *s, kp_buffer *u, kp_buffer *w, double v[3]) {
  vector_cg_sums_runs_args a = { .grid = rows_of(s) };
  kp_call call;
  kp_call_init(&call, &vector_cg_sums_runs_kernel, &a);
  KP_BIND(&call, &a, runs, s->def->runs.list, KP_ACCESS_READ);
  KP_BIND(&call, &a, of.r, &s->pcg->r, KP_ACCESS_READ);
  KP_BIND(&call, &a, of.u, u, KP_ACCESS_READ);
  KP_BIND(&call, &a, of.w, w, KP_ACCESS_READ);
  return kp_call_reduce(s->pcg->backend, &call, s->def->runs.n, v);
}

// r.r and v.r.
static kp_result sum_true(solve *s, double v[2]) {
  kp_pcg *pcg = s->pcg;
  vector_cg_true_args t = { .first = s->def->first };
  kp_call call;
  kp_call_init(&call, &vector_cg_true_kernel, &t);
  KP_BIND(&call, &t, r, &pcg->r, KP_ACCESS_READ);
  KP_BIND(&call, &t, v, s->def->null_vector, KP_ACCESS_READ);
  return kp_call_reduce(pcg->backend, &call, s->def->n, v);
}

// r.r of a residual that was evaluated.
static kp_result measure_residual(solve *s) {
  kp_pcg *pcg = s->pcg;
  double v[3];
  KP_TRY(has_runs(s) ? sum_runs(s, &pcg->r, &pcg->r, v) : sum_true(s, v));
  // the share along the null vector is not of this system
  s->rr = fmax(v[0] - (s->null2 > 0.0 ? v[1] * v[1] / s->null2 : 0.0), 0.0);
  if (!isfinite(v[0])) {
    return kp_fail(KP_ERROR_PHYSICS, "%s: the residual is not finite", s->def->name);
  }
  pcg->report.residual = sqrt(s->rr) / pcg->report.right;
  s->rr_true = s->rr;
  s->is_stale = false;
  return KP_OK;
}

static kp_result true_residual(solve *s) {
  KP_TRY(evaluate_residual(s));
  return measure_residual(s);
}

static vector_cg_step_args next_step(const solve *s) {
  return (vector_cg_step_args){ .first = s->def->first,
                                .alpha = (kp_real)s->alpha,
                                .beta = (kp_real)s->beta,
                                .drop = (kp_real)s->drop,
                                .is_first = s->is_first,
                                .has_diagonal = has_diagonal(s) };
}

static kp_result update(solve *s) {
  kp_pcg *pcg = s->pcg;
  kp_access carried = s->is_first ? overwrite(s) : KP_ACCESS_WRITE;
  vector_cg_step_args a = next_step(s);
  kp_call call;
  kp_call_init(&call, &vector_cg_step_kernel, &a);
  KP_BIND(&call, &a, w, &pcg->w, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, s->def->null_vector, KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &pcg->p, carried);
  KP_BIND(&call, &a, s, &pcg->s, carried);
  KP_BIND(&call, &a, x, s->x, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, r, &pcg->r, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, u, &pcg->u, has_diagonal(s) ? KP_ACCESS_WRITE : KP_ACCESS_READ);
  if (has_diagonal(s)) {
    KP_BIND(&call, &a, m, s->def->inverse_diagonal, KP_ACCESS_READ);
  }
  return kp_call_run(pcg->backend, &call, s->def->n);
}

static kp_result update_runs(solve *s) {
  kp_pcg *pcg = s->pcg;
  vector_cg_step_runs_args a = { .grid = rows_of(s), .step = next_step(s) };
  kp_call call;
  kp_call_init(&call, &vector_cg_step_runs_kernel, &a);
  KP_BIND(&call, &a, step.w, &pcg->w, KP_ACCESS_READ);
  KP_BIND(&call, &a, step.p, &pcg->p, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, step.s, &pcg->s, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, step.x, s->x, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, step.r, &pcg->r, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, step.u, &pcg->u, KP_ACCESS_READ);
  return kp_call_rows(pcg->backend, &call, s->def->runs.list, s->def->runs.n);
}

static kp_result sum_items(solve *s, double v[4]) {
  kp_pcg *pcg = s->pcg;
  vector_cg_sums_args a = { .first = s->def->first };
  kp_call call;
  kp_call_init(&call, &vector_cg_sums_kernel, &a);
  KP_BIND(&call, &a, r, &pcg->r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &pcg->u, KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &pcg->w, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, s->def->null_vector, KP_ACCESS_READ);
  return kp_call_reduce(pcg->backend, &call, s->def->n, v);
}

// Vectors that are one block of the tree of a reduction even in packs.
static bool is_short(const solve *s) {
  return s->def->null_vector == NULL && s->def->n <= SHORT;
}

static kp_result sum_packed(solve *s, kp_buffer *u, kp_buffer *w, double v[3]) {
  kp_pcg *pcg = s->pcg;
  vector_cg_sums_packed_args a = { .first = s->def->first, .n = s->def->n };
  kp_call call;
  kp_call_init(&call, &vector_cg_sums_packed_kernel, &a);
  KP_BIND(&call, &a, r, &pcg->r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, u, KP_ACCESS_READ);
  KP_BIND(&call, &a, w, w, KP_ACCESS_READ);
  return kp_call_reduce(pcg->backend, &call, (s->def->n + VECTOR_PACK - 1) / VECTOR_PACK, v);
}

static kp_result step(solve *s) {
  KP_TRY(has_runs(s) ? update_runs(s) : update(s));
  s->is_first = false;
  if (s->is_stale) {
    KP_TRY(evaluate_residual(s));
    s->is_stale = false;
  }
  if (s->def->looks_early) {
    double v[3];
    KP_TRY(sum_packed(s, &s->pcg->r, &s->pcg->r, v));
    s->rr = v[2];
  }
  return is_small(s) ? KP_OK : precondition(s);
}

// w = A u, where u = M r.
static kp_result apply_to_preconditioned(solve *s) {
  kp_pcg *pcg = s->pcg;
  if (s->def->add_rest == NULL) {
    return apply(s, &pcg->u, &pcg->w);
  }
  return s->def->add_rest(s->def->apply_self, &pcg->r, &pcg->u, &pcg->w);
}

// w = A u and the sums of the iteration: the one look of the host. delta = u.Au.
static kp_result look(solve *s, double *gamma, double *delta) {
  kp_pcg *pcg = s->pcg;
  KP_TRY(apply_to_preconditioned(s));
  double v[4] = { 0.0 };
  if (has_runs(s)) {
    KP_TRY(sum_runs(s, &pcg->u, &pcg->w, v));
  } else {
    KP_TRY(is_short(s) ? sum_packed(s, &pcg->u, &pcg->w, v) : sum_items(s, v));
  }
  *gamma = v[0];
  *delta = v[1];
  s->rr = v[2];
  if (s->def->residual != NULL && s->rr < REPLACE * s->rr_true) {
    s->rr_true = s->rr;
    s->is_stale = true;
  }
  s->drop = s->null2 > 0.0 ? v[3] / s->null2 : 0.0;
  if (!isfinite(v[0] + v[1] + v[2])) {
    return kp_fail(KP_ERROR_PHYSICS, "%s: numbers stopped being finite after %d iterations",
                   s->def->name, pcg->report.iterations);
  }
  return KP_OK;
}

// ---- breakdown ----------------------------------------------------------------------------------

static kp_result not_definite(const solve *s, const char *who, double value) {
  return kp_fail(KP_ERROR_PHYSICS, "%s: the %s is not positive definite (%g after %d iterations)",
                 s->def->name, who, value, s->pcg->report.iterations);
}

// The recursion says that p.Ap is not positive. It may be rounding: ask the operator itself.
static kp_result confirm_curvature(solve *s) {
  kp_pcg *pcg = s->pcg;
  double curvature;
  int64_t length = length_of(s->def);
  KP_TRY(kp_vector_xpay(length, &pcg->u, s->beta, &pcg->p));
  KP_TRY(apply(s, &pcg->p, &pcg->s));
  KP_TRY(kp_vector_dot(length, &pcg->p, &pcg->s, &curvature));
  return curvature > 0.0 ? KP_OK : not_definite(s, "operator", curvature);
}

// ---- the iteration ------------------------------------------------------------------------------

// Iterates from the present residual until the recursion is done, breaks down by rounding, or the
// iterations are used up.
static kp_result iterate(solve *s) {
  kp_pcg_report *report = &s->pcg->report;
  double delta;
  s->is_first = true;
  s->beta = 0.0;
  KP_TRY(s->has_first ? KP_OK : precondition(s));
  s->has_first = false;
  KP_TRY(look(s, &s->gamma, &delta));
  if (!(s->gamma > 0.0)) {
    return not_definite(s, "preconditioner", s->gamma);
  }
  if (!(delta > 0.0)) {
    return not_definite(s, "operator", delta);
  }
  s->alpha = s->gamma / delta;
  while (report->iterations < s->def->max_iterations) {
    double gamma = 0.0;
    KP_TRY(step(s));
    report->iterations += 1;
    if (!is_small(s)) {  // as it is where nobody looked early
      KP_TRY(look(s, &gamma, &delta));
    }
    remember(s);
    if (is_small(s)) {
      return KP_OK;
    }
    if (!(gamma > 0.0)) {
      return not_definite(s, "preconditioner", gamma);
    }
    s->beta = gamma / s->gamma;
    double curvature = delta - s->beta * gamma / s->alpha;
    if (!(curvature > 0.0)) {
      return confirm_curvature(s);
    }
    s->alpha = gamma / curvature;
    s->gamma = gamma;
  }
  return KP_OK;
}

// x without its part along the null vector.
static kp_result project_answer(solve *s) {
  double along;
  if (s->null2 == 0.0) {
    return KP_OK;
  }
  KP_TRY(kp_vector_dot(s->def->n, s->def->null_vector, s->x, &along));
  return kp_vector_axpy(s->def->n, -along / s->null2, s->def->null_vector, s->x);
}

// u = M b, which x holds; that may be the beginning of a longer array.
static kp_result take_first(solve *s) {
  void *from, *to;
  KP_TRY(kp_buffer_get(s->x, KP_SIDE_DEVICE, KP_ACCESS_READ, &from));
  KP_TRY(kp_buffer_get(&s->pcg->u, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &to));
  return kp_copy(s->pcg->backend, to, from, (size_t)length_of(s->def) * sizeof(kp_real));
}

// From zero to what the recursion calls done.
static kp_result correct(solve *s) {
  kp_pcg_report *report = &s->pcg->report;
  KP_TRY(s->has_first ? take_first(s) : KP_OK);
  KP_TRY(kp_vector_fill(length_of(s->def), 0.0, s->x));
  KP_TRY(subtract(s, s->b, NULL));
  KP_TRY(measure_residual(s));
  remember(s);
  if (!is_small(s)) {
    KP_TRY(iterate(s));
  }
  report->residual = sqrt(s->rr) / report->right;
  report->is_converged = is_small(s);
  return KP_OK;
}

kp_result kp_pcg_solve(kp_pcg *pcg, const kp_pcg_def *def, kp_buffer *b, kp_buffer *x) {
  KP_ASSERT(def->apply != NULL && def->tolerance > 0.0);
  KP_ASSERT(def->null_vector == NULL || length_of(def) == def->n);
  KP_ASSERT(!def->fits_guess || def->residual == NULL);
  KP_ASSERT(!def->looks_early || (def->null_vector == NULL && def->runs.list == NULL));
  KP_ASSERT(def->runs.list == NULL || (def->precondition != NULL && def->residual != NULL &&
                                       def->null_vector == NULL && !def->is_correction));
  KP_ASSERT(!def->has_first || (def->is_correction && def->precondition != NULL));
  solve s = {
    .pcg = pcg, .def = def, .b = b, .x = x, .fits = def->fits_guess, .has_first = def->has_first
  };
  pcg->report = (kp_pcg_report){ 0 };
  KP_TRY(make_room(pcg, def));
  pcg->report.right = def->right;
  if (def->right == 0.0) {
    KP_TRY(measure_right(&s));
  }
  if (pcg->report.right == 0.0) {
    pcg->report.is_converged = true;
    return kp_vector_fill(length_of(def), 0.0, x);
  }
  if (def->is_correction) {
    return correct(&s);
  }
  KP_TRY(true_residual(&s));
  remember(&s);
  while (!is_small(&s) && pcg->report.iterations < def->max_iterations) {
    double before = s.rr;
    KP_TRY(iterate(&s));
    KP_TRY(true_residual(&s));
    // half the residual is a quarter of its square
    if (is_small(&s) || s.rr > 0.25 * before) {
      break;
    }
    pcg->report.restarts += 1;
  }
  pcg->report.is_converged = is_small(&s);
  return project_answer(&s);
}
