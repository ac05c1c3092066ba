#include "math/smoothing.h"

typedef struct norms {
  double w[2];  // in 2D and 3D, of the form in the table of smoothing.h with H = 1
} norms;

static const norms norms_of[KP_SMOOTH_KIND_COUNT] = {
  [KP_SMOOTH_POLY6] = { { 4.0 / KP_SMOOTH_PI, 315.0 / (64.0 * KP_SMOOTH_PI) } },
  [KP_SMOOTH_SPIKY] = { { 10.0 / KP_SMOOTH_PI, 15.0 / KP_SMOOTH_PI } },
  // sigma / h^D {2 (1-u)^3 - 8 (1/2-u)^3}, sigma = 10/(7 pi), 1/pi, h = H/2; the 2 is taken out
  [KP_SMOOTH_CUBIC] = { { 80.0 / (7.0 * KP_SMOOTH_PI), 16.0 / KP_SMOOTH_PI } },
  [KP_SMOOTH_WENDLAND] = { { 7.0 / KP_SMOOTH_PI, 21.0 / (2.0 * KP_SMOOTH_PI) } },
};

kp_smooth kp_smooth_make(kp_smooth_kind kind, double support, int dimension) {
  double h = support;
  double c = norms_of[kind].w[dimension - 2] / pow(h, dimension);
  double w = c;
  double g = 0.0;
  switch (kind) {
  case KP_SMOOTH_POLY6:
    w = c / pow(h, 6);
    g = -6.0 * w;
    break;
  case KP_SMOOTH_SPIKY:
    w = c / pow(h, 3);
    g = -3.0 * w;
    break;
  case KP_SMOOTH_CUBIC:
    g = -3.0 * c / (h * h);
    break;
  default:
    g = -20.0 * c / (h * h);
    break;
  }
  double lap = (dimension == 2 ? 40.0 / pow(h, 5) : 45.0 / pow(h, 6)) / KP_SMOOTH_PI;
  return (kp_smooth){
    .support = (kp_real)h,
    .support2 = (kp_real)(h * h),
    .inverse = (kp_real)(1.0 / h),
    .tiny = (kp_real)(1e-6 * h),
    .w_scale = (kp_real)w,
    .g_scale = (kp_real)g,
    .lap_scale = (kp_real)lap,
  };
}

double kp_smooth_value(kp_smooth_kind kind, double r, double support, int dimension) {
  double u = r / support;
  if (u >= 1.0) {
    return 0.0;
  }
  double c = norms_of[kind].w[dimension - 2] / pow(support, dimension);
  switch (kind) {
  case KP_SMOOTH_POLY6:
    return c * pow(1.0 - u * u, 3);
  case KP_SMOOTH_SPIKY:
    return c * pow(1.0 - u, 3);
  case KP_SMOOTH_CUBIC: {
    double inner = u < 0.5 ? 4.0 * pow(0.5 - u, 3) : 0.0;
    return c * (pow(1.0 - u, 3) - inner);
  }
  default:
    return c * pow(1.0 - u, 4) * (1.0 + 4.0 * u);
  }
}
