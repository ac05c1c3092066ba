// Altitudes of a tetrahedron a, b, c, d, 6 V = (b - a).((c - a) x (d - a)): from each corner to the
// opposite face and between each pair of opposite edges, seven in all (Selle 2008, section 5.3.4).
// Along the shortest of them the nearest points lie inside face or edges (his theorem 1), so a
// spring along it never gets weights that blow up however flat the tetrahedron is.
//
// An altitude is a direction n and one weight per corner that sum to zero: its signed length is
// l = n.(sum of w x), negative where the tetrahedron is inside out. The direction follows from the
// order of the corners, never from the side a corner happens to be on.
//
//   0  a | b c d      4  a b | c d       With p | q r s:  n ~ (s - q) x (r - q)
//   1  b | a d c      5  a c | d b            p q | r s:  n ~ (q - p) x (s - r)
//   2  c | d a b      6  a d | b c       and l = 6 V/|n| for all of them, so the shortest has the
//   3  d | c b a                         longest n; nothing is divided by V.
#pragma once

#include "kelpie/vec.h"

#define KP_ALTITUDES 7
#define KP_ALTITUDE_EDGES 6
#define KP_ALTITUDE_FACES 4         // the first of them are from a corner to a face
#define KP_ALTITUDE_SHORT 1e-6      // squared share of an edge's rest length
#define KP_ALTITUDE_LINE 3.0459e-4  // sin^2 of 1 degree

typedef struct kp_altitude {
  int32_t number;  // which of the seven; -1: none, all points on one place
  kp_vec3 n;       // unit
  double w[4];     // of a, b, c, d
  double length;   // m, signed
} kp_altitude;

// Corners of an altitude in the order p, q, r, s, two bits each.
KP_FN int kp_altitude_corner(int number, int place) {
  const uint32_t orders[KP_ALTITUDES] = { 0xe4, 0xb1, 0x4e, 0x1b, 0xe4, 0x78, 0x9c };
  return (int)(orders[number] >> (2 * place)) & 3;
}

// Number of the edge between two corners: ab ac ad bc bd cd.
KP_FN int kp_altitude_edge(int i, int j) {
  int low = i < j ? i : j, high = i < j ? j : i;
  return low == 0 ? high - 1 : low + high;
}

// The two vectors whose product is the normal, and the edges they are.
KP_FN void kp_altitude_vectors(const kp_vec3 x[4], int number, kp_vec3 u[2], int edges[2]) {
  int p = kp_altitude_corner(number, 0), q = kp_altitude_corner(number, 1);
  int r = kp_altitude_corner(number, 2), s = kp_altitude_corner(number, 3);
  bool is_face = number < KP_ALTITUDE_FACES;
  u[0] = is_face ? kp_vec3_sub(x[s], x[q]) : kp_vec3_sub(x[q], x[p]);
  u[1] = is_face ? kp_vec3_sub(x[r], x[q]) : kp_vec3_sub(x[s], x[r]);
  edges[0] = is_face ? kp_altitude_edge(q, s) : kp_altitude_edge(p, q);
  edges[1] = is_face ? kp_altitude_edge(q, r) : kp_altitude_edge(r, s);
}

// The altitude of a given number. Weights are where they are, also outside face and edges.
KP_FN kp_altitude kp_altitude_make(const kp_vec3 x[4], int number) {
  kp_altitude out = { -1, { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0, 0.0 }, 0.0 };
  kp_vec3 u[2];
  int edges[2];
  kp_altitude_vectors(x, number, u, edges);
  kp_vec3 n = kp_vec3_cross(u[0], u[1]);
  double n2 = kp_vec3_dot(n, n);
  if (!(n2 > 0.0)) {
    return out;
  }
  int p = kp_altitude_corner(number, 0), q = kp_altitude_corner(number, 1);
  int r = kp_altitude_corner(number, 2), s = kp_altitude_corner(number, 3);
  out.number = number;
  out.n = kp_vec3_scale(n, 1.0 / sqrt(n2));
  if (number < KP_ALTITUDE_FACES) {
    // p over q + beta (r - q) + gamma (s - q)
    kp_vec3 d = kp_vec3_sub(x[p], x[q]);
    double beta = kp_vec3_dot(kp_vec3_cross(u[0], d), n) / n2;
    double gamma = kp_vec3_dot(kp_vec3_cross(d, u[1]), n) / n2;
    out.w[p] = 1.0;
    out.w[q] = -(1.0 - beta - gamma);
    out.w[r] = -beta;
    out.w[s] = -gamma;
    out.length = kp_vec3_dot(d, out.n);
  } else {
    // p + alpha (q - p) over r + beta (s - r)
    kp_vec3 d = kp_vec3_sub(x[r], x[p]);
    double alpha = kp_vec3_dot(kp_vec3_cross(d, u[1]), n) / n2;
    double beta = kp_vec3_dot(kp_vec3_cross(d, u[0]), n) / n2;
    out.w[p] = 1.0 - alpha;
    out.w[q] = alpha;
    out.w[r] = -(1.0 - beta);
    out.w[s] = -beta;
    out.length = -kp_vec3_dot(d, out.n);
  }
  return out;
}

// The number of the shortest: the one with the longest normal; the first of equal ones.
KP_FN int kp_altitude_shortest(const kp_vec3 x[4]) {
  int best = 0;
  double most = -1.0;
  for (int c = 0; c < KP_ALTITUDES; ++c) {
    kp_vec3 u[2];
    int edges[2];
    kp_altitude_vectors(x, c, u, edges);
    kp_vec3 n = kp_vec3_cross(u[0], u[1]);
    double n2 = kp_vec3_dot(n, n);
    best = n2 > most ? c : best;
    most = n2 > most ? n2 : most;
  }
  return best;
}

// Round-off leaves weights a hair outside; the two sides keep their sums of 1 and -1.
KP_FN void kp_altitude_clamp(kp_altitude *altitude) {
  bool is_face = altitude->number < KP_ALTITUDE_FACES;
  int first = is_face ? 1 : 0;
  for (int side = first; side < 2; ++side) {
    int from = side == 0 ? 0 : (is_face ? 1 : 2), to = side == 0 ? 2 : 4;
    double sign = side == 0 ? 1.0 : -1.0;
    double sum = 0.0;
    for (int k = from; k < to; ++k) {
      int c = kp_altitude_corner(altitude->number, k);
      double w = sign * altitude->w[c];
      altitude->w[c] = w > 0.0 ? w : 0.0;
      sum += altitude->w[c];
    }
    for (int k = from; k < to; ++k) {
      int c = kp_altitude_corner(altitude->number, k);
      altitude->w[c] *= sign / sum;
    }
  }
}

// A direction across t.
KP_FN kp_vec3 kp_altitude_across(kp_vec3 t) {
  double x = fabs(t.x), y = fabs(t.y), z = fabs(t.z);
  kp_vec3 axis = { 0.0, 0.0, 0.0 };
  if (x <= y && x <= z) {
    axis.x = 1.0;
  } else if (y <= z) {
    axis.y = 1.0;
  } else {
    axis.z = 1.0;
  }
  return kp_vec3_normalize(kp_vec3_cross(t, axis));
}

// All four on a line: edges (end, far middle) and (near middle, end), which overlap between the two
// middles, meet at the middle of that stretch and are pushed apart across the line.
KP_FN kp_altitude kp_altitude_on_line(const kp_vec3 x[4], kp_vec3 along) {
  int order[4] = { 0, 1, 2, 3 };
  double at[4];
  for (int c = 0; c < 4; ++c) {
    at[c] = kp_vec3_dot(kp_vec3_sub(x[c], x[0]), along);
  }
  for (int i = 1; i < 4; ++i) {
    for (int j = i; j > 0 && at[order[j]] < at[order[j - 1]]; --j) {
      int swap = order[j];
      order[j] = order[j - 1];
      order[j - 1] = swap;
    }
  }
  kp_altitude out = { -1, kp_altitude_across(along), { 0.0, 0.0, 0.0, 0.0 }, 0.0 };
  double middle = 0.5 * (at[order[1]] + at[order[2]]);
  double first = at[order[2]] - at[order[0]], second = at[order[3]] - at[order[1]];
  double alpha = first > 0.0 ? (middle - at[order[0]]) / first : 0.5;
  double beta = second > 0.0 ? (middle - at[order[1]]) / second : 0.5;
  // the pair of edges that holds a and its partner; the side of a comes first
  bool a_is_first = order[0] == 0 || order[2] == 0;
  int partner = order[0] == 0   ? order[2]
                : order[2] == 0 ? order[0]
                : order[1] == 0 ? order[3]
                                : order[1];
  double sign = a_is_first ? 1.0 : -1.0;
  out.number = 3 + partner;
  out.w[order[0]] = sign * (1.0 - alpha);
  out.w[order[2]] = sign * alpha;
  out.w[order[1]] = -sign * (1.0 - beta);
  out.w[order[3]] = -sign * beta;
  return out;
}

// The altitude a spring acts along; rest2 holds the squared rest lengths of the edges. None
// (number -1) where one of its edges has vanished: springs along edges open it again.
KP_FN kp_altitude kp_altitude_choose(const kp_vec3 x[4], const double rest2[KP_ALTITUDE_EDGES]) {
  int number = kp_altitude_shortest(x);
  kp_vec3 u[2];
  int edges[2];
  kp_altitude_vectors(x, number, u, edges);
  double a2 = kp_vec3_dot(u[0], u[0]), b2 = kp_vec3_dot(u[1], u[1]);
  if (a2 < KP_ALTITUDE_SHORT * rest2[edges[0]] || b2 < KP_ALTITUDE_SHORT * rest2[edges[1]]) {
    kp_altitude none = { -1, { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0, 0.0 }, 0.0 };
    return none;
  }
  kp_vec3 n = kp_vec3_cross(u[0], u[1]);
  if (kp_vec3_dot(n, n) < KP_ALTITUDE_LINE * a2 * b2) {
    return kp_altitude_on_line(x, kp_vec3_normalize(a2 > b2 ? u[0] : u[1]));
  }
  kp_altitude out = kp_altitude_make(x, number);
  kp_altitude_clamp(&out);
  return out;
}

// 6 V
KP_FN double kp_tet_volume6(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 d) {
  return kp_vec3_dot(kp_vec3_sub(b, a), kp_vec3_cross(kp_vec3_sub(c, a), kp_vec3_sub(d, a)));
}
