// The pressure solve as simulations use it: iterations that do not grow with resolution, bits that
// do not depend on threads or backend, windows, implicit viscosity, and the relaxation of Foster &
// Metaxas with its one-cell example.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/poisson.h"
#include "par/parallel.h"

#include "pressure_size.h"
#include "support/claims.h"

#define PI 3.14159265358979323846

static void *host(kp_buffer *buffer) {
  void *data = kp_buffer_host(buffer, KP_ACCESS_WRITE);
  assert_non_null(data);
  return data;
}

// ---- resolution

static kp_poisson_report solve_case(const kp_case_poisson_def *def) {
  kp_case_poisson c;
  kp_poisson_report report;
  assert_ok(kp_case_poisson_create(def, &c));
  assert_ok(kp_case_poisson_solve(&c, &report));
  assert_true(kp_poisson_bytes_per_cell(c.poisson) > 0.0);
  kp_case_poisson_destroy(&c);
  return report;
}

// Iterations to 1e-6 from 16 cells along a side up to the most this test is built for.
static void check_resolutions(int dimension, int64_t most, int bound) {
  for (int kind = 0; kind < KP_CASE_POISSON_KINDS; ++kind) {
    int first = 0;
    for (int64_t edge = 16; edge <= most; edge *= 2) {
      kp_case_poisson_def def = kp_default_case_poisson_def();
      def.kind = (kp_case_poisson_kind)kind;
      def.edge = edge;
      def.dimension = dimension;
      kp_poisson_report report = solve_case(&def);
      print_message("%dD %-8s %4d: %2d iterations, residual %.2g, %d pockets, %d levels\n",
                    dimension, kp_case_poisson_names[kind], (int)edge, report.iterations,
                    report.residual, report.n_pockets, report.n_levels);
      assert_true(report.is_converged);
      assert_true(report.residual <= 1e-6);
      assert_true(report.iterations <= bound);
      first = edge == 16 ? report.iterations : first;
      assert_true(report.iterations <= first + 5);
      int chambers = dimension == 2 ? 16 : 64;
      assert_int_equal(report.n_pockets,
                       kind == KP_CASE_POCKETS ? chambers : (kind == KP_CASE_CLOSED ? 1 : 0));
    }
  }
}

static void test_resolution_3d(void **state) {
  (void)state;
  check_resolutions(3, pressure_size_chosen.most_3d, 14);
}

static void test_resolution_2d(void **state) {
  (void)state;
  check_resolutions(2, pressure_size_chosen.most_2d, 15);
}

// Sizes that are no powers of two, and odd numbers of cells across a periodic axis.
static void test_any_size(void **state) {
  (void)state;
  static const int64_t edges[] = { 17, 27, 45 };
  for (size_t k = 0; k < sizeof edges / sizeof edges[0]; ++k) {
    for (int periodic = 0; periodic < 2; ++periodic) {
      kp_case_poisson_def def = kp_default_case_poisson_def();
      def.edge = edges[k];
      def.is_periodic = periodic == 1;
      for (int kind = 0; kind < KP_CASE_POISSON_KINDS; ++kind) {
        def.kind = (kp_case_poisson_kind)kind;
        kp_poisson_report report = solve_case(&def);
        print_message("%s %s %d: %d iterations\n", kp_case_poisson_names[kind],
                      periodic ? "periodic" : "walls", (int)def.edge, report.iterations);
        assert_true(report.is_converged);
        // walls of one cell inside coarse cells cost most, see poisson.md
        assert_true(report.iterations <= (kind == KP_CASE_POCKETS ? 25 : 12));
      }
    }
  }
}

// The baselines reach the same answer; multigrid needs far fewer iterations than any of them.
static void test_baselines(void **state) {
  (void)state;
  static const int solvers[] = { KP_POISSON_MULTIGRID, KP_POISSON_CG, KP_POISSON_JACOBI,
                                 KP_POISSON_IC, KP_POISSON_SOR };
  enum { N = sizeof solvers / sizeof solvers[0] };
  kp_case_poisson c[N];
  int iterations[N];
  for (int k = 0; k < N; ++k) {
    kp_case_poisson_def def = kp_default_case_poisson_def();
    def.kind = KP_CASE_SURFACE;
    def.edge = 24;
    def.solver = solvers[k];
    def.max_iterations = 5000;
    kp_poisson_report report;
    assert_ok(kp_case_poisson_create(&def, &c[k]));
    assert_ok(kp_case_poisson_solve(&c[k], &report));
    assert_true(report.is_converged);
    iterations[k] = report.iterations;
  }
  print_message("iterations: multigrid %d, cg %d, jacobi %d, ic %d, sor %d\n", iterations[0],
                iterations[1], iterations[2], iterations[3], iterations[4]);
  assert_true(3 * iterations[0] < iterations[3]);
  assert_true(iterations[3] < iterations[2] && iterations[2] < iterations[1]);
  const kp_real *p = host(&c[0].answer);
  double largest = 0.0;
  for (int64_t i = 0; i < c[0].mac->view.count; ++i) {
    largest = kp_test_most(largest, fabs((double)p[i]));
  }
  for (int k = 1; k < N; ++k) {
    const kp_real *q = host(&c[k].answer);
    for (int64_t i = 0; i < c[0].mac->view.count; ++i) {
      assert_near(p[i], q[i], 1e-4 * largest);
    }
  }
  for (int k = 0; k < N; ++k) {
    kp_case_poisson_destroy(&c[k]);
  }
}

// ---- bits

static void solve_into(const kp_case_poisson_def *def, int threads, kp_real **copy, size_t *size) {
  kp_case_poisson c;
  kp_poisson_report report;
  kp_parallel_set_threads(threads);
  assert_ok(kp_case_poisson_create(def, &c));
  assert_ok(kp_case_poisson_solve(&c, &report));
  kp_parallel_set_threads(0);
  *size = (size_t)c.mac->view.count * sizeof **copy;
  *copy = malloc(*size);
  memcpy(*copy, host(&c.answer), *size);
  kp_case_poisson_destroy(&c);
}

static void test_same_bits(void **state) {
  (void)state;
  for (int kind = 0; kind < KP_CASE_POISSON_KINDS; ++kind) {
    kp_case_poisson_def def = kp_default_case_poisson_def();
    def.kind = (kp_case_poisson_kind)kind;
    def.edge = 22;
    def.is_periodic = kind % 2 == 1;
    kp_real *copies[3];
    size_t size;
    solve_into(&def, 1, &copies[0], &size);
    solve_into(&def, 3, &copies[1], &size);
    def.backend = "mirror";
    solve_into(&def, 2, &copies[2], &size);
    assert_memory_equal(copies[0], copies[1], size);
    assert_memory_equal(copies[0], copies[2], size);
    for (int k = 0; k < 3; ++k) {
      free(copies[k]);
    }
  }
}

// What was solved before leaves no trace: neither levels nor regions nor vectors.
static void test_no_memory(void **state) {
  (void)state;
  kp_case_poisson_def def = kp_default_case_poisson_def();
  def.kind = KP_CASE_POCKETS;
  def.edge = 20;
  kp_real *fresh;
  size_t size;
  solve_into(&def, 1, &fresh, &size);
  kp_case_poisson c;
  kp_case_poisson other;
  kp_poisson_report report;
  assert_ok(kp_case_poisson_create(&def, &c));
  def.kind = KP_CASE_SPHERE;
  assert_ok(kp_case_poisson_create(&def, &other));
  other.system.answer = &other.answer;
  assert_ok(kp_vector_fill(other.mac->view.count, 0.0, &other.answer));
  assert_ok(kp_poisson_solve(c.poisson, &other.system, &report));
  assert_int_equal(report.n_pockets, 0);
  assert_ok(kp_case_poisson_solve(&c, &report));
  assert_int_equal(report.n_pockets, 64);
  assert_memory_equal(fresh, host(&c.answer), size);
  // the answer as the first guess is right already
  assert_ok(kp_buffer_copy(&c.right, &c.start));
  assert_ok(kp_poisson_solve(c.poisson, &c.system, &report));
  assert_true(report.is_converged);
  assert_true(report.iterations <= KP_TOL(3, 1));
  kp_case_poisson_destroy(&c);
  kp_case_poisson_destroy(&other);
  free(fresh);
}

// ---- a window around the liquid gives what the whole domain gives

static void test_window(void **state) {
  (void)state;
  kp_case_poisson_def def = kp_default_case_poisson_def();
  def.kind = KP_CASE_SURFACE;
  def.edge = 48;
  kp_case_poisson c[2];
  kp_poisson_report report[2];
  for (int k = 0; k < 2; ++k) {
    assert_ok(kp_case_poisson_create(&def, &c[k]));
  }
  // nothing but air in the upper third, which the window then leaves out
  const int32_t lo[3] = { 0, 0, 0 };
  const int32_t hi[3] = { 48, 32, 48 };
  const kp_mac_view *g = &c[1].mac->view;
  for (int k = 0; k < 2; ++k) {
    uint8_t *flags = host(&c[k].flags);
    for (int64_t z = 0; z < 48; ++z) {
      for (int64_t y = hi[1]; y < 48; ++y) {
        for (int64_t x = 0; x < 48; ++x) {
          flags[kp_mac_at(g, x, y, z)] = KP_CELL_AIR;
        }
      }
    }
  }
  assert_ok(kp_case_poisson_solve(&c[1], &report[1]));
  assert_ok(kp_mac_set_window(c[1].mac, lo, hi, 0));
  assert_int_equal(c[1].mac->window_hi[1], 32);
  for (int k = 0; k < 2; ++k) {
    assert_ok(kp_case_poisson_solve(&c[k], &report[k]));
    assert_true(report[k].is_converged);
  }
  assert_int_equal(report[0].n_cells, report[1].n_cells);
  const kp_real *p = host(&c[0].answer);
  const kp_real *q = host(&c[1].answer);
  double largest = 0.0;
  for (int64_t i = 0; i < g->count; ++i) {
    largest = kp_test_most(largest, fabs((double)p[i]));
  }
  for (int64_t i = 0; i < g->count; ++i) {
    assert_near(p[i], q[i], 1e-4 * largest);
  }
  for (int k = 0; k < 2; ++k) {
    kp_case_poisson_destroy(&c[k]);
  }
}

// ---- implicit viscosity: (1/dt - nu lap) u = u/dt on a face lattice

#define VISCOUS_CELLS 32
#define VISCOUS_NU 0.01
#define VISCOUS_DT 0.05
#define VISCOUS_STEPS 40

typedef struct viscous {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
  kp_buffer flags, faces[3], extra, right, u;
  kp_poisson *poisson;
  kp_poisson_system system;
} viscous;

// u(y) of a flow along x between two plates (or periodic across y), on the faces across x.
static void begin_viscous(viscous *v, bool is_periodic) {
  memset(v, 0, sizeof *v);
  double h = 1.0 / VISCOUS_CELLS;
  kp_mac_def mac = { .name = "channel", .cell = h, .dimension = 2 };
  mac.box.max = (kp_vec3){ 4.0 * h, 1.0, h };
  for (int s = 0; s < 2; ++s) {
    mac.sides[0][s].kind = KP_MAC_PERIODIC;
    mac.sides[1][s].kind = is_periodic ? KP_MAC_PERIODIC : KP_MAC_WALL;
  }
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &v->backend));
  assert_ok(kp_registry_create(v->backend, &v->registry));
  assert_ok(kp_mac_create(v->registry, &mac, &v->mac));
  kp_buffer *all[] = { &v->flags, &v->faces[0], &v->faces[1], &v->faces[2],
                       &v->extra, &v->right,    &v->u };
  for (int k = 0; k < 7; ++k) {
    assert_ok(kp_mac_scratch(v->mac, k == 0 ? KP_TYPE_U8 : KP_TYPE_REAL, all[k]));
  }
  uint8_t *flags = host(&v->flags);
  kp_real *cx = host(&v->faces[0]);
  kp_real *cy = host(&v->faces[1]);
  kp_real *extra = host(&v->extra);
  kp_real *u = host(&v->u);
  for (int j = 0; j <= VISCOUS_CELLS; ++j) {
    for (int i = 0; i <= 4; ++i) {
      int64_t at = kp_mac_at(&v->mac->view, i, j, 0);
      bool is_inside = i < 4 && j < VISCOUS_CELLS;
      bool is_plate = !is_periodic && (j == 0 || j == VISCOUS_CELLS);
      double y = (j + 0.5) * h;
      flags[at] = is_inside ? KP_CELL_FLUID : KP_CELL_AIR;
      cx[at] = (kp_real)VISCOUS_NU;
      // the plate is half a cell away
      cy[at] = (kp_real)(is_plate ? 2.0 * VISCOUS_NU : VISCOUS_NU);
      extra[at] = (kp_real)(1.0 / VISCOUS_DT);
      u[at] = is_inside ? (kp_real)sin((is_periodic ? 2.0 : 1.0) * PI * y) : (kp_real)0;
    }
  }
  kp_poisson_def def = kp_default_poisson_def();
  def.name = "viscosity";
  def.lattice = KP_MAC_FACE_X;
  v->system = (kp_poisson_system){ .flags = &v->flags,
                                   .faces = { &v->faces[0], &v->faces[1], &v->faces[2] },
                                   .extra = &v->extra,
                                   .right = &v->right,
                                   .answer = &v->u };
  assert_ok(kp_poisson_create(v->mac, &def, &v->poisson));
}

static void end_viscous(viscous *v) {
  kp_buffer *all[] = { &v->flags, &v->faces[0], &v->faces[1], &v->faces[2],
                       &v->extra, &v->right,    &v->u };
  kp_poisson_destroy(&v->poisson);
  for (int k = 0; k < 7; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_mac_destroy(&v->mac);
  kp_registry_destroy(&v->registry);
  kp_backend_destroy(&v->backend);
}

// How far the mode that is left is from exp(-nu k^2 t).
static double check_viscous_mode(bool is_periodic) {
  viscous v;
  begin_viscous(&v, is_periodic);
  for (int step = 0; step < VISCOUS_STEPS; ++step) {
    const kp_real *u = host(&v.u);
    kp_real *b = host(&v.right);
    for (int64_t i = 0; i < v.mac->view.count; ++i) {
      b[i] = (kp_real)((double)u[i] / VISCOUS_DT);
    }
    kp_poisson_report report;
    assert_ok(kp_poisson_solve(v.poisson, &v.system, &report));
    assert_true(report.is_converged);
    assert_int_equal(report.n_pockets, 0);
  }
  // the mode of the difference operator decays by 1 / (1 + nu dt lambda) per step, exactly
  double h = 1.0 / VISCOUS_CELLS;
  double k = (is_periodic ? 2.0 : 1.0) * PI;
  double lambda = pow(2.0 / h * sin(0.5 * k * h), 2.0);
  double factor = pow(1.0 + VISCOUS_NU * VISCOUS_DT * lambda, -VISCOUS_STEPS);
  double exact = exp(-VISCOUS_NU * k * k * VISCOUS_DT * VISCOUS_STEPS);
  const kp_real *u = host(&v.u);
  double left = 0.0;
  double square = 0.0;
  for (int j = 0; j < VISCOUS_CELLS; ++j) {
    double start = sin(k * (j + 0.5) * h);
    for (int i = 0; i < 4; ++i) {
      assert_near(u[kp_mac_at(&v.mac->view, i, j, 0)], factor * start, 4e-6);
    }
    left += (double)u[kp_mac_at(&v.mac->view, 0, j, 0)] * start;
    square += start * start;
  }
  // and the decay is that of the continuum to first order in dt
  assert_near_relative(factor, exact, 0.015);
  end_viscous(&v);
  return fabs(left / square / exact - 1.0);
}

static void test_viscosity(void **state) {
  (void)state;
  double periodic = check_viscous_mode(true);
  double plates = check_viscous_mode(false);
  // first order in dt leaves (nu k^2)^2 dt t / 2 of it
  kp_claim claim = { .id = "hong-H4-viscous",
                     .text = "implicit viscosity lets a sine decay by exp(-nu k^2 t)",
                     .size = "first mode between plates and periodic, steps of one length" };
  kp_claim_all(&claim, { "off the exact decay, periodic", periodic, KP_AT_MOST, 0.015 },
               { "off the exact decay, between plates", plates, KP_AT_MOST, 0.015 });
}

// ---- hong H2: one cell with influx in a box without a lid

static void test_one_cell(void **state) {
  (void)state;
  kp_case_poisson c[2];
  kp_poisson_report report[2];
  int64_t at = 0;
  for (int k = 0; k < 2; ++k) {
    kp_case_poisson_def def = kp_default_case_poisson_def();
    def.kind = KP_CASE_OPEN;
    def.edge = 20;
    def.dimension = 2;
    def.tolerance = KP_TOL(1e-7, 1e-10);
    def.max_iterations = 20000;
    def.solver = k == 0 ? KP_POISSON_SOR : KP_POISSON_MULTIGRID;
    assert_ok(kp_case_poisson_create(&def, &c[k]));
    assert_ok(kp_vector_fill(c[k].mac->view.count, 0.0, &c[k].start));
    kp_real *b = host(&c[k].start);
    at = kp_mac_at(&c[k].mac->view, 9, 7, 0);
    // influx is negative divergence: A p = -div u / dt
    b[at] = (kp_real)1;
    assert_ok(kp_case_poisson_solve(&c[k], &report[k]));
    assert_true(report[k].is_converged);
  }
  const kp_real *p = host(&c[0].answer);
  const kp_real *q = host(&c[1].answer);
  double worst = 0.0;
  for (int64_t i = 0; i < c[0].mac->view.count; ++i) {
    worst = kp_test_most(worst, fabs((double)p[i] - (double)q[i]) / (double)p[at]);
    assert_true(p[i] >= 0 && p[i] <= p[at]);
  }
  print_message("sor: %d sweeps, residual %.2g, worst cell %.2g; multigrid %d iterations; "
                "difference %.2g of the largest pressure\n",
                report[0].iterations, report[0].residual, report[0].worst, report[1].iterations,
                worst);
  assert_true(p[at] > 0);
  assert_true(worst <= 1e-6);
  kp_claim_at_most(&(kp_claim){ .id = "hong-H2",
                                .text = "pressure by successive over-relaxation after influx into "
                                        "one cell equals that of conjugate gradients",
                                .size = "20 x 20 cells, open top, omega 1.7",
                                .figure = worst,
                                .threshold = 1e-6 });
  for (int k = 0; k < 2; ++k) {
    kp_case_poisson_destroy(&c[k]);
  }
}

// ---- refusals

static void test_serial_on_card(void **state) {
  (void)state;
  kp_case_poisson_def def = kp_default_case_poisson_def();
  kp_case_poisson c;
  def.edge = 8;
  assert_ok(kp_case_poisson_create(&def, &c));
  // a backend that says it is a card; nothing of it is used
  kp_backend_class card = *c.backend->vt;
  kp_backend pretended = *c.backend;
  kp_mac mac = *c.mac;
  card.kind = KP_BACKEND_CUDA;
  pretended.vt = &card;
  mac.backend = &pretended;
  kp_poisson_def serial = kp_default_poisson_def();
  kp_poisson *poisson;
  serial.solver = KP_POISSON_IC;
  assert_fails(KP_ERROR_SCENE, "solver \"ic\" goes cell by cell",
               kp_poisson_create(&mac, &serial, &poisson));
  assert_null(poisson);
  serial.solver = KP_POISSON_SOR;
  assert_fails(KP_ERROR_SCENE, "choose multigrid", kp_poisson_create(&mac, &serial, &poisson));
  kp_case_poisson_destroy(&c);
}

static void test_bad_numbers(void **state) {
  (void)state;
  kp_case_poisson_def def = kp_default_case_poisson_def();
  kp_case_poisson c;
  kp_poisson_report report;
  def.edge = 8;
  assert_ok(kp_case_poisson_create(&def, &c));
  kp_real *b = host(&c.start);
  b[kp_mac_at(&c.mac->view, 3, 3, 3)] = (kp_real)NAN;
  assert_fails(KP_ERROR_PHYSICS, "pressure: the right side is not finite",
               kp_case_poisson_solve(&c, &report));
  kp_case_poisson_destroy(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_resolution_3d), cmocka_unit_test(test_resolution_2d),
    cmocka_unit_test(test_any_size),      cmocka_unit_test(test_baselines),
    cmocka_unit_test(test_same_bits),     cmocka_unit_test(test_no_memory),
    cmocka_unit_test(test_window),        cmocka_unit_test(test_viscosity),
    cmocka_unit_test(test_one_cell),      cmocka_unit_test(test_serial_on_card),
    cmocka_unit_test(test_bad_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
