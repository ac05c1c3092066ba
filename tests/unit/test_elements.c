// Elements of four nodes, one at a time: decompositions, slopes against differences, energies
// against work, matrices against differences of forces, symmetry, what a rigid motion does.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "math/svd3_wide.h"
#include "methods/deform/deform_tets_kernels.h"

#include "support/claims.h"

#define PI 3.14159265358979323846

static void random_matrix(kp_test_random *random, double a[9]) {
  for (int k = 0; k < 9; ++k) {
    a[k] = kp_test_uniform(random, -1.0, 1.0);
  }
}

static double determinant(const double a[9]) {
  return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
         a[2] * (a[3] * a[7] - a[4] * a[6]);
}

static void check_rotation(const double a[9], double tolerance) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      double dot = a[i] * a[j] + a[3 + i] * a[3 + j] + a[6 + i] * a[6 + j];
      assert_near(dot, i == j ? 1.0 : 0.0, tolerance);
    }
  }
  assert_near(determinant(a), 1.0, tolerance);
}

static void test_svd(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(3);
  for (int n = 0; n < 20000; ++n) {
    double a[9], u[9], s[3], v[9];
    random_matrix(&random, a);
    if (n % 5 == 1) {  // of rank two and one, and nothing
      memcpy(a + 6, a + 3, 3 * sizeof *a);
    } else if (n % 5 == 2) {
      for (int k = 3; k < 9; ++k) {
        a[k] = a[k - 3] * 0.5;
      }
    } else if (n == 3) {
      memset(a, 0, sizeof a);
    } else if (n % 5 == 4) {  // a rotation: all values equal
      kp_quat q = kp_quat_from_axis_angle(kp_vec3_normalize(kp_vec3_make(a[0], a[1], a[2])), a[3]);
      kp_mat3 m = kp_quat_to_mat3(q);
      memcpy(a, m.m, sizeof a);
    }
    kp_svd3(a, u, s, v);
    check_rotation(u, 1e-13);
    check_rotation(v, 1e-13);
    assert_true(s[0] >= s[1] - 1e-15 && s[1] >= fabs(s[2]) - 1e-7);
    assert_near(s[0] * s[1] * s[2], determinant(a), 1e-7);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        double back = u[3 * i] * s[0] * v[3 * j] + u[3 * i + 1] * s[1] * v[3 * j + 1] +
                      u[3 * i + 2] * s[2] * v[3 * j + 2];
        assert_near(back, a[3 * i + j], 3e-8);  // small values come from squares
      }
    }
  }
}

// The same in lanes. What squares leave of a small stretch is beyond kp_real, so back is a to a few
// thousandths of the largest where a has less than full rank, and to rounding elsewhere.
static void test_svd_lanes(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(3);
  for (int n = 0; n < 4000; ++n) {
    double a[KP_W_LANES][9];
    kp_w w[9], u[9], s[3], v[9];
    for (int l = 0; l < KP_W_LANES; ++l) {
      random_matrix(&random, a[l]);
      for (int k = 3; k < 9 && n % 5 == 1; ++k) {  // of rank one
        a[l][k] = a[l][k - 3] * 0.5;
      }
      if (n % 5 == 2) {  // nearly a rotation: all values alike
        kp_vec3 axis = kp_vec3_normalize(kp_vec3_make(a[l][0], a[l][1], a[l][2]));
        kp_mat3 m = kp_quat_to_mat3(kp_quat_from_axis_angle(axis, a[l][3]));
        for (int k = 0; k < 9; ++k) {
          a[l][k] = ((const double *)m.m)[k] + 1e-3 * a[l][k];
        }
      }
      for (int k = 0; k < 9; ++k) {
        a[l][k] = n == 3 ? 0.0 : a[l][k];
        w[k][l] = (kp_real)a[l][k];
      }
    }
    kp_w_svd3(w, u, s, v);
    for (int l = 0; l < KP_W_LANES; ++l) {
      double lu[9], lv[9];
      for (int k = 0; k < 9; ++k) {
        lu[k] = (double)u[k][l];
        lv[k] = (double)v[k][l];
      }
      check_rotation(lu, n % 5 == 1 ? KP_TOL(2e-3, 1e-6) : KP_TOL(1e-4, 1e-9));
      check_rotation(lv, KP_TOL(2e-6, 1e-12));
      assert_true(s[0][l] >= s[1][l] && s[1][l] >= fabs((double)s[2][l]) - KP_TOL(1e-3, 1e-6));
      assert_near((double)(s[0][l] * s[1][l] * s[2][l]), determinant(a[l]), KP_TOL(1e-5, 1e-9));
      for (int k = 0; k < 9; ++k) {
        int i = k / 3, j = k % 3;
        double back = lu[3 * i] * (double)s[0][l] * lv[3 * j] +
                      lu[3 * i + 1] * (double)s[1][l] * lv[3 * j + 1] +
                      lu[3 * i + 2] * (double)s[2][l] * lv[3 * j + 2];
        assert_near(back, a[l][k], n % 5 == 1 ? KP_TOL(2e-3, 1e-7) : KP_TOL(2e-4, 1e-9));
      }
    }
  }
}

// ---- hinges -------------------------------------------------------------------------------------

static double *component(kp_vec3 *v, int c) {
  return c == 0 ? &v->x : (c == 1 ? &v->y : &v->z);
}

static void test_hinge(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(4);
  const double h = 1e-6;
  double force = 0.0, turning = 0.0, slope = 0.0;
  int n_compared = 0;
  for (int n = 0; n < 2000; ++n) {
    kp_vec3 x[4], g[4], unused[4];
    for (int c = 0; c < 4; ++c) {
      x[c] = kp_test_vec3(&random, -1.0, 1.0);
    }
    double angle = kp_hinge_angle(x, g);
    kp_vec3 sum = { 0.0, 0.0, 0.0 }, moment = { 0.0, 0.0, 0.0 };
    double size = 0.0;
    for (int c = 0; c < 4; ++c) {
      sum = kp_vec3_add(sum, g[c]);
      moment = kp_vec3_add(moment, kp_vec3_cross(x[c], g[c]));
      size = kp_test_most(size, kp_vec3_length(g[c]));
    }
    force = kp_test_most(force, kp_vec3_length(sum) / size);
    turning = kp_test_most(turning, kp_vec3_length(moment) / size);
    if (size > 30.0 || fabs(angle) > 3.1) {
      continue;  // too sharp for differences
    }
    ++n_compared;
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        kp_vec3 y[4];
        memcpy(y, x, sizeof y);
        *component(&y[c], k) += h;
        double up = kp_hinge_angle(y, unused);
        *component(&y[c], k) -= 2.0 * h;
        double down = kp_hinge_angle(y, unused);
        double off = fabs((up - down) / (2.0 * h) - *component(&g[c], k));
        slope = kp_test_most(slope, off / (1.0 + size * size));
      }
    }
  }
  assert_true(n_compared > 1500);
  kp_claim claim = { .id = "selle-S48",
                     .text = "slopes of the angle between two triangles are those of differences, "
                             "and neither push nor turn the whole",
                     .size = "2000 random pairs" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "error of the slope over 1 + its square", slope, KP_AT_MOST, 1e-5 },
                   { "force on the whole, of the largest", force, KP_AT_MOST, 1e-12 },
                   { "moment on the whole, of the largest", turning, KP_AT_MOST, 1e-11 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  // flat is 0, a right angle is pi/2 with the sign of the side
  kp_vec3 g[4];
  kp_vec3 flat[4] = { { 1, 0, 0 }, { -1, 0, 0 }, { 0, 0, 0 }, { 0, 1, 0 } };
  assert_near(kp_hinge_angle(flat, g), 0.0, 1e-15);
  flat[1] = kp_vec3_make(0, 0, 1);
  double up = kp_hinge_angle(flat, g);
  flat[1] = kp_vec3_make(0, 0, -1);
  assert_near(fabs(up), 0.5 * PI, 1e-12);
  assert_near(kp_hinge_angle(flat, g), -up, 1e-12);
}

// ---- altitude springs ---------------------------------------------------------------------------

// One spring through the kernels, with arrays of one.
typedef struct axis {
  int32_t corner[4];
  uint8_t kind;
  kp_real rest[DEFORM_AXIS_REST], stiffness, damping;
  kp_pos x[3][4];
  kp_real slope[12], force, rate;
  uint8_t hold[4];
} axis;

static axis axis_make(const kp_vec3 rest[4], double floor) {
  axis a = { .corner = { 0, 1, 2, 3 }, .kind = DEFORM_AXIS_ALTITUDE, .stiffness = 3 };
  for (int k = 0; k < KP_ALTITUDES; ++k) {
    a.rest[k] = (kp_real)kp_altitude_make(rest, k).length;
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      a.rest[KP_ALTITUDES + kp_altitude_edge(i, j)] = (kp_real)kp_altitude_square(rest[i], rest[j]);
    }
  }
  a.rest[DEFORM_AXIS_FLOOR] = (kp_real)floor;
  return a;
}

static void axis_place(axis *a, const kp_vec3 x[4]) {
  for (int c = 0; c < 4; ++c) {
    a->x[0][c] = x[c].x;
    a->x[1][c] = x[c].y;
    a->x[2][c] = x[c].z;
  }
}

static void axis_evaluate(axis *a) {
  deform_axis_args g = { .n = 1, .implicit = 1, .strength = 1 };
  g.corner = a->corner;
  g.kind = &a->kind;
  g.rest = a->rest;
  g.stiffness = &a->stiffness;
  g.hold = a->hold;
  g.damping = &a->damping;
  g.x = a->x[0];
  g.y = a->x[1];
  g.z = a->x[2];
  g.slope = a->slope;
  g.force = &a->force;
  g.rate = &a->rate;
  deform_axis(0, &g);
}

static double axis_energy(axis *a, const kp_vec3 x[4]) {
  axis_place(a, x);
  deform_axis_energy_args g = { .n = 1, .strength = 1 };
  g.corner = a->corner;
  g.kind = &a->kind;
  g.rest = a->rest;
  g.stiffness = &a->stiffness;
  g.hold = a->hold;
  g.x = a->x[0];
  g.y = a->x[1];
  g.z = a->x[2];
  double energy;
  deform_axis_energy(0, &g, &energy);
  return energy;
}

// Away from where another altitude becomes the shortest, force is the slope of the energy and the
// stiffness k over the rest length or the floor; in shells (floor above nothing) also for corners
// that lie in a plane at rest.
static void test_altitude_spring(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(51);
  const double h = 1e-6;
  int compared = 0;
  for (int n = 0; n < 4000; ++n) {
    kp_vec3 rest[4], x[4], y[4];
    for (int c = 0; c < 4; ++c) {
      rest[c] = kp_test_vec3(&random, -1.0, 1.0);
      x[c] = kp_vec3_madd(rest[c], 0.3, kp_test_vec3(&random, -1.0, 1.0));
      rest[c].y *= n % 3 == 0 ? 1.0 : (n % 3 == 1 ? 1e-5 : 0.0);
    }
    if (kp_tet_volume6(rest[0], rest[1], rest[2], rest[3]) < 0.0) {
      continue;
    }
    double floor = n % 3 == 0 ? 0.0 : 0.2;
    axis a = axis_make(rest, floor);
    axis_place(&a, x);
    axis_evaluate(&a);
    int number = kp_altitude_shortest(x);
    double unit = fmax((double)a.rest[number], floor);
    double change = kp_altitude_make(x, number).length - (double)a.rest[number];
    assert_near((double)a.force, 3.0 * change / unit, KP_TOL(1e-5, 1e-12) * (1.0 + 1.0 / unit));
    assert_near((double)a.rate, 3.0 / unit, KP_TOL(1e-5, 1e-12) / unit);
    for (int k = 0; k < 12; ++k) {
      memcpy(y, x, sizeof y);
      *component(&y[k / 3], k % 3) += h;
      bool is_same = kp_altitude_shortest(y) == number;
      double up = axis_energy(&a, y);
      *component(&y[k / 3], k % 3) -= 2.0 * h;
      if (!is_same || kp_altitude_shortest(y) != number) {
        continue;
      }
      double slope = (up - axis_energy(&a, y)) / (2.0 * h);
      assert_near(slope, (double)(a.force * a.slope[k]), 1e-4 * (1.0 + 1.0 / (unit * unit)));
      ++compared;
    }
  }
  assert_true(compared > 20000);
}

// ---- the material -------------------------------------------------------------------------------

static void test_stress(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(5);
  const double mu = 2.0, lambda = 3.0, h = 1e-6;
  for (int n = 0; n < 500; ++n) {
    double f[9], p[9], unused[9];
    random_matrix(&random, f);  // half of them inside out
    (void)deform_solid_stress(f, mu, lambda, p);
    for (int k = 0; k < 9; ++k) {
      double kept = f[k];
      f[k] = kept + h;
      double up = deform_solid_stress(f, mu, lambda, unused);
      f[k] = kept - h;
      double down = deform_solid_stress(f, mu, lambda, unused);
      f[k] = kept;
      assert_near((up - down) / (2.0 * h), p[k], 1e-7);
    }
  }
  // no stress at rest, also turned; Hooke for small strains
  double one[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, p[9];
  (void)deform_solid_stress(one, mu, lambda, p);
  for (int k = 0; k < 9; ++k) {
    assert_near(p[k], 0.0, 1e-15);
  }
  double mu_hooke = 0.75 * mu, lambda_hooke = lambda - 5.0 / 6.0 * mu_hooke;
  const double e = 1e-6;
  double stretched[9] = { 1 + e, 0, 0, 0, 1, 0, 0, 0, 1 };
  (void)deform_solid_stress(stretched, mu, lambda, p);
  assert_near_relative(p[0], (lambda_hooke + 2.0 * mu_hooke) * e, 1e-5);
  assert_near_relative(p[4], lambda_hooke * e, 1e-5);
  double sheared[9] = { 1, e, 0, e, 1, 0, 0, 0, 1 };
  (void)deform_solid_stress(sheared, mu, lambda, p);
  assert_near_relative(p[1], 2.0 * mu_hooke * e, 1e-5);
}

// One element through the kernels, with arrays of one.
typedef struct element {
  int32_t corner[4];
  int32_t tet;
  kp_real rest[DEFORM_SOLID_REST];
  kp_real state[DEFORM_SOLID_STATE];
  double inverse[9], gradient[9];
  kp_pos x[3][4];
  kp_real v[3][4], force[3][4], diagonal[3][4];
} element;

static void evaluate(element *e, kp_real implicit) {
  for (int k = 0; k < 9; ++k) {
    e->inverse[k] = (double)e->rest[DEFORM_SOLID_B + k];
  }
  deform_gradient_args g = { .n = 1,
                             .corner = e->corner,
                             .inverse = e->inverse,
                             .x = e->x[0],
                             .y = e->x[1],
                             .z = e->x[2],
                             .gradient = e->gradient };
  deform_gradient(0, &g);
  deform_solid_args a = {
    .n = 1,
    .implicit = implicit,
    .strength = 1,
    .corner = e->corner,
    .rest = e->rest,
    .means = { .is_alone = 1, .n = 1, .strength = 1, .gradient = e->gradient, .rest = e->rest },
    .x = e->x[0],
    .y = e->x[1],
    .z = e->x[2],
    .state = e->state
  };
  deform_solid(0, &a);
}

static void pull(element *e, kp_real elastic) {
  deform_solid_pull_args a = { .n = 1,
                               .elastic = elastic,
                               .corner = e->corner,
                               .tet = &e->tet,
                               .state = e->state,
                               .v = { e->v[0], e->v[1], e->v[2], 0, 0, 0 },
                               .tx = e->force[0],
                               .ty = e->force[1],
                               .tz = e->force[2] };
  deform_solid_pull(0, &a);
}

// B of a random tetrahedron, corners near it.
static element random_element(kp_test_random *random, double change, double eta) {
  element e = { .corner = { 0, 1, 2, 3 } };
  double d[9], b[9];
  do {
    random_matrix(random, d);
  } while (fabs(determinant(d)) < 0.2);
  double j = determinant(d);
  b[0] = (d[4] * d[8] - d[5] * d[7]) / j;
  b[1] = (d[2] * d[7] - d[1] * d[8]) / j;
  b[2] = (d[1] * d[5] - d[2] * d[4]) / j;
  b[3] = (d[5] * d[6] - d[3] * d[8]) / j;
  b[4] = (d[0] * d[8] - d[2] * d[6]) / j;
  b[5] = (d[2] * d[3] - d[0] * d[5]) / j;
  b[6] = (d[3] * d[7] - d[4] * d[6]) / j;
  b[7] = (d[1] * d[6] - d[0] * d[7]) / j;
  b[8] = (d[0] * d[4] - d[1] * d[3]) / j;
  for (int k = 0; k < 9; ++k) {
    e.rest[k] = (kp_real)b[k];
  }
  e.rest[DEFORM_SOLID_VOLUME] = (kp_real)(fabs(j) / 6.0);
  e.rest[DEFORM_SOLID_MU] = (kp_real)2.0;
  e.rest[DEFORM_SOLID_LAMBDA] = (kp_real)3.0;
  e.rest[DEFORM_SOLID_ETA] = (kp_real)eta;
  for (int c = 0; c < 4; ++c) {
    for (int k = 0; k < 3; ++k) {
      e.x[k][c] = (c > 0 ? d[3 * k + c - 1] : 0.0) + change * kp_test_uniform(random, -1.0, 1.0);
      e.v[k][c] = (kp_real)kp_test_uniform(random, -1.0, 1.0);
    }
  }
  return e;
}

static double product(const element *e, kp_real v[3][4]) {
  double sum = 0.0;
  for (int c = 0; c < 4; ++c) {
    for (int k = 0; k < 3; ++k) {
      sum += (double)e->force[k][c] * (double)v[k][c];
    }
  }
  return sum;
}

// Stretched, nothing is clamped: the matrix is the slope of the force.
static void test_matrix(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(6);
  for (int n = 0; n < 200; ++n) {
    element e = random_element(&random, 0.005, 0.0);
    const double h = KP_TOL(1e-3, 1e-6);
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        e.x[k][c] *= 1.15;
      }
    }
    evaluate(&e, 1);
    pull(&e, 0);
    element up = e, down = e;
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        up.x[k][c] += h * (double)e.v[k][c];
        down.x[k][c] -= h * (double)e.v[k][c];
        up.v[k][c] = down.v[k][c] = 0;
      }
    }
    evaluate(&up, 0);
    evaluate(&down, 0);
    pull(&up, 1);
    pull(&down, 1);
    double size = 0.0, worst = 0.0;
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        double slope = ((double)up.force[k][c] - (double)down.force[k][c]) / (2.0 * h);
        size = kp_test_most(size, fabs(slope));
        worst = kp_test_most(worst, fabs(slope - (double)e.force[k][c]));
      }
    }
    assert_true(worst < KP_TOL(5e-3, 1e-6) * size);
  }
}

// Far from rest: symmetric, never negative, the diagonal is that of the matrix, forces balance.
static void test_matrix_far(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(7);
  for (int n = 0; n < 500; ++n) {
    element e = random_element(&random, 2.0, n % 2 == 0 ? 0.0 : 0.7);
    evaluate(&e, 1);
    pull(&e, 0);
    double own = product(&e, e.v), size = 0.0;
    for (int k = 0; k < 3; ++k) {
      double sum = 0.0;
      for (int c = 0; c < 4; ++c) {
        sum += (double)e.force[k][c];
        size = kp_test_most(size, fabs((double)e.force[k][c]));
      }
      assert_near(sum, 0.0, KP_TOL(1e-5, 1e-13) * size);
    }
    assert_true(own <= KP_TOL(1e-5, 1e-13) * size);
    element other = e;
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        other.v[k][c] = (kp_real)kp_test_uniform(&random, -1.0, 1.0);
      }
    }
    pull(&other, 0);
    assert_near(product(&e, other.v), product(&other, e.v), KP_TOL(1e-4, 1e-12) * (1.0 + size));
    deform_solid_diagonal_args d = { .n = 1,
                                     .tet = &e.tet,
                                     .state = e.state,
                                     .qx = e.diagonal[0],
                                     .qy = e.diagonal[1],
                                     .qz = e.diagonal[2] };
    deform_solid_diagonal(0, &d);
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        element unit = e;
        memset(unit.v, 0, sizeof unit.v);
        unit.v[k][c] = 1;
        pull(&unit, 0);
        assert_near(e.diagonal[k][c], -unit.force[k][c], KP_TOL(1e-4, 1e-12) * (1.0 + size));
      }
    }
  }
}

// Viscosity does nothing in a rigid motion of a deformed element and has no moment.
static void test_viscosity(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(8);
  for (int n = 0; n < 200; ++n) {
    element e = random_element(&random, 0.5, 0.9);
    kp_vec3 spin = kp_test_vec3(&random, -1.0, 1.0);
    evaluate(&e, 0);
    pull(&e, 0);
    kp_vec3 moment = { 0.0, 0.0, 0.0 };
    double size = 0.0;
    for (int c = 0; c < 4; ++c) {
      kp_vec3 x = { e.x[0][c], e.x[1][c], e.x[2][c] };
      kp_vec3 f = { (double)e.force[0][c], (double)e.force[1][c], (double)e.force[2][c] };
      moment = kp_vec3_add(moment, kp_vec3_cross(x, f));
      size = kp_test_most(size, kp_vec3_length(f) * (1.0 + kp_vec3_length(x)));
      kp_vec3 v = kp_vec3_cross(spin, x);
      e.v[0][c] = (kp_real)v.x;
      e.v[1][c] = (kp_real)v.y;
      e.v[2][c] = (kp_real)v.z;
    }
    assert_near(kp_vec3_length(moment), 0.0, KP_TOL(1e-5, 1e-7) * size);
    pull(&e, 0);
    for (int c = 0; c < 4; ++c) {
      for (int k = 0; k < 3; ++k) {
        assert_near(e.force[k][c], 0.0, KP_TOL(1e-5, 1e-7) * size);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_svd),       cmocka_unit_test(test_svd_lanes),
    cmocka_unit_test(test_hinge),     cmocka_unit_test(test_stress),
    cmocka_unit_test(test_matrix),    cmocka_unit_test(test_matrix_far),
    cmocka_unit_test(test_viscosity), cmocka_unit_test(test_altitude_spring),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
