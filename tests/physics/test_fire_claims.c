// The two fires of Lyes 2015 compared: claims 13 and 14, and the local gather of vortices against
// the global one. Claim 12, which is about time, is measured by tools/claim-times.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "cases/experiments.h"
#include "methods/vortex_fire/vortex_fire.h"
#include "render/render.h"

#include "support/claims.h"
#include "support/media.h"

#define PARTICLES 8192

static kp_world *make_fire(int method, int64_t particles, double rise) {
  kp_world *world = NULL;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_case_fire(world, method, particles, rise));
  assert_ok(kp_world_build(world));
  return world;
}

// Claim 13: curl energy over kinetic energy of gridded velocities, at equal numbers and mean rise.
static void test_curls(void **state) {
  (void)state;
  kp_fire_flow vortex;
  kp_fire_flow plain;
  kp_world *world = make_fire(KP_FIRE_VORTEX, PARTICLES, 1.0);
  assert_ok(kp_world_advance(world, 1.5, NULL));
  assert_ok(kp_fire_curls(world, 0.08, 5, &vortex));
  kp_world_destroy(&world);
  // speeds at birth that give the rise of the vortices: buoyancy adds to them
  double speed = vortex.rise;
  for (int turn = 0; turn < 3; ++turn) {
    world = make_fire(KP_FIRE_PARTICLES, PARTICLES, speed);
    assert_ok(kp_world_advance(world, 1.5, NULL));
    assert_ok(kp_fire_curls(world, 0.08, 5, &plain));
    kp_world_destroy(&world);
    speed += vortex.rise - plain.rise;
  }
  double ratio = vortex.curls / plain.curls;
  print_message("  vortex: curls %.4f, rise %.3f m/s, %lld cells; particles: %.4f, %.3f m/s, %lld "
                "cells; ratio %.2f\n",
                vortex.curls, vortex.rise, (long long)vortex.cells, plain.curls, plain.rise,
                (long long)plain.cells, ratio);
  kp_claim claim = { .id = "lyes-13",
                     .text =
                         "fire of vortices curls more than 3 times as much as fire of particles",
                     .size = "8192 particles each, 1.5 s, cells of 0.08 m" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "ratio of curl over kinetic energy of gridded velocities", ratio, KP_MORE, 3.0 },
      { "difference of the mean rise, share", fabs(plain.rise / vortex.rise - 1.0), KP_AT_MOST,
        0.02 },
      { "cells looked at, the less of the two", fmin((double)vortex.cells, (double)plain.cells),
        KP_AT_LEAST, 50.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// Claim 13, second half: an exchange of a burning flame leaves the sum of vorticity alone.
static void test_conservation(void **state) {
  (void)state;
  kp_world *world = make_fire(KP_FIRE_VORTEX, 4096, 1.0);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  kp_vortex_fire *fire = kp_test_system(world, &kp_vortex_fire_method);
  fire->def.exchange = 2.0;
  world->env.dt = 0.01;
  assert_ok(kp_vortex_fire_induce(fire, &fire->flames.data[0], &world->env));
  double worst = 0.0;
  double size = 0.0;
  double *before[3];
  for (int c = 0; c < 3; ++c) {
    before[c] = kp_test_field(world, "flame", "vorticity", c);
  }
  assert_ok(kp_vortex_fire_exchange(fire, &fire->flames.data[0], &world->env));
  double changed = 0.0;
  for (int c = 0; c < 3; ++c) {
    double *after = kp_test_field(world, "flame", "vorticity", c);
    double sum = 0.0;
    for (int64_t i = 0; i < 4096; ++i) {
      sum += after[i] - before[c][i];
      size += fabs(before[c][i]);
      changed += fabs(after[i] - before[c][i]);
    }
    worst = kp_test_most(worst, fabs(sum));
    kp_free(before[c]);
    kp_free(after);
  }
  print_message("  %.3g of the vorticity changed hands, %.2g of it was lost\n", changed / size,
                worst / size);
  kp_claim claim = { .id = "lyes-13-sum",
                     .text = "the diffusion step keeps the total vorticity",
                     .size = "4096 vortons of a burning flame" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "lost, of the sum of sizes", worst / size, KP_AT_MOST, 1e-6 },
                   { "exchanged, of the sum of sizes", changed / size, KP_MORE, 0.01 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// Light of the columns within `share` of the width around the middle of a picture's plume, or of
// those beyond it, per column.
static double column_light(const double *columns, int first, int last, double share, bool within) {
  double middle = 0.5 * (first + last), half = 0.5 * share * (last - first), sum = 0.0;
  int n = 0;
  for (int x = first; x <= last; ++x) {
    if ((fabs(x - middle) <= half) == within) {
      sum += columns[x];
      ++n;
    }
  }
  return sum / n;
}

static float *narrow(double *values, int64_t n) {
  float *out = kp_alloc((size_t)n * sizeof *out, KP_MEMORY_BASE);
  assert_non_null(out);
  for (int64_t i = 0; i < n; ++i) {
    out[i] = (float)values[i];
  }
  kp_free(values);
  return out;
}

// A picture of the sprites: light of the inner over that of the outer 30 % of the plume's width.
static double rendered_core(kp_world *world) {
  enum { WIDTH = 240, HEIGHT = 180 };
  double *x[3];
  kp_render_points points = { .n = 2048, .radius = 0.03, .look = kp_default_look_def() };
  float *colors[3], *alphas = narrow(kp_test_field(world, "flame", "alpha", 0), points.n);
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_test_field(world, "flame", "position", c);
    points.colors[c] = colors[c] = narrow(kp_test_field(world, "flame", "color", c), points.n);
  }
  points.positions = (kp_render_positions){ x[0], x[1], x[2], 1 };
  points.alphas = alphas;
  points.look.glow = 0.1;
  kp_render_scene scene = { .points = &points, .n_points = 1 };
  scene.bounds = (kp_aabb){ { -2.0, -1.0, -2.0 }, { 2.0, 4.0, 2.0 } };
  kp_render_def def = kp_default_render_def();
  def.width = WIDTH;
  def.height = HEIGHT;
  def.samples = 4;
  def.camera_position = kp_vec3_make(0.0, 0.6, 6.0);
  def.camera_target = kp_vec3_make(0.0, 0.6, 0.0);
  def.camera_fov_deg = 25.0;
  def.box = false;
  def.transparent = true;
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &picture));
  double columns[WIDTH] = { 0.0 }, most = 0.0;
  double metre = 0.5 * HEIGHT / tan(12.5 * 3.14159265358979 / 180.0) / 6.0;
  for (int v = 0; v < HEIGHT; ++v) {
    bool plume = fabs(v - 0.5 * HEIGHT) < 0.3 * metre;  // heights of 0.3 to 0.9 m
    for (int u = 0; u < WIDTH && plume; ++u) {
      const float *c = picture.rgba + 4 * (v * WIDTH + u);
      columns[u] += 0.2126 * (double)c[0] + 0.7152 * (double)c[1] + 0.0722 * (double)c[2];
      most = kp_test_most(most, columns[u]);
    }
  }
  int first = WIDTH, last = 0;
  for (int u = 0; u < WIDTH; ++u) {
    first = columns[u] > 0.002 * most && u < first ? u : first;
    last = columns[u] > 0.002 * most ? u : last;
  }
  assert_true(last > first + 10);
  double ratio = column_light(columns, first, last, 0.3, true) /
                 column_light(columns, first, last, 0.7, false);
  kp_picture_free(&picture);
  kp_free(alphas);
  for (int c = 0; c < 3; ++c) {
    kp_free(x[c]);
    kp_free(colors[c]);
  }
  return ratio;
}

// Claim 14: colour by density makes the middle of the plume brighter, over the ball and over a
// block somewhere else alike.
static void test_light(void **state) {
  (void)state;
  double seen[2], slice = HUGE_VAL;
  for (int moved = 0; moved < 2; ++moved) {
    kp_world *world = NULL;
    assert_ok(kp_world_create("cpu", &world));
    if (moved) {
      kp_test_settings s =
          kp_test_settings_make(3, kp_vec3_make(-2, -1, -2), kp_vec3_make(2, 4, 2));
      kp_world_destroy(&world);
      world = kp_test_world(&s);
      kp_fire_def def = kp_default_fire_def();
      snprintf(def.name, sizeof def.name, "flame");
      def.method = KP_FIRE_VORTEX;
      def.particles = 2048;
      def.emitter = KP_FIRE_BLOCK;
      def.size = kp_vec3_make(0.5, 0.1, 0.3);
      def.position = kp_curve_constant3(kp_vec3_make(0.7, 0.0, -0.4));
      assert_ok(kp_world_add_fire(world, &def));
    } else {
      assert_ok(kp_case_fire(world, KP_FIRE_VORTEX, 2048, 1.0));
    }
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 1.5, NULL));
    double inner;
    double outer;
    assert_ok(kp_fire_light(world, moved ? 0.7 : 0.0, 0.3, 0.9, &inner, &outer));
    print_message("  %s: inner %.3g, outer %.3g\n", moved ? "a block elsewhere" : "over the ball",
                  inner, outer);
    seen[moved] = rendered_core(world);
    print_message("  in the picture the core is %.3g times as bright as the rim\n", seen[moved]);
    slice = kp_test_least(slice, inner / outer);
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "lyes-14",
                     .text = "colour by density brightens the core, whatever the emitter",
                     .size = "2048 vortons, mean luminance of the picture of their sprites" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "inner over outer 30 % of the width, over a ball", seen[0], KP_MORE, 1.0 },
      { "inner over outer 30 % of the width, over a block elsewhere", seen[1], KP_MORE, 1.0 },
      { "the same of the colours in a slice, least", slice, KP_MORE, 1.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// The farther a sample feels, the closer its velocity comes to that of all vortons; feeling one and
// a half cells it is another flow. Vortex-in-cell feels all of them, smoothed over a cell.
static void test_gather(void **state) {
  (void)state;
  const double reaches[5] = { 1.5, 4.0, 8.0, 32.0, 0.0 };
  kp_fire_gather_row rows[5];
  kp_world *world = make_fire(KP_FIRE_VORTEX, 2048, 1.0);
  assert_ok(kp_world_advance(world, 1.5, NULL));
  assert_ok(kp_fire_gather(world, reaches, 5, rows));
  for (int k = 0; k < 4; ++k) {
    print_message("  reach %4.1f cells: error %.3f, likeness %.3f\n", rows[k].reach, rows[k].error,
                  rows[k].likeness);
    assert_true(k == 0 || rows[k].error < rows[k - 1].error);
  }
  print_message("  vortex-in-cell: error %.3f, likeness %.3f\n", rows[4].error, rows[4].likeness);
  assert_between(rows[4].error, 0.0, 0.15);
  assert_true(rows[4].likeness > 0.99);
  char words[96];
  snprintf(words, sizeof words,
           "2048 vortons of a flame; a reach of 1.5 cells leaves %.2g out, 8 cells %.2g",
           rows[0].error, rows[2].error);
  kp_claim claim = { .id = "lyes-L31-reach",
                     .text = "a gather that feels farther comes to that of every vortex particle",
                     .size = words };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "difference at a reach over the flame, share", rows[3].error, KP_AT_MOST, 1e-4 },
      { "difference at 8 cells over that at 4", rows[2].error / rows[1].error, KP_LESS, 1.0 },
      { "difference at 4 cells over that at 1.5", rows[1].error / rows[0].error, KP_LESS, 1.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_curls),
    cmocka_unit_test(test_conservation),
    cmocka_unit_test(test_light),
    cmocka_unit_test(test_gather),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
