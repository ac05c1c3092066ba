// Preconditioned conjugate gradients for A x = b with A symmetric and positive definite, matrix
// free: the caller says how A and the preconditioner M (near the inverse of A, symmetric and
// positive definite too) are applied to a vector.
//
// The form is that of Chronopoulos & Gear (1989), which asks for all dot products of an iteration
// at once, so the host looks at the device once per iteration:
//
//   p = u + beta p,  s = w + beta s,  x += alpha p,  r -= alpha s,  u = M r      one pass, 12 items
//   w = A u                                                                      the operator
//   gamma = r.u, delta = w.u, r.r                                                one pass, 3 items
//   beta = gamma / gamma_before,  alpha = gamma / (delta - beta gamma / alpha)
//
// where the last divisor is p.Ap. Its recursions drift from the truth a little faster than those of
// the textbook form, so r = b - A x is evaluated anew when the recursion says it is done; while
// that is not yet small enough and still falls, the iteration starts again from there.
//
// A singular A (a closed box of liquid) is solved on the space across its null vector: b, the
// residuals and the answer are projected onto it.
//
// A first guess from elsewhere, such as the answer of the last step, may be worse than none. With
// `fits_guess` it is scaled by x.b / x.Ax, which makes it the best of its line in the norm of A and
// never worse than zero, for the product that the first residual needs anyway.
//
// Vectors may be a range of longer arrays (the window of a grid with its ghosts): the iteration
// reads and writes only the items first..first+n-1, and A and M may read what lies around.
#pragma once

#include "base/array.h"
#include "linalg/vector.h"

// y = A x for vectors of the length of the system; y is not x.
typedef kp_result (*kp_linear_fn)(void *self, kp_buffer *x, kp_buffer *y);

// w = r + R u; w is neither of them.
typedef kp_result (*kp_rest_fn)(void *self, kp_buffer *r, kp_buffer *u, kp_buffer *w);

// r = b - A x.
typedef kp_result (*kp_residual_fn)(void *self, kp_buffer *b, kp_buffer *x, kp_buffer *r);

// Parts of the rows of a grid that hold all unknowns: (i, j, k) is item start + i + j row + k slab.
typedef struct kp_pcg_runs {
  kp_buffer *list;  // kp_row_segment; NULL: the vectors are one range
  int64_t n;
  int64_t start, row, slab;
} kp_pcg_runs;

typedef struct kp_pcg_def {
  const char *name;  // of the system, for messages: "pressure"
  int64_t n;
  int64_t first;  // item the vectors begin with
  int64_t
      length;  // items of the arrays; 0: n. The vectors of the iteration are 0 outside the range
  kp_linear_fn apply;  // A
  void *apply_self;
  kp_residual_fn residual;    // of apply_self, where it knows a better way; NULL: b - apply(x)
  kp_linear_fn precondition;  // M; NULL: the diagonal below
  void *precondition_self;
  // What A has beyond the inverse of the preconditioner, of apply_self: w = r + (A - M^-1) u, which
  // is A u without a product with all of A, because u = M r is what M gave last. NULL: it is not
  // known.
  kp_rest_fn add_rest;
  kp_buffer *inverse_diagonal;  // M as a diagonal (Jacobi); NULL: M = 1
  kp_buffer *null_vector;       // A null_vector = 0; NULL: A is definite
  double tolerance;             // of |b - A x| over |b|, Euclidean
  double right;                 // |b| where the caller knows it; 0: to be measured
  bool fits_guess;              // the first guess is scaled to the best of its line, see above
  bool is_correction;           // x starts at zero, and the caller checks the residual himself
  bool has_first;               // of a correction: x holds M b when the solve begins
  bool looks_early;             // at r.r before M is applied, by a pass of its own: the last M r,
                                // which nobody asks for, costs more where M is slow
  int max_iterations;
  // With a preconditioner and a residual of the caller's, and no null vector: passes visit these
  // runs alone. The vectors of the iteration are 0 elsewhere when the solve begins.
  kp_pcg_runs runs;
} kp_pcg_def;

typedef struct kp_pcg_report {
  int iterations;
  int applications;  // of A: iterations, starts and the last look at the true residual
  int restarts;
  bool is_converged;
  double residual;  // |b - A x| / |b|, evaluated, not from the recursion
  double right;     // |b|, without its part along the null vector
} kp_pcg_report;

// Vectors of the iteration, reused by the next solve.
typedef struct kp_pcg {
  kp_backend *backend;
  kp_buffer r, u, w, p, s;
  int64_t first, n;          // of the last solve
  KP_ARRAY(double) history;  // |r| / |b| at the start and after each iteration, by the recursion
  kp_pcg_report report;      // of the last solve
} kp_pcg;

// kp_pcg_def with names and callbacks empty, tolerance 1e-6 and 1000 iterations.
kp_pcg_def kp_default_pcg_def(void);

void kp_pcg_init(kp_pcg *pcg, kp_backend *backend);
void kp_pcg_free(kp_pcg *pcg);

// x is the first guess and the answer. Not reaching the tolerance is no error: the report tells. An
// operator or preconditioner that is not positive definite, or a number that is not finite, is one
// (KP_ERROR_PHYSICS), and x is then the last iterate.
KP_NODISCARD kp_result kp_pcg_solve(kp_pcg *pcg, const kp_pcg_def *def, kp_buffer *b, kp_buffer *x);
