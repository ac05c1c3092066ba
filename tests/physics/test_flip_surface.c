// The surface of a splash of FLIP at coarse cells, by the defaults of output { surface }: below a
// cell particles lie as chance has it, which is to be seen neither as crumbs nor as rough water.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "run/batch.h"
#include "run/surfaces.h"

#include "support/claims.h"
#include "support/media.h"
#include "support/surfaces.h"

#define SPACING 0.015  // m; cells are two of them

// A jet that falls back into a shallow pool.
static kp_world *splash(void) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.45, 0.6, 0.45));
  s.simulation.gravity = kp_vec3_make(0, -9.81, 0);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.45, 0.06, 0.45), SPACING);
  kp_emitter_def jet = kp_default_emitter_def();
  water.method = KP_LIQUID_FLIP;
  water.viscosity = 0.0;
  (void)snprintf(jet.name, sizeof jet.name, "jet");
  (void)snprintf(jet.into, sizeof jet.into, "water");
  jet.position = kp_curve_constant3(kp_vec3_make(0.225, 0.12, 0.225));
  jet.direction = kp_vec3_make(0, 1, 0);
  jet.radius = 0.03;
  jet.speed = kp_curve_constant(2.4);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_emitter(world, &jet));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.8, NULL));
  return world;
}

typedef struct look {
  double roughness;  // rad, RMS between neighbouring triangles
  double volume;     // over that of the particles
  int64_t pieces;
} look;

static look look_at(kp_world *world, int64_t smooth) {
  kp_surface_out how = kp_default_surface_out();
  kp_surfaces surfaces = { 0 };
  kp_batch batch = { 0 };
  how.smooth = smooth;
  how.mesh_passes = 0;
  assert_ok(kp_surfaces_begin(&surfaces, &how, world));
  kp_batch_begin(&batch, world, 1, 0);
  assert_ok(kp_surfaces_add(&surfaces, world, &batch));
  double volume = (double)kp_world_count(world, "water") * pow(SPACING, 3.0);
  kp_aabb all = { kp_vec3_make(0.01, 0.01, 0.01), kp_vec3_make(0.59, 0.59, 0.29) };
  look out = { .roughness = kp_test_surface_dihedral(&surfaces.mesh, &all),
               .volume = kp_test_surface_volume(&surfaces.mesh) / volume,
               .pieces = kp_test_surface_pieces(&surfaces.mesh) };
  kp_batch_free(&batch);
  kp_surfaces_free(&surfaces);
  return out;
}

static void splashes_are_smooth(void **state) {
  (void)state;
  kp_world *world = splash();
  look rough = look_at(world, 0);
  look usual = look_at(world, kp_default_surface_out().smooth);
  kp_world_destroy(&world);
  print_message("without a filter %.3f rad, volume %.3f, %" PRId64 " pieces; by default %.3f rad, "
                "%.3f, %" PRId64 "\n",
                rough.roughness, rough.volume, rough.pieces, usual.roughness, usual.volume,
                usual.pieces);
  kp_claim claim = {
    .id = "kelpie-flip-surface",
    .text = "the surface of a coarse splash of FLIP has no crumbs",
    .size = "3D, a jet two cells wide, 15 x 20 x 15 cells, after 0.8 s, default settings"
  };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "angle between triangles over that without a filter", usual.roughness / rough.roughness,
        KP_AT_MOST, 0.75 },
      { "pieces over those without a filter", (double)usual.pieces / (double)rough.pieces,
        KP_AT_MOST, 0.67 },
      { "volume over that without a filter", usual.volume / rough.volume, KP_AT_LEAST, 0.95 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(splashes_are_smooth) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
