// Rows of the sweeps: colours of nodes, pairs of nodes with what lies between them, and where all
// of it stands in the arrays of a solver.
#include <stdlib.h>
#include <string.h>

#include "methods/deform/deform_sweep.h"
#include "methods/deform/deform_sweep_kernels.h"

// ---- life ---------------------------------------------------------------------------------------

static void each_buffer(kp_sweep *s, void (*each)(kp_buffer *buffer, kp_backend *backend),
                        kp_backend *backend) {
  kp_buffer *all[] = { &s->node,         &s->row,     &s->start,   &s->other,      &s->run,
                       &s->pair,         &s->low,     &s->high,    &s->begins,     &s->pair_start,
                       &s->pair_springs, &s->parts,   &s->corner,  &s->part_start, &s->corner_start,
                       &s->wide,         &s->springs, &s->pull,    &s->blocks,     &s->block,
                       &s->owner,        &s->fold,    &s->share,   &s->total,      &s->inverse,
                       &s->own,          &s->half,    &s->t,       &s->w,          &s->minus,
                       &s->right,        &s->change,  &s->product, &s->guess,      &s->wanted,
                       &s->records,      &s->sign,    &s->entries };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    each(all[k], backend);
  }
}

static void free_rows(kp_sweep_rows *rows) {
  kp_buffer_free(&rows->segments);
  kp_buffer_free(&rows->shares);
}

void kp_sweep_destroy(kp_sweep **sweep) {
  kp_sweep *s = *sweep;
  if (s == NULL) {
    return;
  }
  each_buffer(s, kp_buffer_drop, NULL);
  kp_levels_free(&s->levels);
  kp_poly_free(&s->poly);
  for (size_t c = 0; c < s->colours.count; ++c) {
    free_rows(&s->colours.data[c]);
  }
  free_rows(&s->whole);
  kp_array_free(&s->colours);
  kp_free(s);
  *sweep = NULL;
}

// ---- colours and rows ---------------------------------------------------------------------------

// What joins two nodes.
enum {
  LINK_SPRING,
  LINK_THERE,
  LINK_BACK
};  // ... corners of an element, as its block has them or
    // turned about
typedef struct link {
  int32_t low, high;
  int32_t kind;
  int32_t what;  // the spring, or where the block begins
} link;

// What is needed while rows are made.
typedef struct draft {
  int64_t first, n;         // nodes of the group
  const int32_t *a;         // of all springs: where they begin
  KP_ARRAY(link) links;     // sorted by nodes
  KP_ARRAY(link) ends;      // the first of each pair of nodes
  KP_ARRAY(int32_t) nodes;  // neighbours of nodes, each once ...
  KP_ARRAY(int32_t) pairs;  // ... and which pair they are
  KP_ARRAY(int32_t) begin;  // of a node in these
  KP_ARRAY(int32_t) colour;
  KP_ARRAY(int32_t) seen;   // by colour: 1 + node that has a neighbour of it
  KP_ARRAY(int64_t) place;  // by colour: next row
  bool has_blocks;
} draft;

static void free_draft(draft *m) {
  kp_array_free(&m->links);
  kp_array_free(&m->ends);
  kp_array_free(&m->nodes);
  kp_array_free(&m->pairs);
  kp_array_free(&m->begin);
  kp_array_free(&m->colour);
  kp_array_free(&m->seen);
  kp_array_free(&m->place);
}

static int compare_links(const void *left, const void *right) {
  const link *l = left, *r = right;
  if (l->low != r->low) {
    return l->low < r->low ? -1 : 1;
  }
  if (l->high != r->high) {
    return l->high < r->high ? -1 : 1;
  }
  if (l->kind != r->kind) {
    return l->kind < r->kind ? -1 : 1;
  }
  return l->what < r->what ? -1 : l->what > r->what ? 1 : 0;
}

static kp_result add_link(draft *m, int32_t a, int32_t b, int32_t kind, int32_t what) {
  int32_t first = (int32_t)m->first, low = (a < b ? a : b) - first;
  link l = { low, a + b - 2 * first - low, kind, what };
  return kp_array_push(&m->links, l);
}

// Elements of one kind as they lie among the blocks.
typedef struct element_kind {
  kp_range range;  // of the group
  kp_buffer *corner;
  int64_t n, place;  // of all; the first block
  int corners;
} element_kind;

enum { ELEMENT_KINDS = 3 };

static void element_kinds(kp_deform_tets *t, const kp_deform_group *group,
                          element_kind out[ELEMENT_KINDS]) {
  out[0] = (element_kind){ group->solids, &t->solids.corner, t->solids.n, 0, 4 };
  out[1] = (element_kind){ group->axes, &t->axes.corner, t->axes.n, t->solids.n, 4 };
  out[2] = (element_kind){ group->membranes, &t->membranes.corner, t->membranes.n,
                           t->solids.n + t->axes.n, 3 };
}

static kp_result link_springs(kp_deform *d, const kp_deform_group *group, draft *m) {
  const int32_t *a, *b;
  KP_TRY(kp_buffer_get(&d->springs.a, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&a));
  KP_TRY(kp_buffer_get(&d->springs.b, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&b));
  m->a = a;
  for (int64_t k = 0; k < group->springs.n; ++k) {
    int32_t s = (int32_t)(group->springs.first + k);
    KP_TRY(add_link(m, a[s], b[s], LINK_SPRING, s));
  }
  return KP_OK;
}

// Elements of one kind and so many corners, which begin at `place` among all blocks.
static kp_result link_corners(const element_kind *kind, draft *m) {
  kp_range range = kind->range;
  int64_t n = kind->n;
  if (range.n == 0) {
    return KP_OK;
  }
  const int32_t *corner;
  KP_TRY(kp_buffer_get(kind->corner, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&corner));
  for (int64_t e = range.first; e < range.first + range.n; ++e) {
    for (int pair = 0; pair < BLOCKS_PAIRS; ++pair) {
      int a, b;
      blocks_corners(pair, &a, &b);
      if (b >= kind->corners) {
        continue;
      }
      int32_t from = corner[a * n + e], to = corner[b * n + e];
      int32_t at = (int32_t)(BLOCKS_ITEM * (kind->place + e) + 9 * pair);
      KP_TRY(add_link(m, from, to, from < to ? LINK_THERE : LINK_BACK, at));
    }
  }
  return KP_OK;
}

static kp_result find_links(kp_deform *d, const kp_deform_group *group, draft *m) {
  kp_deform_tets *t = &d->tets;
  KP_TRY(kp_array_reserve(&m->links, (size_t)(group->springs.n + BLOCKS_PAIRS * group->tets.n)));
  KP_TRY(link_springs(d, group, m));
  element_kind kinds[ELEMENT_KINDS];
  element_kinds(t, group, kinds);
  for (int k = 0; k < ELEMENT_KINDS; ++k) {
    KP_TRY(link_corners(&kinds[k], m));
  }
  qsort(m->links.data, m->links.count, sizeof *m->links.data, compare_links);
  return KP_OK;
}

// Pairs of nodes with what lies between them, and the neighbours of nodes.
static kp_result find_pairs(kp_sweep *s, draft *m) {
  int64_t n = (int64_t)m->links.count, n_pairs = 0;
  int32_t *springs, *start, *parts, *part_start, n_springs = 0, n_parts = 0;
  KP_TRY(kp_buffer_room(&s->pair_springs, KP_TYPE_I32, n, &springs));
  KP_TRY(kp_buffer_room(&s->pair_start, KP_TYPE_I32, n + 1, &start));
  KP_TRY(kp_buffer_room(&s->parts, KP_TYPE_I32, n, &parts));
  KP_TRY(kp_buffer_room(&s->part_start, KP_TYPE_I32, 2 * n + 1, &part_start));
  KP_TRY(kp_array_resize(&m->begin, (size_t)m->n + 1));
  KP_TRY(kp_array_resize(&m->ends, (size_t)n));
  int32_t *begin = m->begin.data;
  memset(begin, 0, sizeof *begin * ((size_t)m->n + 1));
  for (int64_t k = 0; k < n; ++k) {
    const link *l = &m->links.data[k];
    if (k == 0 || l->low != l[-1].low || l->high != l[-1].high) {
      m->ends.data[n_pairs] = *l;
      start[n_pairs] = n_springs;
      part_start[2 * n_pairs] = part_start[2 * n_pairs + 1] = n_parts;
      ++n_pairs;
      ++begin[l->low + 1];
      ++begin[l->high + 1];
    }
    if (l->kind == LINK_SPRING) {
      springs[n_springs++] = l->what;
    } else {
      parts[n_parts++] = l->what;
      part_start[2 * n_pairs - 1] += l->kind == LINK_THERE;
    }
  }
  start[n_pairs] = n_springs;
  part_start[2 * n_pairs] = n_parts;
  s->n_pairs = n_pairs;
  KP_TRY(kp_array_resize(&m->nodes, (size_t)(2 * n_pairs)));
  KP_TRY(kp_array_resize(&m->pairs, (size_t)(2 * n_pairs)));
  for (int64_t i = 0; i < m->n; ++i) {
    begin[i + 1] += begin[i];
  }
  for (int32_t p = 0; p < (int32_t)n_pairs; ++p) {
    const link *l = &m->ends.data[p];
    int32_t there = begin[l->low]++, back = begin[l->high]++;
    m->nodes.data[there] = l->high;
    m->nodes.data[back] = l->low;
    m->pairs.data[there] = m->pairs.data[back] = p;
  }
  for (int64_t i = m->n; i > 0; --i) {
    begin[i] = begin[i - 1];
  }
  begin[0] = 0;
  return KP_OK;
}

// In the order of nodes, each gets the first colour that no neighbour has.
static kp_result colour_nodes(draft *m) {
  KP_TRY(kp_array_resize(&m->colour, (size_t)m->n));
  for (int32_t i = 0; i < (int32_t)m->n; ++i) {
    for (int32_t k = m->begin.data[i]; k < m->begin.data[i + 1]; ++k) {
      int32_t other = m->nodes.data[k];
      if (other < i) {
        m->seen.data[m->colour.data[other]] = i + 1;
      }
    }
    size_t c = 0;
    while (c < m->seen.count && m->seen.data[c] == i + 1) {
      ++c;
    }
    if (c == m->seen.count) {
      KP_TRY(kp_array_push(&m->seen, 0));
    }
    m->colour.data[i] = (int32_t)c;
  }
  return KP_OK;
}

// `n` slices from one on.
static kp_result list_slices(kp_buffer *segments, int64_t first, int64_t n) {
  kp_row_segment *runs;
  KP_TRY(kp_buffer_resize(segments, sizeof *runs * (size_t)n));
  KP_TRY(kp_buffer_get(segments, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&runs));
  for (int64_t j = first; j < first + n; ++j) {
    runs[j - first] = (kp_row_segment){ .j = (int32_t)j,
                                        .i0 = (int32_t)(j * SWEEP_SLICE),
                                        .i1 = (int32_t)((j + 1) * SWEEP_SLICE) };
  }
  return KP_OK;
}

static kp_result add_colour(kp_sweep *s, kp_backend *backend, int64_t n) {
  kp_sweep_rows rows = { .n = n };
  kp_buffer_init(&rows.segments, backend);
  kp_buffer_init(&rows.shares, backend);
  KP_TRY(kp_array_push(&s->colours, rows));
  return list_slices(&s->colours.data[s->colours.count - 1].segments, s->rows / SWEEP_SLICE, n);
}

#define LONG_ROW 256  // neighbours, from which on a row is wide

static bool is_long(const draft *m, int64_t i) {
  return m->begin.data[i + 1] - m->begin.data[i] > LONG_ROW;
}

// Rows of nodes, colour by colour, and the slices of each: long rows have one each behind the
// others.
static kp_result place_rows(kp_sweep *s, draft *m, kp_backend *backend) {
  size_t n_colours = m->seen.count;
  KP_TRY(kp_array_resize(&m->place, 2 * n_colours));
  memset(m->place.data, 0, sizeof *m->place.data * 2 * n_colours);
  int64_t *place = m->place.data, *long_place = place + n_colours;
  for (int64_t i = 0; i < m->n; ++i) {
    ++(is_long(m, i) ? long_place : place)[m->colour.data[i]];
    s->has_wide = s->has_wide || is_long(m, i);
  }
  for (size_t c = 0; c < n_colours; ++c) {
    int64_t n_short = (place[c] + SWEEP_SLICE - 1) / SWEEP_SLICE;
    int64_t n_slices = n_short + long_place[c];
    place[c] = s->rows;
    long_place[c] = s->rows + n_short * SWEEP_SLICE;
    KP_TRY(add_colour(s, backend, n_slices));
    s->rows += n_slices * SWEEP_SLICE;
  }
  int32_t *node, *row;
  KP_TRY(kp_buffer_room(&s->node, KP_TYPE_I32, s->rows, &node));
  KP_TRY(kp_buffer_room(&s->row, KP_TYPE_I32, m->n, &row));
  for (int64_t r = 0; r < s->rows; ++r) {
    node[r] = -1;
  }
  for (int64_t i = 0; i < m->n; ++i) {
    int32_t c = m->colour.data[i];
    int64_t r = is_long(m, i) ? long_place[c] : place[c];
    *(is_long(m, i) ? &long_place[c] : &place[c]) += is_long(m, i) ? SWEEP_SLICE : 1;
    row[i] = (int32_t)r;
    node[r] = (int32_t)(m->first + i);
  }
  return KP_OK;
}

// Whether a neighbour of node i is of an earlier (0) or a later (1) colour.
static int is_later(const draft *m, int64_t i, int32_t neighbour) {
  return m->colour.data[neighbour] > m->colour.data[i] ? 1 : 0;
}

static int32_t count_side(const draft *m, int64_t i, int later) {
  int32_t n = 0;
  for (int32_t k = m->begin.data[i]; k < m->begin.data[i + 1]; ++k) {
    n += is_later(m, i, m->nodes.data[k]) == later;
  }
  return n;
}

typedef struct entry_arrays {
  const int32_t *row, *springs, *start;  // springs of pairs
  int32_t *other, *pair;
  int32_t *low, *high;  // of blocks: entries of pairs
  int64_t apart;
} entry_arrays;

// One entry of node i; returns where the next one would be.
static int64_t write_entry(const draft *m, int64_t i, int32_t k, const entry_arrays *to,
                           int64_t e) {
  int32_t pair = m->pairs.data[k];
  to->other[e] = to->row[m->nodes.data[k]];
  to->pair[e] = 2 * pair;
  if (m->has_blocks) {
    (m->nodes.data[k] > i ? to->low : to->high)[pair] = (int32_t)e;
  } else {
    bool ends_here = m->a[to->springs[to->start[pair]]] != m->first + i;
    to->pair[e] += ends_here;
  }
  return e + to->apart;
}

// Those of one side from e on, to->apart from each other; returns as write_entry does.
static int64_t write_side(const draft *m, int64_t i, int later, const entry_arrays *to, int64_t e) {
  for (int32_t k = m->begin.data[i]; k < m->begin.data[i + 1]; ++k) {
    if (is_later(m, i, m->nodes.data[k]) == later) {
      e = write_entry(m, i, k, to, e);
    }
  }
  return e;
}

// The same colour by colour, so that rows of neighbours follow each other.
static int64_t write_wide(const draft *m, int64_t i, int later, const entry_arrays *to, int64_t e) {
  for (int32_t c = 0; c < (int32_t)m->seen.count; ++c) {
    for (int32_t k = m->begin.data[i]; k < m->begin.data[i + 1]; ++k) {
      if (is_later(m, i, m->nodes.data[k]) == later && m->colour.data[m->nodes.data[k]] == c) {
        e = write_entry(m, i, k, to, e);
      }
    }
  }
  return e;
}

// The row that the others of a slice of entries count up from, or -1. Entries that hold nothing
// count with them, if what they would be is of the same colour.
static int32_t run_of(const kp_sweep *s, const int32_t *pair, const int32_t *other) {
  int64_t l = 0;
  while (l < SWEEP_SLICE && pair[l] < 0) {
    ++l;
  }
  if (l == SWEEP_SLICE || other[l] < l) {
    return -1;
  }
  int64_t base = other[l] - l, first = 0;
  for (int64_t k = l; k < SWEEP_SLICE; ++k) {
    if (pair[k] >= 0 && other[k] != base + k) {
      return -1;
    }
  }
  for (size_t c = 0; c < s->colours.count; ++c) {
    int64_t end = first + s->colours.data[c].n * SWEEP_SLICE;
    if (base >= first && base + SWEEP_SLICE <= end) {
      return (int32_t)base;
    }
    first = end;
  }
  return -1;
}

static kp_result find_runs(kp_sweep *s, const int32_t *pair, int32_t *other) {
  int32_t *run;
  KP_TRY(kp_buffer_room(&s->run, KP_TYPE_I32, s->n_entries / SWEEP_SLICE, &run));
  for (int64_t e = 0; e < s->n_entries; e += SWEEP_SLICE) {
    run[e / SWEEP_SLICE] = run_of(s, pair + e, other + e);
    for (int32_t l = 0; l < SWEEP_SLICE && run[e / SWEEP_SLICE] >= 0; ++l) {
      other[e + l] = run[e / SWEEP_SLICE] + l;
    }
  }
  return KP_OK;
}

// ---- wide rows ----------------------------------------------------------------------------------

// Slices of shares that the entries of node i take.
static int64_t shares_of(const draft *m, int64_t i) {
  int32_t early = count_side(m, i, 0), late = count_side(m, i, 1);
  int64_t most = early > late ? early : late, slice = SWEEP_SHARE * SWEEP_SLICE;
  return (most + slice - 1) / slice;
}

static int64_t totals_of(int64_t n_slices) {
  return (n_slices * SWEEP_SLICE + SWEEP_FOLD - 1) / SWEEP_FOLD;
}

// Shares and totals of the wide rows of a colour, whose slices begin at `slice`.
static kp_result share_colour(kp_sweep *s, const draft *m, kp_sweep_rows *rows, int64_t slice) {
  const int32_t *node;
  int32_t *wide, *owner, *fold;
  KP_TRY(kp_buffer_get(&s->node, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&node));
  KP_TRY(kp_buffer_get(&s->wide, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&wide));
  KP_TRY(kp_buffer_get(&s->owner, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&owner));
  KP_TRY(kp_buffer_get(&s->fold, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&fold));
  int64_t first = s->rows / SWEEP_SLICE, begin = s->slices;
  rows->totals.first = s->whole.totals.n;
  for (int64_t j = slice; j < slice + rows->n; ++j) {
    int64_t r = j * SWEEP_SLICE, i = node[r] - m->first;
    if (node[r] < 0 || !is_long(m, i)) {
      continue;
    }
    int64_t n = shares_of(m, i), n_totals = totals_of(n), total = s->whole.totals.n;
    wide[2 * j] = (int32_t)total;
    wide[2 * j + 1] = (int32_t)(total + n_totals);
    for (int64_t k = 0; k < n; ++k) {
      owner[s->slices - first + k] = (int32_t)r;
    }
    for (int64_t k = 0; k < n_totals; ++k) {
      fold[total + k] = (int32_t)((s->slices - first) * SWEEP_SLICE + k * SWEEP_FOLD);
    }
    s->slices += n;
    s->whole.totals.n += n_totals;
    fold[s->whole.totals.n] = (int32_t)((s->slices - first) * SWEEP_SLICE);
    for (int side = 0; side < 2; ++side) {
      rows->has_side[side] = rows->has_side[side] || count_side(m, i, side) > 0;
    }
  }
  rows->totals.n = s->whole.totals.n - rows->totals.first;
  rows->n_shares = s->slices - begin;
  return list_slices(&rows->shares, begin, rows->n_shares);
}

// All slices, and the shares of wide rows behind those of rows.
static kp_result place_shares(kp_sweep *s, const draft *m) {
  int64_t n = s->rows / SWEEP_SLICE, n_shares = 0, n_totals = 0, slice = 0;
  for (int64_t i = 0; i < m->n; ++i) {
    n_shares += is_long(m, i) ? shares_of(m, i) : 0;
    n_totals += is_long(m, i) ? totals_of(shares_of(m, i)) : 0;
  }
  int32_t *wide, *unused;
  KP_TRY(kp_buffer_room(&s->wide, KP_TYPE_I32, 2 * n, &wide));
  memset(wide, 0, sizeof *wide * 2 * (size_t)n);
  KP_TRY(kp_buffer_room(&s->owner, KP_TYPE_I32, n_shares, &unused));
  KP_TRY(kp_buffer_room(&s->fold, KP_TYPE_I32, n_totals + 1, &unused));
  s->slices = s->whole.n = n;
  for (size_t c = 0; c < s->colours.count; ++c) {
    KP_TRY(share_colour(s, m, &s->colours.data[c], slice));
    slice += s->colours.data[c].n;
  }
  s->whole.n_shares = n_shares;
  KP_TRY(list_slices(&s->whole.segments, 0, n));
  KP_TRY(list_slices(&s->whole.shares, n, n_shares));
  KP_TRY(kp_vector_resize(&s->share, SWEEP_BOTH * SWEEP_SLICE * n_shares));
  return kp_vector_resize(&s->total, SWEEP_BOTH * n_totals);
}

// Entries of a side in the longest row of a slice; wide rows have theirs in shares.
static int32_t width_of(const draft *m, const int32_t *node, int64_t slice, int side) {
  int32_t width = 0;
  for (int64_t r = slice * SWEEP_SLICE; r < (slice + 1) * SWEEP_SLICE; ++r) {
    bool has_entries = node[r] >= 0 && !is_long(m, node[r] - m->first);
    int32_t length = has_entries ? count_side(m, node[r] - m->first, side) : 0;
    width = length > width ? length : width;
  }
  return width;
}

// Where the entries of slices begin, those of earlier colours before all of later ones.
static void size_entries(kp_sweep *s, const draft *m, const int32_t *node, const int32_t *owner,
                         int32_t *start) {
  int64_t n = s->rows / SWEEP_SLICE, done = 0;
  start[0] = 0;
  for (int64_t k = 0; k < 2 * s->slices; ++k) {
    int64_t slice = k % s->slices, width;
    int side = (int)(k / s->slices);
    if (slice < n) {
      width = width_of(m, node, slice, side);
    } else {
      bool is_next = slice > n && owner[slice - n] == owner[slice - n - 1];
      done = is_next ? done + SWEEP_SHARE * SWEEP_SLICE : 0;
      int64_t left = count_side(m, node[owner[slice - n]] - m->first, side) - done;
      width = left < 0 ? 0 : (left + SWEEP_SLICE - 1) / SWEEP_SLICE;
      width = width < SWEEP_SHARE ? width : SWEEP_SHARE;
    }
    start[k + 1] = start[k] + (int32_t)width * SWEEP_SLICE;
  }
  s->n_entries = start[2 * s->slices];
}

// Entries that hold nothing, of row r.
static void pad(const entry_arrays *to, int64_t e, int64_t end, int64_t r) {
  for (; e < end; e += to->apart) {
    to->other[e] = (int32_t)r;
    to->pair[e] = -1;
  }
}

static void write_entries(const kp_sweep *s, const draft *m, const int32_t *node,
                          const int32_t *owner, const int32_t *start, entry_arrays *to) {
  int64_t n = s->rows / SWEEP_SLICE;
  for (int side = 0; side < 2; ++side) {
    const int32_t *at = start + side * s->slices;
    to->apart = SWEEP_SLICE;
    for (int64_t r = 0; r < s->rows; ++r) {
      int64_t slice = r / SWEEP_SLICE, e = at[slice] + r % SWEEP_SLICE, i = node[r] - m->first;
      bool has_entries = node[r] >= 0 && !is_long(m, i);
      pad(to, has_entries ? write_side(m, i, side, to, e) : e, at[slice + 1], r);
    }
    to->apart = 1;
    for (int64_t slice = n; slice < s->slices;) {
      int32_t r = owner[slice - n];
      int64_t e = write_wide(m, node[r] - m->first, side, to, at[slice]);
      while (slice < s->slices && owner[slice - n] == r) {
        ++slice;
      }
      pad(to, e, at[slice], r);
    }
  }
}

static kp_result fill_entries(kp_sweep *s, const draft *m) {
  const int32_t *node, *owner;
  int32_t *start;
  entry_arrays to = { 0 };
  KP_TRY(kp_buffer_get(&s->node, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&node));
  KP_TRY(kp_buffer_get(&s->owner, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&owner));
  KP_TRY(kp_buffer_get(&s->row, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&to.row));
  KP_TRY(kp_buffer_room(&s->start, KP_TYPE_I32, 2 * s->slices + 1, &start));
  size_entries(s, m, node, owner, start);
  KP_TRY(kp_buffer_room(&s->other, KP_TYPE_I32, s->n_entries, &to.other));
  KP_TRY(kp_buffer_room(&s->pair, KP_TYPE_I32, s->n_entries, &to.pair));
  KP_TRY(kp_buffer_room(&s->low, KP_TYPE_I32, s->n_pairs, &to.low));
  KP_TRY(kp_buffer_room(&s->high, KP_TYPE_I32, s->n_pairs, &to.high));
  KP_TRY(kp_buffer_get(&s->pair_springs, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&to.springs));
  KP_TRY(kp_buffer_get(&s->pair_start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&to.start));
  write_entries(s, m, node, owner, start, &to);
  return find_runs(s, to.pair, to.other);
}

// Entries of springs as sweep_fill takes them.
static kp_result point_to_records(kp_sweep *s) {
  int32_t *pair;
  kp_real *sign, *record;
  KP_TRY(kp_buffer_get(&s->pair, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&pair));
  KP_TRY(kp_buffer_room(&s->sign, KP_TYPE_REAL, s->n_entries, &sign));
  for (int64_t e = 0; e < s->n_entries; ++e) {
    int32_t of = pair[e] >= 0 ? 1 + (pair[e] >> 1) : 0;
    sign[e] = pair[e] >= 0 && (pair[e] & 1) ? (kp_real)-1 : (kp_real)1;
    pair[e] = of * (SWEEP_PAIR / KP_RECORD);
  }
  KP_TRY(kp_buffer_room(&s->records, KP_TYPE_REAL, SWEEP_PAIR * (s->n_pairs + 1), &record));
  memset(record, 0, sizeof *record * SWEEP_PAIR * (size_t)(s->n_pairs + 1));
  return list_slices(&s->entries, 0, s->n_entries / SWEEP_SLICE);
}

// Whether the first spring of a pair begins at its lower node.
static kp_result find_beginnings(kp_sweep *s, const draft *m) {
  const int32_t *springs, *start;
  int32_t *begins;
  KP_TRY(kp_buffer_get(&s->pair_springs, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&springs));
  KP_TRY(kp_buffer_get(&s->pair_start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&start));
  KP_TRY(kp_buffer_room(&s->begins, KP_TYPE_I32, s->n_pairs, &begins));
  for (int64_t p = 0; p < s->n_pairs; ++p) {
    begins[p] = start[p] < start[p + 1] &&
                m->a[springs[start[p]]] == m->first + (int64_t)m->ends.data[p].low;
  }
  return KP_OK;
}

typedef KP_ARRAY(int32_t) list;

// Counts the corners at rows, or puts them down where `fill` says, which it moves.
static kp_result visit_corners(kp_deform *d, const kp_deform_group *group, const kp_sweep *s,
                               const int32_t *row, int32_t *fill, int32_t *out) {
  kp_deform_tets *t = &d->tets;
  element_kind kinds[ELEMENT_KINDS];
  element_kinds(t, group, kinds);
  for (int k = 0; k < ELEMENT_KINDS; ++k) {
    const element_kind *kind = &kinds[k];
    const int32_t *corner = NULL;
    if (kind->range.n > 0) {
      KP_TRY(kp_buffer_get(kind->corner, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&corner));
    }
    for (int64_t e = kind->range.first; e < kind->range.first + kind->range.n; ++e) {
      for (int c = 0; c < kind->corners; ++c) {
        int32_t r = row[corner[c * kind->n + e] - s->nodes.first];
        if (out != NULL) {
          out[fill[r]] = (int32_t)(4 * (kind->place + e) + c);
        }
        fill[r] += out != NULL ? SWEEP_SLICE : 1;
      }
    }
  }
  return KP_OK;
}

// Forces on corners, as slices of rows.
static kp_result list_corners(kp_deform *d, const kp_deform_group *group, kp_sweep *s, list *fill) {
  int64_t n_slices = s->rows / SWEEP_SLICE;
  const int32_t *row;
  int32_t *start, *corner, nothing = (int32_t)(4 * d->tets.n);
  KP_TRY(kp_buffer_get(&s->row, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&row));
  KP_TRY(kp_buffer_room(&s->corner_start, KP_TYPE_I32, n_slices + 1, &start));
  KP_TRY(kp_array_resize(fill, (size_t)s->rows));
  memset(fill->data, 0, sizeof *fill->data * (size_t)s->rows);
  KP_TRY(visit_corners(d, group, s, row, fill->data, NULL));
  start[0] = 0;
  for (int64_t k = 0; k < n_slices; ++k) {
    int32_t width = 0;
    for (int64_t l = 0; l < SWEEP_SLICE; ++l) {
      int32_t length = fill->data[k * SWEEP_SLICE + l];
      width = length > width ? length : width;
      fill->data[k * SWEEP_SLICE + l] = start[k] + (int32_t)l;
    }
    start[k + 1] = start[k] + width * SWEEP_SLICE;
  }
  KP_TRY(kp_buffer_room(&s->corner, KP_TYPE_I32, start[n_slices], &corner));
  for (int64_t k = 0; k < start[n_slices]; ++k) {
    corner[k] = nothing;
  }
  return visit_corners(d, group, s, row, fill->data, corner);
}

static kp_result make_blocks(kp_deform *d, const kp_deform_group *group, kp_sweep *s,
                             const draft *m) {
  KP_TRY(find_beginnings(s, m));
  list fill = { 0 };
  kp_result result = list_corners(d, group, s, &fill);
  kp_array_free(&fill);
  KP_TRY(result);
  KP_TRY(kp_vector_resize(&s->blocks, 9 * s->n_entries));
  return kp_vector_fill(9 * s->n_entries, 0.0, &s->blocks);
}

static kp_result make_vectors(kp_sweep *s) {
  kp_buffer *rows[] = { &s->minus, &s->right, &s->change, &s->product, &s->guess, &s->wanted },
            *records[] = { &s->t, &s->w };
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    KP_TRY(kp_vector_resize(rows[k], 3 * s->rows));
    KP_TRY(kp_vector_fill(3 * s->rows, 0.0, rows[k]));
  }
  for (size_t k = 0; k < sizeof records / sizeof records[0]; ++k) {
    KP_TRY(kp_vector_resize(records[k], KP_RECORD * s->rows));
    KP_TRY(kp_vector_fill(KP_RECORD * s->rows, 0.0, records[k]));
  }
  KP_TRY(kp_vector_resize(&s->block, SWEEP_BLOCK * s->rows));
  KP_TRY(kp_vector_resize(&s->inverse, SWEEP_BLOCK * s->rows));
  KP_TRY(kp_vector_resize(&s->half, SWEEP_BLOCK * s->rows));
  KP_TRY(kp_vector_resize(&s->own, SWEEP_OWN * s->rows));
  if (!s->has_blocks) {
    KP_TRY(kp_vector_resize(&s->springs, SWEEP_SPRING * s->n_entries));
    KP_TRY(point_to_records(s));
  }
  if (s->has_springs) {
    KP_TRY(kp_vector_resize(&s->pull, SWEEP_VECTOR * s->n_entries));
    KP_TRY(kp_vector_fill(SWEEP_VECTOR * s->n_entries, 0.0, &s->pull));
  }
  return KP_OK;
}

typedef KP_ARRAY(double) numbers;

// The mean square of the lengths of links, by part.
static kp_result measure_links(kp_deform *d, const kp_sweep *s, const draft *m, numbers *mean2,
                               numbers *count) {
  const double *x[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(
        kp_buffer_get(&d->set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&x[c]));
  }
  KP_TRY(kp_array_resize(mean2, d->parts.count));
  KP_TRY(kp_array_resize(count, d->parts.count));
  for (size_t p = 0; p < d->parts.count; ++p) {
    mean2->data[p] = count->data[p] = 0.0;
    kp_range nodes = d->parts.data[p].nodes;
    for (int64_t k = 0; k < s->n_pairs; ++k) {
      int64_t a = m->first + m->ends.data[k].low, b = m->first + m->ends.data[k].high;
      if (a >= nodes.first && a < nodes.first + nodes.n) {
        double v[3] = { x[0][a] - x[0][b], x[1][a] - x[1][b], x[2][a] - x[2][b] };
        mean2->data[p] += v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        count->data[p] += 1.0;
      }
    }
    mean2->data[p] /= count->data[p] > 0.0 ? count->data[p] : 1.0;
  }
  return KP_OK;
}

static kp_result make_levels(kp_deform *d, kp_backend *backend, kp_sweep *s, const draft *m) {
  numbers mean2 = { 0 }, count = { 0 };
  kp_levels_rows rows = { .rows = s->rows };
  kp_result result = kp_buffer_get(&s->node, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&rows.node);
  if (result == KP_OK) {
    result = measure_links(d, s, m, &mean2, &count);
  }
  if (result == KP_OK) {
    rows.mean2 = mean2.data;
    result = kp_levels_make(d, &rows, backend, &s->levels);
  }
  kp_array_free(&mean2);
  kp_array_free(&count);
  return result;
}

static bool has_hair(const kp_deform *d, const kp_deform_group *group) {
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    if (d->parts.data[d->hair.places.data[k].part].scheme == group->scheme) {
      return true;
    }
  }
  return false;
}

static kp_result make(kp_deform *d, const kp_deform_group *group, kp_backend *backend, kp_sweep *s,
                      draft *m) {
  KP_TRY(find_links(d, group, m));
  KP_TRY(find_pairs(s, m));
  KP_TRY(colour_nodes(m));
  KP_TRY(place_rows(s, m, backend));
  KP_TRY(place_shares(s, m));
  KP_TRY(fill_entries(s, m));
  if (s->has_blocks) {
    KP_TRY(make_blocks(d, group, s, m));
  }
  KP_TRY(kp_poly_make(d, s, backend));
  // bodies of edges gain less by levels than these cost (15 % of the iterations)
  if (!s->has_blocks && !s->has_wide && !s->poly.is_used) {
    KP_TRY(make_levels(d, backend, s, m));
  }
  return make_vectors(s);
}

kp_result kp_sweep_make(kp_deform *d, const kp_deform_group *group, kp_backend *backend,
                        kp_sweep **out) {
  bool is_implicit =
      group->scheme == KP_SCHEME_NEWMARK || group->scheme == KP_SCHEME_BACKWARD_EULER;
  // places of blocks are counted in 32 bits
  bool is_small = BLOCKS_ITEM * d->tets.n < INT32_MAX;
  if (!is_implicit || group->springs.n + group->tets.n == 0 || has_hair(d, group) || !is_small) {
    return KP_OK;
  }
  kp_sweep *s = kp_alloc_zero(sizeof *s, KP_MEMORY_WORLD);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = s;
  s->nodes = group->nodes;
  s->has_springs = group->springs.n > 0;
  s->has_blocks = group->tets.n > 0;
  each_buffer(s, kp_buffer_init, backend);
  kp_poly_init(&s->poly, backend);
  kp_buffer_init(&s->whole.segments, backend);
  kp_buffer_init(&s->whole.shares, backend);
  draft m = { .first = group->nodes.first, .n = group->nodes.n, .has_blocks = s->has_blocks };
  kp_result result = make(d, group, backend, s, &m);
  free_draft(&m);
  return result;
}
