// What one cell or face does to a level set. Distances under way are unsigned and in cells.
#pragma once

#include "data/mac_sample.h"
#include "par/kernel.h"

#define LEVEL_SET_FAR 1e6                                         // cells: nothing came yet
#define LEVEL_SET_ROUNDING (sizeof(kp_real) == 4 ? 5e-7 : 1e-15)  // a change in the last digits

#define LEVEL_SET_MEASURE_OPS                                                                      \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

#define LEVEL_SET_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  POINT(level_set, clear)                                                                          \
  ROW(level_set, begin)                                                                            \
  ROW(level_set, relax)                                                                            \
  POINT(level_set, sweep)                                                                          \
  REDUCE(level_set, changes, KP_REDUCE_SUM)                                                        \
  ROW(level_set, finish)                                                                           \
  ROW(level_set, unite)                                                                            \
  REDUCE(level_set, measure, LEVEL_SET_MEASURE_OPS)                                                \
  ROW(level_set, curvature)                                                                        \
  ROW(level_set, known)                                                                            \
  ROW(level_set, extend)

KP_FN kp_real level_set_min(kp_real a, kp_real b) {
  return a < b ? a : b;
}

KP_FN kp_real level_set_max(kp_real a, kp_real b) {
  return a > b ? a : b;
}

// ---- the equation

// The smallest x with sum over the axes of max(x - value, 0)^2 = 1, by dropping the largest values
// for as long as they are not below it (Hong 2009, section II.F.1). Values relative to the smallest
// one keep their digits far from the surface.
KP_FN kp_real level_set_solve(kp_real a, kp_real b, kp_real c) {
  kp_real low = level_set_min(a, b);
  kp_real high = level_set_max(a, b);
  kp_real least = level_set_min(low, c);
  kp_real rest = level_set_max(low, c);
  kp_real most = level_set_max(high, rest);
  kp_real middle = level_set_min(high, rest);
  kp_real m = middle - least;
  kp_real n = most - least;
  // whether a value changed at all is counted: the products round alike everywhere
  kp_real mm = kp_product(m, m);
  kp_real two = (kp_real)0.5 * (m + kp_root(level_set_max(2 - mm, 0)));
  kp_real sum = m + n;
  kp_real under = kp_product(sum, sum) - kp_product(3, mm + kp_product(n, n) - 1);
  kp_real three = kp_product(sum + kp_root(level_set_max(under, 0)), (kp_real)1 / 3);
  return least + (m >= 1 ? (kp_real)1 : (two <= n ? two : three));
}

// Towards a neighbour on the other side: how far the zero is, in cells.
KP_FN kp_real level_set_crossing(kp_real phi, kp_real other) {
  kp_real share = phi / (phi - other);
  int is_cut = (phi < 0) != (other < 0);
  return is_cut ? share : (kp_real)LEVEL_SET_FAR;
}

// Beyond the window: far away, and nothing known.
typedef struct level_set_clear_args {
  kp_real *distance, *other;
  kp_real *known, *known_other;
} level_set_clear_args;

KP_FN void level_set_clear(int64_t at, const level_set_clear_args *a) {
  a->distance[at] = LEVEL_SET_FAR;
  a->other[at] = LEVEL_SET_FAR;
  a->known[at] = 0;
  a->known_other[at] = 0;
}

typedef struct level_set_begin_args {
  kp_mac_view grid;
  int32_t crossings;  // kp_level_set_start: by crossings, else by the slope
  const kp_real *phi;
  kp_real *distance;
  kp_real *other;  // the second array of the passes: starts alike
  uint8_t *fixed;
} level_set_begin_args;

// phi over its slope, which is the largest of the central and the one-sided ones (Russo & Smereka
// 2000): exact for planes, and never beyond a crossing.
KP_FN kp_real level_set_by_slope(const kp_mac_view *g, const kp_real *phi, int64_t at) {
  kp_real own = phi[at];
  kp_real square = 0;
  kp_real most = 0;
  for (int c = 0; c < g->dimension; ++c) {
    int64_t up = kp_mac_stride(g, c);
    kp_real before = own - phi[at - up];
    kp_real after = phi[at + up] - own;
    kp_real mean = (kp_real)0.5 * (before + after);
    square += mean * mean;
    before = before < 0 ? -before : before;
    after = after < 0 ? -after : after;
    most = level_set_max(most, level_set_max(before, after));
  }
  kp_real slope = level_set_max(kp_root(square), most);
  return (own < 0 ? -own : own) / slope;
}

// 1/d^2 = sum of 1/d_axis^2 (Adalsteinsson & Sethian 1999). A plane that is cut along one axis only
// moves with every call.
KP_FN kp_real level_set_by_crossings(const kp_real cut[3]) {
  kp_real sum = 0;
  for (int c = 0; c < 3; ++c) {
    kp_real d = level_set_max(cut[c], (kp_real)1e-9);
    sum += 1 / (d * d);
  }
  return 1 / kp_root(sum);
}

KP_FN void level_set_begin(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const level_set_begin_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *phi = a->phi;
  int64_t at = kp_mac_at(g, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    kp_real cut[3] = { LEVEL_SET_FAR, LEVEL_SET_FAR, LEVEL_SET_FAR };
    for (int c = 0; c < g->dimension; ++c) {
      int64_t up = kp_mac_stride(g, c);
      cut[c] = level_set_min(level_set_crossing(phi[i], phi[i - up]),
                             level_set_crossing(phi[i], phi[i + up]));
    }
    int is_fixed = cut[0] < 2 || cut[1] < 2 || cut[2] < 2;
    kp_real first = LEVEL_SET_FAR;
    if (is_fixed) {
      first = a->crossings ? level_set_by_crossings(cut) : level_set_by_slope(g, phi, i);
    }
    a->distance[i] = first;
    a->other[i] = first;
    a->fixed[i] = (uint8_t)is_fixed;
  }
}

typedef struct level_set_relax_args {
  kp_mac_view grid;
  kp_real band;  // cells
  const uint8_t *fixed;
  const kp_real *in;
  kp_real *out;
} level_set_relax_args;

// One Jacobi pass. What depends on smaller values alone is final once they are, so that a band of n
// cells needs about sqrt(d) n passes; where ways meet, a few more.
KP_FN void level_set_relax(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const level_set_relax_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *in = a->in;
  const uint8_t *fixed = a->fixed;
  kp_real *out = a->out;
  int64_t row = g->row;
  int64_t slab = g->slab;
  int64_t at = kp_mac_at(g, 0, j, k);
  kp_real band = a->band;
  int is_flat = g->dimension == 2;
  for (int64_t i = at + i0; i < at + i1; ++i) {
    kp_real x = level_set_min(in[i - 1], in[i + 1]);
    kp_real y = level_set_min(in[i - row], in[i + row]);
    kp_real z = is_flat ? (kp_real)LEVEL_SET_FAR : level_set_min(in[i - slab], in[i + slab]);
    kp_real d = level_set_solve(x, y, z);
    kp_real old = in[i];
    int keeps = fixed[i] != 0 || !(d < old) || !(d < band);
    out[i] = keeps ? old : d;
  }
}

// ---- sweeping

typedef struct level_set_sweep_args {
  kp_mac_view grid;
  int32_t lo[3], hi[3];  // cells of the window
  int32_t turn[3];       // 1: this axis runs downwards
  int32_t diagonal;  // of the rows: sum of their numbers along y and z, in the order of the axes
  int32_t first;     // number along y of row 0 of this diagonal
  const uint8_t *fixed;
  kp_real *distance;
  uint32_t *changes;  // per row of the plane y, z
} level_set_sweep_args;

// Row t of a diagonal: rows of one diagonal do not touch, those of the one before are done.
KP_FN void level_set_sweep(int64_t t, const level_set_sweep_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t y = a->first + t;
  int64_t z = a->diagonal - y;
  int64_t j = a->turn[1] ? a->hi[1] - 1 - y : a->lo[1] + y;
  int64_t k = a->turn[2] ? a->hi[2] - 1 - z : a->lo[2] + z;
  int64_t n = a->hi[0] - a->lo[0];
  int64_t step = a->turn[0] ? -1 : 1;
  int64_t row = g->row;
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  kp_real *d = a->distance;
  int64_t i = kp_mac_at(g, a->turn[0] ? a->hi[0] - 1 : a->lo[0], j, k);
  uint32_t count = 0;
  for (int64_t s = 0; s < n; ++s, i += step) {
    kp_real old = d[i];
    kp_real x = level_set_min(d[i - 1], d[i + 1]);
    kp_real yy = level_set_min(d[i - row], d[i + row]);
    kp_real zz = slab == 0 ? (kp_real)LEVEL_SET_FAR : level_set_min(d[i - slab], d[i + slab]);
    kp_real least = level_set_min(level_set_min(x, yy), zz);
    // an answer lies above the smallest value by 1/sqrt(d) at least
    if (!(least + (kp_real)0.57 < old) || a->fixed[i]) {
      continue;
    }
    kp_real value = level_set_solve(x, yy, zz);
    if (value < old) {
      d[i] = value;
      count += old - value > (kp_real)LEVEL_SET_ROUNDING * value ? 1u : 0u;
    }
  }
  a->changes[(j - a->lo[1]) + (k - a->lo[2]) * (int64_t)(a->hi[1] - a->lo[1])] = count;
}

typedef struct level_set_changes_args {
  const uint32_t *changes;
} level_set_changes_args;

KP_FN void level_set_changes(int64_t i, const level_set_changes_args *a, double *v) {
  v[0] = (double)a->changes[i];
}

typedef struct level_set_finish_args {
  kp_mac_view grid;
  kp_real band;  // cells
  const kp_real *distance;
  kp_real *phi;
} level_set_finish_args;

KP_FN void level_set_finish(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const level_set_finish_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  const kp_real *distance = a->distance;
  kp_real *phi = a->phi;
  kp_real h = g->h;
  kp_real band = a->band;
  for (int64_t i = at + i0; i < at + i1; ++i) {
    kp_real d = level_set_min(distance[i], band) * h;
    phi[i] = phi[i] < 0 ? -d : d;
  }
}

typedef struct level_set_unite_args {
  kp_mac_view grid;
  const kp_real *other;
  kp_real *phi;
} level_set_unite_args;

KP_FN void level_set_unite(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const level_set_unite_args *a) {
  int64_t at = kp_mac_at(&a->grid, 0, j, k);
  const kp_real *other = a->other;
  kp_real *phi = a->phi;
  for (int64_t i = at + i0; i < at + i1; ++i) {
    phi[i] = level_set_min(phi[i], other[i]);
  }
}

// ---- measures

// The share of a unit square where low x + high y < s, 0 <= low <= high.
KP_FN double level_set_share2(double s, double low, double high) {
  double rest = low + high - s;
  if (!(s > 0.0)) {
    return 0.0;
  }
  if (!(rest > 0.0)) {
    return 1.0;
  }
  if (s < low) {
    return s / low * (s / (2.0 * high));
  }
  if (s > high) {
    return 1.0 - rest / low * (rest / (2.0 * high));
  }
  return (s - 0.5 * low) / high;
}

// The mean of such shares while s goes from `from` down to from - least. They are parabolas between
// kinks, so that Simpson's rule is exact on each piece. Written out it is the formula of
// Scardovelli & Zaleski (2000), whose terms of third order cancel where `least` is small: here
// nothing is divided by it but what says where on the way a kink is, and it does not matter much
// where two parabolas meet that have one value and one slope there.
KP_FN double level_set_share3(double from, double least, double low, double high) {
  const double kinks[4] = { low + high, high, low, 0.0 };
  double sum = 0.0;
  double begin = 0.0;
  for (int k = 0; k < 5; ++k) {
    double at = k < 4 ? (from - kinks[k]) / least : 1.0;
    double end = at < 1.0 ? at : 1.0;
    if (end > begin) {
      double mid = 0.5 * (begin + end);
      sum += (end - begin) * (level_set_share2(from - least * begin, low, high) +
                              4.0 * level_set_share2(from - least * mid, low, high) +
                              level_set_share2(from - least * end, low, high));
      begin = end;
    }
  }
  return sum / 6.0;
}

// The share of a unit cell where phi + m . (x - centre) < 0.
KP_FN double level_set_share(double phi, const double slope[3], int dimension) {
  double low = fabs(slope[0]);
  double high = fabs(slope[1]);
  double least = dimension == 3 ? fabs(slope[2]) : 0.0;
  double sum = low + high + least;
  if (!(sum > 0.0) || phi >= 0.5 * sum || phi <= -0.5 * sum) {
    return phi < 0.0 ? 1.0 : 0.0;
  }
  double swap = low;
  if (low > high) {
    low = high;
    high = swap;
  }
  swap = least;
  if (least > high) {
    least = high;
    high = swap;
  }
  swap = least;
  if (least > low) {
    least = low;
    low = swap;
  }
  double from = 0.5 * sum - phi;
  return least > 0.0 ? level_set_share3(from, least, low, high) : level_set_share2(from, low, high);
}

// The share of cell `at` that is inside.
KP_FN double level_set_share_at(const kp_mac_view *g, const kp_real *phi, int64_t at) {
  kp_real slope[3];
  kp_mac_gradient(g, phi, at, slope);
  const double m[3] = { (double)slope[0] * g->cell, (double)slope[1] * g->cell,
                        (double)slope[2] * g->cell };
  return level_set_share((double)phi[at], m, g->dimension);
}

// Whether item `at` is a cell of the domain, and which.
KP_FN int level_set_cell(const kp_mac_view *g, int64_t at, int64_t cell[3]) {
  kp_mac_cell_of(g, at, cell);
  int is_in = 1;
  for (int c = 0; c < 3; ++c) {
    is_in = is_in && cell[c] >= 0 && cell[c] < g->n[c];
  }
  return is_in;
}

typedef struct level_set_measure_args {
  kp_mac_view grid;
  int64_t first;
  const uint8_t *flags;
  const kp_real *phi;
} level_set_measure_args;

// Shares of cells, of their surface, and first moments. Area from the change of the share when the
// surface moves by a hundredth of a cell.
KP_FN void level_set_measure(int64_t t, const level_set_measure_args *a, double *v) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + t;
  int64_t cell[3];
  for (int c = 0; c < 5; ++c) {
    v[c] = 0.0;
  }
  int is_solid = a->flags != NULL && (a->flags[at] & KP_CELL_KIND) == KP_CELL_SOLID;
  if (!level_set_cell(g, at, cell) || is_solid || (double)a->phi[at] > 2.0 * g->cell) {
    return;
  }
  kp_real slope[3];
  kp_mac_gradient(g, a->phi, at, slope);
  const double m[3] = { (double)slope[0] * g->cell, (double)slope[1] * g->cell,
                        (double)slope[2] * g->cell };
  double length = sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
  double phi = (double)a->phi[at];
  double shift = 0.01 * length;
  v[0] = level_set_share(phi, m, g->dimension);
  v[1] = length > 0.0 ? (level_set_share(phi - shift, m, g->dimension) -
                         level_set_share(phi + shift, m, g->dimension)) /
                            0.02
                      : 0.0;
  for (int c = 0; c < 3; ++c) {
    v[2 + c] = v[0] * (double)cell[c];
  }
}

typedef struct level_set_curvature_args {
  kp_mac_view grid;
  const kp_real *phi;
  kp_real *curvature;
} level_set_curvature_args;

// (tr H |g|^2 - g . H g) / |g|^3 with central differences [1/cell].
KP_FN kp_real level_set_bend(const kp_mac_view *g, const kp_real *phi, int64_t at) {
  kp_real slope[3];
  kp_real second[3][3];
  kp_mac_gradient(g, phi, at, slope);
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      int is_gone = g->dimension == 2 && (a == 2 || b == 2);
      int64_t p = kp_mac_stride(g, a);
      int64_t q = kp_mac_stride(g, b);
      second[a][b] = is_gone  ? (kp_real)0
                     : a == b ? (phi[at + p] - phi[at]) - (phi[at] - phi[at - p])
                              : (kp_real)0.25 * ((phi[at + p + q] - phi[at + p - q]) -
                                                 (phi[at - p + q] - phi[at - p - q]));
    }
  }
  kp_real square = 0;
  kp_real trace = 0;
  kp_real along = 0;
  for (int a = 0; a < 3; ++a) {
    square += slope[a] * slope[a];
    trace += second[a][a];
    for (int b = 0; b < 3; ++b) {
      along += slope[a] * second[a][b] * slope[b];
    }
  }
  kp_real cubed = square * kp_root(square);
  // second differences are in metres: one over the edge makes them curvatures of unit cells
  return cubed > (kp_real)1e-6 ? (trace * square - along) / cubed * g->inverse_h : (kp_real)0;
}

KP_FN void level_set_curvature(int64_t j, int64_t k, int64_t i0, int64_t i1,
                               const level_set_curvature_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  kp_real most = (kp_real)(g->dimension - 1);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    kp_real p = a->phi[i];
    kp_real bend = 0;
    if (p < 2 * g->h && p > -2 * g->h) {
      bend = level_set_bend(g, a->phi, i);
      bend = bend < -most ? -most : (bend > most ? most : bend);
    }
    a->curvature[i] = bend * g->inverse_h;
  }
}

// ---- velocity outwards

typedef struct level_set_known_args {
  kp_mac_view grid;
  int32_t axis;
  const uint8_t *flags;
  kp_real *known;
  kp_real *other;
} level_set_known_args;

// Faces of fluid cells know their velocity.
KP_FN void level_set_known(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const level_set_known_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  int64_t back = kp_mac_stride(g, a->axis);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    int is_known = (a->flags[i] & KP_CELL_KIND) == KP_CELL_FLUID ||
                   (a->flags[i - back] & KP_CELL_KIND) == KP_CELL_FLUID;
    a->known[i] = (kp_real)is_known;
    a->other[i] = (kp_real)is_known;
  }
}

typedef struct level_set_extend_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real reach;  // m
  const kp_real *phi;
  const kp_real *known;  // 1 fluid, 0.5 reached, 0 not yet
  const kp_real *in;
  kp_real *known_out;
  kp_real *out;
} level_set_extend_args;

// u = sum w u_a / sum w over the neighbours nearer to the surface, w = phi - phi_a. Values are
// taken anew in each pass: they are final once all values they come from are.
KP_FN void level_set_extend(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const level_set_extend_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    kp_real own = kp_mac_mean(g, a->phi, a->axis, i);
    kp_real sum = 0;
    kp_real weight = 0;
    int is_wanted = a->known[i] < 1 && own < a->reach;
    for (int c = 0; c < g->dimension && is_wanted; ++c) {
      for (int s = -1; s <= 1; s += 2) {
        int64_t other = i + s * kp_mac_stride(g, c);
        kp_real w = own - kp_mac_mean(g, a->phi, a->axis, other);
        w = w > 0 && a->known[other] > 0 ? w : (kp_real)0;
        sum += w * a->in[other];
        weight += w;
      }
    }
    int is_reached = weight > 0;
    a->out[i] = is_reached ? sum / weight : a->in[i];
    a->known_out[i] = is_reached ? (kp_real)0.5 : a->known[i];
  }
}
