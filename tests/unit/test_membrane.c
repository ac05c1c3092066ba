// The triangle of a membrane: its force is the slope of its energy, its matrix the slope of its
// force, it obeys Hooke, and nothing in it resists a rigid motion.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "methods/deform/deform_membrane_kernels.h"

typedef struct membrane {
  int32_t corner[3], tet;
  kp_real rest[MEMBRANE_REST], state[MEMBRANE_STATE];
  kp_pos x[3][3];
} membrane;

static const double modulus = 5.0, ratio = 0.3;

static membrane make(const kp_vec3 x[3], double tau) {
  membrane m = { .corner = { 0, 1, 2 } };
  kp_vec3 e = kp_vec3_sub(x[1], x[0]), f = kp_vec3_sub(x[2], x[0]);
  double length = kp_vec3_length(e), area2 = kp_vec3_length(kp_vec3_cross(e, f));
  m.rest[MEMBRANE_B] = (kp_real)(1.0 / length);
  m.rest[MEMBRANE_B + 1] = (kp_real)(-kp_vec3_dot(e, f) / length / area2);
  m.rest[MEMBRANE_B + 2] = (kp_real)(length / area2);
  m.rest[MEMBRANE_AREA] = (kp_real)(0.5 * area2);
  m.rest[MEMBRANE_LAMBDA] = (kp_real)(modulus * ratio / (1.0 - ratio * ratio));
  m.rest[MEMBRANE_MU] = (kp_real)(modulus / (2.0 * (1.0 + ratio)));
  m.rest[MEMBRANE_TAU] = (kp_real)tau;
  return m;
}

static void put(membrane *m, const kp_vec3 x[3]) {
  for (int c = 0; c < 3; ++c) {
    m->x[0][c] = x[c].x;
    m->x[1][c] = x[c].y;
    m->x[2][c] = x[c].z;
  }
}

static void evaluate(membrane *m, const kp_vec3 x[3], double implicit) {
  put(m, x);
  deform_membrane_args g = {
    .n = 1, .implicit = (kp_real)implicit, .turns = (kp_real)implicit, .strength = 1
  };
  g.corner = m->corner;
  g.rest = m->rest;
  g.x = m->x[0];
  g.y = m->x[1];
  g.z = m->x[2];
  g.state = m->state;
  deform_membrane(0, &g);
}

static double energy(membrane *m, const kp_vec3 x[3]) {
  put(m, x);
  deform_membrane_energy_args g = { .n = 1, .strength = 1 };
  g.corner = m->corner;
  g.rest = m->rest;
  g.x = m->x[0];
  g.y = m->x[1];
  g.z = m->x[2];
  double value;
  deform_membrane_energy(0, &g, &value);
  return value;
}

// Forces on the corners of an evaluation at velocities v.
static void pull(membrane *m, const double v[9], bool elastic, double force[9]) {
  kp_real w[3][3], t[3][4];
  for (int k = 0; k < 9; ++k) {
    w[k % 3][k / 3] = (kp_real)v[k];
  }
  deform_membrane_pull_args g = { .n = 1, .elastic = elastic ? (kp_real)1 : (kp_real)0 };
  g.corner = m->corner;
  g.tet = &m->tet;
  g.state = m->state;
  g.v = (deform_in){ w[0], w[1], w[2], 0, 0, 0 };
  g.tx = t[0];
  g.ty = t[1];
  g.tz = t[2];
  deform_membrane_pull(0, &g);
  for (int k = 0; k < 9; ++k) {
    force[k] = (double)t[k % 3][k / 3];
  }
}

static double *component(kp_vec3 *x, int k) {
  return k % 3 == 0 ? &x[k / 3].x : k % 3 == 1 ? &x[k / 3].y : &x[k / 3].z;
}

// A triangle of sides near one, and the same stretched, sheared and turned.
static void any_triangle(kp_test_random *random, double least, double most, kp_vec3 rest[3],
                         kp_vec3 x[3]) {
  rest[0] = kp_test_vec3(random, -1.0, 1.0);
  kp_vec3 e[2] = { { 1.0, 0.0, 0.0 }, { kp_test_uniform(random, 0.2, 0.8), 1.0, 0.0 } };
  kp_quat turns[2];
  for (int k = 0; k < 2; ++k) {
    turns[k] = kp_quat_from_axis_angle(kp_vec3_normalize(kp_test_vec3(random, -1.0, 1.0)), 2.0);
  }
  double s = kp_test_uniform(random, least, most), t = kp_test_uniform(random, least, most);
  double shear = kp_test_uniform(random, -0.1, 0.1);
  x[0] = kp_test_vec3(random, -1.0, 1.0);
  for (int c = 0; c < 2; ++c) {
    rest[c + 1] = kp_vec3_add(rest[0], kp_quat_rotate(turns[0], e[c]));
    kp_vec3 now = { s * e[c].x + shear * e[c].y, t * e[c].y, 0.0 };
    x[c + 1] = kp_vec3_add(x[0], kp_quat_rotate(turns[1], now));
  }
}

static void test_force(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(71);
  const double h = 1e-6, still[9] = { 0.0 };
  for (int n = 0; n < 300; ++n) {
    kp_vec3 rest[3], x[3];
    double force[9];
    any_triangle(&random, 0.3, 2.0, rest, x);
    membrane m = make(rest, 0.0);
    evaluate(&m, x, 0.0);
    pull(&m, still, true, force);
    for (int k = 0; k < 9; ++k) {
      double kept = *component(x, k);
      *component(x, k) = kept + h;
      double up = energy(&m, x);
      *component(x, k) = kept - h;
      double slope = (up - energy(&m, x)) / (2.0 * h);
      *component(x, k) = kept;
      assert_near(force[k], -slope, KP_TOL(1e-5, 1e-7));
    }
  }
}

// Of stretched triangles, whose second derivative has no negative part.
static void test_matrix(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(72);
  const double h = 1e-4, still[9] = { 0.0 };
  for (int n = 0; n < 300; ++n) {
    kp_vec3 rest[3], x[3];
    double up[9], down[9], force[9], v[9];
    any_triangle(&random, 1.2, 2.0, rest, x);
    membrane m = make(rest, 0.0), at = m;
    evaluate(&at, x, 1.0);
    for (int k = 0; k < 9; ++k) {
      double kept = *component(x, k);
      memcpy(v, still, sizeof v);
      v[k] = 1.0;
      pull(&at, v, false, force);
      *component(x, k) = kept + h;
      evaluate(&m, x, 0.0);
      pull(&m, still, true, up);
      *component(x, k) = kept - h;
      evaluate(&m, x, 0.0);
      pull(&m, still, true, down);
      *component(x, k) = kept;
      for (int i = 0; i < 9; ++i) {
        assert_near(force[i], (up[i] - down[i]) / (2.0 * h), KP_TOL(2e-2, 1e-5));
      }
    }
  }
}

// Pulled along one side it narrows by Poisson's ratio and resists by the modulus, at any stretch.
static void test_hooke(void **state) {
  (void)state;
  const kp_vec3 rest[3] = { { 0, 0, 0 }, { 2, 0, 0 }, { 0, 0, 1 } };
  const double still[9] = { 0.0 };
  double force[9];
  for (int k = 0; k < 3; ++k) {
    double strain = k == 0 ? 1e-3 : 0.3 * k;
    kp_vec3 x[3] = { { 0, 0, 0 }, { 2.0 * (1.0 + strain), 0, 0 }, { 0, 0, 1.0 - ratio * strain } };
    membrane m = make(rest, 0.0);
    evaluate(&m, x, 0.0);
    pull(&m, still, true, force);
    // half of what pulls a strip as wide as the triangle lies in its corner
    assert_near(force[3], -0.5 * modulus * strain, KP_TOL(1e-6, 1e-12));
    assert_near(force[8], 0.0, KP_TOL(1e-6, 1e-12));
  }
}

// Damping and the matrix alike: rates of a rigid motion, of a triangle that is stretched.
static void test_rigid_motion(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(73);
  for (int n = 0; n < 100; ++n) {
    kp_vec3 rest[3], x[3], spin = kp_test_vec3(&random, -1.0, 1.0);
    kp_vec3 shift = kp_test_vec3(&random, -1.0, 1.0);
    double v[9], force[9], sum = 0.0;
    any_triangle(&random, 0.3, 2.0, rest, x);
    membrane m = make(rest, 0.1);
    evaluate(&m, x, 0.0);
    for (int k = 0; k < 9; ++k) {
      kp_vec3 w = kp_vec3_add(shift, kp_vec3_cross(spin, x[k / 3]));
      v[k] = *component(&w, k % 3);
    }
    pull(&m, v, false, force);
    for (int k = 0; k < 9; ++k) {
      assert_near(force[k], 0.0, KP_TOL(1e-5, 1e-13));
      v[k] = kp_test_uniform(&random, -1.0, 1.0);
    }
    pull(&m, v, false, force);
    for (int k = 0; k < 9; ++k) {
      sum += force[k] * v[k];
    }
    assert_true(sum < 0.0);
  }
}

// How much force a rate takes at most: explicit steps are as long as the triangle at rest bears.
static double most_damping(membrane *m, const kp_vec3 x[3]) {
  double most = 0.0;
  evaluate(m, x, 0.0);
  for (int k = 0; k < 9; ++k) {
    double v[9] = { 0.0 }, force[9];
    v[k] = 1.0;
    pull(m, v, false, force);
    most = fmax(most, -force[k]);
  }
  return most;
}

static void test_stretched_damping(void **state) {
  (void)state;
  const kp_vec3 rest[3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
  for (int n = 0; n < 4; ++n) {
    double s = n % 2 == 0 ? 1.0 : 4.0, t = n / 2 == 0 ? 1.0 : 4.0;
    const kp_vec3 x[3] = { { 0, 0, 0 }, { s, 0, 0 }, { 0, t, 0 } };
    membrane m = make(rest, 0.1);
    double still = most_damping(&m, rest);
    assert_between(most_damping(&m, x), 0.2 * still, (1.0 + KP_TOL(1e-6, 1e-12)) * still);
  }
}

// A triangle that has become a line or a point does not end in numbers that are none.
static void test_degenerate(void **state) {
  (void)state;
  const kp_vec3 rest[3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
  const kp_vec3 flat[3][3] = { { { 0, 0, 0 }, { 1, 0, 0 }, { 2, 0, 0 } },
                               { { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, 3 } },
                               { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 1 } } };
  for (int k = 0; k < 3; ++k) {
    membrane m = make(rest, 0.1);
    evaluate(&m, flat[k], 1.0);
    for (int i = 0; i < MEMBRANE_STATE; ++i) {
      assert_true(isfinite((double)m.state[i]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_force),      cmocka_unit_test(test_matrix),
    cmocka_unit_test(test_hooke),      cmocka_unit_test(test_rigid_motion),
    cmocka_unit_test(test_degenerate), cmocka_unit_test(test_stretched_damping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
