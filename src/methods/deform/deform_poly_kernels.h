// Conjugate gradients for implicit steps in one launch (par/team.h), for machines on which launches
// cost more than sums: sweeps by colours are a launch for each colour, and the host looks at every
// iteration.
//
// The preconditioner is a polynomial of the matrix, which needs no colours. With D the 3x3 blocks
// of nodes all that an element of k nodes does lies below k D (Cauchy and Schwarz: for a spring of
// block B the matrix (B -B; -B B) is at most 2 (B 0; 0 B)), so D^-1 A has its eigenvalues in (0, k]
// and Chebyshev's iteration for A u = r needs no estimate but where to begin (deform_poly.c):
//
//   d = D^-1 r / theta,  u = d                                           the first term
//   d = a d + b D^-1 (r - A u),  u += d                                  each further one
//
// A hub, the middle of a body of edges, has a row as long as the body (sweep_entries). In a product
// its shares are summed as tiles beside the rows, and the total comes with those of the dot
// products. Within the polynomial others see it at rest, and it takes D^-1 r: what is left out is
// left out on both sides, so the preconditioner stays symmetric.
//
// D^-1 is nothing where a node is not free to move (sweep_block_of), so u stays where nodes are
// free; products are cut to that, so that the length of r tells what is left to be done.
//
// The iteration is that of pcg.h.
#pragma once

#include "methods/deform/deform_sweep_kernels.h"
#include "par/team.h"

#define POLY_SUMS 3    // r.u, w.u and r.r
#define POLY_REPORT 3  // iterations, r.r and why it ended

enum { POLY_DONE, POLY_NOT_FINITE, POLY_NOT_DEFINITE };

// What nodes of rows are free to do.
typedef struct poly_freedom {
  const int32_t *node;
  const uint8_t *hold;
  const kp_real *cx, *cy, *cz;  // contact normals
} poly_freedom;

// Of the rows from i on.
KP_FN void poly_free(const poly_freedom *g, int64_t i, kp_lanes y[3]) {
  kp_real all[3][SWEEP_LANES];
  bool is_cut = false;
  for (int l = 0; l < SWEEP_LANES; ++l) {
    int64_t n = g->node[i + l];
    if (n < 0 || (g->hold[n] == 0 && g->cx[n] == 0 && g->cy[n] == 0 && g->cz[n] == 0)) {
      continue;
    }
    for (int c = 0; c < 3 && !is_cut; ++c) {
      KP_LANES_STORE(all[c], y[c]);
    }
    is_cut = true;
    double normal[3] = { (double)g->cx[n], (double)g->cy[n], (double)g->cz[n] }, p[6];
    sweep_freedom(g->hold[n], normal, p);
    double v[3] = { (double)all[0][l], (double)all[1][l], (double)all[2][l] };
    all[0][l] = (kp_real)(p[0] * v[0] + p[3] * v[1] + p[4] * v[2]);
    all[1][l] = (kp_real)(p[3] * v[0] + p[1] * v[1] + p[5] * v[2]);
    all[2][l] = (kp_real)(p[4] * v[0] + p[5] * v[1] + p[2] * v[2]);
  }
  for (int c = 0; c < 3 && is_cut; ++c) {
    y[c] = KP_LANES_LOAD(all[c]);
  }
}

// out = x as far as nodes are free; may be x.
typedef struct poly_take_args {
  poly_freedom is;
  const kp_real *x;
  kp_real *out;
} poly_take_args;

KP_FN void poly_take(int64_t j, int64_t k, int64_t i0, int64_t i1, const poly_take_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes x[3];
  sweep_get(g->x, i, x);
  poly_free(&g->is, i, x);
  sweep_put(g->out, i, i0, i1, x);
}

typedef struct poly_solve_args {
  int64_t rows;
  int32_t n_hubs, n_terms, max_iterations;
  double lowest, highest;  // eigenvalues of D^-1 A that the polynomial is made for
  double enough;           // r.r
  sweep_entries entries;   // without totals
  poly_freedom is;
  const int32_t *hub;        // of a slice of rows; -1: none
  const int32_t *hub_row;    // of a hub
  const int32_t *hub_start;  // tiles of its shares
  const int32_t *hub_tile;   // of a tile: first slice of shares, and the one behind its last
  const kp_real *inverse, *own;
  kp_real *r;  // the right side, then the residual
  kp_real *x, *p, *s, *w, *d;
  kp_real *u[2];            // records
  double *sums, *hub_sums;  // of tiles
  double *report;
} poly_solve_args;

KP_FN int32_t poly_hub_of(const poly_solve_args *g, int64_t i) {
  return g->hub != NULL ? g->hub[i / SWEEP_SLICE] : -1;
}

KP_FN int64_t poly_first_row(int64_t tile) {
  return tile * KP_TEAM_TILE + kp_team_lane() * SWEEP_LANES;
}

#define POLY_ROWS(g, tile, i)                                                                      \
  for (int64_t i = poly_first_row(tile); i < kp_team_end(tile, (g)->rows);                         \
       i += (int64_t)kp_team_lanes() * SWEEP_LANES)

KP_FN void poly_put(kp_real *to, int64_t i, const kp_lanes v[3]) {
  sweep_put(to, i, i, i + SWEEP_LANES, v);
}

KP_FN void poly_put_records(kp_real *to, int64_t i, const kp_lanes v[3]) {
  sweep_put_records(to, i, i, i + SWEEP_LANES, v);
}

// x.y of the rows from i on
KP_FN double poly_dot(const kp_lanes x[3], const kp_lanes y[3]) {
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    kp_real a[SWEEP_LANES], b[SWEEP_LANES];
    KP_LANES_STORE(a, x[c]);
    KP_LANES_STORE(b, y[c]);
    for (int l = 0; l < SWEEP_LANES; ++l) {
      sum += (double)a[l] * (double)b[l];
    }
  }
  return sum;
}

// ---- the polynomial

// The first term, from the residual of the rows from i on.
KP_FN void poly_begin(const poly_solve_args *g, int64_t i, const kp_lanes r[3]) {
  kp_lanes d[3], zero = { 0 };
  bool is_hub = poly_hub_of(g, i) >= 0;
  kp_real first = is_hub ? (kp_real)1 : (kp_real)(2.0 / (g->highest + g->lowest));
  sweep_times(g->inverse, i, r, d);
  for (int c = 0; c < 3; ++c) {
    d[c] = first * d[c];
  }
  poly_put(g->d, i, d);
  for (int c = 0; c < 3 && is_hub; ++c) {
    d[c] = zero;
  }
  poly_put_records(g->u[0], i, d);
}

typedef struct poly_term {
  kp_real a, b;
  bool is_last;
  const kp_real *from;
  kp_real *to;
} poly_term;

KP_FN void poly_next(const poly_solve_args *g, const poly_term *t, int64_t i) {
  kp_lanes u[3], y[3], d[3], r[3], zero = { 0 };
  sweep_get(g->d, i, d);
  if (poly_hub_of(g, i) >= 0) {
    for (int c = 0; c < 3; ++c) {
      u[c] = t->is_last ? d[c] : zero;
    }
    poly_put_records(t->to, i, u);
    return;
  }
  kp_records_load(t->from + KP_RECORD * i, u);
  sweep_product_rows(&g->entries, g->own, i / SWEEP_SLICE, i, t->from, u, y);
  sweep_get(g->r, i, r);
  for (int c = 0; c < 3; ++c) {
    r[c] -= y[c];
  }
  sweep_times(g->inverse, i, r, y);
  for (int c = 0; c < 3; ++c) {
    d[c] = t->a * d[c] + t->b * y[c];
    u[c] += d[c];
  }
  poly_put(g->d, i, d);
  poly_put_records(t->to, i, u);
}

// All further terms; returns where u lies then, which is not where it began.
KP_FN const kp_real *poly_terms(const kp_team *team, const poly_solve_args *g) {
  double middle = 0.5 * (g->highest + g->lowest), half = 0.5 * (g->highest - g->lowest);
  double rho = half / middle;
  for (int32_t k = 1; k < g->n_terms; ++k) {
    double next = 1.0 / (2.0 * middle / half - rho);
    poly_term t = { .a = (kp_real)(next * rho),
                    .b = (kp_real)(2.0 * next / half),
                    .is_last = k == g->n_terms - 1,
                    .from = g->u[(k - 1) % 2],
                    .to = g->u[k % 2] };
    kp_team_barrier(team);
    KP_TEAM_TILES(team, tile, kp_team_tiles(g->rows)) {
      POLY_ROWS(g, tile, i) {
        poly_next(g, &t, i);
      }
    }
    rho = next;
  }
  return g->u[(g->n_terms - 1) % 2];
}

// ---- the iteration

// w = A u of a tile of rows, but for what shares of hubs have, and its part of the sums.
KP_FN void poly_product(const poly_solve_args *g, const kp_real *from, int64_t tile) {
  double v[POLY_SUMS] = { 0.0, 0.0, 0.0 };
  POLY_ROWS(g, tile, i) {
    kp_lanes u[3], w[3], r[3];
    kp_records_load(from + KP_RECORD * i, u);
    sweep_product_rows(&g->entries, g->own, i / SWEEP_SLICE, i, from, u, w);
    if (poly_hub_of(g, i) < 0) {
      poly_free(&g->is, i, w);
    }
    poly_put(g->w, i, w);
    sweep_get(g->r, i, r);
    v[0] += poly_dot(r, u);
    v[1] += poly_dot(w, u);
    v[2] += poly_dot(r, r);
  }
  kp_team_tile_sum(v, POLY_SUMS, tile, g->sums);
}

// What a tile of shares has of its hub.
KP_FN void poly_shares(const poly_solve_args *g, const kp_real *from, int32_t hub, int64_t tile) {
  const sweep_entries *s = &g->entries;
  const kp_real *at = from + KP_RECORD * (int64_t)g->hub_row[hub];
  kp_lanes zero = { 0 }, u[3] = { zero + at[0], zero + at[1], zero + at[2] };
  double v[3] = { 0.0, 0.0, 0.0 };
  int64_t begin = (int64_t)g->hub_tile[2 * tile] * SWEEP_SLICE;
  int64_t end = (int64_t)g->hub_tile[2 * tile + 1] * SWEEP_SLICE;
  for (int64_t i = begin + kp_team_lane() * SWEEP_LANES; i < end;
       i += (int64_t)kp_team_lanes() * SWEEP_LANES) {
    kp_lanes y[3] = { zero, zero, zero };
    sweep_product_lanes(s, i / SWEEP_SLICE, i, from, u, y);
    sweep_product_lanes(s, s->slices + i / SWEEP_SLICE, i, from, u, y);
    for (int c = 0; c < 3; ++c) {
      kp_real all[SWEEP_LANES];
      KP_LANES_STORE(all, y[c]);
      for (int l = 0; l < SWEEP_LANES; ++l) {
        v[c] += (double)all[l];
      }
    }
  }
  kp_team_tile_sum(v, 3, tile, g->hub_sums);
}

KP_FN void poly_hub_total(const poly_solve_args *g, int32_t hub, double v[3]) {
  v[0] = v[1] = v[2] = 0.0;
  for (int32_t tile = g->hub_start[hub]; tile < g->hub_start[hub + 1]; ++tile) {
    for (int c = 0; c < 3; ++c) {
      v[c] += g->hub_sums[3 * tile + c];
    }
  }
}

// w = A u and the sums of the iteration.
KP_FN void poly_look(const kp_team *team, const poly_solve_args *g, const kp_real *u,
                     double v[POLY_SUMS]) {
  int64_t n_tiles = kp_team_tiles(g->rows);
  int64_t n_shares = g->n_hubs > 0 ? g->hub_start[g->n_hubs] : 0;
  kp_team_barrier(team);
  KP_TEAM_TILES(team, tile, n_tiles + n_shares) {
    if (tile < n_tiles) {
      poly_product(g, u, tile);
    } else {
      int32_t hub = 0;
      while (g->hub_start[hub + 1] <= tile - n_tiles) {
        ++hub;
      }
      poly_shares(g, u, hub, tile - n_tiles);
    }
  }
  kp_team_barrier(team);
  kp_team_total(g->sums, n_tiles, POLY_SUMS, v);
  for (int32_t hub = 0; hub < g->n_hubs; ++hub) {
    const kp_real *at = u + KP_RECORD * (int64_t)g->hub_row[hub];
    double total[3];
    poly_hub_total(g, hub, total);
    v[1] += total[0] * (double)at[0] + total[1] * (double)at[1] + total[2] * (double)at[2];
  }
}

typedef struct poly_step {
  kp_real alpha, beta;
  bool is_first;
  const kp_real *u;
} poly_step;

// The vectors of the rows from i on, and the first term for the next residual.
KP_FN void poly_update(const poly_solve_args *g, const poly_step *t, int64_t i) {
  kp_lanes p[3], s[3], x[3], r[3], u[3], w[3], zero = { 0 };
  kp_records_load(t->u + KP_RECORD * i, u);
  sweep_get(g->w, i, w);
  int32_t hub = poly_hub_of(g, i);
  if (hub >= 0 && i % SWEEP_SLICE == 0) {
    double total[3];
    poly_hub_total(g, hub, total);
    for (int c = 0; c < 3; ++c) {
#ifdef __CUDACC__
      w[c] += (kp_real)total[c];
#else
      w[c][0] += (kp_real)total[c];
#endif
    }
    poly_free(&g->is, i, w);
  }
  if (t->is_first) {
    for (int c = 0; c < 3; ++c) {
      p[c] = s[c] = x[c] = zero;
    }
  } else {
    sweep_get(g->p, i, p);
    sweep_get(g->s, i, s);
    sweep_get(g->x, i, x);
  }
  sweep_get(g->r, i, r);
  for (int c = 0; c < 3; ++c) {
    p[c] = u[c] + t->beta * p[c];
    s[c] = w[c] + t->beta * s[c];
    x[c] += t->alpha * p[c];
    r[c] -= t->alpha * s[c];
  }
  poly_put(g->p, i, p);
  poly_put(g->s, i, s);
  poly_put(g->x, i, x);
  poly_put(g->r, i, r);
  poly_begin(g, i, r);
}

KP_FN void poly_start(const kp_team *team, const poly_solve_args *g) {
  KP_TEAM_TILES(team, tile, kp_team_tiles(g->rows)) {
    POLY_ROWS(g, tile, i) {
      kp_lanes r[3], zero = { 0 }, none[3] = { zero, zero, zero };
      sweep_get(g->r, i, r);
      poly_put(g->x, i, none);
      poly_begin(g, i, r);
    }
  }
}

KP_FN void poly_solve(const kp_team *team, const poly_solve_args *g) {
  double v[POLY_SUMS], gamma = 0.0, alpha = 0.0;
  int why = POLY_DONE;
  int32_t n = 0;
  poly_start(team, g);
  for (;; ++n) {
    const kp_real *u = poly_terms(team, g);
    poly_look(team, g, u, v);
    double beta = n > 0 ? v[0] / gamma : 0.0;
    double curvature = n > 0 ? v[1] - beta * v[0] / alpha : v[1];
    if (!(v[0] + v[1] + v[2] < HUGE_VAL)) {
      why = POLY_NOT_FINITE;
      break;
    }
    if (v[2] <= g->enough || n == g->max_iterations) {
      break;
    }
    if (!(v[0] > 0.0) || !(curvature > 0.0)) {
      why = POLY_NOT_DEFINITE;
      break;
    }
    gamma = v[0];
    alpha = gamma / curvature;
    poly_step t = { .alpha = (kp_real)alpha, .beta = (kp_real)beta, .is_first = n == 0, .u = u };
    KP_TEAM_TILES(team, tile, kp_team_tiles(g->rows)) {
      POLY_ROWS(g, tile, i) {
        poly_update(g, &t, i);
      }
    }
  }
  if (kp_team_is_first(team)) {
    g->report[0] = (double)n;
    g->report[1] = v[2];
    g->report[2] = (double)why;
  }
}

#define DEFORM_POLY_KERNELS(POINT, REDUCE, ROW, PAIR) ROW(poly, take)
#define DEFORM_POLY_TEAM_KERNELS(TEAM) TEAM(poly, solve)
