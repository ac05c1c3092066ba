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

// Loops over lanes of many tetrahedra are vectorised only when all of it stands in them.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define KP_ALTITUDE_FN static inline __attribute__((always_inline))
#else
#define KP_ALTITUDE_FN KP_FN
#endif

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

// Slopes of 6 V at the corners. They add up to nothing, and with them all seven are one: the normal
// of an altitude is the sum of the slopes on the side of p, and corner c has the weight g_c.n/n^2,
// because sum (g_c.n) x_c = 6 V n for any n.
KP_ALTITUDE_FN void kp_altitude_slopes(const kp_vec3 x[4], kp_vec3 g[4]) {
  kp_vec3 u = kp_vec3_sub(x[1], x[0]), v = kp_vec3_sub(x[2], x[0]), w = kp_vec3_sub(x[3], x[0]);
  g[1] = kp_vec3_cross(v, w);
  g[2] = kp_vec3_cross(w, u);
  g[3] = kp_vec3_cross(u, v);
  g[0].x = -(g[1].x + g[2].x + g[3].x);
  g[0].y = -(g[1].y + g[2].y + g[3].y);
  g[0].z = -(g[1].z + g[2].z + g[3].z);
}

// Along the normal n of that number. Weights are where they are, also outside face and edges.
KP_ALTITUDE_FN kp_altitude kp_altitude_along(const kp_vec3 x[4], const kp_vec3 g[4], int number,
                                             kp_vec3 n) {
  double n2 = kp_vec3_dot(n, n);
  double inverse = 1.0 / n2, root = sqrt(n2);
  kp_altitude out;
  out.number = number;
  out.n = kp_vec3_scale(n, 1.0 / root);
  out.w[0] = kp_vec3_dot(g[0], n) * inverse;
  out.w[1] = kp_vec3_dot(g[1], n) * inverse;
  out.w[2] = kp_vec3_dot(g[2], n) * inverse;
  out.w[3] = kp_vec3_dot(g[3], n) * inverse;
  out.length = kp_vec3_dot(kp_vec3_sub(x[1], x[0]), g[1]) / root;
  return out;
}

// The altitude of a given number.
KP_FN kp_altitude kp_altitude_make(const kp_vec3 x[4], int number) {
  kp_altitude none = { -1, { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0, 0.0 }, 0.0 };
  kp_vec3 g[4];
  kp_altitude_slopes(x, g);
  kp_vec3 n = number < KP_ALTITUDE_FACES ? g[number] : kp_vec3_add(g[0], g[number - 3]);
  return kp_vec3_dot(n, n) > 0.0 ? kp_altitude_along(x, g, number, n) : none;
}

// The longest normal so far, with the squared lengths of the two edges whose product it is.
typedef struct kp_altitude_best {
  double number;  // as wide as the rest
  kp_vec3 n;
  double n2, a2, b2;
} kp_altitude_best;

KP_ALTITUDE_FN void kp_altitude_take(kp_altitude_best *best, double number, kp_vec3 n, double a2,
                                     double b2) {
  double n2 = kp_vec3_dot(n, n);
  bool longer = n2 > best->n2;
  best->number = longer ? number : best->number;
  best->n.x = longer ? n.x : best->n.x;
  best->n.y = longer ? n.y : best->n.y;
  best->n.z = longer ? n.z : best->n.z;
  best->n2 = longer ? n2 : best->n2;
  best->a2 = longer ? a2 : best->a2;
  best->b2 = longer ? b2 : best->b2;
}

KP_ALTITUDE_FN double kp_altitude_square(kp_vec3 a, kp_vec3 b) {
  double x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
  return x * x + y * y + z * z;
}

// The shortest altitude has the longest normal; the first of equal ones. Nothing here branches, so
// that lanes of many tetrahedra go together.
KP_ALTITUDE_FN kp_altitude_best kp_altitude_longest(const kp_vec3 x[4], const kp_vec3 g[4]) {
  double ab = kp_altitude_square(x[0], x[1]), ac = kp_altitude_square(x[0], x[2]);
  double ad = kp_altitude_square(x[0], x[3]), bc = kp_altitude_square(x[1], x[2]);
  double bd = kp_altitude_square(x[1], x[3]), cd = kp_altitude_square(x[2], x[3]);
  kp_altitude_best best = { 0.0, g[0], kp_vec3_dot(g[0], g[0]), bd, bc };
  kp_altitude_take(&best, 1.0, g[1], ac, ad);
  kp_altitude_take(&best, 2.0, g[2], bd, ad);
  kp_altitude_take(&best, 3.0, g[3], ac, bc);
  kp_altitude_take(&best, 4.0, kp_vec3_add(g[0], g[1]), ab, cd);
  kp_altitude_take(&best, 5.0, kp_vec3_add(g[0], g[2]), ac, bd);
  kp_altitude_take(&best, 6.0, kp_vec3_add(g[0], g[3]), ad, bc);
  return best;
}

KP_FN int kp_altitude_shortest(const kp_vec3 x[4]) {
  kp_vec3 g[4];
  kp_altitude_slopes(x, g);
  return (int)kp_altitude_longest(x, g).number;
}

KP_ALTITUDE_FN double kp_altitude_positive(double w) {
  return w > 0.0 ? w : 0.0;
}

// Along the shortest altitude the weights of one side are positive, of the other negative. Both
// sides keep their sums of 1 and -1 whatever rounding left.
KP_ALTITUDE_FN void kp_altitude_balance(kp_altitude *altitude) {
  double *w = altitude->w;
  double a = kp_altitude_positive(w[0]), b = kp_altitude_positive(w[1]);
  double c = kp_altitude_positive(w[2]), d = kp_altitude_positive(w[3]);
  double near = 1.0 / (a + b + c + d);
  double far = 1.0 / ((a - w[0]) + (b - w[1]) + (c - w[2]) + (d - w[3]));
  w[0] = a * near - (a - w[0]) * far;
  w[1] = b * near - (b - w[1]) * far;
  w[2] = c * near - (c - w[2]) * far;
  w[3] = d * near - (d - w[3]) * far;
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

// Edges whose product a normal is, as kp_altitude_vectors has them.
KP_ALTITUDE_FN int kp_altitude_first_edge(int number) {
  return (0x2101414 >> (4 * number)) & 7;
}

KP_ALTITUDE_FN int kp_altitude_second_edge(int number) {
  return (0x3453223 >> (4 * number)) & 7;
}

// The altitude a spring acts along, and what tells whether it is one: the squared lengths of the
// two edges its normal is made of.
typedef struct kp_altitude_choice {
  kp_altitude altitude;
  double n2, a2, b2;
} kp_altitude_choice;

KP_ALTITUDE_FN kp_altitude_choice kp_altitude_look(const kp_vec3 x[4]) {
  kp_altitude_choice out;
  kp_vec3 g[4];
  kp_altitude_slopes(x, g);
  kp_altitude_best best = kp_altitude_longest(x, g);
  out.n2 = best.n2;
  out.a2 = best.a2;
  out.b2 = best.b2;
  out.altitude = kp_altitude_along(x, g, (int)best.number, best.n);
  kp_altitude_balance(&out.altitude);
  return out;
}

KP_ALTITUDE_FN bool kp_altitude_is_plain(const kp_altitude_choice *choice, double rest_a2,
                                         double rest_b2) {
  return !(choice->a2 < KP_ALTITUDE_SHORT * rest_a2 || choice->b2 < KP_ALTITUDE_SHORT * rest_b2 ||
           choice->n2 < KP_ALTITUDE_LINE * choice->a2 * choice->b2);
}

// What it was found to be: a vanished edge, squared rest lengths of the two given, leaves none
// (number -1), springs along edges open it again; four corners on a line are pushed apart across.
KP_FN kp_altitude kp_altitude_judge(const kp_vec3 x[4], const kp_altitude_choice *choice,
                                    double rest_a2, double rest_b2) {
  if (choice->a2 < KP_ALTITUDE_SHORT * rest_a2 || choice->b2 < KP_ALTITUDE_SHORT * rest_b2) {
    kp_altitude none = { -1, { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0, 0.0 }, 0.0 };
    return none;
  }
  if (choice->n2 < KP_ALTITUDE_LINE * choice->a2 * choice->b2) {
    kp_vec3 u[2];
    int edges[2];
    kp_altitude_vectors(x, choice->altitude.number, u, edges);
    return kp_altitude_on_line(x, kp_vec3_normalize(choice->a2 > choice->b2 ? u[0] : u[1]));
  }
  return choice->altitude;
}

// The same; rest2 holds the squared rest lengths of the edges.
KP_FN kp_altitude kp_altitude_choose(const kp_vec3 x[4], const double rest2[KP_ALTITUDE_EDGES]) {
  kp_altitude_choice choice = kp_altitude_look(x);
  int number = choice.altitude.number;
  return kp_altitude_judge(x, &choice, rest2[kp_altitude_first_edge(number)],
                           rest2[kp_altitude_second_edge(number)]);
}

// 6 V
KP_FN double kp_tet_volume6(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 d) {
  return kp_vec3_dot(kp_vec3_sub(b, a), kp_vec3_cross(kp_vec3_sub(c, a), kp_vec3_sub(d, a)));
}
