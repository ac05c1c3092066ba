// Reading a MAC grid between its places: the one door to interpolation, averages, derivatives and
// traces. Every function here looks at the occluded bit of the cell it reads in and, where it is
// set, goes to the slow path at the end of this file, so that thin shells can come in without a
// change to any scheme.
//
// Places are kept as a whole number of cells and a fraction, so that a trace of a fraction of a
// cell loses no digits however large the grid is.
#pragma once

#include <string.h>

#include "data/mac_view.h"
#include "math/rounding.h"

// Loops around readers are vectorised only where nothing is left to call.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define KP_MAC_READER static inline __attribute__((always_inline))
#else
#define KP_MAC_READER KP_FN
#endif

// For tests: count the visits of the slow path.
#ifndef KP_MAC_ON_OCCLUDED
#define KP_MAC_ON_OCCLUDED(g, at) ((void)(g), (void)(at))
#endif

// A point between items: item (i, j, k) and how far it is on the way to the next ones, 0..1.
typedef struct kp_mac_point {
  int32_t i, j, k;
  kp_real x, y, z;
} kp_mac_point;

// What the coordinates of a kind of place may be along an axis: faces run from 0 to n across their
// own axis; everything else stays between the walls, which lie half a cell beyond the first and the
// last centre. `last` is the largest whole part. Across a periodic axis a way is cut at n either
// way instead. Here and in kp_mac_step sums stand for branches, so that loops around them are
// vectorised.
typedef struct kp_mac_limits {
  kp_real lo, hi, last;
  kp_real closed;  // 1, or 0 of a periodic axis
  int32_t around;  // n of a periodic axis, or 0
} kp_mac_limits;

KP_FN kp_mac_limits kp_mac_limits_of(const kp_mac_view *g, int kind, int axis) {
  kp_mac_limits l;
  int has_ends = (kind == axis) | (kind == KP_MAC_NODE);
  kp_real n = (kp_real)g->n[axis];
  kp_real first = (kp_real)-0.5 * (kp_real)(1 - has_ends);
  l.closed = (kp_real)(1 - g->is_periodic[axis]);
  l.lo = l.closed * first - (1 - l.closed) * n;
  l.hi = l.closed * first + n;
  l.last = n - l.closed;
  l.around = g->is_periodic[axis] * g->n[axis];
  return l;
}

// Item i moved by d cells along an axis, kept inside the limits or brought around.
KP_FN int32_t kp_mac_step(const kp_mac_view *g, int axis, kp_mac_limits l, int32_t i, kp_real d,
                          kp_real *fraction) {
  kp_real from = l.closed * (kp_real)i;
  kp_real lo = l.lo - from;
  kp_real hi = l.hi - from;
  kp_real end = l.last - from;  // the upper end belongs to the last interval
  d = d > lo ? d : lo;          // this order turns a NaN into a place that exists
  d = d < hi ? d : hi;
  kp_real whole = kp_floor(d);
  whole = whole < end ? whole : end;
  *fraction = d - whole;
  int32_t at = i + (int32_t)whole;
  at += at < 0 ? l.around : 0;
  at -= at >= g->n[axis] ? l.around : 0;
  return at;
}

// The item (i, j, k) of a kind of place (kp_mac_kind), moved by (dx, dy, dz) cells.
KP_MAC_READER kp_mac_point kp_mac_move(const kp_mac_view *g, int kind, int32_t i, int32_t j,
                                       int32_t k, kp_real dx, kp_real dy, kp_real dz) {
  kp_mac_point p;
  p.i = kp_mac_step(g, 0, kp_mac_limits_of(g, kind, 0), i, dx, &p.x);
  p.j = kp_mac_step(g, 1, kp_mac_limits_of(g, kind, 1), j, dy, &p.y);
  p.k = 0;
  p.z = 0;
  if (g->dimension == 3) {
    p.k = kp_mac_step(g, 2, kp_mac_limits_of(g, kind, 2), k, dz, &p.z);
  }
  return p;
}

// A point of the world [m] among the items of a kind of place.
KP_FN kp_mac_point kp_mac_point_at(const kp_mac_view *g, int kind, double x, double y, double z) {
  const double to[3] = { (x - g->lo[0]) / g->cell, (y - g->lo[1]) / g->cell,
                         (z - g->lo[2]) / g->cell };
  int32_t base[3];
  kp_real rest[3];
  for (int c = 0; c < 3; ++c) {
    double t = to[c] - (kind == c || kind == KP_MAC_NODE ? 0.0 : 0.5);
    double n = (double)g->n[c];
    t = t > -n ? t : -n;
    t = t < 2.0 * n ? t : 2.0 * n;
    double whole = floor(t);
    base[c] = (int32_t)whole;
    rest[c] = (kp_real)(t - whole);
  }
  return kp_mac_move(g, kind, base[0], base[1], base[2], rest[0], rest[1], rest[2]);
}

KP_FN int32_t kp_mac_item(const kp_mac_view *g, kp_mac_point p) {
  return g->start + p.i + p.j * g->row + p.k * g->slab;
}

KP_FN int kp_mac_is_occluded(const kp_mac_view *g, int32_t at) {
  return g->occluded != NULL && (g->occluded[at] & KP_CELL_OCCLUDED) != 0;
}

// Products are rounded before they are added, here and in all readers: a card then reads the bits
// that a host reads, and a limiter decides alike on both.
KP_FN kp_real kp_mac_lerp(kp_real a, kp_real b, kp_real t) {
  return a + kp_product(t, b - a);
}

// Two neighbours along x. In float they are read as one number of 64 bits, so that vector loops
// gather half as often, which is what such loops take their time with.
KP_MAC_READER void kp_mac_two(const kp_real *values, int32_t at, kp_real *first, kp_real *second) {
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(KELPIE_DOUBLE) &&                        \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t both;
  memcpy(&both, values + at, sizeof both);
  uint32_t low = (uint32_t)both;
  uint32_t high = (uint32_t)(both >> 32);
  memcpy(first, &low, sizeof low);
  memcpy(second, &high, sizeof high);
#else
  *first = values[at];
  *second = values[at + 1];
#endif
}

// The four items around a point in the layer of item `at`.
KP_MAC_READER kp_real kp_mac_linear_layer(const kp_mac_view *g, const kp_real *values, int32_t at,
                                          kp_mac_point p) {
  kp_real a;
  kp_real b;
  kp_real c;
  kp_real d;
  kp_mac_two(values, at, &a, &b);
  kp_mac_two(values, at + g->row, &c, &d);
  return kp_mac_lerp(kp_mac_lerp(a, b, p.x), kp_mac_lerp(c, d, p.x), p.y);
}

// The eight items around a point (four in 2D) and the place between them.
KP_MAC_READER kp_real kp_mac_linear_plain(const kp_mac_view *g, const kp_real *values,
                                          kp_mac_point p) {
  int32_t at = kp_mac_item(g, p);
  kp_real a = kp_mac_linear_layer(g, values, at, p);
  if (g->dimension == 2) {
    return a;
  }
  return kp_mac_lerp(a, kp_mac_linear_layer(g, values, at + g->slab, p), p.z);
}

KP_FN kp_real kp_mac_occluded_linear(const kp_mac_view *g, const kp_real *values, kp_mac_point p);

// Trilinear interpolation.
KP_MAC_READER kp_real kp_mac_linear(const kp_mac_view *g, const kp_real *values, kp_mac_point p) {
  if (kp_mac_is_occluded(g, kp_mac_item(g, p))) {
    return kp_mac_occluded_linear(g, values, p);
  }
  return kp_mac_linear_plain(g, values, p);
}

// Let lo..hi hold f too.
KP_FN void kp_mac_widen(kp_real f, kp_real *lo, kp_real *hi) {
  *lo = f < *lo ? f : *lo;
  *hi = f > *hi ? f : *hi;
}

KP_MAC_READER void kp_mac_widen_two(const kp_real *values, int32_t at, kp_real *lo, kp_real *hi) {
  kp_real a;
  kp_real b;
  kp_mac_two(values, at, &a, &b);
  kp_mac_widen(a, lo, hi);
  kp_mac_widen(b, lo, hi);
}

// The smallest and the largest of the items that trilinear interpolation reads.
KP_MAC_READER void kp_mac_extremes(const kp_mac_view *g, const kp_real *values, kp_mac_point p,
                                   kp_real *lo, kp_real *hi) {
  int32_t at = kp_mac_item(g, p);
  kp_real first;
  kp_real second;
  kp_mac_two(values, at, &first, &second);
  kp_real least = first;
  kp_real most = first;
  kp_mac_widen(second, &least, &most);
  kp_mac_widen_two(values, at + g->row, &least, &most);
  if (g->dimension == 3) {
    at += g->slab;
    kp_mac_widen_two(values, at, &least, &most);
    kp_mac_widen_two(values, at + g->row, &least, &most);
  }
  *lo = least;
  *hi = most;
}

// Cubic through four values that adds no extrema: Hermite with central slopes, which are set to
// zero where they disagree with the step (Fedkiw, Stam & Jensen 2001, appendix B).
KP_MAC_READER kp_real kp_mac_monotone(kp_real a, kp_real b, kp_real c, kp_real d, kp_real t) {
  kp_real step = c - b;
  kp_real s0 = (kp_real)0.5 * (c - a);
  kp_real s1 = (kp_real)0.5 * (d - b);
  s0 = s0 * step > 0 ? s0 : (kp_real)0;
  s1 = s1 * step > 0 ? s1 : (kp_real)0;
  // slopes beyond three times the step overshoot all the same (Fritsch & Carlson 1980)
  kp_real most = 3 * (step < 0 ? -step : step);
  s0 = s0 > most ? most : (s0 < -most ? -most : s0);
  s1 = s1 > most ? most : (s1 < -most ? -most : s1);
  kp_real cube = (s0 + s1) - 2 * step;
  kp_real square = kp_product(3, step) - 2 * s0 - s1;
  return b + kp_product(t, s0 + kp_product(t, square + kp_product(t, cube)));
}

KP_MAC_READER kp_real kp_mac_cubic_row(const kp_real *values, int32_t at, kp_real t) {
  return kp_mac_monotone(values[at - 1], values[at], values[at + 1], values[at + 2], t);
}

KP_MAC_READER kp_real kp_mac_cubic_layer(const kp_mac_view *g, const kp_real *values, int32_t at,
                                         kp_mac_point p) {
  return kp_mac_monotone(kp_mac_cubic_row(values, at - g->row, p.x),
                         kp_mac_cubic_row(values, at, p.x),
                         kp_mac_cubic_row(values, at + g->row, p.x),
                         kp_mac_cubic_row(values, at + 2 * g->row, p.x), p.y);
}

// Monotone cubic interpolation along x, then y, then z.
KP_MAC_READER kp_real kp_mac_cubic(const kp_mac_view *g, const kp_real *values, kp_mac_point p) {
  int32_t at = kp_mac_item(g, p);
  if (kp_mac_is_occluded(g, at)) {
    return kp_mac_occluded_linear(g, values, p);
  }
  kp_real b = kp_mac_cubic_layer(g, values, at, p);
  if (g->dimension == 2) {
    return b;
  }
  return kp_mac_monotone(kp_mac_cubic_layer(g, values, at - g->slab, p), b,
                         kp_mac_cubic_layer(g, values, at + g->slab, p),
                         kp_mac_cubic_layer(g, values, at + 2 * g->slab, p), p.z);
}

// Velocity of faces u (across x), v (across y), w (across z): pointers to arrays of the layout.
typedef struct kp_mac_velocity {
  const kp_real *u, *v, *w;
} kp_mac_velocity;

// At the centre of cell `at`: the mean of its two faces per axis.
KP_FN void kp_mac_velocity_of_cell(const kp_mac_view *g, kp_mac_velocity f, int64_t at,
                                   kp_real out[3]) {
  const kp_real half = (kp_real)0.5;
  out[0] = half * (f.u[at] + f.u[at + 1]);
  out[1] = half * (f.v[at] + f.v[at + g->row]);
  out[2] = g->dimension == 2 ? (kp_real)0 : half * (f.w[at] + f.w[at + g->slab]);
}

// At the lower face of cell `at` across `axis`: its own component, and of each other one the mean
// of the four faces around.
KP_MAC_READER void kp_mac_velocity_of_face(const kp_mac_view *g, kp_mac_velocity f, int axis,
                                           int64_t at, kp_real out[3]) {
  const kp_real *component[3] = { f.u, f.v, f.w };
  int64_t back = kp_mac_stride(g, axis);
  for (int c = 0; c < 3; ++c) {
    const kp_real *values = component[c];
    int64_t up = kp_mac_stride(g, c);
    int is_gone = c == 2 && g->dimension == 2;
    out[c] = is_gone     ? (kp_real)0
             : c == axis ? values[at]
                         : (kp_real)0.25 * ((values[at] + values[at + up]) +
                                            (values[at - back] + values[at - back + up]));
  }
}

// Anywhere [m].
KP_FN void kp_mac_velocity_at(const kp_mac_view *g, kp_mac_velocity f, double x, double y, double z,
                              kp_real out[3]) {
  out[0] = kp_mac_linear(g, f.u, kp_mac_point_at(g, 0, x, y, z));
  out[1] = kp_mac_linear(g, f.v, kp_mac_point_at(g, 1, x, y, z));
  out[2] = g->dimension == 2 ? (kp_real)0 : kp_mac_linear(g, f.w, kp_mac_point_at(g, 2, x, y, z));
}

// From a place of `kind` to the faces across `component`, along an axis [cells].
KP_FN kp_real kp_mac_half_step(int kind, int component, int axis) {
  return (kp_real)0.5 * (kp_real)((component == axis) - ((kind == axis) | (kind == KP_MAC_NODE)));
}

KP_MAC_READER kp_real kp_mac_component_near(const kp_mac_view *g, const kp_real *values,
                                            int component, int kind, const int32_t item[3],
                                            const kp_real d[3]) {
  return kp_mac_linear(g, values,
                       kp_mac_move(g, component, item[0], item[1], item[2],
                                   d[0] + kp_mac_half_step(kind, component, 0),
                                   d[1] + kp_mac_half_step(kind, component, 1),
                                   d[2] + kp_mac_half_step(kind, component, 2)));
}

// At item (i, j, k) of a kind of place, moved by (dx, dy, dz) cells: for the later stages of a
// trace.
KP_MAC_READER void kp_mac_velocity_near(const kp_mac_view *g, kp_mac_velocity f, int kind,
                                        const int32_t item[3], const kp_real d[3], kp_real out[3]) {
  out[0] = kp_mac_component_near(g, f.u, 0, kind, item, d);
  out[1] = kp_mac_component_near(g, f.v, 1, kind, item, d);
  out[2] = 0;
  if (g->dimension == 3) {
    out[2] = kp_mac_component_near(g, f.w, 2, kind, item, d);
  }
}

// ---- derivatives on the compact stencils ------------------------------------------------------

// Of a velocity at the centre of cell `at` [1/s].
KP_FN kp_real kp_mac_divergence(const kp_mac_view *g, kp_mac_velocity f, int64_t at) {
  kp_real sum = (f.u[at + 1] - f.u[at]) + (f.v[at + g->row] - f.v[at]);
  if (g->dimension == 3) {
    sum += f.w[at + g->slab] - f.w[at];
  }
  return sum * g->inverse_h;
}

// Of a cell-centred array at the lower face of cell `at` across an axis.
KP_FN kp_real kp_mac_slope(const kp_mac_view *g, const kp_real *values, int axis, int64_t at) {
  return (values[at] - values[at - kp_mac_stride(g, axis)]) * g->inverse_h;
}

// Mean of the two cells beside the lower face of cell `at`.
KP_FN kp_real kp_mac_mean(const kp_mac_view *g, const kp_real *values, int axis, int64_t at) {
  return (kp_real)0.5 * (values[at] + values[at - kp_mac_stride(g, axis)]);
}

// Central gradient of a cell-centred array at the centre of cell `at`.
KP_FN void kp_mac_gradient(const kp_mac_view *g, const kp_real *values, int64_t at,
                           kp_real out[3]) {
  for (int c = 0; c < 3; ++c) {
    int64_t up = kp_mac_stride(g, c);
    out[c] = c == 2 && g->dimension == 2
                 ? (kp_real)0
                 : (kp_real)0.5 * g->inverse_h * (values[at + up] - values[at - up]);
  }
}

// du_a / dx_b at the centre of cell `at`: along the component's own axis from the two faces, else
// from the means of four faces on either side.
KP_FN kp_real kp_mac_velocity_slope(const kp_mac_view *g, kp_mac_velocity f, int a, int b,
                                    int64_t at) {
  const kp_real *values = a == 0 ? f.u : (a == 1 ? f.v : f.w);
  if (g->dimension == 2 && (a == 2 || b == 2)) {
    return (kp_real)0;
  }
  int64_t own = kp_mac_stride(g, a);
  if (a == b) {
    return (values[at + own] - values[at]) * g->inverse_h;
  }
  int64_t up = kp_mac_stride(g, b);
  return (kp_real)0.25 * g->inverse_h *
         ((values[at + up] + values[at + up + own]) - (values[at - up] + values[at - up + own]));
}

// Of the two neighbours of item `at` along an axis the one that d leads to.
KP_FN kp_real kp_mac_ahead(const kp_mac_view *g, const kp_real *values, int axis, int64_t at,
                           kp_real d) {
  int64_t up = kp_mac_stride(g, axis);
  kp_real above = values[at + up];
  kp_real below = values[at - up];
  return d > 0 ? above : below;
}

// One upwind step of an array along (d[0], d[1], d[2]) cells, each below 1: along every axis the
// difference on the side that the way leads to.
KP_FN kp_real kp_mac_upwind(const kp_mac_view *g, const kp_real *values, int64_t at,
                            const kp_real d[3]) {
  kp_real f = values[at];
  kp_real sum = f;
  sum += kp_product(d[0] > 0 ? d[0] : -d[0], kp_mac_ahead(g, values, 0, at, d[0]) - f);
  sum += kp_product(d[1] > 0 ? d[1] : -d[1], kp_mac_ahead(g, values, 1, at, d[1]) - f);
  if (g->dimension == 3) {
    sum += kp_product(d[2] > 0 ? d[2] : -d[2], kp_mac_ahead(g, values, 2, at, d[2]) - f);
  }
  return sum;
}

// The smallest and the largest of the items that the upwind step reads.
KP_FN void kp_mac_upwind_extremes(const kp_mac_view *g, const kp_real *values, int64_t at,
                                  const kp_real d[3], kp_real *lo, kp_real *hi) {
  kp_real least = values[at];
  kp_real most = least;
  kp_mac_widen(kp_mac_ahead(g, values, 0, at, d[0]), &least, &most);
  kp_mac_widen(kp_mac_ahead(g, values, 1, at, d[1]), &least, &most);
  if (g->dimension == 3) {
    kp_mac_widen(kp_mac_ahead(g, values, 2, at, d[2]), &least, &most);
  }
  *lo = least;
  *hi = most;
}

// Vorticity at the centre of cell `at` [1/s].
KP_FN void kp_mac_curl(const kp_mac_view *g, kp_mac_velocity f, int64_t at, kp_real out[3]) {
  out[0] = kp_mac_velocity_slope(g, f, 2, 1, at) - kp_mac_velocity_slope(g, f, 1, 2, at);
  out[1] = kp_mac_velocity_slope(g, f, 0, 2, at) - kp_mac_velocity_slope(g, f, 2, 0, at);
  out[2] = kp_mac_velocity_slope(g, f, 1, 0, at) - kp_mac_velocity_slope(g, f, 0, 1, at);
}

// ---- the slow path ----------------------------------------------------------------------------

// Near a thin shell. Until shells cut grids it reads what everyone reads.
KP_FN kp_real kp_mac_occluded_linear(const kp_mac_view *g, const kp_real *values, kp_mac_point p) {
  KP_MAC_ON_OCCLUDED(g, kp_mac_item(g, p));
  return kp_mac_linear_plain(g, values, p);
}
