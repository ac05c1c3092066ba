// Grains that flow and heap up: the discharge of a silo against Beverloo's law, the angle of
// repose against published ones, and the packing that they start from.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/grains/grains.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define D 0.02  // m, diameter of a grain
#define MANY 20000

static double x[3][MANY];

static int64_t read_places(kp_world *world, const char *set) {
  int64_t n = kp_world_count(world, set);
  assert_true(n <= MANY);
  for (int c = 0; c < 3; ++c) {
    assert_ok(kp_world_read(world, set, "position", c, x[c], n));
  }
  return n;
}

static kp_collider_def plate(const char *name, kp_vec3 lo, kp_vec3 hi) {
  kp_collider_def def = kp_default_collider_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  return def;
}

static kp_grains_def glass(const char *name, double friction) {
  kp_grains_def def = kp_default_grains_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.spacing = D;
  def.friction = friction;
  def.contact_time = 3e-3;
  return def;
}

// ---- silo ---------------------------------------------------------------------------------------

#define HALF (14 * D)  // of the silo
#define DEEP (4 * D)   // periodic
#define FLOOR (5 * D)  // height of the upper side of the bottom

// Mass over volume of the bed well inside.
static double bulk_density(kp_world *world, double grain) {
  int64_t n = read_places(world, "beads");
  int64_t inside = 0;
  double side = HALF - 3 * D;
  for (int64_t i = 0; i < n; ++i) {
    inside += fabs(x[0][i]) < side && x[1][i] > FLOOR + 3 * D && x[1][i] < FLOOR + 11 * D;
  }
  return (double)inside * grain / (2 * side * 8 * D * DEEP);
}

static kp_world *make_silo(double width, double height) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-HALF, 0, 0), kp_vec3_make(HALF, FLOOR + height, DEEP));
  s.domain.boundary_y = KP_BOUNDARY_OPEN;
  s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  kp_world *world = kp_test_world(&s);
  double low = FLOOR - 3 * D;
  kp_collider_def left =
      plate("left", kp_vec3_make(-2 * HALF, low, -1), kp_vec3_make(-0.5 * width, FLOOR, 1));
  kp_collider_def right =
      plate("right", kp_vec3_make(0.5 * width, low, -1), kp_vec3_make(2 * HALF, FLOOR, 1));
  kp_grains_def beads = glass("beads", 0.5);
  beads.shape =
      kp_test_box(kp_vec3_make(-HALF, FLOOR, 0), kp_vec3_make(HALF, FLOOR + height, DEEP));
  assert_ok(kp_world_add_collider(world, &left));
  assert_ok(kp_world_add_collider(world, &right));
  assert_ok(kp_world_add_grains(world, &beads));
  assert_ok(kp_world_build(world));
  return world;
}

// Rate over that of Beverloo et al. 1961 for a slot without ends, W = 1.03 rho sqrt(g) L
// (B - 1.4 d)^1.5 (Myers & Sellers 1978, in Nedderman 1992, section 10.4), with the density of the
// bed.
static double discharge(double width, double height) {
  kp_world *world = make_silo(width, height);
  double grain = PI / 6 * D * D * D * 2500.0;
  assert_ok(kp_world_advance(world, 0.2, NULL));
  double density = bulk_density(world, grain);
  double before = (double)kp_world_count(world, "beads");
  assert_ok(kp_world_advance(world, 0.4, NULL));
  double rate = (before - (double)kp_world_count(world, "beads")) * grain / 0.4;
  kp_world_destroy(&world);
  double law = 1.03 * density * sqrt(9.81) * DEEP * pow(width - 1.4 * D, 1.5);
  print_message("  slot of %.0f d: %.2f kg/s at %.0f kg/m^3, %.3f of Beverloo's law\n", width / D,
                rate, density, rate / law);
  return rate / law;
}

static void test_discharge(void **state) {
  (void)state;
  double narrow = discharge(8 * D, 26 * D);
  double wide = discharge(10 * D, 30 * D);
  double worst = fmax(fabs(narrow - 1.0), fabs(wide - 1.0));
  kp_claim claim = { .id = "kelpie-grains-discharge",
                     .text = "a silo empties through a slot at the rate of Beverloo's law",
                     .size = "2,912 and 3,360 spheres, slots of 8 and 10 d, mu = 0.5" };
  kp_claim_all(&claim, { "rate off Beverloo's, relative", worst, KP_AT_MOST, 0.1 });
  assert_true(worst <= 0.1);
}

// ---- angle of repose ----------------------------------------------------------------------------

#define BASE_COLUMNS 14
#define BASE (BASE_COLUMNS * D)  // half of the rough base that the heap is left on

// Slope of what is left, between 10 and 90 % of its height, by least squares over bins of |x|.
static double flank(kp_world *world) {
  enum { BINS = BASE_COLUMNS - 1 };
  int64_t n = read_places(world, "beads");
  double top[BINS] = { 0 };
  double height = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    int bin = (int)(fabs(x[0][i]) / D);
    double y = x[1][i] - FLOOR;
    height = kp_test_most(height, y);
    if (bin < BINS) {
      top[bin] = kp_test_most(top[bin], y);
    }
  }
  double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int b = 0; b < BINS; ++b) {
    double at = (b + 0.5) * D;
    if (top[b] > 0.1 * height && top[b] < 0.9 * height) {
      s += 1;
      sx += at;
      sy += top[b];
      sxx += at * at;
      sxy += at * top[b];
    }
  }
  assert_true(s > 4);
  return -(s * sxy - sx * sy) / (s * sxx - sx * sx);
}

// A bed flows off a rough base over both its ends, as in the tests of Zhou et al. 2002: what stays
// has the slope at which grains come to rest, without the push of a collapse.
static double drained_angle(double rolling) {
  double half = BASE + 4 * D;
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-half, 0, 0), kp_vec3_make(half, 20 * D, DEEP));
  s.domain.boundary_y = KP_BOUNDARY_OPEN;
  s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  kp_world *world = kp_test_world(&s);
  kp_grains_def beads = glass("beads", 0.5);
  beads.rolling_friction = rolling;
  beads.size_ratio = 0.8;
  beads.shape = kp_test_box(kp_vec3_make(-half, FLOOR, 0), kp_vec3_make(half, 17 * D, DEEP));
  kp_grains_def base = beads;
  snprintf(base.name, sizeof base.name, "base");
  base.frozen = true;
  base.shape = kp_test_box(kp_vec3_make(-BASE, FLOOR - D, 0), kp_vec3_make(BASE, FLOOR, DEEP));
  assert_ok(kp_world_add_grains(world, &base));
  assert_ok(kp_world_add_grains(world, &beads));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 1.5, NULL));
  double angle = atan(flank(world)) * 180.0 / PI;
  kp_world_destroy(&world);
  return angle;
}

// Spheres of friction 0.5: glass beads rest at 20 to 25 degrees (Zhou et al. 2002; GDR MiDi 2004),
// dry sand, whose grains roll badly, at 30 to 34 (Al-Hashemi & Al-Amoudi 2018).
static void test_angle_of_repose(void **state) {
  (void)state;
  double round = drained_angle(0.0);
  double hindered = drained_angle(0.1);
  print_message("  angle of repose at mu = 0.5: %.1f degrees, with rolling friction 0.1: %.1f\n",
                round, hindered);
  kp_claim claim = { .id = "kelpie-grains-drained",
                     .text = "what is left of a bed that flows off rests at the angle of glass "
                             "beads to sand, and steeper with rolling friction",
                     .size = "1,728 spheres, mu = 0.5, drained over the ends of a rough base" };
  kp_claim_all(&claim, { "angle at rolling friction 0.1 [degrees]", hindered, KP_AT_LEAST, 20 },
               { "the same at most", hindered, KP_AT_MOST, 34 },
               { "angle without rolling friction", round, KP_AT_LEAST, 18 },
               { "gain by rolling friction [degrees]", hindered - round, KP_MORE, 0 });
  assert_between(hindered, 20.0, 34.0);
  assert_true(round >= 18.0 && hindered > round);
}

// ---- packing ------------------------------------------------------------------------------------

// Mean of (x^4 + y^4 + z^4)/r^4 over pairs that almost touch: 1 on a cubic lattice, 3/5 where no
// direction is like another. *closest is the least distance of two.
static double order_of(int64_t n, double *closest) {
  double sum = 0.0;
  int64_t pairs = 0;
  *closest = HUGE_VAL;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      double d[3] = { x[0][i] - x[0][j], x[1][i] - x[1][j], x[2][i] - x[2][j] };
      double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      if (r2 < 1.5 * D * D) {
        *closest = kp_test_least(*closest, sqrt(r2));
        sum += (pow(d[0], 4) + pow(d[1], 4) + pow(d[2], 4)) / (r2 * r2);
        pairs += 1;
      }
    }
  }
  assert_true(pairs > n);
  return sum / (double)pairs;
}

static kp_world *make_packing(double jitter, int64_t seed) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.simulation.seed = seed;
  kp_world *world = kp_test_world(&s);
  kp_grains_def beads = glass("beads", 0.5);
  beads.jitter = jitter;
  beads.shape = kp_test_box(kp_vec3_make(0, 0, 0), kp_vec3_make(14 * D, 12 * D, 10 * D));
  kp_collider_def block =
      plate("block", kp_vec3_make(5 * D, 0, 0), kp_vec3_make(9 * D, 4 * D, 4 * D));
  assert_ok(kp_world_add_collider(world, &block));
  assert_ok(kp_world_add_grains(world, &beads));
  kp_test_log_begin();  // grains in the block are left out
  assert_ok(kp_world_build(world));
  (void)kp_test_log_end();
  return world;
}

static uint64_t hash_of(kp_world *world) {
  uint64_t hash;
  assert_ok(kp_world_hash(world, &hash));
  return hash;
}

static void test_packing(void **state) {
  (void)state;
  double closest;
  kp_world *lattice = make_packing(0.0, 0);
  int64_t n = read_places(lattice, "beads");
  assert_near(order_of(n, &closest), 1.0, 1e-6);
  kp_world_destroy(&lattice);
  kp_world *world = make_packing(KP_AUTO, 0);
  uint64_t hash = hash_of(world);
  assert_true(read_places(world, "beads") == n);
  double order = order_of(n, &closest);
  print_message("  %lld grains, fourth moment of directions %.3f, closest pair %.5f d\n",
                (long long)n, order, closest / D);
  assert_near(order, 0.6, 0.03);
  assert_true(closest >= (1 - 1.1e-4) * D);
  for (int64_t i = 0; i < n; ++i) {
    double past[3];  // the block, where it is not behind
    for (int c = 0; c < 3; ++c) {
      assert_true(x[c][i] > 0.4999 * D && x[c][i] < (14.0 - 2.0 * c - 0.4999) * D);
      past[c] = c == 0 ? fmax(fabs(x[0][i] - 7 * D) - 2 * D, 0.0) : fmax(x[c][i] - 4 * D, 0.0);
    }
    assert_true(kp_vec3_length(kp_vec3_make(past[0], past[1], past[2])) > 0.499 * D);
  }
  kp_world *again = make_packing(KP_AUTO, 0);
  assert_true(hash_of(again) == hash);
  kp_world_destroy(&again);
  kp_world *other = make_packing(KP_AUTO, 1);
  assert_true(hash_of(other) != hash);
  kp_world_destroy(&other);
  // nothing is shot out by what was packed too close
  assert_ok(kp_world_advance(world, 0.01, NULL));
  kp_population_stats stats;
  assert_ok(kp_world_stats(world, 0, &stats));
  assert_true(stats.max_speed < 0.3);
  kp_world_destroy(&world);
}

// ---- short steps --------------------------------------------------------------------------------

static void build_fine(int contact, double time, double height) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.01, height, 0.01));
  kp_world *world = kp_test_world(&s);
  kp_dem_def dem = kp_default_dem_def();
  dem.contact = contact;
  kp_grains_def dust = glass("dust", 0.5);
  dust.spacing = 2e-4;
  dust.contact_time = time;
  dust.shape = kp_test_box(kp_vec3_make(0, height - 1e-3, 0), kp_vec3_make(1e-3, height, 1e-3));
  assert_ok(kp_world_set_dem(world, &dem));
  assert_ok(kp_world_add_grains(world, &dust));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_world_destroy(&world);
}

static void test_short_steps_are_told(void **state) {
  (void)state;
  build_fine(0, KP_AUTO, 0.5);
  const char *log = kp_test_log_end();
  print_message("%s", log);
  assert_non_null(strstr(log, "\"dust\""));
  assert_non_null(strstr(log, "contact_time = "));
  build_fine(1, KP_AUTO, 0.5);
  assert_non_null(strstr(kp_test_log_end(), "young_modulus"));
  build_fine(0, 2.6e-5, 0.5);
  assert_string_equal(kp_test_log_end(), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_discharge),
    cmocka_unit_test(test_angle_of_repose),
    cmocka_unit_test(test_packing),
    cmocka_unit_test(test_short_steps_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
