// Jets in free fall: they thin by continuity, R = R_0 (u_0/u)^(1/2), and stay one piece.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/claims.h"
#include "support/worlds.h"

#define R_0 0.02   // m, of the opening
#define U_0 0.5    // m/s
#define DX 0.004   // m
#define FALL 0.5   // m
#define REACH 2.0  // spacings: particles farther apart are not one piece
#define TOLERANCE 0.15

typedef struct particles {
  int64_t n;
  double *x[3], *v[3];
} particles;

static particles read_particles(kp_world *world, const char *set) {
  particles p = { .n = kp_world_count(world, set) };
  for (int c = 0; c < 3; ++c) {
    p.x[c] = calloc((size_t)p.n, sizeof(double));
    p.v[c] = calloc((size_t)p.n, sizeof(double));
    assert_true(p.x[c] != NULL && p.v[c] != NULL);
    assert_ok(kp_world_read(world, set, "position", c, p.x[c], p.n));
    assert_ok(kp_world_read(world, set, "velocity", c, p.v[c], p.n));
  }
  return p;
}

static void free_particles(particles *p) {
  for (int c = 0; c < 3; ++c) {
    free(p->x[c]);
    free(p->v[c]);
  }
}

typedef struct kind {
  const char *name;
  int method;  // kp_liquid_method
  int solver;  // of SPH
  double support;
} kind;

static kp_world *make_jet(const kind *k) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-0.1, -0.55, -0.1), kp_vec3_make(0.1, 0.05, 0.1));
  s.domain.boundary_x = s.domain.boundary_y = s.domain.boundary_z = KP_BOUNDARY_OPEN;
  s.sph = kp_default_sph_def();
  s.sph.solver = k->solver;
  s.sph.support = k->support;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_default_liquid_def();
  snprintf(water.name, sizeof water.name, "water");
  water.method = k->method;
  water.spacing = DX;
  water.empty = true;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def tap = kp_default_emitter_def();
  snprintf(tap.name, sizeof tap.name, "tap");
  snprintf(tap.into, sizeof tap.into, "water");
  tap.radius = R_0;
  tap.speed = kp_curve_constant(U_0);
  assert_ok(kp_world_add_emitter(world, &tap));
  assert_ok(kp_world_build(world));
  return world;
}

// sqrt(2 <r^2>): the radius of an even disc.
static double radius_at(const particles *p, double y) {
  double n = 0.0, square = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    if (fabs(p->x[1][i] - y) < 0.025) {
      n += 1.0;
      square += p->x[0][i] * p->x[0][i] + p->x[2][i] * p->x[2][i];
    }
  }
  return n > 0.0 ? sqrt(2.0 * square / n) : 0.0;
}

// Share of the particles that hang together with the first, by steps of at most REACH spacings.
static double largest_piece(const particles *p) {
  KP_ARRAY(int64_t) todo = { 0 };
  bool *seen = calloc((size_t)p->n, sizeof *seen);
  int64_t largest = 0;
  assert_non_null(seen);
  for (int64_t first = 0; first < p->n; ++first) {
    int64_t size = 0;
    if (!seen[first]) {
      seen[first] = true;
      assert_ok(kp_array_push(&todo, first));
    }
    while (todo.count > 0) {
      int64_t i = todo.data[--todo.count];
      ++size;
      for (int64_t j = 0; j < p->n; ++j) {
        double x = p->x[0][i] - p->x[0][j];
        double y = p->x[1][i] - p->x[1][j];
        double z = p->x[2][i] - p->x[2][j];
        if (!seen[j] && x * x + y * y + z * z < REACH * REACH * DX * DX) {
          seen[j] = true;
          assert_ok(kp_array_push(&todo, j));
        }
      }
    }
    largest = size > largest ? size : largest;
  }
  free(seen);
  kp_array_free(&todo);
  return (double)largest / (double)p->n;
}

static void test_jets_thin_and_stay_whole(void **state) {
  (void)state;
  static const kind kinds[3] = {
    { "sph", KP_LIQUID_SPH, KP_SPH_SOLVER_WCSPH, 2.4 },
    { "dfsph", KP_LIQUID_SPH, KP_SPH_SOLVER_DFSPH, 2.0 },
    { "flip", KP_LIQUID_FLIP, KP_SPH_SOLVER_WCSPH, 2.4 },
  };
  double off[3];
  double whole[3];
  double y = -(FALL - 0.025);
  double right = R_0 * sqrt(U_0 / sqrt(U_0 * U_0 - 2.0 * 9.81 * y));
  for (int k = 0; k < 3; ++k) {
    kp_world *world = make_jet(&kinds[k]);
    assert_ok(kp_world_advance(world, 0.4, NULL));
    particles p = read_particles(world, "water");
    double radius = radius_at(&p, y);
    off[k] = fabs(radius / right - 1.0);
    whole[k] = largest_piece(&p);
    print_message("  %-6s %lld particles, radius %.2f mm (%.2f by continuity), %.4f in one piece\n",
                  kinds[k].name, (long long)p.n, 1e3 * radius, 1e3 * right, whole[k]);
    assert_between(off[k], 0.0, TOLERANCE);
    assert_between(whole[k], 0.999, 1.0);
    free_particles(&p);
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "kelpie-jets",
                     .text = "a jet of 2 cm radius and 0.5 m/s that has fallen half a metre is as "
                             "thin as continuity asks and in one piece",
                     .size = "spacing 4 mm, 2,800 particles" };
  kp_claim_status status = kp_claim_all(
      &claim, { "SPH: radius after 0.5 m, relative error", off[0], KP_AT_MOST, TOLERANCE },
      { "DFSPH: radius after 0.5 m, relative error", off[1], KP_AT_MOST, TOLERANCE },
      { "FLIP: radius after 0.5 m, relative error", off[2], KP_AT_MOST, TOLERANCE },
      { "SPH: share of the particles in the largest piece", whole[0], KP_AT_LEAST, 0.999 },
      { "DFSPH: share of the particles in the largest piece", whole[1], KP_AT_LEAST, 0.999 },
      { "FLIP: share of the particles in the largest piece", whole[2], KP_AT_LEAST, 0.999 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_jets_thin_and_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
