// Repulsion of pairs that are near each other (Bridson et al. 2002, section 7.2; Selle 2008,
// section 6.4). A pair changes the velocities of its four nodes. Pairs of one colour have no free
// node in common, so that a colour may run in any order, in parallel, and gives what pairs in
// sequence give.
//
// A pair is a vector sum c_i x_i from its first side to its second. With w_i the inverse masses, an
// impulse j n changes velocities by c_i w_i j n, and their relative velocity by j n sum c_i^2 w_i.
// Selle's formulas (equal masses; It = 2 I / (1 + w1^2 + w2^2 + w3^2)) are this with one mass; the
// second branch of his elastic impulse overshoots by a factor of two, and is not copied.
#pragma once

#include "kelpie/vec.h"
#include "math/rounding.h"

typedef struct contact_pair {
  int32_t node[4];  // point/triangle: the triangle seen from the point's side, then the point
  kp_real h;
  kp_real friction;
  kp_real side[3];  // edge/edge: unit vector between them in the collision-free state
} contact_pair;

typedef struct contact_repulse_args {
  const contact_pair *pairs;
  int64_t first, end;  // of the pairs of this call
  int64_t run;         // pairs that one element takes, one after the other
  const kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  const kp_real *inverse_mass;
  const uint8_t *hold;  // axes along which a node moves as told; NULL: none
  kp_real dt, stiffness, recovery, flip, reach;
  int32_t is_elastic, has_friction, has_history;
} contact_repulse_args;

typedef contact_repulse_args contact_faces_args;
typedef contact_repulse_args contact_edges_args;

typedef struct contact_vec {
  kp_real x, y, z;
} contact_vec;

KP_FN contact_vec contact_between(const contact_repulse_args *a, int32_t from, int32_t to) {
  contact_vec d;
  d.x = (kp_real)(a->x[to] - a->x[from]);
  d.y = (kp_real)(a->y[to] - a->y[from]);
  d.z = (kp_real)(a->z[to] - a->z[from]);
  return d;
}

KP_FN kp_real contact_dot(contact_vec a, contact_vec b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

KP_FN contact_vec contact_cross(contact_vec a, contact_vec b) {
  contact_vec c;
  c.x = a.y * b.z - a.z * b.y;
  c.y = a.z * b.x - a.x * b.z;
  c.z = a.x * b.y - a.y * b.x;
  return c;
}

KP_FN contact_vec contact_scaled(contact_vec a, kp_real s) {
  contact_vec b;
  b.x = a.x * s;
  b.y = a.y * s;
  b.z = a.z * s;
  return b;
}

// n . W n: what an impulse along n changes along n, W the mobility of a pair along the axes.
KP_FN kp_real contact_give(contact_vec w, contact_vec n) {
  return w.x * n.x * n.x + w.y * n.y * n.y + w.z * n.z * n.z;
}

// The impulse of a pair with weights c, normal n from the first side to the second and a gap along
// it, which is negative where the sides have changed places: the same formula then pulls back.
KP_FN void contact_apply(const contact_repulse_args *a, const contact_pair *p, const kp_real c[4],
                         contact_vec n, kp_real gap) {
  contact_vec v;
  contact_vec w;               // sum c^2 w along each axis: 1 / effective mass
  kp_real whole = (kp_real)0;  // the same if nothing were held
  v.x = v.y = v.z = w.x = w.y = w.z = (kp_real)0;
  for (int k = 0; k < 4; ++k) {
    int32_t i = p->node[k];
    uint8_t hold = a->hold != NULL ? a->hold[i] : (uint8_t)0;
    kp_real give = c[k] * c[k] * a->inverse_mass[i];
    v.x += c[k] * a->vx[i];
    v.y += c[k] * a->vy[i];
    v.z += c[k] * a->vz[i];
    w.x += hold & 1 ? (kp_real)0 : give;
    w.y += hold & 2 ? (kp_real)0 : give;
    w.z += hold & 4 ? (kp_real)0 : give;
    whole += give;
  }
  kp_real give = contact_give(w, n);
  // where hardly anything is free along n, an impulse would throw nodes sideways
  if (!(give > (kp_real)0.01 * whole)) {
    return;
  }
  kp_real normal = contact_dot(v, n);
  kp_real change = normal < (kp_real)0 ? -normal : (kp_real)0;  // inelastic
  kp_real along = change;
  contact_vec total;  // impulse
  total.x = total.y = total.z = (kp_real)0;
  if (a->has_friction && change > (kp_real)0) {
    contact_vec slip;
    slip.x = v.x - normal * n.x;
    slip.y = v.y - normal * n.y;
    slip.z = v.z - normal * n.z;
    kp_real speed2 = contact_dot(slip, slip);
    kp_real most = p->friction * change;
    kp_real speed = kp_root(speed2);
    kp_real part = speed > most ? most / speed : (kp_real)1;
    kp_real across = contact_give(w, slip);  // speed^2 times the mobility
    kp_real s = across > (kp_real)0.01 * whole * speed2 ? part * speed2 / across : (kp_real)0;
    total = contact_scaled(slip, -s);
  }
  if (a->is_elastic) {
    kp_real overlap = p->h - gap;
    kp_real wanted = a->recovery * overlap / a->dt - (normal + change);
    kp_real spring = a->dt * a->stiffness * overlap * give;
    kp_real push = spring < wanted ? spring : wanted;
    along += push > (kp_real)0 ? push : (kp_real)0;
  }
  along /= give;
  total.x += along * n.x;
  total.y += along * n.y;
  total.z += along * n.z;
  for (int k = 0; k < 4; ++k) {
    int32_t i = p->node[k];
    uint8_t hold = a->hold != NULL ? a->hold[i] : (uint8_t)0;
    kp_real s = c[k] * a->inverse_mass[i];
    // nodes that move as told may belong to several pairs of a colour
    if (a->inverse_mass[i] > (kp_real)0) {
      a->vx[i] += hold & 1 ? (kp_real)0 : s * total.x;
      a->vy[i] += hold & 2 ? (kp_real)0 : s * total.y;
      a->vz[i] += hold & 4 ? (kp_real)0 : s * total.z;
    }
  }
}

// Point and triangle: along the triangle's normal, which pointed to the point in the collision-free
// state. (Selle, L1065, exchanges the point with a corner there; it is two corners that must be.)
KP_FN void contact_face(const contact_pair *p, const contact_repulse_args *a) {
  contact_vec d1 = contact_between(a, p->node[0], p->node[1]);
  contact_vec d2 = contact_between(a, p->node[0], p->node[2]);
  contact_vec r = contact_between(a, p->node[0], p->node[3]);
  contact_vec n = contact_cross(d1, d2);
  kp_real area2 = contact_dot(n, n);
  if (!(area2 > (kp_real)0)) {
    return;
  }
  kp_real area = kp_root(area2);
  kp_real gap = contact_dot(r, n) / area;
  if (!a->has_history && gap < (kp_real)0) {
    n = contact_scaled(n, (kp_real)-1);
    gap = -gap;
  }
  if (gap >= p->h || gap < -a->reach * p->h) {
    return;
  }
  n = contact_scaled(n, (kp_real)1 / area);
  // weights do not care for the sign of n: n appears twice
  contact_vec m = contact_cross(d1, d2);
  kp_real w1 = contact_dot(contact_cross(r, d2), m) / area2;
  kp_real w2 = contact_dot(contact_cross(d1, r), m) / area2;
  kp_real w0 = (kp_real)1 - w1 - w2;
  kp_real margin = p->h / kp_root(area);
  if (w0 < -margin || w1 < -margin || w2 < -margin) {
    return;
  }
  kp_real c[4] = { -w0, -w1, -w2, (kp_real)1 };
  contact_apply(a, p, c, n, gap);
}

// Square of the sine below which edges count as parallel: 1.1 degrees. Nearest points of lines that
// are this far from parallel move fifty times as far as what moves them, so they are found in
// double, as positions are known: in float they would be known to 3e-5 of an edge, which shows
// where impulses are large.
#define CONTACT_PARALLEL 4e-4

KP_FN double contact_clamp01(double s) {
  return s < 0.0 ? 0.0 : (s > 1.0 ? 1.0 : s);
}

KP_FN kp_vec3 contact_between_all(const contact_repulse_args *a, int32_t from, int32_t to) {
  return kp_vec3_make(a->x[to] - a->x[from], a->y[to] - a->y[from], a->z[to] - a->z[from]);
}

// Weights s, t of the closest points of two segments with r from the second's start to the first's.
// Of parallel segments they are not unique: the middle of what lies beside each other is taken, and
// between that and where lines cross the weights change without a jump.
KP_FN void contact_closest(kp_vec3 d1, kp_vec3 d2, kp_vec3 r, double *s, double *t) {
  double aa = kp_vec3_dot(d1, d1);
  double ee = kp_vec3_dot(d2, d2);
  double b = kp_vec3_dot(d1, d2);
  double c = kp_vec3_dot(d1, r);
  double f = kp_vec3_dot(d2, r);
  if (!(aa > 0.0) || !(ee > 0.0)) {
    *s = *t = 0.0;
    return;
  }
  double s0 = contact_clamp01(-c / aa);
  double s1 = contact_clamp01((b - c) / aa);
  *s = 0.5 * (s0 + s1);
  // n.n = aa ee - b b and n.(d2 x r) = b f - c ee, without what cancels in them
  kp_vec3 n = kp_vec3_cross(d1, d2);
  double area2 = kp_vec3_dot(n, n);
  double share = contact_clamp01((area2 / (aa * ee) - CONTACT_PARALLEL) / (3.0 * CONTACT_PARALLEL));
  if (share > 0.0) {
    double crossing = contact_clamp01(kp_vec3_dot(n, kp_vec3_cross(d2, r)) / area2);
    *s += share * (crossing - *s);
  }
  *t = (b * *s + f) / ee;
  if (*t < 0.0 || *t > 1.0) {
    *t = contact_clamp01(*t);
    *s = contact_clamp01((b * *t - c) / aa);
  }
}

// Of the longer edge: what of a gap between edges tells no direction. The ends of the vector across
// it are known to a few units in the last place of the edges, so that a vector shorter than that
// may point anywhere; from this size on two machines agree on it as well as on velocities.
#define CONTACT_BLUR 5e-3

// The direction from the first edge to the second. Where they all but meet it is the one of the
// collision-free state, and further apart that of the vector n across the gap, which is not zero
// then; between the two it turns from one to the other.
KP_FN contact_vec contact_across(contact_vec n, kp_real gap, contact_vec side, kp_real blur) {
  kp_real share = gap < blur ? blur - gap : (kp_real)0;
  contact_vec sum;
  sum.x = n.x + share * side.x;
  sum.y = n.y + share * side.y;
  sum.z = n.z + share * side.z;
  kp_real length = kp_root(contact_dot(sum, sum));
  // opposite ways, half and half
  return length > (kp_real)1e-3 * blur ? contact_scaled(sum, (kp_real)1 / length) : side;
}

// Edge and edge: along the shortest vector between them, turned round where it has come to point
// against the one of the collision-free state. (As printed, L1065, it is turned when s0 . s < eps;
// that eps = 0 is aggressive and 0.9 conservative makes sense for s0 . s < -eps only.)
KP_FN void contact_edge(const contact_pair *p, const contact_repulse_args *a) {
  kp_vec3 d1 = contact_between_all(a, p->node[0], p->node[1]);
  kp_vec3 d2 = contact_between_all(a, p->node[2], p->node[3]);
  kp_vec3 r = contact_between_all(a, p->node[2], p->node[0]);
  double s_exact;
  double t_exact;
  contact_closest(d1, d2, r, &s_exact, &t_exact);
  contact_vec n;  // from the first edge to the second
  n.x = (kp_real)(t_exact * d2.x - r.x - s_exact * d1.x);
  n.y = (kp_real)(t_exact * d2.y - r.y - s_exact * d1.y);
  n.z = (kp_real)(t_exact * d2.z - r.z - s_exact * d1.z);
  contact_vec side;
  side.x = p->side[0];
  side.y = p->side[1];
  side.z = p->side[2];
  kp_real gap = kp_root(contact_dot(n, n));
  double longest2 = fmax(kp_vec3_dot(d1, d1), kp_vec3_dot(d2, d2));
  kp_real blur = (kp_real)CONTACT_BLUR * kp_root((kp_real)longest2);
  blur = blur < (kp_real)0.25 * p->h ? blur : (kp_real)0.25 * p->h;
  kp_real along = contact_dot(side, n);
  kp_real toward = a->has_history && along < -a->flip * gap ? (kp_real)-1 : (kp_real)1;
  // without a memory the side counts as an axis alone
  side = contact_scaled(side, !a->has_history && along < (kp_real)0 ? (kp_real)-1 : (kp_real)1);
  n = contact_across(contact_scaled(n, toward), gap, side, blur);
  gap *= toward;
  if (gap >= p->h || gap < -a->reach * p->h) {
    return;
  }
  kp_real s = (kp_real)s_exact;
  kp_real t = (kp_real)t_exact;
  kp_real c[4] = { s - (kp_real)1, -s, (kp_real)1 - t, t };
  contact_apply(a, p, c, n, gap);
}

KP_FN void contact_faces(int64_t i, const contact_repulse_args *a) {
  int64_t begin = a->first + i * a->run;
  int64_t end = begin + a->run < a->end ? begin + a->run : a->end;
  for (int64_t k = begin; k < end; ++k) {
    contact_face(&a->pairs[k], a);
  }
}

KP_FN void contact_edges(int64_t i, const contact_repulse_args *a) {
  int64_t begin = a->first + i * a->run;
  int64_t end = begin + a->run < a->end ? begin + a->run : a->end;
  for (int64_t k = begin; k < end; ++k) {
    contact_edge(&a->pairs[k], a);
  }
}

#define CONTACT_KERNELS(POINT, REDUCE, ROW, PAIR) POINT(contact, faces) POINT(contact, edges)
