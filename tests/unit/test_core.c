// Cores of solids: distances against all pairs of triangles, times against what bodies do on their
// way, contacts of sides that lie along each other.
#include "support/test.h"

#include <math.h>

#include "geom/ccd.h"
#include "geom/core.h"
#include "geom/triangle_triangle.h"

typedef struct solid {
  kp_shape *shape;
  kp_convex convex;
  kp_core core;
} solid;

static kp_vec3 vec(double x, double y, double z) {
  return kp_vec3_make(x, y, z);
}

static solid solid_of(kp_shape *shape) {
  solid s = { .shape = shape };
  bool is_convex;
  assert_ok(kp_convex_of_shape(shape, 1e3, &s.convex, &is_convex));
  assert_ok(kp_core_of_shape(shape, is_convex ? &s.convex : NULL, true, &s.core));
  return s;
}

static solid solid_make(const kp_shape_def *def) {
  kp_shape *shape;
  assert_ok(kp_shape_build(def, NULL, &shape));
  return solid_of(shape);
}

static void solid_free(solid *s) {
  kp_core_destroy(&s->core);
  kp_convex_destroy(&s->convex);
  kp_shape_destroy(&s->shape);
}

static kp_shape_def box_def(kp_vec3 min, kp_vec3 max) {
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_BOX);
  def.min = min;
  def.max = max;
  return def;
}

static kp_shape_def round_def(kp_shape_kind kind, double radius, double half) {
  kp_shape_def def = kp_default_shape_def(kind);
  def.center = vec(0, 0, 0);
  def.radius = radius;
  def.a = vec(0, -half, 0);
  def.b = vec(0, half, 0);
  return def;
}

// Two bars of 1 m x 1.4 m at a right angle: a solid with a dent.
static solid make_angle(void) {
  static const double around[6][2] = { { -1, -1 }, { 1, -1 }, { 1, 0 },
                                       { 0, 0 },   { 0, 1 },  { -1, 1 } };
  static const kp_index cap[4][3] = { { 0, 1, 2 }, { 0, 2, 3 }, { 0, 3, 4 }, { 0, 4, 5 } };
  kp_mesh mesh;
  assert_ok(kp_mesh_create(12, 20, &mesh));
  kp_index n = 0;
  for (kp_index k = 0; k < 6; ++k) {
    kp_index l = (k + 1) % 6;
    mesh.vertices[k] = vec(around[k][0], around[k][1], -0.7);
    mesh.vertices[k + 6] = vec(around[k][0], around[k][1], 0.7);
    mesh.triangles[n++] = (kp_triangle){ { k, l, l + 6 } };
    mesh.triangles[n++] = (kp_triangle){ { k, l + 6, k + 6 } };
  }
  for (int t = 0; t < 4; ++t) {
    mesh.triangles[n++] = (kp_triangle){ { cap[t][0], cap[t][2], cap[t][1] } };
    mesh.triangles[n++] = (kp_triangle){ { cap[t][0] + 6, cap[t][1] + 6, cap[t][2] + 6 } };
  }
  assert_ok(kp_mesh_check_closed(&mesh));
  assert_true(kp_mesh_volume(&mesh) > 0.0);
  kp_shape_def def = box_def(vec(0, 0, 0), vec(1, 1, 1));
  kp_shape *shape;
  assert_ok(kp_shape_build(&def, NULL, &shape));
  assert_ok(kp_shape_become(shape, &mesh));
  kp_mesh_destroy(&mesh);
  return solid_of(shape);
}

enum {
  BALL,
  CAPSULE,
  BOX,
  CYLINDER,
  ANGLE,
  SHELL,
  N_BODIES,
  PLANE = N_BODIES,
  ROOM,
  HOLLOW_BALL,
  TANK,
  DRUM,
  N_SOLIDS
};

static solid make(int which) {
  kp_shape_def def;
  switch (which) {
  case BALL:
    def = round_def(KP_SHAPE_SPHERE, 0.6, 0.0);
    break;
  case CAPSULE:
    def = round_def(KP_SHAPE_CAPSULE, 0.2, 0.7);
    break;
  case BOX:
    def = box_def(vec(-0.3, -0.9, -0.5), vec(0.3, 0.9, 0.5));
    break;
  case CYLINDER:
    def = round_def(KP_SHAPE_CYLINDER, 0.4, 0.5);
    break;
  case ANGLE:
    return make_angle();
  case SHELL:
    def = box_def(vec(-0.5, -0.6, -0.4), vec(0.5, 0.6, 0.4));
    def.shell = 0.1;
    break;
  case PLANE:
    def = kp_default_shape_def(KP_SHAPE_PLANE);
    break;
  case ROOM:
    def = box_def(vec(-3, -2.5, -2), vec(3, 2.5, 2));
    def.invert = true;
    break;
  case HOLLOW_BALL:
    def = round_def(KP_SHAPE_SPHERE, 3.0, 0.0);
    def.invert = true;
    break;
  case TANK:
    def = round_def(KP_SHAPE_CAPSULE, 2.5, 1.0);
    def.invert = true;
    break;
  default:
    def = round_def(KP_SHAPE_CYLINDER, 3.0, 2.5);
    def.invert = true;
    break;
  }
  return solid_make(&def);
}

static kp_quat random_turn(kp_test_random *r) {
  kp_vec3 axis = kp_vec3_normalize(kp_vec3_add(kp_test_vec3(r, -1.0, 1.0), vec(0, 1e-3, 0)));
  return kp_quat_from_axis_angle(axis, kp_test_uniform(r, -3.0, 3.0));
}

// ---- distances ----------------------------------------------------------------------------------

static void corners_of(const kp_core_at *at, kp_index t, kp_vec3 out[3]) {
  for (int k = 0; k < 3; ++k) {
    kp_vec3 p = at->core->skin.vertices[at->core->skin.triangles[t].v[k]];
    out[k] = kp_vec3_add(at->at.origin, kp_quat_rotate(at->at.turn, p));
  }
}

// Nearest of all corners, faces and edges.
static double gap_of_triangles(const kp_core_at *a, const kp_core_at *b) {
  double best = HUGE_VAL, w[4];
  for (kp_index s = 0; s < a->core->skin.n_triangles; ++s) {
    for (kp_index t = 0; t < b->core->skin.n_triangles; ++t) {
      kp_vec3 p[3], q[3];
      corners_of(a, s, p);
      corners_of(b, t, q);
      for (int i = 0; i < 3; ++i) {
        best = fmin(best, kp_closest_point_triangle((kp_vec3[4]){ p[0], p[1], p[2], q[i] }, w));
        best = fmin(best, kp_closest_point_triangle((kp_vec3[4]){ q[0], q[1], q[2], p[i] }, w));
        for (int j = 0; j < 3; ++j) {
          const kp_vec3 x[4] = { p[i], p[(i + 1) % 3], q[j], q[(j + 1) % 3] };
          best = fmin(best, kp_closest_edge_edge(x, w));
        }
      }
    }
  }
  return sqrt(best);
}

static bool do_cross(const kp_core_at *a, const kp_core_at *b) {
  for (kp_index s = 0; s < a->core->skin.n_triangles; ++s) {
    for (kp_index t = 0; t < b->core->skin.n_triangles; ++t) {
      kp_vec3 p[3], q[3];
      corners_of(a, s, p);
      corners_of(b, t, q);
      if (kp_triangles_intersect(p, q)) {
        return true;
      }
    }
  }
  return false;
}

// Round solids as polygons are rounder than their triangles by so much.
static double roundness(int which) {
  return which == CYLINDER ? 0.05 : 1e-7;
}

static void distances_are_those_of_all_triangles(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(11);
  int n_known = 0;
  for (int i = 0; i < N_BODIES; ++i) {
    for (int j = 0; j < N_BODIES; ++j) {
      solid sa = make(i), sb = make(j);
      for (int n = 0; n < 30; ++n) {
        kp_vec3 from = kp_test_vec3(&r, -1.0, 1.0);
        kp_vec3 to = kp_vec3_add(from, kp_test_vec3(&r, -2.0, 2.0));
        kp_core_at a = kp_core_place(&sa.core, sa.shape, from, random_turn(&r));
        kp_core_at b = kp_core_place(&sb.core, sb.shape, to, random_turn(&r));
        bool is_bare = n % 2 == 0;
        double both = sa.core.skin_round + sb.core.skin_round;
        both += is_bare ? sa.core.inset + sb.core.inset : 0.0;
        double expected = gap_of_triangles(&a, &b) - both;
        kp_core_gap gap, back, none;
        if (!kp_core_distance(&a, &b, 10.0, is_bare, &gap)) {
          continue;
        }
        ++n_known;
        // the bare convexes have sharp corners, which triangles round off by the inset
        double slack = is_bare ? sa.core.inset + sb.core.inset : 0.0;
        double off = roundness(i) + roundness(j);
        assert_between(gap.distance, expected - slack - off, expected + off);
        assert_near(kp_vec3_length(gap.normal), 1.0, 1e-9);
        assert_true(kp_core_distance(&b, &a, 10.0, is_bare, &back));
        assert_near(back.distance, gap.distance, 1e-6);
        if (gap.distance > 0.01) {
          assert_true(kp_vec3_dot(back.normal, gap.normal) < -0.999);
          // along its normal the one may come as near as that, and no nearer
          kp_core_at moved = kp_core_place(
              &sb.core, sb.shape, kp_vec3_madd(to, -0.5 * gap.distance, gap.normal), b.at.turn);
          assert_true(kp_core_distance(&a, &moved, 10.0, is_bare, &none));
          assert_near(none.distance, 0.5 * gap.distance, 1e-6);
          // nothing farther is asked for
          assert_true(kp_core_distance(&a, &b, 0.5 * gap.distance, is_bare, &none));
          assert_true(none.distance >= 0.5 * gap.distance);
        }
      }
      solid_free(&sa);
      solid_free(&sb);
    }
  }
  assert_true(n_known > 400);
}

// Of what lies in rooms and upon planes: its corners are its farthest points.
static void distances_of_open_solids_are_those_of_corners(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(14);
  int n_known = 0;
  for (int i = PLANE; i < N_SOLIDS; ++i) {
    for (int j = 0; j < N_BODIES; ++j) {
      solid sa = make(i), sb = make(j);
      for (int n = 0; n < 30; ++n) {
        kp_core_at a =
            kp_core_place(&sa.core, sa.shape, kp_test_vec3(&r, -1.0, 1.0), random_turn(&r));
        kp_core_at b =
            kp_core_place(&sb.core, sb.shape, kp_test_vec3(&r, -2.0, 2.0), random_turn(&r));
        bool is_bare = n % 2 == 0;
        double expected = HUGE_VAL;
        for (kp_index t = 0; t < sb.core.skin.n_triangles; ++t) {
          kp_vec3 p[3];
          corners_of(&b, t, p);
          for (int k = 0; k < 3; ++k) {
            kp_vec3 local =
                kp_quat_rotate(kp_quat_conjugate(a.at.turn), kp_vec3_sub(p[k], a.at.origin));
            expected = fmin(expected, kp_shape_distance(sa.shape, local));
          }
        }
        expected -= sb.core.skin_round + (is_bare ? sb.core.inset : 0.0);
        kp_core_gap gap, back;
        if (expected < 0.0) {
          continue;  // in the wall
        }
        ++n_known;
        assert_true(kp_core_distance(&a, &b, 10.0, is_bare, &gap));
        double slack = is_bare ? sb.core.inset : 0.0;
        assert_between(gap.distance, expected - slack - roundness(j), expected + roundness(j));
        assert_near(kp_vec3_length(gap.normal), 1.0, 1e-9);
        assert_true(kp_core_distance(&b, &a, 10.0, is_bare, &back));
        assert_near(back.distance, gap.distance, 0.0);
        assert_vec3_near(back.normal, kp_vec3_scale(gap.normal, -1.0), 0.0);
      }
      solid_free(&sa);
      solid_free(&sb);
    }
  }
  print_message("%d distances\n", n_known);
  assert_true(n_known > 300);
}

// ---- times --------------------------------------------------------------------------------------

// A body that goes straight on and turns about its centre, faster and faster.
#define END 2.0  // s

typedef struct path {
  const solid *s;
  kp_vec3 origin;  // from the centre, at the start
  kp_quat turn;
  double gain;  // of the spin, 1/s: of itself
  kp_core_motion m;
} path;

static kp_core_at at_time(const path *p, double t) {
  double speed = kp_vec3_length(p->m.spin);
  kp_vec3 axis = speed > 0.0 ? kp_vec3_scale(p->m.spin, 1.0 / speed) : vec(0, 1, 0);
  kp_quat by = kp_quat_from_axis_angle(axis, speed * (t + 0.5 * p->gain * t * t));
  kp_vec3 center = kp_vec3_madd(p->m.center, t, p->m.velocity);
  return kp_core_place(&p->s->core, p->s->shape, kp_vec3_add(center, kp_quat_rotate(by, p->origin)),
                       kp_quat_mul(by, p->turn));
}

static kp_core_motion motion_at(const path *p, double t) {
  kp_core_motion m = p->m;
  m.center = kp_vec3_madd(p->m.center, t, p->m.velocity);
  m.spin = kp_vec3_scale(p->m.spin, 1.0 + p->gain * t);
  m.sway = p->gain * kp_vec3_length(p->m.spin) * (END - t);
  return m;
}

// Solids that are no bodies are at rest, or turn about their middle.
static path random_path(kp_test_random *r, const solid *s, int which, double spin) {
  path p = { .s = s, .turn = kp_quat_identity() };
  p.m.spin = kp_vec3_scale(kp_test_vec3(r, -1.0, 1.0), spin);
  p.m.swing = 5.0;
  if (which < N_BODIES) {
    p.turn = random_turn(r);
    p.m.center = kp_test_vec3(r, -1.0, 1.0);
    p.m.velocity = kp_test_vec3(r, -2.0, 2.0);
    p.origin = kp_test_vec3(r, -0.1, 0.1);
    p.m.swing = 1.8;
  } else if (which == PLANE) {
    p.origin = vec(0, -2, 0);
    p.m.spin = vec(0, 0, 0);
  }
  return p;
}

// Whether the limit was kept all the way: at many places until the time that was told, and again
// from there, until they are near. Skins that cross have a distance between corners and faces, but
// no time. Counts steps.
static int follow(const path *a, const path *b, kp_core_limit limit) {
  double t = 0.0;
  for (int n = 0; n < 200; ++n) {
    kp_core_at now_a = at_time(a, t), now_b = at_time(b, t);
    kp_core_motion ma = motion_at(a, t), mb = motion_at(b, t);
    double free = kp_core_free_time(&now_a, &ma, &now_b, &mb, limit, END - t);
    assert_true(free >= 0.0 && free <= END - t);
    for (int k = 0; k <= 20 && free > 0.0; ++k) {
      kp_core_at x = at_time(a, t + free * k / 20.0), y = at_time(b, t + free * k / 20.0);
      kp_core_gap gap;
      assert_true(kp_core_distance(&x, &y, 20.0, limit.is_bare, &gap));
      assert_true(gap.distance > limit.target - 1e-6);
    }
    if (free == 0.0) {
      kp_core_gap gap;
      bool is_known = kp_core_distance(&now_a, &now_b, 20.0, limit.is_bare, &gap);
      assert_true(!is_known || gap.distance <= limit.near + 1e-6 || do_cross(&now_a, &now_b));
      return n;
    }
    t += free;
    if (t >= END) {
      return n;
    }
  }
  fail_msg("they come no nearer and are not there");
  return 0;
}

static void nothing_passes_within_a_free_time(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(12);
  int n_steps = 0;
  for (int i = 0; i < N_SOLIDS; ++i) {
    for (int j = 0; j < N_BODIES; ++j) {
      solid sa = make(i), sb = make(j);
      for (int n = 0; n < 8; ++n) {
        path a = random_path(&r, &sa, i, n < 2 ? 0.0 : 2.0);
        path b = random_path(&r, &sb, j, n < 2 ? 0.0 : 2.0);
        a.gain = b.gain = n > 3 ? 0.5 : 0.0;
        if (n > 5) {  // only the other turns
          a.m.spin = a.m.velocity = b.m.velocity = vec(0, 0, 0);
        }
        kp_core_limit limit = { 0.01, 0.02, n % 2 == 0 };
        n_steps += follow(&a, &b, limit);
        n_steps += follow(&b, &a, limit);
      }
      solid_free(&sa);
      solid_free(&sb);
    }
  }
  print_message("%d advances\n", n_steps);
  assert_true(n_steps > 500);
}

// What falls straight reaches a half space, and what is in a room its walls, when distance over
// speed says so; whichever of the two is named first.
static void times_of_straight_ways_are_exact(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(13);
  int n_timed[2] = { 0 };
  for (int open = PLANE; open <= ROOM; ++open) {
    for (int body = 0; body < N_BODIES; ++body) {
      solid sa = make(open), sb = make(body);
      for (int n = 0; n < 20; ++n) {
        path a = random_path(&r, &sa, open, 0.0);
        path b = random_path(&r, &sb, body, 0.0);
        b.m.velocity = vec(0, -1.5, 0);
        b.m.center = vec(0, 0, 0);
        kp_core_at floor = at_time(&a, 0.0), start = at_time(&b, 0.0);
        kp_core_limit limit = { 0.01, 0.02, n % 2 == 0 };
        kp_core_gap gap;
        // of the floor alone: walls are farther than it is deep
        floor.at.origin.y += open == ROOM ? 1.0 : 0.0;
        bool is_known = kp_core_distance(&floor, &start, 20.0, limit.is_bare, &gap);
        if (!is_known || gap.normal.y < 0.999 || gap.distance < 0.1) {
          continue;
        }
        ++n_timed[open == ROOM];
        double expected = (gap.distance - limit.target) / 1.5;
        assert_near(kp_core_free_time(&floor, &a.m, &start, &b.m, limit, 20.0), expected, 1e-9);
        assert_near(kp_core_free_time(&start, &b.m, &floor, &a.m, limit, 20.0), expected, 1e-9);
        assert_near(kp_core_free_time(&start, &b.m, &floor, &a.m, limit, 0.01), 0.01, 0.0);
      }
      solid_free(&sa);
      solid_free(&sb);
    }
  }
  print_message("%d times to a plane, %d to the floor of a room\n", n_timed[0], n_timed[1]);
  assert_true(n_timed[0] > 50 && n_timed[1] > 50);
}

// ---- contacts -----------------------------------------------------------------------------------

// Two boxes, one upon the other: their sides are parallel, edges lie upon edges.
static void check_stack(const solid *below, const solid *above, double top, double gap) {
  kp_core_at a = kp_core_place(&below->core, below->shape, vec(0, 0, 0), kp_quat_identity());
  kp_core_at b =
      kp_core_place(&above->core, above->shape, vec(0, 2.0 * top + gap, 0), kp_quat_identity());
  kp_contact_points points = { 0 };
  bool is_known;
  assert_ok(kp_core_contacts(&a, &b, gap + 0.05, &points, &is_known));
  assert_true(is_known && points.count >= 4);
  double reach[2] = { 0.0, 0.0 };
  for (size_t k = 0; k < points.count; ++k) {
    const kp_contact_point *p = &points.data[k];
    assert_vec3_near(p->normal, vec(0, 1, 0), 1e-9);
    assert_near(p->separation, gap, 1e-9);
    assert_near(p->position.y, top + 0.5 * gap, 1e-9);
    reach[0] = kp_test_most(reach[0], fabs(p->position.x));
    reach[1] = kp_test_most(reach[1], fabs(p->position.z));
  }
  // they span the face
  assert_near(reach[0], 0.5, 0.11);
  assert_near(reach[1], 0.4, 0.11);
  kp_array_free(&points);
}

static void sides_that_lie_along_each_other_touch_across(void **state) {
  (void)state;
  solid shell = make(SHELL);
  check_stack(&shell, &shell, 0.65, 0.003);
  kp_shape_def def = box_def(vec(-0.5, -0.6, -0.4), vec(0.5, 0.6, 0.4));
  solid box = solid_make(&def);
  check_stack(&box, &box, 0.6, 0.003);
  solid_free(&shell);
  solid_free(&box);
}

// ---- making -------------------------------------------------------------------------------------

static void cores_know_how_thin_a_solid_is(void **state) {
  (void)state;
  const double expected[N_BODIES] = {
    [BALL] = 1.2, [CAPSULE] = 0.4, [BOX] = 0.6, [CYLINDER] = 0.8, [ANGLE] = 1.0, [SHELL] = 0.1
  };
  for (int k = 0; k < N_BODIES; ++k) {
    solid s = make(k);
    assert_near(s.core.thin, expected[k], 1e-9);
    assert_between(s.core.inset, 0.05 * s.core.thin, 0.45 * s.core.thin);
    solid_free(&s);
  }
  kp_shape_def def = box_def(vec(0, 0, 1), vec(0.4, 0.3, 1));  // unbounded in z
  kp_shape *shape;
  kp_core core;
  assert_ok(kp_shape_build(&def, NULL, &shape));
  assert_ok(kp_core_of_shape(shape, NULL, false, &core));
  assert_near(core.thin, 0.3, 1e-12);
  kp_core_destroy(&core);
  kp_shape_destroy(&shape);
  def = round_def(KP_SHAPE_SPHERE, 0.5, 0.0);
  assert_ok(kp_shape_build(&def, NULL, &shape));
  assert_ok(kp_shape_flatten(shape));
  assert_ok(kp_core_of_shape(shape, NULL, false, &core));
  assert_near(core.thin, 1.0, 1e-12);  // a disc, which has no depth
  kp_core_destroy(&core);
  kp_shape_destroy(&shape);
  for (int k = N_BODIES; k < N_SOLIDS; ++k) {
    solid s = make(k);
    assert_true(s.core.thin == HUGE_VAL && s.core.inset == 0.0);
    solid_free(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(distances_are_those_of_all_triangles),
    cmocka_unit_test(distances_of_open_solids_are_those_of_corners),
    cmocka_unit_test(nothing_passes_within_a_free_time),
    cmocka_unit_test(times_of_straight_ways_are_exact),
    cmocka_unit_test(sides_that_lie_along_each_other_touch_across),
    cmocka_unit_test(cores_know_how_thin_a_solid_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
