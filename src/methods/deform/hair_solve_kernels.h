// The matrix of an implicit step, hair by hair. Nodes of a hair are coupled with those at most
// three behind them, so that its part of the matrix is a band of 3 x 3 blocks, which a Cholesky
// decomposition fills but does not widen: the preconditioner of the conjugate gradients. It is the
// inverse of the matrix itself where hairs touch nothing.
#pragma once

#include "methods/deform/deform_kernels.h"

#define HAIR_BAND 4   // blocks of a node: with itself, and with one, two, three nodes before
#define HAIR_BLOCK 9  // row by row
#define HAIR_ROW (HAIR_BAND * HAIR_BLOCK)

typedef struct hair_factor_args {
  int64_t first;                                     // hair
  int64_t origin;                                    // first node of the band
  kp_real h;                                         // s
  const int32_t *start, *spring_start, *axis_start;  // of hairs
  const int32_t *a, *b;                              // springs
  const kp_real *dx, *dy, *dz, *rate;
  int64_t n_axes;
  const int32_t *corner;  // axes, item k of m is [k n_axes + m]
  const kp_real *slope, *axis_rate;
  const kp_real *mass, *slow;
  const uint8_t *hold;
  kp_real *band;  // HAIR_ROW per node
} hair_factor_args;

// block += c u v^T
KP_FN void hair_add_outer(kp_real *block, kp_real c, const kp_real *u, const kp_real *v) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      block[3 * i + j] += c * u[i] * v[j];
    }
  }
}

// The part c u v^T between two nodes p and q of a hair, p not before q. What is too far apart for
// the band goes to the diagonal, from both sides, which keeps the matrix definite.
KP_FN void hair_couple(kp_real *band, int64_t p, int64_t q, kp_real c, const kp_real *u,
                       const kp_real *v) {
  if (p - q < HAIR_BAND) {
    hair_add_outer(band + HAIR_ROW * p + HAIR_BLOCK * (p - q), c, u, v);
  } else {
    kp_real size = c < 0 ? -c : c;
    hair_add_outer(band + HAIR_ROW * p, size, u, u);
    hair_add_outer(band + HAIR_ROW * q, size, v, v);
  }
}

KP_FN void hair_assemble(int64_t h, const hair_factor_args *g) {
  int64_t begin = g->start[h], end = g->start[h + 1];
  kp_real *band = g->band - HAIR_ROW * g->origin;
  for (int64_t i = begin; i < end; ++i) {
    for (int k = 0; k < HAIR_ROW; ++k) {
      band[HAIR_ROW * i + k] = 0;
    }
    kp_real d = g->mass[i] + g->h * g->slow[i];
    band[HAIR_ROW * i] = band[HAIR_ROW * i + 4] = band[HAIR_ROW * i + 8] = d;
  }
  for (int32_t s = g->spring_start[h]; s < g->spring_start[h + 1]; ++s) {
    kp_real c = g->h * g->rate[s];
    const kp_real d[3] = { g->dx[s], g->dy[s], g->dz[s] };
    int64_t p = g->a[s] > g->b[s] ? g->a[s] : g->b[s];
    int64_t q = g->a[s] > g->b[s] ? g->b[s] : g->a[s];
    hair_add_outer(band + HAIR_ROW * p, c, d, d);
    hair_add_outer(band + HAIR_ROW * q, c, d, d);
    hair_couple(band, p, q, -c, d, d);
  }
  int64_t n = g->n_axes;
  for (int64_t m = g->axis_start[h]; m < g->axis_start[h + 1]; ++m) {
    kp_real c = g->h * g->axis_rate[m];
    kp_real u[4][3];
    for (int k = 0; k < 12; ++k) {
      u[k / 3][k % 3] = g->slope[k * n + m];
    }
    for (int k = 0; k < 4; ++k) {
      int64_t p = g->corner[k * n + m];
      for (int l = 0; l < 4; ++l) {
        int64_t q = g->corner[l * n + m];
        if (p >= q) {
          hair_couple(band, p, q, c, u[k], u[l]);
        }
      }
    }
  }
}

// Rows and columns of what is held: nothing but the mass.
KP_FN void hair_hold(int64_t h, const hair_factor_args *g) {
  int64_t begin = g->start[h], end = g->start[h + 1];
  kp_real *band = g->band - HAIR_ROW * g->origin;
  for (int64_t i = begin; i < end; ++i) {
    for (int c = 0; c < 3; ++c) {
      if (((g->hold[i] >> c) & 1) == 0) {
        continue;
      }
      for (int k = 0; k < HAIR_BAND; ++k) {
        for (int j = 0; j < 3; ++j) {
          band[HAIR_ROW * i + HAIR_BLOCK * k + 3 * c + j] = 0;
          if (i + k < end) {
            band[HAIR_ROW * (i + k) + HAIR_BLOCK * k + 3 * j + c] = 0;
          }
        }
      }
      band[HAIR_ROW * i + 4 * c] = g->mass[i];
    }
  }
}

// a -= b c^T
KP_FN void hair_take_product(kp_real *a, const kp_real *b, const kp_real *c) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      a[3 * i + j] -=
          b[3 * i] * c[3 * j] + b[3 * i + 1] * c[3 * j + 1] + b[3 * i + 2] * c[3 * j + 2];
    }
  }
}

// Lower triangle of a = l l^T in place, with the inverse of its diagonal.
KP_FN void hair_root_of(kp_real *a) {
  for (int j = 0; j < 3; ++j) {
    kp_real d = a[4 * j];
    kp_real whole = d;
    for (int k = 0; k < j; ++k) {
      d -= a[3 * j + k] * a[3 * j + k];
    }
    // rounding may leave nothing of a stiff node: the preconditioner stays definite
    d = d > (kp_real)1e-6 * whole ? d : (kp_real)1e-6 * whole;
    kp_real inverse = 1 / (kp_real)sqrt((double)d);
    a[4 * j] = inverse;
    for (int i = j + 1; i < 3; ++i) {
      kp_real v = a[3 * i + j];
      for (int k = 0; k < j; ++k) {
        v -= a[3 * i + k] * a[3 * j + k];
      }
      a[3 * i + j] = v * inverse;
    }
  }
}

// a = a l^-T
KP_FN void hair_divide(kp_real *a, const kp_real *l) {
  for (int i = 0; i < 3; ++i) {
    kp_real *r = a + 3 * i;
    r[0] = r[0] * l[0];
    r[1] = (r[1] - r[0] * l[3]) * l[4];
    r[2] = (r[2] - r[0] * l[6] - r[1] * l[7]) * l[8];
  }
}

KP_FN void hair_factor(int64_t e, const hair_factor_args *g) {
  int64_t h = g->first + e;
  hair_assemble(h, g);
  hair_hold(h, g);
  int64_t begin = g->start[h], end = g->start[h + 1];
  kp_real *band = g->band - HAIR_ROW * g->origin;
  for (int64_t i = begin; i < end; ++i) {
    kp_real *row = band + HAIR_ROW * i;
    int64_t low = i - HAIR_BAND + 1 > begin ? i - HAIR_BAND + 1 : begin;
    for (int64_t j = low; j < i; ++j) {
      const kp_real *other = band + HAIR_ROW * j;
      for (int64_t k = low; k < j; ++k) {
        hair_take_product(row + HAIR_BLOCK * (i - j), row + HAIR_BLOCK * (i - k),
                          other + HAIR_BLOCK * (j - k));
      }
      hair_divide(row + HAIR_BLOCK * (i - j), other);
    }
    for (int64_t k = low; k < i; ++k) {
      hair_take_product(row, row + HAIR_BLOCK * (i - k), row + HAIR_BLOCK * (i - k));
    }
    hair_root_of(row);
  }
}

// u = (l l^T)^-1 r
typedef struct hair_precondition_args {
  int64_t first, origin;
  const int32_t *start;
  const kp_real *band;
  deform_in r;
  deform_out u;
} hair_precondition_args;

KP_FN void hair_precondition(int64_t e, const hair_precondition_args *g) {
  int64_t h = g->first + e;
  int64_t begin = g->start[h], end = g->start[h + 1];
  const kp_real *band = g->band - HAIR_ROW * g->origin;
  kp_real *const u[3] = { g->u.x + g->u.o, g->u.y + g->u.p, g->u.z + g->u.q };
  for (int64_t i = begin; i < end; ++i) {
    const kp_real *row = band + HAIR_ROW * i;
    kp_real v[3] = { g->r.x[g->r.o + i], g->r.y[g->r.p + i], g->r.z[g->r.q + i] };
    for (int64_t k = 1; k < HAIR_BAND && i - k >= begin; ++k) {
      const kp_real *l = row + HAIR_BLOCK * k;
      for (int c = 0; c < 3; ++c) {
        v[c] -= l[3 * c] * u[0][i - k] + l[3 * c + 1] * u[1][i - k] + l[3 * c + 2] * u[2][i - k];
      }
    }
    v[0] = v[0] * row[0];
    v[1] = (v[1] - row[3] * v[0]) * row[4];
    v[2] = (v[2] - row[6] * v[0] - row[7] * v[1]) * row[8];
    for (int c = 0; c < 3; ++c) {
      u[c][i] = v[c];
    }
  }
  for (int64_t i = end - 1; i >= begin; --i) {
    kp_real v[3] = { u[0][i], u[1][i], u[2][i] };
    for (int64_t k = 1; k < HAIR_BAND && i + k < end; ++k) {
      const kp_real *l = band + HAIR_ROW * (i + k) + HAIR_BLOCK * k;
      for (int c = 0; c < 3; ++c) {
        v[c] -= l[c] * u[0][i + k] + l[3 + c] * u[1][i + k] + l[6 + c] * u[2][i + k];
      }
    }
    const kp_real *row = band + HAIR_ROW * i;
    v[2] = v[2] * row[8];
    v[1] = (v[1] - row[7] * v[2]) * row[4];
    v[0] = (v[0] - row[3] * v[1] - row[6] * v[2]) * row[0];
    for (int c = 0; c < 3; ++c) {
      u[c][i] = v[c];
    }
  }
}

// u = d r: other nodes of the group.
typedef struct hair_jacobi_args {
  const kp_real *d, *r;
  kp_real *u;
} hair_jacobi_args;

KP_FN void hair_jacobi(int64_t i, const hair_jacobi_args *g) {
  g->u[i] = g->d[i] * g->r[i];
}

#define HAIR_SOLVE_KERNELS(POINT, REDUCE, ROW, PAIR)                                               \
  POINT(hair, factor)                                                                              \
  POINT(hair, precondition)                                                                        \
  POINT(hair, jacobi)
