// Limits on the length of edges: ordered lists that move one end (directional constraint
// enforcement, Ozgen 2013, chapter 6) and passes over all edges that move both (Provot 1995). A
// part may have several maps; the one that is wanted most in a step is used.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/curve.h"
#include "geom/shape.h"
#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_propose_kernel, fabric_tighten_kernel, fabric_provot_kernel,
    fabric_settle_kernel;

// ---- life ---------------------------------------------------------------------------------------

static void each_buffer(kp_limit *m, void (*each)(kp_buffer *buffer, kp_backend *backend),
                        kp_backend *backend) {
  kp_buffer *all[] = { &m->by_wave, &m->from,       &m->to,         &m->rest,      &m->start,
                       &m->out,     &m->shift.c[0], &m->shift.c[1], &m->shift.c[2] };
  for (size_t b = 0; b < sizeof all / sizeof all[0]; ++b) {
    each(all[b], backend);
  }
}

static void init_one(kp_buffer *buffer, kp_backend *backend) {
  kp_buffer_init(buffer, backend);
}

static void free_one(kp_buffer *buffer, kp_backend *backend) {
  (void)backend;
  kp_buffer_free(buffer);
}

static void free_map(kp_limit *m) {
  each_buffer(m, free_one, NULL);
  kp_array_free(&m->waves);
  kp_array_free(&m->fixed);
  kp_array_free(&m->edges);
}

void kp_limited_destroy(kp_limited **limited) {
  for (size_t m = 0; m < (*limited)->maps.count; ++m) {
    free_map(&(*limited)->maps.data[m]);
  }
  kp_array_free(&(*limited)->maps);
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

// Structural and shear springs of the part, by nodes of the part.
typedef struct sketch {
  kp_links links;
  KP_ARRAY(double) lengths;
  KP_ARRAY(double) depth;
} sketch;

static void sketch_free(sketch *s) {
  kp_array_free(&s->links);
  kp_array_free(&s->lengths);
  kp_array_free(&s->depth);
}

static kp_result collect(const kp_deform *d, const kp_deform_part *part, sketch *s) {
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
    m->fixed.data[e] = m->fixed.data[e] || kp_shape_distance(shape, at) <= 0.0;
  }
  kp_shape_destroy(&shape);
  return KP_OK;
}

static kp_result find_depth(const kp_limit *m, kp_deform *d, const kp_env *env,
                            const kp_deform_part *part, sketch *s) {
  KP_TRY(kp_array_resize(&s->depth, (size_t)part->nodes.n));
  if (m->def.down == KP_DOWN_DISTANCE) {
    return kp_edge_depths(part->nodes.n, s->links.data, s->lengths.data, s->links.count,
                          m->fixed.data, s->depth.data);
  }
  kp_vec3 g = kp_vec3_normalize(env->simulation.gravity);
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  for (int64_t e = 0; e < part->nodes.n; ++e) {
    int64_t i = part->nodes.first + e;
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

static kp_result put_lengths(kp_limit *m, const sketch *s) {
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

static kp_result make_list(kp_limit *m, int64_t n, const sketch *s) {
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

// Provot's passes: all edges, colour by colour.
static kp_result make_colors(kp_limit *m, int64_t n, const sketch *s) {
  KP_ARRAY(int32_t) colors = { 0 };
  KP_ARRAY(int32_t) by_color = { 0 };
  int32_t n_colors = 0;
  size_t count = s->links.count;
  kp_result result = kp_array_resize(&colors, count);
  if (result == KP_OK) {
    result = kp_edge_colors(n, s->links.data, count, colors.data, &n_colors);
  }
  for (size_t l = 0; l < count && result == KP_OK; ++l) {
    kp_ordered_edge edge = { s->links.data[l].a, s->links.data[l].b,
                             (uint8_t)s->links.data[l].kind };
    result = kp_array_push(&m->edges, edge);
  }
  for (int32_t c = 0; c < n_colors && result == KP_OK; ++c) {
    result = kp_array_push(&m->waves, (int32_t)by_color.count);
    for (size_t l = 0; l < count && result == KP_OK; ++l) {
      if (colors.data[l] == c) {
        result = kp_array_push(&by_color, (int32_t)l);
      }
    }
  }
  m->n_edges = (int64_t)count;
  if (result == KP_OK) {
    result = kp_array_push(&m->waves, (int32_t)count);
  }
  if (result == KP_OK) {
    result = put(&m->by_wave, KP_TYPE_I32, by_color.data, by_color.count);
  }
  kp_array_free(&colors);
  kp_array_free(&by_color);
  return result;
}

static kp_result make_map(kp_limit *m, kp_deform *d, kp_env *env, const kp_deform_part *part,
                          sketch *s) {
  int64_t n = part->nodes.n;
  KP_TRY(collect(d, part, s));
  KP_TRY(find_fixed(m, d, env, part));
  if (m->def.method == KP_LIMIT_PROVOT) {
    KP_TRY(make_colors(m, n, s));
  } else {
    KP_TRY(find_depth(m, d, env, part, s));
    KP_TRY(make_list(m, n, s));
  }
  KP_TRY(put_lengths(m, s));
  KP_TRY(put_edges(m, n));
  return kp_vector3_resize(&m->shift, KP_TYPE_REAL, m->n_edges);
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
  each_buffer(&map, init_one, env->backend);
  sketch s = { 0 };
  kp_result result = make_map(&map, d, env, part, &s);
  sketch_free(&s);
  if (result == KP_OK) {
    result = kp_array_push(&limited->maps, map);
  }
  if (result != KP_OK) {
    free_map(&map);
  }
  return result;
}

// ---- a step -------------------------------------------------------------------------------------

static void choose(kp_limited *l, double time) {
  double most = -HUGE_VAL;
  for (size_t m = 0; m < l->maps.count; ++m) {
    double wanted;
    kp_curve_at(&l->maps.data[m].def.when, time, &wanted, NULL);
    if (wanted > most) {
      most = wanted;
      l->active = m;
    }
  }
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

static kp_result provot(kp_limit *m, kp_deform *d, kp_range nodes) {
  fabric_provot_args a = { .first_node = nodes.first,
                           .tolerance = m->def.tolerance,
                           .both = m->def.two_sided };
  for (int64_t pass = 0; pass < m->def.passes; ++pass) {
    for (size_t w = 0; w + 1 < m->waves.count; ++w) {
      a.first = m->waves.data[w];
      kp_call call;
      kp_call_init(&call, &fabric_provot_kernel, &a);
      KP_BIND(&call, &a, by_color, &m->by_wave, KP_ACCESS_READ);
      KP_BIND(&call, &a, from, &m->from, KP_ACCESS_READ);
      KP_BIND(&call, &a, to, &m->to, KP_ACCESS_READ);
      KP_BIND(&call, &a, rest, &m->rest, KP_ACCESS_READ);
      KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
      KP_BIND_VECTOR3(&call, &a, p, &d->fabric->proposed, KP_ACCESS_WRITE);
      KP_TRY(kp_call_run(d->set->space->backend, &call, m->waves.data[w + 1] - m->waves.data[w]));
    }
  }
  return KP_OK;
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

kp_result kp_fabric_limit(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  (void)env;
  (void)group;
  kp_fabric *f = d->fabric;
  for (size_t k = 0; f != NULL && k < f->limited.count; ++k) {
    kp_limited *l = f->limited.data[k];
    choose(l, d->time);
    kp_limit *m = &l->maps.data[l->active];
    KP_TRY(propose(d, l->nodes));
    KP_TRY(m->def.method == KP_LIMIT_DIRECT ? tighten(m, d, l->nodes) : provot(m, d, l->nodes));
    KP_TRY(settle(m, d, l->nodes));
  }
  return KP_OK;
}
