// Lattices inside shapes, and random points. Surfaces are in sampler_surface.c.
#include "geom/sampler.h"

#include "base/memory.h"
#include "base/random.h"
#include "geom/frame.h"
#include "par/parallel.h"

#define PI 3.14159265358979323846
#define MOST_POINTS 2147483647.0
#define SLAB_POINTS 4194304
#define ROWS_PER_CHUNK 8

static kp_aabb everywhere(void) {
  kp_aabb box;
  box.min = kp_vec3_make(-HUGE_VAL, -HUGE_VAL, -HUGE_VAL);
  box.max = kp_vec3_make(HUGE_VAL, HUGE_VAL, HUGE_VAL);
  return box;
}

kp_fill_def kp_default_fill_def(double spacing) {
  return (kp_fill_def){ .spacing = spacing, .packing = KP_PACKING_CUBIC, .clip = everywhere() };
}

kp_surface_def kp_default_surface_def(double spacing) {
  return (kp_surface_def){ .spacing = spacing, .layers = 1, .clip = everywhere() };
}

// ---- lattices -----------------------------------------------------------------------------------

// Point (i, j, k) = start + step (i, j, k) + the shift of its row; rows run along x.
typedef struct lattice {
  kp_packing packing;
  int dimension;
  kp_vec3 start, step;
  int64_t n[3];
} lattice;

// Shifts in units of the x and z steps. Close packing: the layers along y lie in the hollows of
// each other (A B A B), the rows along z inside a layer likewise. In 2D the layers are rows.
static double shift_x(const lattice *l, int64_t j, int64_t k) {
  bool is_hexagonal = l->packing == KP_PACKING_HEXAGONAL;
  return is_hexagonal && ((j + k) & 1) != 0 ? 0.5 : 0.0;
}

static double shift_z(const lattice *l, int64_t j) {
  bool is_hexagonal = l->packing == KP_PACKING_HEXAGONAL && l->dimension == 3;
  return is_hexagonal && (j & 1) != 0 ? 1.0 / 3.0 : 0.0;
}

// Steps that leave d^3 (in 2D d^2) to each point. Close packing with nearest distance a has sqrt(2)
// / a^3 points per volume; the triangular lattice has 2 / (sqrt(3) a^2) per area.
static kp_vec3 lattice_step(kp_packing packing, int dimension, double d) {
  if (packing == KP_PACKING_CUBIC) {
    return kp_vec3_make(d, d, d);
  }
  if (dimension == 2) {
    double a = d * sqrt(2.0 / sqrt(3.0));
    return kp_vec3_make(a, a * sqrt(3.0) / 2.0, d);
  }
  double a = d * pow(2.0, 1.0 / 6.0);
  return kp_vec3_make(a, a * sqrt(2.0 / 3.0), a * sqrt(3.0) / 2.0);
}

// Whole steps in a length, at least one; lengths that are multiples up to rounding count as such.
static double count_steps(double length, double step) {
  double n = floor(length / step + 1e-6);
  return n < 1.0 ? 1.0 : n;
}

// First point of n that stand in the middle of [low, high], with rows shifted by up to `shift`
// steps.
static double center_start(double low, double high, double n, double step, double shift) {
  return low + 0.5 * (high - low - (n - 1.0 + shift) * step);
}

static kp_result make_lattice(const kp_shape *shape, const kp_fill_def *def, lattice *l) {
  kp_aabb box = kp_shape_is_bounded(shape) ? kp_shape_bounds(shape) : everywhere();
  box.min = kp_vec3_max(box.min, def->clip.min);
  box.max = kp_vec3_min(box.max, def->clip.max);
  bool is_flat = shape->dimension == 2;
  if (is_flat) {
    box.min.z = 0.0;
    box.max.z = 0.0;
  }
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  if (!isfinite(size.x) || !isfinite(size.y) || !isfinite(size.z)) {
    return kp_fail(KP_ERROR_SCENE, "an unbounded shape cannot be filled without a box to stay in");
  }
  if (!(def->spacing > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "the spacing of samples, %g m, is not above 0", def->spacing);
  }
  *l = (lattice){ .packing = def->packing, .dimension = shape->dimension };
  if (size.x < 0.0 || size.y < 0.0 || size.z < 0.0) {
    return KP_OK;  // the clip box misses the shape
  }
  l->step = lattice_step(def->packing, shape->dimension, def->spacing);
  double nx = count_steps(size.x, l->step.x);
  double ny = count_steps(size.y, l->step.y);
  double nz = is_flat ? 1.0 : count_steps(size.z, l->step.z);
  if (nx * ny * nz >= MOST_POINTS) {
    return kp_fail(KP_ERROR_SCENE,
                   "a spacing of %g m fills the shape with about %.3g samples, too "
                   "many for one set",
                   def->spacing, nx * ny * nz);
  }
  l->n[0] = (int64_t)nx;
  l->n[1] = (int64_t)ny;
  l->n[2] = (int64_t)nz;
  l->start.x = center_start(box.min.x, box.max.x, nx, l->step.x, shift_x(l, 1, 0));
  l->start.y = center_start(box.min.y, box.max.y, ny, l->step.y, 0.0);
  l->start.z = center_start(box.min.z, box.max.z, nz, l->step.z, shift_z(l, 1));
  return KP_OK;
}

static kp_vec3 lattice_point(const lattice *l, int64_t i, int64_t j, int64_t k) {
  double x = l->start.x + l->step.x * ((double)i + shift_x(l, j, k));
  double y = l->start.y + l->step.y * (double)j;
  double z = l->start.z + l->step.z * ((double)k + shift_z(l, j));
  return kp_vec3_make(x, y, l->dimension == 2 ? 0.0 : z);
}

// Rows are marked in parallel, a slab of them at a time, and then read in order: the memory is
// bounded and the points do not depend on the threads.
typedef struct slab {
  const kp_shape *shape;
  const kp_fill_def *def;
  const lattice *l;
  int64_t first;  // row number j + n_y k of its first row
  bool *inside;   // per lattice point
} slab;

// One row. The distance changes by at most one step per point, so a point at distance f decides for
// the next f / step points as well: the work goes with the surface of the shape, not with its
// volume.
static void mark_row(const slab *s, int64_t row, bool *inside) {
  const lattice *l = s->l;
  double tolerance = 1e-9 * s->def->spacing;
  int64_t i = 0;
  while (i < l->n[0]) {
    kp_vec3 p = lattice_point(l, i, row % l->n[1], row / l->n[1]);
    double f = kp_shape_distance(s->shape, p) + s->def->margin - tolerance;
    double sure = floor(fmin(fabs(f) / l->step.x * (1.0 - 1e-9), (double)(l->n[0] - i)));
    int64_t end = i + (sure > 1.0 ? (int64_t)sure : 1);
    while (i < end) {
      inside[i++] = f < 0.0;
    }
  }
}

static void mark_rows(int64_t begin, int64_t end, void *context) {
  const slab *s = context;
  for (int64_t r = begin; r < end; ++r) {
    mark_row(s, s->first + r, s->inside + r * s->l->n[0]);
  }
}

static kp_result append_rows(const slab *s, int64_t n_rows, kp_points *points) {
  const lattice *l = s->l;
  const bool *inside = s->inside;
  for (int64_t row = s->first; row < s->first + n_rows; ++row) {
    for (int64_t i = 0; i < l->n[0]; ++i) {
      if (*inside++) {
        KP_TRY(kp_array_push(points, lattice_point(l, i, row % l->n[1], row / l->n[1])));
      }
    }
  }
  return KP_OK;
}

static kp_result fill_rows(const kp_shape *shape, const kp_fill_def *def, const lattice *l,
                           kp_points *points) {
  int64_t n_rows = l->n[1] * l->n[2];
  int64_t n_slab = l->n[0] > 0 ? SLAB_POINTS / l->n[0] + 1 : 1;
  n_slab = n_slab < n_rows ? n_slab : n_rows;
  slab s = { shape, def, l, 0, NULL };
  s.inside = kp_alloc((size_t)(n_slab * l->n[0]) * sizeof *s.inside, KP_MEMORY_SCRATCH);
  kp_result result = s.inside != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (; s.first < n_rows && result == KP_OK; s.first += n_slab) {
    int64_t n = n_rows - s.first < n_slab ? n_rows - s.first : n_slab;
    kp_parallel_for(n, ROWS_PER_CHUNK, mark_rows, &s);
    result = append_rows(&s, n, points);
  }
  kp_free(s.inside);
  return result;
}

static void jitter(const kp_fill_def *def, int dimension, kp_vec3 *points, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    double move[3];
    for (uint64_t axis = 0; axis < 3; ++axis) {
      double u = kp_rng_uniform(def->seed, KP_RNG_JITTER, (uint64_t)i, axis);
      move[axis] = (2.0 * u - 1.0) * def->jitter * def->spacing;
    }
    points[i].x += move[0];
    points[i].y += move[1];
    points[i].z += dimension == 2 ? 0.0 : move[2];
  }
}

kp_result kp_sampler_fill(const kp_shape *shape, const kp_fill_def *def, kp_points *points) {
  lattice l;
  KP_TRY(make_lattice(shape, def, &l));
  size_t first = points->count;
  KP_TRY(fill_rows(shape, def, &l, points));
  if (def->jitter > 0.0) {
    jitter(def, shape->dimension, points->data + first, points->count - first);
  }
  return KP_OK;
}
