// Catmull-Rom: between two samples the cubic whose slope at each is the central difference. At the
// two ends the slope is the one-sided difference of second order, so that motion which is already
// under way at the first sample has the right velocity there.
#include "data/curve.h"

#include <math.h>

// Slope at sample k in units per interval; `stride` numbers lie between two samples.
static double slope_at(const double *p, int32_t k, int32_t n, int32_t stride) {
  if (n == 2) {
    return p[stride] - p[0];
  }
  const double *at = p + (ptrdiff_t)k * stride;
  if (k == 0) {
    return -1.5 * at[0] + 2.0 * at[stride] - 0.5 * at[2 * stride];
  }
  if (k == n - 1) {
    return 1.5 * at[0] - 2.0 * at[-stride] + 0.5 * at[-2 * stride];
  }
  return 0.5 * (at[stride] - at[-stride]);
}

static void hold(const double *from, int32_t components, double *value, double *rate) {
  for (int32_t c = 0; c < components; ++c) {
    value[c] = from[c];
    if (rate != NULL) {
      rate[c] = 0.0;
    }
  }
}

void kp_curve_at(const kp_curve *curve, double t, double *value, double *rate) {
  const int32_t n = curve->n, components = curve->components;
  if (n <= 0) {
    hold(curve->constant, components, value, rate);
    return;
  }
  const double u = (t - curve->start) / curve->interval;
  const double last = (double)(n - 1);
  // the ends themselves still move: a pump that runs at t = 0 has its speed there
  if (n == 1 || !(u >= 0.0) || u > last) {
    const int32_t k = n == 1 || !(u >= 0.0) ? 0 : n - 1;
    hold(curve->samples + (ptrdiff_t)k * components, components, value, rate);
    return;
  }
  int32_t k = (int32_t)u;
  k = k > n - 2 ? n - 2 : k;
  const double s = u - (double)k, s2 = s * s, s3 = s2 * s;
  for (int32_t c = 0; c < components; ++c) {
    const double *p = curve->samples + c;
    const double p0 = p[(ptrdiff_t)k * components], p1 = p[(ptrdiff_t)(k + 1) * components];
    const double m0 = slope_at(p, k, n, components), m1 = slope_at(p, k + 1, n, components);
    value[c] = (2.0 * s3 - 3.0 * s2 + 1.0) * p0 + (s3 - 2.0 * s2 + s) * m0 +
               (3.0 * s2 - 2.0 * s3) * p1 + (s3 - s2) * m1;
    if (rate != NULL) {
      rate[c] = ((6.0 * s2 - 6.0 * s) * (p0 - p1) + (3.0 * s2 - 4.0 * s + 1.0) * m0 +
                 (3.0 * s2 - 2.0 * s) * m1) /
                curve->interval;
    }
  }
}

// ---- over place

// The sample below x along an axis, and the share of the next one.
static int64_t below(double x, int32_t n, double *share) {
  if (n < 2 || !(x > 0.0)) {
    *share = 0.0;
    return 0;
  }
  int64_t k = (int64_t)fmin(floor(x), (double)(n - 2));
  *share = fmin(x - (double)k, 1.0);
  return k;
}

kp_vec3 kp_vec_lattice_at(const kp_vec_lattice *lattice, kp_vec3 constant, kp_vec3 p) {
  const int32_t *n = lattice->n;
  if (n[0] == 0) {
    return constant;
  }
  kp_vec3 u = kp_vec3_scale(kp_vec3_sub(p, lattice->start), 1.0 / lattice->interval);
  double share[3];
  const int64_t at[3] = { below(u.x, n[0], &share[0]), below(u.y, n[1], &share[1]),
                          below(u.z, n[2], &share[2]) };
  double sum[3] = { 0.0, 0.0, 0.0 };
  for (int corner = 0; corner < 8; ++corner) {
    const int64_t step[3] = { corner & 1, (corner >> 1) & 1, corner >> 2 };
    double weight = 1.0;
    for (int axis = 0; axis < 3; ++axis) {
      weight *= step[axis] != 0 ? share[axis] : 1.0 - share[axis];
    }
    if (weight > 0.0) {
      int64_t item = ((at[2] + step[2]) * n[1] + at[1] + step[1]) * n[0] + at[0] + step[0];
      for (int c = 0; c < 3; ++c) {
        sum[c] += weight * lattice->samples[3 * item + c];
      }
    }
  }
  return kp_vec3_make(sum[0], sum[1], sum[2]);
}

double kp_vec_lattice_longest(const kp_vec_lattice *lattice, kp_vec3 constant) {
  if (lattice->n[0] == 0) {
    return kp_vec3_length(constant);
  }
  double longest = 0.0;
  int64_t n = (int64_t)lattice->n[0] * lattice->n[1] * lattice->n[2];
  for (int64_t i = 0; i < n; ++i) {
    const double *v = lattice->samples + 3 * i;
    longest = fmax(longest, kp_vec3_length(kp_vec3_make(v[0], v[1], v[2])));
  }
  return longest;
}
