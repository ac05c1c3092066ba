#include "geom/thinning.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

// Discs of this radius (over the spacing) leave about one sample per spacing^2. Thrown until none
// fits they jam at 54.7 % of the area (Feder 1980), which would ask for sqrt(4 * 0.547 / pi) =
// 0.83; two dozen dense points per spacing^2 miss the last gaps, and 0.78 was found to make up for
// it.
#define DISC_RATIO 0.78

// Dense points farther than this from any sample become samples; the rest up to 1 is for the gaps
// between dense points.
#define HOLE_RATIO 0.9

#define N_ROUNDS 4

// Points whose normals differ by more than 120 degrees lie on opposite sides of something thin.
#define SAME_SIDE -0.5

#define KEY_BITS 21
#define MOST_CELLS                                                                                 \
  1048576.0  // per axis; one less bit than a key has, so that neighbours never wrap

// Dense points sorted by cell, x fastest.
typedef struct thinning {
  kp_dense_point *points;
  uint64_t *keys;
  uint32_t *order;   // a random permutation
  double *nearest2;  // squared distance to the owner
  int64_t *owner;    // sample a point is nearest to, -1 when none is near
  bool *alive;
  size_t n;
  kp_vec3 origin;
  double cell;
  double spacing;
  KP_ARRAY(size_t) chosen;
} thinning;

typedef struct key_index {
  uint64_t key;
  uint32_t index;
} key_index;

static int compare_keys(const void *a, const void *b) {
  const key_index *p = a;
  const key_index *q = b;
  return p->key != q->key ? (p->key < q->key ? -1 : 1) : (p->index < q->index ? -1 : 1);
}

static uint64_t cell_key(int64_t x, int64_t y, int64_t z) {
  return (uint64_t)z << (2 * KEY_BITS) | (uint64_t)y << KEY_BITS | (uint64_t)x;
}

// One-based, so that the neighbour before the first cell is zero.
static void find_cell(const thinning *t, kp_vec3 p, int64_t cell[3]) {
  cell[0] = 1 + (int64_t)((p.x - t->origin.x) / t->cell);
  cell[1] = 1 + (int64_t)((p.y - t->origin.y) / t->cell);
  cell[2] = 1 + (int64_t)((p.z - t->origin.z) / t->cell);
}

static void set_grid(thinning *t, const kp_dense_points *dense) {
  kp_aabb box = kp_aabb_empty();
  for (size_t i = 0; i < dense->count; ++i) {
    box = kp_aabb_grow(box, dense->data[i].position);
  }
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  t->origin = box.min;
  t->cell = fmax(t->spacing, fmax(size.x, fmax(size.y, size.z)) / MOST_CELLS);
}

static void sort_points(thinning *t, const kp_dense_points *dense, key_index *pairs) {
  for (size_t i = 0; i < t->n; ++i) {
    int64_t c[3];
    find_cell(t, dense->data[i].position, c);
    pairs[i] = (key_index){ cell_key(c[0], c[1], c[2]), (uint32_t)i };
  }
  qsort(pairs, t->n, sizeof *pairs, compare_keys);
  for (size_t i = 0; i < t->n; ++i) {
    t->keys[i] = pairs[i].key;
    t->points[i] = dense->data[pairs[i].index];
  }
}

static void shuffle(thinning *t, uint64_t seed, key_index *pairs) {
  for (size_t i = 0; i < t->n; ++i) {
    pairs[i] = (key_index){ kp_rng_bits(seed, KP_RNG_SAMPLER, (uint64_t)i, 0), (uint32_t)i };
  }
  qsort(pairs, t->n, sizeof *pairs, compare_keys);
  for (size_t i = 0; i < t->n; ++i) {
    t->order[i] = pairs[i].index;
  }
}

static size_t lower_bound(const thinning *t, uint64_t key) {
  size_t low = 0;
  size_t high = t->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (t->keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

typedef struct range {
  size_t begin, end;
} range;

// The nine rows of cells around a point; each is one contiguous range.
static void find_rows(const thinning *t, kp_vec3 p, range rows[9]) {
  int64_t c[3];
  find_cell(t, p, c);
  for (int r = 0; r < 9; ++r) {
    int64_t y = c[1] + r % 3 - 1;
    int64_t z = c[2] + r / 3 - 1;
    rows[r].begin = lower_bound(t, cell_key(c[0] - 1, y, z));
    rows[r].end = lower_bound(t, cell_key(c[0] + 2, y, z));
  }
}

static bool is_same_side(const kp_dense_point *a, const kp_dense_point *b) {
  return kp_vec3_dot(a->normal, b->normal) > SAME_SIDE;
}

static double distance2(kp_vec3 a, kp_vec3 b) {
  kp_vec3 d = kp_vec3_sub(a, b);
  return kp_vec3_dot(d, d);
}

// Take point i as a sample and strike out what is too close to it.
static void strike_out(thinning *t, size_t i) {
  double radius = DISC_RATIO * t->spacing;
  range rows[9];
  find_rows(t, t->points[i].position, rows);
  for (int r = 0; r < 9; ++r) {
    for (size_t j = rows[r].begin; j < rows[r].end; ++j) {
      if (distance2(t->points[i].position, t->points[j].position) < radius * radius &&
          is_same_side(&t->points[i], &t->points[j])) {
        t->alive[j] = false;
      }
    }
  }
}

static kp_result throw_discs(thinning *t) {
  memset(t->alive, 1, t->n * sizeof *t->alive);
  for (size_t k = 0; k < t->n; ++k) {
    size_t i = t->order[k];
    if (t->alive[i]) {
      KP_TRY(kp_array_push(&t->chosen, i));
      strike_out(t, i);
    }
  }
  return KP_OK;
}

// Let sample s own the points it is nearest to so far.
static void claim(thinning *t, size_t s) {
  const kp_dense_point *center = &t->points[t->chosen.data[s]];
  double limit2 = t->spacing * t->spacing;
  range rows[9];
  find_rows(t, center->position, rows);
  for (int r = 0; r < 9; ++r) {
    for (size_t j = rows[r].begin; j < rows[r].end; ++j) {
      double d2 = distance2(center->position, t->points[j].position);
      if (d2 < limit2 && d2 < t->nearest2[j] && is_same_side(center, &t->points[j])) {
        t->nearest2[j] = d2;
        t->owner[j] = (int64_t)s;
      }
    }
  }
}

static void claim_all(thinning *t) {
  for (size_t j = 0; j < t->n; ++j) {
    t->nearest2[j] = HUGE_VAL;
    t->owner[j] = -1;
  }
  for (size_t s = 0; s < t->chosen.count; ++s) {
    claim(t, s);
  }
}

// Move every sample to the dense point nearest to the centroid of what it owns.
static kp_result center_samples(thinning *t) {
  size_t n = t->chosen.count;
  kp_vec3 *sums = kp_alloc_zero(n * sizeof *sums, KP_MEMORY_SCRATCH);
  double *weights = kp_alloc_zero(n * sizeof *weights, KP_MEMORY_SCRATCH);
  double *best = kp_alloc(n * sizeof *best, KP_MEMORY_SCRATCH);
  kp_result result = sums != NULL && weights != NULL && best != NULL ? KP_OK : KP_ERROR_MEMORY;
  if (result == KP_OK) {
    for (size_t j = 0; j < t->n; ++j) {
      if (t->owner[j] >= 0) {
        kp_vec3 *sum = &sums[t->owner[j]];
        *sum = kp_vec3_madd(*sum, t->points[j].area, t->points[j].position);
        weights[t->owner[j]] += t->points[j].area;
      }
    }
    for (size_t s = 0; s < n; ++s) {
      sums[s] = kp_vec3_scale(sums[s], weights[s] > 0.0 ? 1.0 / weights[s] : 0.0);
      best[s] = HUGE_VAL;
    }
    for (size_t j = 0; j < t->n; ++j) {
      int64_t s = t->owner[j];
      double d2 = s >= 0 ? distance2(sums[s], t->points[j].position) : 0.0;
      if (s >= 0 && d2 < best[s]) {
        best[s] = d2;
        t->chosen.data[s] = j;
      }
    }
  }
  kp_free(sums);
  kp_free(weights);
  kp_free(best);
  return result;
}

static kp_result close_holes(thinning *t) {
  double limit = HOLE_RATIO * t->spacing;
  for (size_t j = 0; j < t->n; ++j) {
    if (t->nearest2[j] > limit * limit) {
      KP_TRY(kp_array_push(&t->chosen, j));
      claim(t, t->chosen.count - 1);
    }
  }
  return KP_OK;
}

static kp_result write_samples(const thinning *t, kp_index layer, kp_surface_samples *samples) {
  size_t first = samples->count;
  for (size_t s = 0; s < t->chosen.count; ++s) {
    const kp_dense_point *p = &t->points[t->chosen.data[s]];
    kp_surface_sample sample = { p->position, p->normal, 0.0, layer };
    KP_TRY(kp_array_push(samples, sample));
  }
  for (size_t j = 0; j < t->n; ++j) {
    samples->data[first + (size_t)t->owner[j]].area += t->points[j].area;
  }
  return KP_OK;
}

static kp_result create(const kp_dense_points *dense, double spacing, uint64_t seed, thinning *t) {
  size_t n = dense->count;
  *t = (thinning){ .n = n, .spacing = spacing };
  t->points = kp_alloc(n * sizeof *t->points, KP_MEMORY_SCRATCH);
  t->keys = kp_alloc(n * sizeof *t->keys, KP_MEMORY_SCRATCH);
  t->order = kp_alloc(n * sizeof *t->order, KP_MEMORY_SCRATCH);
  t->nearest2 = kp_alloc(n * sizeof *t->nearest2, KP_MEMORY_SCRATCH);
  t->owner = kp_alloc(n * sizeof *t->owner, KP_MEMORY_SCRATCH);
  t->alive = kp_alloc(n * sizeof *t->alive, KP_MEMORY_SCRATCH);
  key_index *pairs = kp_alloc(n * sizeof *pairs, KP_MEMORY_SCRATCH);
  if (t->points == NULL || t->keys == NULL || t->order == NULL || t->nearest2 == NULL ||
      t->owner == NULL || t->alive == NULL || pairs == NULL) {
    kp_free(pairs);
    return KP_ERROR_MEMORY;
  }
  set_grid(t, dense);
  sort_points(t, dense, pairs);
  shuffle(t, seed, pairs);
  kp_free(pairs);
  return KP_OK;
}

static void destroy(thinning *t) {
  kp_free(t->points);
  kp_free(t->keys);
  kp_free(t->order);
  kp_free(t->nearest2);
  kp_free(t->owner);
  kp_free(t->alive);
  kp_array_free(&t->chosen);
}

kp_result kp_thinning_choose(const kp_dense_points *dense, double spacing, uint64_t seed,
                             kp_index layer, kp_surface_samples *samples) {
  if (dense->count == 0) {
    return KP_OK;
  }
  thinning t;
  kp_result result;
  KP_TRY_GOTO(result, create(dense, spacing, seed, &t), done);
  KP_TRY_GOTO(result, throw_discs(&t), done);
  for (int round = 0; round < N_ROUNDS; ++round) {
    claim_all(&t);
    KP_TRY_GOTO(result, center_samples(&t), done);
  }
  claim_all(&t);
  KP_TRY_GOTO(result, close_holes(&t), done);
  result = write_samples(&t, layer, samples);
done:
  destroy(&t);
  return result;
}
