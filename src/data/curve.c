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
