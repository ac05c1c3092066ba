// Limits on the length of edges: ordered lists that move one end (directional constraint
// enforcement, Ozgen 2013, chapter 6) and passes over all edges that move both (Provot 1995). A
// part may have several maps; the one that is wanted most in a step is used.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/curve.h"
#include "geom/shape.h"
#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_propose_kernel, fabric_tighten_kernel, fabric_provot_kernel,
    fabric_settle_kernel, fabric_watch_kernel, fabric_changed_kernel, fabric_touched_kernel;

// ---- life ---------------------------------------------------------------------------------------

static void each_buffer(kp_limit *m, void (*each)(kp_buffer *buffer, kp_backend *backend),
                        kp_backend *backend) {
  kp_limit_seams *seams = &m->seams;
  kp_buffer *all[] = { &m->by_wave,    &m->from,         &m->to,         &m->rest,
                       &m->start,      &m->out,          &m->shift.c[0], &m->shift.c[1],
                       &m->shift.c[2], &seams->by_color, &seams->from,   &seams->to,
                       &seams->rest,   &m->inside };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    each(all[b], backend);
  }
}

static void free_map(kp_limit *m) {
  each_buffer(m, kp_buffer_drop, NULL);
  kp_array_free(&m->waves);
  kp_array_free(&m->seams.colors);
  kp_array_free(&m->fixed);
  kp_array_free(&m->edges);
  kp_array_free(&m->sketch.links);
  kp_array_free(&m->sketch.lengths);
  kp_array_free(&m->sketch.depth);
}

void kp_limited_destroy(kp_limited **limited) {
  for (size_t m = 0; m < (*limited)->maps.count; ++m) {
    free_map(&(*limited)->maps.data[m]);
  }
  kp_array_free(&(*limited)->maps);
  kp_array_free(&(*limited)->order);
  kp_free(*limited);
  *limited = NULL;
}

static kp_result put(kp_buffer *buffer, kp_type type, const void *items, size_t n) {
  buffer->type = (uint8_t)type;
  KP_TRY(kp_buffer_resize(buffer, kp_type_size(type) * n));
  void *data;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &data));
  if (n > 0) {
    memcpy(data, items, kp_type_size(type) * n);
  }
  return KP_OK;
}

// ---- what a map is made from --------------------------------------------------------------------

static kp_result collect(const kp_deform *d, const kp_deform_part *part, kp_limit_sketch *s) {
  const int32_t *a, *b;
  const kp_real *rest;
  kp_deform_springs *springs = (kp_deform_springs *)&d->springs;
  KP_TRY(kp_buffer_get(&springs->a, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&a));
  KP_TRY(kp_buffer_get(&springs->b, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&b));
  KP_TRY(kp_buffer_get(&springs->rest, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&rest));
  for (int64_t k = part->springs.first; k < part->springs.first + part->springs.n; ++k) {
    kp_spring_kind kind = (kp_spring_kind)springs->kinds.data[k];
    if (kind == KP_SPRING_EDGE || kind == KP_SPRING_SHEAR) {
      kp_link link = { a[k] - (kp_index)part->nodes.first, b[k] - (kp_index)part->nodes.first,
                       kind == KP_SPRING_SHEAR ? KP_LINK_SHEAR : KP_LINK_VERTICAL };
      KP_TRY(kp_array_push(&s->links, link));
      KP_TRY(kp_array_push(&s->lengths, (double)rest[k]));
    }
  }
  return KP_OK;
}

static kp_result find_inside(const kp_limit *m, kp_deform *d, kp_env *env,
                             const kp_deform_part *part, uint8_t *inside) {
  memset(inside, 0, (size_t)part->nodes.n);
  const kp_shape_def *box = &m->def.shape;
  if (box->kind == KP_SHAPE_BOX && box->min.x == box->max.x && box->min.y == box->max.y &&
      box->min.z == box->max.z) {
    return KP_OK;  // not said
  }
  kp_shape *shape;
  KP_TRY(kp_shape_build(&m->def.shape, env->scenery.folder, &shape));
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  for (int64_t e = 0; e < part->nodes.n; ++e) {
    int64_t i = part->nodes.first + e;
    kp_vec3 at = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
    inside[e] = kp_shape_distance(shape, at) <= 0.0;
  }
  kp_shape_destroy(&shape);
  return KP_OK;
}

// Nodes that pins hold from the start, and those in the shape of the map.
static kp_result find_fixed(kp_limit *m, kp_deform *d, kp_env *env, const kp_deform_part *part) {
  KP_TRY(kp_array_resize(&m->fixed, (size_t)part->nodes.n));
  memset(m->fixed.data, 0, (size_t)part->nodes.n);
  const int32_t *list;
  KP_TRY(kp_buffer_get(&d->pin_list, KP_SIDE_HOST, KP_ACCESS_READ, (void **)(uintptr_t)&list));
  for (size_t p = 0; p < d->pins.count; ++p) {
    const kp_deform_pin *pin = &d->pins.data[p];
    for (int64_t k = pin->nodes.first; k < pin->nodes.first + pin->nodes.n; ++k) {
      int64_t e = list[k] - part->nodes.first;
      if (e >= 0 && e < part->nodes.n && pin->def.start <= 0.0) {
        m->fixed.data[e] = 1;
      }
    }
  }
  KP_ARRAY(uint8_t) inside = { 0 };
  KP_TRY(kp_array_resize(&inside, (size_t)part->nodes.n));
  kp_result result = find_inside(m, d, env, part, inside.data);
  for (int64_t e = 0; e < part->nodes.n && result == KP_OK; ++e) {
    if (m->fixed.data[e] == KP_NODE_FREE && inside.data[e] != 0) {
      m->fixed.data[e] = m->def.slides ? KP_NODE_CARRIED : KP_NODE_FIXED;
    }
  }
  result =
      result == KP_OK ? put(&m->inside, KP_TYPE_U8, inside.data, (size_t)part->nodes.n) : result;
  kp_array_free(&inside);
  return result;
}

// Along gravity where nodes were at the start, however they hang when a list is made anew.
static kp_result find_depth(const kp_limit *m, kp_deform *d, const kp_env *env, kp_range nodes,
                            kp_limit_sketch *s) {
  bool is_first = s->depth.count == 0;
  KP_TRY(kp_array_resize(&s->depth, (size_t)nodes.n));
  if (m->def.down == KP_DOWN_DISTANCE) {
    return kp_edge_depths(nodes.n, s->links.data, s->lengths.data, s->links.count, m->fixed.data,
                          s->depth.data);
  }
  kp_vec3 g = kp_vec3_normalize(env->simulation.gravity);
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  for (int64_t e = 0; e < nodes.n && is_first; ++e) {
    int64_t i = nodes.first + e;
    s->depth.data[e] = g.x * x[0][i] + g.y * x[1][i] + g.z * x[2][i];
  }
  return KP_OK;
}

// ---- lists --------------------------------------------------------------------------------------

static const kp_link_kind kinds_of[KP_LIST_ORDER_COUNT][3] = {
  [KP_LIST_HVS] = { KP_LINK_HORIZONTAL, KP_LINK_VERTICAL, KP_LINK_SHEAR },
  [KP_LIST_HSV] = { KP_LINK_HORIZONTAL, KP_LINK_SHEAR, KP_LINK_VERTICAL },
  [KP_LIST_VHS] = { KP_LINK_VERTICAL, KP_LINK_HORIZONTAL, KP_LINK_SHEAR },
  [KP_LIST_VSH] = { KP_LINK_VERTICAL, KP_LINK_SHEAR, KP_LINK_HORIZONTAL },
  [KP_LIST_SHV] = { KP_LINK_SHEAR, KP_LINK_HORIZONTAL, KP_LINK_VERTICAL },
  [KP_LIST_SVH] = { KP_LINK_SHEAR, KP_LINK_VERTICAL, KP_LINK_HORIZONTAL },
};

// Rest length of the spring between two nodes. Links of a node are few; they are found by pair.
typedef struct length_of {
  kp_index a, b;
  double length;
} length_of;

static int compare_lengths(const void *left, const void *right) {
  const length_of *l = left, *r = right;
  return l->a != r->a ? (l->a < r->a ? -1 : 1) : (l->b > r->b) - (l->b < r->b);
}

static length_of pair_of(kp_index a, kp_index b, double length) {
  return (length_of){ a < b ? a : b, a < b ? b : a, length };
}

static kp_result put_lengths(kp_limit *m, const kp_limit_sketch *s) {
  KP_ARRAY(length_of) table = { 0 };
  KP_ARRAY(kp_real) rest = { 0 };
  kp_result result = kp_array_resize(&table, s->links.count);
  if (result == KP_OK) {
    result = kp_array_resize(&rest, (size_t)m->n_edges);
  }
  if (result == KP_OK) {
    for (size_t l = 0; l < s->links.count; ++l) {
      table.data[l] = pair_of(s->links.data[l].a, s->links.data[l].b, s->lengths.data[l]);
    }
    qsort(table.data, table.count, sizeof table.data[0], compare_lengths);
    for (int64_t e = 0; e < m->n_edges; ++e) {
      length_of key = pair_of(m->edges.data[e].from, m->edges.data[e].to, 0.0);
      const length_of *found =
          bsearch(&key, table.data, table.count, sizeof table.data[0], compare_lengths);
      rest.data[e] = (kp_real)(found != NULL ? found->length : 0.0);
    }
    result = put(&m->rest, KP_TYPE_REAL, rest.data, rest.count);
  }
  kp_array_free(&table);
  kp_array_free(&rest);
  return result;
}

// Ends of the edges, and for every node those that start at it.
static kp_result put_edges(kp_limit *m, int64_t n) {
  KP_ARRAY(int32_t) ends = { 0 };
  KP_ARRAY(int32_t) start = { 0 };
  size_t count = (size_t)m->n_edges;
  kp_result result = kp_array_resize(&ends, 3 * count);
  if (result == KP_OK) {
    result = kp_array_resize(&start, (size_t)n + 2);
  }
  if (result == KP_OK) {
    int32_t *from = ends.data, *to = from + count, *out = to + count;
    memset(start.data, 0, sizeof(int32_t) * ((size_t)n + 2));
    for (size_t e = 0; e < count; ++e) {
      from[e] = m->edges.data[e].from;
      to[e] = m->edges.data[e].to;
      ++start.data[from[e] + 2];
    }
    for (int64_t i = 0; i < n; ++i) {
      start.data[i + 2] += start.data[i + 1];
    }
    for (size_t e = 0; e < count; ++e) {
      out[start.data[from[e] + 1]++] = (int32_t)e;
    }
    result = put(&m->from, KP_TYPE_I32, from, count);
    result = result == KP_OK ? put(&m->to, KP_TYPE_I32, to, count) : result;
    result = result == KP_OK ? put(&m->out, KP_TYPE_I32, out, count) : result;
    result = result == KP_OK ? put(&m->start, KP_TYPE_I32, start.data, (size_t)n + 1) : result;
  }
  kp_array_free(&ends);
  kp_array_free(&start);
  return result;
}

static kp_result make_list(kp_limit *m, int64_t n, const kp_limit_sketch *s) {
  kp_edge_graph graph;
  KP_TRY(kp_edge_graph_make(n, s->links.data, s->links.count, s->depth.data, &graph));
  kp_walk_def walk = { .walk = (kp_walk)m->def.walk,
                       .visits = m->def.visits,
                       .is_fixed = m->fixed.data };
  memcpy(walk.kinds, kinds_of[m->def.order], sizeof walk.kinds);
  kp_edge_order order;
  kp_result result = kp_edge_order_make(&graph, &walk, &order);
  kp_edge_graph_free(&graph);
  KP_TRY(result);
  m->n_edges = (int64_t)order.edges.count;
  result = put(&m->by_wave, KP_TYPE_I32, order.by_wave.data, order.by_wave.count);
  for (size_t w = 0; w < order.waves.count && result == KP_OK; ++w) {
    result = kp_array_push(&m->waves, order.waves.data[w]);
  }
  for (size_t e = 0; e < order.edges.count && result == KP_OK; ++e) {
    result = kp_array_push(&m->edges, order.edges.data[e]);
  }
  kp_edge_order_free(&order);
  return result;
}

// Links in the order of their colours, and where each colour starts.
typedef struct colored {
  KP_ARRAY(int32_t) by_color;
  KP_ARRAY(int32_t) first;
} colored;

static kp_result color_links(int64_t n, const kp_links *links, colored *out) {
  KP_ARRAY(int32_t) colors = { 0 };
  int32_t n_colors = 0;
  size_t count = links->count;
  kp_result result = kp_array_resize(&colors, count);
  if (result == KP_OK) {
    result = kp_edge_colors(n, links->data, count, colors.data, &n_colors);
  }
  for (int32_t c = 0; c < n_colors && result == KP_OK; ++c) {
    result = kp_array_push(&out->first, (int32_t)out->by_color.count);
    for (size_t l = 0; l < count && result == KP_OK; ++l) {
      if (colors.data[l] == c) {
        result = kp_array_push(&out->by_color, (int32_t)l);
      }
    }
  }
  if (result == KP_OK) {
    result = kp_array_push(&out->first, (int32_t)count);
  }
  kp_array_free(&colors);
  return result;
}

static void free_colored(colored *c) {
  kp_array_free(&c->by_color);
  kp_array_free(&c->first);
}

// Provot's passes: all edges, colour by colour.
static kp_result make_colors(kp_limit *m, int64_t n, const kp_limit_sketch *s) {
  colored order = { 0 };
  kp_result result = color_links(n, &s->links, &order);
  for (size_t l = 0; l < s->links.count && result == KP_OK; ++l) {
    kp_ordered_edge edge = { s->links.data[l].a, s->links.data[l].b,
                             (uint8_t)s->links.data[l].kind };
    result = kp_array_push(&m->edges, edge);
  }
  for (size_t c = 0; c < order.first.count && result == KP_OK; ++c) {
    result = kp_array_push(&m->waves, order.first.data[c]);
  }
  m->n_edges = (int64_t)s->links.count;
  if (result == KP_OK) {
    result = put(&m->by_wave, KP_TYPE_I32, order.by_color.data, order.by_color.count);
  }
  free_colored(&order);
  return result;
}

// ---- seams --------------------------------------------------------------------------------------

// Links that no edge of the list keeps, with their lengths.
static kp_result find_seams(const kp_limit *m, const kp_limit_sketch *s, kp_limit_sketch *out) {
  KP_ARRAY(length_of) table = { 0 };
  kp_result result = kp_array_resize(&table, (size_t)m->n_edges);
  if (result == KP_OK) {
    for (int64_t e = 0; e < m->n_edges; ++e) {
      table.data[e] = pair_of(m->edges.data[e].from, m->edges.data[e].to, 0.0);
    }
    qsort(table.data, table.count, sizeof table.data[0], compare_lengths);
  }
  for (size_t l = 0; l < s->links.count && result == KP_OK; ++l) {
    length_of key = pair_of(s->links.data[l].a, s->links.data[l].b, 0.0);
    if (bsearch(&key, table.data, table.count, sizeof table.data[0], compare_lengths) == NULL) {
      result = kp_array_push(&out->links, s->links.data[l]);
      if (result == KP_OK) {
        result = kp_array_push(&out->lengths, s->lengths.data[l]);
      }
    }
  }
  kp_array_free(&table);
  return result;
}

static kp_result put_seams(kp_limit_seams *seams, const kp_limit_sketch *s, const colored *order) {
  KP_ARRAY(int32_t) ends = { 0 };
  KP_ARRAY(kp_real) rest = { 0 };
  size_t count = s->links.count;
  kp_result result = kp_array_resize(&ends, 2 * count + 1);
  if (result == KP_OK) {
    result = kp_array_resize(&rest, count + 1);
  }
  for (size_t l = 0; l < count && result == KP_OK; ++l) {
    ends.data[l] = s->links.data[l].a;
    ends.data[count + l] = s->links.data[l].b;
    rest.data[l] = (kp_real)s->lengths.data[l];
  }
  const int32_t *by_color = order->by_color.data;
  result = result == KP_OK ? put(&seams->by_color, KP_TYPE_I32, by_color, count) : result;
  result = result == KP_OK ? put(&seams->from, KP_TYPE_I32, ends.data, count) : result;
  result = result == KP_OK ? put(&seams->to, KP_TYPE_I32, ends.data + count, count) : result;
  result = result == KP_OK ? put(&seams->rest, KP_TYPE_REAL, rest.data, count) : result;
  seams->colors.count = 0;
  for (size_t c = 0; c < order->first.count && result == KP_OK; ++c) {
    result = kp_array_push(&seams->colors, order->first.data[c]);
  }
  kp_array_free(&ends);
  kp_array_free(&rest);
  return result;
}

static kp_result make_seams(kp_limit *m, int64_t n, const kp_limit_sketch *s) {
  kp_limit_sketch left = { 0 };
  colored order = { 0 };
  kp_result result = find_seams(m, s, &left);
  result = result == KP_OK ? color_links(n, &left.links, &order) : result;
  result = result == KP_OK ? put_seams(&m->seams, &left, &order) : result;
  free_colored(&order);
  kp_array_free(&left.links);
  kp_array_free(&left.lengths);
  return result;
}

// The list of the fixed nodes, or the colours of passes.
static kp_result make_edges(kp_limit *m, kp_deform *d, const kp_env *env, kp_range nodes) {
  kp_limit_sketch *s = &m->sketch;
  m->waves.count = m->edges.count = 0;
  if (m->def.method == KP_LIMIT_PROVOT) {
    KP_TRY(make_colors(m, nodes.n, s));
  } else {
    KP_TRY(find_depth(m, d, env, nodes, s));
    KP_TRY(make_list(m, nodes.n, s));
    KP_TRY(m->def.seams > 0 ? make_seams(m, nodes.n, s) : KP_OK);
  }
  KP_TRY(put_lengths(m, s));
  KP_TRY(put_edges(m, nodes.n));
  return kp_vector3_resize(&m->shift, KP_TYPE_REAL, m->n_edges);
}

// What the list is watched by. The first list is that of the pins.
static kp_result make_seen(kp_limit *m, kp_env *env, int64_t n) {
  const kp_field_desc fields[] = {
    { "held", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 0.0 },
    { "away", KP_TYPE_U32, 1, "", KP_FIELD_STATE, 0.0 },
  };
  char name[KP_NAME_SIZE];
  (void)snprintf(name, sizeof name, "%.30s.seen", m->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_VERTICES, &m->seen));
  KP_TRY(kp_space_add_field(m->seen, &fields[0], &m->held));
  KP_TRY(kp_space_add_field(m->seen, &fields[1], &m->away));
  KP_TRY(kp_space_append(m->seen, n, NULL, 0));
  m->seen_revision = m->seen->revision;
  return put(&m->held->buffers[0], KP_TYPE_U8, m->fixed.data, (size_t)n);
}

static kp_result count_touched(kp_limit *m, kp_deform *d, kp_range nodes, double sums[2]) {
  fabric_touched_args a = { .first = nodes.first };
  kp_call call;
  kp_call_init(&call, &fabric_touched_kernel, &a);
  KP_BIND(&call, &a, inside, &m->inside, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, d->bodies.solids.count > 0 ? &d->bodies.contact : NULL,
          KP_ACCESS_READ);
  return kp_call_reduce(d->set->space->backend, &call, nodes.n, sums);
}

// Contact chooses: at first nothing touches.
static kp_result make_event(kp_limit *m, kp_env *env, kp_range nodes) {
  const uint8_t *inside = kp_buffer_host(&m->inside, KP_ACCESS_READ);
  bool is_somewhere = false;
  for (int64_t e = 0; inside != NULL && e < nodes.n; ++e) {
    is_somewhere = is_somewhere || inside[e] != 0;
  }
  if (!is_somewhere) {
    return kp_fail(KP_ERROR_SCENE, "limit \"%s\": touched needs a shape with nodes of \"%s\" in it",
                   m->def.name, m->def.of);
  }
  const kp_field_desc fields[] = {
    { "on", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 0.0 },
    { "wrong", KP_TYPE_U32, 1, "", KP_FIELD_STATE, 0.0 },
  };
  char name[KP_NAME_SIZE];
  (void)snprintf(name, sizeof name, "%.30s.event", m->def.name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_VERTICES, &m->event));
  KP_TRY(kp_space_add_field(m->event, &fields[0], &m->is_on));
  KP_TRY(kp_space_add_field(m->event, &fields[1], &m->wrong));
  return kp_space_append(m->event, 1, NULL, 0);
}

static kp_result make_map(kp_limit *m, kp_deform *d, kp_env *env, const kp_deform_part *part) {
  KP_TRY(collect(d, part, &m->sketch));
  KP_TRY(find_fixed(m, d, env, part));
  KP_TRY(make_edges(m, d, env, part->nodes));
  KP_TRY(m->def.touched > 0.0 ? make_event(m, env, part->nodes) : KP_OK);
  if (!(m->def.rebuild > 0.0)) {
    return KP_OK;
  }
  if (m->def.method != KP_LIMIT_DIRECT) {
    return kp_fail(KP_ERROR_SCENE,
                   "limit \"%s\": rebuild makes lists anew, and method = \"provot\" has none",
                   m->def.name);
  }
  return make_seen(m, env, part->nodes.n);
}

// The maps of the part, new if it has none.
static kp_result limited_of(kp_fabric *f, const kp_deform_part *part, kp_limited **out) {
  for (size_t k = 0; k < f->limited.count; ++k) {
    if (f->limited.data[k]->nodes.first == part->nodes.first) {
      *out = f->limited.data[k];
      return KP_OK;
    }
  }
  *out = kp_alloc_zero(sizeof **out, KP_MEMORY_WORLD);
  if (*out == NULL) {
    return KP_ERROR_MEMORY;
  }
  (*out)->nodes = part->nodes;
  kp_result result = kp_array_push(&f->limited, *out);
  if (result != KP_OK) {
    kp_free(*out);
  }
  return result;
}

static void write_order(kp_limited *l) {
  const kp_limit *m = &l->maps.data[l->active];
  l->order_of = l->active;
  l->order_version = m->rebuilds;
  memset(l->order.data, 0, sizeof(double) * l->order.count);
  for (int64_t e = 0; m->def.method == KP_LIMIT_DIRECT && e < m->n_edges; ++e) {
    l->order.data[m->edges.data[e].to] = (double)(e + 1) / (double)m->n_edges;
  }
}

static void renew_order(kp_limited *l) {
  if (l->order_of != l->active || l->order_version != l->maps.data[l->active].rebuilds) {
    write_order(l);
  }
}

// Frames hold the order of the list that is used.
static kp_result show_order(kp_limited *l, kp_env *env, const char *of) {
  KP_TRY(kp_array_resize(&l->order, (size_t)l->nodes.n));
  write_order(l);
  for (size_t p = 0; p < env->parts.count; ++p) {
    if (strcmp(env->parts.data[p].name, of) == 0) {
      env->parts.data[p].order = l->order.data;
    }
  }
  return KP_OK;
}

kp_result kp_limits_add(kp_deform *d, kp_env *env, const kp_limit_def *def) {
  const kp_deform_part *part;
  KP_TRY(kp_fabric_find(d, "limit", def->name, def->of, &part));
  if (part->scheme != KP_SCHEME_POSITION_VERLET) {
    return kp_fail(KP_ERROR_SCENE,
                   "limit \"%s\": \"%s\" must have scheme = \"position_verlet\", not \"%s\"",
                   def->name, def->of, kp_schemes[part->scheme].name);
  }
  kp_limited *limited;
  KP_TRY(limited_of(d->fabric, part, &limited));
  kp_limit map = { .def = *def };
  each_buffer(&map, kp_buffer_init, env->backend);
  kp_result result = make_map(&map, d, env, part);
  if (result == KP_OK) {
    result = kp_array_push(&limited->maps, map);
  }
  if (result != KP_OK) {
    free_map(&map);
    return result;
  }
  return show_order(limited, env, part->name);
}

// ---- a step -------------------------------------------------------------------------------------

// Lists that wait for contact are out until it comes; when all of them wait, the first is used.
static kp_result choose(kp_limited *l, double time) {
  double most = -HUGE_VAL;
  l->active = 0;
  for (size_t m = 0; m < l->maps.count; ++m) {
    const kp_limit *map = &l->maps.data[m];
    if (map->event != NULL) {
      const uint8_t *is_on = kp_buffer_host(&map->is_on->buffers[0], KP_ACCESS_READ);
      if (is_on == NULL) {
        return KP_ERROR_MEMORY;
      }
      if (*is_on == 0) {
        continue;
      }
    }
    double wanted;
    kp_curve_at(&map->def.when, time, &wanted, NULL);
    if (wanted > most) {
      most = wanted;
      l->active = m;
    }
  }
  return KP_OK;
}

static kp_result propose(kp_deform *d, kp_range nodes) {
  fabric_propose_args a = { .first = nodes.first, .dt = d->dt };
  kp_call call;
  kp_call_init(&call, &fabric_propose_kernel, &a);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, nodes.n);
}

static kp_result tighten(kp_limit *m, kp_deform *d, kp_range nodes) {
  fabric_tighten_args a = { .first_node = nodes.first,
                            .tolerance = m->def.tolerance,
                            .most = m->def.fastest > 0.0 ? m->def.fastest * d->dt : HUGE_VAL,
                            .both = m->def.two_sided };
  for (size_t w = 0; w + 1 < m->waves.count; ++w) {
    a.first = m->waves.data[w];
    kp_call call;
    kp_call_init(&call, &fabric_tighten_kernel, &a);
    KP_BIND(&call, &a, by_wave, &m->by_wave, KP_ACCESS_READ);
    KP_BIND(&call, &a, from, &m->from, KP_ACCESS_READ);
    KP_BIND(&call, &a, to, &m->to, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, &m->rest, KP_ACCESS_READ);
    KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
    KP_BIND_VECTOR3(&call, &a, s, &m->shift, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, m->waves.data[w + 1] - m->waves.data[w]));
  }
  return KP_OK;
}

// Edges of passes that move both ends.
typedef struct pass_edges {
  const int32_t *first;  // of each colour, and the end
  size_t n_colors;
  kp_buffer *by_color, *from, *to, *rest;
} pass_edges;

static kp_result pass_once(const pass_edges *e, const kp_limit *m, kp_deform *d, kp_range nodes) {
  fabric_provot_args a = { .first_node = nodes.first,
                           .tolerance = m->def.tolerance,
                           .both = m->def.two_sided };
  for (size_t c = 0; c < e->n_colors; ++c) {
    a.first = e->first[c];
    kp_call call;
    kp_call_init(&call, &fabric_provot_kernel, &a);
    KP_BIND(&call, &a, by_color, e->by_color, KP_ACCESS_READ);
    KP_BIND(&call, &a, from, e->from, KP_ACCESS_READ);
    KP_BIND(&call, &a, to, e->to, KP_ACCESS_READ);
    KP_BIND(&call, &a, rest, e->rest, KP_ACCESS_READ);
    KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
    KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(d->set->space->backend, &call, e->first[c + 1] - e->first[c]));
  }
  return KP_OK;
}

static kp_result provot(kp_limit *m, kp_deform *d, kp_range nodes) {
  const pass_edges all = { .first = m->waves.data,
                           .n_colors = m->waves.count - 1,
                           .by_color = &m->by_wave,
                           .from = &m->from,
                           .to = &m->to,
                           .rest = &m->rest };
  for (int64_t pass = 0; pass < m->def.passes; ++pass) {
    KP_TRY(pass_once(&all, m, d, nodes));
  }
  return KP_OK;
}

// Edges that the list leaves out first: it has the last word on its own.
static kp_result tighten_all(kp_limit *m, kp_deform *d, kp_range nodes) {
  kp_limit_seams *seams = &m->seams;
  const pass_edges left = { .first = seams->colors.data,
                            .n_colors = seams->colors.count > 0 ? seams->colors.count - 1 : 0,
                            .by_color = &seams->by_color,
                            .from = &seams->from,
                            .to = &seams->to,
                            .rest = &seams->rest };
  for (int64_t pass = 0; pass < m->def.seams; ++pass) {
    KP_TRY(pass_once(&left, m, d, nodes));
  }
  return tighten(m, d, nodes);
}

static kp_result settle(kp_limit *m, kp_deform *d, kp_range nodes) {
  bool is_list = m->def.method == KP_LIMIT_DIRECT;
  fabric_settle_args a = { .first = nodes.first,
                           .inverse_dt = 1.0 / d->dt,
                           .share = (kp_real)(m->def.compensation / d->dt) };
  kp_call call;
  kp_call_init(&call, &fabric_settle_kernel, &a);
  KP_BIND(&call, &a, start, is_list ? &m->start : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, is_list ? &m->out : NULL, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, s, &m->shift, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_WRITE);
  KP_BIND_VECTOR3(&call, &a, l, &d->fabric->lag, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, nodes.n);
}

// ---- lists that follow what is held -------------------------------------------------------------

static kp_result make_anew(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  const uint8_t *held = kp_buffer_host(&m->held->buffers[0], KP_ACCESS_READ);
  m->seen_revision = m->seen->revision;
  if (held == NULL) {
    return KP_ERROR_MEMORY;
  }
  bool differs = false;
  for (int64_t e = 0; e < nodes.n; ++e) {
    uint8_t fixed = held[e] != 0;
    differs = differs || fixed != m->fixed.data[e];
    m->fixed.data[e] = fixed;
  }
  m->rebuilds += differs;
  return differs ? make_edges(m, d, env, nodes) : KP_OK;
}

static kp_result count_changed(kp_limit *m, kp_deform *d, kp_range nodes, double *share) {
  kp_deform_bodies *b = &d->bodies;
  uint32_t patience = (uint32_t)m->def.patience;
  fabric_watch_args a = { .first = nodes.first, .patience = patience };
  kp_call call;
  kp_call_init(&call, &fabric_watch_kernel, &a);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, contact, b->solids.count > 0 ? &b->contact : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, held, &m->held->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, away, &m->away->buffers[0], KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(d->set->space->backend, &call, nodes.n));
  fabric_changed_args c = { .patience = patience };
  kp_call_init(&call, &fabric_changed_kernel, &c);
  KP_BIND(&call, &c, held, &m->held->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &c, away, &m->away->buffers[0], KP_ACCESS_READ);
  double sums[2];
  KP_TRY(kp_call_reduce(d->set->space->backend, &call, nodes.n, sums));
  *share = sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
  return KP_OK;
}

static kp_result watch(kp_limit *m, kp_deform *d, kp_env *env, kp_range nodes) {
  double share;
  KP_TRY(count_changed(m, d, nodes, &share));
  if (share <= m->def.rebuild) {
    return KP_OK;
  }
  uint8_t *held = kp_buffer_host(&m->held->buffers[0], KP_ACCESS_WRITE);
  uint32_t *away = kp_buffer_host(&m->away->buffers[0], KP_ACCESS_WRITE);
  const uint8_t *hold = kp_buffer_host(&d->hold, KP_ACCESS_READ);
  bool has_solids = d->bodies.solids.count > 0;
  const int32_t *contact = has_solids ? kp_buffer_host(&d->bodies.contact, KP_ACCESS_READ) : NULL;
  if (held == NULL || away == NULL || hold == NULL || (has_solids && contact == NULL)) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t e = 0; e < nodes.n; ++e) {
    if (away[e] >= (uint32_t)m->def.patience) {
      held[e] = fabric_is_held(hold[nodes.first + e], contact, nodes.first + e);
      away[e] = 0;
    }
  }
  return make_anew(m, d, env, nodes);
}

// ---- contact that chooses between lists ---------------------------------------------------------

static kp_result watch_event(kp_limit *m, kp_deform *d, kp_range nodes) {
  double sums[2];
  KP_TRY(count_touched(m, d, nodes, sums));
  uint8_t *is_on = kp_buffer_host(&m->is_on->buffers[0], KP_ACCESS_WRITE);
  uint32_t *wrong = kp_buffer_host(&m->wrong->buffers[0], KP_ACCESS_WRITE);
  if (is_on == NULL || wrong == NULL) {
    return KP_ERROR_MEMORY;
  }
  bool is_touched = sums[0] >= m->def.touched * sums[1];
  *wrong = is_touched != (*is_on != 0) ? *wrong + 1 : 0;
  if (*wrong >= (uint32_t)m->def.patience) {
    *is_on = is_touched;
    *wrong = 0;
  }
  return KP_OK;
}

kp_result kp_fabric_watch(kp_deform *d, kp_env *env) {
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->limited.count; ++k) {
    kp_limited *l = f->limited.data[k];
    for (size_t m = 0; m < l->maps.count; ++m) {
      if (l->maps.data[m].seen != NULL) {
        KP_TRY(watch(&l->maps.data[m], d, env, l->nodes));
      }
      if (l->maps.data[m].event != NULL) {
        KP_TRY(watch_event(&l->maps.data[m], d, l->nodes));
      }
    }
    renew_order(l);
  }
  return KP_OK;
}

// ---- a step of limits ---------------------------------------------------------------------------

kp_result kp_fabric_limit(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  (void)group;
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->limited.count; ++k) {
    kp_limited *l = f->limited.data[k];
    KP_TRY(choose(l, d->time));
    kp_limit *m = &l->maps.data[l->active];
    if (m->seen != NULL && m->seen_revision != m->seen->revision) {
      KP_TRY(make_anew(m, d, env, l->nodes));  // the world was rewound or loaded
    }
    renew_order(l);
    KP_TRY(propose(d, l->nodes));
    KP_TRY(m->def.method == KP_LIMIT_DIRECT ? tighten_all(m, d, l->nodes) : provot(m, d, l->nodes));
    KP_TRY(settle(m, d, l->nodes));
  }
  return KP_OK;
}
