#include "geom/triangle_triangle.h"

#include <float.h>

#include "base/memory.h"
#include "geom/bvh.h"

// --- exact signs
//
// An expansion is a sum of doubles that do not overlap, smallest first; its sign is that of its
// last component (Shewchuk 1997). Components that are zero are dropped.

#define MOST_COMPONENTS 192

typedef struct expansion {
  int n;
  double c[MOST_COMPONENTS];
} expansion;

// a + b = sum + error
static void two_sum(double a, double b, double *sum, double *error) {
  double s = a + b;
  double bb = s - a;
  *error = (a - (s - bb)) + (b - bb);
  *sum = s;
}

static void split(double a, double *high, double *low) {
  double c = 134217729.0 * a;  // 2^27 + 1
  *high = c - (c - a);
  *low = a - *high;
}

static void two_product(double a, double b, double *product, double *error) {
  double a1;
  double a0;
  double b1;
  double b0;
  *product = a * b;
  split(a, &a1, &a0);
  split(b, &b1, &b0);
  *error = a0 * b0 - (((*product - a1 * b1) - a0 * b1) - a1 * b0);
}

// e += b (Shewchuk's Grow-Expansion)
static void grow(expansion *e, double b) {
  double carry = b;
  int n = 0;
  for (int k = 0; k < e->n; ++k) {
    double error;
    two_sum(carry, e->c[k], &carry, &error);
    if (error != 0.0) {
      e->c[n++] = error;
    }
  }
  if (carry != 0.0) {
    e->c[n++] = carry;
  }
  e->n = n;
}

// sum += sign a b c, each of two components {high, low}
static void add_product(expansion *sum, double sign, const double a[2], const double b[2],
                        const double c[2]) {
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      double p[2];
      two_product(sign * a[i], b[j], &p[0], &p[1]);
      for (int k = 0; k < 4; ++k) {
        double high;
        double low;
        if (p[k / 2] == 0.0 || c[k % 2] == 0.0) {
          continue;
        }
        two_product(p[k / 2], c[k % 2], &high, &low);
        grow(sum, low);
        grow(sum, high);
      }
    }
  }
}

static void exact_difference(double a, double b, double out[2]) {
  two_sum(a, -b, &out[0], &out[1]);
}

static int exact_orient3d(const kp_vec3 p[4]) {
  double d[3][3][2];
  for (int k = 0; k < 3; ++k) {
    exact_difference(p[k + 1].x, p[0].x, d[k][0]);
    exact_difference(p[k + 1].y, p[0].y, d[k][1]);
    exact_difference(p[k + 1].z, p[0].z, d[k][2]);
  }
  expansion e = { 0 };
  for (int k = 0; k < 3; ++k) {
    int l = (k + 1) % 3;
    int m = (k + 2) % 3;
    add_product(&e, 1.0, d[0][k], d[1][l], d[2][m]);
    add_product(&e, -1.0, d[0][k], d[1][m], d[2][l]);
  }
  double last = e.n > 0 ? e.c[e.n - 1] : 0.0;
  return (last > 0.0) - (last < 0.0);
}

int kp_orient3d(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 d) {
  kp_vec3 p = kp_vec3_sub(b, a);
  kp_vec3 q = kp_vec3_sub(c, a);
  kp_vec3 r = kp_vec3_sub(d, a);
  double det =
      p.x * (q.y * r.z - q.z * r.y) + p.y * (q.z * r.x - q.x * r.z) + p.z * (q.x * r.y - q.y * r.x);
  double size = fabs(p.x) * (fabs(q.y * r.z) + fabs(q.z * r.y)) +
                fabs(p.y) * (fabs(q.z * r.x) + fabs(q.x * r.z)) +
                fabs(p.z) * (fabs(q.x * r.y) + fabs(q.y * r.x));
  // Shewchuk's bound is (7 + 56 e) e with e = 2^-53; underflow is beyond it
  double bound = 4.0 * DBL_EPSILON * size + DBL_MIN;
  if (fabs(det) > bound) {
    return det > 0.0 ? 1 : -1;
  }
  const kp_vec3 points[4] = { a, b, c, d };
  return exact_orient3d(points);
}

// Sign of the area of a b c seen along axis `drop`: a determinant in space with a fourth point
// straight above a, which is exact too.
static int orient2d(kp_vec3 a, kp_vec3 b, kp_vec3 c, int drop) {
  double *pa[3] = { &a.x, &a.y, &a.z };
  double *pb[3] = { &b.x, &b.y, &b.z };
  double *pc[3] = { &c.x, &c.y, &c.z };
  *pa[drop] = *pb[drop] = *pc[drop] = 0.0;
  kp_vec3 above = a;
  double *pd[3] = { &above.x, &above.y, &above.z };
  *pd[drop] = 1.0;
  return kp_orient3d(a, b, c, above);
}

// --- triangles in one plane

static bool is_between(kp_vec3 a, kp_vec3 b, kp_vec3 p, int drop) {
  const double *pa[3] = { &a.x, &a.y, &a.z };
  const double *pb[3] = { &b.x, &b.y, &b.z };
  const double *pp[3] = { &p.x, &p.y, &p.z };
  for (int k = 0; k < 3; ++k) {
    double low = fmin(*pa[k], *pb[k]);
    double high = fmax(*pa[k], *pb[k]);
    if (k != drop && (*pp[k] < low || *pp[k] > high)) {
      return false;
    }
  }
  return true;
}

static bool segments_meet(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 d, int drop) {
  int s1 = orient2d(a, b, c, drop);
  int s2 = orient2d(a, b, d, drop);
  int s3 = orient2d(c, d, a, drop);
  int s4 = orient2d(c, d, b, drop);
  if (s1 * s2 < 0 && s3 * s4 < 0) {
    return true;
  }
  return (s1 == 0 && is_between(a, b, c, drop)) || (s2 == 0 && is_between(a, b, d, drop)) ||
         (s3 == 0 && is_between(c, d, a, drop)) || (s4 == 0 && is_between(c, d, b, drop));
}

static bool holds(const kp_vec3 t[3], kp_vec3 p, int drop) {
  int s0 = orient2d(t[0], t[1], p, drop);
  int s1 = orient2d(t[1], t[2], p, drop);
  int s2 = orient2d(t[2], t[0], p, drop);
  bool inside = (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
  return inside && orient2d(t[0], t[1], t[2], drop) != 0;
}

// Does the segment p q share a point with t, in whose plane it lies?
static bool segment_overlaps(const kp_vec3 t[3], kp_vec3 p, kp_vec3 q, int drop) {
  return holds(t, p, drop) || holds(t, q, drop) || segments_meet(t[0], t[1], p, q, drop) ||
         segments_meet(t[1], t[2], p, q, drop) || segments_meet(t[2], t[0], p, q, drop);
}

// An axis along which one of the triangles is seen with an area; -1 when both are collapsed to
// lines along every axis.
static int axis_to_drop(const kp_vec3 a[3], const kp_vec3 b[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    if (orient2d(a[0], a[1], a[2], axis) != 0 || orient2d(b[0], b[1], b[2], axis) != 0) {
      return axis;
    }
  }
  return -1;
}

// Whether two triangles that are collapsed to lines lie in one plane.
static bool are_lines_coplanar(const kp_vec3 a[3], const kp_vec3 b[3]) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (kp_orient3d(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3]) != 0) {
        return false;
      }
    }
  }
  return true;
}

static bool flat_overlap(const kp_vec3 a[3], const kp_vec3 b[3]) {
  int chosen = axis_to_drop(a, b);
  if (chosen < 0 && !are_lines_coplanar(a, b)) {
    return false;
  }
  // two lines in one plane meet only where they meet along every axis
  for (int drop = chosen < 0 ? 0 : chosen; drop <= (chosen < 0 ? 2 : chosen); ++drop) {
    bool met = holds(a, b[0], drop) || holds(b, a[0], drop);
    for (int i = 0; i < 3 && !met; ++i) {
      for (int j = 0; j < 3 && !met; ++j) {
        met = segments_meet(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3], drop);
      }
    }
    if (!met) {
      return false;
    }
  }
  return true;
}

// --- triangles in space

// Does the segment p q, not in the plane of t, share a point with it? sp, sq: sides of its ends.
static bool segment_pierces(const kp_vec3 t[3], kp_vec3 p, kp_vec3 q, int sp, int sq) {
  if (sp * sq > 0 || (sp == 0 && sq == 0)) {
    return false;
  }
  int s0 = kp_orient3d(p, q, t[0], t[1]);
  int s1 = kp_orient3d(p, q, t[1], t[2]);
  int s2 = kp_orient3d(p, q, t[2], t[0]);
  return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

static bool any_edge_pierces(const kp_vec3 t[3], const kp_vec3 e[3], const int side[3]) {
  for (int k = 0; k < 3; ++k) {
    int l = (k + 1) % 3;
    if (segment_pierces(t, e[k], e[l], side[k], side[l])) {
      return true;
    }
  }
  return false;
}

bool kp_triangles_intersect(const kp_vec3 a[3], const kp_vec3 b[3]) {
  int sa[3];
  int sb[3];
  for (int k = 0; k < 3; ++k) {
    sb[k] = kp_orient3d(a[0], a[1], a[2], b[k]);
  }
  if (sb[0] == sb[1] && sb[1] == sb[2] && sb[0] != 0) {
    return false;
  }
  for (int k = 0; k < 3; ++k) {
    sa[k] = kp_orient3d(b[0], b[1], b[2], a[k]);
  }
  if (sa[0] == sa[1] && sa[1] == sa[2] && sa[0] != 0) {
    return false;
  }
  bool b_in_plane = sb[0] == 0 && sb[1] == 0 && sb[2] == 0;
  bool a_in_plane = sa[0] == 0 && sa[1] == 0 && sa[2] == 0;
  if (b_in_plane && a_in_plane) {
    return flat_overlap(a, b);
  }
  return any_edge_pierces(a, b, sb) || any_edge_pierces(b, a, sa);
}

static kp_vec3 node(const kp_triangle_soup *s, kp_index k) {
  return kp_vec3_make(s->x[k], s->y[k], s->z[k]);
}

// Rotates triangles so that the common nodes come first, in both the same; how many there are.
static int match_nodes(const kp_index *ti, const kp_index *tj, kp_index a[3], kp_index b[3]) {
  int common = 0;
  int used_j = 0;
  int rest = 2;
  for (int k = 0; k < 3; ++k) {
    int l = 0;
    while (l < 3 && tj[l] != ti[k]) {
      ++l;
    }
    if (l < 3) {
      a[common] = ti[k];
      b[common] = tj[l];
      used_j |= 1 << l;
      ++common;
    } else {
      a[rest--] = ti[k];
    }
  }
  rest = 2;
  for (int l = 0; l < 3; ++l) {
    if ((used_j & (1 << l)) == 0) {
      b[rest--] = tj[l];
    }
  }
  return common;
}

// One common node, first in both: the opposite edge of one meets the other triangle.
static bool fan_intersects(const kp_vec3 a[3], const kp_vec3 b[3]) {
  int sb1 = kp_orient3d(a[0], a[1], a[2], b[1]);
  int sb2 = kp_orient3d(a[0], a[1], a[2], b[2]);
  int sa1 = kp_orient3d(b[0], b[1], b[2], a[1]);
  int sa2 = kp_orient3d(b[0], b[1], b[2], a[2]);
  if (sb1 == 0 && sb2 == 0 && sa1 == 0 && sa2 == 0) {
    int drop = axis_to_drop(a, b);
    if (drop < 0) {
      return false;
    }
    return segment_overlaps(a, b[1], b[2], drop) || segment_overlaps(b, a[1], a[2], drop);
  }
  return segment_pierces(a, b[1], b[2], sb1, sb2) || segment_pierces(b, a[1], a[2], sa1, sa2);
}

// Two common nodes: they intersect when the one is folded flat onto the other.
static bool hinge_intersects(const kp_vec3 a[3], const kp_vec3 b[3]) {
  if (kp_orient3d(a[0], a[1], a[2], b[2]) != 0) {
    return false;
  }
  int drop = axis_to_drop(a, b);
  if (drop < 0) {
    return false;
  }
  return orient2d(a[0], a[1], a[2], drop) * orient2d(b[0], b[1], b[2], drop) > 0;
}

bool kp_soup_intersects(const kp_triangle_soup *soup, kp_index i, kp_index j) {
  kp_index ka[3];
  kp_index kb[3];
  kp_vec3 a[3];
  kp_vec3 b[3];
  int common =
      match_nodes(soup->triangles + 3 * (int64_t)i, soup->triangles + 3 * (int64_t)j, ka, kb);
  for (int k = 0; k < 3; ++k) {
    a[k] = node(soup, ka[k]);
    b[k] = node(soup, kb[k]);
  }
  switch (common) {
  case 0:
    return kp_triangles_intersect(a, b);
  case 1:
    return fan_intersects(a, b);
  case 2:
    return hinge_intersects(a, b);
  default:
    return true;
  }
}

typedef struct count_job {
  const kp_triangle_soup *soup;
  const kp_aabb *boxes;
  kp_index i;
  kp_intersections *out;
} count_job;

static bool count_visit(kp_index j, void *user) {
  count_job *job = user;
  if (j > job->i && kp_aabb_touches(job->boxes[job->i], job->boxes[j]) &&
      kp_soup_intersects(job->soup, job->i, j)) {
    kp_intersections *out = job->out;
    bool is_first = out->count == 0 || (out->first[0] == job->i && j < out->first[1]);
    if (is_first) {
      out->first[0] = job->i;
      out->first[1] = j;
    }
    ++out->count;
  }
  return true;
}

kp_result kp_soup_count(const kp_triangle_soup *soup, kp_intersections *out) {
  *out = (kp_intersections){ 0 };
  size_t bytes = (size_t)soup->n_triangles * sizeof(kp_aabb);
  kp_aabb *boxes = kp_alloc(bytes, KP_MEMORY_SCRATCH);
  if (boxes == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index i = 0; i < soup->n_triangles; ++i) {
    boxes[i] = kp_aabb_empty();
    for (int k = 0; k < 3; ++k) {
      boxes[i] = kp_aabb_grow(boxes[i], node(soup, soup->triangles[3 * (int64_t)i + k]));
    }
  }
  kp_bvh tree;
  kp_result result = kp_bvh_build(boxes, soup->n_triangles, &tree);
  for (kp_index i = 0; result == KP_OK && i < soup->n_triangles; ++i) {
    count_job job = { soup, boxes, i, out };
    kp_bvh_query_box(&tree, boxes[i], count_visit, &job);
  }
  if (result == KP_OK) {
    kp_bvh_destroy(&tree);
  }
  kp_free(boxes);
  return result;
}
