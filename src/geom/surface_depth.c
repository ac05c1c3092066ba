#include "geom/surface_depth.h"

#include <math.h>
#include <string.h>

#include "data/mac_sample.h"
#include "data/registry.h"
#include "par/parallel.h"

#define ROWS_PER_CHUNK 16
#define LEAST_CELLS 4e6  // that any liquid may have
#define CELLS_PER_BLOCK 512.0
#define POINTS_PER_CHUNK 1024

void kp_surface_depth_init(kp_surface_depth *d, kp_backend *backend) {
  *d = (kp_surface_depth){ .backend = backend };
  kp_buffer_init(&d->phi, backend);
}

static void free_grid(kp_surface_depth *d) {
  if (d->mac != NULL) {
    kp_level_set_free(&d->set);
  }
  kp_buffer_free(&d->phi);
  kp_mac_destroy(&d->mac);
  kp_registry_destroy(&d->registry);
  d->at = NULL;
}

void kp_surface_depth_free(kp_surface_depth *d) {
  free_grid(d);
}

// ---- the grid

// Cells that hold all blocks, inside the box; the number of them.
static double find_span(kp_surface_depth *d, const kp_surfacer *s, double cell) {
  const kp_blocks *b = &s->blocks;
  const double box[2][3] = { { s->how.box.min.x, s->how.box.min.y, s->how.box.min.z },
                             { s->how.box.max.x, s->how.box.max.y, s->how.box.max.z } };
  double size = b->edge * b->spacing;
  double count = 1.0;
  for (int c = 0; c < s->how.dimension; ++c) {
    double lo = HUGE_VAL;
    double hi = -HUGE_VAL;
    for (int64_t i = 0; i < b->n; ++i) {
      lo = fmin(lo, size * b->at[i][c]);
      hi = fmax(hi, size * (b->at[i][c] + 1));
    }
    d->lo[c] = floor(fmax(lo, box[0][c]) / cell);
    d->n[c] = fmax(1.0, ceil(fmin(hi, box[1][c]) / cell) - d->lo[c]);
    count *= d->n[c];
  }
  if (s->how.dimension == 2) {
    d->lo[2] = 0.0;
    d->n[2] = 1.0;
  }
  return count;
}

static kp_result make_grid(kp_surface_depth *d, int dimension) {
  kp_mac_def def = { .name = "depth", .cell = d->cell, .dimension = dimension };
  def.box.min = kp_vec3_make(d->cell * d->lo[0], d->cell * d->lo[1], d->cell * d->lo[2]);
  def.box.max = kp_vec3_madd(def.box.min, d->cell, kp_vec3_make(d->n[0], d->n[1], d->n[2]));
  for (int c = 0; c < 3; ++c) {
    def.sides[c][0].kind = def.sides[c][1].kind = KP_MAC_WALL;
  }
  KP_TRY(kp_registry_create(d->backend, &d->registry));
  KP_TRY(kp_mac_create(d->registry, &def, &d->mac));
  KP_TRY(kp_level_set_init(&d->set, d->mac));
  return kp_mac_scratch(d->mac, KP_TYPE_REAL, &d->phi);
}

// Drops that were flung far must not cost all memory: cells grow until they are not many more than
// samples.
static kp_result fit_grid(kp_surface_depth *d, const kp_surfacer *s) {
  const kp_surface_depth before = *d;
  double most = fmax(LEAST_CELLS, CELLS_PER_BLOCK * (double)s->blocks.n);
  d->cell = s->how.spacing;
  while (find_span(d, s, d->cell) > most) {
    d->cell *= 2.0;
  }
  d->largest = d->cell * sqrt(d->n[0] * d->n[0] + d->n[1] * d->n[1] + d->n[2] * d->n[2]);
  bool is_same = d->mac != NULL && d->mac->view.dimension == s->how.dimension &&
                 d->cell == before.cell && memcmp(before.lo, d->lo, sizeof d->lo) == 0 &&
                 memcmp(before.n, d->n, sizeof d->n) == 0;
  if (is_same) {
    return KP_OK;
  }
  free_grid(d);
  return make_grid(d, s->how.dimension);
}

// ---- the field at cells

typedef struct fill_work {
  kp_surface_depth *depth;
  const kp_surfacer *surfacer;
  kp_real *phi;
} fill_work;

static float block_value(const kp_blocks *b, const int64_t sample[3]) {
  int64_t at[3];
  int32_t local[3];
  for (int c = 0; c < 3; ++c) {
    int64_t below = sample[c] < 0 ? sample[c] - b->edge + 1 : sample[c];
    at[c] = below / b->edge;
    local[c] = (int32_t)(sample[c] - at[c] * b->edge);
  }
  if (b->depth != b->edge) {  // flat: one layer of blocks, samples at -1, 0 and 1
    at[2] = 0;
    local[2] = 1;
  }
  int64_t block = kp_blocks_find(b, at);
  return block < 0 ? b->outside
                   : kp_blocks_sample(b, b->values, block, local[0], local[1], local[2]);
}

// Linear between samples.
static double field_at(const kp_blocks *b, const double p[3]) {
  int64_t base[3];
  double t[3];
  for (int c = 0; c < 3; ++c) {
    double place = p[c] / b->spacing;
    base[c] = (int64_t)floor(place);
    t[c] = place - (double)base[c];
  }
  double sum = 0.0;
  for (int k = 0; k < 8; ++k) {
    int64_t sample[3];
    double weight = 1.0;
    for (int c = 0; c < 3; ++c) {
      int up = k >> c & 1;
      sample[c] = base[c] + up;
      weight *= up ? t[c] : 1.0 - t[c];
    }
    sum += weight > 0.0 ? weight * (double)block_value(b, sample) : 0.0;
  }
  return sum;
}

// Places nearer to a wall than a cell take the field a cell away from it: it is cut off there.
static double before_wall(double x, double lo, double hi, double cell) {
  double most = fmax(hi - cell, 0.5 * (lo + hi));
  double least = fmin(lo + cell, 0.5 * (lo + hi));
  return fmin(fmax(x, least), most);
}

static void fill_rows(int64_t begin, int64_t end, void *context) {
  const fill_work *w = context;
  const kp_mac_view *g = &w->depth->mac->view;
  const kp_surfacing *how = &w->surfacer->how;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % g->n[1];
    int64_t k = row / g->n[1];
    for (int64_t i = 0; i < g->n[0]; ++i) {
      double p[3];
      kp_mac_place(g, KP_MAC_CELL, i, j, k, p);
      p[0] = before_wall(p[0], how->box.min.x, how->box.max.x, g->cell);
      p[1] = before_wall(p[1], how->box.min.y, how->box.max.y, g->cell);
      p[2] = g->dimension == 2 ? 0.0 : before_wall(p[2], how->box.min.z, how->box.max.z, g->cell);
      w->phi[kp_mac_at(g, i, j, k)] = (kp_real)field_at(&w->surfacer->blocks, p);
    }
  }
}

// Cells with one of the other sign beside them.
static int64_t count_surface(const kp_mac_view *g, const kp_real *phi) {
  int64_t n = 0;
  for (int64_t k = 0; k < g->n[2]; ++k) {
    for (int64_t j = 0; j < g->n[1]; ++j) {
      for (int64_t i = 0; i < g->n[0]; ++i) {
        const int64_t place[3] = { i, j, k };
        int64_t at = kp_mac_at(g, i, j, k);
        bool is_surface = false;
        for (int c = 0; c < g->dimension; ++c) {
          int64_t step = kp_mac_stride(g, c);
          bool is_inside = phi[at] < (kp_real)0;
          is_surface = is_surface || (place[c] > 0 && (phi[at - step] < (kp_real)0) != is_inside) ||
                       (place[c] + 1 < g->n[c] && (phi[at + step] < (kp_real)0) != is_inside);
        }
        n += is_surface;
      }
    }
  }
  return n;
}

kp_result kp_surface_depth_fill(kp_surface_depth *d, const kp_surfacer *surfacer) {
  d->n_surface = 0;
  if (surfacer->blocks.n == 0) {
    free_grid(d);
    return KP_OK;
  }
  KP_TRY(fit_grid(d, surfacer));
  void *memory;
  KP_TRY(kp_buffer_get(&d->phi, KP_SIDE_HOST, KP_ACCESS_WRITE, &memory));
  fill_work work = { d, surfacer, memory };
  const kp_mac_view *g = &d->mac->view;
  kp_parallel_for((int64_t)g->n[1] * g->n[2], ROWS_PER_CHUNK, fill_rows, &work);
  d->n_surface = count_surface(g, work.phi);
  KP_TRY(kp_level_set_sweep(&d->set, &d->phi));
  KP_TRY(kp_buffer_get(&d->phi, KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  d->at = memory;
  return KP_OK;
}

// ---- asking

double kp_surface_depth_distance(const kp_surface_depth *d, kp_vec3 p) {
  if (d->at == NULL) {
    return d->largest;
  }
  const kp_mac_view *g = &d->mac->view;
  double phi = (double)kp_mac_linear(g, d->at, kp_mac_point_at(g, KP_MAC_CELL, p.x, p.y, p.z));
  return fmin(fmax(phi, -d->largest), d->largest);
}

typedef struct point_work {
  const kp_surface_depth *depth;
  const kp_cloud *cloud;
  float *out;
} point_work;

static void ask_points(int64_t begin, int64_t end, void *context) {
  const point_work *w = context;
  for (int64_t i = begin; i < end; ++i) {
    kp_vec3 p = kp_vec3_make(w->cloud->x[i], w->cloud->y[i], w->cloud->z[i]);
    bool is_finite = isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
    w->out[i] = is_finite ? (float)fmax(0.0, -kp_surface_depth_distance(w->depth, p)) : 0.0f;
  }
}

void kp_surface_depth_of(const kp_surface_depth *d, const kp_cloud *cloud, float *out) {
  point_work work = { d, cloud, out };
  kp_parallel_for(cloud->n, POINTS_PER_CHUNK, ask_points, &work);
}
