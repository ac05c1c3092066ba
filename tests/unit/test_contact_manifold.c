// Closest points of convex solids against alternating projections, normals of overlapping boxes
// against the separating axes, and the points that are cut.
#include "support/test.h"

#include <math.h>

#include "base/random.h"
#include "geom/contact_manifold.h"

static double number(uint64_t seed, uint64_t i, double lo, double hi) {
  return lo + (hi - lo) * kp_rng_uniform(seed, 0, i, 0);
}

typedef struct solid {
  kp_shape *shape;
  kp_convex convex;
  kp_convex_at at;
} solid;

static kp_shape_def box_def(kp_vec3 half) {
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_BOX);
  def.min = kp_vec3_scale(half, -1.0);
  def.max = half;
  return def;
}

static void open_solid(solid *s, kp_shape_def def, kp_vec3 at, kp_quat turn) {
  bool is_convex = false;
  assert_ok(kp_shape_build(&def, NULL, &s->shape));
  assert_ok(kp_convex_of_shape(s->shape, 1.0, &s->convex, &is_convex));
  assert_true(is_convex);
  s->at = (kp_convex_at){ &s->convex, kp_convex_pose_make(&s->convex, at, turn) };
}

static void close_solid(solid *s) {
  kp_convex_destroy(&s->convex);
  kp_shape_destroy(&s->shape);
}

static kp_vec3 local_of(const solid *s, kp_vec3 p) {
  return kp_mat3_transpose_mul_vec3(&s->at.pose.turn, kp_vec3_sub(p, s->at.pose.center));
}

// Nearest point of the shrunk core.
static kp_vec3 project(const solid *s, kp_vec3 p) {
  kp_vec3 q = local_of(s, p);
  double m = s->convex.margin;
  kp_vec3 h = s->convex.half;
  if (s->convex.kind == KP_CONVEX_CYLINDER) {
    double across = sqrt(q.x * q.x + q.z * q.z);
    double scale = across > h.x - m ? (h.x - m) / across : 1.0;
    q = kp_vec3_make(q.x * scale, fmin(fmax(q.y, m - h.y), h.y - m), q.z * scale);
  } else {
    q = kp_vec3_make(fmin(fmax(q.x, m - h.x), h.x - m), fmin(fmax(q.y, m - h.y), h.y - m),
                     fmin(fmax(q.z, m - h.z), h.z - m));
  }
  return kp_convex_pose_point(&s->at.pose, q);
}

static kp_shape_def random_def(uint64_t seed, int kind) {
  kp_vec3 half =
      kp_vec3_make(number(seed, 1, 0.3, 1.0), number(seed, 2, 0.3, 1.0), number(seed, 3, 0.3, 1.0));
  kp_shape_def def = box_def(half);
  if (kind > 0) {
    def = kp_default_shape_def(kind == 1   ? KP_SHAPE_CYLINDER
                               : kind == 2 ? KP_SHAPE_CAPSULE
                                           : KP_SHAPE_SPHERE);
    def.a = kp_vec3_scale(half, -0.5);
    def.b = kp_vec3_scale(half, 0.5);
    def.radius = half.x;
  }
  return def;
}

static kp_quat random_turn(uint64_t seed) {
  return kp_quat_normalize(kp_quat_make(number(seed, 11, -1, 1), number(seed, 12, -1, 1),
                                        number(seed, 13, -1, 1), number(seed, 14, -1, 1)));
}

static void test_closest(void **state) {
  (void)state;
  int n_apart = 0;
  double worst = 0.0;
  for (uint64_t k = 0; k < 400; ++k) {
    solid a, b;
    kp_vec3 at =
        kp_vec3_make(number(k, 21, -2.5, 2.5), number(k, 22, -2.5, 2.5), number(k, 23, -2.5, 2.5));
    open_solid(&a, random_def(2 * k, (int)(k % 4)), kp_vec3_make(0, 0, 0), random_turn(2 * k));
    open_solid(&b, random_def(2 * k + 1, (int)(k / 4 % 4)), at, random_turn(2 * k + 1));
    kp_convex_gap gap;
    bool is_apart = kp_convex_closest(&a.convex, &a.at.pose, &b.convex, &b.at.pose, HUGE_VAL, &gap);
    kp_vec3 p = a.at.pose.center;
    kp_vec3 q = b.at.pose.center;
    for (int i = 0; i < 20000; ++i) {
      p = project(&a, q);
      q = project(&b, p);
    }
    double twin = kp_vec3_length(kp_vec3_sub(q, p));
    if (is_apart) {
      ++n_apart;
      // projections come from above and slowly where faces are nearly parallel
      worst = kp_test_most(worst, fabs(gap.distance - twin));
      assert_true(gap.distance <= twin + 1e-6);
      assert_true(twin - gap.distance < 1e-3);
      assert_near(kp_vec3_length(gap.normal), 1.0, 1e-12);
      assert_near(kp_vec3_length(kp_vec3_sub(gap.b, gap.a)), gap.distance, 1e-9);
    } else {
      assert_true(twin < 1e-3);
    }
    close_solid(&a);
    close_solid(&b);
  }
  print_message("closest points of %d pairs of cores: off by %.1e at most\n", n_apart, worst);
  assert_between(n_apart, 150, 399);
}

// The largest gap along the fifteen axes of two boxes.
static double separating_gap(const solid *a, const solid *b) {
  double most = -HUGE_VAL;
  for (int i = 0; i < 15; ++i) {
    int c = i % 3;
    const kp_mat3 *ra = &a->at.pose.turn;
    const kp_mat3 *rb = &b->at.pose.turn;
    kp_vec3 u = kp_vec3_make(ra->m[0][c], ra->m[1][c], ra->m[2][c]);
    kp_vec3 v = kp_vec3_make(rb->m[0][c], rb->m[1][c], rb->m[2][c]);
    int e = i / 3 - 2;
    kp_vec3 w = i >= 6 ? kp_vec3_make(rb->m[0][e], rb->m[1][e], rb->m[2][e]) : v;
    kp_vec3 d = i < 3 ? u : i < 6 ? v : kp_vec3_cross(u, w);
    if (kp_vec3_length(d) < 1e-6) {
      continue;
    }
    d = kp_vec3_normalize(d);
    kp_vec3 towards = kp_vec3_sub(b->at.pose.center, a->at.pose.center);
    d = kp_vec3_dot(d, towards) < 0.0 ? kp_vec3_scale(d, -1.0) : d;
    most = kp_test_most(most,
                        kp_convex_gap_along(&a->convex, &a->at.pose, &b->convex, &b->at.pose, d));
  }
  return most;
}

// What a plane parts is told apart: of two solids put on its two sides no nearer points are found
// than they have, and none that overlap.
static void test_parted(void **state) {
  (void)state;
  int n_lost = 0;
  for (uint64_t seed = 1; seed <= 60000; ++seed) {
    solid a, b;
    int kind = seed % 2 == 0 ? (int)(seed / 2 % 4) : 1,
        other = seed % 2 == 0 ? (int)(seed / 8 % 4) : 1;
    open_solid(&a, random_def(seed, kind), kp_vec3_make(0, 0, 0), random_turn(seed));
    open_solid(&b, random_def(seed + 60000, other), kp_vec3_make(0, 0, 0),
               random_turn(seed + 60000));
    kp_vec3 n = kp_vec3_normalize(kp_vec3_make(number(seed, 21, -1, 1), number(seed, 22, -1, 1),
                                               number(seed, 23, -1, 1) + 1e-3));
    kp_vec3 aside = kp_vec3_cross(
        n, kp_vec3_make(number(seed, 24, -1, 1), number(seed, 25, -1, 1), number(seed, 26, -1, 1)));
    if (seed % 3 > 0) {  // as they are, with sharp edges
      a.convex.margin = b.convex.margin = 0.0;
    }
    double gap = pow(10.0, number(seed, 27, -3, 0));
    double now = kp_convex_gap_along(&a.convex, &a.at.pose, &b.convex, &b.at.pose, n);
    b.at.pose.center = kp_vec3_madd(kp_vec3_add(b.at.pose.center, aside), gap - now, n);
    double round = a.convex.radius + b.convex.radius;
    kp_convex_gap found;
    if (!kp_convex_closest(&a.convex, &a.at.pose, &b.convex, &b.at.pose, HUGE_VAL, &found)) {
      ++n_lost;
    } else {
      assert_true(found.distance - round >= gap * (1.0 - 1e-9));
      // and by the normal that is told they are as far apart, less what cores recede
      double along =
          kp_convex_gap_along(&a.convex, &a.at.pose, &b.convex, &b.at.pose, found.normal);
      double shrunk = a.convex.margin + b.convex.margin;
      assert_between(along, found.distance - round - 1.8 * shrunk - 1e-6,
                     found.distance - round + 1e-6);
    }
    close_solid(&a);
    close_solid(&b);
  }
  assert_int_equal(n_lost, 0);
}

// Needles and sheets, two hundred times as wide as thick. Their distance is no more than the gap
// along the normal that is told (equal, of closest points): what is told too long lets continuous
// collision pass over a hit.
static void test_parted_thin(void **state) {
  (void)state;
  double worst = 0.0;
  for (uint64_t seed = 1; seed <= 60000; ++seed) {
    solid a, b;
    const double wide = 0.1, thin = 0.0005;
    kp_vec3 half_a = kp_vec3_make(seed % 2 == 0 ? wide : thin, thin, wide);
    kp_vec3 half_b = kp_vec3_make(seed % 4 < 2 ? wide : thin, thin, wide);
    open_solid(&a, box_def(half_a), kp_vec3_make(0, 0, 0), random_turn(seed));
    open_solid(&b, box_def(half_b), kp_vec3_make(0, 0, 0), random_turn(seed + 60000));
    kp_vec3 n = kp_vec3_normalize(kp_vec3_make(number(seed, 21, -1, 1), number(seed, 22, -1, 1),
                                               number(seed, 23, -1, 1) + 1e-3));
    kp_vec3 aside =
        kp_vec3_cross(n, kp_vec3_make(number(seed, 24, -0.1, 0.1), number(seed, 25, -0.1, 0.1),
                                      number(seed, 26, -0.1, 0.1)));
    a.convex.margin = b.convex.margin = 0.0;
    double gap = pow(10.0, number(seed, 27, -5, -1));
    double now = kp_convex_gap_along(&a.convex, &a.at.pose, &b.convex, &b.at.pose, n);
    b.at.pose.center = kp_vec3_madd(kp_vec3_add(b.at.pose.center, aside), gap - now, n);
    kp_convex_gap found;
    assert_true(kp_convex_closest(&a.convex, &a.at.pose, &b.convex, &b.at.pose, HUGE_VAL, &found));
    assert_true(found.distance >= gap * (1.0 - 1e-9));
    double along = kp_convex_gap_along(&a.convex, &a.at.pose, &b.convex, &b.at.pose, found.normal);
    worst = fmax(worst, found.distance - along);
    close_solid(&a);
    close_solid(&b);
  }
  print_message("distances of thin boxes are too long by %.1e m at most\n", worst);
  assert_between(worst, -1e-9, 1e-9);
}

// A needle that comes near to a sheet, where the tetrahedron of the search is too flat for its
// signs.
static void test_parted_flat(void **state) {
  (void)state;
  solid a, b;
  open_solid(&a, box_def(kp_vec3_make(0.1, 0.0005, 0.1)),
             kp_vec3_make(-0x1.417fef4da7cebp-4, 0x1.7b6787404d897p-5, -0x1.ca43c345e266ap-5),
             kp_quat_make(0x1.fe1c244388011p-2, 0x1.8449e721160e4p-3, 0x1.a3efcbb1fb2e9p-1,
                          -0x1.a99a654145328p-3));
  open_solid(&b, box_def(kp_vec3_make(0.0005, 0.0005, 0.1)),
             kp_vec3_make(0x1.19f23e80d8bc4p-4, -0x1.00002d0d2f48cp-4, -0x1.7f5c3b66d53dfp-6),
             kp_quat_make(-0x1.3308afc78e9a4p-4, -0x1.19233676154d4p-1, 0x1.57ded48169dfp-1,
                          0x1.f787e86546c67p-2));
  a.convex.margin = b.convex.margin = 0.0;
  kp_convex_gap found;
  assert_true(kp_convex_closest(&a.convex, &a.at.pose, &b.convex, &b.at.pose, HUGE_VAL, &found));
  double along = kp_convex_gap_along(&a.convex, &a.at.pose, &b.convex, &b.at.pose, found.normal);
  print_message("a needle by a sheet: %.9f m, %.9f m along its normal\n", found.distance, along);
  assert_near(found.distance, along, 1e-9);
  assert_between(found.distance, 1e-6, 1e-3);
  close_solid(&a);
  close_solid(&b);
}

// Boxes that touch or overlap a little: the deepest point is as deep as the separating axes say.
static void test_boxes(void **state) {
  (void)state;
  int n = 0;
  double worst = 0.0;
  double most_wrong = 0.0;  // overlap told of boxes that are apart
  for (uint64_t k = 0; k < 3000; ++k) {
    solid a, b;
    kp_vec3 at =
        kp_vec3_make(number(k, 21, -1.5, 1.5), number(k, 22, -1.5, 1.5), number(k, 23, -1.5, 1.5));
    open_solid(&a, random_def(2 * k, 0), kp_vec3_make(0, 0, 0), random_turn(2 * k));
    open_solid(&b, random_def(2 * k + 1, 0), at, random_turn(2 * k + 1));
    double gap = separating_gap(&a, &b);
    kp_manifold m;
    kp_manifold_convex(&a.at, &b.at, 0.02, &m);
    if (gap < 0.0 && gap > -0.05) {
      ++n;
      double least = HUGE_VAL;
      assert_true(m.count > 0);
      for (int i = 0; i < m.count; ++i) {
        least = kp_test_least(least, m.points[i].separation);
        assert_true(m.points[i].separation <= 0.02);
        // half-way between the surfaces is in both or nearly so
        assert_true(kp_shape_distance(a.shape, local_of(&a, m.points[i].position)) < 0.05);
        assert_true(kp_shape_distance(b.shape, local_of(&b, m.points[i].position)) < 0.05);
      }
      worst = kp_test_most(worst, fabs(least - gap));
    }
    for (int i = 0; i < m.count && gap > 0.0; ++i) {
      most_wrong = fmin(most_wrong, m.points[i].separation);
    }
    close_solid(&a);
    close_solid(&b);
  }
  print_message(
      "%d pairs of boxes that overlap a little: depth off by %.2e at most; of those apart "
      "%.2e is told\n",
      n, worst, most_wrong);
  assert_true(most_wrong > -0.002);
  assert_true(n > 50);
  assert_true(worst < 1e-3);
}

static void test_face_on_face(void **state) {
  (void)state;
  solid a, b;
  kp_quat none = kp_quat_identity();
  open_solid(&a, box_def(kp_vec3_make(1, 1, 1)), kp_vec3_make(0, 0, 0), none);
  open_solid(&b, box_def(kp_vec3_make(0.5, 0.5, 0.5)), kp_vec3_make(0.8, 1.499, 0), none);
  kp_manifold m;
  kp_manifold_convex(&a.at, &b.at, 0.01, &m);
  kp_manifold_merge(0.01, &m);
  assert_int_equal(m.count, 4);
  for (int i = 0; i < 4; ++i) {
    assert_near(m.points[i].separation, -0.001, 1e-9);
    assert_vec3_near(m.points[i].normal, kp_vec3_make(0, 1, 0), 1e-9);
    double x = m.points[i].position.x;
    // the overhang is cut off
    assert_true(fabs(x - 0.3) < 1e-9 || fabs(x - 1.0) < 1e-9);
    assert_near(fabs(m.points[i].position.z), 0.5, 1e-9);
  }
  close_solid(&a);
  close_solid(&b);
}

static void test_shell_distance(void **state) {
  (void)state;
  kp_shape_def def = box_def(kp_vec3_make(1, 1, 1));
  def.shell = 0.1;
  kp_shape *shape;
  assert_ok(kp_shape_build(&def, NULL, &shape));
  kp_vec3 n;
  assert_near(kp_shape_query(shape, kp_vec3_make(0.8, 0, 0), &n), 0.15, 1e-12);
  assert_vec3_near(n, kp_vec3_make(-1, 0, 0), 1e-12);
  assert_near(kp_shape_query(shape, kp_vec3_make(1.3, 0, 0), &n), 0.25, 1e-12);
  assert_vec3_near(n, kp_vec3_make(1, 0, 0), 1e-12);
  kp_mass_properties mass;
  assert_ok(kp_shape_mass_properties(shape, &mass));
  assert_near(mass.volume, 24.0 * 0.1, 1e-9);
  // six plates of mass 0.4: two across the axis, 0.4 (2^2 + 2^2) / 12 each, four along it,
  // 0.4 (2^2 / 12 + 1)
  double exact = 2.0 * 0.4 * 8.0 / 12.0 + 4.0 * 0.4 * (4.0 / 12.0 + 1.0);
  for (int c = 0; c < 3; ++c) {
    assert_near(mass.inertia.m[c][c], exact, 1e-9);
  }
  kp_shape_destroy(&shape);
}

// Of a flat patch of 5 x 5 points, tilted a little, the four corners are kept, whichever is the
// deepest and in whatever order they come; a bulge in the middle is kept too, and so is another
// direction.
static void test_patch(void **state) {
  (void)state;
  for (int turn = 0; turn < 8; ++turn) {
    kp_contact_point all[26];
    for (int k = 0; k < 25; ++k) {
      int i = (k * 7 + turn) % 25;
      double x = i % 5 - 2.0, z = i / 5 - 2.0;
      double tilt = 1e-4 * (x * cos(turn) + z * sin(turn));
      all[k] = (kp_contact_point){ { x, 0, z }, { 0, 1, 0 }, tilt, (uint32_t)i };
    }
    all[25] = (kp_contact_point){ { 0, 1, 0 }, { 1, 0, 0 }, 0.5, 25 };
    kp_contact_points points = { all, 25, 26 };
    kp_manifold m;
    kp_manifold_take(&points, 1.0, KP_MANIFOLD_MOST, &m);
    assert_int_equal(m.count, 4);
    for (int k = 0; k < m.count; ++k) {
      assert_true(fabs(m.points[k].position.x) == 2.0 && fabs(m.points[k].position.z) == 2.0);
    }
    points.count = 26;
    for (int k = 0; k < 25; ++k) {
      all[k].separation -= all[k].feature == 12 ? 0.01 : 0.0;
    }
    kp_manifold_take(&points, 1.0, KP_MANIFOLD_MOST, &m);
    assert_int_equal(m.count, 6);
    assert_int_equal(m.points[4].feature, 12);
    assert_int_equal(m.points[5].feature, 25);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_closest),        cmocka_unit_test(test_parted),
    cmocka_unit_test(test_parted_thin),    cmocka_unit_test(test_parted_flat),
    cmocka_unit_test(test_boxes),          cmocka_unit_test(test_face_on_face),
    cmocka_unit_test(test_shell_distance), cmocka_unit_test(test_patch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
