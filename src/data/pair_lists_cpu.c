// Explicit lists over the tiles of the pair driver: distances a register at a time in kp_real,
// accepted lanes appended. Distances too close to the radius for kp_real to tell are decided in
// double, so the lists are those of the plain version whatever the precision and the instruction
// set.
#include "data/pair_cpu.h"
#include "data/pair_lists.h"
#include "par/kernel_cpu.h"

LISTS_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)

// Squared distances from `sure` to `most` need the double test.
typedef struct list_cut {
  kp_real sure, most;
} list_cut;

// Relative positions carry an error of a few units of kp_real at their own size.
KP_PAIR_FN list_cut cut_of(const kp_pair_walk *w, double radius, int dimension) {
  double size = radius;
  for (int d = 0; d < dimension; ++d) {
    size = fmax(size, fmax(w->hi[d] - w->centre[d], w->centre[d] - w->lo[d]) + radius);
  }
  double slack = (sizeof(kp_real) == 4 ? 5e-7 : 1e-15) * size;
  double sure = radius > slack ? radius - slack : 0.0;
  double most = radius + slack;
  double rounding = sizeof(kp_real) == 4 ? 5e-7 : 1e-15;
  return (list_cut){ (kp_real)(sure * sure * (1.0 - rounding)),
                     (kp_real)(most * most * (1.0 + rounding)) };
}

// Lanes of one register of the tile that are near.
KP_PAIR_FN uint32_t near_bits(const kp_pair_list_job *job, list_cut cut, uint32_t i, kp_w r2,
                              const uint32_t *elements) {
  uint32_t bits = kp_pair_bits_within(r2, cut.most);
  uint32_t unsure = bits & ~kp_pair_bits_within(r2, cut.sure);
  while (__builtin_expect(unsure != 0, 0)) {
    int lane = __builtin_ctz(unsure);
    unsure &= unsure - 1;
    if (!lists_is_near(&job->search, i, elements[lane])) {
      bits &= ~(1u << lane);
    }
  }
  return bits;
}

// Drops from n listed elements those of smaller id, in place.
KP_PAIR_FN uint32_t keep_larger(const lists_search *s, uint32_t i, uint32_t *list, uint32_t n) {
  uint32_t kept = 0;
  for (uint32_t k = 0; k < n; ++k) {
    uint32_t j = list[k];
    list[kept] = j;
    kept += lists_wants(s, i, j);
  }
  return kept;
}

typedef struct list_tile {
  kp_real columns[3][KP_PAIR_STRIDE] KP_PAIR_ALIGN;
  uint32_t elements[KP_PAIR_STRIDE] KP_PAIR_ALIGN;
  uint32_t found[KP_PAIR_STRIDE + KP_LANES];
  int32_t n;
} list_tile;

KP_PAIR_FN bool fill_tile(kp_pair_walk *w, const kp_pair_job *pairs, list_tile *tile) {
  const kp_real *no_fields[1] = { NULL };
  tile->n = kp_pair_fill(w, pairs, no_fields, 0, tile->columns, tile->elements);
  return tile->n > 0;
}

// Neighbours of element k of the item among the tile, appended to `found`, which has room for the
// tile and KP_LANES more; returns their number.
KP_PAIR_FN uint32_t search_tile(const kp_pair_list_job *job, const kp_pair_walk *w, list_cut cut,
                                const list_tile *tile, int32_t k, uint32_t *found) {
  const lists_search *s = &job->search;
  uint32_t i = (uint32_t)kp_pair_element(&s->i, w->first + (uint32_t)k);
  kp_w x = kp_w_splat(w->x[0][k]);
  kp_w y = kp_w_splat(w->x[1][k]);
  kp_w z = kp_w_splat(s->dimension == 3 ? w->x[2][k] : (kp_real)0);
  bool is_same = s->is_same;
  uint32_t n = 0;
  for (int32_t at = 0; at < tile->n; at += KP_W_LANES) {
    kp_w dx = x - kp_w_load(&tile->columns[0][at]);
    kp_w dy = y - kp_w_load(&tile->columns[1][at]);
    kp_w dz = z - kp_w_load(&tile->columns[2][at]);
    kp_w r2 = dx * dx + dy * dy + dz * dz;
    uint32_t bits = near_bits(job, cut, i, r2, tile->elements + at);
    if (is_same) {
      bits &= ~kp_pair_bits_equal(tile->elements + at, i);
    }
    kp_pair_append_index(found + n, tile->elements + at, bits);
    n += (uint32_t)__builtin_popcount(bits);
  }
  return s->is_once ? keep_larger(s, i, found, n) : n;
}

// Candidates that fill more than one tile: counts first, so that each list has its place, then
// lists.
static void search_tiles(const kp_pair_list_job *job, int64_t item, list_cut cut, list_tile *tile,
                         kp_pair_stage *stage) {
  const kp_pair_job *pairs = job->pairs;
  uint32_t n[KP_CELLS_ITEM] = { 0 };
  size_t at[KP_CELLS_ITEM];
  kp_pair_walk w;
  kp_pair_walk_begin(&w, pairs, item);
  while (fill_tile(&w, pairs, tile)) {
    for (int32_t k = 0; k < w.n_i; ++k) {
      n[k] += search_tile(job, &w, cut, tile, k, tile->found);
    }
  }
  size_t total = 0;
  for (int32_t k = 0; k < w.n_i; ++k) {
    job->counts[kp_pair_element(&pairs->i, w.first + (uint32_t)k)] = n[k];
    at[k] = total;
    total += n[k];
  }
  if (stage == NULL || !kp_pair_stage_reserve(stage, total)) {
    return;
  }
  kp_pair_walk_begin(&w, pairs, item);
  while (fill_tile(&w, pairs, tile)) {
    for (int32_t k = 0; k < w.n_i; ++k) {
      uint32_t more = search_tile(job, &w, cut, tile, k, tile->found);
      memcpy(stage->data + stage->count + at[k], tile->found, more * sizeof(uint32_t));
      at[k] += more;
    }
  }
  stage->count += total;
}

// One work item: the candidates of most fit into one tile.
static void search_item(const kp_pair_list_job *job, int64_t item, list_tile *tile,
                        kp_pair_stage *stage) {
  const kp_pair_job *pairs = job->pairs;
  kp_pair_walk w;
  kp_pair_walk_begin(&w, pairs, item);
  list_cut cut = cut_of(&w, pairs->radius, pairs->dimension);
  tile->n = 0;
  if (fill_tile(&w, pairs, tile) && !w.is_done) {
    search_tiles(job, item, cut, tile, stage);
    return;
  }
  if (stage != NULL && !kp_pair_stage_reserve(stage, (size_t)(w.n_i * tile->n + KP_LANES))) {
    return;
  }
  for (int32_t k = 0; k < w.n_i; ++k) {
    uint32_t *found = stage != NULL ? stage->data + stage->count : tile->found;
    uint32_t n = search_tile(job, &w, cut, tile, k, found);
    job->counts[kp_pair_element(&pairs->i, w.first + (uint32_t)k)] = n;
    if (stage != NULL) {
      stage->count += n;
    }
  }
}

#define LIST_JOIN(isa) kp_pair_list_##isa
#define LIST_NAME(isa) LIST_JOIN(isa)

void LIST_NAME(KP_ISA)(const kp_pair_list_job *job, int64_t begin, int64_t end,
                       kp_pair_stage *stage) {
  list_tile tile;
  for (int64_t item = begin; item < end; ++item) {
    search_item(job, item, &tile, stage);
  }
}
