// Which nodes of a grid of cloth are joined by springs, as pairs of node numbers. Node (i, j), i
// along the width, j down, has number j columns + i.
//
//   structural  (i+-1, j), (i, j+-1)                        Bayraktar 2010, section 4.1
//   shear       (i+-1, j+-1)
//   bend        (i+-2, j), (i, j+-2)
//               (i+-2, j+-2)                                Ozgen 2013, section 3.3, after Choi, Ko
#pragma once

#include "base/array.h"
#include "kelpie/config.h"

typedef enum kp_link_kind {
  KP_LINK_HORIZONTAL,  // structural, along a row
  KP_LINK_VERTICAL,    // structural, along a column
  KP_LINK_SHEAR,
  KP_LINK_BEND,
  KP_LINK_BEND_DIAGONAL,
  KP_LINK_KIND_COUNT
} kp_link_kind;

typedef struct kp_link {
  kp_index a, b;
  kp_link_kind kind;
} kp_link;

typedef KP_ARRAY(kp_link) kp_links;

typedef struct kp_grid_shape {
  int64_t columns, rows;  // nodes
  bool is_tube;           // the last column lies beside the first
  bool bend_diagonals;
} kp_grid_shape;

// How many links of a kind there are, by the closed formulas.
int64_t kp_grid_link_count(const kp_grid_shape *shape, kp_link_kind kind);

// Adds every link once, kind by kind, in the order of the nodes. `first` is added to the numbers.
KP_NODISCARD kp_result kp_grid_links_add(const kp_grid_shape *shape, kp_index first,
                                         kp_links *links);
