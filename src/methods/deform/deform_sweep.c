#include "methods/deform/deform_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/deform/deform_sweep_kernels.h"
#include "par/kernel_define.h"

DEFORM_SWEEP_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define PASSES 8          // corrections of one solve, at most
#define INNER_SHARE 0.75  // of the tolerance that a correction goes to

// ---- life ---------------------------------------------------------------------------------------

static void each_buffer(kp_sweep *s, void (*each)(kp_buffer *buffer, kp_backend *backend),
                        kp_backend *backend) {
  kp_buffer *all[] = { &s->node,       &s->row,    &s->start,     &s->other,     &s->pair,
                       &s->pair_start, &s->side,   &s->root.c[0], &s->root.c[1], &s->root.c[2],
                       &s->block,      &s->t,      &s->inverse,   &s->minus,     &s->pair_springs,
                       &s->right,      &s->w,      &s->change,    &s->product,   &s->own,
                       &s->guess,      &s->wanted, &s->pull.c[0], &s->pull.c[1], &s->pull.c[2] };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    each(all[k], backend);
  }
}

static void init_one(kp_buffer *buffer, kp_backend *backend) {
  kp_buffer_init(buffer, backend);
}

static void free_one(kp_buffer *buffer, kp_backend *backend) {
  (void)backend;
  kp_buffer_free(buffer);
}

void kp_sweep_destroy(kp_sweep **sweep) {
  kp_sweep *s = *sweep;
  if (s == NULL) {
    return;
  }
  each_buffer(s, free_one, NULL);
  for (size_t c = 0; c < s->colours.count; ++c) {
    kp_buffer_free(&s->colours.data[c].segments);
  }
  kp_array_free(&s->colours);
  kp_free(s);
  *sweep = NULL;
}

// ---- colours and rows ---------------------------------------------------------------------------

// A spring seen from its lower node.
typedef struct link {
  int32_t low, high, spring;
} link;

// What is needed while rows are made.
typedef struct draft {
  int64_t first, n;         // nodes of the group
  const int32_t *a;         // of all springs: where they begin
  KP_ARRAY(link) links;     // springs, sorted by nodes
  KP_ARRAY(int32_t) nodes;  // neighbours of nodes, each once ...
  KP_ARRAY(int32_t) pairs;  // ... and which pair they are
  KP_ARRAY(int32_t) begin;  // of a node in these
  KP_ARRAY(int32_t) colour;
  KP_ARRAY(int32_t) seen;   // by colour: 1 + node that has a neighbour of it
  KP_ARRAY(int64_t) place;  // by colour: next row
} draft;

static void free_draft(draft *m) {
  kp_array_free(&m->links);
  kp_array_free(&m->nodes);
  kp_array_free(&m->pairs);
  kp_array_free(&m->begin);
  kp_array_free(&m->colour);
  kp_array_free(&m->seen);
  kp_array_free(&m->place);
}

static kp_result room(kp_buffer *buffer, kp_type type, int64_t n, void *pointer) {
  buffer->type = (uint8_t)type;
  KP_TRY(kp_buffer_resize(buffer, kp_type_size(type) * (size_t)n));
  return kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, pointer);
}

static int compare_links(const void *left, const void *right) {
  const link *l = left, *r = right;
  if (l->low != r->low) {
    return l->low < r->low ? -1 : 1;
  }
  if (l->high != r->high) {
    return l->high < r->high ? -1 : 1;
  }
  return l->spring < r->spring ? -1 : l->spring > r->spring ? 1 : 0;
}

static kp_result sort_springs(kp_deform *d, const kp_deform_group *group, draft *m) {
  int64_t n = group->springs.n;
  const int32_t *a, *b;
  KP_TRY(kp_buffer_get(&d->springs.a, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&a));
  KP_TRY(kp_buffer_get(&d->springs.b, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&b));
  m->a = a;
  KP_TRY(kp_array_resize(&m->links, (size_t)n));
  for (int64_t k = 0; k < n; ++k) {
    int32_t s = (int32_t)(group->springs.first + k), first = (int32_t)m->first;
    int32_t low = (a[s] < b[s] ? a[s] : b[s]) - first;
    m->links.data[k] = (link){ low, a[s] + b[s] - 2 * first - low, s };
  }
  qsort(m->links.data, (size_t)n, sizeof *m->links.data, compare_links);
  return KP_OK;
}

// Pairs of nodes with the springs between them, and the neighbours of nodes.
static kp_result find_pairs(kp_sweep *s, draft *m) {
  int64_t n = (int64_t)m->links.count, n_pairs = 0;
  int32_t *springs, *start;
  KP_TRY(room(&s->pair_springs, KP_TYPE_I32, n, &springs));
  KP_TRY(room(&s->pair_start, KP_TYPE_I32, n + 1, &start));
  KP_TRY(kp_array_resize(&m->begin, (size_t)m->n + 1));
  int32_t *begin = m->begin.data;
  memset(begin, 0, sizeof *begin * ((size_t)m->n + 1));
  for (int64_t k = 0; k < n; ++k) {
    const link *l = &m->links.data[k];
    springs[k] = l->spring;
    if (k == 0 || l->low != l[-1].low || l->high != l[-1].high) {
      start[n_pairs++] = (int32_t)k;
      ++begin[l->low + 1];
      ++begin[l->high + 1];
    }
  }
  start[n_pairs] = (int32_t)n;
  KP_TRY(kp_array_resize(&m->nodes, (size_t)(2 * n_pairs)));
  KP_TRY(kp_array_resize(&m->pairs, (size_t)(2 * n_pairs)));
  for (int64_t i = 0; i < m->n; ++i) {
    begin[i + 1] += begin[i];
  }
  for (int32_t p = 0; p < (int32_t)n_pairs; ++p) {
    const link *l = &m->links.data[start[p]];
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

// `n` slices from a row on.
static kp_result add_colour(kp_sweep *s, kp_backend *backend, int64_t first, int64_t n) {
  kp_sweep_colour colour = { .n = n };
  kp_buffer_init(&colour.segments, backend);
  KP_TRY(kp_array_push(&s->colours, colour));
  kp_buffer *segments = &s->colours.data[s->colours.count - 1].segments;
  kp_row_segment *runs;
  KP_TRY(kp_buffer_resize(segments, sizeof *runs * (size_t)n));
  KP_TRY(kp_buffer_get(segments, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&runs));
  for (int64_t k = 0; k < n; ++k) {
    int64_t i0 = first + k * SWEEP_SLICE;
    runs[k] = (kp_row_segment){ .j = (int32_t)(i0 / SWEEP_SLICE),
                                .i0 = (int32_t)i0,
                                .i1 = (int32_t)(i0 + SWEEP_SLICE) };
  }
  return KP_OK;
}

// Rows of nodes, colour by colour, and the slices of each.
static kp_result place_rows(kp_sweep *s, draft *m, kp_backend *backend) {
  size_t n_colours = m->seen.count;
  KP_TRY(kp_array_resize(&m->place, n_colours));
  memset(m->place.data, 0, sizeof *m->place.data * n_colours);
  for (int64_t i = 0; i < m->n; ++i) {
    ++m->place.data[m->colour.data[i]];
  }
  for (size_t c = 0; c < n_colours; ++c) {
    int64_t n_slices = (m->place.data[c] + SWEEP_SLICE - 1) / SWEEP_SLICE;
    m->place.data[c] = s->rows;
    KP_TRY(add_colour(s, backend, s->rows, n_slices));
    s->rows += n_slices * SWEEP_SLICE;
  }
  int32_t *node, *row;
  KP_TRY(room(&s->node, KP_TYPE_I32, s->rows, &node));
  KP_TRY(room(&s->row, KP_TYPE_I32, m->n, &row));
  for (int64_t r = 0; r < s->rows; ++r) {
    node[r] = -1;
  }
  for (int64_t i = 0; i < m->n; ++i) {
    row[i] = (int32_t)m->place.data[m->colour.data[i]]++;
    node[row[i]] = (int32_t)(m->first + i);
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
} entry_arrays;

// Entries of node i on one side, SWEEP_SLICE apart from e on; returns where the next one would be.
static int64_t write_side(const draft *m, int64_t i, int later, const entry_arrays *to, int64_t e) {
  for (int32_t k = m->begin.data[i]; k < m->begin.data[i + 1]; ++k) {
    if (is_later(m, i, m->nodes.data[k]) == later) {
      int32_t pair = m->pairs.data[k];
      bool ends_here = m->a[to->springs[to->start[pair]]] != m->first + i;
      to->other[e] = to->row[m->nodes.data[k]];
      to->pair[e] = 2 * pair + ends_here;
      e += SWEEP_SLICE;
    }
  }
  return e;
}

static kp_result fill_entries(kp_sweep *s, const draft *m) {
  int64_t n_sides = 2 * (s->rows / SWEEP_SLICE);
  int32_t *node, *row, *start, *other, *pair;
  KP_TRY(kp_buffer_get(&s->node, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&node));
  KP_TRY(kp_buffer_get(&s->row, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&row));
  KP_TRY(room(&s->start, KP_TYPE_I32, n_sides + 1, &start));
  start[0] = 0;
  for (int64_t k = 0; k < n_sides; ++k) {
    int32_t width = 0;
    for (int64_t r = k / 2 * SWEEP_SLICE; r < (k / 2 + 1) * SWEEP_SLICE; ++r) {
      int32_t length = node[r] < 0 ? 0 : count_side(m, node[r] - m->first, (int)(k % 2));
      width = length > width ? length : width;
    }
    start[k + 1] = start[k] + width * SWEEP_SLICE;
  }
  s->n_entries = start[n_sides];
  KP_TRY(room(&s->other, KP_TYPE_I32, s->n_entries, &other));
  KP_TRY(room(&s->pair, KP_TYPE_I32, s->n_entries, &pair));
  entry_arrays to = { .row = row, .other = other, .pair = pair };
  KP_TRY(kp_buffer_get(&s->pair_springs, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&to.springs));
  KP_TRY(kp_buffer_get(&s->pair_start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&to.start));
  for (int64_t k = 0; k < n_sides; ++k) {
    for (int64_t l = 0; l < SWEEP_SLICE; ++l) {
      int64_t r = k / 2 * SWEEP_SLICE + l, e = start[k] + l;
      if (node[r] >= 0) {
        e = write_side(m, node[r] - m->first, (int)(k % 2), &to, e);
      }
      for (; e < start[k + 1]; e += SWEEP_SLICE) {
        other[e] = (int32_t)r;
        pair[e] = -1;
      }
    }
  }
  return KP_OK;
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
  KP_TRY(kp_vector3_resize(&s->root, KP_TYPE_REAL, s->n_entries));
  KP_TRY(kp_vector3_resize(&s->pull, KP_TYPE_REAL, s->n_entries));
  KP_TRY(kp_vector_resize(&s->own, SWEEP_OWN * s->rows));
  return kp_vector_resize(&s->side, s->n_entries);
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
  KP_TRY(sort_springs(d, group, m));
  KP_TRY(find_pairs(s, m));
  KP_TRY(colour_nodes(m));
  KP_TRY(place_rows(s, m, backend));
  KP_TRY(fill_entries(s, m));
  return make_vectors(s);
}

kp_result kp_sweep_make(kp_deform *d, const kp_deform_group *group, kp_backend *backend,
                        kp_sweep **out) {
  bool is_implicit =
      group->scheme == KP_SCHEME_NEWMARK || group->scheme == KP_SCHEME_BACKWARD_EULER;
  if (!is_implicit || group->springs.n == 0 || group->tets.n > 0 || has_hair(d, group)) {
    return KP_OK;
  }
  kp_sweep *s = kp_alloc_zero(sizeof *s, KP_MEMORY_WORLD);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = s;
  s->nodes = group->nodes;
  each_buffer(s, init_one, backend);
  draft m = { .first = group->nodes.first, .n = group->nodes.n };
  kp_result result = make(d, group, backend, s, &m);
  free_draft(&m);
  return result;
}

// ---- a system -----------------------------------------------------------------------------------

kp_result kp_sweep_fill(kp_deform *d, kp_sweep *s, double h) {
  sweep_fill_args a = { .h = (kp_real)h };
  kp_call call;
  kp_call_init(&call, &sweep_fill_kernel, &a);
  KP_BIND(&call, &a, pair, &s->pair, KP_ACCESS_READ);
  KP_BIND(&call, &a, pair_start, &s->pair_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, pair_springs, &s->pair_springs, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, d, &d->springs.direction, KP_ACCESS_READ);
  KP_BIND(&call, &a, force, &d->springs.force, KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &d->springs.rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, side, &d->springs.side, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, q, &s->root, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, qs, &s->side, KP_ACCESS_OVERWRITE);
  KP_BIND_VECTOR3(&call, &a, f, &s->pull, KP_ACCESS_OVERWRITE);
  s->h = h;
  return kp_call_run(d->set->space->backend, &call, s->n_entries);
}

static void bind_entries(kp_call *call, sweep_entries *e, kp_sweep *s) {
  size_t base = (size_t)((char *)e - (char *)call->args);
#define BIND_IN(member, buffer)                                                                    \
  kp_call_bind(call, base + offsetof(sweep_entries, member), (buffer), KP_ACCESS_READ)
  BIND_IN(start, &s->start);
  BIND_IN(other, &s->other);
  BIND_IN(qx, &s->root.c[0]);
  BIND_IN(qy, &s->root.c[1]);
  BIND_IN(qz, &s->root.c[2]);
  BIND_IN(qs, &s->side);
#undef BIND_IN
}

kp_result kp_sweep_pull(kp_deform *d, kp_sweep *s, kp_buffer v[3]) {
  kp_backend *backend = d->set->space->backend;
  sweep_collect_args p = { 0 };
  kp_call call;
  kp_call_init(&call, &sweep_collect_kernel, &p);
  KP_BIND(&call, &p, node, &s->node, KP_ACCESS_READ);
  KP_BIND(&call, &p, x, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &p, y, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &p, z, &v[2], KP_ACCESS_READ);
  KP_BIND(&call, &p, to, &s->t, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, s->rows));
  sweep_pull_args a = { .rows = s->rows };
  kp_call_init(&call, &sweep_pull_kernel, &a);
  bind_entries(&call, &a.entries, s);
  KP_BIND_VECTOR3(&call, &a, f, &s->pull, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &s->t, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &s->product, KP_ACCESS_WRITE);
  for (size_t c = 0; c < s->colours.count; ++c) {
    KP_TRY(kp_call_rows(backend, &call, &s->colours.data[c].segments, s->colours.data[c].n));
  }
  return KP_OK;
}

kp_result kp_sweep_factor(kp_deform *d, kp_sweep *s, double h) {
  sweep_block_args a = { .rows = s->rows, .h = (kp_real)h };
  kp_call call;
  kp_call_init(&call, &sweep_block_kernel, &a);
  bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, node, &s->node, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, slow, &d->slow, KP_ACCESS_READ);
  KP_BIND(&call, &a, drag, &d->drag, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, n, &d->outward, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, c, &d->normal, KP_ACCESS_READ);
  KP_BIND(&call, &a, block, &s->block, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, inverse, &s->inverse, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, own, &s->own, KP_ACCESS_WRITE);
  for (size_t c = 0; c < s->colours.count; ++c) {
    KP_TRY(kp_call_rows(d->set->space->backend, &call, &s->colours.data[c].segments,
                        s->colours.data[c].n));
  }
  return KP_OK;
}

// ---- sweeps -------------------------------------------------------------------------------------

typedef struct job {
  kp_deform *deform;
  kp_sweep *sweep;
  kp_backend *backend;
} job;

// t = (D + L^T)^-1 x; `minus` may be NULL.
static kp_result back(const job *j, kp_buffer *x, kp_buffer *t, kp_buffer *minus) {
  kp_sweep *s = j->sweep;
  sweep_back_args a = { .rows = s->rows };
  kp_call call;
  kp_call_init(&call, &sweep_back_kernel, &a);
  bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, inverse, &s->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, t, t, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, minus, minus, KP_ACCESS_WRITE);
  for (size_t c = s->colours.count; c-- > 0;) {
    KP_TRY(kp_call_rows(j->backend, &call, &s->colours.data[c].segments, s->colours.data[c].n));
  }
  return KP_OK;
}

// y = t + (D + L)^-1 x; t may be NULL.
static kp_result forth(const job *j, kp_buffer *x, kp_buffer *t, kp_buffer *y) {
  kp_sweep *s = j->sweep;
  sweep_forth_args a = { .rows = s->rows };
  kp_call call;
  kp_call_init(&call, &sweep_forth_kernel, &a);
  bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, inverse, &s->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, t, t, KP_ACCESS_READ);
  KP_BIND(&call, &a, w, &s->w, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, y, y, KP_ACCESS_WRITE);
  for (size_t c = 0; c < s->colours.count; ++c) {
    KP_TRY(kp_call_rows(j->backend, &call, &s->colours.data[c].segments, s->colours.data[c].n));
  }
  return KP_OK;
}

static kp_result apply_inner(void *self, kp_buffer *x, kp_buffer *y) {
  const job *j = self;
  KP_TRY(back(j, x, &j->sweep->t, &j->sweep->minus));
  return forth(j, &j->sweep->minus, &j->sweep->t, y);
}

static kp_result weigh(void *self, kp_buffer *r, kp_buffer *u) {
  const job *j = self;
  sweep_weigh_args a = { .rows = j->sweep->rows };
  kp_call call;
  kp_call_init(&call, &sweep_weigh_kernel, &a);
  KP_BIND(&call, &a, block, &j->sweep->block, KP_ACCESS_READ);
  KP_BIND(&call, &a, r, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, u, KP_ACCESS_OVERWRITE);
  return kp_call_run(j->backend, &call, j->sweep->rows);
}

// A vector of nodes as one of rows.
static kp_result gather(const job *j, kp_buffer *from, kp_buffer *to) {
  kp_sweep *s = j->sweep;
  int64_t n = s->nodes.n, first = s->nodes.first;
  sweep_gather_args a = { .rows = s->rows,
                          .from = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_call call;
  kp_call_init(&call, &sweep_gather_kernel, &a);
  KP_BIND(&call, &a, node, &s->node, KP_ACCESS_READ);
  KP_BIND(&call, &a, from.x, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, from.y, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, from.z, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, to, to, KP_ACCESS_OVERWRITE);
  return kp_call_run(j->backend, &call, s->rows);
}

// out = (D + L)^-1 x, and its length.
static kp_result enter(const job *j, kp_buffer *x, kp_buffer *out, double *length) {
  KP_TRY(forth(j, x, NULL, out));
  KP_TRY(kp_vector_dot(3 * j->sweep->rows, out, out, length));
  *length = sqrt(*length);
  return KP_OK;
}

// product = A u
static kp_result multiply(const job *j, kp_buffer *u) {
  kp_sweep *s = j->sweep;
  sweep_pack_args p = { .rows = s->rows };
  kp_call call;
  kp_call_init(&call, &sweep_pack_kernel, &p);
  KP_BIND(&call, &p, from, u, KP_ACCESS_READ);
  KP_BIND(&call, &p, to, &s->t, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(j->backend, &call, s->rows));
  sweep_product_args a = { .rows = s->rows };
  kp_call_init(&call, &sweep_product_kernel, &a);
  bind_entries(&call, &a.entries, s);
  KP_BIND(&call, &a, own, &s->own, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &s->t, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, &s->product, KP_ACCESS_WRITE);
  for (size_t c = 0; c < s->colours.count; ++c) {
    KP_TRY(kp_call_rows(j->backend, &call, &s->colours.data[c].segments, s->colours.data[c].n));
  }
  return KP_OK;
}

// deform->change += (D + L^T)^-1 x
static kp_result leave(const job *j, kp_buffer *x) {
  kp_sweep *s = j->sweep;
  int64_t n = s->nodes.n, first = s->nodes.first;
  KP_TRY(back(j, x, &s->t, NULL));
  sweep_scatter_args a = { .first = first,
                           .to = { .o = -first, .p = n - first, .q = 2 * n - first } };
  kp_buffer *to = &j->deform->change;
  kp_call call;
  kp_call_init(&call, &sweep_scatter_kernel, &a);
  KP_BIND(&call, &a, row, &s->row, KP_ACCESS_READ);
  KP_BIND(&call, &a, from, &s->t, KP_ACCESS_READ);
  KP_BIND(&call, &a, to.x, to, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, to.y, to, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, to.z, to, KP_ACCESS_WRITE);
  return kp_call_run(j->backend, &call, n);
}

// ---- the solve ----------------------------------------------------------------------------------

// The guess, as the best of its line (pcg.h), and product = what it leaves to be done.
static kp_result fit_guess(const job *j) {
  kp_sweep *s = j->sweep;
  int64_t n = 3 * s->rows;
  double with_b, with_a;
  KP_TRY(kp_vector_dot(n, &s->guess, &s->wanted, &with_b));
  KP_TRY(kp_vector_dot(n, &s->guess, &s->product, &with_a));
  double factor = with_a > 0.0 && isfinite(with_b / with_a) ? with_b / with_a : 0.0;
  KP_TRY(kp_vector_scale(3 * s->nodes.n, factor, &j->deform->change));
  return kp_vector_xpay(n, &s->wanted, -factor, &s->product);
}

kp_result kp_sweep_solve(kp_deform *d, kp_sweep *s) {
  job j = { d, s, d->set->space->backend };
  kp_pcg_report total = { 0 };
  kp_pcg_def how = kp_default_pcg_def();
  how.name = "solids";
  how.n = 3 * s->rows;
  how.apply = apply_inner;
  how.apply_self = &j;
  how.precondition = weigh;
  how.precondition_self = &j;
  how.is_correction = true;
  how.tolerance = INNER_SHARE * d->def.tolerance;
  KP_TRY(gather(&j, &d->right, &s->wanted));
  KP_TRY(enter(&j, &s->wanted, &s->right, &how.right));
  if (!isfinite(how.right)) {
    return kp_fail(KP_ERROR_PHYSICS, "solids: forces are not finite");
  }
  total.right = how.right;
  for (int pass = 0; how.right > 0.0; ++pass) {
    double length;
    KP_TRY(gather(&j, &d->change, &s->guess));
    KP_TRY(multiply(&j, &s->guess));
    KP_TRY(pass == 0 ? fit_guess(&j) : kp_vector_xpay(how.n, &s->wanted, -1.0, &s->product));
    KP_TRY(enter(&j, &s->product, &s->right, &length));
    total.residual = length / how.right;
    total.is_converged = total.residual <= d->def.tolerance;
    how.max_iterations = (int)d->def.iterations - total.iterations;
    if (total.is_converged || pass == PASSES || how.max_iterations <= 0) {
      break;
    }
    KP_TRY(kp_pcg_solve(&d->pcg, &how, &s->right, &s->change));
    total.iterations += d->pcg.report.iterations;
    total.restarts += pass > 0;
    KP_TRY(leave(&j, &s->change));
  }
  if (how.right == 0.0) {
    KP_TRY(kp_vector_fill(3 * s->nodes.n, 0.0, &d->change));
  }
  d->pcg.report = total;
  return KP_OK;
}
