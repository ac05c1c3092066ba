// Continuous collision and exact intersection of triangles, held against integer arithmetic.
#include "support/test.h"

#include "geom/ccd.h"
#include "geom/triangle_triangle.h"

#include "support/claims.h"

__extension__ typedef __int128 wide_int;

typedef bool (*ccd_fn)(const kp_vec3 x[4], const kp_vec3 u[4], double thickness, kp_ccd_hit *hit);

static const ccd_fn tests[2] = { kp_ccd_point_triangle, kp_ccd_edge_edge };

static double distance_at(int kind, const kp_vec3 x[4], const kp_vec3 u[4], double t) {
  kp_vec3 y[4];
  double w[4];
  for (int k = 0; k < 4; ++k) {
    y[k] = kp_vec3_madd(x[k], t, u[k]);
  }
  return sqrt(kind == 0 ? kp_closest_point_triangle(y, w) : kp_closest_edge_edge(y, w));
}

// --- what is made to meet must be found

static int64_t vec_component(kp_test_random *r, int64_t size, int axis, bool flat) {
  int64_t v = kp_test_integer(r, -size, size);
  return flat && axis == 2 ? 0 : v;
}

// Nodes with integer places that meet exactly at t = p / q: places at that time are multiples of
// the sums of the weights, displacements multiples of q.
static void make_meeting(kp_test_random *r, int kind, kp_vec3 x[4], kp_vec3 u[4]) {
  int64_t q = kp_test_integer(r, 1, 9);
  int64_t p = kp_test_integer(r, 1, q);
  int64_t size = kp_test_integer(r, 1, 20);
  bool flat = kp_test_integer(r, 0, 3) == 0;      // all in one plane, at all times
  bool parallel = kp_test_integer(r, 0, 3) == 0;  // one side moves without changing its form
  int64_t w[4];
  for (int k = 0; k < 4; ++k) {
    w[k] = kp_test_integer(r, 0, 3);  // zeros put the meeting on edges and nodes
  }
  int64_t sum0 = kind == 0 ? w[0] + w[1] + w[2] : w[0] + w[1];
  int64_t sum1 = w[2] + w[3];
  if (sum0 == 0) {
    w[0] = sum0 = 1;
  }
  if (sum1 == 0) {
    w[3] = sum1 = 1;
  }
  double place[4][3];
  double move[4][3];
  for (int axis = 0; axis < 3; ++axis) {
    int64_t meet[4];
    for (int k = 0; k < 4; ++k) {
      meet[k] = sum0 * sum1 * w[3] * vec_component(r, size, axis, flat);
    }
    if (kind == 0) {
      meet[3] = (w[0] * meet[0] + w[1] * meet[1] + w[2] * meet[2]) / sum0;
    } else if (w[3] != 0) {
      // w2 m2 + w3 m3 = sum1 / sum0 (w0 m0 + w1 m1)
      int64_t point = (w[0] * meet[0] + w[1] * meet[1]) / sum0;
      meet[3] = (sum1 * point - w[2] * meet[2]) / w[3];
    } else {
      meet[2] = (w[0] * meet[0] + w[1] * meet[1]) / sum0;
    }
    int64_t common = vec_component(r, size, axis, flat);
    for (int k = 0; k < 4; ++k) {
      int64_t v = vec_component(r, size, axis, flat);
      bool first = k < (kind == 0 ? 3 : 2);
      v = parallel && first ? common : v;
      place[k][axis] = (double)(meet[k] - p * v);
      move[k][axis] = (double)(q * v);
    }
  }
  for (int k = 0; k < 4; ++k) {
    x[k] = kp_vec3_make(place[k][0], place[k][1], place[k][2]);
    u[k] = kp_vec3_make(move[k][0], move[k][1], move[k][2]);
  }
}

static void what_meets_at_a_rational_time_is_found(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(1);
  int64_t n_met = 0, n_missed = 0;
  for (int64_t n = 0; n < 1200000; ++n) {
    int kind = (int)(n & 1);
    kp_vec3 x[4];
    kp_vec3 u[4];
    make_meeting(&r, kind, x, u);
    // powers of two and far corners of a domain keep the numbers exact
    double scale = n % 3 == 0 ? 0.0009765625 : 1.0;
    double shift = n % 5 == 0 ? 1024.0 : 0.0;
    for (int k = 0; k < 4; ++k) {
      x[k] = kp_vec3_scale(x[k], scale);
      x[k] = kp_vec3_add(x[k], kp_vec3_make(shift, -shift, shift));
      u[k] = kp_vec3_scale(u[k], scale);
    }
    if (distance_at(kind, x, u, 0.0) < 1e-9) {
      continue;  // touches from the start
    }
    ++n_met;
    kp_ccd_hit hit;
    if (!tests[kind](x, u, 1e-6, &hit)) {
      print_message("case %ld of kind %d was missed\n", (long)n, kind);
      ++n_missed;
    }
  }
  kp_claim claim = { .id = "selle-S58",
                     .text = "no meeting of a point and a triangle or of two edges is missed",
                     .size = "nodes with integer places that meet exactly at a rational time; a "
                             "quarter in one plane, a quarter parallel" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "meetings missed", (double)n_missed, KP_AT_MOST, 0 },
                   { "meetings", (double)n_met, KP_AT_LEAST, 800000 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// --- an exact oracle on small grids

typedef struct poly {
  int64_t c[5];
} poly;  // degree <= 4

typedef struct poly3 {
  poly v[3];
} poly3;

static poly poly_mul(poly a, poly b) {
  poly r = { { 0 } };
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; i + j < 5; ++j) {
      r.c[i + j] += a.c[i] * b.c[j];
    }
  }
  return r;
}

static poly poly_sub(poly a, poly b) {
  for (int i = 0; i < 5; ++i) {
    a.c[i] -= b.c[i];
  }
  return a;
}

static poly3 vec_sub(poly3 a, poly3 b) {
  for (int k = 0; k < 3; ++k) {
    a.v[k] = poly_sub(a.v[k], b.v[k]);
  }
  return a;
}

static poly3 vec_cross(poly3 a, poly3 b) {
  poly3 r;
  for (int k = 0; k < 3; ++k) {
    int l = (k + 1) % 3;
    int m = (k + 2) % 3;
    r.v[k] = poly_sub(poly_mul(a.v[l], b.v[m]), poly_mul(a.v[m], b.v[l]));
  }
  return r;
}

static poly vec_dot(poly3 a, poly3 b) {
  poly r = { { 0 } };
  poly zero = { { 0 } };
  for (int k = 0; k < 3; ++k) {
    r = poly_sub(r, poly_sub(zero, poly_mul(a.v[k], b.v[k])));
  }
  return r;
}

// 2^(20 * 4) f(k / 2^20), exactly
static wide_int poly_at(const poly *f, int64_t k) {
  wide_int sum = 0;
  wide_int power = 1;
  for (int i = 0; i < 5; ++i) {
    sum += (wide_int)f->c[i] * power * ((wide_int)1 << (20 * (4 - i)));
    power *= k;
  }
  return sum;
}

// Is f > 0 on all of [k, k + 1] / 2^20? Sufficient: beyond what the derivative can take away.
static bool is_surely_positive(const poly *f, int64_t k) {
  wide_int slope = 0;
  for (int i = 1; i < 5; ++i) {
    slope += i * (wide_int)(f->c[i] < 0 ? -f->c[i] : f->c[i]);
  }
  return poly_at(f, k) > slope * ((wide_int)1 << 60);
}

// Is there surely a crossing: a change of sign of the volume while the weights are positive?
static bool surely_meets(int kind, const kp_vec3 x[4], const kp_vec3 u[4]) {
  poly3 y[4] = { 0 };
  for (int k = 0; k < 4; ++k) {
    const double place[3] = { x[k].x, x[k].y, x[k].z };
    const double move[3] = { u[k].x, u[k].y, u[k].z };
    for (int axis = 0; axis < 3; ++axis) {
      y[k].v[axis].c[0] = (int64_t)place[axis];
      y[k].v[axis].c[1] = (int64_t)move[axis];
    }
  }
  poly3 ab = vec_sub(y[1], y[0]);
  poly f;
  poly inside[4];
  if (kind == 0) {
    poly3 ac = vec_sub(y[2], y[0]);
    poly3 ap = vec_sub(y[3], y[0]);
    poly3 n = vec_cross(ab, ac);
    f = vec_dot(n, ap);
    inside[0] = vec_dot(vec_cross(ab, ap), n);
    inside[1] = vec_dot(vec_cross(ap, ac), n);
    inside[2] = poly_sub(poly_sub(vec_dot(n, n), inside[0]), inside[1]);
    inside[3] = inside[2];
  } else {
    poly3 cd = vec_sub(y[3], y[2]);
    poly3 ac = vec_sub(y[2], y[0]);
    poly3 n = vec_cross(ab, cd);
    f = vec_dot(n, ac);
    inside[0] = vec_dot(vec_cross(ac, cd), n);
    inside[1] = poly_sub(vec_dot(n, n), inside[0]);
    inside[2] = vec_dot(vec_cross(ac, ab), n);
    inside[3] = poly_sub(vec_dot(n, n), inside[2]);
  }
  // roots between 64 samples, each narrowed to 2^-20
  for (int64_t s = 0; s < 64; ++s) {
    int64_t low = s << 14;
    int64_t high = (s + 1) << 14;
    bool sign = poly_at(&f, low) > 0;
    if (poly_at(&f, low) == 0 || poly_at(&f, high) == 0 || (poly_at(&f, high) > 0) == sign) {
      continue;
    }
    while (high - low > 1) {
      int64_t middle = (low + high) / 2;
      if ((poly_at(&f, middle) > 0) == sign) {
        low = middle;
      } else {
        high = middle;
      }
    }
    if (is_surely_positive(&inside[0], low) && is_surely_positive(&inside[1], low) &&
        is_surely_positive(&inside[2], low) && is_surely_positive(&inside[3], low)) {
      return true;
    }
  }
  return false;
}

static void answers_on_grids_agree_with_integer_arithmetic(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(2);
  int64_t n_sure = 0;
  int64_t n_free = 0;
  int64_t n_grazing = 0;
  for (int64_t n = 0; n < 200000; ++n) {
    int kind = (int)(n & 1);
    int64_t size = kp_test_integer(&r, 1, 6);
    kp_vec3 x[4];
    kp_vec3 u[4];
    for (int k = 0; k < 4; ++k) {
      x[k] =
          kp_vec3_make((double)kp_test_integer(&r, 0, size), (double)kp_test_integer(&r, 0, size),
                       (double)kp_test_integer(&r, 0, size));
      u[k] = kp_vec3_make((double)kp_test_integer(&r, -size, size),
                          (double)kp_test_integer(&r, -size, size),
                          (double)kp_test_integer(&r, -size, size));
    }
    double start = distance_at(kind, x, u, 0.0);
    if (start < 1e-9) {
      continue;
    }
    kp_ccd_hit hit;
    bool met = tests[kind](x, u, 1e-6, &hit);
    bool sure = surely_meets(kind, x, u);
    n_sure += sure ? 1 : 0;
    n_free += met ? 0 : 1;
    if (sure && !met) {
      fail_msg("case %ld of kind %d was missed", (long)n, kind);
    }
    if (met) {
      // the certificate: at the reported time they are as near as that
      assert_true(hit.time >= 0.0 && hit.time <= 1.0);
      double then = distance_at(kind, x, u, hit.time);
      n_grazing += then > 2.01e-6 ? 1 : 0;
      assert_true(then < 1e-4);
      assert_near(kp_vec3_length(hit.normal), 1.0, 1e-12);
    } else {
      for (int k = 0; k <= 50; ++k) {
        assert_true(distance_at(kind, x, u, k / 50.0) >= 0.999e-6);
      }
    }
  }
  assert_true(n_sure > 10000);
  assert_true(n_free > 50000);
  assert_true(n_grazing < 20);
}

// --- small gaps

static void pairs_may_slide_and_leave_at_any_gap(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(3);
  for (int n = 0; n < 20000; ++n) {
    double gap = pow(10.0, kp_test_uniform(&r, -11.0, -4.0));
    kp_vec3 x[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0.3, 0.3, gap } };
    kp_vec3 u[4] = { { 0 } };
    u[3] = kp_vec3_make(kp_test_uniform(&r, -0.2, 0.2), kp_test_uniform(&r, -0.2, 0.2),
                        kp_test_uniform(&r, 0.0, gap));
    kp_vec3 common = kp_test_vec3(&r, -1.0, 1.0);
    for (int k = 0; k < 4; ++k) {
      u[k] = kp_vec3_add(u[k], common);
    }
    assert_false(kp_ccd_point_triangle(x, u, 1e-6, NULL));
    // and is stopped before it has lost the gap that is kept
    u[3] = kp_vec3_add(common, kp_vec3_make(0.1, 0.1, -1.5 * gap));
    kp_ccd_hit hit;
    assert_true(kp_ccd_point_triangle(x, u, 1e-6, &hit));
    assert_true(hit.gap >= 0.99 * kp_ccd_least_gap(gap, 1e-6));
    assert_near(hit.normal.z, 1.0, 1e-6);
  }
}

static void a_common_turn_of_a_rigid_pair_is_free(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(4);
  for (int n = 0; n < 20000; ++n) {
    double gap = pow(10.0, kp_test_uniform(&r, -6.5, -3.0));
    kp_vec3 x[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0.3, 0.3, gap } };
    kp_vec3 axis = kp_vec3_normalize(kp_test_vec3(&r, -1.0, 1.0));
    kp_quat q = kp_quat_from_axis_angle(axis, kp_test_uniform(&r, -0.9, 0.9));
    kp_vec3 u[4];
    for (int k = 0; k < 4; ++k) {
      u[k] = kp_vec3_sub(kp_quat_rotate(q, x[k]), x[k]);
    }
    assert_false(kp_ccd_point_triangle(x, u, 1e-6, NULL));
  }
}

static void collapsed_sides_are_served(void **state) {
  (void)state;
  kp_vec3 down[4] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, -2 } };
  kp_vec3 line[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 0.7, 0, 1 } };
  kp_vec3 point[4] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 1 } };
  assert_true(kp_ccd_point_triangle(line, down, 1e-6, NULL));
  assert_true(kp_ccd_point_triangle(point, down, 1e-6, NULL));
  point[3].x = 1e-5;
  assert_false(kp_ccd_point_triangle(point, down, 1e-6, NULL));
  kp_vec3 edges[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0.5, 0, 1 }, { 0.5, 0, 1 } };
  kp_vec3 both[4] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, -2 }, { 0, 0, -2 } };
  assert_true(kp_ccd_edge_edge(edges, both, 1e-6, NULL));
}

// --- exact signs

typedef struct int3 {
  int64_t v[3];
} int3;

static kp_vec3 to_vec(int3 a) {
  return kp_vec3_make((double)a.v[0], (double)a.v[1], (double)a.v[2]);
}

static int3 int_sub(int3 a, int3 b) {
  return (int3){ { a.v[0] - b.v[0], a.v[1] - b.v[1], a.v[2] - b.v[2] } };
}

static int exact_sign(int3 a, int3 b, int3 c, int3 d) {
  int3 p = int_sub(b, a);
  int3 q = int_sub(c, a);
  int3 s = int_sub(d, a);
  wide_int det = 0;
  for (int k = 0; k < 3; ++k) {
    int l = (k + 1) % 3;
    int m = (k + 2) % 3;
    det += (wide_int)p.v[k] * ((wide_int)q.v[l] * s.v[m] - (wide_int)q.v[m] * s.v[l]);
  }
  return (det > 0) - (det < 0);
}

static void signs_of_volumes_are_exact(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(5);
  int64_t zeros = 0;
  for (int64_t n = 0; n < 300000; ++n) {
    int64_t size = (int64_t)1 << kp_test_integer(&r, 1, 36);
    int3 p[4];
    for (int k = 0; k < 4; ++k) {
      for (int axis = 0; axis < 3; ++axis) {
        p[k].v[axis] = kp_test_integer(&r, -size, size);
      }
    }
    if (n % 2 == 0) {
      // in the plane of the others, or one unit off it
      int64_t s = kp_test_integer(&r, -3, 3);
      int64_t t = kp_test_integer(&r, -3, 3);
      for (int axis = 0; axis < 3; ++axis) {
        p[3].v[axis] =
            p[0].v[axis] + s * (p[1].v[axis] - p[0].v[axis]) + t * (p[2].v[axis] - p[0].v[axis]);
      }
      p[3].v[n % 3] += kp_test_integer(&r, -1, 1);
    }
    int expected = exact_sign(p[0], p[1], p[2], p[3]);
    zeros += expected == 0 ? 1 : 0;
    assert_int_equal(kp_orient3d(to_vec(p[0]), to_vec(p[1]), to_vec(p[2]), to_vec(p[3])), expected);
  }
  assert_true(zeros > 10000);
}

// Points of very different sizes, where the differences themselves are not doubles.
static void signs_hold_where_differences_round(void **state) {
  (void)state;
  double tiny = 1e-30;
  kp_vec3 a = { 1.0, 0.0, 0.0 };
  kp_vec3 b = { 0.0, 1.0, 0.0 };
  kp_vec3 c = { 0.0, 0.0, 1.0 };
  // (tiny, tiny, tiny) + a third of the sum of the others is not representable; go around it:
  // d in the plane x + y + z = 1 up to `tiny`
  kp_vec3 d = { 0.5, 0.5, tiny };
  assert_int_equal(kp_orient3d(a, b, c, d), 1);
  d.z = -tiny;
  assert_int_equal(kp_orient3d(a, b, c, d), -1);
  d.z = 0.0;
  assert_int_equal(kp_orient3d(a, b, c, d), 0);
}

static int3 int_cross(int3 a, int3 b) {
  int3 r;
  for (int k = 0; k < 3; ++k) {
    int l = (k + 1) % 3;
    int m = (k + 2) % 3;
    r.v[k] = a.v[l] * b.v[m] - a.v[m] * b.v[l];
  }
  return r;
}

static bool separates(int3 axis, const int3 a[3], const int3 b[3]) {
  wide_int low[2] = { 0 };
  wide_int high[2] = { 0 };
  for (int s = 0; s < 2; ++s) {
    for (int k = 0; k < 3; ++k) {
      const int3 *p = s == 0 ? &a[k] : &b[k];
      wide_int d = (wide_int)axis.v[0] * p->v[0] + (wide_int)axis.v[1] * p->v[1] +
                   (wide_int)axis.v[2] * p->v[2];
      low[s] = k == 0 || d < low[s] ? d : low[s];
      high[s] = k == 0 || d > high[s] ? d : high[s];
    }
  }
  return low[0] > high[1] || low[1] > high[0];
}

// Twin by separating axes, for triangles without area too: edges and a way from one to the other,
// normals of any two of them, and these turned in each plane.
static bool twin_intersects(const int3 a[3], const int3 b[3]) {
  int3 along[7];
  for (int i = 0; i < 3; ++i) {
    along[i] = int_sub(a[(i + 1) % 3], a[i]);
    along[i + 3] = int_sub(b[(i + 1) % 3], b[i]);
  }
  along[6] = int_sub(b[0], a[0]);
  for (int i = 0; i < 7; ++i) {
    if (separates(along[i], a, b)) {
      return false;
    }
    for (int j = 0; j < i; ++j) {
      int3 normal = int_cross(along[i], along[j]);
      if (separates(normal, a, b)) {
        return false;
      }
      for (int k = 0; k < 7; ++k) {
        if (separates(int_cross(normal, along[k]), a, b)) {
          return false;
        }
      }
    }
  }
  return true;
}

static bool has_area(const int3 t[3]) {
  int3 n = int_cross(int_sub(t[1], t[0]), int_sub(t[2], t[0]));
  return n.v[0] != 0 || n.v[1] != 0 || n.v[2] != 0;
}

static void triangles_on_grids_agree_with_separating_axes(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(6);
  int64_t n_met = 0;
  int64_t n_asked = 0;
  for (int64_t n = 0; n < 300000; ++n) {
    int64_t size = kp_test_integer(&r, 1, 8);
    bool flat = n % 4 == 0;
    int3 t[2][3];
    for (int s = 0; s < 2; ++s) {
      for (int k = 0; k < 3; ++k) {
        for (int axis = 0; axis < 3; ++axis) {
          t[s][k].v[axis] = flat && axis == n % 3 ? 0 : kp_test_integer(&r, 0, size);
        }
      }
    }
    if (!has_area(t[0]) || !has_area(t[1])) {
      continue;
    }
    const kp_vec3 a[3] = { to_vec(t[0][0]), to_vec(t[0][1]), to_vec(t[0][2]) };
    const kp_vec3 b[3] = { to_vec(t[1][0]), to_vec(t[1][1]), to_vec(t[1][2]) };
    bool expected = twin_intersects(t[0], t[1]);
    ++n_asked;
    n_met += expected ? 1 : 0;
    if (kp_triangles_intersect(a, b) != expected) {
      fail_msg("case %ld: the twin says %d", (long)n, (int)expected);
    }
  }
  assert_true(n_met > n_asked / 10 && n_met < 9 * n_asked / 10);
}

// The same where one is a segment or a point, or both are.
static void triangles_without_area_agree_with_separating_axes(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(8);
  int64_t n_met[2] = { 0 }, n_apart[2] = { 0 };
  for (int64_t n = 0; n < 200000; ++n) {
    int64_t size = kp_test_integer(&r, 1, 6);
    int3 t[2][3];
    for (int s = 0; s < 2; ++s) {
      bool is_flat = s == 1 && n % 2 == 0;  // the other is any triangle
      int64_t along = kp_test_integer(&r, -2, 2);
      for (int axis = 0; axis < 3; ++axis) {
        int64_t from = kp_test_integer(&r, 0, size), way = kp_test_integer(&r, -size, size);
        way *= n % 20 < 2 ? 0 : 1;
        t[s][0].v[axis] = from;
        t[s][1].v[axis] = from + way;
        t[s][2].v[axis] = is_flat ? kp_test_integer(&r, 0, size) : from + along * way;
      }
    }
    int first = (int)(n / 2 % 2);
    const int3 *p = t[first], *q = t[1 - first];
    const kp_vec3 a[3] = { to_vec(p[0]), to_vec(p[1]), to_vec(p[2]) };
    const kp_vec3 b[3] = { to_vec(q[0]), to_vec(q[1]), to_vec(q[2]) };
    bool expected = twin_intersects(p, q), has_any = has_area(t[1]);
    n_met[has_any] += expected;
    n_apart[has_any] += !expected;
    if (kp_triangles_intersect(a, b) != expected) {
      fail_msg("case %ld: the twin says %d", (long)n, (int)expected);
    }
  }
  for (int k = 0; k < 2; ++k) {
    assert_true(n_met[k] > 5000 && n_apart[k] > 5000);
  }
}

static bool twin_pierces(const int3 t[3], int3 p, int3 q) {
  const int3 edge[3] = { p, q, q };
  return twin_intersects(t, edge);
}

static int64_t int_dot(int3 a, int3 b) {
  return a.v[0] * b.v[0] + a.v[1] * b.v[1] + a.v[2] * b.v[2];
}

// With one common node the edges opposite to it are asked, with two whether they fold flat onto
// each other: then their normals, each turning about the common edge, are alike.
static void neighbours_on_grids_agree_with_integers(void **state) {
  (void)state;
  static const kp_index corners[2][6] = { { 0, 1, 2, 3, 0, 4 }, { 2, 0, 1, 0, 1, 3 } };
  kp_test_random r = kp_test_random_begin(9);
  int64_t n_met[2] = { 0 }, n_apart[2] = { 0 };
  for (int64_t n = 0; n < 200000; ++n) {
    int64_t size = kp_test_integer(&r, 1, 6);
    int has_two = n % 2 == 0;
    bool flat = n % 4 < 2;
    int3 p[5];
    double x[3][5];
    for (int k = 0; k < 5; ++k) {
      for (int axis = 0; axis < 3; ++axis) {
        p[k].v[axis] = flat && axis == n % 3 ? 0 : kp_test_integer(&r, 0, size);
        x[axis][k] = (double)p[k].v[axis];
      }
    }
    const int3 a[3] = { p[0], p[1], p[2] };
    const int3 b[3] = { p[0], p[has_two ? 1 : 4], p[3] };
    if (!has_area(a) || !has_area(b)) {
      continue;
    }
    bool expected;
    if (has_two) {
      int3 edge = int_sub(p[1], p[0]);
      int3 one = int_cross(edge, int_sub(p[2], p[0])), two = int_cross(edge, int_sub(p[3], p[0]));
      int3 turn = int_cross(one, two);
      expected = int_dot(turn, turn) == 0 && int_dot(one, two) > 0;
    } else {
      expected = twin_pierces(a, b[1], b[2]) || twin_pierces(b, a[1], a[2]);
    }
    n_met[has_two] += expected;
    n_apart[has_two] += !expected;
    kp_triangle_soup soup = { x[0], x[1], x[2], corners[has_two], 2 };
    if (kp_soup_intersects(&soup, 0, 1) != expected ||
        kp_soup_intersects(&soup, 1, 0) != expected) {
      fail_msg("case %ld: the twin says %d", (long)n, (int)expected);
    }
  }
  for (int k = 0; k < 2; ++k) {
    assert_true(n_met[k] > 5000 && n_apart[k] > 5000);
  }
}

static void neighbours_in_a_mesh_intersect_only_when_folded_flat(void **state) {
  (void)state;
  //  3---2     hinge 1 2: node 3 above or below the plane, or folded onto the first triangle
  //  | / |
  //  0---1
  double x[5] = { 0, 1, 1, 0, 0 };
  double y[5] = { 0, 0, 1, 1, 0 };
  double z[5] = { 0, 0, 0, 0, 0 };
  const kp_index triangles[6] = { 0, 1, 2, 0, 2, 3 };
  kp_triangle_soup soup = { x, y, z, triangles, 2 };
  kp_intersections out;
  assert_ok(kp_soup_count(&soup, &out));
  assert_int_equal(out.count, 0);
  x[3] = 0.9;
  y[3] = 0.1;
  assert_ok(kp_soup_count(&soup, &out));
  assert_int_equal(out.count, 1);
  z[3] = 1e-300;
  assert_ok(kp_soup_count(&soup, &out));
  assert_int_equal(out.count, 0);
}

static void the_tree_counts_what_all_pairs_count(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(7);
  enum { n_nodes = 120, n_triangles = 150 };
  double p[3][n_nodes];
  kp_index triangles[3 * n_triangles];
  for (int axis = 0; axis < 3; ++axis) {
    for (int k = 0; k < n_nodes; ++k) {
      p[axis][k] = kp_test_uniform(&r, 0.0, 1.0);
    }
  }
  for (int t = 0; t < n_triangles; ++t) {
    int64_t a = kp_test_integer(&r, 0, n_nodes - 1);
    triangles[3 * t] = (kp_index)a;
    triangles[3 * t + 1] = (kp_index)((a + kp_test_integer(&r, 1, 3)) % n_nodes);
    triangles[3 * t + 2] = (kp_index)((a + kp_test_integer(&r, 4, 9)) % n_nodes);
  }
  kp_triangle_soup soup = { p[0], p[1], p[2], triangles, n_triangles };
  int64_t expected = 0;
  for (kp_index i = 0; i < n_triangles; ++i) {
    for (kp_index j = i + 1; j < n_triangles; ++j) {
      expected += kp_soup_intersects(&soup, i, j) ? 1 : 0;
    }
  }
  kp_intersections out;
  assert_ok(kp_soup_count(&soup, &out));
  assert_int_equal(out.count, expected);
  assert_true(expected > 100);
}

int main(void) {
  const struct CMUnitTest list[] = {
    cmocka_unit_test(what_meets_at_a_rational_time_is_found),
    cmocka_unit_test(answers_on_grids_agree_with_integer_arithmetic),
    cmocka_unit_test(pairs_may_slide_and_leave_at_any_gap),
    cmocka_unit_test(a_common_turn_of_a_rigid_pair_is_free),
    cmocka_unit_test(collapsed_sides_are_served),
    cmocka_unit_test(signs_of_volumes_are_exact),
    cmocka_unit_test(signs_hold_where_differences_round),
    cmocka_unit_test(triangles_on_grids_agree_with_separating_axes),
    cmocka_unit_test(triangles_without_area_agree_with_separating_axes),
    cmocka_unit_test(neighbours_on_grids_agree_with_integers),
    cmocka_unit_test(neighbours_in_a_mesh_intersect_only_when_folded_flat),
    cmocka_unit_test(the_tree_counts_what_all_pairs_count),
  };
  return cmocka_run_group_tests(list, NULL, NULL);
}
