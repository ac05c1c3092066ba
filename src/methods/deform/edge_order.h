// Ordered lists of edges for directional constraint enforcement (Ozgen 2013, chapter 6, Algorithm
// 3): a walk from all fixed nodes together, downwards and sideways, never up. One pass through the
// list puts each edge's second node at its rest length from the first, so corrections run from what
// is held to what hangs from it.
//
//   literal   the listing as printed: a queue of nodes, each one expanding its horizontal, vertical
//             and shear edges in turn. Shear edges win: node (0, 0) takes (1, 1) before (0, 1) can.
//   layered   a whole generation of the queue expands its horizontal edges, then its vertical ones,
//             then its shear ones
//
// The same pass in parallel: edges are put into *waves*; no edge of a wave needs what another one
// of it moves, and the result is that of the list taken from front to back, to the bit.
#pragma once

#include "methods/deform/grid_links.h"

typedef enum kp_walk { KP_WALK_LAYERED, KP_WALK_LITERAL, KP_WALK_COUNT } kp_walk;

// The edges a node may expand, with the kind that counts for the order.
typedef struct kp_edge_graph {
  int64_t n;
  KP_ARRAY(int32_t) start;  // of a node, n + 1
  KP_ARRAY(kp_index) goal;
  KP_ARRAY(uint8_t) kind;  // KP_LINK_HORIZONTAL, VERTICAL or SHEAR
} kp_edge_graph;

// From the structural and shear links of n nodes: towards greater depth, and both ways between
// equal ones. Of a grid that hangs the depth is the row; of one that lies flat, its distance from
// the fixed nodes (kp_edge_depths). A structural link between unlike depths is vertical, whatever
// it was called.
KP_NODISCARD kp_result kp_edge_graph_make(int64_t n, const kp_link *links, size_t n_links,
                                          const double *depth, kp_edge_graph *out);
void kp_edge_graph_free(kp_edge_graph *graph);

// Shortest way from any fixed node along structural and shear links, in lengths of links.
KP_NODISCARD kp_result kp_edge_depths(int64_t n, const kp_link *links, const double *lengths,
                                      size_t n_links, const uint8_t *is_fixed, double *depth);

typedef struct kp_ordered_edge {
  kp_index from, to;  // `to` is moved
  uint8_t kind;
} kp_ordered_edge;

typedef struct kp_edge_order {
  KP_ARRAY(kp_ordered_edge) edges;  // in the order of the list
  KP_ARRAY(int32_t) by_wave;        // numbers of edges, wave after wave
  KP_ARRAY(int32_t) waves;          // first of each in by_wave, and their number at the end
  int64_t n_unreached;              // free nodes no edge leads to
} kp_edge_order;

// What holds a node when a walk begins. Carried ones, as cloth on a knee, slide: the walk starts at
// them too, but edges that come from fixed nodes move them all the same.
typedef enum kp_node_held { KP_NODE_FREE, KP_NODE_FIXED, KP_NODE_CARRIED } kp_node_held;

typedef struct kp_walk_def {
  kp_walk walk;
  int64_t visits;           // N_v: how often a node may be moved
  kp_link_kind kinds[3];    // in the order they are expanded; horizontal, vertical, shear
  const uint8_t *is_fixed;  // kp_node_held per node
} kp_walk_def;

KP_NODISCARD kp_result kp_edge_order_make(const kp_edge_graph *graph, const kp_walk_def *def,
                                          kp_edge_order *out);
void kp_edge_order_free(kp_edge_order *order);

// Colours of edges: no two of a colour share a node. Each edge, in the order of the links, takes
// the first colour that neither of its nodes has (for passes that move both ends). colors[n_links];
// returns their number.
KP_NODISCARD kp_result kp_edge_colors(int64_t n, const kp_link *links, size_t n_links,
                                      int32_t *colors, int32_t *n_colors);

// 1 - |A and B| / |A or B| of two sets of nodes, flags per node; 0 where both are empty.
double kp_set_distance(int64_t n, const uint8_t *a, const uint8_t *b);
