// Stiction: springs between points of segments of different hairs (Selle 2008, section 7.5.2). Made
// where hairs come near, at most so many per segment; constant in stiffness; broken by their
// length, abruptly, as hairs that stick are.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geom/bvh.h"
#include "methods/deform/deform.h"
#include "par/parallel.h"

#define CHUNK 1024          // segments per list of candidates
#define REBUILD_GROWTH 1.5  // of the tree's boxes against those it was built with

typedef struct link {
  uint32_t a, b;  // segments of the deformables, a < b
  double s, t;
  double length;
} link;

typedef KP_ARRAY(link) link_list;

// A segment that may have links.
typedef struct sticky {
  kp_index segment;
  kp_index node[2];
  int32_t hair;
  int32_t place;  // of the hair
  int32_t scheme;
  bool is_led;  // both ends follow a body
} sticky;

typedef struct kp_link_search {
  KP_ARRAY(sticky) segments;
  KP_ARRAY(int32_t) number;  // in `segments`, of a segment of the deformables; -1: none
  KP_ARRAY(int32_t) count;   // links per segment
  kp_aabb *boxes;
  kp_bvh tree;
  double built_size;
  link_list *found;  // per chunk
  int64_t n_chunks;
  link_list kept, made, all;
  KP_ARRAY(uint8_t) bytes;
  KP_ARRAY(uint32_t) words;
  KP_ARRAY(double) numbers;
  KP_ARRAY(kp_index) pairs;
  kp_buffer keep;
  kp_range of_scheme[KP_SCHEME_COUNT];  // links of a group
} link_search;

// ---- life ---------------------------------------------------------------------------------------

static kp_result add_segments(kp_deform *d, size_t which) {
  const kp_hair_place *place = &d->hair.places.data[which];
  const kp_deform_part *part = &d->parts.data[place->part];
  link_search *s = d->hair.links.search;
  const int32_t *start = kp_buffer_host(&d->hair.start, KP_ACCESS_READ);
  const int32_t *parent = kp_buffer_host(&d->hair.parent, KP_ACCESS_READ);
  int64_t hair = place->hairs;
  for (int64_t k = 0; k < part->segments.n; ++k) {
    int64_t segment = part->segments.first + k;
    kp_index a = d->segments.data[2 * segment], b = d->segments.data[2 * segment + 1];
    while (a >= start[hair + 1]) {
      ++hair;
    }
    sticky one = { .segment = (kp_index)segment,
                   .node = { a, b },
                   .hair = (int32_t)hair,
                   .place = (int32_t)which,
                   .scheme = (int32_t)part->scheme,
                   .is_led = parent[a] < 0 && parent[b] < 0 };
    s->number.data[segment] = (int32_t)s->segments.count;
    KP_TRY(kp_array_push(&s->segments, one));
  }
  return KP_OK;
}

static kp_result make_space(kp_hair_links *l, kp_env *env) {
  KP_TRY(kp_registry_add_space(env->registry, "hair_links", KP_SPACE_PAIRS, &l->space));
  const kp_field_desc descs[] = {
    { "segment", KP_TYPE_U32, 1, "", KP_FIELD_SAVE, 0.0 },
    { "other", KP_TYPE_U32, 1, "", KP_FIELD_SAVE, 0.0 },
    { "share", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 },
    { "other_share", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 },
    { "made", KP_TYPE_F64, 1, "m", KP_FIELD_SAVE, 0.0 },
    { "alive", KP_TYPE_U8, 1, "", KP_FIELD_SAVE, 1.0 },
  };
  kp_field **fields[] = { &l->a, &l->b, &l->s, &l->t, &l->length, &l->alive };
  for (size_t f = 0; f < sizeof fields / sizeof fields[0]; ++f) {
    KP_TRY(kp_space_add_field(l->space, &descs[f], fields[f]));
  }
  return KP_OK;
}

static void each_buffer(kp_hair_links *l, void (*each)(kp_buffer *, kp_backend *),
                        kp_backend *backend) {
  kp_buffer *all[] = { &l->node,    &l->weight, &l->rest,  &l->stiffness, &l->damping,
                       &l->longest, &l->made,   &l->start, &l->refs,      &l->along,
                       &l->record,  &l->force,  &l->rate,  &l->pull };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    each(all[b], backend);
  }
}

static kp_result make_search(kp_deform *d, kp_env *env) {
  kp_hair_links *l = &d->hair.links;
  l->search = kp_alloc_zero(sizeof *l->search, KP_MEMORY_WORLD);
  if (l->search == NULL) {
    return KP_ERROR_MEMORY;
  }
  link_search *s = l->search;
  kp_buffer_init(&s->keep, env->backend);
  KP_TRY(kp_array_resize(&s->number, (size_t)d->n_segments));
  for (int64_t i = 0; i < d->n_segments; ++i) {
    s->number.data[i] = -1;
  }
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    if (d->hair.places.data[k].model.stiction > 0.0) {
      KP_TRY(add_segments(d, k));
    }
  }
  size_t n = s->segments.count;
  l->n_segments = (int64_t)n;
  s->n_chunks = ((int64_t)n + CHUNK - 1) / CHUNK;
  KP_TRY(kp_array_resize(&s->count, n));
  void *unused;
  KP_TRY(kp_buffer_room(&l->record, KP_TYPE_REAL, KP_RECORD * d->set->space->n, &unused));
  memset(unused, 0, l->record.used);
  s->boxes = kp_alloc(n * sizeof *s->boxes, KP_MEMORY_WORLD);
  s->found = kp_alloc_zero((size_t)s->n_chunks * sizeof *s->found, KP_MEMORY_WORLD);
  return s->boxes != NULL && s->found != NULL ? make_space(l, env) : KP_ERROR_MEMORY;
}

kp_result kp_hair_join_links(kp_deform *d, kp_env *env) {
  kp_hair_links *l = &d->hair.links;
  each_buffer(l, kp_buffer_init, env->backend);
  // nodes without links still have lists: empty ones
  int32_t *start;
  KP_TRY(kp_buffer_room(&l->start, KP_TYPE_I32, d->set->space->n + 1, &start));
  memset(start, 0, sizeof *start * (size_t)(d->set->space->n + 1));
  for (size_t k = 0; k < d->hair.places.count; ++k) {
    if (d->hair.places.data[k].model.stiction > 0.0) {
      return make_search(d, env);
    }
  }
  return KP_OK;
}

void kp_hair_free_links(kp_deform *d) {
  kp_hair_links *l = &d->hair.links;
  each_buffer(l, kp_buffer_drop, NULL);
  link_search *s = l->search;
  if (s == NULL) {
    return;
  }
  for (int64_t c = 0; c < s->n_chunks && s->found != NULL; ++c) {
    kp_array_free(&s->found[c]);
  }
  kp_free(s->found);
  kp_free(s->boxes);
  kp_bvh_destroy(&s->tree);
  kp_buffer_free(&s->keep);
  kp_array_free(&s->segments);
  kp_array_free(&s->number);
  kp_array_free(&s->count);
  kp_array_free(&s->kept);
  kp_array_free(&s->made);
  kp_array_free(&s->all);
  kp_array_free(&s->bytes);
  kp_array_free(&s->words);
  kp_array_free(&s->numbers);
  kp_array_free(&s->pairs);
  kp_free(s);
  l->search = NULL;
}

// ---- geometry -----------------------------------------------------------------------------------

typedef struct node_positions {
  const kp_pos *c[3];
} node_positions;

static kp_vec3 node_at(const node_positions *x, kp_index i) {
  return kp_vec3_make(x->c[0][i], x->c[1][i], x->c[2][i]);
}

static double clamp01(double v) {
  return v < 0.0 ? 0.0 : (v > 1.0 ? 1.0 : v);
}

// Nearest points of two segments (Ericson 2005, section 5.1.9): their shares, and the distance.
static double nearest_points(const kp_vec3 p[4], double *s, double *t) {
  kp_vec3 u = kp_vec3_sub(p[1], p[0]), v = kp_vec3_sub(p[3], p[2]), w = kp_vec3_sub(p[0], p[2]);
  double a = kp_vec3_dot(u, u), e = kp_vec3_dot(v, v), f = kp_vec3_dot(v, w);
  double b = kp_vec3_dot(u, v), c = kp_vec3_dot(u, w);
  double area = a * e - b * b;
  *s = a > 0.0 && area > 1e-12 * a * e ? clamp01((b * f - c * e) / area) : 0.5;
  *t = e > 0.0 ? (b * *s + f) / e : 0.0;
  if (*t < 0.0 || *t > 1.0) {
    *t = clamp01(*t);
    *s = a > 0.0 ? clamp01((b * *t - c) / a) : 0.0;
  }
  kp_vec3 d = kp_vec3_madd(kp_vec3_madd(w, *s, u), -*t, v);
  return kp_vec3_length(d);
}

static double length_of(const kp_deform *d, const node_positions *x, const link *l) {
  const kp_index *n = &d->segments.data[2 * l->a], *m = &d->segments.data[2 * l->b];
  kp_vec3 p = kp_vec3_madd(kp_vec3_scale(node_at(x, n[0]), 1.0 - l->s), l->s, node_at(x, n[1]));
  kp_vec3 q = kp_vec3_madd(kp_vec3_scale(node_at(x, m[0]), 1.0 - l->t), l->t, node_at(x, m[1]));
  return kp_vec3_length(kp_vec3_sub(p, q));
}

// ---- search -------------------------------------------------------------------------------------

static int compare_places(const void *a, const void *b) {
  const link *p = a, *q = b;
  return p->a != q->a ? (p->a < q->a ? -1 : 1) : (p->b < q->b ? -1 : p->b > q->b);
}

static int compare_lengths(const void *a, const void *b) {
  const link *p = a, *q = b;
  return p->length != q->length ? (p->length < q->length ? -1 : 1) : compare_places(a, b);
}

static bool holds(const link_list *sorted, uint32_t a, uint32_t b) {
  link wanted = { .a = a, .b = b };
  return sorted->count > 0 &&
         bsearch(&wanted, sorted->data, sorted->count, sizeof wanted, compare_places) != NULL;
}

static const kp_part_hair *model_of(const kp_deform *d, int32_t number) {
  const sticky *one = &d->hair.links.search->segments.data[number];
  return &d->hair.places.data[one->place].model;
}

// Links that still hold, in order; how many a segment has.
static kp_result keep_links(kp_deform *d, const node_positions *x) {
  kp_hair_links *l = &d->hair.links;
  link_search *s = l->search;
  const uint32_t *a = kp_buffer_host(&l->a->buffers[0], KP_ACCESS_READ);
  const uint32_t *b = kp_buffer_host(&l->b->buffers[0], KP_ACCESS_READ);
  const double *share = kp_buffer_host(&l->s->buffers[0], KP_ACCESS_READ);
  const double *other = kp_buffer_host(&l->t->buffers[0], KP_ACCESS_READ);
  const double *length = kp_buffer_host(&l->length->buffers[0], KP_ACCESS_READ);
  const uint8_t *alive = kp_buffer_host(&l->alive->buffers[0], KP_ACCESS_READ);
  memset(s->count.data, 0, s->count.count * sizeof *s->count.data);
  s->kept.count = 0;
  for (int64_t k = 0; k < l->space->n; ++k) {
    link one = { .a = a[k], .b = b[k], .s = share[k], .t = other[k], .length = length[k] };
    int32_t i = s->number.data[one.a], j = s->number.data[one.b];
    if (alive[k] != 0 && length_of(d, x, &one) <= model_of(d, i)->stiction_break) {
      KP_TRY(kp_array_push(&s->kept, one));
      ++s->count.data[i];
      ++s->count.data[j];
    }
  }
  return KP_OK;
}

typedef struct search_context {
  const kp_deform *d;
  link_search *s;
  node_positions x;
  kp_result result;  // of any chunk
  // of the segment whose neighbours are looked for
  int32_t i;
  link_list *out;
} search_context;

static void find_boxes(int64_t begin, int64_t end, void *context) {
  search_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    const sticky *one = &c->s->segments.data[i];
    double half = 0.5 * model_of(c->d, (int32_t)i)->stiction_distance;
    kp_vec3 margin = kp_vec3_make(half, half, half);
    kp_vec3 p = node_at(&c->x, one->node[0]), q = node_at(&c->x, one->node[1]);
    c->s->boxes[i].min = kp_vec3_sub(kp_vec3_min(p, q), margin);
    c->s->boxes[i].max = kp_vec3_add(kp_vec3_max(p, q), margin);
  }
}

static double tree_size(const kp_bvh *tree) {
  double sum = 0.0;
  for (kp_index n = 0; n < tree->n_nodes; ++n) {
    kp_vec3 e = kp_vec3_sub(tree->nodes[n].box.max, tree->nodes[n].box.min);
    sum += e.x * e.y + e.y * e.z + e.z * e.x;
  }
  return sum;
}

// What is found does not depend on the tree, so it is built anew only where it has become bad.
static kp_result ready_tree(link_search *s) {
  if (s->tree.n_items > 0) {
    kp_bvh_refit(&s->tree, s->boxes);
    if (tree_size(&s->tree) <= REBUILD_GROWTH * s->built_size) {
      return KP_OK;
    }
    kp_bvh_destroy(&s->tree);
  }
  KP_TRY(kp_bvh_build(s->boxes, (kp_index)s->segments.count, &s->tree));
  s->built_size = tree_size(&s->tree);
  return KP_OK;
}

static bool visit(kp_index j, void *user) {
  search_context *c = user;
  const link_search *s = c->s;
  if (j <= c->i || !kp_aabb_touches(s->boxes[c->i], s->boxes[j])) {
    return true;
  }
  const sticky *one = &s->segments.data[c->i], *other = &s->segments.data[j];
  if (one->hair == other->hair || one->scheme != other->scheme || (one->is_led && other->is_led) ||
      s->count.data[j] >= model_of(c->d, j)->stiction_links) {
    return true;
  }
  link found = { .a = (uint32_t)one->segment, .b = (uint32_t)other->segment };
  kp_vec3 p[4] = { node_at(&c->x, one->node[0]), node_at(&c->x, one->node[1]),
                   node_at(&c->x, other->node[0]), node_at(&c->x, other->node[1]) };
  found.length = nearest_points(p, &found.s, &found.t);
  if (found.length < model_of(c->d, c->i)->stiction_distance &&
      !holds(&s->kept, found.a, found.b) && kp_array_push(c->out, found) != KP_OK) {
    c->result = KP_ERROR_MEMORY;
    return false;
  }
  return true;
}

static void search_chunk(int64_t begin, int64_t end, void *context) {
  search_context own = *(search_context *)context;
  own.out = &own.s->found[begin / CHUNK];
  own.out->count = 0;
  own.result = KP_OK;
  for (int64_t i = begin; i < end; ++i) {
    own.i = (int32_t)i;
    if (own.s->count.data[i] < model_of(own.d, own.i)->stiction_links) {
      kp_bvh_query_box(&own.s->tree, own.s->boxes[i], visit, &own);
    }
  }
  if (own.result != KP_OK) {
    ((search_context *)context)->result = own.result;
  }
}

// The nearest first, as long as both segments have room.
static kp_result choose_links(kp_deform *d) {
  link_search *s = d->hair.links.search;
  s->made.count = 0;
  for (int64_t c = 0; c < s->n_chunks; ++c) {
    size_t n = s->found[c].count;
    KP_TRY(kp_array_reserve(&s->made, s->made.count + n));
    if (n > 0) {
      memcpy(s->made.data + s->made.count, s->found[c].data, n * sizeof(link));
    }
    s->made.count += n;
  }
  if (s->made.count > 0) {
    qsort(s->made.data, s->made.count, sizeof(link), compare_lengths);
  }
  size_t n = s->kept.count;
  KP_TRY(kp_array_resize(&s->all, n + s->made.count));
  if (n > 0) {
    memcpy(s->all.data, s->kept.data, n * sizeof(link));
  }
  for (size_t k = 0; k < s->made.count; ++k) {
    const link *one = &s->made.data[k];
    int32_t i = s->number.data[one->a], j = s->number.data[one->b];
    if (s->count.data[i] < model_of(d, i)->stiction_links &&
        s->count.data[j] < model_of(d, j)->stiction_links) {
      ++s->count.data[i];
      ++s->count.data[j];
      s->all.data[n++] = *one;
    }
  }
  s->all.count = n;
  if (n > 0) {
    qsort(s->all.data, n, sizeof(link), compare_places);
  }
  return KP_OK;
}

// ---- what a step needs of them ------------------------------------------------------------------

static kp_result store(kp_hair_links *l) {
  link_search *s = l->search;
  size_t n = s->all.count, old = (size_t)l->space->n;
  if (old > 0) {
    uint32_t *keep;
    KP_TRY(kp_buffer_room(&s->keep, KP_TYPE_U32, (int64_t)old, &keep));
    memset(keep, 0, old * sizeof *keep);
    KP_TRY(kp_space_remove(l->space, &s->keep));
  }
  KP_TRY(kp_array_resize(&s->words, 2 * n));
  KP_TRY(kp_array_resize(&s->numbers, 3 * n));
  KP_TRY(kp_array_resize(&s->bytes, n));
  for (size_t k = 0; k < n; ++k) {
    s->words.data[k] = s->all.data[k].a;
    s->words.data[n + k] = s->all.data[k].b;
    s->numbers.data[k] = s->all.data[k].s;
    s->numbers.data[n + k] = s->all.data[k].t;
    s->numbers.data[2 * n + k] = s->all.data[k].length;
    s->bytes.data[k] = 1;
  }
  kp_append_value values[] = {
    { l->a, { s->words.data } },
    { l->b, { s->words.data + n } },
    { l->s, { s->numbers.data } },
    { l->t, { s->numbers.data + n } },
    { l->length, { s->numbers.data + 2 * n } },
    { l->alive, { s->bytes.data } },
  };
  return n > 0 ? kp_space_append(l->space, (int64_t)n, values, sizeof values / sizeof values[0])
               : KP_OK;
}

static kp_result fill_links(kp_deform *d) {
  kp_hair_links *l = &d->hair.links;
  const link_search *s = l->search;
  int64_t n = (int64_t)s->all.count;
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  int32_t *node;
  kp_real *weight, *rest, *stiffness, *damping, *longest, *made;
  KP_TRY(kp_buffer_room(&l->node, KP_TYPE_I32, 4 * n, &node));
  KP_TRY(kp_buffer_room(&l->weight, KP_TYPE_REAL, 4 * n, &weight));
  KP_TRY(kp_buffer_room(&l->rest, KP_TYPE_REAL, n, &rest));
  KP_TRY(kp_buffer_room(&l->stiffness, KP_TYPE_REAL, n, &stiffness));
  KP_TRY(kp_buffer_room(&l->damping, KP_TYPE_REAL, n, &damping));
  KP_TRY(kp_buffer_room(&l->longest, KP_TYPE_REAL, n, &longest));
  KP_TRY(kp_buffer_room(&l->made, KP_TYPE_REAL, n, &made));
  for (int64_t k = 0; k < n; ++k) {
    const link *one = &s->all.data[k];
    const kp_part_hair *model = model_of(d, s->number.data[one->a]);
    const double w[4] = { 1.0 - one->s, one->s, one->t - 1.0, -one->t };
    double light = 0.0;
    for (int c = 0; c < 4; ++c) {
      int32_t i = (int32_t)d->segments.data[2 * (c < 2 ? one->a : one->b) + (uint32_t)(c & 1)];
      node[4 * k + c] = i;
      weight[4 * k + c] = (kp_real)w[c];
      light += w[c] * w[c] / (double)mass[i];
    }
    weight[4 * k] = -(weight[4 * k + 1] + weight[4 * k + 2] + weight[4 * k + 3]);
    double k_linear = model->stiction / model->stiction_distance;
    rest[k] = (kp_real)model->stiction_distance;
    stiffness[k] = (kp_real)model->stiction;
    damping[k] = (kp_real)(model->stiction_damping * 2.0 * sqrt(k_linear / light));
    longest[k] = (kp_real)model->stiction_break;
    made[k] = (kp_real)fmin(one->length, model->stiction_distance);
  }
  kp_buffer *scratch[] = { &l->force, &l->rate, &l->along, &l->pull };
  for (int b = 0; b < 4; ++b) {
    void *unused;
    KP_TRY(kp_buffer_room(scratch[b], KP_TYPE_REAL, b < 2 ? n : KP_RECORD * n, &unused));
    memset(unused, 0, scratch[b]->used);
  }
  return KP_OK;
}

// For every node the links it is a corner of, in their order.
static kp_result fill_lists(kp_deform *d) {
  kp_hair_links *l = &d->hair.links;
  int64_t n = d->set->space->n, n_refs = 4 * (int64_t)l->search->all.count;
  const int32_t *node = kp_buffer_host(&l->node, KP_ACCESS_READ);
  int32_t *start, *refs;
  KP_TRY(kp_buffer_room(&l->start, KP_TYPE_I32, n + 1, &start));
  KP_TRY(kp_buffer_room(&l->refs, KP_TYPE_I32, n_refs, &refs));
  memset(start, 0, sizeof *start * (size_t)(n + 1));
  for (int64_t k = 0; k < n_refs; ++k) {
    ++start[node[k] + 1];
  }
  for (int64_t i = 0; i < n; ++i) {
    start[i + 1] += start[i];
  }
  for (int64_t k = 0; k < n_refs; ++k) {
    refs[start[node[k]]++] = (int32_t)k;
  }
  for (int64_t i = n; i > 0; --i) {
    start[i] = start[i - 1];
  }
  start[0] = 0;
  return KP_OK;
}

static void find_ranges(link_search *s) {
  memset(s->of_scheme, 0, sizeof s->of_scheme);
  for (size_t k = 0; k < s->all.count; ++k) {
    kp_range *range = &s->of_scheme[s->segments.data[s->number.data[s->all.data[k].a]].scheme];
    range->first = range->n == 0 ? (int64_t)k : range->first;
    ++range->n;
  }
}

// Contact leaves joined pairs alone: it would fight their springs (section 7.5.3).
static kp_result ignore_links(kp_deform *d) {
  link_search *s = d->hair.links.search;
  size_t n = s->all.count;
  if (d->meet.contact == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_array_resize(&s->pairs, 2 * n));
  for (size_t k = 0; k < n; ++k) {
    s->pairs.data[2 * k] = (kp_index)s->all.data[k].a;
    s->pairs.data[2 * k + 1] = (kp_index)s->all.data[k].b;
  }
  return kp_contact_ignore(d->meet.contact, (const kp_index(*)[2])s->pairs.data, n);
}

kp_result kp_hair_relink(kp_deform *d, kp_env *env) {
  kp_hair_links *l = &d->hair.links;
  (void)env;
  if (l->n_segments == 0) {
    return KP_OK;
  }
  search_context c = { .d = d, .s = l->search };
  for (int k = 0; k < 3; ++k) {
    c.x.c[k] = kp_buffer_host(&d->set->position->buffers[k], KP_ACCESS_READ);
  }
  KP_TRY(keep_links(d, &c.x));
  kp_parallel_for(l->n_segments, CHUNK, find_boxes, &c);
  KP_TRY(ready_tree(l->search));
  kp_parallel_for(l->n_segments, CHUNK, search_chunk, &c);
  KP_TRY(c.result);
  KP_TRY(choose_links(d));
  find_ranges(l->search);
  KP_TRY(ignore_links(d));
  KP_TRY(store(l));
  KP_TRY(fill_links(d));
  return fill_lists(d);
}

// ---- who asks -----------------------------------------------------------------------------------

// Links of a group: they are ordered by segment, and segments by group.
kp_range kp_hair_links_of(const kp_deform *d, const kp_deform_group *group) {
  const kp_hair_links *l = &d->hair.links;
  kp_range range = { 0, 0 };
  if (l->n_segments == 0) {
    return range;
  }
  return l->search->of_scheme[group->scheme];
}

bool kp_hair_is_linked(const kp_deform *d, kp_index segment, kp_index other) {
  const link_search *s = d->hair.links.search;
  uint32_t a = (uint32_t)(segment < other ? segment : other);
  uint32_t b = (uint32_t)(segment < other ? other : segment);
  return s != NULL && holds(&s->all, a, b);
}
