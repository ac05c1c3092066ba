// Limits on the length of edges: ordered lists that move one end (directional constraint
// enforcement, Ozgen 2013, chapter 6) and passes over all edges that move both (Provot 1995). A
// part may have several maps; the one that is wanted most in a step is used.
//
//   limits.c        maps of parts, which of them a step uses, their order for pictures
//   limit_map.c     what a map is made from: springs, fixed nodes, depths
//   limit_edges.c   its edges: a list in waves or all of them by colours, and seams
//   limit_passes.c  one step: edges take their lengths
//   limit_watch.c   lists that follow what is held, and contact that chooses between lists
#pragma once

#include "methods/deform/deform.h"
#include "methods/deform/edge_order.h"

// Structural and shear springs of a part, by nodes of the part.
typedef struct kp_limit_sketch {
  kp_links links;
  KP_ARRAY(double) lengths;
  KP_ARRAY(double) depth;  // along gravity at the start, or from the fixed nodes
} kp_limit_sketch;

// Edges on the device in groups, one after the other: waves of a list, colours of a pass. Edges of
// a group can be corrected side by side.
typedef struct kp_limit_groups {
  KP_ARRAY(int32_t) first;  // of each in by_group, and their number at the end
  kp_buffer by_group, from, to, rest;
} kp_limit_groups;

// A correction map: an ordered list, or the colours of passes over all edges.
typedef struct kp_limit {
  kp_limit_def def;
  KP_ARRAY(kp_ordered_edge) edges;  // those that are kept, in order
  kp_limit_groups kept;
  kp_limit_groups seams;    // edges that a list leaves out, by colours
  kp_buffer start, out;     // kept edges that start at a node
  kp_vector3 shift;         // of a kept edge
  KP_ARRAY(uint8_t) fixed;  // kp_node_held per node of the part
  kp_limit_sketch sketch;   // what it is made from
  // what a list that is made anew has seen: one element per node of the part, saved
  kp_space *seen;          // NULL: it stays as it is
  kp_field *held, *away;   // U8: the list starts there; U32: steps since that is wrong
  uint64_t seen_revision;  // of the list as it is
  int64_t rebuilds;
  // whether bodies touch the nodes of the shape: one element, saved
  kp_space *event;          // NULL: it may be used whatever they do
  kp_field *is_on, *wrong;  // U8; U32: steps since that is wrong
  kp_buffer inside;         // U8 of the part's nodes: in the shape
} kp_limit;

// All maps of one part.
typedef struct kp_limited {
  kp_range nodes;
  KP_ARRAY(kp_limit) maps;
  size_t active;  // of the last step
  // of nodes: where in the list they are moved last, 0 (fixed) to 1, for pictures; of this map in
  // this version
  KP_ARRAY(double) order;
  size_t order_of;
  int64_t order_version;
} kp_limited;

// ---- limits.c -----------------------------------------------------------------------------------

// After kp_deform_create. The part must be stepped by positions.
KP_NODISCARD kp_result kp_limits_add(kp_deform *deform, kp_env *env, const kp_limit_def *def);
void kp_limited_destroy(kp_limited **limited);
// The order of the map that is used now.
void kp_limited_renew_order(kp_limited *limited);

// ---- limit_map.c --------------------------------------------------------------------------------

void kp_limit_init(kp_limit *map, kp_backend *backend, const kp_limit_def *def);
void kp_limit_free(kp_limit *map);
KP_NODISCARD kp_result kp_limit_make(kp_limit *map, kp_deform *deform, kp_env *env,
                                     const kp_deform_part *part);
// Its edges from the nodes that are fixed now.
KP_NODISCARD kp_result kp_limit_make_edges(kp_limit *map, kp_deform *deform, const kp_env *env,
                                           kp_range nodes);

// ---- limit_edges.c ------------------------------------------------------------------------------

// Edges of n nodes from the sketch, the fixed nodes and the def of the map.
KP_NODISCARD kp_result kp_limit_put_edges(kp_limit *map, int64_t n);

// ---- limit_passes.c -----------------------------------------------------------------------------

// `moving` of the nodes so that edges keep their lengths, as the map has it.
KP_NODISCARD kp_result kp_limit_correct(kp_limit *map, kp_deform *deform, kp_range nodes);

// ---- limit_watch.c ------------------------------------------------------------------------------

// State for what the map watches: nothing, held nodes, contact.
KP_NODISCARD kp_result kp_limit_watch_create(kp_limit *map, kp_env *env, kp_range nodes);
// The list as the saved state has it, where the world was rewound or loaded.
KP_NODISCARD kp_result kp_limit_follow(kp_limit *map, kp_deform *deform, kp_env *env,
                                       kp_range nodes);
