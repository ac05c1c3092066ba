// The contact module: searches against all pairs, repulsion, collisions, impact zones.
#include <stdio.h>

#include "geom/ccd.h"
#include "math/symmetric3.h"
#include "methods/common/contact_impl.h"
#include "par/parallel.h"

#include "support/bag.h"
#include "support/claims.h"

static kp_vec3 vec(double x, double y, double z) {
  return kp_vec3_make(x, y, z);
}

// Three sheets over each other, `gap` apart, slightly turned.
static kp_bag make_stack(int n_sheets, int n, double gap) {
  kp_bag bag = kp_bag_make();
  for (int k = 0; k < n_sheets; ++k) {
    double turn = 0.2 * k;
    kp_bag_add_sheet(&bag, vec(0.03 * k, 0.0, gap * k), vec(cos(turn), sin(turn), 0.0),
                     vec(-sin(turn), cos(turn), 0.0), n, n, 0.001);
  }
  return bag;
}

// ---- A

static int64_t near_by_all_pairs(kp_bag *bag, bool is_edges) {
  const kp_contact *c = bag->contact;
  int64_t count = 0;
  kp_index n_first = is_edges ? c->n_edges : c->n_points;
  kp_index n_second = is_edges ? c->n_edges : c->n_triangles;
  for (kp_index a = 0; a < n_first; ++a) {
    for (kp_index b = is_edges ? a + 1 : 0; b < n_second; ++b) {
      kp_index n[4];
      kp_vec3 x[4];
      kp_vec3 rest[4];
      double w[4];
      kp_contact_nodes_of(c, kp_contact_make_key(is_edges, a, b), n);
      bool shares = n[3] == n[0] || n[3] == n[1];
      shares = shares || (is_edges ? n[2] == n[0] || n[2] == n[1] : n[3] == n[2]);
      if (shares) {
        continue;
      }
      double h = 0.0;
      for (int k = 0; k < 4; ++k) {
        x[k] = kp_bag_get(bag, bag->from, n[k]);
        rest[k] = c->rest[n[k]];
      }
      double d = sqrt(is_edges ? kp_closest_edge_edge(x, w) : kp_closest_point_triangle(x, w));
      for (int k = 0; k < 4; ++k) {
        h += 0.5 * fabs(w[k]) * c->h[n[k]];
      }
      double r =
          sqrt(is_edges ? kp_closest_edge_edge(rest, w) : kp_closest_point_triangle(rest, w));
      bool is_neighbour = c->object[n[0]] == c->object[n[3]] && r < 1.5 * h;
      count += d < c->def.detection * h && !is_neighbour ? 1 : 0;
    }
  }
  return count;
}

static void near_pairs_are_those_of_all_pairs(void **state) {
  (void)state;
  kp_bag bag = make_stack(3, 9, 0.004);
  bag.part = 0.9;
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_test_random r = kp_test_random_begin(1);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    kp_vec3 x = kp_vec3_add(bag.x.data[i], kp_test_vec3(&r, -0.03, 0.03));
    kp_bag_set(&bag, bag.from, i, x);
  }
  kp_bag_find(&bag);
  const kp_contact_report *told = kp_contact_told(bag.contact);
  assert_true(told->n_faces > 50 && told->n_edges > 50);
  assert_int_equal(told->n_faces, near_by_all_pairs(&bag, false));
  assert_int_equal(told->n_edges, near_by_all_pairs(&bag, true));
  kp_bag_free(&bag);
}

// Pairs of one colour have no free node in common; all pairs are there once; the order is a
// function of the pairs alone.
static void colours_are_valid(void **state) {
  (void)state;
  kp_bag bag = make_stack(4, 12, 0.004);
  bag.part = 0.9;
  for (size_t i = 0; i < 40; ++i) {
    bag.mass.data[i] = 0.0;  // shared by pairs of one colour, and that is fine
  }
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  const kp_contact *c = bag.contact;
  const contact_pair *pairs = kp_buffer_host(&bag.contact->pair_buffer, KP_ACCESS_READ);
  int64_t n_seen = 0;
  int *last = kp_alloc((size_t)kp_bag_nodes(&bag) * sizeof *last, KP_MEMORY_TEST);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    last[i] = -1;
  }
  int color = 0;
  for (int kind = 0; kind < 2; ++kind) {
    for (size_t k = 0; k + 1 < c->color_start[kind].count; ++k, ++color) {
      for (int64_t p = c->color_start[kind].data[k]; p < c->color_start[kind].data[k + 1]; ++p) {
        ++n_seen;
        for (int m = 0; m < 4; ++m) {
          int32_t i = pairs[p].node[m];
          if (bag.mass.data[i] > 0.0) {
            assert_true(last[i] != color);
            last[i] = color;
          }
        }
      }
    }
  }
  assert_int_equal(n_seen, (int64_t)c->pairs.count);
  assert_true(n_seen > 500);
  kp_free(last);
  kp_bag_free(&bag);
}

// More pairs at one node than a word has bits: colouring goes on in further rounds.
static void a_node_may_be_in_any_number_of_pairs(void **state) {
  (void)state;
  kp_bag bag = kp_bag_make();
  bag.h = 1.0;
  bag.part = 1e9;
  bag.def.near_rest = 0.0;
  kp_bag_add_sheet(&bag, vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0), 20, 20, 1.0);
  kp_bag_add_sheet(&bag, vec(0.4, 0.4, 0.3), vec(0.2, 0, 0), vec(0, 0.2, 0), 1, 1, 1.0);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  assert_true(kp_contact_told(bag.contact)->n_colors > 800);
  kp_bag_free(&bag);
}

// ---- B

typedef struct sums {
  kp_vec3 momentum, angular;
  double energy;
} sums;

static sums total(kp_bag *bag) {
  sums s = { 0 };
  for (kp_index i = 0; i < kp_bag_nodes(bag); ++i) {
    double m = bag->mass.data[i];
    kp_vec3 v = kp_bag_velocity(bag, i);
    s.momentum = kp_vec3_madd(s.momentum, m, v);
    s.angular = kp_vec3_madd(s.angular, m, kp_vec3_cross(kp_bag_get(bag, bag->from, i), v));
    s.energy += 0.5 * m * kp_vec3_dot(v, v);
  }
  return s;
}

static void repulse(kp_bag *bag, kp_contact_law law) {
  assert_ok(kp_contact_measure(bag->contact, bag->from));
  assert_ok(kp_contact_repulse(bag->contact, law, bag->v, &bag->inverse_mass, NULL, 1e-3));
}

static void repulsion_conserves_momentum(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(2);
  kp_bag bag = make_stack(3, 9, 0.004);
  for (size_t i = 0; i < bag.mass.count; ++i) {
    bag.mass.data[i] = kp_test_uniform(&r, 0.001, 0.004);
  }
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  double shift = 0.0;
  for (int law = 0; law < 2; ++law) {
    for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
      kp_bag_set_velocity(&bag, i, kp_test_vec3(&r, -1.0, 1.0));
    }
    sums before = total(&bag);
    repulse(&bag, law == 0 ? KP_CONTACT_MOVING : KP_CONTACT_FINAL);
    sums after = total(&bag);
    // impulses along the line between the points: angular momentum too; friction acts across a
    // gap of 4 mm and turns the pair by that lever
    double lever = law == 0 ? 0.0 : 2e-3;
    shift = kp_test_most(shift, kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)));
    assert_vec3_near(after.angular, before.angular, lever + KP_TOL(2e-5, 1e-13));
    assert_true(after.energy != before.energy);
    if (law == 1) {
      assert_true(after.energy < before.energy);
    }
  }
  kp_claim claim = { .id = "selle-S56-momentum",
                     .text = "repulsion keeps momentum: change of the sum over all nodes, kg m/s",
                     .size = "three sheets of 9 x 9 cells 4 mm apart, random velocities",
                     .figure = shift,
                     .threshold = KP_TOL(2e-5, 1e-13) };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  kp_bag_free(&bag);
}

// One point over one triangle, by hand: weights 1/3, m_eff = 1 / (1/m4 + 3 (1/9) / m).
static kp_bag make_point_and_triangle(double gap, double m_triangle, double m_point) {
  kp_bag bag = kp_bag_make();
  kp_bag_add_sheet(&bag, vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0), 1, 1, m_triangle);
  // a small triangle whose first node is the point
  kp_bag_add_sheet(&bag, vec(2.0 / 3.0, 1.0 / 3.0, gap), vec(0.0, 0.1, 1.0), vec(0.1, 0.0, 1.0), 1,
                   1, m_point);
  bag.h = 0.01;
  return bag;
}

static void inelastic_impulses_stop_the_approach(void **state) {
  (void)state;
  kp_bag bag = make_point_and_triangle(0.005, 0.002, 0.001);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  assert_true(kp_contact_told(bag.contact)->n_faces >= 1);
  kp_bag_set_velocity(&bag, 4, vec(0.3, 0.0, -1.0));
  repulse(&bag, KP_CONTACT_FINAL);
  // j = m_eff, the point gets j / m4, the corners -j / (3 m)
  double m_eff = 1.0 / (1.0 / 0.001 + 1.0 / (3.0 * 0.002));
  kp_vec3 p = kp_bag_velocity(&bag, 4);
  double off = fabs(p.z - (-1.0 + m_eff / 0.001));
  for (kp_index i = 0; i < 4; ++i) {
    double wanted = i == 2 ? 0.0 : -m_eff / (3.0 * 0.002);
    off = kp_test_most(off, fabs(kp_bag_velocity(&bag, i).z - wanted));
  }
  // Coulomb: the slip of 0.3 m/s lost 0.4 of the change of 1 m/s, so all of it
  double slip = fabs(p.x - kp_bag_velocity(&bag, 0).x);
  kp_claim claim = { .id = "selle-S56",
                     .text = "the inelastic impulse of a pair stops its approach, with friction",
                     .size = "a point on a triangle, masses of 1 g and 2 g" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "error of the velocities along the normal, m/s", off, KP_AT_MOST, 1e-5 },
      { "slip left by friction, m/s", slip, KP_AT_MOST, 1e-5 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_bag_free(&bag);
}

static void the_elastic_push_recovers_a_tenth_of_the_overlap(void **state) {
  (void)state;
  kp_bag bag = make_point_and_triangle(0.004, 1e-6, 1e-6);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  repulse(&bag, KP_CONTACT_MOVING);
  double limited = kp_bag_velocity(&bag, 4).z - kp_bag_velocity(&bag, 0).z;
  kp_bag_free(&bag);
  // heavy nodes: the spring decides, j = dt k d
  bag = make_point_and_triangle(0.004, 10.0, 10.0);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  repulse(&bag, KP_CONTACT_MOVING);
  double sprung = kp_bag_velocity(&bag, 4).z;
  kp_bag_free(&bag);
  kp_claim claim = { .id = "selle-S56-elastic",
                     .text =
                         "the elastic impulse of a pair is that of a spring, limited to a tenth "
                         "of the overlap per step",
                     .size =
                         "a point 4 mm over a triangle, thickness 10 mm, nodes of 1 mg and 10 kg" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "error where the limit holds", fabs(limited / 0.6 - 1.0), KP_AT_MOST, 1e-4 },
      { "error where the spring does", fabs(sprung / 1.8e-5 - 1.0), KP_AT_MOST, 1e-4 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// A point that has passed through since A is pulled back with history, pushed on without (C28).
static void history_turns_repulsion_into_attraction(void **state) {
  (void)state;
  double speed[2];
  for (int history = 0; history < 2; ++history) {
    kp_bag bag = make_point_and_triangle(0.004, 1e-6, 1e-6);
    bag.def.history = history != 0;
    kp_bag_close(&bag, KP_BACKEND_CPU);
    kp_bag_find(&bag);
    kp_vec3 x = kp_bag_get(&bag, bag.from, 4);
    x.z = -0.003;
    kp_bag_set(&bag, bag.from, 4, x);
    repulse(&bag, KP_CONTACT_MOVING);
    speed[history] = kp_bag_velocity(&bag, 4).z;
    kp_bag_free(&bag);
  }
  kp_claim claim = { .id = "selle-S57",
                     .text = "a point that passed through is pulled back by the side it had",
                     .size = "a point 3 mm behind a triangle, thickness 10 mm" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "speed to its side, m/s", speed[1], KP_AT_LEAST, 0.1 },
                   { "the same without history, m/s", speed[0], KP_AT_MOST, -0.1 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

static void edges_that_crossed_are_pulled_back(void **state) {
  (void)state;
  kp_bag bag = kp_bag_make();
  bag.part = 1.0;
  kp_bag_add_hair(&bag, vec(-1, 0, 0), vec(1, 0, 0), 1, 1e-6);
  kp_bag_add_hair(&bag, vec(0, -1, 0.004), vec(0, 1, 0.004), 1, 1e-6);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_bag_find(&bag);
  assert_int_equal(kp_contact_told(bag.contact)->n_edges, 1);
  kp_bag_set(&bag, bag.from, 2, vec(0, -1, -0.004));
  kp_bag_set(&bag, bag.from, 3, vec(0, 1, -0.004));
  repulse(&bag, KP_CONTACT_MOVING);
  assert_true(kp_bag_velocity(&bag, 2).z > 0.1);
  // segments that stick are let through
  const kp_index stuck[1][2] = { { 0, 1 } };
  assert_ok(kp_contact_ignore(bag.contact, stuck, 1));
  kp_contact_clear(bag.contact);
  kp_bag_set(&bag, bag.from, 2, vec(0, -1, 0.004));
  kp_bag_set(&bag, bag.from, 3, vec(0, 1, 0.004));
  kp_bag_find(&bag);
  assert_int_equal(kp_contact_told(bag.contact)->n_edges, 0);
  kp_bag_free(&bag);
}

// ---- C

// Random sheets that do not intersect.
static kp_bag random_bag(kp_test_random *r, int n_sheets, int n) {
  kp_bag bag = kp_bag_make();
  bag.h = 0.02;
  for (int k = 0; k < n_sheets; ++k) {
    // stacked boxes of unit height, with sheets of any direction inside
    kp_vec3 a = kp_vec3_normalize(kp_test_vec3(r, -1.0, 1.0));
    kp_vec3 b = kp_test_vec3(r, -1.0, 1.0);
    b = kp_vec3_normalize(kp_vec3_madd(b, -kp_vec3_dot(a, b), a));
    kp_vec3 center = vec(0.0, 0.0, 0.9 * k);
    kp_vec3 corner = kp_vec3_madd(kp_vec3_madd(center, -0.3, a), -0.3, b);
    kp_bag_add_sheet(&bag, corner, kp_vec3_scale(a, 0.6), kp_vec3_scale(b, 0.6), n, n, 0.001);
  }
  return bag;
}

// A random motion: squeeze towards the middle, waves, and noise of each node.
static void shake(kp_test_random *r, kp_bag *bag, double squeeze, double wave, double noise) {
  kp_vec3 k = kp_test_vec3(r, -6.0, 6.0);
  kp_vec3 direction = kp_test_vec3(r, -1.0, 1.0);
  double phase = kp_test_uniform(r, 0.0, 6.0);
  for (kp_index i = 0; i < kp_bag_nodes(bag); ++i) {
    kp_vec3 x = kp_bag_get(bag, bag->from, i);
    kp_vec3 u = kp_test_vec3(r, -noise, noise);
    u = kp_vec3_madd(u, -squeeze, kp_vec3_sub(x, vec(0.0, 0.0, 1.0)));
    u = kp_vec3_madd(u, wave * sin(kp_vec3_dot(k, x) + phase), direction);
    if (bag->mass.data[i] > 0.0) {
      kp_bag_set(bag, bag->to, i, kp_vec3_add(x, u));
    }
  }
}

static void check_free(kp_bag *bag, const char *what, int seed) {
  int64_t met = kp_bag_intersections(bag, bag->to);
  int64_t hit = kp_bag_collisions(bag);
  if (met != 0 || hit != 0) {
    fail_msg("%s, case %d: %ld intersections, %ld collisions", what, seed, (long)met, (long)hit);
  }
}

static void fuzzed_motions_end_without_intersections(void **state) {
  (void)state;
  int64_t n_rounds = 0;
  int64_t n_collisions = 0;
  int64_t n_zones = 0;
  for (int seed = 0; seed < 12; ++seed) {
    kp_test_random r = kp_test_random_begin((uint64_t)seed);
    kp_bag bag = random_bag(&r, 3, 5);
    bag.def.attempts = seed % 3 == 0 ? bag.def.attempts : 4;  // with few of them there are zones
    kp_bag_close(&bag, KP_BACKEND_CPU);
    assert_int_equal(kp_bag_intersections(&bag, bag.from), 0);
    for (int step = 0; step < 6; ++step) {
      // from gentle to brutal: noise of several edges
      double noise = 0.02 * (double)(1 << (seed % 5));
      shake(&r, &bag, 0.4, 0.2, noise);
      kp_bag_resolve(&bag);
      check_free(&bag, "fuzzed motion", 100 * seed + step);
      kp_bag_accept(&bag);
    }
    const kp_contact_report *told = kp_contact_told(bag.contact);
    n_rounds += told->n_rounds;
    n_collisions += told->n_collisions;
    n_zones += told->n_zones;
    kp_bag_free(&bag);
  }
  print_message("%ld collisions, %ld rounds, %ld zones\n", (long)n_collisions, (long)n_rounds,
                (long)n_zones);
  assert_true(n_collisions > 1000 && n_zones > 10);
}

static void nothing_changes_without_collisions(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(5);
  kp_bag bag = random_bag(&r, 3, 5);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  shake(&r, &bag, 0.0, 0.0, 0.001);
  uint64_t before = kp_bag_hash(&bag);
  kp_bag_resolve(&bag);
  assert_int_equal(kp_bag_hash(&bag), before);
  assert_int_equal(kp_contact_told(bag.contact)->n_rounds, 1);
  kp_bag_free(&bag);
}

static uint64_t run_bag(kp_backend_kind backend, int n_threads) {
  kp_parallel_set_threads(n_threads);
  kp_test_random r = kp_test_random_begin(9);
  kp_bag bag = random_bag(&r, 4, 9);
  kp_bag_close(&bag, backend);
  for (int step = 0; step < 3; ++step) {
    kp_bag_find(&bag);
    shake(&r, &bag, 0.4, 0.2, 0.05);
    for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
      kp_bag_set_velocity(&bag, i, kp_test_vec3(&r, -1.0, 1.0));
    }
    repulse(&bag, KP_CONTACT_MOVING);
    repulse(&bag, KP_CONTACT_FINAL);
    kp_bag_resolve(&bag);
    kp_bag_accept(&bag);
  }
  uint64_t hash = kp_bag_hash(&bag);
  kp_bag_free(&bag);
  kp_parallel_set_threads(0);
  return hash;
}

static void bits_do_not_depend_on_threads_or_backend(void **state) {
  (void)state;
  uint64_t reference = run_bag(KP_BACKEND_CPU, 1);
  for (int n = 2; n <= 4; ++n) {
    assert_int_equal(run_bag(KP_BACKEND_CPU, n), reference);
  }
  assert_int_equal(run_bag(KP_BACKEND_MIRROR, 2), reference);
}

static void impulses_of_collisions_conserve_momentum(void **state) {
  (void)state;
  kp_bag bag = make_stack(2, 6, 0.1);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_vec3 before = vec(0, 0, 0);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    kp_vec3 u = i < 49 ? vec(0.0, 0.0, 0.15) : vec(0.01, 0.0, -0.05);
    kp_bag_set(&bag, bag.to, i, kp_vec3_add(bag.x.data[i], u));
    before = kp_vec3_add(before, u);
  }
  kp_bag_resolve(&bag);
  assert_true(kp_contact_told(bag.contact)->n_collisions > 10);
  kp_vec3 after = vec(0, 0, 0);
  kp_vec3 velocity = vec(0, 0, 0);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    after = kp_vec3_add(after, kp_vec3_sub(kp_bag_get(&bag, bag.to, i), bag.x.data[i]));
    velocity = kp_vec3_add(velocity, kp_bag_velocity(&bag, i));
  }
  assert_vec3_near(after, before, 1e-9);
  assert_vec3_near(velocity, vec(0, 0, 0), KP_TOL(1e-3, 1e-9));
  check_free(&bag, "two sheets", 0);
  kp_bag_free(&bag);
}

static void a_query_tells_of_any_collision(void **state) {
  (void)state;
  kp_bag bag = make_stack(2, 6, 0.1);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_contact_motion motion = {
    .from = bag.from,
    .x = bag.to,
    .v = bag.v,
    .inverse_mass = &bag.inverse_mass,
    .time = 1.0,
    .dt = 1.0,
  };
  bool any = true;
  assert_ok(kp_contact_any(bag.contact, &motion, &any));
  assert_false(any);
  kp_bag_set(&bag, bag.to, 20, vec(0.4, 0.3, 0.3));
  assert_ok(kp_contact_any(bag.contact, &motion, &any));
  assert_true(any);
  kp_bag_free(&bag);
}

// Nodes that are told to move go where they are told; cloth is carried along.
static void cloth_is_carried_by_what_moves_as_told(void **state) {
  (void)state;
  kp_bag bag = kp_bag_make();
  kp_bag_add_sheet(&bag, vec(-0.5, -0.5, 0), vec(1, 0, 0), vec(0, 1, 0), 8, 8, 0.001);
  kp_index plate = kp_bag_add_sheet(&bag, vec(-1, -1, -0.1), vec(2, 0, 0), vec(0, 2, 0), 1, 1, 0.0);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  for (int step = 0; step < 5; ++step) {
    for (kp_index i = plate; i < plate + 4; ++i) {
      kp_vec3 x = kp_bag_get(&bag, bag.from, i);
      kp_bag_set(&bag, bag.to, i, kp_vec3_add(x, vec(0.05, 0.0, 0.3)));
    }
    kp_bag_resolve(&bag);
    check_free(&bag, "carried sheet", step);
    kp_bag_accept(&bag);
  }
  assert_near(kp_bag_get(&bag, bag.to, plate).z, 1.4, 1e-12);
  assert_int_equal(kp_contact_told(bag.contact)->n_late, 0);
  for (kp_index i = 0; i < plate; ++i) {
    assert_true(kp_bag_get(&bag, bag.to, i).z > 1.4);
  }
  kp_bag_free(&bag);
}

// Two plates that are told to pass through each other with cloth between them: they wait where they
// have it between them, and go on when they can. No plate or cloth passes through cloth.
static void what_pinches_cloth_waits(void **state) {
  (void)state;
  kp_bag bag = kp_bag_make();
  bag.def.attempts = 4;
  kp_bag_add_sheet(&bag, vec(-0.5, -0.5, 0), vec(1, 0, 0), vec(0, 1, 0), 4, 4, 0.001);
  kp_bag_add_sheet(&bag, vec(-0.5, -0.5, 0.05), vec(1, 0, 0), vec(0, 1, 0), 4, 4, 0.001);
  kp_index low =
      kp_bag_add_sheet(&bag, vec(-0.2, -0.2, -0.2), vec(0.4, 0, 0.03), vec(0, 0.4, 0), 2, 2, 0.0);
  kp_index high =
      kp_bag_add_sheet(&bag, vec(-0.22, -0.23, 0.3), vec(0.4, 0, 0), vec(0, 0.4, 0.02), 2, 2, 0.0);
  kp_index n = kp_bag_nodes(&bag);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  KP_ARRAY(kp_vec3) start = { 0 };
  for (kp_index i = 0; i < n; ++i) {
    assert_ok(kp_array_push(&start, kp_bag_get(&bag, bag.from, i)));
  }
  int64_t late = 0;
  for (int step = 0; step < 12; ++step) {
    double way = 0.08 * (step < 6 ? step + 1 : 11 - step);
    for (kp_index i = low; i < n; ++i) {
      double z = start.data[i].z + (i >= high ? -way : way);
      kp_bag_set(&bag, bag.to, i, vec(start.data[i].x, start.data[i].y, z));
    }
    kp_contact_clear(bag.contact);
    kp_bag_resolve(&bag);
    late = kp_contact_told(bag.contact)->n_late;
    if (step == 5) {
      assert_true(late > 0);
    }
    check_free(&bag, "pinched", step);
    kp_bag_accept(&bag);
  }
  assert_int_equal(late, 0);
  for (kp_index i = low; i < n; ++i) {
    assert_near(kp_bag_get(&bag, bag.to, i).z, start.data[i].z, 0.0);
  }
  kp_array_free(&start);
  kp_bag_free(&bag);
}

// Hair forms no zones and may be left; cloth beside it is still free of intersections.
static void hair_meets_by_edges_and_may_be_left(void **state) {
  (void)state;
  kp_bag bag = kp_bag_make();
  kp_bag_add_sheet(&bag, vec(-0.5, -0.5, 0), vec(1, 0, 0), vec(0, 1, 0), 6, 6, 0.001);
  kp_index a = kp_bag_add_hair(&bag, vec(-1, 0.01, 1), vec(1, 0.013, 1), 8, 1e-4);
  kp_index b = kp_bag_add_hair(&bag, vec(0.02, -1, 1.1), vec(0.017, 1, 1.1), 8, 1e-4);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  for (kp_index i = a; i < kp_bag_nodes(&bag); ++i) {
    kp_vec3 u = vec(0.0, 0.0, i < b ? 0.2 : -0.2);
    kp_bag_set(&bag, bag.to, i, kp_vec3_add(bag.x.data[i], u));
  }
  kp_bag_resolve(&bag);
  assert_true(kp_contact_told(bag.contact)->n_collisions >= 1);
  assert_int_equal(kp_contact_told(bag.contact)->n_zones, 0);
  // the second hair was above, and still is where they cross
  assert_true(kp_bag_get(&bag, bag.to, b + 4).z > kp_bag_get(&bag, bag.to, a + 4).z);
  kp_bag_free(&bag);
}

// ---- impact zones (C29)

// Inertia and angular momentum of unit masses about the origin.
static kp_mat3 zone_inertia(const kp_vec3 *x, const kp_vec3 *v, int n, kp_vec3 *momentum) {
  kp_mat3 inertia = { { { 0 } } };
  *momentum = vec(0, 0, 0);
  for (int i = 0; i < n; ++i) {
    const double d[3] = { x[i].x, x[i].y, x[i].z };
    *momentum = kp_vec3_add(*momentum, kp_vec3_cross(x[i], v[i]));
    for (int k = 0; k < 9; ++k) {
      inertia.m[k / 3][k % 3] +=
          (k / 3 == k % 3 ? kp_vec3_dot(x[i], x[i]) : 0.0) - d[k / 3] * d[k % 3];
    }
  }
  return inertia;
}

// x = a^-1 b by cofactors, as a plain 3 x 3 inverse has it.
static kp_vec3 plain_solve(const kp_mat3 *a, kp_vec3 b) {
  kp_vec3 r[3];
  for (int k = 0; k < 3; ++k) {
    r[k] = vec(a->m[k][0], a->m[k][1], a->m[k][2]);
  }
  double det = kp_vec3_dot(r[0], kp_vec3_cross(r[1], r[2]));
  kp_vec3 x = kp_vec3_scale(kp_vec3_cross(r[1], r[2]), b.x);
  x = kp_vec3_madd(x, b.y, kp_vec3_cross(r[2], r[0]));
  x = kp_vec3_madd(x, b.z, kp_vec3_cross(r[0], r[1]));
  return vec(x.x / det, x.y / det, x.z / det);
}

// Whether a turn moves the nodes of a zone as they did, whatever part of it is lost.
static bool turns_like(kp_vec3 turn, const kp_vec3 *x, const kp_vec3 *v, int n) {
  double most = 0.0;
  for (int i = 0; i < n; ++i) {
    kp_vec3 off = kp_vec3_sub(kp_vec3_cross(turn, x[i]), v[i]);
    most = kp_test_most(most, isfinite(off.x + off.y + off.z) ? kp_vec3_length(off) : HUGE_VAL);
  }
  return most < 1e-9;
}

static void the_pseudo_inverse_serves_flat_zones(void **state) {
  (void)state;
  kp_test_random r = kp_test_random_begin(11);
  int64_t n_lost[4] = { 0 }, n_lost_plain[4] = { 0 };
  for (int n = 0; n < 1000; ++n) {
    kp_vec3 w = kp_test_vec3(&r, -1.0, 1.0);
    kp_vec3 a = kp_test_vec3(&r, -1.0, 1.0);
    kp_vec3 b = kp_test_vec3(&r, -1.0, 1.0);
    int kind = n % 4;  // coincident, on a line, in a plane, in space
    kp_vec3 x[6];
    kp_vec3 v[6];
    kp_vec3 mean = vec(0, 0, 0);
    for (int i = 0; i < 6; ++i) {
      x[i] = kind == 3 ? kp_test_vec3(&r, -1.0, 1.0)
                       : kp_vec3_scale(a, kind >= 1 ? kp_test_uniform(&r, -1.0, 1.0) : 0.0);
      x[i] = kp_vec3_madd(x[i], kind == 2 ? kp_test_uniform(&r, -1.0, 1.0) : 0.0, b);
      mean = kp_vec3_madd(mean, 1.0 / 6.0, x[i]);
    }
    for (int i = 0; i < 6; ++i) {
      x[i] = kp_vec3_sub(x[i], mean);
      v[i] = kp_vec3_cross(w, x[i]);
    }
    kp_vec3 momentum;
    kp_mat3 inertia = zone_inertia(x, v, 6, &momentum);
    n_lost[kind] += !turns_like(kp_symmetric3_solve(&inertia, momentum, 1e-10), x, v, 6);
    n_lost_plain[kind] += !turns_like(plain_solve(&inertia, momentum), x, v, 6);
  }
  print_message("zones the plain inverse loses, of 250 in one place, on a line, in a plane, in "
                "space: %d, %d, %d, %d\n",
                (int)n_lost_plain[0], (int)n_lost_plain[1], (int)n_lost_plain[2],
                (int)n_lost_plain[3]);
  int64_t lost = n_lost[0] + n_lost[1] + n_lost[2] + n_lost[3];
  kp_claim claim = { .id = "selle-C29",
                     .text =
                         "the pseudo-inverse serves zones of nodes in a plane, on a line and in "
                         "one place; the plain inverse does not",
                     .size = "1000 random zones of six nodes" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "zones it loses", (double)lost, KP_AT_MOST, 0 },
      { "zones in one place that the plain inverse loses, of 250", (double)n_lost_plain[0],
        KP_AT_LEAST, 250 },
      { "zones on a line that it loses, of 250", (double)n_lost_plain[1], KP_AT_LEAST, 250 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// Two nodes on an axis that move across it: the plain inverse has no answer, nor for nodes in one
// place.
static void the_plain_inverse_does_not(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; ++kind) {
    double half = kind == 0 ? 0.5 : 0.0;
    const kp_vec3 x[2] = { { -half, 0, 0 }, { half, 0, 0 } };
    const kp_vec3 v[2] = { { 0, -1, 0 }, { 0, 1, 0 } };
    kp_vec3 momentum;
    kp_mat3 inertia = zone_inertia(x, v, 2, &momentum);
    kp_vec3 plain = plain_solve(&inertia, momentum);
    kp_vec3 turn = kp_symmetric3_solve(&inertia, momentum, 1e-10);
    assert_false(isfinite(plain.x) && isfinite(plain.y) && isfinite(plain.z));
    assert_vec3_near(turn, vec(0.0, 0.0, kind == 0 ? 2.0 : 0.0), 1e-12);
  }
}

static void zones_of_touching_and_flat_nodes_move_on(void **state) {
  (void)state;
  // a stack pressed together in one step, all nodes over each other: zones of flat pieces
  kp_bag bag = kp_bag_make();
  for (int k = 0; k < 4; ++k) {
    kp_bag_add_sheet(&bag, vec(0, 0, 0.1 * k), vec(1, 0, 0), vec(0, 1, 0), 4, 4, 0.001);
  }
  bag.def.attempts = 0;
  kp_bag_close(&bag, KP_BACKEND_CPU);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    kp_vec3 x = bag.x.data[i];
    kp_bag_set(&bag, bag.to, i, vec(x.x, x.y, 0.4 - x.z));
  }
  kp_bag_resolve(&bag);
  check_free(&bag, "pressed stack", 0);
  assert_true(kp_contact_told(bag.contact)->n_zones >= 1);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    assert_true(isfinite(kp_bag_get(&bag, bag.to, i).z));
  }
  kp_bag_free(&bag);
}

// A zone that turns keeps momentum and angular momentum to first order.
static void zones_keep_momentum(void **state) {
  (void)state;
  kp_bag bag = make_stack(2, 3, 0.01);
  bag.def.attempts = 0;
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_vec3 before = vec(0, 0, 0);
  kp_vec3 spin = vec(0, 0, 0);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    kp_vec3 x = bag.x.data[i];
    kp_vec3 u = i < 16 ? vec(0.0, 0.001 * x.x, 0.02) : vec(0.0, 0.002 * x.x, -0.02);
    kp_bag_set(&bag, bag.to, i, kp_vec3_add(x, u));
    before = kp_vec3_add(before, u);
    spin = kp_vec3_add(spin, kp_vec3_cross(x, u));
  }
  kp_bag_resolve(&bag);
  kp_vec3 after = vec(0, 0, 0);
  kp_vec3 spin_after = vec(0, 0, 0);
  for (kp_index i = 0; i < kp_bag_nodes(&bag); ++i) {
    kp_vec3 u = kp_vec3_sub(kp_bag_get(&bag, bag.to, i), bag.x.data[i]);
    after = kp_vec3_add(after, u);
    spin_after = kp_vec3_add(spin_after, kp_vec3_cross(bag.x.data[i], u));
  }
  assert_vec3_near(after, before, 1e-9);
  assert_vec3_near(spin_after, spin, 1e-3);
  check_free(&bag, "two sheets in a zone", 0);
  kp_bag_free(&bag);
}

// ---- nearest points of edges --------------------------------------------------------------------

static double distance_at(kp_vec3 d1, kp_vec3 d2, kp_vec3 r, double s, double t) {
  return kp_vec3_length(kp_vec3_madd(kp_vec3_madd(r, s, d1), -t, d2));
}

// Over many places of the first edge, the nearest of the second.
static double nearest_of_all(kp_vec3 d1, kp_vec3 d2, kp_vec3 r) {
  double least = HUGE_VAL;
  for (int k = 0; k <= 1000; ++k) {
    double s = k / 1000.0;
    double t = kp_vec3_dot(kp_vec3_madd(r, s, d1), d2) / kp_vec3_dot(d2, d2);
    least = kp_test_least(least, distance_at(d1, d2, r, s, fmin(1.0, fmax(0.0, t))));
  }
  return least;
}

// Points that are as near as any, and that rounding does not move: a card fuses products, and
// another order of the same sums may not push cloth elsewhere. Edges from parallel to crossing.
static void nearest_points_do_not_depend_on_rounding(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(31);
  double farthest = 0.0, moved = 0.0;
  for (int k = 0; k < 3000; ++k) {
    kp_vec3 d1 = kp_vec3_normalize(kp_test_vec3(&random, -1.0, 1.0));
    kp_vec3 off = kp_vec3_cross(d1, kp_test_vec3(&random, -1.0, 1.0));
    double sine = k % 10 == 0 ? 0.0 : pow(10.0, kp_test_uniform(&random, -4.0, 0.0));
    kp_vec3 d2 = kp_vec3_scale(kp_vec3_madd(d1, sine, off), kp_test_uniform(&random, -2.0, 2.0));
    kp_vec3 r = kp_vec3_scale(kp_test_vec3(&random, -1.0, 1.0), 0.1);  // thickness
    r = kp_vec3_madd(r, kp_test_uniform(&random, -1.5, 1.5), d1);
    if (kp_vec3_length(d2) < 0.1) {
      continue;
    }
    double s, t, s2, t2;
    contact_closest(d1, d2, r, &s, &t);
    double over = distance_at(d1, d2, r, s, t) - nearest_of_all(d1, d2, r);
    farthest = kp_test_most(farthest, over);
    // the same edges with other last bits
    double eps = 2e-16;
    kp_vec3 e1 = kp_vec3_madd(d1, eps, kp_test_vec3(&random, -1.0, 1.0));
    kp_vec3 e2 = kp_vec3_madd(d2, eps * kp_vec3_length(d2), kp_test_vec3(&random, -1.0, 1.0));
    contact_closest(e1, e2, r, &s2, &t2);
    moved = kp_test_most(moved, kp_test_most(fabs(s2 - s), fabs(t2 - t)));
  }
  print_message("at most %.2g of an edge too far, moved by at most %.2g\n", farthest, moved);
  // half of an edge times (1 - share) of the sine: most where a ninth of the blend is done
  assert_true(farthest < 0.0105);
  assert_true(moved < 1e-12);
}

// Edges that all but meet: the vector between them is rounding, and the push must not follow it. A
// little further apart it does, and from the blur on nothing but it.
static void directions_do_not_depend_on_rounding(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(37);
  const kp_real blur = (kp_real)0.005, noise = (kp_real)1e-7;
  double turned = 0.0;
  for (int k = 0; k < 3000; ++k) {
    kp_vec3 side = kp_vec3_normalize(kp_test_vec3(&random, -1.0, 1.0));
    kp_vec3 to = kp_vec3_normalize(kp_test_vec3(&random, -1.0, 1.0));
    // as far as a vector may be from its side before it is turned round
    if (kp_vec3_dot(side, to) < -0.3) {
      to = kp_vec3_scale(to, -1.0);
    }
    double gap = k % 10 == 0 ? 0.0 : 0.005 * kp_test_uniform(&random, 0.0, 2.0);
    contact_vec s = { (kp_real)side.x, (kp_real)side.y, (kp_real)side.z };
    contact_vec n = { (kp_real)(gap * to.x), (kp_real)(gap * to.y), (kp_real)(gap * to.z) };
    contact_vec m = { n.x + noise, n.y - noise, n.z + noise };
    contact_vec a = contact_across(n, kp_root(contact_dot(n, n)), s, blur);
    contact_vec b = contact_across(m, kp_root(contact_dot(m, m)), s, blur);
    turned = kp_test_most(turned, fabs((double)(a.x - b.x)));
    turned =
        kp_test_most(turned, kp_test_most(fabs((double)(a.y - b.y)), fabs((double)(a.z - b.z))));
    assert_near((double)contact_dot(a, a), 1.0, 1e-5);
    kp_vec3 wanted = gap == 0.0 ? side : to;
    if (gap == 0.0 || gap > (double)blur) {
      assert_near((double)a.x, wanted.x, 1e-5);
      assert_near((double)a.y, wanted.y, 1e-5);
      assert_near((double)a.z, wanted.z, 1e-5);
    }
  }
  print_message("turned by at most %.2g\n", turned);
  assert_true(turned < 1.5e-4);
}

// Memory that runs out is an error, not a crash, and nothing leaks.
static void failing_memory_is_told(void **state) {
  (void)state;
  kp_bag bag = make_stack(2, 4, 0.004);
  kp_bag_close(&bag, KP_BACKEND_CPU);
  kp_memory_fail_at(0);
  kp_result result = kp_contact_find(bag.contact, bag.from, &bag.inverse_mass);
  kp_memory_fail_at(-1);
  assert_int_equal((int)result, (int)KP_ERROR_MEMORY);
  assert_ok(kp_contact_find(bag.contact, bag.from, &bag.inverse_mass));
  assert_true(kp_contact_told(bag.contact)->n_faces > 10);
  kp_bag_free(&bag);
}

int main(void) {
  const struct CMUnitTest list[] = {
    cmocka_unit_test(near_pairs_are_those_of_all_pairs),
    cmocka_unit_test(colours_are_valid),
    cmocka_unit_test(a_node_may_be_in_any_number_of_pairs),
    cmocka_unit_test(repulsion_conserves_momentum),
    cmocka_unit_test(inelastic_impulses_stop_the_approach),
    cmocka_unit_test(the_elastic_push_recovers_a_tenth_of_the_overlap),
    cmocka_unit_test(history_turns_repulsion_into_attraction),
    cmocka_unit_test(edges_that_crossed_are_pulled_back),
    cmocka_unit_test(nothing_changes_without_collisions),
    cmocka_unit_test(fuzzed_motions_end_without_intersections),
    cmocka_unit_test(bits_do_not_depend_on_threads_or_backend),
    cmocka_unit_test(impulses_of_collisions_conserve_momentum),
    cmocka_unit_test(a_query_tells_of_any_collision),
    cmocka_unit_test(cloth_is_carried_by_what_moves_as_told),
    cmocka_unit_test(what_pinches_cloth_waits),
    cmocka_unit_test(hair_meets_by_edges_and_may_be_left),
    cmocka_unit_test(the_pseudo_inverse_serves_flat_zones),
    cmocka_unit_test(the_plain_inverse_does_not),
    cmocka_unit_test(zones_of_touching_and_flat_nodes_move_on),
    cmocka_unit_test(zones_keep_momentum),
    cmocka_unit_test(nearest_points_do_not_depend_on_rounding),
    cmocka_unit_test(directions_do_not_depend_on_rounding),
    cmocka_unit_test(failing_memory_is_told),
  };
  return cmocka_run_group_tests(list, NULL, NULL);
}
