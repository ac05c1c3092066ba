// Cloth of a material: it stretches by Young's modulus times its thickness and bends as the
// elastica of its bending stiffness, for any number of columns, triangles and schemes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/result.h"

#include "support/claims.h"
#include "support/deform.h"
#include "support/elastica.h"
#include "support/test.h"

#define GRAVITY 9.81

// ---- a cloth that comes to rest -----------------------------------------------------------------

typedef struct hung {
  kp_cloth_def cloth;
  kp_shape_def held;
  const char *folder;  // of its mesh; NULL: none
  double dt, until;    // s; KP_AUTO: as long as the scheme bears
} hung;

static kp_cloth_def cloth_of(int64_t columns, int64_t rows, double width, double height) {
  kp_cloth_def def = kp_default_cloth_def();
  snprintf(def.name, sizeof def.name, "sheet");
  def.columns = columns;
  def.rows = rows;
  def.width = width;
  def.height = height;
  def.self = false;
  def.scheme = KP_SCHEME_BACKWARD_EULER;
  return def;
}

// Height of its lowest node over the origin, at rest.
static double lowest(const hung *h) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  s.simulation.gravity = kp_vec3_make(0, -GRAVITY, 0);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = h->dt;
  solids.tolerance = 1e-5;
  solids.strain_rate = 100.0;
  assert_ok(kp_world_set_solids(world, &solids));
  assert_ok(h->folder != NULL ? kp_world_set_folder(world, h->folder) : KP_OK);
  assert_ok(kp_world_add_cloth(world, &h->cloth));
  kp_pin_def pin = kp_default_pin_def();
  snprintf(pin.name, sizeof pin.name, "clamp");
  snprintf(pin.of, sizeof pin.of, "sheet");
  pin.shape = h->held;
  assert_ok(kp_world_add_pin(world, &pin));
  assert_ok(kp_world_build(world));
  int steps = 0;
  while (world->env.time < h->until) {
    kp_test_steps(world, 1);
    ++steps;
  }
  kp_population_stats stats = kp_test_stats(world, "sheet");
  print_message("  %lld columns: %.5f m after %d steps, %.2g m/s\n", (long long)h->cloth.columns,
                stats.bounds.min.y, steps, stats.max_speed);
  assert_true(stats.max_speed < 1e-3);
  kp_world_destroy(&world);
  return stats.bounds.min.y;
}

// ---- stretching ---------------------------------------------------------------------------------

// A square of 1 m that hangs from its upper edge: its lower edge sinks by rho g/(2 Y).
static double sag_of(int64_t columns, double modulus, int pattern, int scheme, double dt) {
  hung h = { .cloth = cloth_of(columns, columns, 1.0, 1.0), .dt = dt, .until = 1.0 };
  h.cloth.rotation_deg = kp_vec3_make(90, 0, 0);
  h.cloth.stiffness = modulus;
  h.cloth.poisson = 0.0;
  h.cloth.pattern = pattern;
  h.cloth.scheme = scheme;
  h.cloth.viscosity = 10.0;
  h.held = kp_test_box(kp_vec3_make(-1, 0.5 - 1e-6, -1), kp_vec3_make(1, 1, 1));
  return -0.5 - lowest(&h);
}

static double sag_exact(double modulus) {
  return kp_default_cloth_def().density * GRAVITY / (2.0 * modulus);
}

static const int sizes[3] = { 22, 44, 88 };

static void test_square_sags(void **state) {
  (void)state;
  double worst = 0.0, least = HUGE_VAL, most = 0.0, exact = sag_exact(100.0);
  for (size_t k = 0; k < 3; ++k) {
    double sag = sag_of(sizes[k], 100.0, KP_CLOTH_HERRING_BONE, KP_SCHEME_BACKWARD_EULER, 0.02);
    worst = kp_test_most(worst, fabs(sag / exact - 1.0));
    least = kp_test_least(least, sag);
    most = kp_test_most(most, sag);
  }
  print_message("  sag %.3f to %.3f mm, theory %.3f mm\n", 1e3 * least, 1e3 * most, 1e3 * exact);
  kp_claim claim = { .id = "kelpie-cloth-sag",
                     .text = "a hung square of cloth sags as its modulus against stretching says, "
                             "for any number of columns",
                     .size = "1 m by 1 m of 0.3 kg/m^2 and 100 N/m, 22 to 88 columns" };
  assert_int_equal(
      kp_claim_all(&claim, { "largest share by which the sag is off", worst, KP_AT_MOST, 0.05 },
                   { "largest sag over the smallest", most / least, KP_AT_MOST, 1.05 }),
      KP_CLAIM_CONFIRMED);
}

// Both ways to cut cells into triangles, and every scheme that takes a material.
static void test_patterns_and_schemes(void **state) {
  (void)state;
  static const int schemes[] = {
    KP_SCHEME_NEWMARK,         KP_SCHEME_BACKWARD_EULER,  KP_SCHEME_EULER, KP_SCHEME_SYMPLECTIC,
    KP_SCHEME_VELOCITY_VERLET, KP_SCHEME_POSITION_VERLET, KP_SCHEME_PECE
  };
  for (size_t k = 0; k < sizeof schemes / sizeof schemes[0]; ++k) {
    // the lowest node of a regular pattern is a corner of one triangle
    bool is_regular = k < 2;
    int pattern = is_regular ? KP_CLOTH_REGULAR : KP_CLOTH_HERRING_BONE;
    bool is_implicit = kp_schemes[schemes[k]].is_implicit;
    double sag = sag_of(6, 100.0, pattern, schemes[k], is_implicit ? 0.02 : KP_AUTO);
    assert_near(sag / sag_exact(100.0), 1.0, is_regular ? 0.05 : 0.01);
  }
}

// ---- bending ------------------------------------------------------------------------------------

#define FREE 0.2      // m, of a strip
#define WIDE 0.05     // m
#define BENDING 6e-3  // N m: a droop of 0.42 of its length
#define CLAMPED 1e-6  // m, beyond the last node that is held

// A strip along x whose nodes at x <= 0 are held: the last two rows of them.
static double droop_of(int64_t columns, const char *folder) {
  double cell = FREE / (double)columns;
  hung h = { .cloth = cloth_of(columns + 1, 5, FREE + cell, WIDE), .dt = KP_AUTO, .until = 1.5 };
  h.cloth.position = kp_vec3_make(0.5 * (FREE - cell), 0, 0);
  h.cloth.bending = BENDING;
  h.cloth.viscosity = 10.0;
  if (folder != NULL) {
    h.folder = folder;
    snprintf(h.cloth.mesh, sizeof h.cloth.mesh, "strip.obj");
    h.cloth.position = kp_vec3_make(0, 0, 0);
  }
  h.held = kp_test_box(kp_vec3_make(-1, -1, -1), kp_vec3_make(CLAMPED, 1, 1));
  return -lowest(&h);
}

static double droop_exact(void) {
  return -kp_elastica_height(GRAVITY * kp_default_cloth_def().density, FREE, BENDING, 0.0);
}

static void test_strip_droops(void **state) {
  (void)state;
  double worst = 0.0, least = HUGE_VAL, most = 0.0, exact = droop_exact();
  for (size_t k = 0; k < 3; ++k) {
    double droop = droop_of(sizes[k], NULL);
    worst = kp_test_most(worst, fabs(droop / exact - 1.0));
    least = kp_test_least(least, droop);
    most = kp_test_most(most, droop);
  }
  print_message("  droop %.3f to %.3f mm, elastica %.3f mm\n", 1e3 * least, 1e3 * most,
                1e3 * exact);
  kp_claim claim = { .id = "kelpie-cloth-cantilever",
                     .text = "a clamped strip of cloth hangs as the elastica of its bending "
                             "stiffness, for any number of columns",
                     .size = "0.2 m of 0.3 kg/m^2 and 6e-3 N m, 22 to 88 columns" };
  assert_int_equal(
      kp_claim_all(&claim, { "largest share by which the droop is off", worst, KP_AT_MOST, 0.05 },
                   { "largest droop over the smallest", most / least, KP_AT_MOST, 1.05 }),
      KP_CLAIM_CONFIRMED);
}

typedef enum mesh_kind { HERRING_BONE, EQUILATERAL, IRREGULAR } mesh_kind;

// Triangles of the strip, its first column of cells before the clamp, as a file.
static void write_mesh(const char *path, mesh_kind kind, int columns) {
  kp_test_random random = kp_test_random_begin(9);
  double cell = FREE / columns, tall = kind == EQUILATERAL ? cell * sqrt(0.75) : cell;
  int rows = (int)lround(WIDE / tall), wide = columns + 2;
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (int j = 0; j <= rows; ++j) {
    for (int i = 0; i < wide; ++i) {
      double x = (i - 1) * cell, z = WIDE * ((double)j / rows - 0.5);
      x += kind == EQUILATERAL && j % 2 == 1 ? 0.5 * cell : 0.0;
      if (kind == IRREGULAR && i > 1 && i < wide - 1 && j > 0 && j < rows) {
        x += kp_test_uniform(&random, -0.3, 0.3) * cell;
        z += kp_test_uniform(&random, -0.3, 0.3) * cell;
      }
      fprintf(file, "v %.9g 0 %.9g\n", x, z);
    }
  }
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < wide - 1; ++i) {
      int a = j * wide + i + 1, b = a + 1, c = a + wide, d = c + 1;
      bool other = kind == IRREGULAR     ? kp_test_uniform(&random, 0.0, 1.0) < 0.5
                   : kind == EQUILATERAL ? j % 2 == 0
                                         : (i + j) % 2 == 1;
      fprintf(file, "f %d %d %d\nf %d %d %d\n", a, c, other ? b : d, other ? b : a, other ? c : d,
              other ? d : b);
    }
  }
  fclose(file);
}

// Angles at the edges of any triangles are no plate in every direction: what is left is told.
static void test_mesh_droops(void **state) {
  static const char *const names[] = { "herring-bone", "equilateral", "irregular" };
  const char *path = kp_test_path(*state, "strip.obj");
  for (int kind = HERRING_BONE; kind <= IRREGULAR; ++kind) {
    write_mesh(path, (mesh_kind)kind, 16);
    double off = droop_of(16, *state) / droop_exact() - 1.0;
    print_message("  %s: off by %.3f\n", names[kind], off);
    assert_true(fabs(off) < 0.1);
  }
}

// ---- what the keys mean -------------------------------------------------------------------------

// The first element of a kind.
static const kp_tet *element(const kp_part *part, kp_tet_kind kind) {
  for (size_t k = 0; k < part->tets.count; ++k) {
    if (part->tets.data[k].kind == kind) {
      return &part->tets.data[k];
    }
  }
  return NULL;
}

// Of a square of one cell no more than its diagonal bends: k = 2 D a b/l^2 = D, and a hinge of k
// resists a small angle by k/2.
static void expect(const kp_cloth_def *def, double modulus, double bending) {
  kp_part part;
  assert_ok(kp_cloth_make(def, NULL, &part));
  assert_near(element(&part, KP_TET_MEMBRANE)->stiffness / modulus, 1.0, 1e-12);
  assert_near(element(&part, KP_TET_BEND)->stiffness / (2.0 * bending), 1.0, 1e-12);
  assert_true(part.springs.count == 0);
  kp_part_free(&part);
}

static void test_constants(void **state) {
  (void)state;
  kp_cloth_def def = cloth_of(1, 1, 1.0, 1.0);
  expect(&def, 1.2e6 * 8.4e-4, 1.2e6 * pow(8.4e-4, 3.0) / (12.0 * 0.99));
  def.young = 1e9;
  def.poisson = 0.5;
  def.fabric_thickness = 1e-3;
  expect(&def, 1e6, 1.0 / (12.0 * 0.75));
  def.stiffness = 7.0;
  expect(&def, 7.0, 1.0 / (12.0 * 0.75));
  def.bending = 0.25;
  expect(&def, 7.0, 0.25);
}

static void refuse(const kp_cloth_def *def, const char *words) {
  kp_part part;
  assert_int_equal(kp_cloth_make(def, NULL, &part), KP_ERROR_SCENE);
  if (strstr(kp_last_error(), words) == NULL) {
    fail_msg("\"%s\" is not in \"%s\"", words, kp_last_error());
  }
}

// Constants of springs, and what needs springs, are refused by name.
static void test_refused_keys(void **state) {
  (void)state;
  kp_cloth_def def = cloth_of(4, 4, 1.0, 1.0), other = def;
  other.bend_stiffness = 1.0;
  refuse(&other, "bend_stiffness is of springs");
  other = def;
  other.compression = 1.0;
  refuse(&other, "compression is of springs");
  other = def;
  other.shear = 1.0;
  refuse(&other, "shear is of springs");
  other = def;
  other.hinge = 1.0;
  refuse(&other, "hinge is of springs");
  other = def;
  other.axial = 1.0;
  refuse(&other, "axial is of springs");
  other = def;
  other.particle_radius = 0.1;
  refuse(&other, "particle_radius");
  other = def;
  other.scheme = KP_SCHEME_KANG;
  refuse(&other, "model = \"edges\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_square_sags),
    cmocka_unit_test(test_strip_droops),
    cmocka_unit_test_setup_teardown(test_mesh_droops, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_patterns_and_schemes),
    cmocka_unit_test(test_constants),
    cmocka_unit_test(test_refused_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
