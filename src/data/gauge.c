#include "data/gauge.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "data/mac_sample.h"

#define PI 3.14159265358979323846
#define STEPS 32  // per radius, on the way down
#define HALVINGS 30
#define PARTS 8  // of a cell, where solids cut it

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

static kp_result surface_of_particles(const kp_gauge *gauge, const kp_pos *const x[3],
                                      int64_t n_particles, kp_probe_value *values, int64_t n) {
  gauge_items items = { 0 };
  kp_result result = KP_OK;
  for (int64_t r = 0; r < n && result == KP_OK; ++r) {
    items.count = 0;
    for (int64_t i = 0; i < n_particles && result == KP_OK; ++i) {
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

// ---- wetted length of particles

// Integral of a tent of height 1 / R from its middle on.
static double tent_integral(double x, double r) {
  double q = fmin(fabs(x) / r, 1.0);
  return copysign(q - 0.5 * q * q, x);
}

// Mean of the tent over an edge of a cube whose middle is at the distance d [1/m].
static double edge_weight(double d, double edge, double r) {
  return (tent_integral(d + 0.5 * edge, r) - tent_integral(d - 0.5 * edge, r)) / edge;
}

// What a cube adds to the wetted length.
static double cube_length(const kp_gauge *gauge, kp_vec3 x, double edge, kp_vec3 column) {
  double length = edge;
  for (int axis = 0; axis < gauge->dimension && length > 0.0; ++axis) {
    if (axis == gauge->up) {
      continue;
    }
    // an image in a wall is never nearer than what it is the image of
    double away = fabs(along(x, axis) - along(column, axis));
    if (away >= gauge->radius + 0.5 * edge && !gauge->periodic[axis]) {
      return 0.0;
    }
    double d[3];
    int n = images(gauge, axis, along(x, axis), along(column, axis), d);
    double width = along(gauge->box.max, axis) - along(gauge->box.min, axis);
    for (int side = -1; side <= 1 && gauge->periodic[axis]; side += 2) {
      d[n++] = d[0] + side * width;
    }
    double weight = 0.0;
    for (int k = 0; k < n; ++k) {
      weight += edge_weight(d[k], edge, gauge->radius);
    }
    length *= edge * weight;
  }
  return length;
}

// Whether the cell around a point is full whatever particles it holds.
static bool is_full(const kp_gauge *gauge, const kp_mac_view *g, const kp_real *depth, kp_vec3 x) {
  int64_t cell[3] = { 0, 0, 0 };
  for (int c = 0; c < gauge->dimension; ++c) {
    cell[c] = (int64_t)floor((along(x, c) - g->lo[c]) / g->cell);
    if (cell[c] < 0 || cell[c] >= g->n[c]) {
      return false;
    }
  }
  return (double)depth[kp_mac_at(g, cell[0], cell[1], cell[2])] >= gauge->full;
}

static void add_full_cells(const kp_gauge *gauge, const kp_mac_view *g, const kp_real *depth,
                           kp_vec3 column, double *length, double *count) {
  for (int64_t k = 0; k < g->n[2]; ++k) {
    for (int64_t j = 0; j < g->n[1]; ++j) {
      for (int64_t i = 0; i < g->n[0]; ++i) {
        double x[3];
        kp_mac_place(g, KP_MAC_CELL, i, j, k, x);
        double l = (double)depth[kp_mac_at(g, i, j, k)] >= gauge->full
                       ? cube_length(gauge, kp_vec3_make(x[0], x[1], x[2]), g->cell, column)
                       : 0.0;
        *length += l;
        *count += l > 0.0;
      }
    }
  }
}

static void wetted_by_particles(const kp_gauge *gauge, const kp_pos *const x[3],
                                int64_t n_particles, const kp_mac_view *g, const kp_real *depth,
                                kp_probe_value *value) {
  double edge = pow(gauge->volume, 1.0 / gauge->dimension);
  double length = 0.0;
  double count = 0.0;
  for (int64_t i = 0; i < n_particles; ++i) {
    kp_vec3 p = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
    double l = cube_length(gauge, p, edge, value->position);
    if (l > 0.0 && !(depth != NULL && is_full(gauge, g, depth, p))) {
      length += l;
      count += 1.0;
    }
  }
  if (depth != NULL) {
    add_full_cells(gauge, g, depth, value->position, &length, &count);
  }
  put(gauge, along(gauge->box.min, gauge->up) + length, count, value);
}

kp_result kp_gauge_particles(const kp_gauge *gauge, kp_space *space, const kp_probe_grid *band,
                             kp_probe_value *values, int64_t n) {
  const kp_pos *x[3];
  const kp_field *position = kp_space_find(space, "position");
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host((kp_buffer *)(uintptr_t)&position->buffers[c], KP_ACCESS_READ);
    if (x[c] == NULL && space->n > 0) {
      return KP_ERROR_MEMORY;
    }
  }
  if (gauge->reading == KP_GAUGE_SURFACE) {
    return surface_of_particles(gauge, x, space->n, values, n);
  }
  const kp_real *depth = NULL;
  if (gauge->full > 0.0 && band->depth != NULL) {
    depth = kp_buffer_host(&band->depth->buffers[0], KP_ACCESS_READ);
    if (depth == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (int64_t r = 0; r < n; ++r) {
    wetted_by_particles(gauge, x, space->n, depth != NULL ? &band->mac->view : NULL, depth,
                        &values[r]);
  }
  return KP_OK;
}

// ---- grids

static double height_of(const kp_gauge *gauge, const kp_mac_view *g, int64_t cell) {
  return g->lo[gauge->up] + g->cell * ((double)cell + 0.5);
}

// In the middle of a cell of the column.
static double distance_at(const kp_gauge *gauge, const kp_mac_view *g, const kp_real *phi,
                          kp_vec3 column, int64_t cell) {
  kp_vec3 p = with(column, gauge->up, height_of(gauge, g, cell));
  return (double)kp_mac_linear(g, phi, kp_mac_point_at(g, KP_MAC_CELL, p.x, p.y, p.z));
}

static void surface_on_grid(const kp_gauge *gauge, const kp_mac_view *g, const kp_real *phi,
                            kp_probe_value *value) {
  double floor = along(gauge->box.min, gauge->up);
  double height = floor;
  double count = 0.0;
  double above = 0.0;
  for (int64_t cell = g->n[gauge->up] - 1; cell >= 0 && count == 0.0; --cell) {
    double at = height_of(gauge, g, cell);
    double here = distance_at(gauge, g, phi, value->position, cell);
    if (here < 0.0) {
      // the topmost cell is full up to the lid
      height = at + (above > 0.0 ? g->cell * here / (here - above) : 0.5 * g->cell);
      count = 1.0;
    }
    above = here;
  }
  put(gauge, height, count, value);
}

// Share of a stretch that is negative, of what is linear between its ends.
static double negative_share(double a, double b) {
  if ((a < 0.0) == (b < 0.0)) {
    return a < 0.0 ? 1.0 : 0.0;
  }
  return fmin(a, b) / (fmin(a, b) - fmax(a, b));
}

// The distance, of liquid that ends where a solid begins.
static double in_the_open(const kp_gauge *gauge, kp_vec3 column, double at, double phi) {
  return gauge->solid == NULL
             ? phi
             : fmax(phi, -gauge->solid(gauge->solids, with(column, gauge->up, at)));
}

// Wetted length from `lo` to `hi`, between which the distance is linear.
static double wetted_part(const kp_gauge *gauge, kp_vec3 column, const double lo[2],
                          const double hi[2]) {
  double length = 0.0;
  double before = in_the_open(gauge, column, lo[0], lo[1]);
  int n = gauge->solid == NULL ? 1 : PARTS;
  for (int k = 1; k <= n; ++k) {
    double share = (double)k / n;
    double at = lo[0] + share * (hi[0] - lo[0]);
    double here = in_the_open(gauge, column, at, lo[1] + share * (hi[1] - lo[1]));
    length += negative_share(before, here) * (hi[0] - lo[0]) / n;
    before = here;
  }
  return length;
}

static void wetted_on_grid(const kp_gauge *gauge, const kp_mac_view *g, const kp_real *phi,
                           kp_probe_value *value) {
  double floor = along(gauge->box.min, gauge->up);
  double lid = along(gauge->box.max, gauge->up);
  int64_t n = g->n[gauge->up];
  // a film may be thinner than half a cell: the distance goes on to the floor as it came
  double first = distance_at(gauge, g, phi, value->position, 0);
  double slope = (distance_at(gauge, g, phi, value->position, n > 1) - first) / g->cell;
  double from[2] = { floor, first + slope * (floor - height_of(gauge, g, 0)) };
  double length = 0.0;
  for (int64_t cell = 0; cell < n; ++cell) {
    double to[2] = { height_of(gauge, g, cell), distance_at(gauge, g, phi, value->position, cell) };
    length += wetted_part(gauge, value->position, from, to);
    slope = (to[1] - from[1]) / (to[0] - from[0]);
    memcpy(from, to, sizeof from);
  }
  const double top[2] = { lid, from[1] + slope * (lid - from[0]) };
  length += wetted_part(gauge, value->position, from, top);
  put(gauge, floor + length, length > 0.0 ? 1.0 : 0.0, value);
}

kp_result kp_gauge_grid(const kp_gauge *gauge, const kp_probe_grid *grid, kp_probe_value *values,
                        int64_t n) {
  const kp_mac_view *g = &grid->mac->view;
  const kp_real *phi = kp_buffer_host(&grid->distance->buffers[0], KP_ACCESS_READ);
  if (phi == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t r = 0; r < n; ++r) {
    if (gauge->reading == KP_GAUGE_SURFACE) {
      surface_on_grid(gauge, g, phi, &values[r]);
    } else {
      wetted_on_grid(gauge, g, phi, &values[r]);
    }
  }
  return KP_OK;
}
