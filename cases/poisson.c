#include "cases/poisson.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases/cases.h"

#define PI 3.14159265358979323846
#define DENSITY 1000.0
#define LEAST_THETA 0.01

const char *const kp_case_poisson_names[] = { "closed", "open", "surface", "sphere", "pockets" };

kp_case_poisson_def kp_default_case_poisson_def(void) {
  return (kp_case_poisson_def){ .backend = "cpu",
                                .kind = KP_CASE_OPEN,
                                .edge = 64,
                                .dimension = 3,
                                .solver = KP_POISSON_MULTIGRID,
                                .tolerance = 1e-6,
                                .max_iterations = 1000 };
}

// ---- geometry in a box of edge 1

// Height of the liquid above (x, y, z), negative inside.
static double above_surface(double x, double y, double z) {
  return y - (0.6 + 0.08 * sin(2.0 * PI * x + 1.0) * cos(3.0 * PI * z));
}

static double outside_sphere(double x, double y, double z) {
  return sqrt((x - 0.45) * (x - 0.45) + (y - 0.4) * (y - 0.4) + (z - 0.52) * (z - 0.52)) - 0.23;
}

static bool is_wall(const kp_mac_view *g, const int64_t cell[3]) {
  for (int c = 0; c < g->dimension; ++c) {
    int64_t wide = g->n[c] / 4;
    if (wide > 2 && cell[c] % wide == 0 && cell[c] / wide > 0 && cell[c] / wide < 4) {
      return true;
    }
  }
  return false;
}

static uint8_t kind_at(const kp_case_poisson_def *def, const kp_mac_view *g, const int64_t cell[3],
                       const double p[3]) {
  switch (def->kind) {
  case KP_CASE_SURFACE:
    return above_surface(p[0], p[1], p[2]) < 0.0 ? KP_CELL_FLUID : KP_CELL_AIR;
  case KP_CASE_SPHERE:
    return outside_sphere(p[0], p[1], p[2]) > -0.5 * g->cell ? KP_CELL_FLUID : KP_CELL_SOLID;
  case KP_CASE_POCKETS:
    return is_wall(g, cell) ? KP_CELL_SOLID : KP_CELL_FLUID;
  default:
    return KP_CELL_FLUID;
  }
}

// c of the face between two cells; either may lie beyond the sides.
static double coefficient(const kp_case_poisson_def *def, const kp_mac_view *g, const double p[3],
                          int axis, const uint8_t kinds[2]) {
  if (kinds[0] == KP_CELL_SOLID || kinds[1] == KP_CELL_SOLID) {
    return 0.0;
  }
  double below[3] = { p[0], p[1], p[2] };
  double middle[3] = { p[0], p[1], p[2] };
  below[axis] -= g->cell;
  middle[axis] -= 0.5 * g->cell;
  if (def->kind == KP_CASE_SURFACE && kinds[0] != kinds[1]) {
    double here = above_surface(p[0], p[1], p[2]);
    double there = above_surface(below[0], below[1], below[2]);
    double theta = here < 0.0 ? here / (here - there) : there / (there - here);
    return 1.0 / (DENSITY * fmax(theta, LEAST_THETA));
  }
  if (def->kind == KP_CASE_SPHERE) {
    double open = 0.5 + outside_sphere(middle[0], middle[1], middle[2]) / g->cell;
    return fmin(fmax(open, 0.0), 1.0) / DENSITY;
  }
  return 1.0 / DENSITY;
}

typedef struct filling {
  uint8_t *flags;
  kp_real *faces[3], *right;
} filling;

// What the cell beside has, walls beyond the sides, air above open ones.
static uint8_t kind_of(const kp_case_poisson_def *def, const kp_mac_view *g,
                       const int64_t beside[3], const double p[3]) {
  int64_t cell[3] = { beside[0], beside[1], beside[2] };
  cell[0] = g->is_periodic[0] ? (cell[0] + g->n[0]) % g->n[0] : cell[0];
  for (int c = 0; c < g->dimension; ++c) {
    if (cell[c] < 0 || cell[c] >= g->n[c]) {
      bool is_open =
          c == 1 && cell[c] > 0 && def->kind != KP_CASE_CLOSED && def->kind != KP_CASE_POCKETS;
      return is_open ? KP_CELL_AIR : KP_CELL_SOLID;
    }
  }
  return kind_at(def, g, cell, p);
}

static void fill_item(const kp_case_poisson_def *def, const kp_mac_view *g, const int64_t cell[3],
                      filling *f) {
  int64_t at = kp_mac_at(g, cell[0], cell[1], cell[2]);
  double p[3];
  bool is_inside = true;
  for (int c = 0; c < 3; ++c) {
    p[c] = g->dimension == 2 && c == 2 ? 0.52 : ((double)cell[c] + 0.5) * g->cell;
    is_inside = is_inside && cell[c] < g->n[c];
  }
  uint8_t kinds[2];
  kinds[1] = kind_of(def, g, cell, p);
  for (int axis = 0; axis < g->dimension; ++axis) {
    int64_t below[3] = { cell[0], cell[1], cell[2] };
    double q[3] = { p[0], p[1], p[2] };
    below[axis] -= 1;
    q[axis] -= g->cell;
    kinds[0] = kind_of(def, g, below, q);
    f->faces[axis][at] = (kp_real)coefficient(def, g, p, axis, kinds);
  }
  if (is_inside) {
    // all wavelengths: the longest ones and noise
    double smooth = cos(PI * p[0]) * cos(PI * p[1]) * cos(2.0 * PI * p[2]);
    double noise = 2.0 * kp_rng_uniform(7, 0, (uint64_t)at, 0) - 1.0;
    f->flags[at] = kinds[1];
    f->right[at] = kinds[1] == KP_CELL_FLUID ? (kp_real)(smooth + noise) : (kp_real)0;
  }
}

static kp_result fill(const kp_case_poisson_def *def, kp_case_poisson *c) {
  const kp_mac_view *g = &c->mac->view;
  filling f;
  KP_TRY(kp_buffer_get(&c->flags, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&f.flags));
  KP_TRY(kp_buffer_get(&c->start, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&f.right));
  for (int axis = 0; axis < 3; ++axis) {
    KP_TRY(kp_buffer_get(&c->faces[axis], KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&f.faces[axis]));
  }
  int64_t last[3];
  for (int a = 0; a < 3; ++a) {
    last[a] = g->n[a] + (a < g->dimension ? 1 : 0);
  }
  for (int64_t k = 0; k < last[2]; ++k) {
    for (int64_t j = 0; j < last[1]; ++j) {
      for (int64_t i = 0; i < last[0]; ++i) {
        const int64_t cell[3] = { i, j, k };
        fill_item(def, g, cell, &f);
      }
    }
  }
  return KP_OK;
}

// ---- life

static void each(kp_case_poisson *c, kp_buffer *out[7]) {
  kp_buffer *all[7] = { &c->flags, &c->faces[0], &c->faces[1], &c->faces[2],
                        &c->right, &c->start,    &c->answer };
  memcpy(out, all, sizeof all);
}

static kp_result create(const kp_case_poisson_def *def, kp_case_poisson *c) {
  kp_backend_kind backend;
  double edge = 1.0;
  kp_mac_def mac = { .name = "cube",
                     .cell = edge / (double)def->edge,
                     .dimension = def->dimension };
  mac.box.max = (kp_vec3){ edge, edge, edge };
  for (int side = 0; side < 2; ++side) {
    mac.sides[0][side].kind = def->is_periodic ? KP_MAC_PERIODIC : KP_MAC_WALL;
  }
  KP_TRY(kp_backend_parse(def->backend, &backend));
  KP_TRY(kp_backend_create(backend, &c->backend));
  KP_TRY(kp_registry_create(c->backend, &c->registry));
  KP_TRY(kp_mac_create(c->registry, &mac, &c->mac));
  kp_buffer *all[7];
  each(c, all);
  for (int k = 0; k < 7; ++k) {
    KP_TRY(kp_mac_scratch(c->mac, k == 0 ? KP_TYPE_U8 : KP_TYPE_REAL, all[k]));
  }
  KP_TRY(fill(def, c));
  kp_poisson_def poisson = kp_default_poisson_def();
  poisson.solver = def->solver;
  poisson.tolerance = def->tolerance;
  poisson.max_iterations = def->max_iterations;
  c->system = (kp_poisson_system){ .flags = &c->flags,
                                   .faces = { &c->faces[0], &c->faces[1], &c->faces[2] },
                                   .right = &c->right,
                                   .answer = &c->answer };
  return kp_poisson_create(c->mac, &poisson, &c->poisson);
}

kp_result kp_case_poisson_create(const kp_case_poisson_def *def, kp_case_poisson *out) {
  memset(out, 0, sizeof *out);
  kp_result result = create(def, out);
  if (result != KP_OK) {
    kp_case_poisson_destroy(out);
  }
  return result;
}

void kp_case_poisson_destroy(kp_case_poisson *c) {
  kp_poisson_destroy(&c->poisson);
  kp_buffer *all[7];
  each(c, all);
  for (int k = 0; k < 7 && c->mac != NULL; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_mac_destroy(&c->mac);
  kp_registry_destroy(&c->registry);
  kp_backend_destroy(&c->backend);
}

kp_result kp_case_poisson_solve(kp_case_poisson *c, kp_poisson_report *report) {
  KP_TRY(kp_buffer_copy(&c->right, &c->start));
  KP_TRY(kp_vector_fill(c->mac->view.count, 0.0, &c->answer));
  return kp_poisson_solve(c->poisson, &c->system, report);
}

// ---- as a case of bench

typedef struct pressure_case {
  kp_case_poisson of;
  kp_poisson_report report;
} pressure_case;

static kp_result create_case(const char *backend, int64_t size, void **self) {
  pressure_case *c = kp_alloc_zero(sizeof *c, KP_MEMORY_TEST);
  *self = c;
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_case_poisson_def def = kp_default_case_poisson_def();
  def.backend = backend;
  def.kind = KP_CASE_SPHERE;
  def.edge = size;
  kp_result result = kp_case_poisson_create(&def, &c->of);
  if (result != KP_OK) {
    kp_free(c);
    *self = NULL;
  }
  return result;
}

static kp_result turn_case(void *self) {
  pressure_case *c = self;
  KP_TRY(kp_case_poisson_solve(&c->of, &c->report));
  if (!c->report.is_converged) {
    return kp_fail(KP_ERROR_PHYSICS, "the pressure stopped at %g after %d iterations",
                   c->report.residual, c->report.iterations);
  }
  return kp_wait(c->of.backend);
}

static int64_t count_case(const void *self) {
  const pressure_case *c = self;
  return c->report.n_cells;
}

static double bytes_case(const void *self) {
  const pressure_case *c = self;
  return kp_poisson_bytes_per_cell(c->of.poisson);
}

static double iterations_case(const void *self) {
  const pressure_case *c = self;
  return c->report.iterations;
}

static void destroy_case(void **self) {
  pressure_case *c = *self;
  if (c != NULL) {
    kp_case_poisson_destroy(&c->of);
    kp_free(c);
    *self = NULL;
  }
}

const kp_case_turns kp_case_pressure = { .create = create_case,
                                         .turn = turn_case,
                                         .count = count_case,
                                         .bytes_each = bytes_case,
                                         .iterations = iterations_case,
                                         .destroy = destroy_case };
