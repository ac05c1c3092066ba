// Sweeps of the advection (Selle 2008, chapter 2). A row is worked in runs of a few dozen items:
// first the places where the run's traces end, then the values there, one field after the other, so
// that fields at the same places share their traces and every inner loop is a plain one that the
// compiler vectorises.
//
//   first       h1 = A(p)
//   maccormack  p' = h1 + (p - AR(h1)) / 2, limited                              second of two
//   error       p~ = p + (p - AR(h1)) / 2                                        second of three
//   bfecc       p' = A(p~), limited                                              third of three
//
// A traces back along the velocity, AR along its opposite, both from the items themselves and
// through the same velocity. The limiter looks at the corners that A read of p; it finds them again
// by the same trace, which costs less than two arrays to keep their extremes in.
#pragma once

#include "data/mac.h"
#include "data/mac_sample.h"
#include "kelpie/types.h"
#include "par/kernel.h"

// Those that scenes ask for by default stand apart: see advect_cuda.cu.
#define ADVECT_LINEAR_SWEEPS(ROW)                                                                  \
  ROW(advect, first)                                                                               \
  ROW(advect, maccormack)                                                                          \
  ROW(advect, error)                                                                               \
  ROW(advect, bfecc)

#define ADVECT_OTHERS(ROW)                                                                         \
  ROW(advect, first_cubic)                                                                         \
  ROW(advect, maccormack_cubic)                                                                    \
  ROW(advect, error_cubic)                                                                         \
  ROW(advect, bfecc_cubic)                                                                         \
  ROW(advect, first_upwind)                                                                        \
  ROW(advect, maccormack_upwind)                                                                   \
  ROW(advect, error_upwind)                                                                        \
  ROW(advect, bfecc_upwind)                                                                        \
  ROW(advect, copy)

#define ADVECT_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  ADVECT_LINEAR_SWEEPS(ROW)                                                                        \
  ADVECT_OTHERS(ROW)

#define ADVECT_FIELDS 4  // that one sweep carries

// ADVECT_FOR: a loop over a run whose turns are independent, with occlusion and dimension settled
// before it begins. Loops are functions of their own, shared by all sweeps. A card gives every
// thread one item and inlines everything.
#ifdef __CUDACC__
#define ADVECT_LOOP KP_FN
#else
#define ADVECT_LOOP static __attribute__((noinline))
#endif

#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define ADVECT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define ADVECT_INDEPENDENT
#endif

#ifdef __CUDA_ARCH__
#define ADVECT_RUN 1
#define ADVECT_ROLLED _Pragma("unroll 1")  // registers are worth more than jumps
#define ADVECT_FOR(g, c, n, ...)                                                                   \
  for (int c = 0; c < 1; ++c) {                                                                    \
    __VA_ARGS__                                                                                    \
  }
#else
#define ADVECT_RUN 128
#define ADVECT_ROLLED
#define ADVECT_FOR(g, c, n, ...)                                                                   \
  if ((g).occluded != NULL) {                                                                      \
    for (int c = 0; c < (n); ++c) {                                                                \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  } else if ((g).dimension == 2) {                                                                 \
    (g).dimension = 2;                                                                             \
    (g).occluded = NULL;                                                                           \
    ADVECT_INDEPENDENT                                                                             \
    for (int c = 0; c < (n); ++c) {                                                                \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  } else {                                                                                         \
    (g).dimension = 3;                                                                             \
    (g).occluded = NULL;                                                                           \
    ADVECT_INDEPENDENT                                                                             \
    for (int c = 0; c < (n); ++c) {                                                                \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }
#endif

typedef enum advect_read { ADVECT_LINEAR, ADVECT_CUBIC, ADVECT_UPWIND } advect_read;

// What becomes of an item.
enum {
  ADVECT_SECOND,  // all sweeps
  ADVECT_FIRST,   // the second sweep could read another medium: h1 stays
  ADVECT_KEEP     // inside a solid
};

typedef struct advect_args {
  kp_mac_view grid;
  int32_t kind;     // kp_mac_kind
  int32_t trace;    // kp_advect_trace
  int32_t limiter;  // kp_advect_limiter
  int32_t n_fields;
  kp_real shift;         // dt / h: cells per speed
  kp_real lo[3], hi[3];  // coordinates among which all sweeps know what they read
  const uint8_t *flags;  // NULL: no solids
  const kp_real *u, *v, *w;
  const kp_real *p[ADVECT_FIELDS];
  const kp_real *h1[ADVECT_FIELDS];
  const kp_real *q[ADVECT_FIELDS];  // p~
  kp_real *out[ADVECT_FIELDS];
} advect_args;

typedef advect_args advect_first_args;
typedef advect_args advect_maccormack_args;
typedef advect_args advect_error_args;
typedef advect_args advect_bfecc_args;
typedef advect_args advect_first_cubic_args;
typedef advect_args advect_maccormack_cubic_args;
typedef advect_args advect_error_cubic_args;
typedef advect_args advect_bfecc_cubic_args;
typedef advect_args advect_first_upwind_args;
typedef advect_args advect_maccormack_upwind_args;
typedef advect_args advect_error_upwind_args;
typedef advect_args advect_bfecc_upwind_args;

// A run of n items from (i, j, k).
typedef struct advect_run {
  int32_t i, j, k, n;
  int64_t at;
  int32_t trace;  // kp_advect_trace
} advect_run;

typedef struct advect_places {
  int32_t i[ADVECT_RUN], j[ADVECT_RUN], k[ADVECT_RUN];
  kp_real x[ADVECT_RUN], y[ADVECT_RUN], z[ADVECT_RUN];
} advect_places;

// Cells to move by; for upwind differences the fraction of a cell that the flow crosses.
typedef struct advect_shifts {
  kp_real x[ADVECT_RUN], y[ADVECT_RUN], z[ADVECT_RUN];
} advect_shifts;

typedef struct advect_values {
  kp_real f[ADVECT_RUN];
} advect_values;

KP_FN kp_mac_point advect_point(const advect_places *p, int c) {
  kp_mac_point point = { p->i[c], p->j[c], p->k[c], p->x[c], p->y[c], p->z[c] };
  return point;
}

// ---- traces -----------------------------------------------------------------------------------

ADVECT_LOOP void advect_start_cells(const kp_mac_view *grid, kp_mac_velocity f, advect_run r,
                                    advect_shifts *d) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, r.n, {
    kp_real v[3];
    kp_mac_velocity_of_cell(&g, f, r.at + c, v);
    d->x[c] = v[0];
    d->y[c] = v[1];
    d->z[c] = v[2];
  })
}

#define ADVECT_START_FACES(name, axis)                                                             \
  ADVECT_LOOP void name(const kp_mac_view *grid, kp_mac_velocity f, advect_run r,                  \
                        advect_shifts *d) {                                                        \
    kp_mac_view g = *grid;                                                                         \
    ADVECT_FOR(g, c, r.n, {                                                                        \
      kp_real v[3];                                                                                \
      kp_mac_velocity_of_face(&g, f, axis, r.at + c, v);                                           \
      d->x[c] = v[0];                                                                              \
      d->y[c] = v[1];                                                                              \
      d->z[c] = v[2];                                                                              \
    })                                                                                             \
  }
ADVECT_START_FACES(advect_start_faces_x, 0)
ADVECT_START_FACES(advect_start_faces_y, 1)
ADVECT_START_FACES(advect_start_faces_z, 2)

// Velocity at the items of a run, moved by `by` times d; out may be d.
ADVECT_LOOP void advect_stage(const kp_mac_view *grid, kp_mac_velocity f, int kind, advect_run r,
                              kp_real by, advect_shifts *d, advect_shifts *out) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, r.n, {
    const int32_t item[3] = { r.i + c, r.j, r.k };
    const kp_real to[3] = { kp_product(by, d->x[c]), kp_product(by, d->y[c]),
                            kp_product(by, d->z[c]) };
    kp_real v[3];
    kp_mac_velocity_near(&g, f, kind, item, to, v);
    out->x[c] = v[0];
    out->y[c] = v[1];
    out->z[c] = v[2];
  })
}

KP_FN void advect_start(const kp_mac_view *g, kp_mac_velocity f, int kind, advect_run r,
                        advect_shifts *d) {
  if (kind == KP_MAC_CELL) {
    advect_start_cells(g, f, r, d);
  } else if (kind == KP_MAC_FACE_X) {
    advect_start_faces_x(g, f, r, d);
  } else if (kind == KP_MAC_FACE_Y) {
    advect_start_faces_y(g, f, r, d);
  } else if (kind == KP_MAC_FACE_Z) {
    advect_start_faces_z(g, f, r, d);
  } else {
    for (int c = 0; c < r.n; ++c) {
      d->x[c] = d->y[c] = d->z[c] = 0;
    }
    advect_stage(g, f, kind, r, 1, d, d);
  }
}

// d = s (velocity of the trace): Euler, the midpoint rule, or the third-order rule of Ralston
// (1962).
KP_FN void advect_trace(const kp_mac_view *g, const advect_args *a, advect_run r, kp_real s,
                        advect_shifts *d) {
  const kp_mac_velocity f = { a->u, a->v, a->w };
  advect_start(g, f, a->kind, r, d);
  if (r.trace == KP_ADVECT_RK2) {
    advect_stage(g, f, a->kind, r, (kp_real)0.5 * s, d, d);
  } else if (r.trace == KP_ADVECT_RK3) {
    advect_shifts k2;
    advect_shifts k3;
    advect_stage(g, f, a->kind, r, (kp_real)0.5 * s, d, &k2);
    advect_stage(g, f, a->kind, r, (kp_real)0.75 * s, &k2, &k3);
    const kp_real ninth = (kp_real)(1.0 / 9.0);
    for (int c = 0; c < r.n; ++c) {
      d->x[c] = kp_product(ninth, 2 * d->x[c] + kp_product(3, k2.x[c]) + 4 * k3.x[c]);
      d->y[c] = kp_product(ninth, 2 * d->y[c] + kp_product(3, k2.y[c]) + 4 * k3.y[c]);
      d->z[c] = kp_product(ninth, 2 * d->z[c] + kp_product(3, k2.z[c]) + 4 * k3.z[c]);
    }
  }
  for (int c = 0; c < r.n; ++c) {
    d->x[c] = kp_product(s, d->x[c]);
    d->y[c] = kp_product(s, d->y[c]);
    d->z[c] = kp_product(s, d->z[c]);
  }
}

ADVECT_LOOP void advect_move(const kp_mac_view *grid, int kind, advect_run r, advect_shifts *d,
                             advect_places *to) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, r.n, {
    kp_mac_point p = kp_mac_move(&g, kind, r.i + c, r.j, r.k, d->x[c], d->y[c], d->z[c]);
    to->i[c] = p.i;
    to->j[c] = p.j;
    to->k[c] = p.k;
    to->x[c] = p.x;
    to->y[c] = p.y;
    to->z[c] = p.z;
  })
}

// ---- what may be done where -------------------------------------------------------------------

KP_FN int advect_is_inside(const kp_real lo[3], const kp_real hi[3], kp_real x, kp_real y,
                           kp_real z) {
  return (x >= lo[0]) & (x <= hi[0]) & (y >= lo[1]) & (y <= hi[1]) & (z >= lo[2]) & (z <= hi[2]);
}

// First order where a trace leaves the domain or the window.
ADVECT_LOOP void advect_mark_ends(const advect_args *a, advect_run r, advect_shifts *d,
                                  int32_t *what) {
  const kp_real lo[3] = { a->lo[0], a->lo[1], a->lo[2] };
  const kp_real hi[3] = { a->hi[0], a->hi[1], a->hi[2] };
  ADVECT_INDEPENDENT
  for (int c = 0; c < r.n; ++c) {
    kp_real x = (kp_real)(r.i + c) + d->x[c];
    kp_real y = (kp_real)r.j + d->y[c];
    kp_real z = (kp_real)r.k + d->z[c];
    what[c] = advect_is_inside(lo, hi, x, y, z) ? what[c] : ADVECT_FIRST;
  }
}

// First order beside solids; items with solid all around keep what they have. Around an item are
// the cells on both sides of a face, all cells at a corner, or the cell itself.
ADVECT_LOOP void advect_mark_solids(const kp_mac_view *g, const advect_args *a, advect_run r,
                                    int32_t *what) {
  const int is_corner = a->kind == KP_MAC_NODE;
  uint8_t any[ADVECT_RUN];
  uint8_t all[ADVECT_RUN];
  uint8_t seen = 0;
  for (int c = 0; c < r.n; ++c) {
    any[c] = all[c] = a->flags[r.at + c];
    seen |= any[c];
  }
  for (int o = 1; o < (g->dimension == 2 ? 4 : 8); ++o) {
    // one bit per axis to go back along; faces have one such axis
    if (!is_corner && (a->kind == KP_MAC_CELL || o != 1 << a->kind)) {
      continue;
    }
    const uint8_t *flags =
        a->flags + r.at - ((o & 1) + (o >> 1 & 1) * g->row + (o >> 2) * (int64_t)g->slab);
    for (int c = 0; c < r.n; ++c) {
      any[c] |= flags[c];
      all[c] &= flags[c];
      seen |= flags[c];
    }
  }
  if ((seen & (KP_CELL_NEAR_SOLID | KP_CELL_SOLID)) == 0) {
    return;
  }
  for (int c = 0; c < r.n; ++c) {
    what[c] = (any[c] & KP_CELL_NEAR_SOLID) != 0 ? ADVECT_FIRST : what[c];
    what[c] = (all[c] & KP_CELL_KIND) == KP_CELL_SOLID ? ADVECT_KEEP : what[c];
  }
}

// ---- values -----------------------------------------------------------------------------------

ADVECT_LOOP void advect_read_linear(const kp_mac_view *grid, const kp_real *values,
                                    advect_places *p, int n, advect_values *out) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, n, { out->f[c] = kp_mac_linear(&g, values, advect_point(p, c)); })
}

ADVECT_LOOP void advect_read_cubic(const kp_mac_view *grid, const kp_real *values, advect_places *p,
                                   int n, advect_values *out) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, n, { out->f[c] = kp_mac_cubic(&g, values, advect_point(p, c)); })
}

// One upwind step: what flows by -d along an axis (d as of the trace) takes the difference on the
// side it comes from. The dissertation's equation 2.3 has the two sides exchanged.
ADVECT_LOOP void advect_read_upwind(const kp_mac_view *grid, const kp_real *values, advect_run r,
                                    advect_shifts *d, advect_values *out) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, r.n, {
    const kp_real to[3] = { d->x[c], d->y[c], d->z[c] };
    out->f[c] = kp_mac_upwind(&g, values, r.at + c, to);
  })
}

// Where a sweep reads: places of a trace, or neighbours.
typedef struct advect_way {
  advect_shifts shifts;
  advect_places places;
} advect_way;

// The places at the end of a way.
KP_FN void advect_find(const kp_mac_view *g, const advect_args *a, advect_read how, advect_run r,
                       advect_way *way) {
  if (how != ADVECT_UPWIND) {
    advect_move(g, a->kind, r, &way->shifts, &way->places);
  }
}

KP_FN void advect_sample(const kp_mac_view *g, advect_read how, const kp_real *values, advect_run r,
                         advect_way *way, advect_values *out) {
  if (how == ADVECT_UPWIND) {
    advect_read_upwind(g, values, r, &way->shifts, out);
  } else if (how == ADVECT_CUBIC) {
    advect_read_cubic(g, values, &way->places, r.n, out);
  } else {
    advect_read_linear(g, values, &way->places, r.n, out);
  }
}

ADVECT_LOOP void advect_upwind_extremes(const kp_mac_view *grid, const kp_real *values,
                                        advect_run r, advect_shifts *d, advect_values *lo,
                                        advect_values *hi) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, r.n, {
    const kp_real to[3] = { d->x[c], d->y[c], d->z[c] };
    kp_mac_upwind_extremes(&g, values, r.at + c, to, &lo->f[c], &hi->f[c]);
  })
}

ADVECT_LOOP void advect_extremes(const kp_mac_view *grid, const kp_real *values, advect_run r,
                                 advect_places *p, advect_values *lo, advect_values *hi) {
  kp_mac_view g = *grid;
  ADVECT_FOR(g, c, r.n, { kp_mac_extremes(&g, values, advect_point(p, c), &lo->f[c], &hi->f[c]); })
}

// The second-order value f where it may stand, limited by what the first sweep read.
KP_FN void advect_limit(const kp_mac_view *g, const advect_args *a, advect_read how, int field,
                        advect_run r, advect_way *back, const int32_t *what, advect_values *f) {
  const kp_real *p = a->p[field] + r.at;
  const kp_real *h1 = a->h1[field] + r.at;
  if (a->limiter != KP_ADVECT_NO_LIMITER) {
    advect_values lo;
    advect_values hi;
    if (how == ADVECT_UPWIND) {
      advect_upwind_extremes(g, a->p[field], r, &back->shifts, &lo, &hi);
    } else {
      advect_extremes(g, a->p[field], r, &back->places, &lo, &hi);
    }
    if (a->limiter == KP_ADVECT_CLAMP) {
      for (int c = 0; c < r.n; ++c) {
        kp_real x = f->f[c] > lo.f[c] ? f->f[c] : lo.f[c];
        f->f[c] = x < hi.f[c] ? x : hi.f[c];
      }
    } else {
      for (int c = 0; c < r.n; ++c) {
        int is_in = (f->f[c] >= lo.f[c]) & (f->f[c] <= hi.f[c]);
        f->f[c] = is_in ? f->f[c] : h1[c];
      }
    }
  }
  for (int c = 0; c < r.n; ++c) {
    kp_real x = what[c] == ADVECT_SECOND ? f->f[c] : h1[c];
    f->f[c] = what[c] == ADVECT_KEEP ? p[c] : x;
  }
}

KP_FN void advect_store(advect_run r, const advect_values *f, kp_real *out) {
  for (int c = 0; c < r.n; ++c) {
    out[r.at + c] = f->f[c];
  }
}

// ---- sweeps -----------------------------------------------------------------------------------

KP_FN void advect_sweep_first(const kp_mac_view *g, const advect_args *a, advect_read how,
                              advect_run r) {
  advect_way back;
  int32_t what[ADVECT_RUN];
  advect_trace(g, a, r, -a->shift, &back.shifts);
  advect_find(g, a, how, r, &back);
  for (int c = 0; c < r.n; ++c) {
    what[c] = ADVECT_SECOND;
  }
  if (a->flags != NULL) {
    advect_mark_solids(g, a, r, what);
  }
  ADVECT_ROLLED
  for (int field = 0; field < a->n_fields; ++field) {
    const kp_real *p = a->p[field] + r.at;
    advect_values f;
    advect_sample(g, how, a->p[field], r, &back, &f);
    for (int c = 0; c < r.n; ++c) {
      f.f[c] = what[c] == ADVECT_KEEP ? p[c] : f.f[c];
    }
    advect_store(r, &f, a->out[field]);
  }
}

// How far both ways lead, and where they may be used.
KP_FN void advect_trace_both(const kp_mac_view *g, const advect_args *a, advect_run r,
                             advect_way *back, advect_way *ahead, int32_t *what) {
  advect_trace(g, a, r, -a->shift, &back->shifts);
  if (r.trace == KP_ADVECT_EULER) {
    for (int c = 0; c < r.n; ++c) {
      ahead->shifts.x[c] = -back->shifts.x[c];
      ahead->shifts.y[c] = -back->shifts.y[c];
      ahead->shifts.z[c] = -back->shifts.z[c];
    }
  } else {
    advect_trace(g, a, r, a->shift, &ahead->shifts);
  }
  for (int c = 0; c < r.n; ++c) {
    what[c] = ADVECT_SECOND;
  }
  advect_mark_ends(a, r, &back->shifts, what);
  advect_mark_ends(a, r, &ahead->shifts, what);
  if (a->flags != NULL) {
    advect_mark_solids(g, a, r, what);
  }
}

KP_FN void advect_sweep_maccormack(const kp_mac_view *g, const advect_args *a, advect_read how,
                                   advect_run r) {
  advect_way back;
  advect_way ahead;
  int32_t what[ADVECT_RUN];
  advect_trace_both(g, a, r, &back, &ahead, what);
  advect_find(g, a, how, r, &ahead);
  if (a->limiter != KP_ADVECT_NO_LIMITER) {
    advect_find(g, a, how, r, &back);
  }
  ADVECT_ROLLED
  for (int field = 0; field < a->n_fields; ++field) {
    const kp_real *p = a->p[field] + r.at;
    const kp_real *h1 = a->h1[field] + r.at;
    advect_values f;
    advect_sample(g, how, a->h1[field], r, &ahead, &f);
    for (int c = 0; c < r.n; ++c) {
      f.f[c] = h1[c] + (kp_real)0.5 * (p[c] - f.f[c]);
    }
    advect_limit(g, a, how, field, r, &back, what, &f);
    advect_store(r, &f, a->out[field]);
  }
}

KP_FN void advect_sweep_error(const kp_mac_view *g, const advect_args *a, advect_read how,
                              advect_run r) {
  advect_way back;
  advect_way ahead;
  int32_t what[ADVECT_RUN];
  advect_trace_both(g, a, r, &back, &ahead, what);
  advect_find(g, a, how, r, &ahead);
  ADVECT_ROLLED
  for (int field = 0; field < a->n_fields; ++field) {
    const kp_real *p = a->p[field] + r.at;
    advect_values f;
    advect_sample(g, how, a->h1[field], r, &ahead, &f);
    for (int c = 0; c < r.n; ++c) {
      kp_real x = p[c] + (kp_real)0.5 * (p[c] - f.f[c]);
      f.f[c] = what[c] == ADVECT_SECOND ? x : p[c];
    }
    advect_store(r, &f, a->out[field]);
  }
}

KP_FN void advect_sweep_bfecc(const kp_mac_view *g, const advect_args *a, advect_read how,
                              advect_run r) {
  advect_way back;
  advect_way ahead;
  int32_t what[ADVECT_RUN];
  advect_trace_both(g, a, r, &back, &ahead, what);
  advect_find(g, a, how, r, &back);
  ADVECT_ROLLED
  for (int field = 0; field < a->n_fields; ++field) {
    advect_values f;
    advect_sample(g, how, a->q[field], r, &back, &f);
    advect_limit(g, a, how, field, r, &back, what, &f);
    advect_store(r, &f, a->out[field]);
  }
}

typedef enum advect_sweep {
  ADVECT_SWEEP_FIRST,
  ADVECT_SWEEP_MACCORMACK,
  ADVECT_SWEEP_ERROR,
  ADVECT_SWEEP_BFECC
} advect_sweep;

KP_FN void advect_runs(const kp_mac_view *g, const advect_args *a, advect_sweep sweep,
                       advect_read how, advect_run row) {
  for (int32_t done = 0; done < row.n; done += ADVECT_RUN) {
    advect_run r = row;
    r.i += done;
    r.at += done;
    // a card sees one item, and must know it
    r.n = ADVECT_RUN == 1 || row.n - done > ADVECT_RUN ? ADVECT_RUN : row.n - done;
    if (sweep == ADVECT_SWEEP_FIRST) {
      advect_sweep_first(g, a, how, r);
    } else if (sweep == ADVECT_SWEEP_MACCORMACK) {
      advect_sweep_maccormack(g, a, how, r);
    } else if (sweep == ADVECT_SWEEP_ERROR) {
      advect_sweep_error(g, a, how, r);
    } else {
      advect_sweep_bfecc(g, a, how, r);
    }
  }
}

KP_FN void advect_row(int64_t j, int64_t k, int64_t i0, int64_t i1, const advect_args *a,
                      advect_sweep sweep, advect_read how) {
  advect_run r = {
    (int32_t)i0, (int32_t)j, (int32_t)k, (int32_t)(i1 - i0), kp_mac_at(&a->grid, i0, j, k), a->trace
  };
  advect_runs(&a->grid, a, sweep, how, r);
}

// The common case, a closed box in three dimensions without shells and with traces of one stage,
// told to the compiler.
KP_FN int advect_is_plain(const advect_args *a) {
  const kp_mac_view *g = &a->grid;
  int is_closed = !g->is_periodic[0] && !g->is_periodic[1] && !g->is_periodic[2];
  return is_closed && g->dimension == 3 && g->occluded == NULL && a->trace == KP_ADVECT_EULER;
}

KP_FN void advect_plain_row(int64_t j, int64_t k, int64_t i0, int64_t i1, const advect_args *a,
                            advect_sweep sweep, advect_read how) {
  kp_mac_view g = a->grid;
  g.is_periodic[0] = g.is_periodic[1] = g.is_periodic[2] = 0;
  g.dimension = 3;
  g.occluded = NULL;
  advect_run r = {
    (int32_t)i0,    (int32_t)j, (int32_t)k, (int32_t)(i1 - i0), kp_mac_at(&g, i0, j, k),
    KP_ADVECT_EULER
  };
  advect_runs(&g, a, sweep, how, r);
}

#define ADVECT_ROW(name, sweep, how)                                                               \
  KP_FN void advect_##name(int64_t j, int64_t k, int64_t i0, int64_t i1, const advect_args *a) {   \
    advect_row(j, k, i0, i1, a, sweep, how);                                                       \
  }

#define ADVECT_PLAIN_ROW(name, sweep)                                                              \
  KP_FN void advect_##name##_plain(int64_t j, int64_t k, int64_t i0, int64_t i1,                   \
                                   const advect_args *a) {                                         \
    advect_plain_row(j, k, i0, i1, a, sweep, ADVECT_LINEAR);                                       \
  }

#ifdef __CUDACC__
ADVECT_PLAIN_ROW(first, ADVECT_SWEEP_FIRST)
ADVECT_PLAIN_ROW(maccormack, ADVECT_SWEEP_MACCORMACK)
ADVECT_PLAIN_ROW(error, ADVECT_SWEEP_ERROR)
ADVECT_PLAIN_ROW(bfecc, ADVECT_SWEEP_BFECC)
#endif

ADVECT_ROW(first, ADVECT_SWEEP_FIRST, ADVECT_LINEAR)
ADVECT_ROW(maccormack, ADVECT_SWEEP_MACCORMACK, ADVECT_LINEAR)
ADVECT_ROW(error, ADVECT_SWEEP_ERROR, ADVECT_LINEAR)
ADVECT_ROW(bfecc, ADVECT_SWEEP_BFECC, ADVECT_LINEAR)
ADVECT_ROW(first_cubic, ADVECT_SWEEP_FIRST, ADVECT_CUBIC)
ADVECT_ROW(maccormack_cubic, ADVECT_SWEEP_MACCORMACK, ADVECT_CUBIC)
ADVECT_ROW(error_cubic, ADVECT_SWEEP_ERROR, ADVECT_CUBIC)
ADVECT_ROW(bfecc_cubic, ADVECT_SWEEP_BFECC, ADVECT_CUBIC)
ADVECT_ROW(first_upwind, ADVECT_SWEEP_FIRST, ADVECT_UPWIND)
ADVECT_ROW(maccormack_upwind, ADVECT_SWEEP_MACCORMACK, ADVECT_UPWIND)
ADVECT_ROW(error_upwind, ADVECT_SWEEP_ERROR, ADVECT_UPWIND)
ADVECT_ROW(bfecc_upwind, ADVECT_SWEEP_BFECC, ADVECT_UPWIND)

// to = from, of a window
typedef struct advect_copy_args {
  kp_mac_view grid;
  const kp_real *from;
  kp_real *to;
} advect_copy_args;

KP_FN void advect_copy(int64_t j, int64_t k, int64_t i0, int64_t i1, const advect_copy_args *a) {
  const kp_real *from = a->from + kp_mac_at(&a->grid, 0, j, k);
  kp_real *to = a->to + kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    to[i] = from[i];
  }
}
