#include "data/gauge.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "data/mac_sample.h"

#define PI 3.14159265358979323846
#define STEPS 32  // per radius, on the way down
#define HALVINGS 30

// What lies in a column: its square distance from the axis, and its height.
typedef struct gauge_item {
  double away2, height;
} gauge_item;

typedef KP_ARRAY(gauge_item) gauge_items;

static double along(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : (axis == 1 ? v.y : v.z);
}

static kp_vec3 with(kp_vec3 v, int axis, double value) {
  return kp_vec3_make(axis == 0 ? value : v.x, axis == 1 ? value : v.y, axis == 2 ? value : v.z);
}

// ---- particles

// Distances along an axis from a column to a particle and to its images in closed faces.
static int images(const kp_gauge *gauge, int axis, double x, double column, double d[3]) {
  int n = 0;
  d[n++] = x - column;
  for (int end = 0; end < 2; ++end) {
    double face = along(end == 0 ? gauge->box.min : gauge->box.max, axis);
    if (gauge->closed[axis][end]) {
      d[n++] = 2.0 * face - x - column;
    }
  }
  return n;
}

static kp_result add_images(const kp_gauge *gauge, kp_vec3 x, kp_vec3 column, gauge_items *items) {
  double d[3][3] = { { 0.0 }, { 0.0 }, { 0.0 } };
  int n[3] = { 1, 1, 1 };
  for (int axis = 0; axis < gauge->dimension; ++axis) {
    if (axis != gauge->up) {
      n[axis] = images(gauge, axis, along(x, axis), along(column, axis), d[axis]);
    }
  }
  double heights[3];
  (void)images(gauge, gauge->up, along(x, gauge->up), 0.0, heights);
  // of the two faces along the column the floor alone
  int n_heights = gauge->closed[gauge->up][0] ? 2 : 1;
  for (int a = 0; a < n[0]; ++a) {
    for (int b = 0; b < n[1]; ++b) {
      for (int c = 0; c < n[2]; ++c) {
        double away2 = d[0][a] * d[0][a] + d[1][b] * d[1][b] + d[2][c] * d[2][c];
        for (int h = 0; away2 < gauge->radius * gauge->radius && h < n_heights; ++h) {
          gauge_item item = { away2, heights[h] };
          KP_TRY(kp_array_push(items, item));
        }
      }
    }
  }
  return KP_OK;
}

// Share of the space around a place of the axis that is filled (Wendland 1995, C2).
static double share_at(const kp_gauge *gauge, const gauge_items *items, double height) {
  double r = gauge->radius;
  double gain = gauge->dimension == 2 ? 7.0 / (PI * r * r) : 21.0 / (2.0 * PI * r * r * r);
  double sum = 0.0;
  for (size_t i = 0; i < items->count; ++i) {
    double d = items->data[i].height - height;
    double q = sqrt(items->data[i].away2 + d * d) / r;
    if (q < 1.0) {
      double t = (1.0 - q) * (1.0 - q);
      sum += t * t * (4.0 * q + 1.0);
    }
  }
  return gain * gauge->volume * sum;
}

static bool find_surface(const kp_gauge *gauge, const gauge_items *items, double *height) {
  double top = -HUGE_VAL;
  for (size_t i = 0; i < items->count; ++i) {
    top = fmax(top, items->data[i].height);
  }
  double floor = along(gauge->box.min, gauge->up);
  double step = gauge->radius / STEPS;
  for (double at = top + gauge->radius; at > floor - step && items->count > 0; at -= step) {
    if (share_at(gauge, items, at) < 0.5) {
      continue;
    }
    double inside = at;
    double outside = at + step;
    for (int k = 0; k < HALVINGS; ++k) {
      double middle = 0.5 * (inside + outside);
      *(share_at(gauge, items, middle) < 0.5 ? &outside : &inside) = middle;
    }
    *height = 0.5 * (inside + outside);
    return true;
  }
  *height = floor;
  return false;
}

static void put(const kp_gauge *gauge, double height, double count, kp_probe_value *out) {
  *out = (kp_probe_value){ .position = with(out->position, gauge->up, height),
                           .count = count,
                           .height = height };
  kp_probe_put((const double[]){ NAN, NAN, NAN }, out);
}

kp_result kp_gauge_particles(const kp_gauge *gauge, kp_space *space, kp_probe_value *values,
                             int64_t n) {
  const kp_pos *x[3];
  const kp_field *position = kp_space_find(space, "position");
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host((kp_buffer *)(uintptr_t)&position->buffers[c], KP_ACCESS_READ);
    if (x[c] == NULL && space->n > 0) {
      return KP_ERROR_MEMORY;
    }
  }
  gauge_items items = { 0 };
  kp_result result = KP_OK;
  for (int64_t r = 0; r < n && result == KP_OK; ++r) {
    items.count = 0;
    for (int64_t i = 0; i < space->n && result == KP_OK; ++i) {
      kp_vec3 p = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
      kp_vec3 d = with(kp_vec3_sub(p, values[r].position), gauge->up, 0.0);
      // an image is never nearer than what it is the image of
      if (kp_vec3_dot(d, d) < gauge->radius * gauge->radius) {
        result = add_images(gauge, p, values[r].position, &items);
      }
    }
    double height;
    bool is_wet = find_surface(gauge, &items, &height);
    put(gauge, height, is_wet ? (double)items.count : 0.0, &values[r]);
  }
  kp_array_free(&items);
  return result;
}

// ---- grids

kp_result kp_gauge_grid(const kp_gauge *gauge, const kp_probe_grid *grid, kp_probe_value *values,
                        int64_t n) {
  const kp_mac_view *g = &grid->mac->view;
  const kp_real *phi = kp_buffer_host(&grid->distance->buffers[0], KP_ACCESS_READ);
  if (phi == NULL) {
    return KP_ERROR_MEMORY;
  }
  double floor = along(gauge->box.min, gauge->up);
  for (int64_t r = 0; r < n; ++r) {
    double height = floor;
    double count = 0.0;
    double above = 0.0;
    for (int64_t cell = g->n[gauge->up] - 1; cell >= 0 && count == 0.0; --cell) {
      double at = floor + g->cell * ((double)cell + 0.5);
      kp_vec3 p = with(values[r].position, gauge->up, at);
      double here = (double)kp_mac_linear(g, phi, kp_mac_point_at(g, KP_MAC_CELL, p.x, p.y, p.z));
      if (here < 0.0) {
        // the topmost cell is full up to the lid
        height = at + (above > 0.0 ? g->cell * here / (here - above) : 0.5 * g->cell);
        count = 1.0;
      }
      above = here;
    }
    put(gauge, height, count, &values[r]);
  }
  return KP_OK;
}
