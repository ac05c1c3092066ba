#include "geom/particle_surface.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geom/particle_surface_cpu.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

#define MOST_SAMPLES KP_SURFACING_FINEST
#define FILLED 0.75      // share of the expected particles with which a bin is full
#define GAP 0.95f        // spacings: no liquid farther from the nearest particle, where few are
#define THIN_FROM 0.25f  // share of the weight inside a liquid, below which few are
#define THIN_TO 0.40f
#define DROP 0.58f       // spacings: radius of a particle that is alone
#define DROP_AMONG 0.0f  // and of one among others, which must not show
#define ALONE_TO 0.05f   // share of the weight that others may have where one is alone
#define AMONG_FROM 0.14f
#define OF_CUBES 0.045  // spacings: that particles are not a half space but the middles of cubes
#define OUTSIDE 0.7     // spacings: no value is larger, so that smoothing spares what is small
#define INSET 1.0       // spacings from a wall where the surface is sure
#define FLAT 0.42f      // share of the weight up to which few particles are
#define CROWDED 5.0f    // spacings that phi is raised by, per share of the weight beyond that
#define ROWS_PER_CHUNK 16
#define TILE 512  // particles that samples are shown at a time

// Weight inside a liquid: (R/d)^n times the integral of (1 - s^2)^3.
static float full_weight(const kp_surfacing *how) {
  return how->dimension == 2 ? (float)(0.7854 * how->reach * how->reach)
                             : (float)(0.6383 * how->reach * how->reach * how->reach);
}

// How far the weighted mean of a liquid that fills a half space lies from a sample, in R; the
// sample is s outside of it. The particles at depth u of the support weigh (1 - u^2)^4, those of a
// flat world (1 - u^2)^3.5.
static double mean_depth(double s, int dimension) {
  enum { STEPS = 64 };
  double power = dimension == 2 ? 3.5 : 4.0, sum = 0.0, moment = 0.0;
  double from = fmax(s, -1.0), step = (1.0 - from) / STEPS;
  for (int i = 0; i < STEPS && from < 1.0; ++i) {
    double u = from + (i + 0.5) * step, w = pow(1.0 - u * u, power);
    sum += w;
    moment += w * u;
  }
  return sum > 0.0 ? moment / sum : 1.0;
}

// What the filter makes of phi at a flat surface [m].
static double flat_value(const kp_surfacing *how, double radius) {
  double reach = how->reach * how->spacing, sum = 0.0, weight = 1.0;
  int taps = 2 * how->smooth;
  for (int k = 0; k < taps; ++k) {
    weight *= 0.5;
  }
  for (int k = 0; k <= taps; ++k) {
    double s = (k - how->smooth) * how->voxel / reach;
    double phi = reach * mean_depth(s, how->dimension) - radius;
    sum += weight * fmin(phi, OUTSIDE * how->spacing);
    weight *= (double)(taps - k) / (k + 1);
  }
  return sum;
}

// The r with which a flat surface comes out in its place.
static double flat_radius(const kp_surfacing *how) {
  double radius = 0.25 * how->reach * how->spacing;
  for (int turn = 0; turn < 20; ++turn) {
    radius += flat_value(how, radius);
  }
  return radius + OF_CUBES * how->spacing;
}

static void *make_room(void *block, int64_t count, size_t size) {
  size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  if (block != NULL && kp_alloc_size(block) >= bytes) {
    return block;
  }
  kp_free(block);
  return kp_alloc(bytes + bytes / 4, KP_MEMORY_MESH);
}

// ---- filters

typedef struct filter {
  const kp_lattice *lattice;
  const float *from;
  float *to;
  int axis;
  const kp_aabb *box;
} filter;

static void smooth_rows(int64_t begin, int64_t end, void *context) {
  const filter *f = context;
  const kp_lattice *l = f->lattice;
  const int64_t strides[3] = { 1, l->row, l->slab };
  int64_t stride = strides[f->axis];
  int32_t n = l->n[0];
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at[3] = { 0, row % l->n[1], row / l->n[1] };
    int64_t first = at[1] * l->row + at[2] * l->slab;
    const float *from = f->from + first;
    float *to = f->to + first;
    bool is_rim = f->axis > 0 && (at[f->axis] == 0 || at[f->axis] == l->n[f->axis] - 1);
    if (is_rim) {
      memcpy(to, from, (size_t)n * sizeof *to);
      continue;
    }
    int32_t i0 = f->axis == 0 ? 1 : 0, i1 = f->axis == 0 ? n - 1 : n;
    for (int64_t i = i0; i < i1; ++i) {
      to[i] = 0.5f * from[i] + 0.25f * (from[i - stride] + from[i + stride]);
    }
    to[0] = f->axis == 0 ? from[0] : to[0];
    to[n - 1] = f->axis == 0 ? from[n - 1] : to[n - 1];
  }
}

void kp_lattice_smooth(const kp_lattice *lattice, float *values, float *other, int passes) {
  int64_t rows = (int64_t)lattice->n[1] * lattice->n[2];
  float *from = values, *to = other;
  for (int pass = 0; pass < passes; ++pass) {
    for (int axis = 0; axis < 3; ++axis) {
      if (lattice->n[axis] > 2) {
        filter f = { .lattice = lattice, .from = from, .to = to, .axis = axis };
        kp_parallel_for(rows, ROWS_PER_CHUNK, smooth_rows, &f);
        float *swap = from;
        from = to;
        to = swap;
      }
    }
  }
  if (from != values) {
    memcpy(values, from, (size_t)(lattice->slab * lattice->n[2]) * sizeof *values);
  }
}

// The union of two bodies.
static void join_rows(int64_t begin, int64_t end, void *context) {
  const filter *f = context;
  int64_t n = f->lattice->row;
  for (int64_t i = begin * n; i < end * n; ++i) {
    f->to[i] = f->to[i] < f->from[i] ? f->to[i] : f->from[i];
  }
}

static double outside_by(double x, double lo, double hi) {
  return fmax(lo - x, x - hi);
}

static void clip_rows(int64_t begin, int64_t end, void *context) {
  const filter *f = context;
  const kp_lattice *l = f->lattice;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % l->n[1], k = row / l->n[1];
    double d = outside_by(l->origin.y + l->spacing * (double)j, f->box->min.y, f->box->max.y);
    d = fmax(d, outside_by(l->origin.z + l->spacing * (double)k, f->box->min.z, f->box->max.z));
    float *to = f->to + j * l->row + k * l->slab;
    for (int64_t i = 0; i < l->n[0]; ++i) {
      double x = l->origin.x + l->spacing * (double)i;
      float distance = (float)fmax(d, outside_by(x, f->box->min.x, f->box->max.x));
      to[i] = to[i] > distance ? to[i] : distance;
    }
  }
}

void kp_lattice_clip(const kp_lattice *lattice, float *values, const kp_aabb *box) {
  filter f = { .lattice = lattice, .to = values, .box = box };
  kp_parallel_for((int64_t)lattice->n[1] * lattice->n[2], ROWS_PER_CHUNK, clip_rows, &f);
}

// ---- bins

static bool is_finite_at(const kp_cloud *c, int64_t i) {
  return isfinite(c->x[i]) && isfinite(c->y[i]) && isfinite(c->z[i]);
}

// The box of the particles inside the domain's, with room for their surface.
static kp_aabb find_box(const kp_surfacing *how, const kp_cloud *cloud) {
  kp_aabb box = kp_aabb_empty();
  for (int64_t i = 0; i < cloud->n; ++i) {
    if (is_finite_at(cloud, i)) {
      kp_vec3 p = kp_vec3_make(cloud->x[i], cloud->y[i], cloud->z[i]);
      box.min = kp_vec3_min(box.min, p);
      box.max = kp_vec3_max(box.max, p);
    }
  }
  double margin = how->spacing + 2.0 * how->voxel;
  kp_vec3 m = kp_vec3_make(margin, margin, margin);
  double rim = 1.5 * how->voxel;
  kp_vec3 r = kp_vec3_make(rim, rim, rim);
  box.min = kp_vec3_max(kp_vec3_sub(box.min, m), kp_vec3_sub(how->box.min, r));
  box.max = kp_vec3_min(kp_vec3_add(box.max, m), kp_vec3_add(how->box.max, r));
  return box;
}

// Samples lie at whole multiples of the voxel, so that the surface of a liquid that moves does not
// shimmer with its box.
static kp_result lay_lattice(kp_surfacer *s, const kp_aabb *box) {
  const double lo[3] = { box->min.x, box->min.y, box->min.z };
  const double hi[3] = { box->max.x, box->max.y, box->max.z };
  double voxel = s->how.voxel, origin[3], samples = 1.0, bins = 1.0;
  s->per_bin = (int32_t)ceil(s->how.reach * s->how.spacing / voxel - 1e-9);
  if (s->per_bin > MOST_SAMPLES) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "samples every %g m are too fine for a surface that reaches %g m", voxel,
                   s->how.reach * s->how.spacing);
  }
  s->edge = s->per_bin * voxel;
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && s->how.dimension == 2;
    double first = is_flat ? -1.0 : floor(lo[c] / voxel),
           last = is_flat ? 1.0 : ceil(hi[c] / voxel);
    double n = fmax(last - first + 1.0, 1.0);
    samples *= n;
    if (!(samples < 2e9)) {
      return kp_fail(KP_ERROR_ARGUMENT, "a surface of %.3g samples of %g m is too large", samples,
                     voxel);
    }
    origin[c] = first * voxel;
    s->lattice.n[c] = (int32_t)n;
    s->bins[c] = is_flat ? 1 : (int32_t)ceil(n / s->per_bin);
    bins *= s->bins[c];
  }
  s->lattice.origin = kp_vec3_make(origin[0], origin[1], origin[2]);
  s->lattice.spacing = voxel;
  s->lattice.row = s->lattice.n[0];
  s->lattice.slab = (int64_t)s->lattice.n[0] * s->lattice.n[1];
  s->values = make_room(s->values, (int64_t)samples, sizeof *s->values);
  s->other = make_room(s->other, (int64_t)samples, sizeof *s->other);
  s->drops = make_room(s->drops, (int64_t)samples, sizeof *s->drops);
  s->starts = make_room(s->starts, (int64_t)bins + 1, sizeof *s->starts);
  s->lattice.values = s->values;
  bool has_all = s->values != NULL && s->other != NULL && s->drops != NULL && s->starts != NULL;
  return has_all ? KP_OK : KP_ERROR_MEMORY;
}

// The bin of a place; -1 outside.
static int64_t bin_at(const kp_surfacer *s, double x, double y, double z) {
  const double p[3] = { x - s->lattice.origin.x, y - s->lattice.origin.y, z - s->lattice.origin.z };
  int64_t index = 0;
  for (int c = 2; c >= 0; --c) {
    double b = c == 2 && s->how.dimension == 2 ? 0.0 : floor(p[c] / s->edge);
    if (!(b >= 0.0 && b < s->bins[c])) {
      return -1;
    }
    index = index * s->bins[c] + (int64_t)b;
  }
  return index;
}

// Counting sort: particles of a bin stay in their order.
static kp_result sort_particles(kp_surfacer *s, const kp_cloud *cloud) {
  int64_t n_bins = (int64_t)s->bins[0] * s->bins[1] * s->bins[2];
  s->order = make_room(s->order, cloud->n, sizeof *s->order);
  s->places = make_room(s->places, 3 * cloud->n, sizeof *s->places);
  if (s->order == NULL || s->places == NULL) {
    return KP_ERROR_MEMORY;
  }
  memset(s->starts, 0, (size_t)(n_bins + 1) * sizeof *s->starts);
  for (int64_t i = 0; i < cloud->n; ++i) {
    int64_t bin = bin_at(s, cloud->x[i], cloud->y[i], cloud->z[i]);
    s->starts[bin + 1] += bin >= 0 ? 1 : 0;
  }
  for (int64_t b = 0; b < n_bins; ++b) {
    s->starts[b + 1] += s->starts[b];
  }
  // each beginning moves to the end of its bin, which is the beginning of the next: shift back
  for (int64_t i = 0; i < cloud->n; ++i) {
    int64_t bin = bin_at(s, cloud->x[i], cloud->y[i], cloud->z[i]);
    if (bin >= 0) {
      s->order[s->starts[bin]++] = (uint32_t)i;
    }
  }
  memmove(s->starts + 1, s->starts, (size_t)n_bins * sizeof *s->starts);
  s->starts[0] = 0;
  int64_t n = s->starts[n_bins];
  for (int64_t i = 0; i < n; ++i) {
    uint32_t p = s->order[i];
    s->places[i] = cloud->x[p];
    s->places[n + i] = cloud->y[p];
    s->places[2 * n + i] = cloud->z[p];
  }
  return KP_OK;
}

// ---- distance

// Samples of one bin, and what they have gathered; the particles that reach them.
typedef struct bin_samples {
  kp_surface_layer layers[MOST_SAMPLES];
  kp_surface_gather_fn gather;
  int64_t n;  // particles that wait
  float x[TILE], y[TILE], z[TILE], away[TILE];
} bin_samples;

void kp_surface_gather_base(const kp_surface_particles *p, kp_surface_layer *layer);
void kp_surface_gather_v3(const kp_surface_particles *p, kp_surface_layer *layer);
void kp_surface_gather_v4(const kp_surface_particles *p, kp_surface_layer *layer);

static kp_surface_gather_fn find_gather(void) {
  static const kp_surface_gather_fn slots[] = KP_DEFINE_SLOTS(kp_surface_gather_);
  return slots[kp_isa_current()];
}

// Bins bx - 1 .. bx + 1 and so on that exist.
static void bins_around(const kp_surfacer *s, const int32_t bin[3], int32_t lo[3], int32_t hi[3]) {
  for (int c = 0; c < 3; ++c) {
    lo[c] = bin[c] > 0 ? bin[c] - 1 : 0;
    hi[c] = bin[c] + 1 < s->bins[c] ? bin[c] + 1 : s->bins[c] - 1;
  }
}

static int64_t bin_index(const kp_surfacer *s, int64_t i, int64_t j, int64_t k) {
  return i + s->bins[0] * (j + s->bins[1] * k);
}

typedef enum bin_kind { BIN_EMPTY, BIN_FULL, BIN_MIXED } bin_kind;

// Far from all particles, deep among them, or neither. The rim of the lattice counts as open.
static bin_kind find_kind(const kp_surfacer *s, const int32_t bin[3]) {
  int32_t lo[3], hi[3];
  double expected = FILLED * pow(s->edge / s->how.spacing, s->how.dimension);
  bool is_empty = true, is_full = true;
  bins_around(s, bin, lo, hi);
  for (int c = 0; c < s->how.dimension; ++c) {
    is_full = is_full && hi[c] - lo[c] == 2;
  }
  for (int32_t k = lo[2]; k <= hi[2]; ++k) {
    for (int32_t j = lo[1]; j <= hi[1]; ++j) {
      for (int32_t i = lo[0]; i <= hi[0]; ++i) {
        int64_t at = bin_index(s, i, j, k);
        uint32_t n = s->starts[at + 1] - s->starts[at];
        is_empty = is_empty && n == 0;
        is_full = is_full && n >= expected;
      }
    }
  }
  return is_empty ? BIN_EMPTY : is_full ? BIN_FULL : BIN_MIXED;
}

static void place_samples(const kp_surfacer *s, const int32_t n[3], bin_samples *b) {
  float step = (float)(s->how.voxel / (s->how.reach * s->how.spacing));
  for (int k = 0; k < n[2]; ++k) {
    kp_surface_layer *layer = &b->layers[k];
    int count = n[0] * n[1];
    layer->n = (count + KP_SURFACE_LANES - 1) / KP_SURFACE_LANES * KP_SURFACE_LANES;
    // in 2D all layers see the plane, which is the middle one
    layer->z = s->how.dimension == 2 ? step : (float)k * step;
    for (int i = 0; i < layer->n; ++i) {
      layer->x[i] = (float)(i % n[0]) * step;
      layer->y[i] = (float)(i / n[0]) * step;
      layer->weight[i] = layer->mx[i] = layer->my[i] = layer->mz[i] = 0.0f;
      layer->nearest[i] = 16.0f;
    }
  }
}

static void show_particles(bin_samples *b, int32_t n_layers) {
  kp_surface_particles p = { .n = b->n, .x = b->x, .y = b->y, .z = b->z, .away = b->away };
  for (int32_t k = 0; k < n_layers; ++k) {
    b->gather(&p, &b->layers[k]);
  }
  b->n = 0;
}

// From the particles around a bin that come near it across its layers.
static void gather(const kp_surfacer *s, const int32_t bin[3], int32_t n_layers, bin_samples *b) {
  int32_t lo[3], hi[3];
  double scale = 1.0 / (s->how.reach * s->how.spacing);
  kp_vec3 corner = kp_vec3_madd(s->lattice.origin, s->edge, kp_vec3_make(bin[0], bin[1], bin[2]));
  float end = (float)(s->edge * scale);
  int64_t all = s->starts[(int64_t)s->bins[0] * s->bins[1] * s->bins[2]];
  bins_around(s, bin, lo, hi);
  b->n = 0;
  for (int32_t k = lo[2]; k <= hi[2]; ++k) {
    for (int32_t j = lo[1]; j <= hi[1]; ++j) {
      // bins along x lie one behind the other
      uint32_t last = s->starts[bin_index(s, hi[0], j, k) + 1];
      for (uint32_t p = s->starts[bin_index(s, lo[0], j, k)]; p < last; ++p) {
        float x = (float)((s->places[p] - corner.x) * scale);
        float y = (float)((s->places[all + p] - corner.y) * scale);
        float out_x = -x > x - end ? -x : x - end;
        float out_y = -y > y - end ? -y : y - end;
        float away = (out_x > 0.0f ? out_x * out_x : 0.0f) + (out_y > 0.0f ? out_y * out_y : 0.0f);
        b->x[b->n] = x;
        b->y[b->n] = y;
        b->z[b->n] = (float)((s->places[2 * all + p] - corner.z) * scale);
        b->away[b->n] = away;
        b->n += away < 1.0f ? 1 : 0;
        if (b->n == TILE) {
          show_particles(b, n_layers);
        }
      }
    }
  }
  show_particles(b, n_layers);
}

static float clamp01(float t) {
  return t > 0.0f ? (t < 1.0f ? t : 1.0f) : 0.0f;
}

// In metres, from what a sample has gathered.
static float distance_of(const kp_surfacer *s, const kp_surface_layer *b, int i, float full) {
  float reach = (float)(s->how.reach * s->how.spacing), r = (float)s->radius;
  float w = b->weight[i];
  float most = (float)(OUTSIDE * s->how.spacing);
  if (!(w > 1e-6f)) {
    return most;
  }
  float x = b->mx[i] / w, y = b->my[i] / w, z = b->mz[i] / w;
  float phi = reach * sqrtf(x * x + y * y + z * z) - r;
  float t = clamp01((w / full - THIN_FROM) / (THIN_TO - THIN_FROM));
  if (t < 1.0f) {
    float gap = GAP * (float)s->how.spacing + 2.0f * t * reach;
    float away = reach * sqrtf(b->nearest[i]) - gap;
    phi = phi > away ? phi : away;
  }
  return phi < most ? phi : most;
}

// What smoothing would lose: a drop around a particle that is alone, and phi itself where fewer
// particles are than at a flat surface.
static float drop_of(const kp_surfacer *s, const kp_surface_layer *b, int i, float full,
                     float phi) {
  float own = 1.0f - b->nearest[i];
  float others = b->weight[i] - (own > 0.0f ? own * own * own : 0.0f);
  float t = clamp01((others / full - ALONE_TO) / (AMONG_FROM - ALONE_TO));
  float radius = (DROP + t * (DROP_AMONG - DROP)) * (float)s->how.spacing;
  float drop = (float)(s->how.reach * s->how.spacing) * sqrtf(b->nearest[i]) - radius;
  float crowd = b->weight[i] / full - FLAT;
  float few = phi + (crowd > 0.0f ? CROWDED * crowd * (float)s->how.spacing : 0.0f);
  return drop < few ? drop : few;
}

static void fill_bin(kp_surfacer *s, const int32_t bin[3], bin_samples *b) {
  int32_t first[3], n[3];
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && s->how.dimension == 2;
    int32_t size = is_flat ? s->lattice.n[2] : s->per_bin;
    first[c] = bin[c] * size;
    n[c] = s->lattice.n[c] - first[c] < size ? s->lattice.n[c] - first[c] : size;
  }
  bin_kind kind = find_kind(s, bin);
  float radius = (float)s->radius;
  float plain = kind == BIN_FULL ? -radius : (float)(OUTSIDE * s->how.spacing);
  float full = full_weight(&s->how);
  if (kind == BIN_MIXED) {
    place_samples(s, n, b);
    gather(s, bin, n[2], b);
  }
  for (int32_t k = 0; k < n[2]; ++k) {
    const kp_surface_layer *layer = &b->layers[k];
    for (int32_t j = 0; j < n[1]; ++j) {
      int64_t row = first[0] + (first[1] + j) * s->lattice.row + (first[2] + k) * s->lattice.slab;
      for (int32_t i = 0; i < n[0]; ++i) {
        int at = i + j * n[0];
        float phi = kind == BIN_MIXED ? distance_of(s, layer, at, full) : plain;
        s->values[row + i] = phi;
        s->drops[row + i] = kind == BIN_MIXED ? drop_of(s, layer, at, full, phi) : plain;
      }
    }
  }
}

static void fill_bin_rows(int64_t begin, int64_t end, void *context) {
  kp_surfacer *s = context;
  bin_samples samples;
  samples.gather = find_gather();
  for (int64_t row = begin; row < end; ++row) {
    for (int32_t i = 0; i < s->bins[0]; ++i) {
      const int32_t bin[3] = { i, (int32_t)(row % s->bins[1]), (int32_t)(row / s->bins[1]) };
      fill_bin(s, bin, &samples);
    }
  }
}

// ---- walls

// Near a wall particles are missing on its far side, which would draw the surface away from it: the
// samples there take the value of the nearest one that is an inset inside. Only those outside of
// lo..hi - 1 are written, so rows may be done in any order.
typedef struct wall_work {
  kp_surfacer *s;
  int32_t lo[3], hi[3];
} wall_work;

static int32_t clamp_index(int64_t i, int32_t lo, int32_t hi) {
  return i < lo ? lo : i >= hi ? hi - 1 : (int32_t)i;
}

static void extend_rows(int64_t begin, int64_t end, void *context) {
  const wall_work *w = context;
  const kp_lattice *l = &w->s->lattice;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % l->n[1], k = row / l->n[1];
    int32_t jj = clamp_index(j, w->lo[1], w->hi[1]), kk = clamp_index(k, w->lo[2], w->hi[2]);
    const float *from = w->s->values + jj * l->row + kk * l->slab;
    float *to = w->s->values + j * l->row + k * l->slab;
    for (int32_t i = 0; i < l->n[0]; ++i) {
      int32_t ii = clamp_index(i, w->lo[0], w->hi[0]);
      if (ii != i || from != to) {
        to[i] = from[ii];
      }
    }
  }
}

static void extend_to_walls(kp_surfacer *s) {
  const kp_aabb *box = &s->how.box;
  const double lo[3] = { box->min.x, box->min.y, box->min.z };
  const double hi[3] = { box->max.x, box->max.y, box->max.z };
  const double origin[3] = { s->lattice.origin.x, s->lattice.origin.y, s->lattice.origin.z };
  wall_work w = { .s = s };
  for (int c = 0; c < 3; ++c) {
    double first = ceil((lo[c] + INSET * s->how.spacing - origin[c]) / s->how.voxel);
    double last = floor((hi[c] - INSET * s->how.spacing - origin[c]) / s->how.voxel);
    w.lo[c] = first > 0.0 ? (int32_t)fmin(first, s->lattice.n[c]) : 0;
    w.hi[c] = last < s->lattice.n[c] - 1.0 ? (int32_t)fmax(last, -1.0) + 1 : s->lattice.n[c];
    bool is_flat = c == 2 && s->how.dimension == 2;
    if (is_flat || w.lo[c] >= w.hi[c]) {
      w.lo[c] = 0;
      w.hi[c] = s->lattice.n[c];
    }
  }
  kp_parallel_for((int64_t)s->lattice.n[1] * s->lattice.n[2], ROWS_PER_CHUNK, extend_rows, &w);
}

kp_result kp_surfacer_fill(kp_surfacer *s, const kp_surfacing *how, const kp_cloud *cloud) {
  s->how = *how;
  s->lattice = (kp_lattice){ 0 };
  if (cloud->n > UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %lld particles is too large",
                   (long long)cloud->n);
  }
  kp_aabb box = find_box(how, cloud);
  if (!(box.max.x > box.min.x && box.max.y > box.min.y)) {
    return KP_OK;
  }
  s->radius = flat_radius(how);
  KP_TRY(lay_lattice(s, &box));
  KP_TRY(sort_particles(s, cloud));
  kp_parallel_for((int64_t)s->bins[1] * s->bins[2], 1, fill_bin_rows, s);
  kp_lattice_smooth(&s->lattice, s->values, s->other, how->smooth);
  filter drops = { .lattice = &s->lattice, .from = s->drops, .to = s->values };
  kp_parallel_for((int64_t)s->lattice.n[1] * s->lattice.n[2], ROWS_PER_CHUNK, join_rows, &drops);
  extend_to_walls(s);
  kp_aabb walls = how->box;
  if (how->dimension == 2) {
    walls.min.z = -0.5 * how->voxel;
    walls.max.z = 0.5 * how->voxel;
  }
  kp_lattice_clip(&s->lattice, s->values, &walls);
  return KP_OK;
}

// ---- velocity

typedef struct velocity_work {
  const kp_surfacer *s;
  const kp_cloud *cloud;
  const kp_vec3 *points;
  kp_vec3 *out;
} velocity_work;

static kp_vec3 velocity_at(const velocity_work *work, kp_vec3 p) {
  const kp_surfacer *s = work->s;
  const kp_cloud *cloud = work->cloud;
  const double at[3] = { p.x - s->lattice.origin.x, p.y - s->lattice.origin.y,
                         p.z - s->lattice.origin.z };
  int32_t bin[3], lo[3], hi[3];
  for (int c = 0; c < 3; ++c) {
    double b = floor(at[c] / s->edge);
    bin[c] = b > 0.0 ? (b < s->bins[c] ? (int32_t)b : s->bins[c] - 1) : 0;
  }
  kp_vec3 sum = kp_vec3_make(0.0, 0.0, 0.0);
  double weight = 0.0, scale = 1.0 / (s->how.reach * s->how.spacing);
  bins_around(s, bin, lo, hi);
  for (int32_t k = lo[2]; k <= hi[2]; ++k) {
    for (int32_t j = lo[1]; j <= hi[1]; ++j) {
      uint32_t last = s->starts[bin_index(s, hi[0], j, k) + 1];
      for (uint32_t i = s->starts[bin_index(s, lo[0], j, k)]; i < last; ++i) {
        uint32_t q = s->order[i];
        kp_vec3 d = kp_vec3_make(cloud->x[q] - p.x, cloud->y[q] - p.y, cloud->z[q] - p.z);
        double t = 1.0 - kp_vec3_dot(d, d) * scale * scale;
        if (t > 0.0) {
          kp_vec3 v = kp_vec3_make((double)cloud->u[q], (double)cloud->v[q], (double)cloud->w[q]);
          sum = kp_vec3_madd(sum, t * t * t, v);
          weight += t * t * t;
        }
      }
    }
  }
  return weight > 0.0 ? kp_vec3_scale(sum, 1.0 / weight) : sum;
}

static void find_velocities(int64_t begin, int64_t end, void *context) {
  const velocity_work *work = context;
  for (int64_t i = begin; i < end; ++i) {
    work->out[i] = velocity_at(work, work->points[i]);
  }
}

void kp_surfacer_velocities(const kp_surfacer *s, const kp_cloud *cloud, const kp_vec3 *points,
                            int64_t n, kp_vec3 *out) {
  velocity_work work = { s, cloud, points, out };
  if (cloud->u == NULL || s->lattice.n[0] == 0) {
    memset(out, 0, (size_t)n * sizeof *out);
    return;
  }
  kp_parallel_for(n, 256, find_velocities, &work);
}

void kp_surfacer_free(kp_surfacer *s) {
  kp_free(s->starts);
  kp_free(s->order);
  kp_free(s->places);
  kp_free(s->values);
  kp_free(s->other);
  kp_free(s->drops);
  *s = (kp_surfacer){ 0 };
}
