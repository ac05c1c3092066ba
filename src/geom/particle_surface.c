#include "geom/particle_surface.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "geom/particle_surface_cpu.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

#define OF_CUBES 0.045  // spacings: that particles are not a half space but the middles of cubes
#define INSET 1.0       // spacings from a wall where the surface is sure
#define BLOCKS_PER_CHUNK 16
#define TILE 512          // particles that samples are shown at a time
#define PASSES_ALL 0.65   // spacings between samples up to which the filter runs as often as it may
#define PASSES_LESS 0.85  // and once less
#define SOLID 1.2  // times the level that a field has inside, at least, for a liquid without holes

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
    sum += weight * fmin(phi, KP_SURFACE_OUTSIDE * how->spacing);
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

// ---- particles by block

static bool is_finite_at(const kp_cloud *c, int64_t i) {
  return isfinite(c->x[i]) && isfinite(c->y[i]) && isfinite(c->z[i]);
}

static kp_aabb find_bounds(const kp_cloud *cloud) {
  kp_aabb box = kp_aabb_empty();
  for (int64_t i = 0; i < cloud->n; ++i) {
    if (is_finite_at(cloud, i)) {
      kp_vec3 p = kp_vec3_make(cloud->x[i], cloud->y[i], cloud->z[i]);
      box.min = kp_vec3_min(box.min, p);
      box.max = kp_vec3_max(box.max, p);
    }
  }
  return box;
}

// The box of the particles inside the domain's, with room for their surface.
static kp_aabb find_box(const kp_surfacing *how, kp_aabb box) {
  double margin = 2.0 * how->reach * how->spacing + 2.0 * how->voxel;
  kp_vec3 m = kp_vec3_make(margin, margin, margin);
  double rim = 1.5 * how->voxel;
  kp_vec3 r = kp_vec3_make(rim, rim, rim);
  box.min = kp_vec3_max(kp_vec3_sub(box.min, m), kp_vec3_sub(how->box.min, r));
  box.max = kp_vec3_min(kp_vec3_add(box.max, m), kp_vec3_add(how->box.max, r));
  return box;
}

// Boxes of nothing, and of particles that are nowhere, have no end.
static int64_t block_of(double t) {
  return (int64_t)fmin(fmax(floor(t), -1e9), 1e9);
}

// Samples lie at whole multiples of the voxel, so that the surface of a liquid that moves does not
// shimmer with its box.
kp_result kp_surfacer_lay(kp_surfacer *s, const kp_aabb *bounds, kp_surface_span *out) {
  kp_aabb box = find_box(&s->how, *bounds);
  const double lo[3] = { box.min.x, box.min.y, box.min.z };
  const double hi[3] = { box.max.x, box.max.y, box.max.z };
  double voxel = s->how.voxel;
  out->is_empty = !(hi[0] > lo[0] && hi[1] > lo[1]);
  int32_t edge = (int32_t)fmin(ceil(s->how.reach * s->how.spacing / voxel - 1e-9), 1e6);
  if (edge > KP_SURFACING_FINEST) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "samples every %g m are too fine for a surface that reaches %g m", voxel,
                   s->how.reach * s->how.spacing);
  }
  kp_blocks *b = &s->blocks;
  b->spacing = voxel;
  b->edge = edge > KP_BLOCK_LEAST ? edge : KP_BLOCK_LEAST;
  b->depth = s->how.dimension == 2 ? 3 : b->edge;
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && s->how.dimension == 2;
    double size = b->edge * voxel;
    out->first[c] = is_flat ? 0 : block_of(lo[c] / size);
    out->last[c] = is_flat ? 0 : block_of(hi[c] / size);
  }
  return out->is_empty ? KP_OK : kp_blocks_check_span(b, out->first, out->last);
}

static kp_result lay_blocks(kp_surfacer *s, const kp_surface_span *span, const kp_cloud *cloud) {
  s->bin_of = make_room(s->bin_of, cloud->n, sizeof *s->bin_of);
  if (s->bin_of == NULL) {
    return KP_ERROR_MEMORY;
  }
  const double *const places[3] = { cloud->x, cloud->y, cloud->z };
  return kp_blocks_cover(&s->blocks, cloud->n, places, span->first, span->last, s->bin_of);
}

// Counting sort: particles of a block stay in their order.
static kp_result sort_particles(kp_surfacer *s, const kp_cloud *cloud) {
  int64_t n_blocks = s->blocks.n;
  s->starts = make_room(s->starts, n_blocks + 1, sizeof *s->starts);
  s->order = make_room(s->order, cloud->n, sizeof *s->order);
  if (s->starts == NULL || s->order == NULL) {
    return KP_ERROR_MEMORY;
  }
  memset(s->starts, 0, (size_t)(n_blocks + 1) * sizeof *s->starts);
  for (int64_t i = 0; i < cloud->n; ++i) {
    if (s->bin_of[i] != UINT32_MAX) {
      ++s->starts[s->bin_of[i] + 1];
    }
  }
  for (int64_t b = 0; b < n_blocks; ++b) {
    s->starts[b + 1] += s->starts[b];
  }
  // each beginning moves to the end of its block, which is the beginning of the next: shift back
  for (int64_t i = 0; i < cloud->n; ++i) {
    if (s->bin_of[i] != UINT32_MAX) {
      s->order[s->starts[s->bin_of[i]]++] = (uint32_t)i;
    }
  }
  memmove(s->starts + 1, s->starts, (size_t)n_blocks * sizeof *s->starts);
  s->starts[0] = 0;
  return KP_OK;
}

static int64_t near_room(const kp_surfacer *s) {
  return s->starts[s->blocks.n] + KP_SURFACE_LANES;
}

static uint32_t count_in(const kp_surfacer *s, int64_t block) {
  return block < 0 ? 0 : s->starts[block + 1] - s->starts[block];
}

kp_surface_room kp_surfacer_room(const kp_surfacer *s) {
  const kp_aabb *box = &s->how.box;
  return (kp_surface_room){ .size = s->blocks.edge * s->blocks.spacing,
                            .spacing = s->how.spacing,
                            .lo = { box->min.x, box->min.y, box->min.z },
                            .hi = { box->max.x, box->max.y, box->max.z },
                            .is_solid = s->how.dimension == 3 && s->is_solid };
}

// A block that is full, as are all around it, lies inside; all others need samples. So do those of
// a flat world, whose sheet ends above and below. Where only what lies beyond walls is missing, the
// samples are known as well: they are there for the wall to cut.
static void find_kinds(int64_t begin, int64_t end, void *context) {
  kp_surfacer *s = context;
  kp_blocks *b = &s->blocks;
  kp_surface_room room = kp_surfacer_room(s);
  for (int64_t block = begin; block < end; ++block) {
    kp_surface_known known = kp_surface_know(&room, b, s->starts, block);
    b->slots[block] = known.is_inside ? KP_BLOCK_INSIDE : 0;
    b->deep[block] = known.is_deep ? 1 : 0;
  }
}

static void find_calm(int64_t begin, int64_t end, void *context) {
  kp_blocks *b = context;
  for (int64_t block = begin; block < end; ++block) {
    b->calm[block] = kp_surface_is_calm(b, block) ? 1 : 0;
  }
}

// ---- neighbours of particles

// Places from the corner of the own block.
typedef struct near_work {
  kp_surfacer *s;
  const kp_cloud *cloud;
} near_work;

static void find_near(int64_t begin, int64_t end, void *context) {
  const near_work *w = context;
  kp_surfacer *s = w->s;
  int64_t room = near_room(s);
  double scale = 1.0 / (s->how.reach * s->how.spacing);
  for (int64_t block = begin; block < end; ++block) {
    kp_vec3 corner = kp_blocks_corner(&s->blocks, s->blocks.at[block]);
    for (int64_t i = s->starts[block]; i < s->starts[block + 1]; ++i) {
      uint32_t p = s->order[i];
      s->near[i] = (float)((w->cloud->x[p] - corner.x) * scale);
      s->near[room + i] = (float)((w->cloud->y[p] - corner.y) * scale);
      s->near[2 * room + i] = (float)((w->cloud->z[p] - corner.z) * scale);
      float size = w->cloud->size != NULL ? w->cloud->size[p] : 1.0f;
      s->near[KP_SURFACE_VOLUME * room + i] = kp_surface_volume_of(size, s->how.dimension);
      s->near[KP_SURFACE_INVERSE * room + i] = 1.0f / size;
    }
  }
}

static kp_result place_particles(kp_surfacer *s, const kp_cloud *cloud) {
  int64_t room = near_room(s), n = room - KP_SURFACE_LANES;
  s->near = make_room(s->near, KP_SURFACE_NEAR * room, sizeof *s->near);
  if (s->near == NULL) {
    return KP_ERROR_MEMORY;
  }
  // what is beyond the last particle is read and not used
  for (int c = 0; c < KP_SURFACE_NEAR; ++c) {
    memset(s->near + c * room + n, 0, KP_SURFACE_LANES * sizeof *s->near);
  }
  near_work w = { s, cloud };
  kp_parallel_for(s->blocks.n, 256, find_near, &w);
  return KP_OK;
}

static kp_result prepare(kp_surfacer *s, const kp_surface_field *field) {
  int64_t room = near_room(s), n = room - KP_SURFACE_LANES;
  s->attributes = make_room(s->attributes, field->n_attributes * n, sizeof *s->attributes);
  if (s->attributes == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (field->moves) {
    s->moved = make_room(s->moved, 3 * room, sizeof *s->moved);
    if (s->moved == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  if (kp_surfacing_has_spray(&s->how)) {
    s->spray = make_room(s->spray, n, sizeof *s->spray);
    if (s->spray == NULL) {
      return KP_ERROR_MEMORY;
    }
    memset(s->spray, 0, (size_t)n * sizeof *s->spray);
  }
  memset(s->near + KP_SURFACE_VALUE * room, 0, (size_t)n * sizeof *s->near);
  return field->prepare(s);
}

void kp_surfacer_runs(const kp_surfacer *s, int64_t block, kp_surface_runs *out) {
  const kp_blocks *b = &s->blocks;
  int64_t room = near_room(s);
  float edge = (float)(b->edge * b->spacing / (s->how.reach * s->how.spacing));
  out->n = 0;
  out->x = s->near;
  out->y = s->near + room;
  out->z = s->near + 2 * room;
  out->value = s->near + KP_SURFACE_VALUE * room;
  out->volume = s->near + KP_SURFACE_VOLUME * room;
  for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
    int32_t at = b->around[block][near];
    if (count_in(s, at) > 0) {
      out->begin[out->n] = s->starts[at];
      out->end[out->n] = s->starts[at + 1];
      out->shift[out->n][0] = edge * (float)(near % 3 - 1);
      out->shift[out->n][1] = edge * (float)(near / 3 % 3 - 1);
      out->shift[out->n][2] = edge * (float)(near / 9 - 1);
      ++out->n;
    }
  }
}

// ---- samples

// Samples of one block, and what they have gathered; the particles that reach them.
typedef struct block_samples {
  kp_surface_layer layers[KP_SURFACING_FINEST];
  kp_surface_gather_fn gather;
  kp_surface_kind kind;
  int n_attributes;
  bool is_shown;  // a tile of particles, at least
  int64_t n;      // particles that wait
  float x[TILE], y[TILE], z[TILE], away[TILE];
  float attributes[KP_SURFACE_ATTRIBUTES][TILE];
} block_samples;

void kp_surface_gather_base(kp_surface_kind kind, const kp_surface_particles *p,
                            kp_surface_layer *layer);
void kp_surface_gather_v3(kp_surface_kind kind, const kp_surface_particles *p,
                          kp_surface_layer *layer);
void kp_surface_gather_v4(kp_surface_kind kind, const kp_surface_particles *p,
                          kp_surface_layer *layer);
void kp_surface_moments_base(kp_surface_moment kind, const kp_surface_runs *runs, int64_t first,
                             float out[][KP_SURFACE_LANES]);
void kp_surface_moments_v3(kp_surface_moment kind, const kp_surface_runs *runs, int64_t first,
                           float out[][KP_SURFACE_LANES]);
void kp_surface_moments_v4(kp_surface_moment kind, const kp_surface_runs *runs, int64_t first,
                           float out[][KP_SURFACE_LANES]);

kp_surface_gather_fn kp_surface_find_gather(void) {
  static const kp_surface_gather_fn slots[] = KP_DEFINE_SLOTS(kp_surface_gather_);
  return slots[kp_isa_current()];
}

kp_surface_moments_fn kp_surface_find_moments(void) {
  static const kp_surface_moments_fn slots[] = KP_DEFINE_SLOTS(kp_surface_moments_);
  return slots[kp_isa_current()];
}

static void place_samples(const kp_surfacer *s, block_samples *b) {
  float step = (float)(s->how.voxel / (s->how.reach * s->how.spacing));
  int32_t e = s->blocks.edge;
  for (int k = 0; k < s->blocks.depth; ++k) {
    kp_surface_layer *layer = &b->layers[k];
    layer->n = (e * e + KP_SURFACE_LANES - 1) / KP_SURFACE_LANES * KP_SURFACE_LANES;
    // in 2D all layers see the plane, which is the middle one
    layer->z = s->how.dimension == 2 ? step : (float)k * step;
    for (int i = 0; i < layer->n; ++i) {
      layer->x[i] = (float)(i % e) * step;
      layer->y[i] = (float)(i / e) * step;
      layer->weight[i] = layer->mx[i] = layer->my[i] = layer->mz[i] = 0.0f;
      layer->spread[i] = layer->e[0][i] = layer->e[1][i] = layer->e[2][i] = 0.0f;
      layer->nearest[i] = 1.0f;
    }
  }
}

static void show_particles(block_samples *b, int32_t n_layers) {
  b->is_shown = b->is_shown || b->n > 0;
  kp_surface_particles p = { .n = b->n, .x = b->x, .y = b->y, .z = b->z, .away = b->away };
  for (int a = 0; a < b->n_attributes; ++a) {
    p.attributes[a] = b->attributes[a];
  }
  for (int32_t k = 0; k < n_layers; ++k) {
    b->gather(b->kind, &p, &b->layers[k]);
  }
  b->n = 0;
}

// Particles first..last - 1 of a block that lies `shift` away: those that come near the samples
// across their layers.
static void gather_run(const kp_surfacer *s, uint32_t first, uint32_t last, const float shift[3],
                       block_samples *b) {
  const float *near = s->how.field == KP_SURFACE_ANISOTROPIC ? s->moved : s->near;
  int64_t room = near_room(s), all = room - KP_SURFACE_LANES;
  float end = (float)(s->blocks.edge * s->blocks.spacing / (s->how.reach * s->how.spacing));
  for (uint32_t p = first; p < last; ++p) {
    float x = near[p] + shift[0], y = near[room + p] + shift[1];
    float out_x = -x > x - end ? -x : x - end;
    float out_y = -y > y - end ? -y : y - end;
    float away = (out_x > 0.0f ? out_x * out_x : 0.0f) + (out_y > 0.0f ? out_y * out_y : 0.0f);
    b->x[b->n] = x;
    b->y[b->n] = y;
    b->z[b->n] = near[2 * room + p] + shift[2];
    b->away[b->n] = away;
    for (int a = 0; a < b->n_attributes; ++a) {
      b->attributes[a][b->n] = s->attributes[a * all + p];
    }
    b->n += away < 1.0f ? 1 : 0;
    if (b->n == TILE) {
      show_particles(b, s->blocks.depth);
    }
  }
}

// False where no particle is near.
static bool gather(const kp_surfacer *s, int64_t block, block_samples *b) {
  kp_surface_runs runs;
  kp_surfacer_runs(s, block, &runs);
  b->n = 0;
  for (int r = 0; r < runs.n; ++r) {
    gather_run(s, runs.begin[r], runs.end[r], runs.shift[r], b);
  }
  bool is_reached = b->n > 0 || b->is_shown;
  show_particles(b, s->blocks.depth);
  return is_reached;
}

static void fill_block(float *to, int64_t n, float value) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = value;
  }
}

// What the samples of a block have gathered becomes their values.
static void set_values(kp_surfacer *s, const block_samples *b, int64_t slot) {
  kp_blocks *blocks = &s->blocks;
  const kp_surface_field *field = &kp_surface_fields[b->kind];
  int32_t layer_size = blocks->edge * blocks->edge;
  int64_t first = slot * kp_blocks_volume(blocks);
  for (int32_t k = 0; k < blocks->depth; ++k, first += layer_size) {
    const kp_surface_layer *l = &b->layers[k];
    for (int32_t i = 0; i < layer_size; ++i) {
      if (b->kind == KP_SURFACE_ZHU_BRIDSON) {
        kp_surface_gathered g = { l->weight[i],
                                  l->mx[i],
                                  l->my[i],
                                  l->mz[i],
                                  l->nearest[i],
                                  l->spread[i],
                                  { l->e[0][i], l->e[1][i], l->e[2][i] } };
        blocks->values[first + i] = kp_surface_zhu_bridson(&s->numbers, &g, &s->drops[first + i]);
      } else {
        float f = field->value(s->numbers.unit * l->weight[i], l->mx[i]);
        blocks->values[first + i] = kp_surface_value(&s->numbers, f);
      }
    }
  }
}

static void fill_blocks(int64_t begin, int64_t end, void *context) {
  kp_surfacer *s = context;
  kp_blocks *blocks = &s->blocks;
  block_samples b = { .gather = kp_surface_find_gather(), .kind = s->how.field };
  b.n_attributes = kp_surface_fields[s->how.field].n_attributes;
  for (int64_t slot = begin; slot < end; ++slot) {
    int64_t volume = kp_blocks_volume(blocks);
    bool is_deep = blocks->deep[blocks->stored[slot]] != 0;
    b.is_shown = false;
    if (!is_deep) {
      place_samples(s, &b);
      if (gather(s, blocks->stored[slot], &b)) {
        set_values(s, &b, slot);
        continue;
      }
    }
    float value = is_deep ? blocks->inside : blocks->outside;
    fill_block(blocks->values + slot * volume, volume, value);
    if (s->how.field == KP_SURFACE_ZHU_BRIDSON) {
      fill_block(s->drops + slot * volume, volume, value);
    }
  }
}

// The union with the drops.
static void join_blocks(int64_t begin, int64_t end, void *context) {
  kp_surfacer *s = context;
  int64_t volume = kp_blocks_volume(&s->blocks);
  for (int64_t i = begin * volume; i < end * volume; ++i) {
    float *value = &s->blocks.values[i];
    *value = *value < s->drops[i] ? *value : s->drops[i];
  }
}

// ---- walls

// Near a wall particles are missing on its far side, which would draw the surface away from it: the
// samples there take the value of the nearest one that is an inset inside. Only those outside of
// lo..hi are written, so blocks may be done in any order.
typedef struct wall_work {
  kp_surfacer *s;
  kp_surface_walls walls;
} wall_work;

static void extend_blocks(int64_t begin, int64_t end, void *context) {
  const wall_work *w = context;
  kp_blocks *b = &w->s->blocks;
  for (int64_t slot = begin; slot < end; ++slot) {
    int32_t block = b->stored[slot];
    if (b->calm[block] != 0 || kp_surface_is_clear(&w->walls, b, block)) {
      continue;
    }
    for (int64_t i = slot * kp_blocks_volume(b); i < (slot + 1) * kp_blocks_volume(b); ++i) {
      float value;
      if (kp_surface_extended(&w->walls, b, i, &value)) {
        b->values[i] = value;
      }
    }
  }
}

kp_surface_walls kp_surfacer_walls(const kp_surfacer *s) {
  const kp_aabb *box = &s->how.box;
  const double lo[3] = { box->min.x, box->min.y, box->min.z };
  const double hi[3] = { box->max.x, box->max.y, box->max.z };
  kp_surface_walls w = { .box = s->how.box };
  for (int c = 0; c < 3; ++c) {
    double first = ceil((lo[c] + INSET * s->how.spacing) / s->how.voxel);
    double last = floor((hi[c] - INSET * s->how.spacing) / s->how.voxel);
    bool is_flat = c == 2 && s->how.dimension == 2;
    bool is_open = is_flat || !(first <= last);
    w.lo[c] = is_open ? INT64_MIN : (int64_t)fmax(first, -1e15);
    w.hi[c] = is_open ? INT64_MAX : (int64_t)fmin(last, 1e15);
  }
  if (s->how.dimension == 2) {
    w.box.min.z = -0.5 * s->how.voxel;
    w.box.max.z = 0.5 * s->how.voxel;
  }
  return w;
}

// ---- all of it

// The field deep inside a liquid where it is lowest: in the middle between eight particles.
static double full_value(const kp_surfacing *how, double unit) {
  const kp_surface_field *field = &kp_surface_fields[how->field];
  kp_surface_layer layer = { .n = KP_SURFACE_LANES };
  block_samples b = { .gather = kp_surface_find_gather(), .kind = how->field };
  b.n_attributes = field->n_attributes;
  int n = (int)ceil(how->reach), depth = how->dimension == 2 ? 0 : n;
  for (int z = -depth; z <= depth; ++z) {
    for (int y = -n; y <= n; ++y) {
      for (int x = -n; x <= n; ++x) {
        const float p[3] = { (float)((x + 0.5) / how->reach), (float)((y + 0.5) / how->reach),
                             how->dimension == 2 ? 0.0f : (float)((z + 0.5) / how->reach) };
        for (int a = 0; a < field->n_attributes; ++a) {
          // of a matrix those on the diagonal, and the volume
          bool is_on = a == 0 || a == 3 || a == 5;
          b.attributes[a][0] = is_on ? field->deep : a < 6 ? 0.0f : powf(field->deep, 3.0f);
        }
        kp_surface_particles one = { .n = 1, .x = &p[0], .y = &p[1], .z = &p[2] };
        const float away = 0.0f;
        one.away = &away;
        for (int a = 0; a < field->n_attributes; ++a) {
          one.attributes[a] = b.attributes[a];
        }
        b.gather(b.kind, &one, &layer);
      }
    }
  }
  return (double)field->value((float)unit * layer.weight[0], layer.mx[0]);
}

// The filter reaches as far as samples are apart. Where these are coarse it would take corners and
// small clumps away and leave crumbs of what is joined with it: fewer passes there.
static int passes_of(const kp_surface_field *field, const kp_surfacing *how) {
  double voxel = how->voxel / how->spacing;
  int fewer = (voxel > PASSES_ALL ? 1 : 0) + (voxel > PASSES_LESS ? 1 : 0);
  return field->smooth > fewer ? field->smooth - fewer : 0;
}

bool kp_surfacing_has_spray(const kp_surfacing *how) {
  return how->spray > 0.0 && how->field == KP_SURFACE_ANISOTROPIC && how->dimension == 3;
}

void kp_surfacer_settle(kp_surfacer *s, const kp_surfacing *how) {
  const kp_surface_field *field = &kp_surface_fields[how->field];
  s->how = *how;
  s->how.reach = how->reach > 0.0 ? how->reach : field->reach;
  s->how.smooth = how->smooth >= 0 ? how->smooth : passes_of(field, how);
  kp_surface_numbers *n = &s->numbers;
  *n = (kp_surface_numbers){ .spacing = (float)how->spacing,
                             .reach = (float)(s->how.reach * how->spacing),
                             .dimension = how->dimension,
                             .reach_spacings = s->how.reach,
                             .spray = kp_surfacing_has_spray(how) ? how->spray : 0.0,
                             .lo = { how->box.min.x, how->box.min.y, how->box.min.z },
                             .hi = { how->box.max.x, how->box.max.y, how->box.max.z } };
  if (how->field == KP_SURFACE_ZHU_BRIDSON) {
    n->radius = (float)flat_radius(&s->how);
    n->full = full_weight(&s->how);
    s->is_solid = true;
    s->blocks.inside = -n->radius;
    s->blocks.outside = (float)KP_SURFACE_OUTSIDE * n->spacing;
    return;
  }
  double unit = field->unit(s->how.reach, how->dimension);
  double level = how->level > 0.0 ? how->level : field->level[how->dimension == 2 ? 0 : 1];
  double full = full_value(&s->how, unit);
  n->scale = (float)(how->spacing / fmax(full - level, 0.5 * level));
  n->unit = (float)unit;
  n->level = (float)level;
  s->is_solid = full > SOLID * level;
  s->blocks.inside = -n->spacing;
  s->blocks.outside = kp_surface_value(n, 0.0f);
}

static kp_result find_blocks(kp_surfacer *s, const kp_surface_span *span, const kp_cloud *cloud) {
  KP_TRY(lay_blocks(s, span, cloud));
  KP_TRY(sort_particles(s, cloud));
  kp_blocks *b = &s->blocks;
  b->deep = make_room(b->deep, b->n, sizeof *b->deep);
  b->calm = make_room(b->calm, b->n, sizeof *b->calm);
  if (b->deep == NULL || b->calm == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_parallel_for(b->n, 256, find_kinds, s);
  kp_parallel_for(b->n, 256, find_calm, b);
  return kp_blocks_store(b);
}

kp_result kp_surfacer_fill(kp_surfacer *s, const kp_surfacing *how, const kp_cloud *cloud) {
  kp_surfacer_settle(s, how);
  // how many particles fill a block is known where all are alike
  s->is_solid = s->is_solid && cloud->size == NULL;
  s->blocks.n = s->blocks.n_stored = 0;
  const kp_surface_field *field = &kp_surface_fields[how->field];
  if (cloud->n >= UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %lld particles is too large",
                   (long long)cloud->n);
  }
  kp_aabb bounds = find_bounds(cloud);
  kp_surface_span span;
  KP_TRY(kp_surfacer_lay(s, &bounds, &span));
  if (span.is_empty) {
    return KP_OK;
  }
  KP_TRY(find_blocks(s, &span, cloud));
  KP_TRY(place_particles(s, cloud));
  if (field->prepare != NULL) {
    KP_TRY(prepare(s, field));
  }
  bool has_drops = how->field == KP_SURFACE_ZHU_BRIDSON;
  if (has_drops) {
    s->drops =
        make_room(s->drops, s->blocks.n_stored * kp_blocks_volume(&s->blocks), sizeof *s->drops);
    if (s->drops == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  kp_parallel_for(s->blocks.n_stored, BLOCKS_PER_CHUNK, fill_blocks, s);
  kp_blocks_smooth(&s->blocks, s->how.smooth);
  if (has_drops) {
    kp_parallel_for(s->blocks.n_stored, BLOCKS_PER_CHUNK, join_blocks, s);
  }
  wall_work w = { s, kp_surfacer_walls(s) };
  kp_parallel_for(s->blocks.n_stored, BLOCKS_PER_CHUNK, extend_blocks, &w);
  kp_blocks_clip(&s->blocks, &w.walls.box);
  kp_blocks_seal(&s->blocks);
  return KP_OK;
}

// ---- baseline

typedef struct naive_work {
  const kp_surfacer *s;
  const kp_cloud *cloud;
  const kp_lattice *lattice;
  float *values;
} naive_work;

// A register of samples of a row, and all particles.
static void fill_naive(const naive_work *w, int64_t row, int32_t first, block_samples *b) {
  const kp_lattice *l = w->lattice;
  double scale = 1.0 / (w->s->how.reach * w->s->how.spacing);
  int64_t j = row % l->n[1], k = row / l->n[1];
  int32_t n = l->n[0] - first < KP_SURFACE_LANES ? l->n[0] - first : KP_SURFACE_LANES;
  kp_vec3 corner = kp_vec3_madd(l->origin, l->spacing, kp_vec3_make(first, (double)j, (double)k));
  kp_surface_layer *layer = &b->layers[0];
  *layer = (kp_surface_layer){ .n = KP_SURFACE_LANES };
  for (int32_t i = 0; i < KP_SURFACE_LANES; ++i) {
    layer->x[i] = (float)(i * l->spacing * scale);
  }
  for (int64_t p = 0; p < w->cloud->n; ++p) {
    b->x[b->n] = (float)((w->cloud->x[p] - corner.x) * scale);
    b->y[b->n] = (float)((w->cloud->y[p] - corner.y) * scale);
    b->z[b->n] = (float)((w->cloud->z[p] - corner.z) * scale);
    b->away[b->n] = -16.0f;  // none is left out
    b->attributes[0][b->n] = w->cloud->size != NULL ? 1.0f / w->cloud->size[p] : 1.0f;
    if (++b->n == TILE) {
      show_particles(b, 1);
    }
  }
  show_particles(b, 1);
  const kp_surface_field *field = &kp_surface_fields[w->s->how.field];
  float *to = w->values + first + j * l->row + k * l->slab;
  for (int32_t i = 0; i < n; ++i) {
    float f = field->value(w->s->numbers.unit * layer->weight[i], layer->mx[i]);
    to[i] = kp_surface_value(&w->s->numbers, f);
  }
}

static void fill_naive_rows(int64_t begin, int64_t end, void *context) {
  const naive_work *w = context;
  block_samples b = { .gather = kp_surface_find_gather(), .kind = w->s->how.field };
  b.n_attributes = kp_surface_fields[b.kind].n_attributes;
  for (int64_t row = begin; row < end; ++row) {
    for (int32_t first = 0; first < w->lattice->n[0]; first += KP_SURFACE_LANES) {
      fill_naive(w, row, first, &b);
    }
  }
}

void kp_surface_naive(const kp_surfacing *how, const kp_cloud *cloud, const kp_lattice *lattice,
                      float *values) {
  kp_surfacer s = { 0 };
  kp_surfacer_settle(&s, how);
  KP_ASSERT(kp_surface_fields[how->field].value != NULL);
  KP_ASSERT(kp_surface_fields[how->field].n_attributes == 0 || how->field == KP_SURFACE_HONG);
  naive_work w = { &s, cloud, lattice, values };
  kp_parallel_for((int64_t)lattice->n[1] * lattice->n[2], 1, fill_naive_rows, &w);
}

// ---- what particles carry

#define MOST_VALUES 16

typedef struct average_work {
  const kp_surfacer *s;
  const kp_cloud *cloud;
  const kp_vec3 *points;
  int n_values;
  const kp_real *const *values;
  float *const *out;
} average_work;

// Weighted sums of the particles of a run around a point.
static double add_run(const average_work *work, kp_vec3 p, uint32_t first, uint32_t last,
                      double *sums) {
  const kp_surfacer *s = work->s;
  const kp_cloud *cloud = work->cloud;
  double scale = 1.0 / (s->how.reach * s->how.spacing), weight = 0.0;
  for (uint32_t i = first; i < last; ++i) {
    uint32_t q = s->order[i];
    kp_vec3 d = kp_vec3_make(cloud->x[q] - p.x, cloud->y[q] - p.y, cloud->z[q] - p.z);
    double t = 1.0 - kp_vec3_dot(d, d) * scale * scale;
    if (t > 0.0) {
      double w = t * t * t;
      weight += w;
      for (int v = 0; v < work->n_values; ++v) {
        sums[v] += w * (double)work->values[v][q];
      }
    }
  }
  return weight;
}

static void find_averages(int64_t begin, int64_t end, void *context) {
  const average_work *work = context;
  const kp_surfacer *s = work->s;
  double size = s->blocks.edge * s->blocks.spacing;
  for (int64_t i = begin; i < end; ++i) {
    kp_vec3 p = work->points[i];
    const int64_t at[3] = { (int64_t)floor(p.x / size), (int64_t)floor(p.y / size),
                            s->how.dimension == 2 ? 0 : (int64_t)floor(p.z / size) };
    double sums[MOST_VALUES] = { 0 }, weight = 0.0;
    int64_t block = kp_blocks_find(&s->blocks, at);
    for (int near = 0; near < KP_BLOCK_AROUND && block >= 0; ++near) {
      int32_t beside = s->blocks.around[block][near];
      if (count_in(s, beside) > 0) {
        weight += add_run(work, p, s->starts[beside], s->starts[beside + 1], sums);
      }
    }
    for (int v = 0; v < work->n_values; ++v) {
      work->out[v][i] = weight > 0.0 ? (float)(sums[v] / weight) : 0.0f;
    }
  }
}

void kp_surfacer_average(const kp_surfacer *s, const kp_cloud *cloud, const kp_vec3 *points,
                         int64_t n, int n_values, const kp_real *const *values, float *const *out) {
  KP_ASSERT(n_values <= MOST_VALUES);
  average_work work = { s, cloud, points, n_values, values, out };
  kp_parallel_for(n, 256, find_averages, &work);
}

void kp_surfacer_spray(const kp_surfacer *s, int64_t n, float *out) {
  memset(out, 0, (size_t)n * sizeof *out);
  for (int64_t i = 0; s->blocks.n > 0 && i < s->starts[s->blocks.n]; ++i) {
    out[s->order[i]] = s->spray[i];
  }
}

int64_t kp_surfacer_bytes(const kp_surfacer *s) {
  const kp_blocks *b = &s->blocks;
  const void *const arrays[] = { s->starts,     s->order, s->bin_of, s->moved, s->near,   s->drops,
                                 s->attributes, b->at,    b->around, b->slots, b->stored, b->values,
                                 b->other,      b->keys,  b->deep,   b->calm,  s->spray };
  int64_t sum = kp_blocks_room_bytes(b);
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
    sum += arrays[i] != NULL ? (int64_t)kp_alloc_size(arrays[i]) : 0;
  }
  return sum;
}

void kp_surfacer_free(kp_surfacer *s) {
  kp_blocks_free(&s->blocks);
  kp_free(s->starts);
  kp_free(s->order);
  kp_free(s->bin_of);
  kp_free(s->moved);
  kp_free(s->near);
  kp_free(s->attributes);
  kp_free(s->drops);
  kp_free(s->spray);
  *s = (kp_surfacer){ 0 };
}
