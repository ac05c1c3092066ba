// Rigid frames and interface samples: free motion, scripted motion, refresh and gather.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "data/curve.h"
#include "data/interface.h"

#define PI 3.14159265358979323846
#define N_SAMPLES 300

typedef struct scene {
  kp_backend *backend;
  kp_registry *registry;
  kp_bodies *bodies;
} scene;

static void scene_open(scene *s, kp_backend_kind kind) {
  assert_ok(kp_backend_create(kind, &s->backend));
  assert_ok(kp_registry_create(s->backend, &s->registry));
  assert_ok(kp_bodies_create(s->registry, &s->bodies));
}

static void scene_close(scene *s) {
  kp_bodies_destroy(&s->bodies);
  kp_registry_destroy(&s->registry);
  kp_backend_destroy(&s->backend);
}

// Principal moments on the diagonal.
static kp_body free_body(double mass, kp_vec3 inertia) {
  kp_body body = { .kind = KP_BODY_FREE, .inverse_mass = 1.0 / mass };
  const double moments[3] = { inertia.x, inertia.y, inertia.z };
  for (int c = 0; c < 3; ++c) {
    body.inertia.m[c][c] = moments[c];
    body.inverse_inertia.m[c][c] = 1.0 / moments[c];
  }
  return body;
}

static kp_index add_body(scene *s, const kp_body *model, const kp_frame3 *frame) {
  kp_index index = -1;
  assert_ok(kp_bodies_add(s->bodies, model, frame, &index));
  return index;
}

static kp_vec3 angular_momentum(const kp_body *body, const kp_frame3 *f) {
  kp_vec3 w = kp_quat_rotate(kp_quat_conjugate(f->orientation), f->angular_velocity);
  return kp_quat_rotate(f->orientation, kp_mat3_mul_vec3(&body->inertia, w));
}

static double turning_energy(const kp_body *body, const kp_frame3 *f) {
  return 0.5 * kp_vec3_dot(f->angular_velocity, angular_momentum(body, f));
}

// An asymmetric top spun near its middle axis tumbles; momentum stays and energy nearly so.
static void test_free_rotation(void **state) {
  (void)state;
  scene s;
  scene_open(&s, KP_BACKEND_CPU);
  kp_body top = free_body(2.0, kp_vec3_make(1.0, 2.0, 3.0));
  kp_frame3 start = { .orientation = kp_quat_normalize(kp_quat_make(0.9, 0.1, -0.3, 0.2)),
                      .angular_velocity = kp_vec3_make(0.1, 5.0, 0.2) };
  kp_index b = add_body(&s, &top, &start);
  kp_vec3 momentum = angular_momentum(&top, &start);
  double energy = turning_energy(&top, &start);
  double worst_momentum = 0.0;
  double worst_energy = 0.0;
  double tumble = 1.0;
  kp_vec3 axis = kp_quat_rotate(start.orientation, kp_vec3_make(0, 1, 0));
  for (int k = 0; k < 1000; ++k) {
    kp_bodies_integrate(s.bodies, kp_vec3_make(0, 0, 0), 0.01);
    kp_frame3 f = kp_bodies_frame(s.bodies, b);
    kp_vec3 drift = kp_vec3_sub(angular_momentum(&top, &f), momentum);
    worst_momentum = kp_test_most(worst_momentum, kp_vec3_length(drift) / kp_vec3_length(momentum));
    worst_energy = kp_test_most(worst_energy, fabs(turning_energy(&top, &f) / energy - 1.0));
    kp_vec3 now = kp_quat_rotate(f.orientation, kp_vec3_make(0, 1, 0));
    tumble = kp_test_least(tumble, kp_vec3_dot(now, axis));
  }
  print_message("asymmetric top, 1000 steps: momentum off by %.1e, energy by %.2e, tumble %.2f\n",
                worst_momentum, worst_energy, tumble);
  assert_true(worst_momentum < 1e-12);
  assert_true(worst_energy < 1e-12);
  assert_true(tumble < -0.5);
  scene_close(&s);
}

// Dzhanibekov's nut: spun about its middle axis it turns over again and again, and back. Steps as
// long as a tenth of a turn keep momentum and energy; the time between two flips converges.
static double time_of_flips(double dt, int n, double *worst) {
  scene s;
  scene_open(&s, KP_BACKEND_CPU);
  kp_body nut = free_body(1.0, kp_vec3_make(1.0, 2.0, 3.0));
  kp_frame3 start = { .orientation = kp_quat_identity(),
                      .angular_velocity = kp_vec3_make(0.01, 6.0, 0.0) };
  kp_index b = add_body(&s, &nut, &start);
  kp_vec3 momentum = angular_momentum(&nut, &start);
  double energy = turning_energy(&nut, &start);
  double side = 1.0;
  double first = 0.0;
  double last = 0.0;
  int flips = 0;
  for (int k = 0; k < n; ++k) {
    kp_bodies_integrate(s.bodies, kp_vec3_make(0, 0, 0), dt);
    kp_frame3 f = kp_bodies_frame(s.bodies, b);
    kp_vec3 drift = kp_vec3_sub(angular_momentum(&nut, &f), momentum);
    *worst = kp_test_most(*worst, kp_vec3_length(drift) / kp_vec3_length(momentum));
    *worst = kp_test_most(*worst, fabs(turning_energy(&nut, &f) / energy - 1.0));
    kp_vec3 up = kp_quat_rotate(f.orientation, kp_vec3_make(0, 1, 0));
    if (up.y * side < 0.0) {
      side = -side;
      last = k * dt;
      first = flips == 0 ? last : first;
      ++flips;
    }
  }
  scene_close(&s);
  assert_true(flips >= 3);
  return (last - first) / (flips - 1);
}

static void test_dzhanibekov(void **state) {
  (void)state;
  double worst = 0.0;
  double coarse = time_of_flips(0.05, 800, &worst);
  double fine = time_of_flips(0.005, 8000, &worst);
  double finest = time_of_flips(0.001, 40000, &worst);
  print_message(
      "turning over every %.4f, %.4f, %.4f s at steps of 50, 5, 1 ms; momentum and energy "
      "off by %.1e\n",
      coarse, fine, finest, worst);
  assert_true(worst < 1e-11);
  assert_between(coarse / finest, 0.9, 1.1);
  assert_between(fine / finest, 0.997, 1.003);
}

// An impulse at a point gives its momentum and its moment, and mobility tells what it will do.
static void test_impulse(void **state) {
  (void)state;
  scene s;
  scene_open(&s, KP_BACKEND_CPU);
  kp_body top = free_body(2.0, kp_vec3_make(1.0, 2.0, 3.0));
  kp_frame3 start = { .position = { 1, 2, 3 },
                      .orientation = kp_quat_normalize(kp_quat_make(0.9, 0.1, -0.3, 0.2)),
                      .velocity = { 0.3, -0.2, 0.1 },
                      .angular_velocity = { 0.1, 5.0, 0.2 } };
  kp_index b = add_body(&s, &top, &start);
  kp_body wall = { .kind = KP_BODY_STATIC };
  kp_index still = add_body(&s, &wall, &start);
  kp_vec3 p = kp_vec3_make(1.5, 1.0, 2.0);
  kp_vec3 impulse = kp_vec3_make(0.7, -0.4, 1.1);
  kp_vec3 before = kp_bodies_velocity_at(s.bodies, b, p);
  kp_mat3 mobility = kp_bodies_mobility(s.bodies, b, p);
  kp_bodies_add_impulse(s.bodies, b, p, impulse);
  kp_bodies_add_impulse(s.bodies, still, p, impulse);
  kp_frame3 f = kp_bodies_frame(s.bodies, b);
  kp_vec3 moment = kp_vec3_cross(kp_vec3_sub(p, start.position), impulse);
  assert_vec3_near(kp_vec3_scale(kp_vec3_sub(f.velocity, start.velocity), 2.0), impulse, 1e-12);
  assert_vec3_near(kp_vec3_sub(angular_momentum(&top, &f), angular_momentum(&top, &start)), moment,
                   1e-12);
  assert_vec3_near(kp_vec3_sub(kp_bodies_velocity_at(s.bodies, b, p), before),
                   kp_mat3_mul_vec3(&mobility, impulse), 1e-12);
  f = kp_bodies_frame(s.bodies, still);
  assert_vec3_near(f.velocity, start.velocity, 0.0);
  kp_bodies_add_force(s.bodies, b, p, impulse);
  assert_vec3_near(s.bodies->forces.data[b], impulse, 0.0);
  assert_vec3_near(s.bodies->torques.data[b], moment, 1e-12);
  scene_close(&s);
}

static void test_fall_and_push(void **state) {
  (void)state;
  scene s;
  scene_open(&s, KP_BACKEND_CPU);
  kp_body body = free_body(4.0, kp_vec3_make(2.0, 2.0, 2.0));
  kp_frame3 start = { .position = { 1, 10, 0 },
                      .orientation = kp_quat_identity(),
                      .velocity = { 0.5, 0, 0 } };
  kp_index falling = add_body(&s, &body, &start);
  kp_index pushed = add_body(&s, &body, &start);
  kp_body wall = { .kind = KP_BODY_STATIC };
  kp_index still = add_body(&s, &wall, &start);
  assert_int_equal(falling, 0);
  assert_int_equal(still, 2);
  int n = 200;
  double dt = 0.005;
  for (int k = 0; k < n; ++k) {
    kp_bodies_clear_forces(s.bodies);
    s.bodies->forces.data[pushed] = kp_vec3_make(0, 4.0 * 9.81, 8.0);
    s.bodies->torques.data[pushed] = kp_vec3_make(0, 0, 3.0);
    kp_bodies_integrate(s.bodies, kp_vec3_make(0, -9.81, 0), dt);
  }
  // symplectic Euler: x_n = x_0 + n dt v_0 + n (n + 1) / 2 dt^2 a
  double t = n * dt;
  double way = 0.5 * n * (n + 1) * dt * dt;
  kp_frame3 f = kp_bodies_frame(s.bodies, falling);
  assert_vec3_near(f.velocity, kp_vec3_make(0.5, -9.81 * t, 0), 1e-12);
  assert_vec3_near(f.position, kp_vec3_make(1 + 0.5 * t, 10 - 9.81 * way, 0), 1e-12);
  f = kp_bodies_frame(s.bodies, pushed);
  assert_vec3_near(f.velocity, kp_vec3_make(0.5, 0, 2.0 * t), 1e-12);
  assert_vec3_near(f.angular_velocity, kp_vec3_make(0, 0, 1.5 * t), 1e-12);
  double angle = 1.5 * way;
  kp_vec3 turned = kp_quat_rotate(f.orientation, kp_vec3_make(1, 0, 0));
  assert_vec3_near(turned, kp_vec3_make(cos(angle), sin(angle), 0), 1e-12);
  f = kp_bodies_frame(s.bodies, still);
  assert_memory_equal(&f, &start, sizeof f);
  scene_close(&s);
}

// ---- scripted motion
// ---------------------------------------------------------------------------------

#define N_KEYS 41

static kp_body scripted_body(double place[N_KEYS][3], double turn[N_KEYS][3]) {
  for (int k = 0; k < N_KEYS; ++k) {
    double t = 0.05 * k;
    const double p[3] = { sin(t), t * t, 0.3 * cos(2 * t) };
    const double r[3] = { 40 * t, 25 * sin(t), -70 * t };
    memcpy(place[k], p, sizeof p);
    memcpy(turn[k], r, sizeof r);
  }
  return (kp_body){
    .kind = KP_BODY_SCRIPTED,
    .center = { 0.4, -0.2, 0.1 },
    .position = { .components = 3, .n = N_KEYS, .interval = 0.05, .samples = place[0] },
    .rotation_deg = { .components = 3, .n = N_KEYS, .interval = 0.05, .samples = turn[0] }
  };
}

// Velocities are the derivatives of place and turn: of the origin as the curve says, of the centre
// and of the orientation by central differences.
static void test_scripted_frames(void **state) {
  (void)state;
  double place[N_KEYS][3];
  double turn[N_KEYS][3];
  kp_body body = scripted_body(place, turn);
  double e = 1e-5;
  for (int k = 0; k < 50; ++k) {
    double t = 0.0103 + 0.039 * k;
    kp_frame3 f = kp_body_scripted_frame(&body, t);
    kp_frame3 before = kp_body_scripted_frame(&body, t - e);
    kp_frame3 after = kp_body_scripted_frame(&body, t + e);
    kp_vec3 v = kp_vec3_scale(kp_vec3_sub(after.position, before.position), 0.5 / e);
    assert_vec3_near(f.velocity, v, 1e-7);
    // the origin moves with the rate of the curve
    double at[3];
    double rate[3];
    kp_curve_at(&body.position, t, at, rate);
    kp_vec3 arm = kp_quat_rotate(f.orientation, body.center);
    kp_vec3 origin = kp_vec3_sub(f.position, arm);
    kp_vec3 origin_v = kp_vec3_sub(f.velocity, kp_vec3_cross(f.angular_velocity, arm));
    assert_vec3_near(origin, kp_vec3_make(at[0], at[1], at[2]), 1e-12);
    assert_vec3_near(origin_v, kp_vec3_make(rate[0], rate[1], rate[2]), 1e-12);
    // dR/dt u = omega x R u
    kp_vec3 u = kp_vec3_make(0.3, -0.8, 0.5);
    kp_vec3 swing =
        kp_vec3_sub(kp_quat_rotate(after.orientation, u), kp_quat_rotate(before.orientation, u));
    kp_vec3 turning = kp_vec3_cross(f.angular_velocity, kp_quat_rotate(f.orientation, u));
    assert_vec3_near(turning, kp_vec3_scale(swing, 0.5 / e), 1e-7);
  }
}

static void test_scripted_single_axis(void **state) {
  (void)state;
  const double turn[3 * 3] = { 0, 0, 0, 0, 0, 90, 0, 0, 180 };
  kp_body body = { .kind = KP_BODY_SCRIPTED,
                   .position = { .components = 3, .constant = { 1, 2, 3 } },
                   .rotation_deg = { .components = 3, .n = 3, .interval = 1.0, .samples = turn } };
  kp_frame3 f = kp_body_scripted_frame(&body, 0.7);
  assert_vec3_near(f.position, kp_vec3_make(1, 2, 3), 0.0);
  assert_vec3_near(f.velocity, kp_vec3_make(0, 0, 0), 0.0);
  assert_vec3_near(f.angular_velocity, kp_vec3_make(0, 0, 0.5 * PI), 1e-14);
  // after the last key it holds still
  f = kp_body_scripted_frame(&body, 2.5);
  assert_vec3_near(f.angular_velocity, kp_vec3_make(0, 0, 0), 0.0);
}

// ---- interface samples
// -------------------------------------------------------------------------------

typedef struct samples {
  kp_vec3 positions[N_SAMPLES], normals[N_SAMPLES];
  double areas[N_SAMPLES];
} samples;

static void make_samples(samples *out, kp_test_random *random, kp_vec3 about) {
  for (int i = 0; i < N_SAMPLES; ++i) {
    kp_vec3 n = kp_vec3_normalize(kp_test_vec3(random, -1, 1));
    out->normals[i] = n;
    out->positions[i] = kp_vec3_madd(about, 0.7, n);
    out->areas[i] = kp_test_uniform(random, 0.01, 0.02);
  }
}

static void add_samples(kp_interface *interface, scene *s, kp_index body, const samples *in,
                        int64_t n) {
  kp_interface_samples given = { n, in->positions, in->normals, in->areas };
  assert_ok(kp_interface_add(interface, s->bodies, body, &given));
}

static kp_vec3 real3(kp_field *field, int64_t i) {
  double out[3];
  for (int c = 0; c < 3; ++c) {
    out[c] = (double)((const kp_real *)kp_buffer_host(&field->buffers[c], KP_ACCESS_READ))[i];
  }
  return kp_vec3_make(out[0], out[1], out[2]);
}

static kp_vec3 pos3(kp_field *field, int64_t i) {
  double out[3];
  for (int c = 0; c < 3; ++c) {
    out[c] = ((const kp_pos *)kp_buffer_host(&field->buffers[c], KP_ACCESS_READ))[i];
  }
  return kp_vec3_make(out[0], out[1], out[2]);
}

typedef struct coupled {
  scene s;
  kp_interface *interface;
  samples in[2];
  kp_frame3 frames[2];
} coupled;

// Two bodies, the second one with two ranges: 0: body 0, 1 and 2: body 1.
static void coupled_open(coupled *c, kp_backend_kind kind) {
  scene_open(&c->s, kind);
  kp_test_random random = kp_test_random_begin(11);
  kp_body body = free_body(3.0, kp_vec3_make(1, 2, 2.5));
  assert_ok(kp_interface_create(c->s.registry, "movers", 3, true, &c->interface));
  for (int b = 0; b < 2; ++b) {
    c->frames[b] = (kp_frame3){
      .position = kp_test_vec3(&random, -2, 2),
      .orientation = kp_quat_normalize(kp_quat_make(0.6, 0.3 * b, -0.4, 0.5)),
      .velocity = kp_test_vec3(&random, -1, 1),
      .angular_velocity = kp_test_vec3(&random, -3, 3),
    };
    kp_index index = add_body(&c->s, &body, &c->frames[b]);
    make_samples(&c->in[b], &random, c->frames[b].position);
    add_samples(c->interface, &c->s, index, &c->in[b], b == 0 ? N_SAMPLES : 100);
  }
  add_samples(c->interface, &c->s, 1, &c->in[1], 50);
}

static void coupled_close(coupled *c) {
  kp_interface_destroy(&c->interface);
  scene_close(&c->s);
}

static void test_ranges(void **state) {
  (void)state;
  static coupled c;
  coupled_open(&c, KP_BACKEND_CPU);
  const int64_t counts[3] = { N_SAMPLES, 100, 50 };
  const int owners[3] = { 0, 1, 1 };
  int64_t first = 0;
  assert_int_equal(c.interface->ranges.count, 3);
  const uint32_t *owner = kp_buffer_host(&c.interface->owner->buffers[0], KP_ACCESS_READ);
  const kp_real *area = kp_buffer_host(&c.interface->area->buffers[0], KP_ACCESS_READ);
  for (int r = 0; r < 3; ++r) {
    const kp_interface_range *range = &c.interface->ranges.data[r];
    assert_int_equal(range->first, first);
    assert_int_equal(range->count, counts[r]);
    assert_int_equal(range->body, owners[r]);
    for (int64_t i = 0; i < range->count; ++i) {
      assert_int_equal(owner[first + i], owners[r]);
      assert_near(area[first + i], c.in[owners[r]].areas[i], 1e-8);
    }
    first += range->count;
  }
  assert_int_equal(c.interface->set->space->n, first);
  coupled_close(&c);
}

// Where a sample of body b must be after the body has moved, with its velocity and normal.
static void check_refresh(coupled *c, int64_t k, int b, int64_t i, const kp_frame3 *now) {
  kp_quat back = kp_quat_conjugate(c->frames[b].orientation);
  kp_vec3 arm = kp_vec3_sub(c->in[b].positions[i], c->frames[b].position);
  kp_vec3 r = kp_quat_rotate(now->orientation, kp_quat_rotate(back, arm));
  kp_vec3 n = kp_quat_rotate(now->orientation, kp_quat_rotate(back, c->in[b].normals[i]));
  kp_vec3 v = kp_vec3_add(now->velocity, kp_vec3_cross(now->angular_velocity, r));
  assert_vec3_near(pos3(c->interface->set->position, k), kp_vec3_add(now->position, r), 1e-12);
  assert_vec3_near(real3(c->interface->set->velocity, k), v, KP_TOL(2e-6, 1e-12));
  assert_vec3_near(real3(c->interface->normal, k), n, KP_TOL(1e-6, 1e-12));
}

static void run_refresh(coupled *c, kp_backend_kind kind) {
  coupled_open(c, kind);
  uint64_t revision = c->interface->set->space->revision;
  for (int k = 0; k < 20; ++k) {
    kp_bodies_integrate(c->s.bodies, kp_vec3_make(0, -9.81, 0), 0.02);
  }
  assert_ok(kp_interface_refresh(c->interface, c->s.bodies));
  assert_true(c->interface->set->space->revision > revision);
}

static void test_refresh(void **state) {
  (void)state;
  static coupled cpu;
  static coupled mirror;
  run_refresh(&cpu, KP_BACKEND_CPU);
  run_refresh(&mirror, KP_BACKEND_MIRROR);
  for (size_t r = 0; r < cpu.interface->ranges.count; ++r) {
    const kp_interface_range *range = &cpu.interface->ranges.data[r];
    kp_frame3 now = kp_bodies_frame(cpu.s.bodies, range->body);
    for (int64_t i = 0; i < range->count; ++i) {
      check_refresh(&cpu, range->first + i, range->body, i, &now);
      kp_vec3 a = pos3(cpu.interface->set->position, range->first + i);
      kp_vec3 b = pos3(mirror.interface->set->position, range->first + i);
      assert_memory_equal(&a, &b, sizeof a);
      a = real3(cpu.interface->set->velocity, range->first + i);
      b = real3(mirror.interface->set->velocity, range->first + i);
      assert_memory_equal(&a, &b, sizeof a);
    }
  }
  coupled_close(&cpu);
  coupled_close(&mirror);
}

// A still interface is left alone, and in two dimensions nothing leaves the plane.
static void test_still_and_flat(void **state) {
  (void)state;
  scene s;
  kp_interface *walls = NULL;
  kp_interface *flat = NULL;
  static samples in;
  kp_test_random random = kp_test_random_begin(5);
  scene_open(&s, KP_BACKEND_CPU);
  kp_body body = free_body(1.0, kp_vec3_make(1, 1, 1));
  kp_frame3 frame = { .orientation = kp_quat_identity(), .angular_velocity = { 0, 0, 2 } };
  kp_index b = add_body(&s, &body, &frame);
  make_samples(&in, &random, frame.position);
  for (int i = 0; i < N_SAMPLES; ++i) {
    in.positions[i].z = 0.0;
    in.normals[i].z = 0.0;
  }
  assert_ok(kp_interface_create(s.registry, "walls", 2, false, &walls));
  assert_ok(kp_interface_create(s.registry, "flat", 2, true, &flat));
  add_samples(walls, &s, b, &in, N_SAMPLES);
  add_samples(flat, &s, b, &in, N_SAMPLES);
  uint64_t revision = walls->set->space->revision;
  kp_bodies_integrate(s.bodies, kp_vec3_make(0, -1, 0), 0.1);
  assert_ok(kp_interface_refresh(walls, s.bodies));
  assert_ok(kp_interface_refresh(flat, s.bodies));
  assert_int_equal(walls->set->space->revision, revision);
  for (int64_t i = 0; i < N_SAMPLES; ++i) {
    assert_vec3_near(pos3(walls->set->position, i), in.positions[i], 0.0);
    assert_true(pos3(flat->set->position, i).z == 0.0);
    assert_true(real3(flat->set->velocity, i).z == 0.0);
  }
  kp_interface_destroy(&walls);
  kp_interface_destroy(&flat);
  scene_close(&s);
}

// A surface that slides gives its velocity to the samples, in the axes of its body: to a still one
// once, to a scripted one as its curves say.
static void test_sliding_surface(void **state) {
  (void)state;
  scene s;
  kp_interface *walls = NULL;
  kp_interface *movers = NULL;
  static samples in;
  kp_test_random random = kp_test_random_begin(6);
  scene_open(&s, KP_BACKEND_MIRROR);
  kp_quat quarter = kp_quat_from_axis_angle(kp_vec3_make(0, 0, 1), 0.5 * PI);
  kp_body belt = { .name = "belt",
                   .kind = KP_BODY_STATIC,
                   .surface_velocity = kp_curve_constant3(kp_vec3_make(3, 0, 0)) };
  kp_frame3 frame = { .position = { 1, 2, 3 }, .orientation = quarter };
  kp_index still = add_body(&s, &belt, &frame);
  const double speeds[] = { 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0 };
  kp_body drum = { .name = "drum",
                   .kind = KP_BODY_SCRIPTED,
                   .position = kp_curve_constant3(frame.position),
                   .rotation_deg = kp_curve_constant3(kp_vec3_make(0, 0, 90)),
                   .surface_velocity = { 3, 4, 0.0, 1.0, speeds, { 0 } } };
  kp_index turned = add_body(&s, &drum, &frame);
  make_samples(&in, &random, frame.position);
  assert_ok(kp_interface_create(s.registry, "walls", 3, false, &walls));
  assert_ok(kp_interface_create(s.registry, "movers", 3, true, &movers));
  add_samples(walls, &s, still, &in, N_SAMPLES);
  add_samples(movers, &s, turned, &in, N_SAMPLES);
  for (int k = 0; k < 2; ++k) {
    double time = 1.0 + 0.5 * k;
    kp_bodies_script(s.bodies, time);
    assert_ok(kp_interface_refresh(walls, s.bodies));
    assert_ok(kp_interface_refresh(movers, s.bodies));
    for (int64_t i = 0; i < N_SAMPLES; ++i) {
      assert_vec3_near(real3(walls->set->velocity, i), kp_vec3_make(0, 3, 0), 1e-6);
      assert_vec3_near(real3(movers->set->velocity, i), kp_vec3_make(0, time, 0), 1e-6);
      assert_vec3_near(pos3(movers->set->position, i), in.positions[i], 1e-12);
    }
  }
  kp_interface_destroy(&walls);
  kp_interface_destroy(&movers);
  scene_close(&s);
}

// Forces written by a coupling, summed by hand in the same order.
static void check_gather(coupled *c, kp_vec3 force[2], kp_vec3 torque[2]) {
  kp_test_random random = kp_test_random_begin(23);
  kp_real *f[3];
  for (int k = 0; k < 3; ++k) {
    f[k] = kp_buffer_host(&c->interface->force->buffers[k], KP_ACCESS_OVERWRITE);
  }
  kp_vec3 sum[2] = { { 0 } };
  kp_vec3 moment[2] = { { 0 } };
  for (size_t r = 0; r < c->interface->ranges.count; ++r) {
    const kp_interface_range *range = &c->interface->ranges.data[r];
    kp_vec3 center = kp_bodies_frame(c->s.bodies, range->body).position;
    for (int64_t i = range->first; i < range->first + range->count; ++i) {
      for (int k = 0; k < 3; ++k) {
        f[k][i] = (kp_real)kp_test_uniform(&random, -1, 1);
      }
      kp_vec3 one = kp_vec3_make((double)f[0][i], (double)f[1][i], (double)f[2][i]);
      kp_vec3 arm = kp_vec3_sub(pos3(c->interface->set->position, i), center);
      sum[range->body] = kp_vec3_add(sum[range->body], one);
      moment[range->body] = kp_vec3_add(moment[range->body], kp_vec3_cross(arm, one));
    }
  }
  kp_bodies_clear_forces(c->s.bodies);
  assert_ok(kp_interface_gather(c->interface, c->s.bodies));
  for (int b = 0; b < 2; ++b) {
    force[b] = c->s.bodies->forces.data[b];
    torque[b] = c->s.bodies->torques.data[b];
    assert_vec3_near(force[b], sum[b], 1e-11);
    assert_vec3_near(torque[b], moment[b], 1e-11);
  }
}

static void test_gather(void **state) {
  (void)state;
  static coupled c;
  kp_vec3 force[2][2];
  kp_vec3 torque[2][2];
  const kp_backend_kind kinds[2] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
  for (int k = 0; k < 2; ++k) {
    coupled_open(&c, kinds[k]);
    check_gather(&c, force[k], torque[k]);
    // what moves by script takes nothing, and cleared forces give nothing
    c.s.bodies->models.data[0].kind = KP_BODY_SCRIPTED;
    kp_bodies_clear_forces(c.s.bodies);
    assert_ok(kp_interface_gather(c.interface, c.s.bodies));
    assert_vec3_near(c.s.bodies->forces.data[0], kp_vec3_make(0, 0, 0), 0.0);
    assert_vec3_near(c.s.bodies->forces.data[1], force[k][1], 0.0);
    kp_bodies_clear_forces(c.s.bodies);
    assert_ok(kp_interface_clear_forces(c.interface));
    assert_ok(kp_interface_gather(c.interface, c.s.bodies));
    assert_vec3_near(c.s.bodies->forces.data[1], kp_vec3_make(0, 0, 0), 0.0);
    coupled_close(&c);
  }
  assert_memory_equal(force[0], force[1], sizeof force[0]);
  assert_memory_equal(torque[0], torque[1], sizeof torque[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_free_rotation),   cmocka_unit_test(test_fall_and_push),
    cmocka_unit_test(test_dzhanibekov),     cmocka_unit_test(test_impulse),
    cmocka_unit_test(test_scripted_frames), cmocka_unit_test(test_scripted_single_axis),
    cmocka_unit_test(test_ranges),          cmocka_unit_test(test_refresh),
    cmocka_unit_test(test_still_and_flat),  cmocka_unit_test(test_sliding_surface),
    cmocka_unit_test(test_gather),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
