// The stitch pattern of plain knitwear (Bayraktar 2010, section 4.2.1, Eq. 4.7): twelve bonding
// points in every cell of a grid of mass points, on the front and the back layer, and the order in
// which a yarn runs through them. Bonding points have no mass; they are recomputed from the nodes
// whenever they are drawn.
//
//   m1 ------- m2    row r + 1      front: legs of the loops, t1 t4 t7 t8 t11 t12
//    |  cell   |                    back:  heads, t2 t3 t5 t6 t9 t10
//    | (r, k)  |
//   m3 ------- m4    row r
//
// Neighbouring cells share points, which is what makes a yarn of them:
//   t8(r, k) = t1(r+1, k)    t12(r, k) = t4(r+1, k)    t9(r, k) = t5(r, k+1)
#pragma once

#include "base/array.h"
#include "kelpie/vec.h"

#define KP_STITCH_POINTS 12

// A bonding point as a mean of the four nodes around its cell.
typedef struct kp_bond {
  kp_index node[4];  // m1, m2, m3, m4
  double weight[4];
} kp_bond;

typedef KP_ARRAY(kp_bond) kp_bonds;
typedef KP_ARRAY(kp_index) kp_yarns;  // first bond of each yarn, and the number of bonds at the end

// Nodes of the knit: node (row r, column k) of layer l has number l columns rows + r columns + k.
// Layer 0 is the front, layer 2 the back.
typedef struct kp_knit_shape {
  int64_t columns, rows;  // nodes
} kp_knit_shape;

// Point t1..t12 (`point` 1..12) of cell (r, k), 0 <= k < columns - 1. The row above the last,
// r = rows - 1, has no cell of its own; its points are taken beyond the edge of the cell below, so
// that the loops of the last course close.
kp_bond kp_stitch_bond(const kp_knit_shape *shape, int64_t r, int64_t k, int point);

// All yarns: one per course, rows - 1 of them, from the first column to the last.
KP_NODISCARD kp_result kp_stitch_yarns(const kp_knit_shape *shape, kp_bonds *bonds,
                                       kp_yarns *yarns);

// Where a bonding point is.
kp_vec3 kp_bond_at(const kp_bond *bond, const kp_vec3 *nodes);

// Catmull and Rom's curve through the points p0 .. p3, between p1 (t = 0) and p2 (t = 1).
kp_vec3 kp_catmull_rom(kp_vec3 p0, kp_vec3 p1, kp_vec3 p2, kp_vec3 p3, double t);

// The threads of all yarns for pictures (section 4.4, Fig. 4.6): curves through the bonding points,
// and around each of them `plies` threads that turn once in a length of `pitch`. The frame that
// they turn in is carried along without turning itself, so the twist is continuous along a whole
// yarn.
typedef struct kp_thread_def {
  kp_knit_shape shape;
  double radius;  // m, of the yarn
  int64_t plies;  // 1: the yarn itself
  double pitch;   // m
  int samples;    // points from one bonding point to the next
} kp_thread_def;

typedef struct kp_threads {
  KP_ARRAY(kp_vec3) points;
  KP_ARRAY(uint64_t) starts;  // first point of each thread, and the number of points at the end
  double radius;              // m, of a thread
} kp_threads;

KP_NODISCARD kp_result kp_stitch_threads(const kp_thread_def *def, const kp_vec3 *nodes,
                                         kp_threads *out);
void kp_threads_free(kp_threads *threads);
