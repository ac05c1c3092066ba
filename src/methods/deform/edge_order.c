#include "methods/deform/edge_order.h"

#include <math.h>
#include <string.h>

// ---- the graph ----------------------------------------------------------------------------------

// Depths this near each other are equal: lengths are sums of roundings.
#define SAME_DEPTH 1e-9

static bool is_used(const kp_link *link) {
  return link->kind <= KP_LINK_SHEAR;
}

// Which of its two directions a link may be walked in: bit 0 from a to b, bit 1 back.
static int directions(const kp_link *link, const double *depth) {
  double rise = depth[link->b] - depth[link->a];
  double small = SAME_DEPTH * (1.0 + fabs(depth[link->a]));
  if (fabs(rise) <= small) {
    return link->kind == KP_LINK_SHEAR ? 0 : 3;
  }
  return rise > 0.0 ? 1 : 2;
}

static uint8_t kind_of(const kp_link *link, int direction) {
  if (link->kind == KP_LINK_SHEAR) {
    return KP_LINK_SHEAR;
  }
  return direction == 3 ? KP_LINK_HORIZONTAL : KP_LINK_VERTICAL;
}

void kp_edge_graph_free(kp_edge_graph *graph) {
  kp_array_free(&graph->start);
  kp_array_free(&graph->goal);
  kp_array_free(&graph->kind);
}

static kp_result room(kp_edge_graph *g, int64_t n, size_t n_links) {
  g->n = n;
  KP_TRY(kp_array_resize(&g->start, (size_t)n + 1));
  KP_TRY(kp_array_resize(&g->goal, 2 * n_links));
  return kp_array_resize(&g->kind, 2 * n_links);
}

// By goal: left before right, down left before down right.
static void sort_goals(kp_edge_graph *g) {
  for (int64_t i = 0; i < g->n; ++i) {
    for (int32_t r = g->start.data[i] + 1; r < g->start.data[i + 1]; ++r) {
      kp_index goal = g->goal.data[r];
      uint8_t kind = g->kind.data[r];
      int32_t q = r;
      for (; q > g->start.data[i] && g->goal.data[q - 1] > goal; --q) {
        g->goal.data[q] = g->goal.data[q - 1];
        g->kind.data[q] = g->kind.data[q - 1];
      }
      g->goal.data[q] = goal;
      g->kind.data[q] = kind;
    }
  }
}

kp_result kp_edge_graph_make(int64_t n, const kp_link *links, size_t n_links, const double *depth,
                             kp_edge_graph *out) {
  *out = (kp_edge_graph){ 0 };
  kp_result result = room(out, n, n_links);
  if (result != KP_OK) {
    kp_edge_graph_free(out);
    return result;
  }
  int32_t *start = out->start.data;
  memset(start, 0, sizeof *start * (size_t)(n + 1));
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t l = 0; l < n_links; ++l) {
      int way = is_used(&links[l]) ? directions(&links[l], depth) : 0;
      for (int end = 0; end < 2; ++end) {
        if ((way >> end & 1) == 0) {
          continue;
        }
        kp_index from = end == 0 ? links[l].a : links[l].b;
        if (pass == 0) {
          ++start[from + 1];
        } else {
          int32_t at = start[from]++;
          out->goal.data[at] = end == 0 ? links[l].b : links[l].a;
          out->kind.data[at] = kind_of(&links[l], way);
        }
      }
    }
    for (int64_t i = 0; pass == 0 && i < n; ++i) {
      start[i + 1] += start[i];
    }
  }
  memmove(start + 1, start, sizeof *start * (size_t)n);
  start[0] = 0;
  sort_goals(out);
  return KP_OK;
}

// ---- depths of cloth that lies flat -------------------------------------------------------------

typedef struct heap_item {
  double depth;
  kp_index node;
} heap_item;

typedef KP_ARRAY(heap_item) heap;

static bool is_before(heap_item a, heap_item b) {
  return a.depth < b.depth || (a.depth == b.depth && a.node < b.node);
}

static kp_result heap_push(heap *h, heap_item item) {
  KP_TRY(kp_array_push(h, item));
  size_t i = h->count - 1;
  while (i > 0 && is_before(item, h->data[(i - 1) / 2])) {
    h->data[i] = h->data[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  h->data[i] = item;
  return KP_OK;
}

static heap_item heap_pop(heap *h) {
  heap_item top = h->data[0];
  heap_item last = h->data[--h->count];
  size_t i = 0;
  for (size_t c = 1; c < h->count; c = 2 * i + 1) {
    if (c + 1 < h->count && is_before(h->data[c + 1], h->data[c])) {
      ++c;
    }
    if (!is_before(h->data[c], last)) {
      break;
    }
    h->data[i] = h->data[c];
    i = c;
  }
  h->data[i] = last;
  return top;
}

// Links of every node, both ways.
typedef struct links_of {
  KP_ARRAY(int32_t) start;
  KP_ARRAY(int32_t) link;
} links_of;

static void links_of_free(links_of *l) {
  kp_array_free(&l->start);
  kp_array_free(&l->link);
}

static kp_result links_of_make(int64_t n, const kp_link *links, size_t n_links, links_of *out) {
  KP_TRY(kp_array_resize(&out->start, (size_t)n + 1));
  KP_TRY(kp_array_resize(&out->link, 2 * n_links));
  int32_t *start = out->start.data;
  memset(start, 0, sizeof *start * (size_t)(n + 1));
  for (size_t l = 0; l < n_links; ++l) {
    ++start[links[l].a + 1];
    ++start[links[l].b + 1];
  }
  for (int64_t i = 0; i < n; ++i) {
    start[i + 1] += start[i];
  }
  for (size_t l = 0; l < n_links; ++l) {
    out->link.data[start[links[l].a]++] = (int32_t)l;
    out->link.data[start[links[l].b]++] = (int32_t)l;
  }
  memmove(start + 1, start, sizeof *start * (size_t)n);
  start[0] = 0;
  return KP_OK;
}

static kp_result spread(heap *h, const links_of *of, const kp_link *links, const double *lengths,
                        double *depth) {
  while (h->count > 0) {
    heap_item item = heap_pop(h);
    if (item.depth > depth[item.node]) {
      continue;
    }
    for (int32_t r = of->start.data[item.node]; r < of->start.data[item.node + 1]; ++r) {
      const kp_link *link = &links[of->link.data[r]];
      kp_index other = link->a == item.node ? link->b : link->a;
      double there = item.depth + lengths[of->link.data[r]];
      if (is_used(link) && there < depth[other]) {
        depth[other] = there;
        KP_TRY(heap_push(h, (heap_item){ there, other }));
      }
    }
  }
  return KP_OK;
}

kp_result kp_edge_depths(int64_t n, const kp_link *links, const double *lengths, size_t n_links,
                         const uint8_t *is_fixed, double *depth) {
  links_of of = { 0 };
  heap h = { 0 };
  kp_result result = links_of_make(n, links, n_links, &of);
  for (int64_t i = 0; i < n && result == KP_OK; ++i) {
    depth[i] = is_fixed[i] ? 0.0 : HUGE_VAL;
    if (is_fixed[i]) {
      result = heap_push(&h, (heap_item){ 0.0, (kp_index)i });
    }
  }
  if (result == KP_OK) {
    result = spread(&h, &of, links, lengths, depth);
  }
  links_of_free(&of);
  kp_array_free(&h);
  return result;
}

// ---- the walk -----------------------------------------------------------------------------------

typedef KP_ARRAY(kp_index) node_queue;

typedef struct walker {
  const kp_edge_graph *graph;
  const kp_walk_def *def;
  kp_edge_order *out;
  KP_ARRAY(int32_t) visits;
  node_queue queue;                // nodes in the order they were reached; never shrinks
  KP_ARRAY(uint8_t) from_carried;  // of the queue: the walk to it began at a carried node
} walker;

static kp_result reach(walker *w, kp_index node, bool from_carried) {
  KP_TRY(kp_array_push(&w->queue, node));
  return kp_array_push(&w->from_carried, (uint8_t)from_carried);
}

// Algorithm 3, Expand, for the edges of one kind of one node.
static kp_result expand(walker *w, size_t place, kp_link_kind kind) {
  const kp_edge_graph *g = w->graph;
  kp_index node = w->queue.data[place];
  bool from_carried = w->from_carried.data[place] != 0;
  for (int32_t r = g->start.data[node]; r < g->start.data[node + 1]; ++r) {
    kp_index goal = g->goal.data[r];
    if (g->kind.data[r] != (uint8_t)kind || w->visits.data[goal] >= w->def->visits) {
      continue;
    }
    if (from_carried && w->def->is_fixed[goal] == KP_NODE_CARRIED) {
      continue;
    }
    ++w->visits.data[goal];
    kp_ordered_edge edge = { node, goal, (uint8_t)kind };
    KP_TRY(kp_array_push(&w->out->edges, edge));
    KP_TRY(reach(w, goal, from_carried));
  }
  return KP_OK;
}

static kp_result walk(walker *w) {
  for (size_t first = 0; first < w->queue.count;) {
    size_t end = w->def->walk == KP_WALK_LITERAL ? first + 1 : w->queue.count;
    for (int k = 0; k < 3; ++k) {
      for (size_t q = first; q < end; ++q) {
        KP_TRY(expand(w, q, w->def->kinds[k]));
      }
    }
    first = end;
  }
  return KP_OK;
}

// Waves: 1 + the wave that moved a node last, or read it last; and the wave of each edge.
typedef struct wave_maker {
  KP_ARRAY(int32_t) moved;
  KP_ARRAY(int32_t) read;
  KP_ARRAY(int32_t) wave;
  int32_t n;
} wave_maker;

static kp_result wave_room(wave_maker *m, size_t n, size_t n_edges) {
  KP_TRY(kp_array_resize(&m->moved, n));
  KP_TRY(kp_array_resize(&m->read, n));
  KP_TRY(kp_array_resize(&m->wave, n_edges));
  memset(m->moved.data, 0, sizeof(int32_t) * n);
  memset(m->read.data, 0, sizeof(int32_t) * n);
  return KP_OK;
}

// An edge reads its first node and moves its second one: it comes after the last edge that moved
// either, and after those that read what it will move.
static void find_waves(wave_maker *m, const kp_edge_order *o) {
  for (size_t e = 0; e < o->edges.count; ++e) {
    kp_index a = o->edges.data[e].from, b = o->edges.data[e].to;
    int32_t after = m->moved.data[a] > m->moved.data[b] ? m->moved.data[a] : m->moved.data[b];
    after = after > m->read.data[b] ? after : m->read.data[b];
    m->wave.data[e] = after;
    m->moved.data[b] = after + 1;
    m->read.data[a] = m->read.data[a] > after + 1 ? m->read.data[a] : after + 1;
    m->n = m->n > after + 1 ? m->n : after + 1;
  }
}

static kp_result sort_waves(const wave_maker *m, kp_edge_order *o) {
  KP_TRY(kp_array_resize(&o->by_wave, o->edges.count));
  KP_TRY(kp_array_resize(&o->waves, (size_t)m->n + 1));
  int32_t *start = o->waves.data;
  memset(start, 0, sizeof *start * ((size_t)m->n + 1));
  for (size_t e = 0; e < o->edges.count; ++e) {
    ++start[m->wave.data[e] + 1];
  }
  for (int32_t w = 0; w < m->n; ++w) {
    start[w + 1] += start[w];
  }
  for (size_t e = 0; e < o->edges.count; ++e) {
    o->by_wave.data[start[m->wave.data[e]]++] = (int32_t)e;
  }
  memmove(start + 1, start, sizeof *start * (size_t)m->n);
  start[0] = 0;
  return KP_OK;
}

static kp_result make_waves(kp_edge_order *o, int64_t n) {
  wave_maker m = { 0 };
  kp_result result = wave_room(&m, (size_t)n, o->edges.count);
  if (result == KP_OK) {
    find_waves(&m, o);
    result = sort_waves(&m, o);
  }
  kp_array_free(&m.moved);
  kp_array_free(&m.read);
  kp_array_free(&m.wave);
  return result;
}

static kp_result make(walker *w) {
  int64_t n = w->graph->n;
  KP_TRY(kp_array_resize(&w->visits, (size_t)n));
  for (int64_t i = 0; i < n; ++i) {
    uint8_t held = w->def->is_fixed[i];
    w->visits.data[i] = held == KP_NODE_FIXED ? (int32_t)w->def->visits : 0;
    if (held != KP_NODE_FREE) {
      KP_TRY(reach(w, (kp_index)i, held == KP_NODE_CARRIED));
    }
  }
  KP_TRY(walk(w));
  for (int64_t i = 0; i < n; ++i) {
    w->out->n_unreached += w->visits.data[i] == 0;
  }
  return make_waves(w->out, n);
}

kp_result kp_edge_order_make(const kp_edge_graph *graph, const kp_walk_def *def,
                             kp_edge_order *out) {
  *out = (kp_edge_order){ 0 };
  if (def->visits < 1) {
    return kp_fail(KP_ERROR_ARGUMENT, "a list of edges must visit nodes once at least");
  }
  walker w = { .graph = graph, .def = def, .out = out };
  kp_result result = make(&w);
  kp_array_free(&w.visits);
  kp_array_free(&w.queue);
  kp_array_free(&w.from_carried);
  if (result != KP_OK) {
    kp_edge_order_free(out);
  }
  return result;
}

void kp_edge_order_free(kp_edge_order *order) {
  kp_array_free(&order->edges);
  kp_array_free(&order->by_wave);
  kp_array_free(&order->waves);
}

// ---- colours ------------------------------------------------------------------------------------

static uint64_t bit(int32_t color) {
  return (uint64_t)1 << color;
}

kp_result kp_edge_colors(int64_t n, const kp_link *links, size_t n_links, int32_t *colors,
                         int32_t *n_colors) {
  KP_ARRAY(uint64_t) taken = { 0 };
  KP_TRY(kp_array_resize(&taken, (size_t)n));
  memset(taken.data, 0, sizeof(uint64_t) * (size_t)n);
  *n_colors = 0;
  kp_result result = KP_OK;
  for (size_t l = 0; l < n_links && result == KP_OK; ++l) {
    uint64_t both = taken.data[links[l].a] | taken.data[links[l].b];
    int32_t color = 0;
    while (color < 64 && (both & bit(color)) != 0) {
      ++color;
    }
    if (color == 64) {
      result = kp_fail(KP_ERROR_ARGUMENT, "more than 64 edges meet at a node");
      break;
    }
    colors[l] = color;
    taken.data[links[l].a] |= bit(color);
    taken.data[links[l].b] |= bit(color);
    *n_colors = *n_colors > color + 1 ? *n_colors : color + 1;
  }
  kp_array_free(&taken);
  return result;
}

double kp_set_distance(int64_t n, const uint8_t *a, const uint8_t *b) {
  int64_t both = 0, any = 0;
  for (int64_t i = 0; i < n; ++i) {
    both += a[i] && b[i];
    any += a[i] || b[i];
  }
  return any > 0 ? 1.0 - (double)both / (double)any : 0.0;
}
