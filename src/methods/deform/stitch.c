#include "methods/deform/stitch.h"

#include <math.h>

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

// ---- threads ------------------------------------------------------------------------------------

#define TWO_PI 6.28318530717958647693

typedef KP_ARRAY(kp_vec3) kp_line;

// Points of one yarn, `samples` to each piece and the last bonding point.
static kp_result sample_yarn(const kp_bond *bonds, kp_index n, const kp_vec3 *nodes, int samples,
                             kp_line *line) {
  line->count = 0;
  for (kp_index b = 0; b + 1 < n; ++b) {
    kp_vec3 p[4];
    for (int c = 0; c < 4; ++c) {
      kp_index at = b + c - 1;
      at = at < 0 ? 0 : (at >= n ? n - 1 : at);
      p[c] = kp_bond_at(&bonds[at], nodes);
    }
    for (int s = 0; s < samples; ++s) {
      KP_TRY(kp_array_push(line, kp_catmull_rom(p[0], p[1], p[2], p[3], (double)s / samples)));
    }
  }
  return kp_array_push(line, kp_bond_at(&bonds[n - 1], nodes));
}

static kp_vec3 tangent(const kp_line *line, size_t k) {
  kp_vec3 before = line->data[k > 0 ? k - 1 : 0];
  kp_vec3 after = line->data[k + 1 < line->count ? k + 1 : k];
  return kp_vec3_normalize(kp_vec3_sub(after, before));
}

// Any unit vector across t.
static kp_vec3 across(kp_vec3 t) {
  kp_vec3 axis = fabs(t.x) < 0.8 ? kp_vec3_make(1, 0, 0) : kp_vec3_make(0, 1, 0);
  return kp_vec3_normalize(kp_vec3_cross(t, axis));
}

static kp_result wind(const kp_thread_def *def, const kp_line *line, int64_t ply, kp_threads *out) {
  KP_TRY(kp_array_push(&out->starts, (uint64_t)out->points.count));
  double away = def->plies > 1 ? def->radius - out->radius : 0.0;
  double s = 0.0;
  kp_vec3 normal = across(tangent(line, 0));
  for (size_t k = 0; k < line->count; ++k) {
    kp_vec3 t = tangent(line, k);
    // carried along: what of the last normal lies across the new direction
    kp_vec3 carried = kp_vec3_madd(normal, -kp_vec3_dot(normal, t), t);
    normal = kp_vec3_length(carried) > 1e-6 ? kp_vec3_normalize(carried) : across(t);
    s += k > 0 ? kp_vec3_length(kp_vec3_sub(line->data[k], line->data[k - 1])) : 0.0;
    double angle = TWO_PI * (s / def->pitch + (double)ply / (double)def->plies);
    kp_vec3 side = kp_vec3_add(kp_vec3_scale(normal, cos(angle)),
                               kp_vec3_scale(kp_vec3_cross(t, normal), sin(angle)));
    KP_TRY(kp_array_push(&out->points, kp_vec3_madd(line->data[k], away, side)));
  }
  return KP_OK;
}

static kp_result wind_all(const kp_thread_def *def, const kp_vec3 *nodes, const kp_bonds *bonds,
                          const kp_yarns *yarns, kp_line *line, kp_threads *out) {
  for (size_t y = 0; y + 1 < yarns->count; ++y) {
    kp_index first = yarns->data[y], n = yarns->data[y + 1] - first;
    KP_TRY(sample_yarn(bonds->data + first, n, nodes, def->samples, line));
    for (int64_t ply = 0; ply < def->plies; ++ply) {
      KP_TRY(wind(def, line, ply, out));
    }
  }
  return kp_array_push(&out->starts, (uint64_t)out->points.count);
}

kp_result kp_stitch_threads(const kp_thread_def *def, const kp_vec3 *nodes, kp_threads *out) {
  *out = (kp_threads){ 0 };
  // circles that touch each other and the rim of the yarn
  double share = def->plies > 1 ? sin(0.5 * TWO_PI / (double)def->plies) : 1.0;
  out->radius = def->plies > 1 ? def->radius * share / (1.0 + share) : def->radius;
  kp_bonds bonds = { 0 };
  kp_yarns yarns = { 0 };
  kp_line line = { 0 };
  kp_result result = kp_stitch_yarns(&def->shape, &bonds, &yarns);
  if (result == KP_OK) {
    result = wind_all(def, nodes, &bonds, &yarns, &line, out);
  }
  kp_array_free(&bonds);
  kp_array_free(&yarns);
  kp_array_free(&line);
  return result;
}

void kp_threads_free(kp_threads *threads) {
  kp_array_free(&threads->points);
  kp_array_free(&threads->starts);
}
