#include "data/baselines/brute_force.h"

#include <math.h>

static double nearest(double d, double size) {
  return size > 0.0 ? d - size * floor(d / size + 0.5) : d;
}

static int64_t visit_pairs(const kp_points *a, const kp_points *b, double radius,
                           const double size[3], kp_pair_visit_fn fn, void *user) {
  int64_t n_pairs = 0;
  for (int64_t i = 0; i < a->n; ++i) {
    for (int64_t j = 0; j < b->n; ++j) {
      double dx = nearest(a->x[i] - b->x[j], size[0]);
      double dy = nearest(a->y[i] - b->y[j], size[1]);
      double dz = nearest(a->z[i] - b->z[j], size[2]);
      bool is_self = a == b && i == j;
      if (!is_self && dx * dx + dy * dy + dz * dz <= radius * radius) {
        ++n_pairs;
        if (fn != NULL) {
          fn(i, j, user);
        }
      }
    }
  }
  return n_pairs;
}

int64_t kp_brute_force_pairs(const kp_points *a, const kp_points *b, double radius,
                             kp_pair_visit_fn fn, void *user) {
  const double open[3] = { 0.0, 0.0, 0.0 };
  return visit_pairs(a, b, radius, open, fn, user);
}

int64_t kp_brute_force_periodic(const kp_points *a, double radius, const double size[3],
                                kp_pair_visit_fn fn, void *user) {
  return visit_pairs(a, a, radius, size, fn, user);
}
