#include "geom/packing.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

#define MOST_SWEEPS 1200
#define SWEEPS_PER_SHAKE 300  // then what is stuck is shaken again, a tenth as hard
#define GAP 5e-4              // of the distance of two that touch: pairs are pushed further apart
#define CLOSE_ENOUGH 1e-4     // overlap over the sum of the radii that counts as none
#define RELAXATION 1.4        // of the way that would part a pair
#define ASIDE 0.5             // random part of the direction: three in a row do not stay in a row

// Cells as wide as the largest sphere: partners of a sphere are in its own and those around it.
typedef struct cells {
  double edge;
  kp_vec3 low;
  int64_t n[3];
  KP_ARRAY(uint32_t) start, next, order;
} cells;

static void free_cells(cells *c) {
  kp_array_free(&c->start);
  kp_array_free(&c->next);
  kp_array_free(&c->order);
}

static void cell_of(const cells *c, kp_vec3 p, int64_t at[3]) {
  const double x[3] = { p.x - c->low.x, p.y - c->low.y, p.z - c->low.z };
  for (int axis = 0; axis < 3; ++axis) {
    int64_t k = (int64_t)floor(x[axis] / c->edge);
    at[axis] = k < 0 ? 0 : (k >= c->n[axis] ? c->n[axis] - 1 : k);
  }
}

static size_t cell_index(const cells *c, const int64_t at[3]) {
  return (size_t)((at[2] * c->n[1] + at[1]) * c->n[0] + at[0]);
}

// A stable counting sort of the spheres by cell. Boxes that are mostly empty get wider cells.
static kp_result sort_cells(cells *c, const kp_points *points, double edge) {
  kp_aabb box = kp_aabb_empty();
  for (size_t i = 0; i < points->count; ++i) {
    box = kp_aabb_grow(box, points->data[i]);
  }
  const double size[3] = { box.max.x - box.min.x, box.max.y - box.min.y, box.max.z - box.min.z };
  double most = 8.0 * (double)points->count + 64.0;
  c->low = box.min;
  c->edge = edge;
  for (double n = HUGE_VAL; n > most; c->edge *= n > most ? 1.26 : 1.0) {
    n = 1.0;
    for (int axis = 0; axis < 3; ++axis) {
      c->n[axis] = (int64_t)floor(fmin(size[axis] / c->edge, 2e9)) + 1;
      n *= (double)c->n[axis];
    }
  }
  size_t n_cells = (size_t)(c->n[0] * c->n[1] * c->n[2]);
  KP_TRY(kp_array_resize(&c->start, n_cells + 1));
  KP_TRY(kp_array_resize(&c->next, n_cells));
  KP_TRY(kp_array_resize(&c->order, points->count));
  memset(c->start.data, 0, (n_cells + 1) * sizeof *c->start.data);
  int64_t at[3];
  for (size_t i = 0; i < points->count; ++i) {
    cell_of(c, points->data[i], at);
    c->start.data[cell_index(c, at) + 1] += 1;
  }
  for (size_t k = 0; k < n_cells; ++k) {
    c->start.data[k + 1] += c->start.data[k];
    c->next.data[k] = c->start.data[k];
  }
  for (size_t i = 0; i < points->count; ++i) {
    cell_of(c, points->data[i], at);
    c->order.data[c->next.data[cell_index(c, at)]++] = (uint32_t)i;
  }
  return KP_OK;
}

// Uniform in a cube of side 1 about the origin; flat in 2D.
static kp_vec3 random_shift(const kp_packing_def *def, uint64_t id, uint64_t number) {
  double u[3];
  for (uint64_t axis = 0; axis < 3; ++axis) {
    u[axis] = kp_rng_uniform(def->seed, KP_RNG_JITTER, id, 3 * number + axis) - 0.5;
  }
  return kp_vec3_make(u[0], u[1], def->dimension == 2 ? 0.0 : u[2]);
}

// How deep i and one partner overlap over the sum of their radii. In a sweep of number 0
// or more they are pushed apart, half each.
static double part_pair(const kp_packing_def *def, kp_vec3 *p, size_t i, size_t j, int number) {
  double reach = def->radii[i] + def->radii[j];
  kp_vec3 d = kp_vec3_sub(p[i], p[j]);
  double r2 = kp_vec3_dot(d, d);
  double wanted = (1.0 + GAP) * reach;
  if (r2 >= wanted * wanted) {
    return 0.0;
  }
  double r = sqrt(r2);
  if (number >= 0) {
    // two in one place part along the first axis
    kp_vec3 n = r > 0.0 ? kp_vec3_scale(d, 1.0 / r) : kp_vec3_make(1.0, 0.0, 0.0);
    n = kp_vec3_madd(
        n, ASIDE, random_shift(def, (uint64_t)i * 0x9e3779b97f4a7c15u + j, (uint64_t)number + 2));
    double half = RELAXATION * 0.5 * (wanted - r);
    p[i] = def->keep(def->user, i, kp_vec3_madd(p[i], half, n));
    p[j] = def->keep(def->user, j, kp_vec3_madd(p[j], -half, n));
  }
  return fmax(0.0, 1.0 - r / reach);
}

static double part_all(const kp_packing_def *def, const cells *c, kp_vec3 *p, size_t i,
                       int number) {
  int64_t at[3];
  double deepest = 0.0;
  cell_of(c, p[i], at);
  for (int64_t z = at[2] - 1; z <= at[2] + 1; ++z) {
    for (int64_t y = at[1] - 1; y <= at[1] + 1; ++y) {
      if (z < 0 || y < 0 || z >= c->n[2] || y >= c->n[1]) {
        continue;
      }
      const int64_t first[3] = { at[0] > 0 ? at[0] - 1 : 0, y, z };
      const int64_t last[3] = { at[0] + 1 < c->n[0] ? at[0] + 1 : at[0], y, z };
      uint32_t end = c->start.data[cell_index(c, last) + 1];
      for (uint32_t k = c->start.data[cell_index(c, first)]; k < end; ++k) {
        if (c->order.data[k] > i) {
          deepest = fmax(deepest, part_pair(def, p, i, c->order.data[k], number));
        }
      }
    }
  }
  return deepest;
}

// Over all pairs; the deepest overlap it met.
static kp_result sweep(const kp_packing_def *def, cells *c, double edge, kp_points *points,
                       int number, double *deepest) {
  KP_TRY(sort_cells(c, points, edge));
  *deepest = 0.0;
  for (size_t i = 0; i < points->count; ++i) {
    *deepest = fmax(*deepest, part_all(def, c, points->data, i, number));
  }
  return KP_OK;
}

static void shake(const kp_packing_def *def, kp_points *points, int number) {
  double width = 2.0 * def->shake * (number == 0 ? 1.0 : 0.1);
  for (size_t i = 0; i < points->count; ++i) {
    kp_vec3 shift = random_shift(def, ~(uint64_t)i, (uint64_t)number);
    points->data[i] = def->keep(def->user, i, kp_vec3_madd(points->data[i], width, shift));
  }
}

static kp_result shake_and_part(const kp_packing_def *def, cells *c, kp_points *points,
                                double *deepest) {
  double edge = 0.0;
  for (size_t i = 0; i < points->count; ++i) {
    edge = fmax(edge, 2.0 * (1.0 + GAP) * def->radii[i]);
  }
  *deepest = HUGE_VAL;
  for (int k = 0; k<MOST_SWEEPS && * deepest> CLOSE_ENOUGH; ++k) {
    if (k % SWEEPS_PER_SHAKE == 0) {
      shake(def, points, k);
    }
    KP_TRY(sweep(def, c, edge, points, k, deepest));
    // a push may have brought a pair together that was looked at before
    if (*deepest < GAP) {
      KP_TRY(sweep(def, c, edge, points, -1, deepest));
    }
  }
  return KP_OK;
}

kp_result kp_packing_shake(const kp_packing_def *def, kp_points *points, bool *is_done) {
  kp_points before = { 0 };
  cells c = { 0 };
  double deepest = 0.0;
  kp_result result = kp_array_resize(&before, points->count);
  if (result == KP_OK && points->count > 0) {
    memcpy(before.data, points->data, points->count * sizeof *points->data);
    result = shake_and_part(def, &c, points, &deepest);
  }
  *is_done = result == KP_OK && deepest <= CLOSE_ENOUGH;
  if (!*is_done && before.count > 0) {
    memcpy(points->data, before.data, before.count * sizeof *points->data);
  }
  kp_array_free(&before);
  free_cells(&c);
  return result;
}
