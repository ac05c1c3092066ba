#include "geom/ccd.h"

// Advances of one pair; each costs a search of closest points. More than ten are rare.
#define MOST_ADVANCES 256

static kp_vec3 sub(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_sub(a, b);
}

static double dot(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_dot(a, b);
}

static double clamp01(double v) {
  return v < 0.0 ? 0.0 : (v > 1.0 ? 1.0 : v);
}

// Closest point of the segment a + s d to the origin.
static double segment_weight(kp_vec3 a, kp_vec3 d) {
  double dd = dot(d, d);
  return dd > 0.0 ? clamp01(-dot(a, d) / dd) : 0.0;
}

// Weights of the point of triangle a b c closest to the origin (regions as in Ericson 2005, 5.1.5).
// A collapsed triangle has no inside and is served by its edges.
static void closest_on_triangle(kp_vec3 a, kp_vec3 b, kp_vec3 c, double w[3]) {
  kp_vec3 ab = sub(b, a);
  kp_vec3 ac = sub(c, a);
  double d1 = -dot(ab, a);
  double d2 = -dot(ac, a);
  double d3 = -dot(ab, b);
  double d4 = -dot(ac, b);
  double d5 = -dot(ab, c);
  double d6 = -dot(ac, c);
  double va = d3 * d6 - d5 * d4;
  double vb = d5 * d2 - d1 * d6;
  double vc = d1 * d4 - d3 * d2;
  double sum = va + vb + vc;
  if (va > 0.0 && vb > 0.0 && vc > 0.0 && sum > 0.0) {
    w[1] = vb / sum;
    w[2] = vc / sum;
    w[0] = 1.0 - w[1] - w[2];
    return;
  }
  // outside, or collapsed: the best of the edges that can see the origin
  double best = HUGE_VAL;
  const kp_vec3 p[3] = { a, b, c };
  for (int k = 0; k < 3; ++k) {
    int next = k == 2 ? 0 : k + 1;
    kp_vec3 d = sub(p[next], p[k]);
    double s = segment_weight(p[k], d);
    kp_vec3 q = kp_vec3_madd(p[k], s, d);
    double r2 = dot(q, q);
    if (r2 < best) {
      best = r2;
      w[k] = 1.0 - s;
      w[next] = s;
      w[next == 2 ? 0 : next + 1] = 0.0;
    }
  }
}

// Closest points a + s d1 and b + t d2, r = a - b (Ericson 2005, 5.1.9). Of parallel segments that
// overlap it takes the middle of the overlap, so that an impulse there does not turn them.
static void closest_on_segments(kp_vec3 r, kp_vec3 d1, kp_vec3 d2, double *s, double *t) {
  double a = dot(d1, d1);
  double e = dot(d2, d2);
  double b = dot(d1, d2);
  double c = dot(d1, r);
  double f = dot(d2, r);
  if (a <= 0.0 || e <= 0.0) {
    *s = a > 0.0 ? clamp01(-c / a) : 0.0;
    *t = e > 0.0 ? clamp01((b * *s + f) / e) : 0.0;
    return;
  }
  double denominator = a * e - b * b;
  if (denominator > 1e-12 * a * e) {
    *s = clamp01((b * f - c * e) / denominator);
  } else {
    // ends of the second segment along the first
    double s0 = -c / a;
    double s1 = (b - c) / a;
    double low = clamp01(s0 < s1 ? s0 : s1);
    double high = clamp01(s0 < s1 ? s1 : s0);
    *s = 0.5 * (low + high);
  }
  *t = (b * *s + f) / e;
  if (*t < 0.0 || *t > 1.0) {
    *t = clamp01(*t);
    *s = clamp01((b * *t - c) / a);
  }
}

double kp_closest_point_triangle(const kp_vec3 x[4], double weight[4]) {
  double w[3];
  kp_vec3 a = sub(x[0], x[3]);
  kp_vec3 b = sub(x[1], x[3]);
  kp_vec3 c = sub(x[2], x[3]);
  closest_on_triangle(a, b, c, w);
  for (int k = 0; k < 3; ++k) {
    weight[k] = -w[k];
  }
  weight[3] = 1.0;
  kp_vec3 q = kp_vec3_scale(a, w[0]);
  q = kp_vec3_madd(q, w[1], b);
  q = kp_vec3_madd(q, w[2], c);
  return dot(q, q);
}

double kp_closest_edge_edge(const kp_vec3 x[4], double weight[4]) {
  double s;
  double t;
  kp_vec3 d1 = sub(x[1], x[0]);
  kp_vec3 d2 = sub(x[3], x[2]);
  kp_vec3 r = sub(x[0], x[2]);
  closest_on_segments(r, d1, d2, &s, &t);
  weight[0] = s - 1.0;
  weight[1] = -s;
  weight[2] = 1.0 - t;
  weight[3] = t;
  kp_vec3 q = kp_vec3_madd(r, s, d1);
  q = kp_vec3_madd(q, -t, d2);
  return dot(q, q);
}

// One pair in the frame of its last node: places p and displacements v of the others relative to
// it. Nodes 0 ... n_first - 1 are the first side.
typedef struct pair_motion {
  kp_vec3 p[4], v[4];
  int n_first;
} pair_motion;

static void begin_motion(pair_motion *m, const kp_vec3 x[4], const kp_vec3 u[4], int n_first) {
  m->n_first = n_first;
  for (int k = 0; k < 3; ++k) {
    m->p[k] = sub(x[k], x[3]);
    m->v[k] = sub(u[k], u[3]);
  }
  m->p[3] = m->v[3] = kp_vec3_make(0.0, 0.0, 0.0);
}

typedef struct range {
  double low, high;
} range;

static range cover(range r, double a, double v) {
  double b = a + v;
  double low = a < b ? a : b;
  double high = a < b ? b : a;
  r.low = low < r.low ? low : r.low;
  r.high = high > r.high ? high : r.high;
  return r;
}

// Do the boxes of both sides, swept in the moving frame, stay further apart than `gap` along an
// axis? (The prune of leaf pairs in the moving frame, Selle 2008, section 6.3.)
static bool is_apart(const pair_motion *m, double gap) {
  for (int axis = 0; axis < 3; ++axis) {
    range side[2] = { { HUGE_VAL, -HUGE_VAL }, { HUGE_VAL, -HUGE_VAL } };
    for (int k = 0; k < 4; ++k) {
      double p = axis == 0 ? m->p[k].x : (axis == 1 ? m->p[k].y : m->p[k].z);
      double v = axis == 0 ? m->v[k].x : (axis == 1 ? m->v[k].y : m->v[k].z);
      int s = k >= m->n_first;
      side[s] = cover(side[s], p, v);
    }
    if (side[0].low - side[1].high > gap || side[1].low - side[0].high > gap) {
      return true;
    }
  }
  return false;
}

// A unit vector along n, or against it where that points to d.
static kp_vec3 along(kp_vec3 n, kp_vec3 d) {
  double length = kp_vec3_length(n);
  if (!(length > 0.0)) {
    return d;
  }
  return kp_vec3_scale(n, (dot(n, d) < 0.0 ? -1.0 : 1.0) / length);
}

// The vector d between points that are very close is known to few digits, and a separating axis
// must be at right angles to the sides they lie on. So take it from these sides: across a triangle
// or two edges, or d less its part along one edge.
static kp_vec3 sharpen(int n_first, const kp_vec3 y[4], const double weight[4], kp_vec3 d) {
  bool inside[4];
  for (int k = 0; k < 4; ++k) {
    inside[k] = weight[k] != 0.0;
  }
  if (n_first == 3 && inside[0] && inside[1] && inside[2]) {
    return along(kp_vec3_cross(sub(y[1], y[0]), sub(y[2], y[0])), d);
  }
  if (n_first == 2 && inside[0] && inside[1] && inside[2] && inside[3]) {
    return along(kp_vec3_cross(sub(y[1], y[0]), sub(y[3], y[2])), d);
  }
  kp_vec3 edge = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < n_first; ++k) {
    int next = k + 1 == n_first ? 0 : k + 1;
    if (inside[k] && inside[next]) {
      edge = sub(y[next], y[k]);
    }
  }
  if (n_first == 2 && inside[2] && inside[3]) {
    edge = sub(y[3], y[2]);
  }
  double e2 = dot(edge, edge);
  return e2 > 0.0 ? along(kp_vec3_madd(d, -dot(d, edge) / e2, edge), d) : d;
}

// Closest points at time t: weights, distance, and unit vectors from the first side to the second:
// the one between the points and the one at right angles to the sides.
static double closest_at(const pair_motion *m, double t, kp_ccd_hit *hit, kp_vec3 *direct) {
  kp_vec3 y[4];
  for (int k = 0; k < 4; ++k) {
    y[k] = kp_vec3_madd(m->p[k], t, m->v[k]);
  }
  if (m->n_first == 3) {
    double w[3];
    closest_on_triangle(y[0], y[1], y[2], w);
    hit->weight[0] = -w[0];
    hit->weight[1] = -w[1];
    hit->weight[2] = -w[2];
    hit->weight[3] = 1.0;
  } else {
    double a;
    double b;
    closest_on_segments(sub(y[0], y[2]), sub(y[1], y[0]), sub(y[3], y[2]), &a, &b);
    hit->weight[0] = a - 1.0;
    hit->weight[1] = -a;
    hit->weight[2] = 1.0 - b;
    hit->weight[3] = b;
  }
  kp_vec3 d = kp_vec3_scale(y[0], hit->weight[0]);
  d = kp_vec3_madd(d, hit->weight[1], y[1]);
  d = kp_vec3_madd(d, hit->weight[2], y[2]);
  double length = kp_vec3_length(d);
  if (length > 0.0) {
    *direct = kp_vec3_scale(d, 1.0 / length);
    hit->normal = sharpen(m->n_first, y, hit->weight, *direct);
  }
  return length;
}

// Smallest projected gap along the normal at time t, and the first time after t at which a gap has
// fallen to `least`.
static double project(const pair_motion *m, kp_vec3 normal, double t, double least, double *next) {
  double place[4];
  double rate[4];
  for (int k = 0; k < 4; ++k) {
    rate[k] = dot(normal, m->v[k]);
    place[k] = dot(normal, m->p[k]) + t * rate[k];
  }
  double smallest = HUGE_VAL;
  *next = HUGE_VAL;
  for (int j = m->n_first; j < 4; ++j) {
    for (int i = 0; i < m->n_first; ++i) {
      double gap = place[j] - place[i];
      double closing = rate[i] - rate[j];
      smallest = gap < smallest ? gap : smallest;
      if (closing * (1.0 - t) > gap - least) {
        double when = fmin(t + (gap - least) / closing, 1.0);
        *next = when < *next ? when : *next;
      }
    }
  }
  return smallest;
}

// Where both sides touch there is no vector between them; take one across them.
static void choose_normal(const pair_motion *m, kp_ccd_hit *hit) {
  kp_vec3 n = m->n_first == 3 ? kp_vec3_cross(sub(m->p[1], m->p[0]), sub(m->p[2], m->p[0]))
                              : kp_vec3_cross(sub(m->p[1], m->p[0]), sub(m->p[3], m->p[2]));
  double length = kp_vec3_length(n);
  hit->normal = length > 0.0 ? kp_vec3_scale(n, 1.0 / length) : kp_vec3_make(1.0, 0.0, 0.0);
}

// The volume f(t) = n(t) . c(t) spanned by the pair, n across the triangle or the two edges, in
// Bernstein form on the time that is left. |f| / |n| is the distance to the triangle's plane, or
// between the lines of the edges, hence no more than the distance.
typedef struct volume {
  double b[4];
  double across;  // no |n(t)| is larger
  double sign;    // of f at the start of the time that is left
  double error;   // of rounding
} volume;

static void begin_volume(const pair_motion *m, volume *f) {
  bool is_face = m->n_first == 3;
  int second = is_face ? 2 : 3;
  int base = is_face ? 0 : 2;
  kp_vec3 a0 = sub(m->p[1], m->p[0]);
  kp_vec3 b0 = sub(m->p[second], m->p[base]);
  kp_vec3 c0 = kp_vec3_scale(m->p[0], -1.0);
  kp_vec3 a1 = kp_vec3_add(a0, sub(m->v[1], m->v[0]));
  kp_vec3 b1 = kp_vec3_add(b0, sub(m->v[second], m->v[base]));
  kp_vec3 c1 = sub(c0, m->v[0]);
  kp_vec3 n0 = kp_vec3_cross(a0, b0);
  kp_vec3 n2 = kp_vec3_cross(a1, b1);
  kp_vec3 n1 = kp_vec3_add(kp_vec3_cross(a0, b1), kp_vec3_cross(a1, b0));  // twice the middle one
  f->b[0] = dot(n0, c0);
  f->b[1] = (dot(n0, c1) + dot(n1, c0)) / 3.0;
  f->b[2] = (dot(n1, c1) + dot(n2, c0)) / 3.0;
  f->b[3] = dot(n2, c1);
  double across2 = fmax(dot(n0, n0), fmax(0.25 * dot(n1, n1), dot(n2, n2)));
  double size2 = fmax(dot(a0, a0), dot(a1, a1)) * fmax(dot(b0, b0), dot(b1, b1));
  double reach2 = fmax(dot(c0, c0), dot(c1, c1));
  f->across = sqrt(across2);
  f->sign = f->b[0] < 0.0 ? -1.0 : 1.0;
  f->error = 1e-14 * sqrt(size2 * reach2);
}

// A part s of the time that is left, before which |f| is above `level`: where the lower hull of the
// control points first falls to it. 2 when it never does.
static double volume_holds(const volume *f, double level) {
  double b[4];
  for (int k = 0; k < 4; ++k) {
    b[k] = f->sign * f->b[k] - level;
  }
  if (b[0] <= 0.0) {
    return 0.0;
  }
  double s = 2.0;
  for (int k = 1; k < 4; ++k) {
    for (int i = 0; i < k && b[k] <= 0.0; ++i) {
      if (b[i] > 0.0) {
        double here = ((double)i + (double)(k - i) * b[i] / (b[i] - b[k])) / 3.0;
        s = here < s ? here : s;
      }
    }
  }
  return s;
}

// Drops the first part s of the time that is left (de Casteljau).
static void volume_advance(volume *f, double s) {
  for (int round = 0; round < 3; ++round) {
    for (int k = 0; k < 3 - round; ++k) {
      f->b[k] += s * (f->b[k + 1] - f->b[k]);
    }
  }
  f->sign = f->b[0] < 0.0 ? -1.0 : 1.0;
}

// The time until which one of the bounds holds, from hit->time on; beyond 1 when to the end.
static double free_until(const pair_motion *m, const volume *f, double least, kp_vec3 direct,
                         kp_ccd_hit *hit) {
  double t = hit->time;
  double next;
  double gap = project(m, hit->normal, t, least, &next);
  next = gap > least ? next : t;
  if (gap < 0.99 * hit->gap) {
    // nearly collapsed or parallel sides have no good normal: ask the vector itself
    double other_next;
    double other = project(m, direct, t, least, &other_next);
    if (other > gap) {
      hit->normal = direct;
      next = other > least && other_next > next ? other_next : next;
    }
  }
  double s = volume_holds(f, least * f->across + f->error);
  double by_volume = s > 1.0 ? HUGE_VAL : fmin(t + s * (1.0 - t), 1.0);
  return next > by_volume ? next : by_volume;
}

static bool collides(const pair_motion *m, double thickness, kp_ccd_hit *hit) {
  volume f;
  if (is_apart(m, thickness)) {
    return false;
  }
  begin_volume(m, &f);
  if (volume_holds(&f, thickness * f.across + f.error) > 1.0) {
    return false;
  }
  choose_normal(m, hit);
  kp_vec3 direct = hit->normal;
  double distance = closest_at(m, 0.0, hit, &direct);
  if (distance < KP_CCD_TOUCHING * thickness) {
    return false;
  }
  double least = kp_ccd_least_gap(distance, thickness);
  double slack = distance - least < 2.0 * least ? distance - least : 2.0 * least;
  double near = least + 0.5 * slack;
  hit->time = 0.0;
  for (int k = 0; k < MOST_ADVANCES; ++k) {
    hit->gap = distance;
    if (distance <= near) {
      return true;
    }
    double next = free_until(m, &f, least, direct, hit);
    if (next > 1.0 || hit->time >= 1.0) {
      return false;
    }
    if (next <= hit->time) {
      return true;
    }
    volume_advance(&f, (next - hit->time) / (1.0 - hit->time));
    hit->time = next;
    distance = closest_at(m, next, hit, &direct);
  }
  return true;
}

bool kp_ccd_point_triangle(const kp_vec3 x[4], const kp_vec3 u[4], double thickness,
                           kp_ccd_hit *hit) {
  kp_ccd_hit local;
  pair_motion m;
  begin_motion(&m, x, u, 3);
  return collides(&m, thickness, hit != NULL ? hit : &local);
}

bool kp_ccd_edge_edge(const kp_vec3 x[4], const kp_vec3 u[4], double thickness, kp_ccd_hit *hit) {
  kp_ccd_hit local;
  pair_motion m;
  begin_motion(&m, x, u, 2);
  return collides(&m, thickness, hit != NULL ? hit : &local);
}
