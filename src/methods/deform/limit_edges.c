// Edges of a map of corrections: an ordered list in waves or all edges by colours, what a list
// leaves out, and all of it on the device.
#include <stdlib.h>
#include <string.h>

#include "methods/deform/limits.h"

// Edges and their groups before they go to the device.
typedef struct edge_plan {
  KP_ARRAY(kp_ordered_edge) edges;
  KP_ARRAY(kp_real) rest;
  KP_ARRAY(int32_t) by_group;
  KP_ARRAY(int32_t) first;
} edge_plan;

static void free_plan(edge_plan *p) {
  kp_array_free(&p->edges);
  kp_array_free(&p->rest);
  kp_array_free(&p->by_group);
  kp_array_free(&p->first);
}

// ---- rest lengths by pairs of nodes -------------------------------------------------------------

// Rest length of the spring between two nodes.
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

typedef KP_ARRAY(length_of) length_table;

static void sort_table(length_table *table) {
  qsort(table->data, table->count, sizeof table->data[0], compare_lengths);
}

static const length_of *find_length(const length_table *table, kp_index a, kp_index b) {
  length_of key = pair_of(a, b, 0.0);
  return bsearch(&key, table->data, table->count, sizeof table->data[0], compare_lengths);
}

static kp_result measure(edge_plan *p, const kp_limit_sketch *s) {
  length_table table = { 0 };
  KP_TRY(kp_array_resize(&p->rest, p->edges.count));
  KP_TRY(kp_array_resize(&table, s->links.count));
  for (size_t l = 0; l < s->links.count; ++l) {
    table.data[l] = pair_of(s->links.data[l].a, s->links.data[l].b, s->lengths.data[l]);
  }
  sort_table(&table);
  for (size_t e = 0; e < p->edges.count; ++e) {
    const length_of *found = find_length(&table, p->edges.data[e].from, p->edges.data[e].to);
    p->rest.data[e] = (kp_real)(found != NULL ? found->length : 0.0);
  }
  kp_array_free(&table);
  return KP_OK;
}

// ---- a list in waves ----------------------------------------------------------------------------

static const kp_link_kind kinds_of[KP_LIST_ORDER_COUNT][3] = {
  [KP_LIST_HVS] = { KP_LINK_HORIZONTAL, KP_LINK_VERTICAL, KP_LINK_SHEAR },
  [KP_LIST_HSV] = { KP_LINK_HORIZONTAL, KP_LINK_SHEAR, KP_LINK_VERTICAL },
  [KP_LIST_VHS] = { KP_LINK_VERTICAL, KP_LINK_HORIZONTAL, KP_LINK_SHEAR },
  [KP_LIST_VSH] = { KP_LINK_VERTICAL, KP_LINK_SHEAR, KP_LINK_HORIZONTAL },
  [KP_LIST_SHV] = { KP_LINK_SHEAR, KP_LINK_HORIZONTAL, KP_LINK_VERTICAL },
  [KP_LIST_SVH] = { KP_LINK_SHEAR, KP_LINK_VERTICAL, KP_LINK_HORIZONTAL },
};

static kp_result copy_order(const kp_edge_order *order, edge_plan *p) {
  KP_TRY(kp_array_resize(&p->edges, order->edges.count));
  KP_TRY(kp_array_resize(&p->by_group, order->by_wave.count));
  KP_TRY(kp_array_resize(&p->first, order->waves.count));
  for (size_t e = 0; e < order->edges.count; ++e) {
    p->edges.data[e] = order->edges.data[e];
    p->by_group.data[e] = order->by_wave.data[e];
  }
  for (size_t w = 0; w < order->waves.count; ++w) {
    p->first.data[w] = order->waves.data[w];
  }
  return KP_OK;
}

static kp_result plan_list(const kp_limit *m, int64_t n, edge_plan *p) {
  const kp_limit_sketch *s = &m->sketch;
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
  result = copy_order(&order, p);
  kp_edge_order_free(&order);
  KP_TRY(result);
  return measure(p, s);
}

// ---- edges by colours ---------------------------------------------------------------------------

static kp_result color_edges(int64_t n, const kp_links *links, edge_plan *p) {
  KP_ARRAY(int32_t) colors = { 0 };
  int32_t n_colors = 0;
  kp_result result = kp_array_resize(&colors, links->count);
  if (result == KP_OK) {
    result = kp_edge_colors(n, links->data, links->count, colors.data, &n_colors);
  }
  for (int32_t c = 0; c < n_colors && result == KP_OK; ++c) {
    result = kp_array_push(&p->first, (int32_t)p->by_group.count);
    for (size_t l = 0; l < links->count && result == KP_OK; ++l) {
      if (colors.data[l] == c) {
        result = kp_array_push(&p->by_group, (int32_t)l);
      }
    }
  }
  kp_array_free(&colors);
  KP_TRY(result);
  return kp_array_push(&p->first, (int32_t)links->count);
}

// For passes that move both ends.
static kp_result plan_colors(const kp_limit_sketch *s, int64_t n, edge_plan *p) {
  KP_TRY(kp_array_resize(&p->edges, s->links.count));
  KP_TRY(kp_array_resize(&p->rest, s->links.count));
  for (size_t l = 0; l < s->links.count; ++l) {
    const kp_link *link = &s->links.data[l];
    p->edges.data[l] = (kp_ordered_edge){ link->a, link->b, (uint8_t)link->kind };
    p->rest.data[l] = (kp_real)s->lengths.data[l];
  }
  return color_edges(n, &s->links, p);
}

// Links that no edge of a list keeps, with their lengths.
static kp_result find_seams(const kp_limit *m, kp_limit_sketch *out) {
  const kp_limit_sketch *s = &m->sketch;
  length_table kept = { 0 };
  KP_TRY(kp_array_resize(&kept, m->edges.count));
  for (size_t e = 0; e < m->edges.count; ++e) {
    kept.data[e] = pair_of(m->edges.data[e].from, m->edges.data[e].to, 0.0);
  }
  sort_table(&kept);
  kp_result result = KP_OK;
  for (size_t l = 0; l < s->links.count && result == KP_OK; ++l) {
    if (find_length(&kept, s->links.data[l].a, s->links.data[l].b) == NULL) {
      result = kp_array_push(&out->links, s->links.data[l]);
      if (result == KP_OK) {
        result = kp_array_push(&out->lengths, s->lengths.data[l]);
      }
    }
  }
  kp_array_free(&kept);
  return result;
}

// ---- on the device ------------------------------------------------------------------------------

static kp_result put_groups(const edge_plan *p, kp_limit_groups *g) {
  size_t n = p->edges.count;
  KP_TRY(kp_array_resize(&g->first, p->first.count));
  for (size_t k = 0; k < p->first.count; ++k) {
    g->first.data[k] = p->first.data[k];
  }
  int32_t *by_group, *from, *to;
  kp_real *rest;
  KP_TRY(kp_buffer_room(&g->by_group, KP_TYPE_I32, (int64_t)n, &by_group));
  KP_TRY(kp_buffer_room(&g->from, KP_TYPE_I32, (int64_t)n, &from));
  KP_TRY(kp_buffer_room(&g->to, KP_TYPE_I32, (int64_t)n, &to));
  KP_TRY(kp_buffer_room(&g->rest, KP_TYPE_REAL, (int64_t)n, &rest));
  for (size_t e = 0; e < n; ++e) {
    by_group[e] = p->by_group.data[e];
    from[e] = p->edges.data[e].from;
    to[e] = p->edges.data[e].to;
    rest[e] = p->rest.data[e];
  }
  return KP_OK;
}

// For every node the kept edges that start at it.
static kp_result put_starts(kp_limit *m, int64_t n) {
  size_t count = m->edges.count;
  int32_t *start, *out;
  KP_TRY(kp_buffer_room(&m->start, KP_TYPE_I32, n + 2, &start));
  KP_TRY(kp_buffer_room(&m->out, KP_TYPE_I32, (int64_t)count, &out));
  memset(start, 0, sizeof(int32_t) * ((size_t)n + 2));
  for (size_t e = 0; e < count; ++e) {
    ++start[m->edges.data[e].from + 2];
  }
  for (int64_t i = 0; i < n; ++i) {
    start[i + 2] += start[i + 1];
  }
  for (size_t e = 0; e < count; ++e) {
    out[start[m->edges.data[e].from + 1]++] = (int32_t)e;
  }
  return KP_OK;
}

static kp_result put_kept(kp_limit *m, int64_t n, const edge_plan *p) {
  KP_TRY(kp_array_resize(&m->edges, p->edges.count));
  for (size_t e = 0; e < p->edges.count; ++e) {
    m->edges.data[e] = p->edges.data[e];
  }
  KP_TRY(put_groups(p, &m->kept));
  KP_TRY(put_starts(m, n));
  return kp_vector3_resize(&m->shift, KP_TYPE_REAL, (int64_t)p->edges.count);
}

static kp_result put_seams(kp_limit *m, int64_t n) {
  kp_limit_sketch left = { 0 };
  edge_plan plan = { 0 };
  kp_result result = find_seams(m, &left);
  result = result == KP_OK ? plan_colors(&left, n, &plan) : result;
  result = result == KP_OK ? put_groups(&plan, &m->seams) : result;
  free_plan(&plan);
  kp_array_free(&left.links);
  kp_array_free(&left.lengths);
  return result;
}

kp_result kp_limit_put_edges(kp_limit *m, int64_t n) {
  bool is_list = m->def.method == KP_LIMIT_DIRECT;
  edge_plan plan = { 0 };
  kp_result result = is_list ? plan_list(m, n, &plan) : plan_colors(&m->sketch, n, &plan);
  result = result == KP_OK ? put_kept(m, n, &plan) : result;
  free_plan(&plan);
  KP_TRY(result);
  return is_list && m->def.seams > 0 ? put_seams(m, n) : KP_OK;
}
