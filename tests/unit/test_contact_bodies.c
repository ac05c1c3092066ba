// Rigid bodies among the guests of the contact module: what one impulse does to a body, brutal
// random motions of bodies and sheets, momentum, and zones.
#include "support/test.h"

#include <math.h>

#include "geom/triangle_triangle.h"
#include "methods/common/contact_impl.h"

#include "support/bag.h"

#define MOST_BODIES 4

// Tetrahedra beside the sheets of a bag.
typedef struct scene {
  kp_bag bag;
  int n_bodies;
  double mass[MOST_BODIES];
  kp_mat3 inertia[MOST_BODIES];
  kp_vec3 arms[MOST_BODIES][4];
  kp_contact_pose from[MOST_BODIES], to[MOST_BODIES];
} scene;

static const kp_index faces[4][3] = { { 0, 1, 2 }, { 0, 2, 3 }, { 0, 3, 1 }, { 1, 3, 2 } };

static kp_vec3 vec(double x, double y, double z) {
  return kp_vec3_make(x, y, z);
}

// Four equal masses at the corners make the inertia; their centre is the origin.
static void add_body(scene *s, const kp_vec3 corners[4], double mass, kp_vec3 at) {
  int b = s->n_bodies++;
  kp_vec3 mean = vec(0, 0, 0);
  for (int k = 0; k < 4; ++k) {
    mean = kp_vec3_madd(mean, 0.25, corners[k]);
  }
  s->mass[b] = mass;
  s->inertia[b] = (kp_mat3){ 0 };
  for (int k = 0; k < 4; ++k) {
    kp_vec3 d = kp_vec3_sub(corners[k], mean);
    const double v[3] = { d.x, d.y, d.z };
    s->arms[b][k] = d;
    for (int e = 0; e < 9; ++e) {
      double square = e % 4 == 0 ? kp_vec3_dot(d, d) : 0.0;
      s->inertia[b].m[e / 3][e % 3] += 0.25 * mass * (square - v[e / 3] * v[e % 3]);
    }
  }
  s->from[b] = s->to[b] = (kp_contact_pose){ at, kp_quat_identity() };
}

static kp_vec3 corner(const scene *s, const kp_contact_pose *pose, int body, int k) {
  return kp_vec3_add(pose->center, kp_quat_rotate(pose->turn, s->arms[body][k]));
}

// The contact of the bag with the bodies behind its nodes.
static void close_scene(scene *s) {
  kp_bag *bag = &s->bag;
  kp_bag_close(bag, KP_BACKEND_CPU);
  kp_contact_destroy(&bag->contact);
  size_t own = bag->x.count;
  size_t n = own + 4 * (size_t)s->n_bodies;
  double *rest = kp_alloc(4 * n * sizeof *rest, KP_MEMORY_TEST);
  kp_index *object = kp_alloc(n * sizeof *object, KP_MEMORY_TEST);
  kp_contact_body bodies[MOST_BODIES];
  assert_non_null(rest);
  assert_non_null(object);
  for (size_t i = 0; i < own; ++i) {
    rest[i] = bag->x.data[i].x;
    rest[n + i] = bag->x.data[i].y;
    rest[2 * n + i] = bag->x.data[i].z;
    rest[3 * n + i] = bag->h;
    object[i] = bag->object.data[i];
  }
  for (int b = 0; b < s->n_bodies; ++b) {
    kp_contact_object guest = { .flags = KP_CONTACT_GUEST | KP_CONTACT_NO_SELF, .friction = 0.3 };
    assert_ok(kp_array_push(&bag->objects, guest));
    for (int k = 0; k < 4; ++k) {
      size_t i = own + 4 * (size_t)b + (size_t)k;
      kp_vec3 p = corner(s, &s->from[b], b, k);
      rest[i] = p.x;
      rest[n + i] = p.y;
      rest[2 * n + i] = p.z;
      rest[3 * n + i] = 0.0;
      object[i] = (kp_index)(bag->objects.count - 1);
      for (int c = 0; c < 3; ++c) {
        assert_ok(kp_array_push(&bag->triangles, (kp_index)own + 4 * b + faces[k][c]));
      }
    }
    bodies[b] = (kp_contact_body){ .first = 4 * b,
                                   .n = 4,
                                   .inverse_mass = 1.0 / s->mass[b],
                                   .inertia = s->inertia[b],
                                   .inverse_inertia = kp_mat3_inverse(&s->inertia[b]),
                                   .arms = s->arms[b] };
  }
  kp_contact_mesh mesh = {
    .n_nodes = (kp_index)n,
    .n_triangles = (kp_index)(bag->triangles.count / 3),
    .n_objects = (kp_index)bag->objects.count,
    .n_guests = (kp_index)(n - own),
    .n_bodies = s->n_bodies,
    .bodies = bodies,
    .triangles = bag->triangles.data,
    .object = object,
    .rest = { rest, rest + n, rest + 2 * n },
    .h = rest + 3 * n,
    .objects = bag->objects.data,
  };
  kp_contact_clamp(&mesh, bag->part, rest + 3 * n);
  assert_ok(kp_contact_create(bag->backend, &bag->def, &mesh, &bag->contact));
  kp_free(rest);
  kp_free(object);
}

static void resolve(scene *s) {
  for (int b = 0; b < s->n_bodies; ++b) {
    kp_contact_carry(s->bag.contact, b, &s->from[b], &s->to[b]);
  }
  kp_bag_resolve(&s->bag);
  for (int b = 0; b < s->n_bodies; ++b) {
    kp_contact_pose wanted = s->to[b];
    bool is_changed = kp_contact_carried(s->bag.contact, b, &s->to[b]);
    kp_vec3 shift = kp_vec3_sub(s->to[b].center, wanted.center);
    assert_true(is_changed || kp_vec3_length(shift) == 0.0);
  }
}

// Pairs of triangles that intersect at the end, those of two bodies left out, all against all.
static int64_t count_cuts(scene *s) {
  kp_bag *bag = &s->bag;
  kp_index own = (kp_index)bag->x.count;
  size_t n = bag->triangles.count / 3;
  int64_t count = 0;
  for (size_t f = 0; f < n; ++f) {
    for (size_t g = 0; g < f; ++g) {
      const kp_index *t[2] = { bag->triangles.data + 3 * f, bag->triangles.data + 3 * g };
      kp_vec3 x[2][3];
      bool shares = false;
      for (int k = 0; k < 9; ++k) {
        shares = shares || t[0][k / 3] == t[1][k % 3];
      }
      if (shares || (t[0][0] >= own && t[1][0] >= own)) {
        continue;
      }
      for (int k = 0; k < 6; ++k) {
        kp_index i = t[k / 3][k % 3];
        int b = (i - own) / 4;
        x[k / 3][k % 3] =
            i < own ? kp_bag_get(bag, bag->to, i) : corner(s, &s->to[b], b, (i - own) % 4);
      }
      count += kp_triangles_intersect(x[0], x[1]) ? 1 : 0;
    }
  }
  return count;
}

// Sum of mass times displacement of nodes and bodies, and the sum of the sizes.
static kp_vec3 momentum(scene *s, double *size) {
  kp_vec3 sum = vec(0, 0, 0);
  *size = 0.0;
  for (kp_index i = 0; i < kp_bag_nodes(&s->bag); ++i) {
    // as the module has it, rounded to a kp_real
    double m = 1.0 / (double)(kp_real)(1.0 / s->bag.mass.data[i]);
    kp_vec3 from = kp_bag_get(&s->bag, s->bag.from, i);
    kp_vec3 u = kp_vec3_sub(kp_bag_get(&s->bag, s->bag.to, i), from);
    sum = kp_vec3_madd(sum, m, u);
    *size += m * kp_vec3_length(u);
  }
  for (int b = 0; b < s->n_bodies; ++b) {
    kp_vec3 u = kp_vec3_sub(s->to[b].center, s->from[b].center);
    sum = kp_vec3_madd(sum, s->mass[b], u);
    *size += s->mass[b] * kp_vec3_length(u);
  }
  return sum;
}

// ---- one impulse

// A corner of a body meets the middle of a triangle, off its own centre: the approach at the place
// of the hit stops, and neither momentum nor angular momentum is lost.
static void an_impulse_stops_the_approach(void **state) {
  (void)state;
  static const kp_vec3 shape[4] = {
    { 0.3, 0, 0 }, { 0, 0.4, 0.3 }, { -0.3, 0.4, 0 }, { 0, 0.4, -0.2 }
  };
  scene s = { .bag = kp_bag_make() };
  s.bag.h = 0.0;
  s.bag.def.stiffness = 0.0;
  kp_bag_add_sheet(&s.bag, vec(-1, 0, -1), vec(2, 0, 0), vec(0, 0, 2), 1, 1, 0.5);
  add_body(&s, shape, 2.0, vec(0, 0.33, 0));
  close_scene(&s);
  s.bag.contact->objects[1].friction = 0.0;
  s.to[0].center.y -= 0.06;
  double size;
  kp_vec3 before = momentum(&s, &size);
  resolve(&s);
  assert_vec3_near(momentum(&s, &size), before, 1e-15);
  assert_true(kp_vec3_length(kp_contact_turn_between(s.from[0].turn, s.to[0].turn)) > 0.01);
  // angular momentum about the origin, to first order of the step
  kp_vec3 spin =
      kp_mat3_mul_vec3(&s.inertia[0], kp_contact_turn_between(s.from[0].turn, s.to[0].turn));
  kp_vec3 u = kp_vec3_sub(s.to[0].center, s.from[0].center);
  spin = kp_vec3_madd(spin, s.mass[0], kp_vec3_cross(s.from[0].center, u));
  for (kp_index i = 0; i < 4; ++i) {
    kp_vec3 x = s.bag.x.data[i];
    kp_vec3 d = kp_vec3_sub(kp_bag_get(&s.bag, s.bag.to, i), x);
    spin = kp_vec3_madd(spin, 0.5, kp_vec3_cross(x, d));
  }
  kp_vec3 had = kp_vec3_scale(kp_vec3_cross(s.from[0].center, vec(0, -0.06, 0)), s.mass[0]);
  assert_vec3_near(spin, had, 2e-3);
  // the corner has not come nearer to the sheet than the gap of the test
  assert_int_equal(count_cuts(&s), 0);
  kp_vec3 tip = corner(&s, &s.to[0], 0, 0);
  kp_vec3 low = kp_bag_get(&s.bag, s.bag.to, 0);
  assert_true(tip.y > low.y);
  kp_bag_free(&s.bag);
}

// ---- brutal motions

static void turn_by(kp_contact_pose *pose, kp_vec3 turn) {
  double angle = kp_vec3_length(turn);
  kp_quat by = kp_quat_from_axis_angle(kp_vec3_scale(turn, 1.0 / angle), angle);
  pose->turn = kp_quat_normalize(kp_quat_mul(by, pose->turn));
}

static scene make_crowd(uint64_t seed, int attempts) {
  kp_test_random r = kp_test_random_begin(seed);
  scene s = { .bag = kp_bag_make() };
  s.bag.def.attempts = attempts;
  kp_bag_add_sheet(&s.bag, vec(-0.5, 0.0, -0.5), vec(1, 0, 0), vec(0, 0, 1), 5, 5, 0.01);
  kp_bag_add_sheet(&s.bag, vec(-0.5, 0.9, -0.5), vec(1, 0, 0), vec(0, 0.05, 1), 4, 4, 0.01);
  for (int b = 0; b < MOST_BODIES; ++b) {
    kp_vec3 shape[4];
    for (int k = 0; k < 4; ++k) {
      kp_vec3 base = vec(k == 1, k == 2, k == 3);
      shape[k] = kp_vec3_madd(kp_test_vec3(&r, -0.05, 0.05), 0.3, base);
    }
    double mass = pow(10.0, kp_test_uniform(&r, -3.0, 2.0));
    add_body(&s, shape, mass, vec(b % 2 - 0.5, b < 2 ? 0.45 : -0.45, 0.3 * b - 0.4));
  }
  close_scene(&s);
  return s;
}

// All nodes and bodies go anywhere, some steps after each other.
static void brutal_motions_cut_nothing(void **state) {
  (void)state;
  int64_t collisions = 0, zones = 0;
  double worst = 0.0;
  for (int run = 0; run < 30; ++run) {
    scene s = make_crowd(100 + (uint64_t)run, run % 3 == 0 ? 0 : (run % 3 == 1 ? 3 : 20));
    kp_test_random r = kp_test_random_begin(7 + (uint64_t)run);
    assert_int_equal(count_cuts(&s), 0);
    for (int step = 0; step < 6; ++step) {
      kp_vec3 drift[2] = { kp_test_vec3(&r, -0.6, 0.6), kp_test_vec3(&r, -0.6, 0.6) };
      for (kp_index i = 0; i < kp_bag_nodes(&s.bag); ++i) {
        kp_vec3 u = kp_vec3_add(drift[s.bag.object.data[i]], kp_test_vec3(&r, -0.05, 0.05));
        kp_bag_set(&s.bag, s.bag.to, i, kp_vec3_add(kp_bag_get(&s.bag, s.bag.from, i), u));
      }
      for (int b = 0; b < s.n_bodies; ++b) {
        s.to[b].center = kp_vec3_add(s.from[b].center, kp_test_vec3(&r, -0.7, 0.7));
        turn_by(&s.to[b], kp_test_vec3(&r, -1.2, 1.2));
      }
      double size;
      kp_vec3 before = momentum(&s, &size);
      resolve(&s);
      double now;
      worst = kp_test_most(worst, kp_vec3_length(kp_vec3_sub(momentum(&s, &now), before)) / size);
      assert_int_equal(count_cuts(&s), 0);
      kp_bag_accept(&s.bag);
      for (int b = 0; b < s.n_bodies; ++b) {
        s.from[b] = s.to[b];
      }
    }
    collisions += kp_contact_told(s.bag.contact)->n_collisions;
    zones += kp_contact_told(s.bag.contact)->n_zones;
    kp_bag_free(&s.bag);
  }
  print_message("  %lld collisions, %lld zones, momentum off by %.1e\n", (long long)collisions,
                (long long)zones, worst);
  assert_true(collisions > 500 && zones > 10);
  assert_true(worst < 1e-13);
}

// Where pins leave no room the body waits, and what was caught in a body at the start comes free.
static void a_body_waits_before_a_pinned_sheet(void **state) {
  (void)state;
  static const kp_vec3 shape[4] = {
    { 0, -0.2, 0 }, { 0.2, 0.2, 0 }, { -0.2, 0.2, 0.1 }, { 0, 0.2, -0.2 }
  };
  scene s = { .bag = kp_bag_make() };
  kp_bag_add_sheet(&s.bag, vec(-1, 0, -1), vec(2, 0, 0), vec(0, 0, 2), 2, 2, 0.0);
  add_body(&s, shape, 5.0, vec(0.3, 0.4, 0.2));
  close_scene(&s);
  for (int step = 0; step < 3; ++step) {
    s.to[0].center.y -= 0.5;
    turn_by(&s.to[0], vec(0.3, 0.2, 0.1));
    resolve(&s);
    assert_int_equal(count_cuts(&s), 0);
    assert_true(s.to[0].center.y > 0.0);
    s.from[0] = s.to[0];
  }
  // pushed through by hand, it goes its own way
  s.from[0].center.y = s.to[0].center.y = 0.0;
  assert_true(count_cuts(&s) > 0);
  s.to[0].center.y = -0.5;
  resolve(&s);
  assert_near(s.to[0].center.y, -0.5, 1e-12);
  assert_int_equal(count_cuts(&s), 0);
  kp_bag_free(&s.bag);
}

// ---- planes

// How near each node is to each body by what it bears of its edges and triangles, all against all.
typedef struct nearest {
  double distance[128][MOST_BODIES];
} nearest;

static void look_at(nearest *near, bool is_edges, int body, const kp_index *own, int n_own,
                    const kp_vec3 x[4]) {
  double weight[4];
  double d2 = is_edges ? kp_closest_edge_edge(x, weight) : kp_closest_point_triangle(x, weight);
  double most = 0.0;
  for (int k = 0; k < n_own; ++k) {
    most = kp_test_most(most, fabs(weight[k]));
  }
  for (int k = 0; k < n_own; ++k) {
    double *d = &near->distance[own[k]][body];
    *d = fabs(weight[k]) >= 0.25 * most ? fmin(*d, sqrt(d2)) : *d;
  }
}

static void look_everywhere(scene *s, nearest *near) {
  kp_bag *bag = &s->bag;
  kp_index n = kp_bag_nodes(bag);
  for (int i = 0; i < 128 * MOST_BODIES; ++i) {
    near->distance[i / MOST_BODIES][i % MOST_BODIES] = HUGE_VAL;
  }
  for (size_t t = 0; t < bag->triangles.count && bag->triangles.data[t] < n; t += 3) {
    const kp_index *node = &bag->triangles.data[t];
    kp_vec3 x[4];
    for (int e = 0; e < 3 * s->n_bodies * 16; ++e) {
      int side = e % 3, body = e / 3 % s->n_bodies, a = e / (3 * s->n_bodies) % 4;
      int b = e / (12 * s->n_bodies);
      const kp_index edge[2] = { node[side], node[(side + 1) % 3] };
      x[0] = kp_bag_get(bag, bag->from, edge[0]);
      x[1] = kp_bag_get(bag, bag->from, edge[1]);
      x[2] = corner(s, &s->from[body], body, a);
      x[3] = corner(s, &s->from[body], body, b);
      if (a < b) {
        look_at(near, true, body, edge, 2, x);
      }
    }
    for (int k = 0; k < 3; ++k) {
      x[k] = kp_bag_get(bag, bag->from, node[k]);
    }
    for (int b = 0; b < 4 * s->n_bodies; ++b) {
      x[3] = corner(s, &s->from[b / 4], b / 4, b % 4);
      look_at(near, false, b / 4, node, 3, x);
    }
  }
}

// Nodes have planes where an edge or corner of a body is in reach, and only there.
static void planes_are_those_of_all_pairs(void **state) {
  (void)state;
  int64_t with = 0, without = 0;
  for (int run = 0; run < 20; ++run) {
    scene s = make_crowd(500 + (uint64_t)run, 20);
    kp_test_random r = kp_test_random_begin(40 + (uint64_t)run);
    kp_index n = kp_bag_nodes(&s.bag);
    kp_contact_plane planes[128];
    assert_true(n <= 128);
    double reach = kp_test_uniform(&r, 0.05, 0.4);
    for (int b = 0; b < s.n_bodies; ++b) {
      turn_by(&s.from[b], kp_test_vec3(&r, -1.2, 1.2));
      kp_contact_carry(s.bag.contact, b, &s.from[b], &s.from[b]);
    }
    assert_ok(kp_contact_find(s.bag.contact, s.bag.from, &s.bag.inverse_mass));
    assert_ok(kp_contact_planes(s.bag.contact, reach, planes));
    nearest near;
    look_everywhere(&s, &near);
    for (kp_index i = 0; i < n; ++i) {
      bool is_near = false;
      for (int b = 0; b < s.n_bodies; ++b) {
        is_near = is_near || near.distance[i][b] < reach;
      }
      assert_int_equal(planes[i].body >= 0, is_near);
      if (is_near) {
        assert_near(planes[i].distance, near.distance[i][planes[i].body], 1e-12);
        assert_near(kp_vec3_length(planes[i].normal), 1.0, 1e-12);
      }
      with += is_near;
      without += !is_near;
    }
    kp_bag_free(&s.bag);
  }
  print_message("  %lld nodes with a plane, %lld without\n", (long long)with, (long long)without);
  assert_true(with > 100 && without > 100);
}

// Below a sheet that a corner comes near, along its normal.
static void a_plane_faces_the_body(void **state) {
  (void)state;
  static const kp_vec3 shape[4] = {
    { 0, -0.2, 0 }, { 0.2, 0.2, 0 }, { -0.2, 0.2, 0.1 }, { 0, 0.2, -0.2 }
  };
  scene s = { .bag = kp_bag_make() };
  kp_bag_add_sheet(&s.bag, vec(-1, 0, -1), vec(2, 0, 0), vec(0, 0, 2), 1, 1, 0.5);
  add_body(&s, shape, 5.0, vec(0.1, 0.31, -0.2));
  close_scene(&s);
  kp_contact_plane planes[4];
  kp_contact_carry(s.bag.contact, 0, &s.from[0], &s.from[0]);
  assert_ok(kp_contact_find(s.bag.contact, s.bag.from, &s.bag.inverse_mass));
  assert_ok(kp_contact_planes(s.bag.contact, 0.05, planes));
  int n_planes = 0;
  for (int i = 0; i < 4; ++i) {
    if (planes[i].body >= 0) {
      ++n_planes;
      assert_near(planes[i].distance, 0.01, 1e-12);
      assert_near(planes[i].normal.y, -1.0, 1e-12);
    }
  }
  assert_true(n_planes >= 2);
  kp_bag_free(&s.bag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_impulse_stops_the_approach),
    cmocka_unit_test(brutal_motions_cut_nothing),
    cmocka_unit_test(a_body_waits_before_a_pinned_sheet),
    cmocka_unit_test(planes_are_those_of_all_pairs),
    cmocka_unit_test(a_plane_faces_the_body),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
