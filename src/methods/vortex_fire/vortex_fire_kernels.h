// What one vortex particle (vorton) and one sample of the velocity grid do in a flame of vortons
// (Lyes 2015, sections 4.4 and 6.4; the pipeline is that of Gourlay's tutorials, which it cites).
//
// A vorton at x stands for the vorticity w = curl u of a volume V. It turns what is around it:
//   u(p) = V/(4 pi) sum w x r / max(|r|, R)^3,   r = p - x, R its radius        (Biot-Savart, 4.20)
// and its vorticity follows
//   dw/dt = J w + mu sum (w_j - w) + (grad rho x g)/rho,   J_ab = du_a/dx_b           (4.19, 4.22)
#pragma once

#include "data/pairs.h"
#include "geom/distance_grid.h"

#define VORTON_FOUR_PI 12.566370614359172954

#ifdef __CUDACC__
#define VORTON_INLINE KP_FN
#else
#define VORTON_INLINE KP_WIDE_FN
#endif

// ---- the velocity grid --------------------------------------------------------------------------

// Samples in the middle of the cells lo..lo+n-1 of the lattice that is anchored at the origin of
// the world, x fastest.
typedef struct vorton_grid {
  double cell;  // m
  int32_t lo[3];
  int32_t n[3];  // at least 2
} vorton_grid;

// A place among the samples: the lower of the eight around it and the way to the upper ones, 0..1.
typedef struct vorton_spot {
  int64_t at;
  kp_real t[3];
} vorton_spot;

// Places outside take the nearest inside.
KP_FN vorton_spot vorton_find(const vorton_grid *g, const double p[3]) {
  vorton_spot spot = { 0, { 0, 0, 0 } };
  int64_t stride = 1;
  for (int c = 0; c < 3; ++c) {
    double s = p[c] / g->cell - 0.5 - (double)g->lo[c];
    double last = (double)(g->n[c] - 1);
    s = s > 0.0 ? s : 0.0;
    s = s < last ? s : last;
    int32_t base = (int32_t)s;
    base = base < g->n[c] - 2 ? base : g->n[c] - 2;
    spot.t[c] = (kp_real)(s - (double)base);
    spot.at += base * stride;
    stride *= g->n[c];
  }
  return spot;
}

// Trilinear interpolation of one array of the grid.
KP_FN kp_real vorton_mix(const vorton_grid *g, const kp_real *values, vorton_spot spot) {
  int64_t row = g->n[0];
  int64_t slab = row * g->n[1];
  kp_real layer[2];
  for (int k = 0; k < 2; ++k) {
    const kp_real *v = values + spot.at + k * slab;
    kp_real a = v[0] + spot.t[0] * (v[1] - v[0]);
    kp_real b = v[row] + spot.t[0] * (v[row + 1] - v[row]);
    layer[k] = a + spot.t[1] * (b - a);
  }
  return layer[0] + spot.t[2] * (layer[1] - layer[0]);
}

// Where the samples are.
typedef struct vorton_place_args {
  vorton_grid grid;
  kp_pos *x, *y, *z;
} vorton_place_args;

KP_FN void vorton_place(int64_t i, const vorton_place_args *a) {
  const vorton_grid *g = &a->grid;
  int64_t row = i / g->n[0];
  a->x[i] = ((double)(g->lo[0] + i % g->n[0]) + 0.5) * g->cell;
  a->y[i] = ((double)(g->lo[1] + row % g->n[1]) + 0.5) * g->cell;
  a->z[i] = ((double)(g->lo[2] + row / g->n[1]) + 0.5) * g->cell;
}

// Velocity and crowding of a sample from the vortons around it. The printed gather takes the 27
// cells about a cell's lower corner, which is lopsided (T12); here it is a ball about the sample,
// which in a uniform vorticity feels nothing. Listing 6.6 halves the vorticity and has no volume
// (T10).
#define VORTON_INDUCE_J(X)                                                                         \
  X(wx)                                                                                            \
  X(wy)                                                                                            \
  X(wz)

typedef struct vorton_induce_args {
  kp_real core2;          // R^2
  kp_real reach2;         // vortons farther away are not felt
  kp_real strength;       // V/(4 pi)
  kp_real inverse_near2;  // crowding: sum of weight (1 - r^2 inverse_near2)^3
  kp_real weight;
  const kp_real *j_wx, *j_wy, *j_wz;
  kp_real *vx, *vy, *vz, *density;
} vorton_induce_args;

typedef struct vorton_induce_i {
  char unused;
} vorton_induce_i;

typedef struct vorton_induce_acc {
  kp_w x, y, z, n;
} vorton_induce_acc;

KP_PAIR_J(vorton_induce, VORTON_INDUCE_J)

VORTON_INLINE void vorton_induce_load(int64_t i, const vorton_induce_args *a, vorton_induce_i *self,
                                      vorton_induce_acc *acc) {
  (void)i, (void)a;
  self->unused = 0;
  acc->x = acc->y = acc->z = acc->n = kp_w_splat((kp_real)0);
}

VORTON_INLINE void vorton_induce_pair(vorton_induce_acc *acc, const vorton_induce_i *self,
                                      const vorton_induce_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                      const vorton_induce_args *a) {
  (void)self;
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w far2 = kp_w_max(r2, kp_w_splat(a->core2));
  kp_w f = kp_w_select(kp_w_less(r2, kp_w_splat(a->reach2)), (kp_real)1 / (far2 * kp_w_sqrt(far2)),
                       zero);
  acc->x += f * (j->wy * dz - j->wz * dy);
  acc->y += f * (j->wz * dx - j->wx * dz);
  acc->z += f * (j->wx * dy - j->wy * dx);
  kp_w q = kp_w_max((kp_real)1 - a->inverse_near2 * r2, zero);
  acc->n += q * q * q;
}

VORTON_INLINE void vorton_induce_store(int64_t i, const vorton_induce_acc *acc,
                                       const vorton_induce_i *self, const vorton_induce_args *a) {
  (void)self;
  a->vx[i] = a->strength * kp_w_sum(acc->x);
  a->vy[i] = a->strength * kp_w_sum(acc->y);
  a->vz[i] = a->strength * kp_w_sum(acc->z);
  a->density[i] = a->weight * kp_w_sum(acc->n);
}

// Vorticity on the edges of cells, each component on those along its axis, by cubic B-splines that
// reach two cells either way along each axis: each vorton gives all it has, and its first three
// moments stay what they were. Crowding as above.
#define VORTON_SPREAD_J(X)                                                                         \
  X(wx)                                                                                            \
  X(wy)                                                                                            \
  X(wz)

#define VORTON_SPREAD_REACH 4.1  // cells from the middle of a cell to all that its edges feel

typedef struct vorton_spread_args {
  kp_real inverse_cell;
  kp_real strength;  // V/h, which makes it w h^2
  kp_real inverse_near2, weight;
  const kp_real *j_wx, *j_wy, *j_wz;
  kp_real *x, *y, *z, *density;
} vorton_spread_args;

typedef struct vorton_spread_i {
  char unused;
} vorton_spread_i;

typedef struct vorton_spread_acc {
  kp_w x, y, z, n;
} vorton_spread_acc;

KP_PAIR_J(vorton_spread, VORTON_SPREAD_J)

VORTON_INLINE void vorton_spread_load(int64_t i, const vorton_spread_args *a, vorton_spread_i *self,
                                      vorton_spread_acc *acc) {
  (void)i, (void)a;
  self->unused = 0;
  acc->x = acc->y = acc->z = acc->n = kp_w_splat((kp_real)0);
}

VORTON_INLINE kp_w vorton_spline(kp_w x) {
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w away = kp_w_max(x, -x);
  kp_w outer = kp_w_max((kp_real)2 - away, zero);
  kp_w inner = kp_w_max((kp_real)1 - away, zero);
  return (outer * outer * outer - (kp_real)4 * inner * inner * inner) * (kp_real)(1.0 / 6.0);
}

VORTON_INLINE void vorton_spread_pair(vorton_spread_acc *acc, const vorton_spread_i *self,
                                      const vorton_spread_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                      const vorton_spread_args *a) {
  (void)self;
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w half = kp_w_splat((kp_real)0.5);
  kp_w sx = a->inverse_cell * dx;
  kp_w sy = a->inverse_cell * dy;
  kp_w sz = a->inverse_cell * dz;
  // in the middle of a cell and at its lower side
  kp_w mx = vorton_spline(sx), lx = vorton_spline(sx - half);
  kp_w my = vorton_spline(sy), ly = vorton_spline(sy - half);
  kp_w mz = vorton_spline(sz), lz = vorton_spline(sz - half);
  acc->x += mx * ly * lz * j->wx;
  acc->y += lx * my * lz * j->wy;
  acc->z += lx * ly * mz * j->wz;
  kp_w q = kp_w_max((kp_real)1 - a->inverse_near2 * r2, zero);
  acc->n += q * q * q;
}

VORTON_INLINE void vorton_spread_store(int64_t i, const vorton_spread_acc *acc,
                                       const vorton_spread_i *self, const vorton_spread_args *a) {
  (void)self;
  a->x[i] = a->strength * kp_w_sum(acc->x);
  a->y[i] = a->strength * kp_w_sum(acc->y);
  a->z[i] = a->strength * kp_w_sum(acc->z);
  a->density[i] = a->weight * kp_w_sum(acc->n);
}

// J and the vorticity that density makes, by central differences, one-sided at the rim of the grid.
// Vortons are light: rho = rho_a (1 - beta n), so (grad rho x g)/rho_a = -beta grad n x g.
typedef struct vorton_slope_args {
  vorton_grid grid;
  double beta;  // lightness of one vorton per cell
  double g[3];  // m/s^2
  const kp_real *vx, *vy, *vz, *density;
  kp_real *j[9];       // J_ab at 3 a + b [1/s]
  kp_real *torque[3];  // 1/s^2
} vorton_slope_args;

// Slope of an array along an axis at sample `at`, whose place along it is s.
KP_FN double vorton_difference(const kp_real *values, int64_t at, int64_t stride, int64_t s,
                               int32_t n, double cell) {
  int64_t below = s > 0 ? at - stride : at;
  int64_t above = s < n - 1 ? at + stride : at;
  double way = s > 0 && s < n - 1 ? 2.0 * cell : cell;
  return ((double)values[above] - (double)values[below]) / way;
}

KP_FN void vorton_slope(int64_t i, const vorton_slope_args *a) {
  const vorton_grid *g = &a->grid;
  const kp_real *u[3] = { a->vx, a->vy, a->vz };
  int64_t row = i / g->n[0];
  const int64_t place[3] = { i % g->n[0], row % g->n[1], row / g->n[1] };
  const int64_t stride[3] = { 1, g->n[0], (int64_t)g->n[0] * g->n[1] };
  double grad[3];
  for (int b = 0; b < 3; ++b) {
    for (int c = 0; c < 3; ++c) {
      a->j[3 * c + b][i] =
          (kp_real)vorton_difference(u[c], i, stride[b], place[b], g->n[b], g->cell);
    }
    grad[b] = vorton_difference(a->density, i, stride[b], place[b], g->n[b], g->cell);
  }
  for (int c = 0; c < 3; ++c) {
    int d = (c + 1) % 3;
    int e = (c + 2) % 3;
    a->torque[c][i] = (kp_real)(-a->beta * (grad[d] * a->g[e] - grad[e] * a->g[d]));
  }
}

// ---- vorticity of a vorton ----------------------------------------------------------------------

KP_FN void vorton_limit(double w[3], double limit) {
  double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  if (square > limit * limit) {
    double scale = limit / sqrt(square);
    w[0] *= scale;
    w[1] *= scale;
    w[2] *= scale;
  }
}

// w += dt (factor J w + torque), then |w| at most the limit. Algorithm 7 overwrites w with the
// change (T8) and has no limiter, without which stretching diverges (T25); it also multiplies from
// the left, which is the transpose scheme.
typedef struct vorton_stretch_args {
  vorton_grid grid;
  double dt;
  double factor;
  double limit;  // 1/s
  int32_t is_transposed;
  const kp_pos *x, *y, *z;
  const kp_real *j[9];
  const kp_real *torque[3];
  kp_real *wx, *wy, *wz;
} vorton_stretch_args;

KP_FN void vorton_stretch(int64_t i, const vorton_stretch_args *a) {
  const double p[3] = { a->x[i], a->y[i], a->z[i] };
  vorton_spot spot = vorton_find(&a->grid, p);
  const double w[3] = { (double)a->wx[i], (double)a->wy[i], (double)a->wz[i] };
  double next[3];
  for (int c = 0; c < 3; ++c) {
    double sum = 0.0;
    for (int b = 0; b < 3; ++b) {
      int at = a->is_transposed ? 3 * b + c : 3 * c + b;
      sum += (double)vorton_mix(&a->grid, a->j[at], spot) * w[b];
    }
    double torque = (double)vorton_mix(&a->grid, a->torque[c], spot);
    next[c] = w[c] + a->dt * (a->factor * sum + torque);
  }
  vorton_limit(next, a->limit);
  a->wx[i] = (kp_real)next[0];
  a->wy[i] = (kp_real)next[1];
  a->wz[i] = (kp_real)next[2];
}

// Particle strength exchange: neighbours share their vorticity, w += dt mu sum (w_j - w) over those
// closer than the radius. What one gives the other gets, so the sum stays. Algorithm 8 doubles the
// change, though each vorton applies all of its own already (T9).
#define VORTON_EXCHANGE_J(X)                                                                       \
  X(wx)                                                                                            \
  X(wy)                                                                                            \
  X(wz)

typedef struct vorton_exchange_args {
  kp_real radius2;
  kp_real share;  // mu dt
  const kp_real *wx, *wy, *wz;
  const kp_real *j_wx, *j_wy, *j_wz;
  kp_real *ox, *oy, *oz;
  kp_real *neighbours;
} vorton_exchange_args;

typedef struct vorton_exchange_i {
  kp_real x, y, z;
} vorton_exchange_i;

typedef struct vorton_exchange_acc {
  kp_w x, y, z, n;
} vorton_exchange_acc;

KP_PAIR_J(vorton_exchange, VORTON_EXCHANGE_J)

VORTON_INLINE void vorton_exchange_load(int64_t i, const vorton_exchange_args *a,
                                        vorton_exchange_i *self, vorton_exchange_acc *acc) {
  self->x = a->wx[i];
  self->y = a->wy[i];
  self->z = a->wz[i];
  acc->x = acc->y = acc->z = acc->n = kp_w_splat((kp_real)0);
}

VORTON_INLINE void vorton_exchange_pair(vorton_exchange_acc *acc, const vorton_exchange_i *self,
                                        const vorton_exchange_j *j, kp_w dx, kp_w dy, kp_w dz,
                                        kp_w r2, const vorton_exchange_args *a) {
  (void)dx, (void)dy, (void)dz;
  kp_w f = kp_w_select(kp_w_less(r2, kp_w_splat(a->radius2)), kp_w_splat((kp_real)1),
                       kp_w_splat((kp_real)0));
  acc->x += f * (j->wx - self->x);
  acc->y += f * (j->wy - self->y);
  acc->z += f * (j->wz - self->z);
  acc->n += f;
}

VORTON_INLINE void vorton_exchange_store(int64_t i, const vorton_exchange_acc *acc,
                                         const vorton_exchange_i *self,
                                         const vorton_exchange_args *a) {
  a->ox[i] = self->x + a->share * kp_w_sum(acc->x);
  a->oy[i] = self->y + a->share * kp_w_sum(acc->y);
  a->oz[i] = self->z + a->share * kp_w_sum(acc->z);
  a->neighbours[i] = kp_w_sum(acc->n) - (kp_real)1;  // itself
}

// ---- motion -------------------------------------------------------------------------------------

// u = u(x) + b + wind; x += dt u. The buoyant part b goes to the target of the vorton at a rate and
// is its own: relaxing u itself would be undone by the next interpolation (T11, T24).
typedef struct vorton_advect_args {
  vorton_grid grid;
  double dt;
  double share;  // 1 - exp(-k dt)
  double wind[3];
  int32_t is_midpoint;          // 0: explicit Euler, as printed
  const kp_real *ux, *uy, *uz;  // of the grid
  const kp_real *crowd;
  const kp_real *tx, *ty, *tz;  // target
  const kp_real *ax, *ay, *az;  // of force fields and the user's force; may be NULL
  kp_real *bx, *by, *bz;
  kp_real *density;
  kp_real *vx, *vy, *vz;
  kp_pos *x, *y, *z;
} vorton_advect_args;

KP_FN void vorton_flow(const vorton_advect_args *a, const double p[3], const double own[3],
                       double u[3]) {
  vorton_spot spot = vorton_find(&a->grid, p);
  u[0] = (double)vorton_mix(&a->grid, a->ux, spot) + own[0];
  u[1] = (double)vorton_mix(&a->grid, a->uy, spot) + own[1];
  u[2] = (double)vorton_mix(&a->grid, a->uz, spot) + own[2];
}

KP_FN void vorton_advect(int64_t i, const vorton_advect_args *a) {
  const kp_real *target[3] = { a->tx, a->ty, a->tz };
  const kp_real *pull[3] = { a->ax, a->ay, a->az };
  kp_real *rise[3] = { a->bx, a->by, a->bz };
  const double p[3] = { a->x[i], a->y[i], a->z[i] };
  double own[3];
  double u[3];
  for (int c = 0; c < 3; ++c) {
    double b = (double)rise[c][i] + (pull[c] ? a->dt * (double)pull[c][i] : 0.0);
    b += a->share * ((double)target[c][i] - b);
    rise[c][i] = (kp_real)b;
    own[c] = b + a->wind[c];
  }
  a->density[i] = vorton_mix(&a->grid, a->crowd, vorton_find(&a->grid, p));
  vorton_flow(a, p, own, u);
  if (a->is_midpoint) {
    const double half[3] = { p[0] + 0.5 * a->dt * u[0], p[1] + 0.5 * a->dt * u[1],
                             p[2] + 0.5 * a->dt * u[2] };
    vorton_flow(a, half, own, u);
  }
  a->vx[i] = (kp_real)u[0];
  a->vy[i] = (kp_real)u[1];
  a->vz[i] = (kp_real)u[2];
  a->x[i] = p[0] + a->dt * u[0];
  a->y[i] = p[1] + a->dt * u[1];
  a->z[i] = p[2] + a->dt * u[2];
}

// No acceleration, before force fields and the user's force add theirs.
typedef struct vorton_calm_args {
  kp_real *ax, *ay, *az;
} vorton_calm_args;

KP_FN void vorton_calm(int64_t i, const vorton_calm_args *a) {
  a->ax[i] = a->ay[i] = a->az[i] = (kp_real)0;
}

// ---- bodies -------------------------------------------------------------------------------------

// A solid where it is now: a sphere, or anything else by its baked distances.
typedef struct vorton_solid {
  double origin[3];  // of its coordinates in the world
  double turn[9];    // from its coordinates to the world's, row by row
  double pivot[3];   // point that moves with `velocity`
  double velocity[3];
  double spin[3];
  double slide[3];  // of its surface against it, in the world's axes
  int32_t is_sphere;
  int32_t is_inverted;  // of a sphere: a room
  double center[3];     // of a sphere, in its coordinates
  double radius;
  kp_distance_view baked;  // of other shapes
} vorton_solid;

// Distance from the sphere and the way out, in its coordinates.
KP_FN double vorton_sphere(const vorton_solid *s, const double p[3], double out[3]) {
  const double d[3] = { p[0] - s->center[0], p[1] - s->center[1], p[2] - s->center[2] };
  double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  double sign = s->is_inverted ? -1.0 : 1.0;
  for (int c = 0; c < 3; ++c) {
    // at the very centre any way out is as good as another
    out[c] = sign * (r > 0.0 ? d[c] / r : (c == 1 ? 1.0 : 0.0));
  }
  return sign * (r - s->radius);
}

// The same from baked distances; the way out is looked for only where it is needed.
KP_FN double vorton_baked(const kp_distance_view *d, const double p[3], double near,
                          double out[3]) {
  double gap = kp_distance_sample(d, p[0], p[1], p[2]);
  double length = 0.0;
  for (int c = 0; c < 3 && gap < near; ++c) {
    double lo[3] = { p[0], p[1], p[2] };
    double hi[3] = { p[0], p[1], p[2] };
    lo[c] -= 0.5 * d->cell;
    hi[c] += 0.5 * d->cell;
    out[c] =
        kp_distance_sample(d, hi[0], hi[1], hi[2]) - kp_distance_sample(d, lo[0], lo[1], lo[2]);
    length += out[c] * out[c];
  }
  for (int c = 0; c < 3 && gap < near; ++c) {
    out[c] = length > 0.0 ? out[c] / sqrt(length) : (c == 1 ? 1.0 : 0.0);
  }
  return gap;
}

// Signed distance of a place from the solid and, where that is below `near`, the way out of it.
KP_FN double vorton_solid_distance(const vorton_solid *s, const double p[3], double near,
                                   double normal[3]) {
  const double d[3] = { p[0] - s->origin[0], p[1] - s->origin[1], p[2] - s->origin[2] };
  const double *t = s->turn;
  double local[3];
  double out[3] = { 0.0, 0.0, 0.0 };
  for (int c = 0; c < 3; ++c) {
    local[c] = t[c] * d[0] + t[3 + c] * d[1] + t[6 + c] * d[2];
  }
  double gap =
      s->is_sphere ? vorton_sphere(s, local, out) : vorton_baked(&s->baked, local, near, out);
  for (int c = 0; c < 3; ++c) {
    normal[c] = t[3 * c] * out[0] + t[3 * c + 1] * out[1] + t[3 * c + 2] * out[2];
  }
  return gap;
}

KP_FN void vorton_solid_velocity(const vorton_solid *s, const double p[3], double out[3]) {
  const double r[3] = { p[0] - s->pivot[0], p[1] - s->pivot[1], p[2] - s->pivot[2] };
  for (int c = 0; c < 3; ++c) {
    int d = (c + 1) % 3;
    int e = (c + 2) % 3;
    out[c] = s->velocity[c] + s->slide[c] + s->spin[d] * r[e] - s->spin[e] * r[d];
  }
}

// A vorton that touches a solid is pushed out, and its vorticity goes towards the one that would
// bring the fluid at the point of contact P to the speed of the solid (Algorithm 10). Biot-Savart
// inverted for w across r = P - x: w = 4 pi d^2/V (r/d x du) at d = R. At full strength this runs
// away (T25), so it is a relaxation.
typedef struct vorton_touch_args {
  vorton_grid grid;
  vorton_solid solid;
  double core;    // R [m]
  double felt;    // radius inside which the flow of a vorton grows with the distance [m]
  double volume;  // V [m^3]
  double share;   // 1 - exp(-rate dt)
  double limit;
  double wind[3];
  const kp_real *ux, *uy, *uz;  // of the grid
  kp_real *wx, *wy, *wz;
  kp_real *bx, *by, *bz;
  kp_real *vx, *vy, *vz;
  kp_pos *x, *y, *z;
} vorton_touch_args;

// Takes from v what goes into the solid.
KP_FN void vorton_stop(kp_real *v[3], int64_t i, const double wall[3], const double n[3]) {
  double into = 0.0;
  for (int c = 0; c < 3; ++c) {
    into += ((double)v[c][i] - wall[c]) * n[c];
  }
  for (int c = 0; c < 3 && into < 0.0; ++c) {
    v[c][i] = (kp_real)((double)v[c][i] - into * n[c]);
  }
}

KP_FN void vorton_touch(int64_t i, const vorton_touch_args *a) {
  kp_pos *x[3] = { a->x, a->y, a->z };
  kp_real *w[3] = { a->wx, a->wy, a->wz };
  kp_real *rise[3] = { a->bx, a->by, a->bz };
  kp_real *v[3] = { a->vx, a->vy, a->vz };
  const kp_real *u[3] = { a->ux, a->uy, a->uz };
  const double p[3] = { x[0][i], x[1][i], x[2][i] };
  double n[3];
  double wall[3];
  double du[3];
  double next[3];
  double gap = vorton_solid_distance(&a->solid, p, a->core, n);
  if (!(gap < a->core)) {
    return;
  }
  const double contact[3] = { p[0] - gap * n[0], p[1] - gap * n[1], p[2] - gap * n[2] };
  double d = gap < 0.0 ? -gap : gap;
  d = d > a->felt ? d : a->felt;
  double own = a->volume / VORTON_FOUR_PI / (d * d * d) * -gap;
  vorton_solid_velocity(&a->solid, contact, wall);
  vorton_spot spot = vorton_find(&a->grid, contact);
  for (int c = 0; c < 3; ++c) {
    // the flow at P without what this vorton makes there: own w x (P - x), P - x = -gap n
    int e = (c + 1) % 3;
    int f = (c + 2) % 3;
    double self = own * ((double)w[e][i] * n[f] - (double)w[f][i] * n[e]);
    double flow = (double)vorton_mix(&a->grid, u[c], spot) + (double)rise[c][i] + a->wind[c];
    du[c] = wall[c] - (flow - self);
  }
  for (int c = 0; c < 3; ++c) {
    int e = (c + 1) % 3;
    int f = (c + 2) % 3;
    double cross = -(n[e] * du[f] - n[f] * du[e]);
    double wanted = VORTON_FOUR_PI * a->core * a->core / a->volume * cross;
    next[c] = (double)w[c][i] + a->share * (wanted - (double)w[c][i]);
    x[c][i] = p[c] + (a->core - gap) * n[c];
  }
  vorton_limit(next, a->limit);
  for (int c = 0; c < 3; ++c) {
    w[c][i] = (kp_real)next[c];
  }
  vorton_stop(rise, i, wall, n);
  vorton_stop(v, i, wall, n);
}

// ---- birth, colour, limits ----------------------------------------------------------------------

// A newborn has no vorticity and no speed; what birth gave as velocity is what it will be lifted
// to.
typedef struct vorton_reset_args {
  const uint8_t *born;
  kp_real *vx, *vy, *vz;
  kp_real *tx, *ty, *tz;
  kp_real *bx, *by, *bz;
  kp_real *wx, *wy, *wz;
} vorton_reset_args;

KP_FN void vorton_reset(int64_t i, const vorton_reset_args *a) {
  if (!a->born[i]) {
    return;
  }
  a->tx[i] = a->vx[i];
  a->ty[i] = a->vy[i];
  a->tz[i] = a->vz[i];
  a->vx[i] = a->vy[i] = a->vz[i] = (kp_real)0;
  a->bx[i] = a->by[i] = a->bz[i] = (kp_real)0;
  a->wx[i] = a->wy[i] = a->wz[i] = (kp_real)0;
}

// Colour by crowding: that of the rim where vortons are few, that of the core where there are
// `bright` per cell. Blue comes last, so that the way leads from red over yellow to white.
typedef struct vorton_color_args {
  double bright;
  double rim[3], core[3];
  const kp_real *density;
  kp_real *red, *green, *blue;
} vorton_color_args;

KP_FN void vorton_color(int64_t i, const vorton_color_args *a) {
  double t = (double)a->density[i] / a->bright;
  t = t < 1.0 ? t : 1.0;
  a->red[i] = (kp_real)(a->rim[0] + t * (a->core[0] - a->rim[0]));
  a->green[i] = (kp_real)(a->rim[1] + pow(t, 0.7) * (a->core[1] - a->rim[1]));
  a->blue[i] = (kp_real)(a->rim[2] + t * t * t * (a->core[2] - a->rim[2]));
}

// Largest |w|^2 and most neighbours, for the next step's limits.
typedef struct vorton_most_args {
  const kp_real *wx, *wy, *wz;
  const kp_real *neighbours;
} vorton_most_args;

#define VORTON_MOST_OPS KP_REDUCE_MAX, KP_REDUCE_MAX

KP_FN void vorton_most(int64_t i, const vorton_most_args *a, double *v) {
  double x = (double)a->wx[i];
  double y = (double)a->wy[i];
  double z = (double)a->wz[i];
  v[0] = x * x + y * y + z * z;
  v[1] = (double)a->neighbours[i];
}

#define VORTON_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(vorton, place)                                                                             \
  POINT(vorton, slope)                                                                             \
  POINT(vorton, stretch)                                                                           \
  POINT(vorton, calm)                                                                              \
  POINT(vorton, advect)                                                                            \
  POINT(vorton, touch)                                                                             \
  POINT(vorton, reset)                                                                             \
  POINT(vorton, color)                                                                             \
  REDUCE(vorton, most, VORTON_MOST_OPS)                                                            \
  PAIR(vorton, induce, vorton_induce_args, VORTON_INDUCE_J)                                        \
  PAIR(vorton, spread, vorton_spread_args, VORTON_SPREAD_J)                                        \
  PAIR(vorton, exchange, vorton_exchange_args, VORTON_EXCHANGE_J)
