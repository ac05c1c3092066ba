// Shells that are curved at rest and find back to their form once they are flat, by the altitude
// springs of their edges (Selle 2008, section 5.3.4, figures 5.3 and 5.4).
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "kelpie/scene.h"
#include "math/svd3.h"

#include "shells.h"
#include "support/claims.h"
#include "support/cloths.h"

static kp_vec3 middle(const kp_vec3 *x, int64_t n) {
  kp_vec3 sum = { 0.0, 0.0, 0.0 };
  for (int64_t i = 0; i < n; ++i) {
    sum = kp_vec3_add(sum, x[i]);
  }
  return kp_vec3_scale(sum, 1.0 / (double)n);
}

// RMS distance of x from y after the best rigid motion (Kabsch 1976), over the RMS radius of y. A
// mirror image is not a rigid motion: what is turned inside out does not fit.
static double misfit(const kp_vec3 *x, const kp_vec3 *y, int64_t n) {
  kp_vec3 mx = middle(x, n), my = middle(y, n);
  double h[9] = { 0.0 }, u[9], s[3], v[9], squares_x = 0.0, squares_y = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 p = kp_vec3_sub(x[i], mx), q = kp_vec3_sub(y[i], my);
    const double a[3] = { p.x, p.y, p.z }, b[3] = { q.x, q.y, q.z };
    for (int k = 0; k < 9; ++k) {
      h[k] += a[k / 3] * b[k % 3];
    }
    squares_x += kp_vec3_dot(p, p);
    squares_y += kp_vec3_dot(q, q);
  }
  kp_svd3(h, u, s, v);
  return sqrt(fmax(squares_x + squares_y - 2.0 * (s[0] + s[1] + s[2]), 0.0) / squares_y);
}

// ---- the noodle ---------------------------------------------------------------------------------

typedef struct recovery {
  double flat;    // misfit before its springs are back
  double misfit;  // at the end
  double gained;  // J: the most its energy rises from any time to a later one, springs all back
  double left;    // J: energy of springs at the end
} recovery;

static double energy(const kp_population_stats *s) {
  return s->kinetic_energy + s->potential_energy + s->internal_energy;
}

// set: a value of the scene that is changed, or NULL.
static recovery recover(const char *set, double until) {
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(
      kp_world_load_scene(world, KP_SCENES "/papers/selle/noodle_recovery.lua", &set, set ? 1 : 0));
  assert_ok(kp_world_build(world));
  int64_t n = kp_test_deform(world)->set->space->n;
  kp_vec3 *rest = kp_test_nodes(world);
  recovery out = { 0 };
  double least = HUGE_VAL;
  while (kp_world_time(world) < until - 1e-9) {
    assert_ok(kp_world_advance(world, 0.1, NULL));
    kp_vec3 *x = kp_test_nodes(world);
    out.misfit = misfit(x, rest, n);
    kp_free(x);
    kp_population_stats s = kp_test_stats(world, "noodle");
    if (kp_world_time(world) < 1.95) {
      out.flat = out.misfit;
      assert_true(kp_world_time(world) < 0.75 || s.bounds.max.y - s.bounds.min.y < 1e-6);
    }
    if (kp_world_time(world) > 2.95) {
      least = kp_test_least(least, energy(&s));
      out.gained = kp_test_most(out.gained, energy(&s) - least);
    }
    out.left = s.internal_energy;
  }
  kp_free(rest);
  kp_world_destroy(&world);
  print_message("%s: misfit %.4f flat, %.5f at %.1f s; energy of springs %.3g J, gained %.3g J\n",
                set ? set : "noodle", out.flat, out.misfit, until, out.left, out.gained);
  return out;
}

// Stiffness is back at 3 s. In the form, m g times the radius of its tube is 17 J.
void kp_test_noodle(void **state) {
  (void)state;
  recovery altitude = recover(NULL, 3.5);
  assert_true(altitude.flat > 0.2);
  assert_true(altitude.misfit < 0.02);
}

void kp_test_noodle_and_controls(void **state) {
  (void)state;
  recovery altitude = recover(NULL, 4.0);
  recovery springs = recover("noodle.axial=0", 4.0);
  recovery printed = recover("noodle.axial_floor=0", 3.5);
  assert_true(altitude.flat > 0.2);
  assert_true(altitude.misfit < 0.01);
  assert_true(altitude.left < 0.5);
  assert_true(altitude.gained < 0.02);
  assert_true(springs.misfit > 0.2);  // nothing tells them which side is out
  assert_true(printed.misfit > 0.1);
  kp_claim claim = { .id = "selle-S51",
                     .text = "altitude springs bring a shell back that collapsed to a sheet",
                     .size =
                         "scenes/papers/selle/noodle_recovery.lua, half a ring of tube, 1600 "
                         "triangles: RMS distances after the best rigid motion, of its radius" };
  kp_claim_all(
      &claim, { "misfit 1 s after its stiffness is back", altitude.misfit, KP_AT_MOST, 0.02 },
      { "misfit while it is flat", altitude.flat, KP_AT_LEAST, 0.2 },
      { "misfit without altitude springs", springs.misfit, KP_AT_LEAST, 0.2 },
      { "misfit by the law as printed, which has no floor", printed.misfit, KP_MORE, 0.02 },
      { "energy gained, J", altitude.gained, KP_AT_MOST, 0.02 });
}

// ---- edges that are flat at rest ----------------------------------------------------------------

// A sheet bent to a parabola, all of its edges along it and across its quads flat, pressed to a
// plane but for a little: with the floor every edge has a spring, and it is a parabola again.
static double unbend(double axial) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-3, -3, -3), kp_vec3_make(3, 3, 3));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 0.005;
  solids.inner = 1;
  kp_cloth_def def = kp_default_cloth_def();
  def.model = KP_CLOTH_EDGES;
  snprintf(def.name, sizeof def.name, "arch");
  def.columns = def.rows = 12;
  def.parabola = 1.0;
  def.density = 1.0;
  def.axial = axial;
  def.bend_damping = def.damping = 1.0;
  def.self = false;
  def.scheme = KP_SCHEME_BACKWARD_EULER;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_solids(world, &solids));
  assert_ok(kp_world_add_cloth(world, &def));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  int64_t n = d->set->space->n;
  kp_vec3 *rest = kp_test_nodes(world);
  kp_test_random random = kp_test_random_begin(51);
  kp_pos *y = kp_buffer_host(&d->set->position->buffers[1], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < n; ++i) {
    y[i] = kp_test_uniform(&random, -1e-4, 1e-4);
  }
  assert_ok(kp_world_advance(world, 4.0, NULL));
  kp_vec3 *x = kp_test_nodes(world);
  double out = misfit(x, rest, n);
  kp_free(x);
  kp_free(rest);
  kp_world_destroy(&world);
  return out;
}

void kp_test_arch(void **state) {
  (void)state;
  double with = unbend(200.0), without = unbend(0.0);
  print_message("arch: misfit %.5f, without altitude springs %.4f\n", with, without);
  assert_true(with < 1e-3);
  assert_true(without > 0.05);
}
