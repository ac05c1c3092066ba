// A soft body of edge and centre springs that falls, meets the floor and has its form again
// (Bayraktar 2010, section 4.5, Fig. 7.12b), at the scene's form and a coarser mesh.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/timer.h"
#include "kelpie/scene.h"

#include "bounce_form.h"
#include "support/claims.h"
#include "support/cloths.h"

static double volume(kp_world *world) {
  const kp_deform *d = kp_test_deform(world);
  kp_vec3 *x = kp_test_nodes(world);
  double sum = 0.0;
  for (size_t t = 0; t < d->triangles.count; ++t) {
    const kp_index *v = d->triangles.data[t].v;
    sum += kp_vec3_dot(x[v[0]], kp_vec3_cross(x[v[1]], x[v[2]])) / 6.0;
  }
  kp_free(x);
  return sum;
}

static double height(kp_world *world) {
  return kp_test_stats(world, "bunny").bounds.min.y;
}

static void test_bounce(void **state) {
  (void)state;
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_load_scene(world, KP_SCENES "/papers/bayraktar/soft_body.lua", kp_bounce.sets,
                                kp_bounce.n_sets));
  assert_ok(kp_world_build(world));
  double rest = volume(world), least = rest;
  kp_population_stats s = kp_test_stats(world, "bunny");
  assert_true(rest > 0.0);
  // falling, before it touches anything: gravity alone changes the momentum
  double falls = 0.2;
  assert_ok(kp_world_advance(world, falls, NULL));
  assert_true(height(world) > 0.05);
  kp_population_stats later = kp_test_stats(world, "bunny");
  double drift = fabs(later.momentum.y / (later.mass * 9.81 * falls) + 1.0);
  double sideways = hypot(later.momentum.x, later.momentum.z) / (later.mass * 9.81 * falls);
  assert_true(drift < 1e-4);
  assert_true(sideways < 1e-4);
  double start = kp_time_now();
  int frames = 0;
  while (kp_world_time(world) < 2.0 - 1e-9) {
    assert_ok(kp_world_advance(world, 1.0 / 30.0, NULL));
    least = kp_test_least(least, volume(world));
    ++frames;
  }
  double after = volume(world) / rest;
  print_message("%lld nodes: least volume %.3f, after 2 s %.3f; drift %.1e; %.3f s per frame\n",
                (long long)s.count, least / rest, after, drift, (kp_time_now() - start) / frames);
  kp_claim claim = { .id = "bayraktar-C33-volume",
                     .text = "a soft body has its volume again after a bounce",
                     .size = kp_bounce.words };
  kp_claim_all(
      &claim, { "volume over that at rest, 2 s after the start", after, KP_AT_LEAST, 0.9 },
      { "least volume on the way", least / rest, KP_LESS, 0.995 },
      { "momentum before contact, off that of gravity", fmax(drift, sideways), KP_AT_MOST, 1e-4 },
      { "nodes", (double)s.count, KP_AT_LEAST, kp_bounce.nodes });
  assert_true(least < 0.995 * rest);  // it was pressed
  assert_true(after >= 0.9);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_bounce) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
