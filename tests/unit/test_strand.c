// The shapes of hairs, and where they grow.
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "geom/curve_file.h"
#include "geom/mesh_make.h"
#include "geom/scalp.h"
#include "geom/strand.h"

#include "support/claims.h"

static kp_strand_style plain(double length) {
  return (kp_strand_style){ .length = length, .curl_pitch = 0.01, .wave_length = 0.01 };
}

static void samples_lie_at_equal_arclength(void **state) {
  (void)state;
  // three quarters of a circle, unevenly drawn
  kp_vec3 circle[400];
  for (int i = 0; i < 400; ++i) {
    double t = pow((double)i / 399.0, 1.7) * 4.71238898038469;
    circle[i] = kp_vec3_make(cos(t), sin(t), 0.0);
  }
  kp_vec3 x[31];
  assert_ok(kp_strand_resample(circle, 400, 30, x));
  double chord = 2.0 * sin(0.5 * 4.71238898038469 / 30.0);
  double off = 0.0;
  for (int i = 0; i < 30; ++i) {
    off = kp_test_most(off, fabs(kp_vec3_length(kp_vec3_sub(x[i + 1], x[i])) / chord - 1.0));
  }
  kp_claim claim = { .id = "selle-S66",
                     .text = "hair is sampled at equal arclength: error of the chord, of the chord",
                     .size = "three quarters of an unevenly drawn circle, 30 segments",
                     .figure = off,
                     .threshold = 1e-4 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  assert_vec3_near(x[0], circle[0], 0.0);
  assert_vec3_near(x[30], circle[399], 0.0);
  kp_vec3 same[2] = { circle[0], circle[0] };
  assert_fails(KP_ERROR_SCENE, "no length", kp_strand_resample(same, 2, 4, x));
}

static void straight_pieces_are_found(void **state) {
  (void)state;
  // right angles at 2 and 3, then straight on
  kp_vec3 x[] = { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 }, { 2, 1, 0 }, { 2, 1, 1 }, { 2, 1, 2 } };
  bool straight[5];
  kp_strand_find_straight(x, 5, 0.02, straight);
  bool expected[] = { true, true, false, true, true };
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(straight[i], expected[i]);
  }
  kp_strand_find_straight(x, 5, 3.2, straight);
  for (int i = 0; i < 5; ++i) {
    assert_true(straight[i]);
  }
}

static void extras_make_turning_equilateral_triangles(void **state) {
  (void)state;
  enum { N = 12 };
  kp_vec3 x[N + 1], extra[N];
  bool straight[N];
  for (int i = 0; i <= N; ++i) {
    x[i] = kp_vec3_make(0.1 * i, 0.02 * i, -0.05 * i);
  }
  kp_strand_find_straight(x, N, 0.02, straight);
  kp_strand_find_extras(x, N, straight, 0.3, extra);
  kp_vec3 before = { 0.0, 0.0, 0.0 };
  double uneven = 0.0, unturned = 0.0;
  for (int i = 0; i < N; ++i) {
    double length = kp_vec3_length(kp_vec3_sub(x[i + 1], x[i]));
    uneven = kp_test_most(uneven, fabs(kp_vec3_length(kp_vec3_sub(extra[i], x[i])) - length));
    uneven = kp_test_most(uneven, fabs(kp_vec3_length(kp_vec3_sub(extra[i], x[i + 1])) - length));
    kp_vec3 away = kp_vec3_sub(extra[i], kp_vec3_scale(kp_vec3_add(x[i], x[i + 1]), 0.5));
    // a quarter of a turn against the one before
    unturned = kp_test_most(unturned, fabs(kp_vec3_dot(away, before)));
    before = away;
  }
  kp_claim claim = { .id = "selle-S66-extras",
                     .text = "extra nodes of straight segments make equilateral triangles, each a "
                             "quarter of a turn from the one before",
                     .size = "12 segments in a line" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "difference of sides, m", uneven, KP_AT_MOST, 1e-12 },
                   { "product of neighbouring directions, m^2", unturned, KP_AT_MOST, 1e-12 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

static void curls_have_their_radius_and_length(void **state) {
  (void)state;
  kp_strand_style style = plain(0.3);
  style.curl_radius = 0.01;
  style.curl_pitch = 0.02;
  kp_points p = { 0 };
  kp_vec3 down = { 0.0, -1.0, 0.0 };
  assert_ok(kp_strand_grow(&style, kp_vec3_make(0.0, 1.0, 0.0), down, 0, NULL, &p));
  assert_near(kp_strand_length(p.data, p.count), 0.3, 1e-9);
  double slope = sqrt(1.0 + pow(KP_SAMPLER_TURN * 0.01 / 0.02, 2.0));
  for (size_t i = 0; i < p.count; ++i) {
    double r = hypot(p.data[i].x, p.data[i].z);
    assert_true(r <= 0.01 + 1e-9);
    if (p.data[i].y < 1.0 - 0.03) {
      assert_near(r, 0.01, 1e-4);
    }
  }
  // as deep as a helix of that length, but for the start
  assert_between((1.0 - p.data[p.count - 1].y) * slope, 0.3, 0.36);
  kp_array_free(&p);
}

static double unit_ball(kp_vec3 p, kp_vec3 *normal, void *user) {
  (void)user;
  *normal = kp_vec3_normalize(p);
  return kp_vec3_length(p) - 1.0;
}

static void hairs_fall_over_the_head(void **state) {
  (void)state;
  kp_strand_style style = plain(2.5);
  style.fall = kp_vec3_make(0.0, -1.0, 0.0);
  style.droop = 0.3;
  style.lift = 0.05;
  kp_strand_obstacle ball = { unit_ball, NULL };
  kp_points p = { 0 };
  kp_vec3 out = kp_vec3_normalize(kp_vec3_make(0.3, 1.0, 0.1));
  assert_ok(kp_strand_grow(&style, out, out, 3, &ball, &p));
  for (size_t i = 0; i < p.count; ++i) {
    assert_true(kp_vec3_length(p.data[i]) >= 1.0 - 1e-9);
  }
  assert_near(kp_strand_length(p.data, p.count), 2.5, 1e-9);
  // it turned downwards and slid along the side of the ball
  kp_vec3 last = kp_vec3_sub(p.data[p.count - 1], p.data[p.count - 2]);
  assert_true(kp_vec3_normalize(last).y < -0.9);
  kp_array_free(&p);
}

static double half_as_dense(kp_vec3 p, kp_vec3 normal, void *user) {
  (void)normal;
  (void)user;
  return p.y > 0.0 ? 1.0 : 0.25;
}

static double nearest_of(const kp_scalp_roots *roots, size_t i) {
  double best = HUGE_VAL;
  for (size_t j = 0; j < roots->count; ++j) {
    double d = kp_vec3_length(kp_vec3_sub(roots->data[i].position, roots->data[j].position));
    best = j != i ? fmin(best, d) : best;
  }
  return best;
}

static void roots_spread_evenly_by_density(void **state) {
  (void)state;
  kp_mesh mesh;
  kp_vec3 center = { 0.0, 0.0, 0.0 };
  assert_ok(kp_mesh_make_icosphere(center, 1.0, 4, &mesh));
  kp_mesh_query *query;
  assert_ok(kp_mesh_query_create(&mesh, &query));
  double mean[2], least[2];
  for (int pushed = 0; pushed < 2; ++pushed) {
    kp_scalp_def def = { .count = 1000, .iterations = pushed ? 20 : 0, .seed = 7 };
    kp_scalp_roots roots = { 0 };
    assert_ok(kp_scalp_seed(query, &def, &roots));
    assert_int_equal(roots.count, 1000);
    mean[pushed] = 0.0;
    least[pushed] = HUGE_VAL;
    for (size_t i = 0; i < roots.count; ++i) {
      double d = nearest_of(&roots, i);
      mean[pushed] += d / (double)roots.count;
      least[pushed] = kp_test_least(least[pushed], d);
      assert_near(kp_vec3_length(roots.data[i].position), 1.0, 5e-3);
      assert_true(kp_vec3_dot(roots.data[i].normal, roots.data[i].position) > 0.99);
    }
    kp_array_free(&roots);
  }
  // a hexagonal lattice has sqrt(2/sqrt(3) 4 pi/n) = 0.1204 between neighbours, random points half
  // of sqrt(4 pi/n) = 0.056
  assert_between(mean[0], 0.05, 0.062);
  assert_true(least[1] > 0.06 && least[0] < 0.01);
  const double hexagonal = 0.1204;
  kp_claim claim = { .id = "selle-S75",
                     .text = "roots that push each other away lie nearly as in a hexagonal lattice",
                     .size = "1000 roots on a sphere, 20 rounds" };
  kp_claim_status verdict =
      kp_claim_all(&claim,
                   { "mean distance of neighbours over that of the lattice", mean[1] / hexagonal,
                     KP_AT_LEAST, 0.8 },
                   { "the same, at most", mean[1] / hexagonal, KP_AT_MOST, 1.0 },
                   { "the same of roots at random", mean[0] / hexagonal, KP_AT_MOST, 0.52 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);

  kp_scalp_def def = { .count = 1000, .iterations = 10, .seed = 7, .density = half_as_dense };
  kp_scalp_roots roots = { 0 };
  assert_ok(kp_scalp_seed(query, &def, &roots));
  int above = 0;
  for (size_t i = 0; i < roots.count; ++i) {
    above += roots.data[i].position.y > 0.0;
  }
  assert_between(above, 750, 850);
  kp_array_free(&roots);
  kp_mesh_query_destroy(&query);
}

static double way_along(const kp_scalp_roots *roots) {
  double sum = 0.0;
  for (size_t i = 0; i + 1 < roots->count; ++i) {
    sum += kp_vec3_length(kp_vec3_sub(roots->data[i + 1].position, roots->data[i].position));
  }
  return sum;
}

// The same roots, each near the one before it: at random they are 4/3 apart, neighbours 0.09.
static void order_puts_neighbours_together(void **state) {
  (void)state;
  kp_mesh mesh;
  kp_vec3 center = { 3.0, -2.0, 1.0 };
  assert_ok(kp_mesh_make_icosphere(center, 1.0, 4, &mesh));
  kp_mesh_query *query;
  assert_ok(kp_mesh_query_create(&mesh, &query));
  kp_scalp_def def = { .count = 1000, .iterations = 5, .seed = 7 };
  kp_scalp_roots roots = { 0 };
  assert_ok(kp_scalp_order(&roots));
  assert_ok(kp_scalp_seed(query, &def, &roots));
  kp_vec3 before = { 0.0, 0.0, 0.0 }, after = before;
  for (size_t i = 0; i < roots.count; ++i) {
    before = kp_vec3_add(before, roots.data[i].position);
  }
  double way = way_along(&roots);
  assert_ok(kp_scalp_order(&roots));
  assert_int_equal(roots.count, 1000);
  for (size_t i = 0; i < roots.count; ++i) {
    after = kp_vec3_add(after, roots.data[i].position);
    assert_true(nearest_of(&roots, i) > 0.0);  // none is there twice
  }
  assert_vec3_near(before, after, 1e-9);
  print_message("way along all roots: %.4g, in order %.4g\n", way, way_along(&roots));
  assert_true(way > 1200.0 && way_along(&roots) < 200.0);
  kp_array_free(&roots);
  kp_mesh_query_destroy(&query);
}

static double nowhere(kp_vec3 p, kp_vec3 normal, void *user) {
  (void)p;
  (void)normal;
  (void)user;
  return 0.0;
}

static void no_room_is_said(void **state) {
  (void)state;
  kp_mesh mesh;
  kp_vec3 center = { 0.0, 0.0, 0.0 };
  assert_ok(kp_mesh_make_icosphere(center, 1.0, 1, &mesh));
  kp_mesh_query *query;
  assert_ok(kp_mesh_query_create(&mesh, &query));
  kp_scalp_def def = { .count = 10, .iterations = 1, .density = nowhere };
  kp_scalp_roots roots = { 0 };
  assert_fails(KP_ERROR_SCENE, "no room", kp_scalp_seed(query, &def, &roots));
  assert_int_equal(roots.count, 0);
  kp_array_free(&roots);
  kp_mesh_query_destroy(&query);
}

static void guides_blend_from_the_root(void **state) {
  (void)state;
  kp_vec3 a[] = { { 1, 0, 0 }, { 1, 1, 0 } }, b[] = { { 5, 0, 0 }, { 5, 0, 1 } };
  const kp_vec3 *guides[] = { a, b };
  double weights[] = { 0.75, 0.25 };
  kp_vec3 out[2];
  kp_strand_blend(guides, weights, 2, 2, kp_vec3_make(2, 2, 2), out);
  assert_vec3_near(out[0], kp_vec3_make(2, 2, 2), 1e-15);
  assert_vec3_near(out[1], kp_vec3_make(2, 2.75, 2.25), 1e-15);
}

static void write_text(const char *path, const char *text) {
  kp_test_write_file(path, text, strlen(text));
}

static void guides_are_read(void **state) {
  const char *obj = kp_test_path(*state, "guides.obj"), *text = kp_test_path(*state, "guides.csv");
  write_text(obj, "# two hairs\nv 0 0 0\nv 0 1 0\nv 0 2 0\nl 1 2 3\nv 5 0 0\nl -1 1\n");
  write_text(text, "# a hair\n0, 0, 0\n0, 1, 0\n0, 2, 0\n\n5 0 0\n0 0 0\n");
  for (int k = 0; k < 2; ++k) {
    kp_curves curves;
    assert_ok(kp_curves_read(k == 0 ? obj : text, &curves));
    assert_int_equal(curves.first.count, 3);
    assert_int_equal(curves.first.data[1], 3);
    assert_int_equal(curves.first.data[2], 5);
    assert_vec3_near(curves.points.data[2], kp_vec3_make(0, 2, 0), 0.0);
    assert_vec3_near(curves.points.data[3], kp_vec3_make(5, 0, 0), 0.0);
    kp_curves_free(&curves);
  }
}

// Segments of two ends are joined where one begins at the vertex that the last one ended at.
static void segments_are_joined(void **state) {
  const char *path = kp_test_path(*state, "guides.obj");
  static const char vertices[] = "v 0 0 0\nv 0 1 0\nv 0 2 0\nv 5 0 0\nv 5 1 0\nv 0 2 0\nv 7 7 7\n";
  static const struct {
    const char *lines;
    size_t counts[3];
  } cases[] = {
    { "l 1 2\nl 2 3\nl 4 5\n", { 3, 2 } },   { "l 1 2 3\nl 4 5\nl 5 7\n", { 3, 3 } },
    { "l 1 2\nl -6 -5\n", { 3 } },            // counted backwards
    { "l 1 2 3\nl 6 7\n", { 3, 2 } },         // the same place, another vertex
    { "l 1 2\nl 3 2\n", { 2, 2 } },           // ends meet, but this begins elsewhere
    { "l 1 2\nl 4 5\nl 2 3\n", { 2, 2, 2 } }  // not the one before
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
    char text[256];
    (void)snprintf(text, sizeof text, "%s%s", vertices, cases[k].lines);
    write_text(path, text);
    kp_curves curves;
    assert_ok(kp_curves_read(path, &curves));
    for (size_t c = 0; c < 3 && cases[k].counts[c] > 0; ++c) {
      assert_in_range(curves.first.count, c + 2, 4);
      assert_int_equal(curves.first.data[c + 1] - curves.first.data[c], cases[k].counts[c]);
    }
    size_t n = curves.first.count - 1;
    assert_true(n == 3 || cases[k].counts[n] == 0);
    assert_int_equal(curves.points.count, curves.first.data[n]);
    if (cases[k].counts[0] == 3) {
      assert_vec3_near(curves.points.data[1], kp_vec3_make(0, 1, 0), 0.0);
      assert_vec3_near(curves.points.data[2], kp_vec3_make(0, 2, 0), 0.0);
    }
    kp_curves_free(&curves);
  }
}

static void bad_guides_are_refused(void **state) {
  static const struct {
    const char *text, *words;
  } cases[] = {
    { "v 0 0 0\nl 1 2\n", ":2: a line needs numbers of vertices that stand before it" },
    { "v 0 0 0\nv 1 0 0\nl 1 0\n", ":3: a line needs numbers of vertices that stand before it" },
    { "v 0 0 0\nv 1 0 0\nl 1 -3\n", ":3: a line needs numbers of vertices that stand before it" },
    { "v 0 0 0\nl 1\n", "two points" },
    { "v 0 0 0\nv 1 0 0\nl 1 2\nl 2\n", ":4: a curve needs two points" },
    { "0 0 0\n0 1\n", ":2: a point needs three finite numbers" },
    { "0 0 0\n\n0 1 0\n1 1 1\n", ":2: a curve needs two points" },
    { "0 0 nan\n", "three finite numbers, not nan" },
    { "", "holds no curves" },
    { "v 0 0 0\n", "holds no curves" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char *path = kp_test_path(*state, "bad.obj");
    write_text(path, cases[i].text);
    kp_curves curves;
    assert_fails(KP_ERROR_FORMAT, cases[i].words, kp_curves_read(path, &curves));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(samples_lie_at_equal_arclength),
    cmocka_unit_test(straight_pieces_are_found),
    cmocka_unit_test(extras_make_turning_equilateral_triangles),
    cmocka_unit_test(curls_have_their_radius_and_length),
    cmocka_unit_test(hairs_fall_over_the_head),
    cmocka_unit_test(roots_spread_evenly_by_density),
    cmocka_unit_test(order_puts_neighbours_together),
    cmocka_unit_test(no_room_is_said),
    cmocka_unit_test(guides_blend_from_the_root),
    cmocka_unit_test_setup_teardown(guides_are_read, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(segments_are_joined, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(bad_guides_are_refused, kp_test_folder_make,
                                    kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
