// Fractional derivatives of order 0 < q < 1 from past samples (Caputo form, zero before the start):
//
//   D^q x(t) = 1/Gamma(1-q) Int_{t0}^{t} (t - s)^(-q) v(s) ds,   v = dx/dt            [m/s^q]
//
// as weighted sums over samples v_{n-k} of age k: D^q x_n = SUM_k w_k v_{n-k}. Ozgen 2013.
//
//   trapezoid  Eq. 4.7 = 5.10: v linear between samples, exact for linear v, second order
//   simpson    Eq. 3.5 with the two faults of its print removed, q = 1/2 only: Simpson's rule and a
//              closed form for the last tenth of a step. Called first order by its author; it is
//              O(h^(1/2)), off by 0.0374 sqrt(h) v_n. Kept to compare with.
//
// A memory of d steps ends in one of two ways. `window` takes the oldest sample for the start of
// history, `interior` only leaves the older terms out (Eq. 5.13), so that the oldest sample counts
// twice. The gain S = SUM_k w_k is what a constant velocity is multiplied with: a memory of few
// steps is ordinary damping, weakened by S = d^(1-q) h^(1-q) / Gamma(2-q), hence always report S.
//
// All weights are in double on the host; they depend on ages alone and serve every particle.
#pragma once

#include "base/array.h"
#include "kelpie/config.h"

typedef enum kp_frac_operator {
  KP_FRAC_TRAPEZOID,
  KP_FRAC_SIMPSON,
  KP_FRAC_OPERATOR_COUNT
} kp_frac_operator;

typedef enum kp_frac_end { KP_FRAC_WINDOW, KP_FRAC_INTERIOR, KP_FRAC_END_COUNT } kp_frac_end;

typedef struct kp_frac_rule {
  kp_frac_operator op;
  kp_frac_end end;
  double order;    // q; 0 < q < 1, 1/2 for simpson
  int64_t window;  // d: past steps remembered, beside the present one; at least 1
} kp_frac_rule;

// Weights of a rule for steps of length one, made once.
typedef struct kp_frac_table {
  kp_frac_rule rule;
  KP_ARRAY(double) inner;  // of age k where older samples follow, 0..window
  KP_ARRAY(double) last;   // of age k where it is the start of history, 0..window
} kp_frac_table;

KP_NODISCARD kp_result kp_frac_table_make(kp_frac_rule rule, kp_frac_table *out);
void kp_frac_table_free(kp_frac_table *table);

// Past samples that count when n steps have been made: all while history grows, then the window.
int64_t kp_frac_table_reach(const kp_frac_table *table, int64_t n);

// w_0 .. w_reach for n steps of length h so far; returns the gain S_n. With n = 0 no time has
// passed: the weight is 0. While n < window both ends are the same, the full history.
double kp_frac_table_weights(const kp_frac_table *table, int64_t n, double h, double *weights);

// The gain alone, without a table: t^(1-q) / Gamma(2-q) for a velocity that was constant for t.
double kp_frac_gain(double order, double t);

// Samples at any times, trapezoid rule. ages[k] = t_n - t_{n-k} grows from ages[0] = 0, k = 0..n.
// History starts `memory` ago, between two samples if need be; with an infinite memory at the
// oldest sample. Equal ages are allowed, the samples between are then skipped. Returns the gain.
double kp_frac_weights_at(double order, int64_t n, const double *ages, double memory,
                          double *weights);

// Largest L S for which v_{n+1} = v_n - L SUM_k w_k v_{n-k}, k = 0..n, does not grow: the limit of
// explicit damping by a sum of this gain. 2 for ordinary damping, where n = 0.
double kp_frac_stable_limit(int64_t n, const double *weights);

// A long memory at a fixed price: the kernel as a sum of exponentials,
//
//   tau^(-q) / Gamma(1-q) = sin(pi q)/pi Int_0^inf s^(q-1) e^(-s tau) ds ~ SUM_j c_j e^(-s_j tau),
//
// by the trapezoid rule in ln s with nodes dy apart, and one node of rate 0 for what lies below.
// Each carries a state E_j = Int e^(-s_j (t-s)) v(s) ds, which a step multiplies and adds to. There
// is no cut-off: where one is wanted, take a window.
#define KP_FRAC_NODES 48

typedef struct kp_frac_exponentials {
  double order;
  int n;
  double rate[KP_FRAC_NODES];    // s_j [1/s]
  double weight[KP_FRAC_NODES];  // c_j
} kp_frac_exponentials;

// For ages from shortest (the step) to longest [s]. spacing is dy: 1.4 is good to 0.7 %, 1.0 to
// 0.2 %. Fails if that takes more than KP_FRAC_NODES.
KP_NODISCARD kp_result kp_frac_exponentials_make(double order, double shortest, double longest,
                                                 double spacing, kp_frac_exponentials *out);
double kp_frac_exponentials_kernel(const kp_frac_exponentials *sum, double age);

// One step of length h: what kernels need of it. The newest interval is done by the trapezoid rule.
typedef struct kp_frac_march {
  int n;
  kp_real older, newer;           // weights of v_{n-1} and v_n over the newest interval
  kp_real carry[KP_FRAC_NODES];   // c_j e^(-s_j h): what the states before it add to D
  kp_real decay[KP_FRAC_NODES];   // e^(-s_j h)
  kp_real gain_o[KP_FRAC_NODES];  // of v_{n-1} and v_n in the new states
  kp_real gain_n[KP_FRAC_NODES];
} kp_frac_march;

kp_frac_march kp_frac_march_make(const kp_frac_exponentials *sum, double h);

// D^q x_n of one component, were v_n = `newer`; states stay those of t_{n-1}.
KP_FN kp_real kp_frac_march_look(const kp_frac_march *m, kp_real older, kp_real newer,
                                 const kp_real *states, int64_t stride) {
  kp_real d = m->older * older + m->newer * newer;
  for (int j = 0; j < m->n; ++j) {
    d += m->carry[j] * states[j * stride];
  }
  return d;
}

// D^q x_n of one component, and its states, `stride` apart, taken from t_{n-1} to t_n.
KP_FN kp_real kp_frac_march_step(const kp_frac_march *m, kp_real older, kp_real newer,
                                 kp_real *states, int64_t stride) {
  kp_real d = m->older * older + m->newer * newer;
  for (int j = 0; j < m->n; ++j) {
    kp_real e = states[j * stride];
    d += m->carry[j] * e;
    states[j * stride] = m->decay[j] * e + m->gain_o[j] * older + m->gain_n[j] * newer;
  }
  return d;
}
