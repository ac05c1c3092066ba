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

// How a pair stands at the places of its nodes. That does not ask for velocities, so it is found
// once for all that repulsion does until the nodes move, by every pair for itself.
typedef struct contact_stance {
  kp_real c[4];     // of its nodes
  kp_real n[3];     // unit normal, from the first side to the second
  kp_real overlap;  // h less the gap along n, which is negative where the sides have changed
                    // places: the same formulas then pull back. Not positive: too far apart
} contact_stance;

typedef struct contact_faces_args {
  const contact_pair *pairs;
  contact_stance *stances;
  int64_t first;  // of the pairs of this call
  const kp_pos *x, *y, *z;
  kp_real flip, reach;
  int32_t has_history;
} contact_faces_args;

typedef contact_faces_args contact_edges_args;

typedef struct contact_repel_args {
  const contact_pair *pairs;
  const contact_stance *stances;
  int64_t first, end;  // of the pairs of this call
  int64_t run;         // pairs that one element takes, one after the other
  kp_real *vx, *vy, *vz;
  const kp_real *inverse_mass;
  const uint8_t *hold;  // axes along which a node moves as told; NULL: none
  kp_real stiffness;    // times the step
  kp_real recovery;     // over the step
  int32_t is_elastic, has_friction;
} contact_repel_args;

typedef struct contact_vec {
  kp_real x, y, z;
} contact_vec;

KP_FN contact_vec contact_between(const contact_faces_args *a, int32_t from, int32_t to) {
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

// The impulse of a pair, on the velocities of its nodes.
KP_FN void contact_push(const contact_repel_args *a, const contact_pair *p,
                        const contact_stance *s) {
  if (!(s->overlap > (kp_real)0)) {
    return;
  }
  contact_vec n;
  n.x = s->n[0];
  n.y = s->n[1];
  n.z = s->n[2];
  contact_vec v;
  v.x = v.y = v.z = (kp_real)0;
  for (int k = 0; k < 4; ++k) {
    int32_t i = p->node[k];
    v.x += s->c[k] * a->vx[i];
    v.y += s->c[k] * a->vy[i];
    v.z += s->c[k] * a->vz[i];
  }
  kp_real normal = contact_dot(v, n);
  kp_real change = normal < (kp_real)0 ? -normal : (kp_real)0;  // inelastic
  // of the elastic impulse: as far as an overlap goes back in one step
  kp_real wanted = a->is_elastic ? a->recovery * s->overlap - (normal + change) : (kp_real)0;
  if (!(change > (kp_real)0 || wanted > (kp_real)0)) {
    return;
  }
  contact_vec w;               // sum c^2 w along each axis: 1 / effective mass
  kp_real whole = (kp_real)0;  // the same if nothing were held
  w.x = w.y = w.z = (kp_real)0;
  for (int k = 0; k < 4; ++k) {
    int32_t i = p->node[k];
    uint8_t hold = a->hold != NULL ? a->hold[i] : (uint8_t)0;
    kp_real give = s->c[k] * s->c[k] * a->inverse_mass[i];
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
    kp_real r = across > (kp_real)0.01 * whole * speed2 ? part * speed2 / across : (kp_real)0;
    total = contact_scaled(slip, -r);
  }
  kp_real spring = a->stiffness * s->overlap * give;
  kp_real push = spring < wanted ? spring : wanted;
  kp_real along = (change + (push > (kp_real)0 ? push : (kp_real)0)) / give;
  total.x += along * n.x;
  total.y += along * n.y;
  total.z += along * n.z;
  for (int k = 0; k < 4; ++k) {
    int32_t i = p->node[k];
    uint8_t hold = a->hold != NULL ? a->hold[i] : (uint8_t)0;
    kp_real r = s->c[k] * a->inverse_mass[i];
    // nodes that move as told may belong to several pairs of a colour
    if (a->inverse_mass[i] > (kp_real)0) {
      a->vx[i] += hold & 1 ? (kp_real)0 : r * total.x;
      a->vy[i] += hold & 2 ? (kp_real)0 : r * total.y;
      a->vz[i] += hold & 4 ? (kp_real)0 : r * total.z;
    }
  }
}

KP_FN void contact_repel(int64_t i, const contact_repel_args *a) {
  int64_t begin = a->first + i * a->run;
  int64_t end = begin + a->run < a->end ? begin + a->run : a->end;
  for (int64_t k = begin; k < end; ++k) {
    contact_push(a, &a->pairs[k], &a->stances[k]);
  }
}

// Normal and overlap of a pair that repels as far as h, and `reach` times that on the wrong side.
KP_FN void contact_stand(contact_stance *out, contact_vec n, kp_real gap, kp_real h,
                         kp_real reach) {
  out->n[0] = n.x;
  out->n[1] = n.y;
  out->n[2] = n.z;
  out->overlap = gap < h && gap >= -reach * h ? h - gap : (kp_real)0;
}

// Point and triangle: along the triangle's normal, which pointed to the point in the collision-free
// state. (Selle, L1065, exchanges the point with a corner there; it is two corners that must be.)
KP_FN void contact_faces(int64_t i, const contact_faces_args *a) {
  const contact_pair *p = &a->pairs[a->first + i];
  contact_stance *out = &a->stances[a->first + i];
  contact_vec d1 = contact_between(a, p->node[0], p->node[1]);
  contact_vec d2 = contact_between(a, p->node[0], p->node[2]);
  contact_vec r = contact_between(a, p->node[0], p->node[3]);
  contact_vec n = contact_cross(d1, d2);
  kp_real area2 = contact_dot(n, n);
  kp_real rise = contact_dot(r, n);
  // collapsed, or more than h apart without a look at roots
  if (!(area2 > (kp_real)0) || (rise > (kp_real)0 && rise * rise >= p->h * p->h * area2)) {
    out->overlap = (kp_real)0;
    return;
  }
  kp_real area = kp_root(area2);
  kp_real gap = rise / area;
  kp_real toward = !a->has_history && gap < (kp_real)0 ? (kp_real)-1 : (kp_real)1;
  contact_stand(out, contact_scaled(n, toward / area), toward * gap, p->h, a->reach);
  // weights do not care for the sign of n: n appears twice
  kp_real w1 = contact_dot(contact_cross(r, d2), n) / area2;
  kp_real w2 = contact_dot(contact_cross(d1, r), n) / area2;
  kp_real w0 = (kp_real)1 - w1 - w2;
  kp_real margin = p->h / kp_root(area);
  if (w0 < -margin || w1 < -margin || w2 < -margin) {
    out->overlap = (kp_real)0;  // beside the triangle
  }
  out->c[0] = -w0;
  out->c[1] = -w1;
  out->c[2] = -w2;
  out->c[3] = (kp_real)1;
}

// Square of the sine below which edges count as parallel: 1.1 degrees. Nearest points of lines that
// are this far from parallel move fifty times as far as what moves them, so they are found in
// double, as positions are known: in float they would be known to 3e-5 of an edge, which shows
// where impulses are large.
#define CONTACT_PARALLEL 4e-4

KP_FN double contact_clamp01(double s) {
  double low = s > 0.0 ? s : 0.0;
  return low < 1.0 ? low : 1.0;
}

KP_FN kp_vec3 contact_between_all(const contact_faces_args *a, int32_t from, int32_t to) {
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
  // n.n = aa ee - b b and n.(d2 x r) = b f - c ee, without what cancels in them
  kp_vec3 n = kp_vec3_cross(d1, d2);
  double area2 = kp_vec3_dot(n, n);
  double share = (area2 - CONTACT_PARALLEL * aa * ee) / (3.0 * CONTACT_PARALLEL * aa * ee);
  *s = share > 0.0 ? contact_clamp01(kp_vec3_dot(n, kp_vec3_cross(d2, r)) / area2) : 0.0;
  if (share < 1.0) {
    double middle = 0.5 * (contact_clamp01(-c / aa) + contact_clamp01((b - c) / aa));
    *s = middle + contact_clamp01(share) * (*s - middle);
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
  if (gap > blur) {
    return contact_scaled(n, (kp_real)1 / gap);
  }
  contact_vec sum;
  sum.x = n.x + (blur - gap) * side.x;
  sum.y = n.y + (blur - gap) * side.y;
  sum.z = n.z + (blur - gap) * side.z;
  kp_real length = kp_root(contact_dot(sum, sum));
  // opposite ways, half and half
  return length > (kp_real)1e-3 * blur ? contact_scaled(sum, (kp_real)1 / length) : side;
}

// Are the lines of two edges more than h apart, on the side they were on? Then the edges are, and
// most pairs of A are: layers that lie on each other lie about h apart.
KP_FN bool contact_is_aside(kp_vec3 d1, kp_vec3 d2, kp_vec3 r, const contact_pair *p,
                            int32_t has_history) {
  kp_vec3 n = kp_vec3_cross(d1, d2);
  double area2 = kp_vec3_dot(n, n);
  double gap = kp_vec3_dot(n, r);  // times the length of n
  double side = n.x * p->side[0] + n.y * p->side[1] + n.z * p->side[2];
  return gap * gap >= (double)p->h * p->h * area2 && (!has_history || side * gap <= 0.0) &&
         area2 > CONTACT_PARALLEL * kp_vec3_dot(d1, d1) * kp_vec3_dot(d2, d2);
}

// Edge and edge: along the shortest vector between them, turned round where it has come to point
// against the one of the collision-free state. (As printed, L1065, it is turned when s0 . s < eps;
// that eps = 0 is aggressive and 0.9 conservative makes sense for s0 . s < -eps only.)
KP_FN void contact_edges(int64_t i, const contact_edges_args *a) {
  const contact_pair *p = &a->pairs[a->first + i];
  contact_stance *out = &a->stances[a->first + i];
  kp_vec3 d1 = contact_between_all(a, p->node[0], p->node[1]);
  kp_vec3 d2 = contact_between_all(a, p->node[2], p->node[3]);
  kp_vec3 r = contact_between_all(a, p->node[2], p->node[0]);
  if (contact_is_aside(d1, d2, r, p, a->has_history)) {
    out->overlap = (kp_real)0;
    return;
  }
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
  kp_real blur = (kp_real)0.25 * p->h;
  if (gap < blur) {
    double longest2 = fmax(kp_vec3_dot(d1, d1), kp_vec3_dot(d2, d2));
    kp_real least = (kp_real)CONTACT_BLUR * kp_root((kp_real)longest2);
    blur = least < blur ? least : blur;
  }
  kp_real along = contact_dot(side, n);
  kp_real toward = a->has_history && along < -a->flip * gap ? (kp_real)-1 : (kp_real)1;
  // without a memory the side counts as an axis alone
  side = contact_scaled(side, !a->has_history && along < (kp_real)0 ? (kp_real)-1 : (kp_real)1);
  n = contact_across(contact_scaled(n, toward), gap, side, blur);
  kp_real s = (kp_real)s_exact;
  kp_real t = (kp_real)t_exact;
  contact_stand(out, n, toward * gap, p->h, a->reach);
  out->c[0] = s - (kp_real)1;
  out->c[1] = -s;
  out->c[2] = (kp_real)1 - t;
  out->c[3] = t;
}

#define CONTACT_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  POINT(contact, faces) POINT(contact, edges) POINT(contact, repel)
