#include "methods/deform/stitch.h"

// Eq. 4.7 in coordinates of the cell: u from m3 to m4, v from the row of m3 to that of m1.
typedef struct place {
  double u, v;
  int layer;
} place;

#define FRONT 0
#define BACK 2

static const place places[KP_STITCH_POINTS] = {
  { 1.0 / 7.0, 0.0, FRONT },        // t1
  { 1.5 / 7.0, 1.0 / 3.0, BACK },   // t2
  { 5.5 / 7.0, 1.0 / 3.0, BACK },   // t3
  { 6.0 / 7.0, 0.0, FRONT },        // t4
  { 0.0, 0.0, BACK },               // t5
  { 2.0 / 7.0, 0.0, BACK },         // t6
  { 2.5 / 7.0, 1.0 / 4.0, FRONT },  // t7
  { 1.0 / 7.0, 1.0, FRONT },        // t8
  { 1.0, 0.0, BACK },               // t9
  { 5.0 / 7.0, 0.0, BACK },         // t10
  { 4.5 / 7.0, 1.0 / 4.0, FRONT },  // t11
  { 6.0 / 7.0, 1.0, FRONT },        // t12
};

kp_bond kp_stitch_bond(const kp_knit_shape *shape, int64_t r, int64_t k, int point) {
  place p = places[point - 1];
  if (r == shape->rows - 1) {
    r -= 1;
    p.v += 1.0;
  }
  int64_t layer = (int64_t)p.layer * shape->columns * shape->rows;
  kp_index m3 = (kp_index)(layer + r * shape->columns + k);
  kp_index m1 = m3 + (kp_index)shape->columns;
  return (kp_bond){
    .node = { m1, m1 + 1, m3, m3 + 1 },
    .weight = { (1.0 - p.u) * p.v, p.u * p.v, (1.0 - p.u) * (1.0 - p.v), p.u * (1.0 - p.v) },
  };
}

// One stitch of course r: up the left leg, over the head, which lies in the row above, down the
// right leg. The last point is the first of the next stitch.
typedef struct turn {
  int above, point;
} turn;

static const turn turns[] = {
  { 0, 5 }, { 0, 6 }, { 0, 7 }, { 0, 8 }, { 1, 2 }, { 1, 3 }, { 1, 4 }, { 0, 11 }, { 0, 10 },
};

kp_result kp_stitch_yarns(const kp_knit_shape *shape, kp_bonds *bonds, kp_yarns *yarns) {
  if (shape->columns < 2 || shape->rows < 2) {
    return kp_fail(KP_ERROR_ARGUMENT, "a knit needs 2 x 2 nodes at least");
  }
  for (int64_t r = 0; r + 1 < shape->rows; ++r) {
    KP_TRY(kp_array_push(yarns, (kp_index)bonds->count));
    for (int64_t k = 0; k + 1 < shape->columns; ++k) {
      for (size_t t = 0; t < sizeof turns / sizeof turns[0]; ++t) {
        KP_TRY(kp_array_push(bonds, kp_stitch_bond(shape, r + turns[t].above, k, turns[t].point)));
      }
    }
    KP_TRY(kp_array_push(bonds, kp_stitch_bond(shape, r, shape->columns - 2, 9)));
  }
  return kp_array_push(yarns, (kp_index)bonds->count);
}

kp_vec3 kp_bond_at(const kp_bond *bond, const kp_vec3 *nodes) {
  kp_vec3 sum = { 0.0, 0.0, 0.0 };
  for (int c = 0; c < 4; ++c) {
    sum = kp_vec3_add(sum, kp_vec3_scale(nodes[bond->node[c]], bond->weight[c]));
  }
  return sum;
}

kp_vec3 kp_catmull_rom(kp_vec3 p0, kp_vec3 p1, kp_vec3 p2, kp_vec3 p3, double t) {
  double w0 = 0.5 * t * (-1.0 + t * (2.0 - t));
  double w1 = 0.5 * (2.0 + t * t * (-5.0 + 3.0 * t));
  double w2 = 0.5 * t * (1.0 + t * (4.0 - 3.0 * t));
  double w3 = 0.5 * t * t * (t - 1.0);
  kp_vec3 sum = kp_vec3_add(kp_vec3_scale(p0, w0), kp_vec3_scale(p1, w1));
  return kp_vec3_add(sum, kp_vec3_add(kp_vec3_scale(p2, w2), kp_vec3_scale(p3, w3)));
}
