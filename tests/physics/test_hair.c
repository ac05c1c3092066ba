// Hair: how hairs are put together, roots that follow a head, no stretching, sticking, bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kelpie/scene.h"
#include "methods/deform/deform.h"

#include "support/claims.h"
#include "support/deform.h"
#include "support/hairs.h"

#define TURN 6.283185307179586
#define SHAKE_STEPS 500  // of 1 ms

// ---- how a hair is put together -----------------------------------------------------------------

static int count_kind(const kp_part *part, kp_spring_kind kind) {
  int n = 0;
  for (size_t s = 0; s < part->springs.count; ++s) {
    n += part->springs.data[s].kind == kind;
  }
  return n;
}

static bool has_spring(const kp_part *part, kp_spring_kind kind, kp_index a, kp_index b) {
  for (size_t s = 0; s < part->springs.count; ++s) {
    const kp_spring *e = &part->springs.data[s];
    if (e->kind == kind && ((e->a == a && e->b == b) || (e->a == b && e->b == a))) {
      return true;
    }
  }
  return false;
}

static bool has_tet(const kp_part *part, kp_index a, kp_index b, kp_index c, kp_index d) {
  kp_index wanted[4] = { a, b, c, d };
  for (size_t t = 0; t < part->tets.count; ++t) {
    int found = 0;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        found += part->tets.data[t].v[i] == wanted[j];
      }
    }
    if (found == 4) {
      return true;
    }
  }
  return false;
}

static double volume(const kp_part *part, const kp_tet *t) {
  kp_vec3 a = part->x.data[t->v[0]];
  kp_vec3 u = kp_vec3_sub(part->x.data[t->v[1]], a);
  kp_vec3 v = kp_vec3_sub(part->x.data[t->v[2]], a);
  kp_vec3 w = kp_vec3_sub(part->x.data[t->v[3]], a);
  return kp_vec3_dot(u, kp_vec3_cross(v, w));
}

// A straight hair is the zig-zag chain x0 e0 x1 e1 ...: springs over one, two and three nodes, a
// tetrahedron of every four consecutive ones.
static void straight_hair_is_a_zigzag(void **state) {
  (void)state;
  enum { S = 6 };
  kp_hair_def def = kp_test_hair();
  def.segments = S;
  kp_part part = { 0 };
  kp_vec3 line[2] = { { 0, 0, 0 }, { 0.06, 0.03, 0 } };
  assert_ok(kp_hair_add(&def, &part, line, 2, 0.4));
  assert_int_equal(part.x.count, 2 * S + 1);
  assert_int_equal(count_kind(&part, KP_SPRING_EDGE), 3 * S);
  assert_int_equal(count_kind(&part, KP_SPRING_BEND), S - 1);
  assert_int_equal(count_kind(&part, KP_SPRING_TORSION), 2 * (S - 1));
  assert_int_equal(part.tets.count, 2 * (S - 1));
  for (kp_index i = 0; i + 1 < 2 * S + 1; ++i) {
    assert_true(has_spring(&part, KP_SPRING_EDGE, i, i + 1));
    // of nodes two apart: the main segment, or a bending spring between extra nodes
    if (i + 2 < 2 * S + 1) {
      assert_true(has_spring(&part, i % 2 == 0 ? KP_SPRING_EDGE : KP_SPRING_BEND, i, i + 2));
    }
    if (i + 3 < 2 * S + 1) {
      assert_true(has_spring(&part, KP_SPRING_TORSION, i, i + 3));
      assert_true(has_tet(&part, i, i + 1, i + 2, i + 3));
    }
  }
  double mass = 0.0, length = hypot(0.06, 0.03);
  for (size_t i = 0; i < part.x.count; ++i) {
    mass += part.mass.data[i];
  }
  assert_near(mass, def.density * length, 1e-18);
  for (size_t t = 0; t < part.tets.count; ++t) {
    assert_true(volume(&part, &part.tets.data[t]) > 0.0);
  }
  // extra nodes hang from the end of their segment that is nearer to the root; three nodes are led
  assert_int_equal(part.parent.data[3], 2);
  assert_int_equal(part.parent.data[4], 2);
  assert_int_equal(part.parent.data[5], 4);
  assert_int_equal(part.roots.count, 3);
  assert_int_equal(part.parent.data[2], -1);
  assert_int_equal(part.extras.count, S);
  assert_int_equal(part.segments.count, 2 * S);
  assert_int_equal(part.curve.count, S + 1);
  kp_part_free(&part);
}

// A right-handed staircase: no two neighbours are in line, so every node is a main one.
static void curly_hair_is_a_plain_chain(void **state) {
  (void)state;
  kp_hair_def def = kp_test_hair();
  def.segments = 5;
  kp_part part = { 0 };
  kp_vec3 x[6] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 1, 1, 1 }, { 2, 1, 1 }, { 2, 2, 1 } };
  assert_ok(kp_hair_add(&def, &part, x, 6, 0.0));
  assert_int_equal(part.x.count, 6);
  for (kp_index i = 0; i + 1 < 6; ++i) {
    assert_true(has_spring(&part, KP_SPRING_EDGE, i, i + 1));
    assert_true(i + 2 >= 6 || has_spring(&part, KP_SPRING_BEND, i, i + 2));
    assert_true(i + 3 >= 6 || has_spring(&part, KP_SPRING_TORSION, i, i + 3));
    assert_true(i + 3 >= 6 || has_tet(&part, i, i + 1, i + 2, i + 3));
  }
  assert_int_equal(part.springs.count, 5 + 4 + 3);
  assert_int_equal(part.tets.count, 3);
  kp_part_free(&part);
}

// Plain, plain, plain, straight, straight, plain: the rules where the kind changes.
static void mixed_hair_joins_both_kinds(void **state) {
  (void)state;
  kp_hair_def def = kp_test_hair();
  def.segments = 6;
  kp_part part = { 0 };
  kp_vec3 x[7] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 1, 1, 1 },
                   { 2, 1, 1 }, { 3, 1, 1 }, { 3, 2, 1 } };
  assert_ok(kp_hair_add(&def, &part, x, 7, 0.3));
  // nodes: x0 x1 x2 x3 e3 x4 e4 x5 x6
  assert_int_equal(part.x.count, 9);
  enum { X0, X1, X2, X3, E3, X4, E4, X5, X6 };
  // plain before, straight now: bending over the main nodes, torsion to the extra one
  assert_true(has_spring(&part, KP_SPRING_BEND, X2, X4));
  assert_true(has_spring(&part, KP_SPRING_TORSION, X2, E3));
  assert_true(has_tet(&part, X2, X3, E3, X4));
  assert_true(has_spring(&part, KP_SPRING_TORSION, X1, X4));
  assert_true(has_tet(&part, X1, X2, X3, X4));
  // straight, straight
  assert_true(has_spring(&part, KP_SPRING_BEND, E3, E4));
  assert_true(has_spring(&part, KP_SPRING_TORSION, X3, E4));
  assert_true(has_spring(&part, KP_SPRING_TORSION, E3, X5));
  // straight before, plain now
  assert_true(has_spring(&part, KP_SPRING_BEND, X4, X6));
  assert_true(has_spring(&part, KP_SPRING_TORSION, E4, X6));
  assert_true(has_tet(&part, X4, E4, X5, X6));
  assert_false(has_spring(&part, KP_SPRING_TORSION, X3, X6));
  kp_part_free(&part);
}

// Counts of table 7.2 (M16.5) per hair: 10 000 x 25 straight are 500 k, 5 000 x 50 curly 250 k.
static void counts_are_those_of_the_table(void **state) {
  (void)state;
  kp_env env = { 0 };
  kp_hair_def def = kp_test_hair();
  def.count = 40;
  def.segments = 25;
  kp_part part = { 0 };
  assert_ok(kp_hair_make(&def, &env, &part));
  assert_int_equal(part.x.count, 40 * 51);
  assert_int_equal(part.hairs.count, 41);
  kp_part_free(&part);
  part = (kp_part){ 0 };
  def.segments = 50;
  def.length = 0.3;
  def.curl_radius = 0.005;
  def.curl_pitch = 0.01;
  assert_ok(kp_hair_make(&def, &env, &part));
  assert_between(part.x.count, 40 * 51, 40 * 54);
  kp_part_free(&part);
}

// ---- roots --------------------------------------------------------------------------------------

static kp_collider_def head_def(void) {
  kp_collider_def def = kp_default_collider_def();
  snprintf(def.name, sizeof def.name, "head");
  def.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
  return def;
}

static kp_hair_def head_hair(int64_t count, int64_t segments) {
  kp_hair_def def = kp_test_hair();
  snprintf(def.on, sizeof def.on, "head");
  def.count = count;
  def.segments = segments;
  def.length = 0.15;
  return def;
}

// The head goes and turns; every led node stays where it is on it.
static void roots_follow_the_head(void **state) {
  (void)state;
  kp_test_settings s = kp_test_hair_space(true);
  kp_world *world = kp_test_world(&s);
  static const double path[] = { 0, 0, 0, 0.2, 0.1, 0, 0.1, 0.3, -0.2, 0, 0, 0 };
  static const double turns[] = { 0, 0, 0, 40, 90, 0, 0, 200, 30, 90, 300, 0 };
  kp_collider_def head = head_def();
  head.position = (kp_curve){ .components = 3, .n = 4, .interval = 0.1, .samples = path };
  head.rotation_deg = (kp_curve){ .components = 3, .n = 4, .interval = 0.1, .samples = turns };
  kp_hair_def hair = head_hair(30, 6);
  assert_ok(kp_world_add_collider(world, &head));
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  const kp_hair_place *place = &d->hair.places.data[0];
  assert_int_equal(place->n_roots, 90);
  double worst = 0.0, farthest = 0.0;
  kp_vec3 *before = kp_alloc((size_t)place->n_roots * sizeof *before, KP_MEMORY_TEST);
  while (world->env.time < 0.25) {
    bool is_first = world->env.time == 0.0;
    kp_test_steps(world, 1);
    kp_frame3 f =
        kp_body_scripted_frame(&world->env.bodies->models.data[place->model.body], world->env.time);
    const int32_t *list = kp_buffer_host(&d->hair.root_list, KP_ACCESS_READ);
    for (int64_t r = 0; r < place->n_roots; ++r) {
      double p[3], x[3];
      for (int c = 0; c < 3; ++c) {
        const double *local = kp_buffer_host(&d->hair.local[c], KP_ACCESS_READ);
        const kp_pos *at = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
        p[c] = local[r];
        x[c] = at[list[r]];
      }
      kp_vec3 there =
          kp_vec3_add(f.position, kp_quat_rotate(f.orientation, kp_vec3_make(p[0], p[1], p[2])));
      kp_vec3 now = kp_vec3_make(x[0], x[1], x[2]);
      worst = kp_test_most(worst, kp_vec3_length(kp_vec3_sub(there, now)));
      double way = kp_vec3_length(kp_vec3_sub(now, before[r])) / (double)d->inner_steps;
      farthest = is_first ? 0.0 : fmax(farthest, way);
      before[r] = now;
    }
  }
  kp_free(before);
  kp_claim claim = { .id = "selle-S68",
                     .text = "roots are where a head that goes and turns takes them",
                     .size = "30 hairs, 0.25 s: largest distance in m",
                     .figure = worst,
                     .threshold = KP_TOL(1e-8, 1e-14) };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  claim = (kp_claim){ .id = "selle-S76-roots",
                      .text = "no root goes farther than a centimetre in a step: the farthest, m",
                      .size = "30 hairs on a head that goes and turns, 0.25 s",
                      .figure = farthest,
                      .threshold = 0.01 * (1.0 + 1e-6) };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// Shoulders under the head: hair that started in them would be thrown out by the first step.
static void hair_grows_around_other_solids(void **state) {
  (void)state;
  kp_test_settings s = kp_test_hair_space(true);
  s.simulation.dt_max = 1.0 / 60.0;
  kp_world *world = kp_test_world(&s);
  kp_collider_def head = head_def(), shoulders = kp_default_collider_def();
  snprintf(shoulders.name, sizeof shoulders.name, "shoulders");
  kp_vec3 middle = kp_vec3_make(0.03, -0.25, 0.02);
  double radius = 0.09;
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 6e-4;
  solids.inner = 8;
  assert_ok(kp_world_set_solids(world, &solids));
  shoulders.shape = kp_test_ball(middle, radius);
  kp_hair_def hair = head_hair(60, 12);
  hair.length = 0.35;
  hair.fall = kp_vec3_make(0, -1, 0);
  hair.droop = 0.03;
  assert_ok(kp_world_add_collider(world, &head));
  assert_ok(kp_world_add_collider(world, &shoulders));
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  double nearest = HUGE_VAL;
  for (size_t k = 0; k < 2 * (size_t)d->n_segments; ++k) {
    kp_index i = d->segments.data[k];
    kp_vec3 p = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
    nearest = kp_test_least(nearest, kp_vec3_length(kp_vec3_sub(p, middle)) - radius);
  }
  while (world->env.time < 0.05) {
    kp_test_steps(world, 1);
  }
  double speed = kp_test_stats(world, "hair").max_speed;
  print_message("%.3g m off the shoulders, %.3g m/s after 0.05 s\n", nearest, speed);
  assert_between(nearest, 0.5 * hair.lift, 0.05);
  // not more than twice what falls freely
  assert_true(speed < 2.0 * 9.81 * 0.05);
  kp_world_destroy(&world);
}

// ---- no stretching ------------------------------------------------------------------------------

static void add_shaking_head(kp_world *world) {
  enum { N = 601 };
  static double path[3 * N];
  for (int i = 0; i < N; ++i) {
    path[3 * i] = 0.1 * sin(TURN * 3.0 * (double)i / 600.0);
  }
  kp_collider_def head = head_def();
  head.position = (kp_curve){ .components = 3, .n = N, .interval = 1.0 / 600.0, .samples = path };
  assert_ok(kp_world_add_collider(world, &head));
}

// Largest strain of the limited segments over one and a half shakes.
static double strain_of_shake(int limit, double edge, int64_t count, int64_t segments) {
  kp_test_settings s = kp_test_hair_space(true);
  kp_world *world = kp_test_world(&s);
  add_shaking_head(world);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  solids.inner = 1;
  solids.bodies = false;  // contact comes after the limit, and stretches
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = head_hair(count, segments);
  hair.length = 0.3;
  hair.limit = limit;
  hair.edge_stiffness = edge;
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  double worst = 0.0;
  for (int k = 0; k < SHAKE_STEPS; ++k) {
    kp_test_steps(world, 1);
    double strain;
    assert_ok(kp_hair_strain(d, 0, &strain));
    worst = kp_test_most(worst, strain);
  }
  kp_world_destroy(&world);
  return worst;
}

// C32. Springs that are not limited stretch by more than half where they are as soft as a solve can
// leave them: those of the default hold.
static void shaken_hair_does_not_stretch(void **state) {
  (void)state;
  double soft = 5e-5, usual = kp_test_hair().edge_stiffness;
  double limited = strain_of_shake(KP_HAIR_LIMIT_BIASED, soft, 20, 15);
  limited = kp_test_most(limited, strain_of_shake(KP_HAIR_LIMIT_BIASED, usual, 20, 15));
  double loose = strain_of_shake(KP_HAIR_LIMIT_NONE, soft, 20, 15);
  double stiff = strain_of_shake(KP_HAIR_LIMIT_NONE, usual, 20, 15);
  print_message("strain: limited %.3g, none %.3g, none with usual edges %.3g\n", limited, loose,
                stiff);
  char size[160];
  snprintf(size, sizeof size,
           "head shake at 3 Hz and 10 cm for 0.5 s, 20 hairs of 15 segments, 0.3 m, no contact, "
           "edges of 5e-5 N and %g N",
           usual);
  kp_claim claim = { .id = "selle-C32",
                     .text =
                         "segments of shaken hair are limited from root to tip, without a limit "
                         "they stretch",
                     .size = size };
  kp_claim_all(&claim, { "largest strain after the move", limited, KP_AT_MOST, 1e-6 },
               { "largest strain without a limit, edges of 5e-5 N", loose, KP_MORE, 0.5 },
               { "largest strain without a limit, usual edges", stiff, KP_MORE, 0.5 });
  assert_true(limited <= 1e-6);
  assert_true(loose > 0.5);
}

// What a limit does to the velocities that move free hair: 10 hairs whose nodes fly apart.
typedef struct limited_motion {
  double shift;          // of the momentum, of the sum of those of all nodes
  double before, after;  // largest strain at the end of the step
} limited_motion;

static double strain_ahead(const kp_deform *d, kp_real *const w[3]) {
  const int32_t *parent = kp_buffer_host((kp_buffer *)&d->hair.parent, KP_ACCESS_READ);
  const double *rest = kp_buffer_host((kp_buffer *)&d->hair.rest, KP_ACCESS_READ);
  double most = 0.0;
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    double sum = 0.0;
    for (int c = 0; c < 3 && parent[i] >= 0; ++c) {
      const kp_pos *x = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
      double e = x[i] - x[parent[i]] + d->dt * ((double)w[c][i] - (double)w[c][parent[i]]);
      sum += e * e;
    }
    most = parent[i] >= 0 ? fmax(most, sqrt(sum) / rest[i] - 1.0) : most;
  }
  return most;
}

static limited_motion limit_free_hair(int limit) {
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_hair_def hair = kp_test_hair();
  hair.count = 10;
  hair.segments = 12;
  hair.length = 0.12;
  hair.spread = 0.1;
  hair.rooted = false;
  hair.limit = limit;
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  kp_test_random random = kp_test_random_begin(70);
  d->dt = 1e-3;
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  kp_real *w[3];
  double sum[3] = { 0 }, scale = 0.0, shift = 0.0;
  for (int c = 0; c < 3; ++c) {
    w[c] = kp_buffer_host(&d->moving.c[c], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      w[c][i] = (kp_real)kp_test_uniform(&random, -5.0, 5.0);
      sum[c] -= (double)mass[i] * (double)w[c][i];
      scale += (double)mass[i] * fabs((double)w[c][i]);
    }
  }
  limited_motion out = { .before = strain_ahead(d, w) };
  assert_ok(kp_hair_limit(d, &world->env));
  for (int c = 0; c < 3; ++c) {
    w[c] = kp_buffer_host(&d->moving.c[c], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      sum[c] += (double)mass[i] * (double)w[c][i];
    }
    shift += fabs(sum[c]);
  }
  out.after = strain_ahead(d, w);
  out.shift = shift / scale;
  kp_world_destroy(&world);
  return out;
}

// Impulses between neighbours keep momentum and leave stretch; the sweep from root to tip leaves no
// stretch and does not keep momentum. That is why the author took the sweep.
static void limit_by_impulses_keeps_momentum(void **state) {
  (void)state;
  limited_motion pulled = limit_free_hair(KP_HAIR_LIMIT_MOMENTUM);
  limited_motion swept = limit_free_hair(KP_HAIR_LIMIT_BIASED);
  print_message(
      "impulses: momentum shifts by %.2g, strain %.3g to %.3g; sweep: %.2g, %.3g to %.3g\n",
      pulled.shift, pulled.before, pulled.after, swept.shift, swept.before, swept.after);
  kp_claim claim = { .id = "selle-S70",
                     .text =
                         "the limit by impulses keeps momentum, the sweep from the root does not",
                     .size = "10 free hairs of 12 segments, random velocities of 5 m/s, 1 ms" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "change of momentum, of the sum of all nodes'", pulled.shift, KP_AT_MOST,
        KP_TOL(1e-6, 1e-14) },
      { "strain left by impulses over that before", pulled.after / pulled.before, KP_AT_MOST, 0.9 },
      { "change of momentum by the sweep", swept.shift, KP_AT_LEAST, 0.01 },
      { "strain left by the sweep", swept.after, KP_AT_MOST, 1e-3 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  double limited = strain_of_shake(KP_HAIR_LIMIT_BIASED, 5e-5, 20, 15);
  double left = strain_of_shake(KP_HAIR_LIMIT_MOMENTUM, 5e-5, 20, 15);
  double loose = strain_of_shake(KP_HAIR_LIMIT_NONE, 5e-5, 20, 15);
  assert_true(left < loose && left > limited);
}

// ---- sticking -----------------------------------------------------------------------------------

// All pairs of near segments of different hairs, looked at one by one.
static void links_are_all_near_pairs(void **state) {
  (void)state;
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_hair_def hair = kp_test_hair();
  hair.count = 60;
  hair.segments = 8;
  hair.length = 0.08;
  hair.spread = 0.02;
  hair.roughness = 0.6;
  hair.rooted = false;
  hair.stiction = 1e-3;
  hair.stiction_links = 1000;  // so that all of them are made
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  assert_ok(kp_hair_relink(d, &world->env));
  const double *x[3];
  double *copies[3];
  for (int c = 0; c < 3; ++c) {
    copies[c] = kp_test_field(world, "nodes", "position", c);
    x[c] = copies[c];
  }
  int64_t n = 0;
  for (kp_index i = 0; i < (kp_index)d->n_segments; ++i) {
    for (kp_index j = i + 1; j < (kp_index)d->n_segments; ++j) {
      bool same = i / 8 == j / 8;
      double distance =
          kp_test_segment_distance(x, &d->segments.data[2 * i], &d->segments.data[2 * j]);
      // pairs on the border may fall on either side
      if (fabs(distance - hair.stiction_distance) > 1e-9) {
        bool near = !same && distance < hair.stiction_distance;
        assert_int_equal(kp_hair_is_linked(d, i, j), near);
        n += near;
      }
    }
  }
  assert_true(n > 100);
  assert_int_equal(d->hair.links.space->n, n);
  for (int c = 0; c < 3; ++c) {
    kp_free(copies[c]);
  }
  kp_world_destroy(&world);
}

static void no_segment_has_too_many(void **state) {
  (void)state;
  kp_test_settings s = kp_test_hair_space(true);
  kp_world *world = kp_test_world(&s);
  kp_hair_def hair = kp_test_hair();
  hair.count = 80;
  hair.segments = 8;
  hair.length = 0.08;
  hair.spread = 0.01;
  hair.roughness = 0.5;
  hair.stiction = 1e-4;
  hair.stiction_links = 3;
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  int64_t most_links = 0;
  int most = 0;
  int *count = kp_alloc((size_t)d->n_segments * sizeof *count, KP_MEMORY_TEST);
  for (int k = 0; k < 30; ++k) {
    kp_test_steps(world, 1);
    memset(count, 0, (size_t)d->n_segments * sizeof *count);
    const kp_hair_links *l = &d->hair.links;
    const uint32_t *a = kp_buffer_host(&l->a->buffers[0], KP_ACCESS_READ);
    const uint32_t *b = kp_buffer_host(&l->b->buffers[0], KP_ACCESS_READ);
    for (int64_t i = 0; i < l->space->n; ++i) {
      ++count[a[i]];
      ++count[b[i]];
    }
    for (int64_t i = 0; i < d->n_segments; ++i) {
      most = count[i] > most ? count[i] : most;
    }
    most_links = l->space->n > most_links ? l->space->n : most_links;
  }
  kp_claim claim = { .id = "selle-C36-links",
                     .text = "no segment has more links than it may",
                     .size = "80 hairs of 8 segments that fall, 30 steps" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "most links of a segment, of 3 allowed", most, KP_AT_MOST, 3 },
                   { "links", (double)most_links, KP_AT_LEAST, 100 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_free(count);
  kp_world_destroy(&world);
}

// Links are in the implicit system: a tuft that sticks with forces far above its weight swings no
// faster than one that does not.
static void sticking_is_implicit(void **state) {
  (void)state;
  double fastest[2];
  for (int sticks = 0; sticks < 2; ++sticks) {
    kp_test_settings s = kp_test_hair_space(true);
    kp_world *world = kp_test_world(&s);
    kp_solids_def solids = kp_default_solids_def();
    solids.dt = 2e-3;
    solids.inner = 4;
    assert_ok(kp_world_set_solids(world, &solids));
    kp_hair_def hair = kp_test_hair();
    hair.count = 60;
    hair.segments = 8;
    hair.length = 0.1;
    hair.spread = 0.008;
    hair.direction = kp_vec3_make(1, 0, 0);
    hair.roughness = 0.3;
    hair.stiction = sticks ? 1e-3 : 0.0;
    assert_ok(kp_world_add_hair(world, &hair));
    assert_ok(kp_world_build(world));
    kp_deform *d = kp_test_deform(world);
    fastest[sticks] = 0.0;
    int iterations = 0;
    for (int k = 0; k < 40; ++k) {
      kp_test_steps(world, 1);
      fastest[sticks] = kp_test_most(fastest[sticks], kp_test_stats(world, "hair").max_speed);
      iterations = d->pcg.report.iterations > iterations ? d->pcg.report.iterations : iterations;
    }
    // hairs alone are solved at once; links make it iterate
    assert_true(sticks ? iterations > 3 && d->hair.links.space->n > 50 : iterations <= 2);
    kp_world_destroy(&world);
  }
  print_message("fastest: loose %.3g, stuck %.3g m/s\n", fastest[0], fastest[1]);
  assert_true(fastest[1] < 2.0 * fastest[0]);
}

// Two crossed hairs, held as they are; the upper one is drawn away. What the link pulls with is the
// reaction of the nodes that are held.
typedef struct pull_off {
  double worst;  // of the force against k (l - l0)/l0 while it pulls, as a share of the largest
  double last;   // N, in the last step in which it pulls
  double after;  // N, largest in all later ones
  int64_t n_after;
} pull_off;

static pull_off run_pull_off(const kp_hair_def *hair, double speed) {
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-4;
  solids.inner = 1;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def other = *hair;
  snprintf(other.name, sizeof other.name, "other");
  other.root = kp_vec3_make(0, 0.0015, -0.05);
  other.direction = kp_vec3_make(0, 0, 1);
  assert_ok(kp_world_add_hair(world, hair));
  assert_ok(kp_world_add_hair(world, &other));
  double path[6] = { 0, 0, 0, 0, speed, 0 };
  kp_pin_def low = kp_default_pin_def(), high = kp_default_pin_def();
  snprintf(low.name, sizeof low.name, "low");
  snprintf(high.name, sizeof high.name, "high");
  low.shape = kp_test_box(kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 0.0005, 1));
  high.shape = kp_test_box(kp_vec3_make(-1, 0.0005, -1), kp_vec3_make(1, 1, 1));
  high.position = (kp_curve){ .components = 3, .n = 2, .interval = 1.0, .samples = path };
  assert_ok(kp_world_add_pin(world, &low));
  assert_ok(kp_world_add_pin(world, &high));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  pull_off out = { 0 };
  double k = hair->stiction, rest = hair->stiction_distance, first = 0.0015;
  double full = k * (hair->stiction_break - rest) / rest;
  for (int step = 0; step < 700; ++step) {
    // forces are those half way through the step
    double y = first + speed * (world->env.time + 0.5 * solids.dt);
    kp_test_steps(world, 1);
    const kp_real *force = kp_buffer_host(&d->hair.links.force, KP_ACCESS_READ);
    double f = d->hair.links.space->n > 0 ? (double)force[0] : 0.0;
    if (out.n_after == 0 && (f > 0.0 || y <= hair->stiction_break)) {
      out.worst = kp_test_most(out.worst, fabs(f - fmax(0.0, k * (y / rest - 1.0))) / full);
      out.last = f;
    } else {
      out.after = kp_test_most(out.after, fabs(f));
      ++out.n_after;
    }
  }
  kp_world_destroy(&world);
  return out;
}

// C36
static void stuck_hairs_let_go_at_once(void **state) {
  (void)state;
  kp_hair_def hair = kp_test_hair();
  hair.count = 1;
  hair.segments = 5;
  hair.length = 0.1;
  hair.root = kp_vec3_make(-0.05, 0, 0);
  hair.direction = kp_vec3_make(1, 0, 0);
  hair.rooted = false;
  hair.twist = false;
  hair.stiction = 1e-3;
  double speed = 0.1;
  pull_off r = run_pull_off(&hair, speed);
  double full =
      hair.stiction * (hair.stiction_break - hair.stiction_distance) / hair.stiction_distance;
  double step = hair.stiction * speed * 1e-4 / hair.stiction_distance;
  print_message("last force %.6g of %.6g N, off the line by %.2g, then %.2g N for %d steps\n",
                r.last, full, r.worst, r.after, (int)r.n_after);
  // it lets go in the step in which it becomes too long: up to one step's rise below the full force
  double off = fmax(r.worst, fabs(r.last / full - 1.0) - step / full);
  kp_claim claim = { .id = "selle-C36",
                     .text = "the force of a link rises linearly to k (off - on)/on and is gone in "
                             "one step",
                     .size = "two crossed hairs pulled apart at 0.1 m/s in steps of 0.1 ms" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "error of the force, of the largest", off, KP_AT_MOST, 0.01 },
                   { "force in all later steps, N", r.after, KP_AT_MOST, 0 },
                   { "later steps", (double)r.n_after, KP_AT_LEAST, 100 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- hair against hair --------------------------------------------------------------------------

// The ends of a hair that lies across another are drawn down: how far its middle stays above that
// of the other.
static double gap_of_crossed_hairs(bool meets) {
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 5e-4;
  solids.inner = 4;
  solids.contact = meets;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = kp_test_hair();
  hair.count = 1;
  hair.segments = 11;
  hair.length = 0.11;
  hair.rooted = false;
  hair.thickness = 0.001;
  hair.root = kp_vec3_make(-0.055, 0, 0);
  hair.direction = kp_vec3_make(1, 0, 0);
  kp_hair_def other = hair;
  snprintf(other.name, sizeof other.name, "other");
  other.root = kp_vec3_make(0, 0.002, -0.055);
  other.direction = kp_vec3_make(0, 0, 1);
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_add_hair(world, &other));
  static const double path[] = { 0, 0, 0, 0, -0.01, 0 };
  kp_pin_def pins[4];
  const kp_vec3 ends[4] = { { -0.055, 0, 0 }, { 0.055, 0, 0 }, { 0, 0, -0.055 }, { 0, 0, 0.055 } };
  for (int k = 0; k < 4; ++k) {
    pins[k] = kp_default_pin_def();
    snprintf(pins[k].name, sizeof pins[k].name, "pin-%d", k);
    snprintf(pins[k].of, sizeof pins[k].of, k < 2 ? "hair" : "other");
    pins[k].shape = kp_test_ball(ends[k], 0.013);
    if (k >= 2) {
      pins[k].position = (kp_curve){ .components = 3, .n = 2, .interval = 0.1, .samples = path };
    }
    assert_ok(kp_world_add_pin(world, &pins[k]));
  }
  assert_ok(kp_world_build(world));
  while (world->env.time < 0.1) {
    kp_test_steps(world, 1);
  }
  kp_deform *d = kp_test_deform(world);
  double *y = kp_test_field(world, "nodes", "position", 1);
  // the segment in the middle of each: nodes of the strands as contact has them
  double middle[2];
  for (int k = 0; k < 2; ++k) {
    const kp_index *node = &d->segments.data[2 * (d->parts.data[k].segments.first + 5)];
    middle[k] = 0.5 * (y[node[0]] + y[node[1]]);
  }
  bool first_is_low = strcmp(d->parts.data[0].name, "hair") == 0;
  kp_free(y);
  kp_world_destroy(&world);
  return first_is_low ? middle[1] - middle[0] : middle[0] - middle[1];
}

static void crossed_hairs_hold_each_other(void **state) {
  (void)state;
  double with = gap_of_crossed_hairs(true), without = gap_of_crossed_hairs(false);
  print_message("gap of crossed hairs: %.3g m with contact, %.3g without\n", with, without);
  kp_claim claim = { .id = "selle-S73",
                     .text = "a hair drawn down on a crossing one stays above it",
                     .size = "two hairs of 11 segments, ends drawn down by 10 mm" };
  kp_claim_status verdict = kp_claim_all(&claim, { "gap, m", with, KP_MORE, 0 },
                                         { "gap without contact, m", without, KP_LESS, -0.005 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// How fast a tuft on the back of a shaken head goes in the mean [m/s]. Collisions are looked for in
// every inner step, as the steps of section 7.4 say, or after several.
static double speed_of_tuft(bool self, int64_t count, int64_t inner) {
  kp_test_settings s = kp_test_hair_space(true);
  s.simulation.dt_max = 1.0 / 60.0;
  kp_world *world = kp_test_world(&s);
  add_shaking_head(world);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  solids.inner = inner;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = head_hair(count, 8);
  hair.scalp = kp_test_ball(kp_vec3_make(0, 0.07, -0.07), 0.025);
  hair.fall = kp_vec3_make(0, -1, -0.3);
  hair.droop = 0.02;
  hair.roughness = 0.2;
  hair.self = self;
  hair.thickness = 0.002;
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  double sum = 0.0;
  for (int k = 0; k < 20; ++k) {
    assert_ok(kp_world_advance(world, 0.008, NULL));
    kp_population_stats stats = kp_test_stats(world, "hair");
    sum += sqrt(2.0 * stats.kinetic_energy / stats.mass) / 20.0;
  }
  kp_world_destroy(&world);
  return sum;
}

static void contact_in_a_tuft_makes_no_energy(void **state) {
  (void)state;
  double low = HUGE_VAL, high = 0.0;
  static const struct { int64_t count, inner; } cases[] = { { 40, 1 }, { 40, 2 }, { 400, 8 } };
  for (int k = 0; k < 3; ++k) {
    double without = speed_of_tuft(false, cases[k].count, cases[k].inner);
    double with = speed_of_tuft(true, cases[k].count, cases[k].inner);
    print_message("a shaken tuft of %lld: %.3g m/s with contact after every %lld steps, %.3g "
                  "without\n",
                  (long long)cases[k].count, with, (long long)cases[k].inner, without);
    assert_true(with != without);  // hairs did meet
    low = kp_test_least(low, with / without);
    high = kp_test_most(high, with / without);
  }
  kp_claim claim = { .id = "selle-S73-tuft",
                     .text = "contact in a shaken tuft makes no energy",
                     .size =
                         "40 hairs, contact after every one and two steps, and 400 hairs, after "
                         "eight; 0.16 s of a shake of 3 Hz and 10 cm" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "mean speed over that without contact, the most", high, KP_AT_MOST, 1.15 },
      { "the same, the least", low, KP_AT_LEAST, 0.8 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- bits ---------------------------------------------------------------------------------------

static kp_world *make_sticky_head(const char *backend) {
  kp_test_settings s = kp_test_hair_space(true);
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  add_shaking_head(world);
  kp_hair_def hair = head_hair(120, 6);
  hair.stiction = 1e-3;
  hair.stiction_distance = 0.02;
  hair.stiction_break = 0.03;
  hair.roughness = 0.5;
  assert_ok(kp_world_add_hair(world, &hair));
  kp_hair_def other = head_hair(20, 6);
  snprintf(other.name, sizeof other.name, "stiff");
  other.limit = KP_HAIR_LIMIT_MOMENTUM;
  other.scheme = KP_SCHEME_BACKWARD_EULER;
  other.curl_radius = 0.01;
  assert_ok(kp_world_add_hair(world, &other));
  assert_ok(kp_world_build(world));
  return world;
}

static void bits_are_the_same(void **state) {
  (void)state;
  uint64_t hash = kp_test_same_bits(make_sticky_head, 12);
  kp_test_rewind(make_sticky_head, "cpu", 5, 12, hash);
}

// ---- both ways ----------------------------------------------------------------------------------

static kp_world *make_comet(const char *backend, int scheme) {
  kp_test_settings s = kp_test_hair_space(false);
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "head");
  ball.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
  ball.density = 100.0;
  ball.velocity = kp_vec3_make(0.5, 0, 0);
  ball.angular_velocity = kp_vec3_make(0, 0, 3);
  assert_ok(kp_world_add_body(world, &ball));
  kp_hair_def hair = kp_test_hair();
  snprintf(hair.on, sizeof hair.on, "head");
  hair.count = 40;
  hair.segments = 6;
  hair.length = 0.15;
  hair.density = 0.01;
  hair.self = false;
  hair.limit = KP_HAIR_LIMIT_NONE;
  hair.viscosity = 0.0;
  hair.scheme = scheme;
  assert_ok(kp_world_add_hair(world, &hair));
  kp_solids_def solids = kp_default_solids_def();
  solids.tolerance = KP_TOL(1e-6, 1e-10);
  assert_ok(kp_world_set_solids(world, &solids));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *make_comet_bits(const char *backend) {
  return make_comet(backend, KP_SCHEME_NEWMARK);
}

// A ball with hair all over flies off, and turns: what its hair gains it loses.
static void roots_pull_on_free_bodies(void **state) {
  (void)state;
  static const int schemes[2] = { KP_SCHEME_NEWMARK, KP_SCHEME_BACKWARD_EULER };
  for (int k = 0; k < 2; ++k) {
    kp_world *world = make_comet("cpu", schemes[k]);
    double mass = 1.0 / world->bodies->models.data[0].inverse_mass;
    kp_vec3 hair = kp_test_stats(world, "hair").momentum;
    kp_vec3 first = kp_vec3_madd(hair, mass, kp_bodies_frame(world->bodies, 0).velocity);
    double spin = kp_bodies_frame(world->bodies, 0).angular_velocity.z;
    assert_ok(kp_world_advance(world, 0.25, NULL));
    kp_vec3 gained = kp_vec3_sub(kp_test_stats(world, "hair").momentum, hair);
    kp_frame3 frame = kp_bodies_frame(world->bodies, 0);
    kp_vec3 last = kp_vec3_madd(kp_test_stats(world, "hair").momentum, mass, frame.velocity);
    double off = kp_vec3_length(kp_vec3_sub(last, first));
    printf("  %s: hair gained %.4f of %.4f kg m/s, off by %.2g; the ball turns %.2f rad/s\n",
           kp_schemes[schemes[k]].name, kp_vec3_length(gained), kp_vec3_length(first), off,
           frame.angular_velocity.z);
    assert_true(kp_vec3_length(gained) > 0.02);
    assert_true(off < 1e-3 * kp_vec3_length(gained));
    assert_true(frame.angular_velocity.z < 0.95 * spin);
    kp_world_destroy(&world);
  }
}

static void pulling_has_the_same_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_comet_bits, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(roots_pull_on_free_bodies),
    cmocka_unit_test(pulling_has_the_same_bits),
    cmocka_unit_test(straight_hair_is_a_zigzag),
    cmocka_unit_test(curly_hair_is_a_plain_chain),
    cmocka_unit_test(mixed_hair_joins_both_kinds),
    cmocka_unit_test(counts_are_those_of_the_table),
    cmocka_unit_test(roots_follow_the_head),
    cmocka_unit_test(hair_grows_around_other_solids),
    cmocka_unit_test(shaken_hair_does_not_stretch),
    cmocka_unit_test(limit_by_impulses_keeps_momentum),
    cmocka_unit_test(links_are_all_near_pairs),
    cmocka_unit_test(no_segment_has_too_many),
    cmocka_unit_test(sticking_is_implicit),
    cmocka_unit_test(stuck_hairs_let_go_at_once),
    cmocka_unit_test(bits_are_the_same),
    cmocka_unit_test(crossed_hairs_hold_each_other),
    cmocka_unit_test(contact_in_a_tuft_makes_no_energy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
