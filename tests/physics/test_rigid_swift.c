// Thin and fast rigid bodies: nothing passes through anything. Needles, sheets, coins, shells, bent
// plates and small balls are thrown about in boxes with walls of a millimetre, against each other
// and past each other; a brute-force flight with exact tests of triangles says who would have met.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geom/mesh_make.h"
#include "geom/triangle_triangle.h"
#include "methods/rigid/rigid_state.h"

#include "support/media.h"

#define G 9.81
#define THIN 1e-3  // m
#define SPEED 30.0
#define SPIN 50.0

// ---- bodies -------------------------------------------------------------------------------------

enum { NEEDLE, SHEET, NEEDLE_MESH, SHEET_MESH, SHEET_SHELL, BALL, COIN, ROD, BENT, N_SHAPES };

static const char *const shape_names[N_SHAPES] = { "needle",     "sheet", "needle mesh",
                                                   "sheet mesh", "shell", "ball",
                                                   "coin",       "rod",   "bent plate" };

static void write_box(const char *folder, const char *name, kp_vec3 half) {
  kp_mesh mesh;
  assert_ok(kp_mesh_make_box((kp_aabb){ kp_vec3_scale(half, -1.0), half }, &mesh));
  kp_test_write_obj(folder, name, &mesh);
  kp_mesh_destroy(&mesh);
}

// A square of n x n cells, open.
static void write_square(const char *folder, const char *name, double half, int n) {
  kp_mesh mesh;
  assert_ok(kp_mesh_create((n + 1) * (n + 1), 2 * n * n, &mesh));
  for (int j = 0; j <= n; ++j) {
    for (int i = 0; i <= n; ++i) {
      mesh.vertices[j * (n + 1) + i] =
          kp_vec3_make(half * (2.0 * i / n - 1.0), 0.0, half * (2.0 * j / n - 1.0));
    }
  }
  for (int c = 0; c < n * n; ++c) {
    kp_index a = c / n * (n + 1) + c % n;
    mesh.triangles[2 * c] = (kp_triangle){ { a, a + n + 1, a + 1 } };
    mesh.triangles[2 * c + 1] = (kp_triangle){ { a + 1, a + n + 1, a + n + 2 } };
  }
  kp_test_write_obj(folder, name, &mesh);
  kp_mesh_destroy(&mesh);
}

// Two plates at a right angle, a millimetre thick: the profile of an angle iron.
static void write_bent(const char *folder, const char *name) {
  static const double profile[6][2] = { { 0, 0 },       { 0.1, 0 },    { 0.1, THIN },
                                        { THIN, THIN }, { THIN, 0.1 }, { 0, 0.1 } };
  kp_mesh mesh;
  assert_ok(kp_mesh_create(12, 20, &mesh));
  for (int i = 0; i < 12; ++i) {
    mesh.vertices[i] =
        kp_vec3_make(profile[i % 6][0] - 0.03, profile[i % 6][1] - 0.03, i < 6 ? -0.08 : 0.08);
  }
  static const kp_index cap[4][3] = { { 0, 1, 2 }, { 0, 2, 3 }, { 0, 3, 4 }, { 0, 4, 5 } };
  kp_index n = 0;
  for (int t = 0; t < 4; ++t) {
    mesh.triangles[n++] = (kp_triangle){ { cap[t][0], cap[t][2], cap[t][1] } };
    mesh.triangles[n++] = (kp_triangle){ { cap[t][0] + 6, cap[t][1] + 6, cap[t][2] + 6 } };
  }
  for (kp_index i = 0; i < 6; ++i) {
    kp_index j = (i + 1) % 6;
    mesh.triangles[n++] = (kp_triangle){ { i, j, j + 6 } };
    mesh.triangles[n++] = (kp_triangle){ { i, j + 6, i + 6 } };
  }
  assert_ok(kp_mesh_check_closed(&mesh));
  kp_test_write_obj(folder, name, &mesh);
  kp_mesh_destroy(&mesh);
}

static void write_meshes(const char *folder) {
  write_box(folder, "needle.obj", kp_vec3_make(0.5 * THIN, 0.5 * THIN, 0.1));
  write_box(folder, "sheet.obj", kp_vec3_make(0.1, 0.5 * THIN, 0.1));
  write_square(folder, "shell.obj", 0.1, 4);
  write_bent(folder, "bent.obj");
}

static kp_shape_def box_of(kp_vec3 half) {
  return kp_test_box(kp_vec3_scale(half, -1.0), half);
}

static kp_shape_def shape_of(int kind) {
  kp_shape_def def = box_of(kp_vec3_make(0.5 * THIN, 0.5 * THIN, 0.1));
  switch (kind) {
  case SHEET:
    return box_of(kp_vec3_make(0.1, 0.5 * THIN, 0.1));
  case NEEDLE_MESH:
    return kp_test_mesh("needle.obj");
  case SHEET_MESH:
    return kp_test_mesh("sheet.obj");
  case SHEET_SHELL:
    def = kp_test_mesh("shell.obj");
    def.shell = THIN;
    return def;
  case BALL:
    return kp_test_ball(kp_vec3_make(0, 0, 0), 0.004);
  case COIN:
  case ROD:
    def = kp_default_shape_def(kind == COIN ? KP_SHAPE_CYLINDER : KP_SHAPE_CAPSULE);
    def.a = kp_vec3_make(0, 0, kind == COIN ? -0.001 : -0.1);
    def.b = kp_vec3_scale(def.a, -1.0);
    def.radius = kind == COIN ? 0.012 : 0.5 * THIN;
    return def;
  case BENT:
    return kp_test_mesh("bent.obj");
  default:
    return def;
  }
}

#define RIM 0.0998  // m: soft contacts may give way by a fifth of a millimetre

// What must never be on the other side of a wall: the middle of what is thin, in shape coordinates.
static int spine_of(int kind, kp_vec3 out[8]) {
  int n = 0;
  for (int i = 0; i < 4; ++i) {
    double x = i % 2 == 0 ? -RIM : RIM;
    double y = i / 2 == 0 ? -RIM : RIM;
    switch (kind) {
    case SHEET:
    case SHEET_MESH:
    case SHEET_SHELL:
      out[n++] = kp_vec3_make(x, 0, y);
      break;
    case NEEDLE:
    case NEEDLE_MESH:
    case ROD:
      out[n++] = kp_vec3_make(0, 0, x);
      break;
    case BENT:
      out[n++] = kp_vec3_make(i % 2 == 0 ? -0.0295 : 0.0695, -0.0295, 0.8 * y);
      out[n++] = kp_vec3_make(-0.0295, 0.0695, 0.8 * y);
      break;
    default:
      out[n++] = kp_vec3_make(0, 0, 0);
      break;
    }
  }
  return n;
}

static kp_vec3 random_in_ball(kp_test_random *r, double radius) {
  for (;;) {
    kp_vec3 p = kp_vec3_make(kp_test_uniform(r, -1, 1), kp_test_uniform(r, -1, 1),
                             kp_test_uniform(r, -1, 1));
    double length = kp_vec3_length(p);
    if (length < 1.0 && length > 0.05) {
      return kp_vec3_scale(p, radius);
    }
  }
}

static kp_vec3 random_way(kp_test_random *r, double length) {
  return kp_vec3_scale(kp_vec3_normalize(random_in_ball(r, 1.0)), length);
}

static kp_body_def thrown(int kind, int number, kp_vec3 at, kp_test_random *r) {
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, "b%03d", number);
  body.shape = shape_of(kind);
  body.position = at;
  body.rotation_deg = random_in_ball(r, 180.0);
  body.density = 1000.0 * kp_test_uniform(r, 0.5, 8.0);
  body.restitution = kp_test_uniform(r, 0.0, 1.0);
  body.friction = kp_test_uniform(r, 0.0, 1.0);
  body.velocity = random_way(r, SPEED);
  body.angular_velocity = random_way(r, SPIN);
  return body;
}

static kp_test_settings settings_of(double gravity) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
  s.simulation.gravity = kp_vec3_make(0, -gravity, 0);
  return s;
}

static kp_rigid *rigid_of(kp_world *world) {
  return kp_test_system(world, &kp_rigid_method);
}

static void step(kp_world *world) {
  assert_ok(kp_world_advance(world, 1.0 / 60.0, NULL));
}

// ---- boxes with thin walls ----------------------------------------------------------------------

enum { WALL_BOXES, WALL_SHELL, WALL_ROOM, WALL_BALL, WALL_FREE, N_WALLS };

static const char *const wall_names[N_WALLS] = { "six boxes of 1 mm", "a box shell of 1 mm",
                                                 "an inverted box", "an inverted ball",
                                                 "a free box shell" };
#define HALF 0.5  // of the box

static void add_collider(kp_world *world, int number, kp_shape_def shape) {
  kp_collider_def wall = kp_default_collider_def();
  snprintf(wall.name, sizeof wall.name, "wall%d", number);
  wall.shape = shape;
  assert_ok(kp_world_add_collider(world, &wall));
}

static void add_walls(kp_world *world, int walls) {
  kp_vec3 half = kp_vec3_make(HALF, HALF, HALF);
  kp_shape_def shape = box_of(half);
  switch (walls) {
  case WALL_BOXES:
    for (int side = 0; side < 6; ++side) {
      double at[3] = { 0, 0, 0 };
      double size[3] = { HALF + THIN, HALF + THIN, HALF + THIN };
      at[side / 2] = side % 2 == 0 ? -HALF : HALF;
      size[side / 2] = 0.5 * THIN;
      kp_vec3 c = kp_vec3_make(at[0], at[1], at[2]);
      kp_vec3 d = kp_vec3_make(size[0], size[1], size[2]);
      add_collider(world, side, kp_test_box(kp_vec3_sub(c, d), kp_vec3_add(c, d)));
    }
    return;
  case WALL_SHELL:
    shape.shell = THIN;
    add_collider(world, 0, shape);
    return;
  case WALL_ROOM:
    shape.invert = true;
    add_collider(world, 0, shape);
    return;
  case WALL_BALL:
    shape = kp_test_ball(kp_vec3_make(0, 0, 0), HALF);
    shape.invert = true;
    add_collider(world, 0, shape);
    return;
  default: {
    kp_body_def box = kp_default_body_def();
    snprintf(box.name, sizeof box.name, "a");
    shape.shell = THIN;
    box.shape = shape;
    box.density = 4000.0;
    box.angular_velocity = kp_vec3_make(1.0, 2.0, -0.5);
    assert_ok(kp_world_add_body(world, &box));
    return;
  }
  }
}

// How far the spine of any body is outside [m]; negative inside.
static double outside(kp_world *world, int walls, int n_kinds, const int kinds[]) {
  double worst = -HUGE_VAL;
  kp_rigid *rigid = rigid_of(world);
  assert_ok(kp_rigid_broad_phase(rigid, &world->env));
  const kp_rigid_part *box = NULL;
  int k = 0;
  for (size_t p = 0; p < rigid->parts.count; ++p) {
    const kp_rigid_part *part = &rigid->parts.data[p];
    if (walls == WALL_FREE && part->is_free && box == NULL) {
      box = part;
      continue;
    }
    if (!part->is_free) {
      continue;
    }
    assert_true(k < n_kinds);
    kp_vec3 spine[8];
    int n = spine_of(kinds[k++], spine);
    for (int i = 0; i < n; ++i) {
      kp_vec3 x = kp_vec3_add(part->at.origin, kp_quat_rotate(part->at.turn, spine[i]));
      if (box != NULL) {
        x = kp_quat_rotate(kp_quat_conjugate(box->at.turn), kp_vec3_sub(x, box->at.origin));
      }
      double out = fmax(fabs(x.x), fmax(fabs(x.y), fabs(x.z)));
      worst = kp_test_most(worst, (walls == WALL_BALL ? kp_vec3_length(x) : out) - HALF);
    }
  }
  assert_int_equal(k, n_kinds);
  return worst;
}

typedef struct throw_sum {
  double worst;
  int64_t strikes, held;
} throw_sum;

static throw_sum throw_in(const char *folder, int walls, int n, const int kinds[],
                          kp_test_random *r) {
  static const double places[6][3] = { { 0, 0, 0 },     { 0.3, 0, 0 },  { -0.3, 0, 0 },
                                       { 0, 0.3, 0.0 }, { 0, -0.3, 0 }, { 0, 0, 0.3 } };
  kp_test_settings s = settings_of(G);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  add_walls(world, walls);
  for (int i = 0; i < n; ++i) {
    kp_body_def body =
        thrown(kinds[i], i, kp_vec3_make(places[i][0], places[i][1], places[i][2]), r);
    assert_ok(kp_world_add_body(world, &body));
  }
  assert_ok(kp_world_build(world));
  throw_sum out = { -HUGE_VAL, 0, 0 };
  for (int k = 0; k < 20; ++k) {
    step(world);
    out.worst = kp_test_most(out.worst, outside(world, walls, n, kinds));
  }
  out.strikes = rigid_of(world)->n_strikes;
  out.held = rigid_of(world)->n_held;
  kp_world_destroy(&world);
  return out;
}

static void test_boxes(void **state) {
  const char *folder = *state;
  write_meshes(folder);
  kp_test_random r = kp_test_random_begin(7);
  for (int walls = 0; walls < N_WALLS; ++walls) {
    throw_sum all = { -HUGE_VAL, 0, 0 };
    int n_out = 0;
    int n = 0;
    for (int i = 0; i < 3 * N_SHAPES + 6; ++i, ++n) {
      // one at a time, then four among each other
      bool is_many = i >= 3 * N_SHAPES;
      int kinds[4] = { i % N_SHAPES, (i + 2) % N_SHAPES, (i + 3) % N_SHAPES, (i + 7) % N_SHAPES };
      throw_sum one = throw_in(folder, walls, is_many ? 4 : 1, kinds, &r);
      n_out += one.worst > 0.0 ? 1 : 0;
      if (one.worst > 0.0) {
        print_message("    %s got out of %s (%d)\n", shape_names[kinds[0]], wall_names[walls], i);
      }
      all.worst = kp_test_most(all.worst, one.worst);
      all.strikes += one.strikes;
      all.held += one.held;
    }
    print_message("  %d throws in %s: %d got out, nearest %.2e m, %lld strikes, held %lld times\n",
                  n, wall_names[walls], n_out, all.worst, (long long)all.strikes,
                  (long long)all.held);
    assert_int_equal(n_out, 0);
    assert_true(all.strikes > n);
  }
}

// ---- pairs in flight ----------------------------------------------------------------------------

typedef struct flier {
  const kp_body *model;
  kp_frame3 f;
  kp_mesh mesh;  // of the surface, in shape coordinates
} flier;

static void triangle_at(const flier *a, kp_index t, kp_vec3 out[3]) {
  for (int k = 0; k < 3; ++k) {
    kp_vec3 p = kp_vec3_sub(a->mesh.vertices[a->mesh.triangles[t].v[k]], a->model->center);
    out[k] = kp_vec3_add(a->f.position, kp_quat_rotate(a->f.orientation, p));
  }
}

static bool do_overlap(const flier *a, const flier *b) {
  kp_vec3 d = kp_vec3_sub(a->f.position, b->f.position);
  if (kp_vec3_length(d) > 0.3) {
    return false;
  }
  for (kp_index i = 0; i < a->mesh.n_triangles; ++i) {
    kp_vec3 p[3];
    triangle_at(a, i, p);
    for (kp_index j = 0; j < b->mesh.n_triangles; ++j) {
      kp_vec3 q[3];
      triangle_at(b, j, q);
      if (kp_triangles_intersect(p, q)) {
        return true;
      }
    }
  }
  return false;
}

// Brute force: as if nothing were in the way, a hundredth of a millisecond at a time.
static bool would_meet(flier two[2], double seconds) {
  const double dt = 1e-5;
  for (int k = 0; k * dt < seconds; ++k) {
    if (do_overlap(&two[0], &two[1])) {
      return true;
    }
    for (int i = 0; i < 2; ++i) {
      kp_frame3 *f = &two[i].f;
      f->position = kp_vec3_madd(f->position, dt, f->velocity);
      kp_body_turn(two[i].model, &f->orientation, &f->angular_velocity, dt);
    }
  }
  return false;
}

typedef struct sums {
  kp_vec3 momentum, angular;
  double energy, scale;
} sums;

static sums sums_of(kp_world *world) {
  sums out = { 0 };
  for (kp_index b = 0; b < (kp_index)world->bodies->models.count; ++b) {
    const kp_body *model = &world->bodies->models.data[b];
    if (model->kind != KP_BODY_FREE) {
      continue;
    }
    kp_frame3 f = kp_bodies_frame(world->bodies, b);
    double mass = 1.0 / model->inverse_mass;
    kp_vec3 w = kp_quat_rotate(kp_quat_conjugate(f.orientation), f.angular_velocity);
    kp_vec3 spin = kp_mat3_mul_vec3(&model->inertia, w);
    out.momentum = kp_vec3_madd(out.momentum, mass, f.velocity);
    out.angular = kp_vec3_madd(out.angular, mass, kp_vec3_cross(f.position, f.velocity));
    out.angular = kp_vec3_add(out.angular, kp_quat_rotate(f.orientation, spin));
    out.energy += 0.5 * mass * kp_vec3_dot(f.velocity, f.velocity) + 0.5 * kp_vec3_dot(spin, w);
    out.scale += mass * kp_vec3_length(f.velocity);
  }
  return out;
}

typedef struct flight {
  bool should_meet, has_met;
  double momentum, angular, energy;  // off by, as a share; energy: left
} flight;

static flight fly(const char *folder, int kind_a, int kind_b, kp_test_random *r) {
  kp_test_settings s = settings_of(0.0);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  kp_body_def a = thrown(kind_a, 0, kp_vec3_make(-0.2, 0.05, 0), r);
  kp_body_def b = thrown(kind_b, 1, kp_vec3_make(0.2, 0, 0), r);
  a.velocity = kp_vec3_add(kp_vec3_make(SPEED, 0, 0), random_in_ball(r, 20.0));
  b.velocity = kp_vec3_add(kp_vec3_make(-SPEED, 0, 0), random_in_ball(r, 20.0));
  assert_ok(kp_world_add_body(world, &a));
  assert_ok(kp_world_add_body(world, &b));
  assert_ok(kp_world_build(world));
  kp_rigid *rigid = rigid_of(world);
  flier two[2];
  for (int i = 0; i < 2; ++i) {
    two[i] = (flier){ &world->bodies->models.data[i], kp_bodies_frame(world->bodies, i), { 0 } };
    const kp_rigid_part *part = &rigid->parts.data[rigid->part_of.data[i]];
    assert_ok(kp_shape_tessellate(part->shape, 0.01, &two[i].mesh));
  }
  flight out = { .should_meet = would_meet(two, 1.0 / 60.0) };
  sums before = sums_of(world);
  step(world);
  kp_vec3 change = kp_vec3_sub(kp_bodies_frame(world->bodies, 0).velocity, two[0].f.velocity);
  out.has_met = kp_vec3_length(change) > 1e-9;
  step(world);
  sums after = sums_of(world);
  out.momentum = kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)) / before.scale;
  out.angular = kp_vec3_length(kp_vec3_sub(after.angular, before.angular)) / before.scale;
  out.energy = after.energy / before.energy;
  kp_mesh_destroy(&two[0].mesh);
  kp_mesh_destroy(&two[1].mesh);
  kp_world_destroy(&world);
  return out;
}

static void test_pairs(void **state) {
  const char *folder = *state;
  write_meshes(folder);
  static const int pairs[][2] = { { NEEDLE, NEEDLE },     { NEEDLE, SHEET },
                                  { SHEET, SHEET },       { SHEET_MESH, NEEDLE_MESH },
                                  { SHEET_MESH, NEEDLE }, { BENT, SHEET } };
  kp_test_random r = kp_test_random_begin(11);
  int met = 0;
  int passed = 0;
  flight worst = { .energy = 0.0 };
  for (int i = 0; i < 180; ++i) {
    const int *kinds = pairs[i % 6];
    flight f = fly(folder, kinds[0], kinds[1], &r);
    if (f.should_meet != f.has_met) {
      print_message("    flight %d, %s and %s: %s\n", i, shape_names[kinds[0]],
                    shape_names[kinds[1]], f.should_meet ? "passed through" : "met nothing");
    }
    assert_int_equal(f.should_meet, f.has_met);
    met += f.has_met ? 1 : 0;
    passed += f.has_met ? 0 : 1;
    worst.momentum = kp_test_most(worst.momentum, f.momentum);
    worst.angular = kp_test_most(worst.angular, f.angular);
    worst.energy = kp_test_most(worst.energy, f.energy);
  }
  print_message("  %d pairs met, %d passed by, all as brute force says; momentum off by %.1e, "
                "angular %.1e m, energy at most %.6f of the start\n",
                met, passed, worst.momentum, worst.angular, worst.energy);
  assert_true(met > 40 && passed > 40);
  assert_true(worst.momentum < 1e-13);
  assert_true(worst.angular < 1e-12);
  assert_true(worst.energy < 1.0 + 1e-9);
}

// ---- bullets ------------------------------------------------------------------------------------

// A ball of 8 mm at 300 m/s against a plate of 1 mm: still, free, or itself the one that moves.
static void test_bullet(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; ++kind) {
    kp_test_settings s = settings_of(0.0);
    kp_world *world = kp_test_world(&s);
    kp_vec3 half = kp_vec3_make(0.5 * THIN, 2.0, 2.0);
    kp_body_def ball = kp_default_body_def();
    snprintf(ball.name, sizeof ball.name, "ball");
    ball.shape = shape_of(BALL);
    ball.density = 8000.0;
    ball.position = kp_vec3_make(-1.0, 0.1, 0.0);
    ball.velocity = kp_vec3_make(kind == 2 ? 0.0 : 300.0, 0, 0);
    assert_ok(kp_world_add_body(world, &ball));
    if (kind == 1) {
      kp_body_def plate = kp_default_body_def();
      snprintf(plate.name, sizeof plate.name, "plate");
      plate.shape = box_of(half);
      plate.density = 1000.0;
      assert_ok(kp_world_add_body(world, &plate));
    } else {
      kp_collider_def plate = kp_default_collider_def();
      snprintf(plate.name, sizeof plate.name, "plate");
      plate.shape = box_of(half);
      // as a script moves it: from the right through where the ball is
      static const double way[6] = { 0, 0, 0, -3, 0, 0 };
      if (kind == 2) {
        plate.position = (kp_curve){ .components = 3, .n = 2, .interval = 0.1, .samples = way };
      }
      assert_ok(kp_world_add_collider(world, &plate));
    }
    assert_ok(kp_world_build(world));
    sums before = sums_of(world);
    double nearest = HUGE_VAL;
    for (int k = 0; k < 6; ++k) {
      step(world);
      kp_rigid *rigid = rigid_of(world);
      assert_ok(kp_rigid_broad_phase(rigid, &world->env));
      double x[2];
      int n = 0;
      for (size_t p = 0; p < rigid->parts.count; ++p) {
        if (rigid->parts.data[p].is_bounded) {
          bool is_ball = rigid->parts.data[p].shape->def.kind == KP_SHAPE_SPHERE;
          x[is_ball ? 0 : 1] = rigid->parts.data[p].at.origin.x;
          ++n;
        }
      }
      assert_int_equal(n, 2);
      nearest = kp_test_least(nearest, x[1] - x[0]);
    }
    sums after = sums_of(world);
    static const char *const names[3] = { "a still plate", "a free plate", "a scripted plate" };
    print_message("  bullet and %s: the ball stays %.2f mm before its middle\n", names[kind],
                  1e3 * nearest);
    assert_true(nearest > 0.004);
    if (kind == 1) {
      double off = kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum));
      assert_true(off < 1e-13 * before.scale);
      assert_true(after.energy < before.energy);
    }
    kp_world_destroy(&world);
  }
}

// ---- stacks -------------------------------------------------------------------------------------

#define STACKED 20

// Plates on each other, a fiftieth of their thickness apart at first, and up to `aside` off the
// axis.
static kp_world *make_stack(const char *folder, kp_shape_def shape, double thick, double aside) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, 0, -1), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  kp_test_random r = kp_test_random_begin(3);
  for (int i = 0; i < STACKED; ++i) {
    kp_body_def plate = kp_default_body_def();
    snprintf(plate.name, sizeof plate.name, "p%02d", i);
    plate.shape = shape;
    plate.density = 2000.0;
    plate.friction = 0.5;
    plate.restitution = 0.0;
    plate.position = kp_vec3_make(kp_test_uniform(&r, -aside, aside), (i + 0.5) * 1.02 * thick,
                                  kp_test_uniform(&r, -aside, aside));
    plate.rotation_deg.y = kp_test_uniform(&r, -300.0 * aside, 300.0 * aside);
    assert_ok(kp_world_add_body(world, &plate));
  }
  assert_ok(kp_world_build(world));
  return world;
}

typedef struct unrest {
  double speed;  // of the fastest corner
  double way;    // of the centre that has gone farthest across, since `from`
  double nearest;
} unrest;

static unrest unrest_of(kp_world *world, const kp_vec3 from[STACKED], double thick) {
  unrest out = { 0.0, 0.0, HUGE_VAL };
  double below = -0.5 * thick;
  for (kp_index b = 0; b < STACKED; ++b) {
    kp_frame3 f = kp_bodies_frame(world->bodies, b);
    double spin = 0.1 * sqrt(2.0) * kp_vec3_length(f.angular_velocity);
    out.speed = kp_test_most(out.speed, kp_vec3_length(f.velocity) + spin);
    out.way = kp_test_most(out.way, hypot(f.position.x - from[b].x, f.position.z - from[b].z));
    out.nearest = kp_test_least(out.nearest, f.position.y - below);
    below = f.position.y;
  }
  return out;
}

static void places_of(kp_world *world, kp_vec3 out[STACKED]) {
  for (kp_index b = 0; b < STACKED; ++b) {
    out[b] = kp_bodies_frame(world->bodies, b).position;
  }
}

// All in shares of the thickness: a stack settles by no more than a fifth of it across and a tenth
// into each other, and after a second stands still.
static void stack_plates(const char *folder, const char *name, kp_shape_def shape, double thick,
                         double aside) {
  kp_world *world = make_stack(folder, shape, thick, aside);
  kp_vec3 start[STACKED];
  kp_vec3 settled[STACKED];
  places_of(world, start);
  for (int k = 0; k < 60; ++k) {
    step(world);
  }
  places_of(world, settled);
  double slump = unrest_of(world, start, thick).way / thick;
  for (int k = 0; k < 60; ++k) {
    step(world);
  }
  unrest end = unrest_of(world, settled, thick);
  print_message(
      "  20 plates of %.0f mm (%s, aside by %.0f mm): settle by %.4f of it across, nearest "
      "two %.3f; in the next second %.1e of it, then at %.1e of it per second\n",
      1e3 * thick, name, 1e3 * aside, slump, end.nearest / thick, end.way / thick,
      end.speed / thick);
  assert_true(slump < 0.2);
  assert_true(end.nearest > 0.9 * thick);
  assert_true(end.way < 1e-3 * thick);
  assert_true(end.speed < 1e-3 * thick);
  kp_world_destroy(&world);
}

static void test_stack(void **state) {
  write_meshes(*state);
  for (double aside = 0.0; aside < 7e-3; aside += 3e-3) {
    stack_plates(*state, "box", shape_of(SHEET), THIN, aside);
    stack_plates(*state, "mesh", shape_of(SHEET_MESH), THIN, aside);
    stack_plates(*state, "shell", shape_of(SHEET_SHELL), THIN, aside);
    for (int k = 4; k <= 10; k += 3) {
      double thick = k * THIN;
      stack_plates(*state, "box", box_of(kp_vec3_make(0.1, 0.5 * thick, 0.1)), thick, aside);
    }
  }
}

// ---- bits ---------------------------------------------------------------------------------------

static kp_world *make_thrown(const char *backend) {
  kp_test_random r = kp_test_random_begin(5);
  kp_test_settings s = settings_of(G);
  s.backend = backend;
  kp_world *world = kp_test_world(&s);
  add_walls(world, WALL_SHELL);
  static const int kinds[8] = { NEEDLE, SHEET, BALL, COIN, ROD, NEEDLE, SHEET, COIN };
  for (int i = 0; i < 8; ++i) {
    kp_vec3 at = kp_vec3_make(0.25 * (i % 2 == 0 ? -1 : 1), 0.25 * (i / 2 % 2 == 0 ? -1 : 1),
                              0.25 * (i / 4 == 0 ? -1 : 1));
    kp_body_def body = thrown(kinds[i], i, at, &r);
    assert_ok(kp_world_add_body(world, &body));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static void test_bits(void **state) {
  (void)state;
  uint64_t hash = kp_test_same_bits(make_thrown, 12);
  print_message("  %016llx for 1 to 4 threads, mirror and rewind\n", (unsigned long long)hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_boxes, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_pairs, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_bullet),
    cmocka_unit_test_setup_teardown(test_stack, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
