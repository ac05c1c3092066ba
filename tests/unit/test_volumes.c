// Grids of a world in frames: only the window, velocities at the centres, nothing but exports.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "data/mac_sample.h"
#include "geom/mesh.h"
#include "io/frame_data.h"
#include "run/batch.h"
#include "run/surfaces.h"

#include "support/worlds.h"

typedef struct grid_world {
  kp_world *world;
  kp_mac *mac;
} grid_world;

static double value_at(int i, int j, int k) {
  return i + 100.0 * j + 10000.0 * k;
}

// An empty world with a grid of 40 x 33 x 24 cells whose values tell where they are.
static grid_world make_world(const char *backend, int dimension) {
  kp_test_settings settings =
      kp_test_settings_make(dimension, kp_vec3_make(-1, 0, 0), kp_vec3_make(3, 3.3, 2.4));
  settings.backend = backend;
  grid_world g = { .world = kp_test_world(&settings) };
  kp_liquid_def water = kp_test_liquid("drop", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1), 0.5);
  assert_ok(kp_world_add_liquid(g.world, &water));
  assert_ok(kp_world_build(g.world));
  kp_mac_def def = { .name = "smoke.grid",
                     .box = { kp_vec3_make(-1, 0, 0), kp_vec3_make(3, 3.3, 2.4) },
                     .cell = 0.1,
                     .dimension = dimension };
  assert_ok(kp_mac_create(g.world->registry, &def, &g.mac));
  kp_field_desc descs[] = {
    { "density", KP_TYPE_REAL, 1, "kg/m^3", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
    { "velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
    { "secret", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 },
    { "flags", KP_TYPE_U8, 1, "", KP_FIELD_EXPORT, 7.0 },
  };
  kp_field *fields[4];
  for (int f = 0; f < 4; ++f) {
    assert_ok(kp_mac_add_field(g.mac, &descs[f], &fields[f]));
  }
  for (int c = 0; c < 4; ++c) {
    kp_buffer *buffer = c < 3 ? &fields[1]->buffers[c] : &fields[0]->buffers[0];
    kp_real *items = kp_buffer_host(buffer, KP_ACCESS_OVERWRITE);
    int layers = dimension == 2 ? 0 : KP_MAC_GHOSTS;
    for (int k = -layers; k < g.mac->view.n[2] + layers; ++k) {
      for (int j = -KP_MAC_GHOSTS; j < g.mac->view.n[1] + KP_MAC_GHOSTS; ++j) {
        for (int i = -KP_MAC_GHOSTS; i < g.mac->view.n[0] + KP_MAC_GHOSTS; ++i) {
          items[kp_mac_at(&g.mac->view, i, j, k)] = (kp_real)(value_at(i, j, k) * (c + 1));
        }
      }
    }
  }
  assert_ok(kp_env_add_grid(&g.world->env, "smoke", g.mac));
  return g;
}

static void free_world(grid_world *g) {
  kp_mac_destroy(&g->mac);
  kp_world_destroy(&g->world);
}

// Through a file, as a reader sees it.
static kp_frame *write_and_load(grid_world *g, const char *folder) {
  const char *path = kp_test_path(folder, "frame.kpf");
  kp_batch batch = { 0 };
  kp_frame *frame;
  kp_batch_begin(&batch, g->world, 0, 3);
  assert_ok(kp_batch_add_sets(&batch, g->world));
  assert_ok(kp_batch_add_volumes(&batch, g->world));
  assert_ok(kp_container_write(path, &batch.head, batch.sections.data, batch.sections.count));
  kp_batch_free(&batch);
  assert_ok(kp_frame_load(path, &frame));
  return frame;
}

static void check_values(const kp_frame_volume *volume, const int32_t lo[3], int dimension) {
  const kp_frame_field *density = kp_frame_find_field(&volume->fields, "density");
  const kp_frame_field *velocity = kp_frame_find_field(&volume->fields, "velocity");
  assert_string_equal(density->unit, "kg/m^3");
  assert_int_equal(velocity->n_components, 3);
  uint64_t at = 0;
  for (uint64_t k = 0; k < volume->dims[2]; ++k) {
    for (uint64_t j = 0; j < volume->dims[1]; ++j) {
      for (uint64_t i = 0; i < volume->dims[0]; ++i, ++at) {
        double here = value_at((int)i + lo[0], (int)j + lo[1], (int)k + lo[2]);
        assert_near(kp_frame_value(density, 0, at), 4 * here, 1e-6 * fabs(here));
        // the mean of the two faces
        assert_near_relative(kp_frame_value(velocity, 0, at), here + 0.5, 1e-6);
        assert_near_relative(kp_frame_value(velocity, 1, at), 2 * (here + 50), 1e-6);
        double w = dimension == 2 ? 0.0 : 3 * (here + 5000);
        assert_near_relative(kp_frame_value(velocity, 2, at), w, 1e-6);
      }
    }
  }
}

static void test_window(void **state) {
  static const char *const backends[] = { "cpu", "mirror" };
  for (int b = 0; b < 2; ++b) {
    grid_world g = make_world(backends[b], 3);
    const int32_t lo[3] = { 16, 0, 0 };
    const int32_t from[3] = { 18, 3, 2 }, to[3] = { 20, 10, 12 };
    assert_ok(kp_mac_set_window(g.mac, from, to, 1));
    kp_frame *frame = write_and_load(&g, *state);
    const kp_frame_volume *volume = kp_frame_find_volume(frame, "smoke");
    assert_non_null(volume);
    assert_true(volume->dims[0] == 16 && volume->dims[1] == 16 && volume->dims[2] == 16);
    assert_vec3_near(volume->origin, kp_vec3_make(0.6, 0, 0), 1e-12);
    assert_near(volume->spacing, 0.1, 1e-15);
    assert_null(kp_frame_find_field(&volume->fields, "secret"));
    assert_int_equal(kp_frame_find_field(&volume->fields, "flags")->type, KP_ITEM_U8);
    assert_near(kp_frame_value(kp_frame_find_field(&volume->fields, "flags"), 0, 99), 7, 0);
    check_values(volume, lo, 3);
    // particles are still there, and cells are not counted as such
    assert_non_null(kp_frame_find_set(frame, "drop"));
    assert_null(kp_frame_find_set(frame, "smoke.grid"));
    assert_false(kp_space_is_population(g.world, g.mac->space));
    kp_frame_free(&frame);
    free_world(&g);
  }
}

static void test_flat(void **state) {
  grid_world g = make_world("cpu", 2);
  kp_frame *frame = write_and_load(&g, *state);
  const kp_frame_volume *volume = kp_frame_find_volume(frame, "smoke");
  const int32_t lo[3] = { 0, 0, 0 };
  assert_true(volume->dims[0] == 40 && volume->dims[1] == 33 && volume->dims[2] == 1);
  assert_vec3_near(volume->origin, kp_vec3_make(-1, 0, -0.05), 1e-12);
  check_values(volume, lo, 2);
  kp_frame_free(&frame);
  free_world(&g);
}

static void test_measure(void **state) {
  (void)state;
  grid_world g = make_world("cpu", 3);
  kp_world_size size;
  assert_ok(kp_world_measure(g.world, &size));
  assert_int_equal(size.cells, 40 * 33 * 24);
  assert_int_equal(size.particles, 8);
  // six arrays of numbers and one of bytes, ghosts included
  assert_true(size.bytes > 44.0 * 37.0 * 28.0 * (5 * sizeof(kp_real) + 1));
  assert_true(size.seconds_per_second > 0.0);
  free_world(&g);
}

// Seconds that a step of a block of liquid takes, per particle.
static double step_cost(int method) {
  kp_world *world;
  kp_domain_def domain = kp_default_domain_def();
  kp_liquid_def liquid = kp_default_liquid_def();
  liquid.method = method;
  liquid.spacing = 0.1;
  liquid.shape.kind = KP_SHAPE_BOX;
  liquid.shape.max = kp_vec3_make(0.5, 0.5, 0.5);
  snprintf(liquid.name, sizeof liquid.name, "block");
  kp_world_size size;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_set_domain(world, &domain));
  assert_ok(kp_world_add_liquid(world, &liquid));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_measure(world, &size));
  assert_true(size.particles > 0);
  kp_world_destroy(&world);
  return size.seconds_per_second * size.dt / (double)size.particles;
}

// What check tells of time depends on the method: pressure that is solved for costs ten times what
// follows from density, springs half of that.
static void test_measure_by_method(void **state) {
  (void)state;
  double sph = step_cost(KP_LIQUID_SPH);
  assert_true(sph > 1e-7 && sph < 1e-6);
  assert_true(step_cost(KP_LIQUID_MPS) > 5.0 * sph);
  assert_true(step_cost(KP_LIQUID_SPRINGS) < 0.8 * sph);
}

// ---- surfaces

// A ball of radius 0.8 about (1, y, 1.2), and a velocity that is linear.
static void fill_level_set(grid_world *g, double height) {
  const kp_mac_view *v = &g->mac->view;
  kp_field_desc desc = { "distance", KP_TYPE_REAL, 1, "m", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 };
  kp_field *distance, *velocity = kp_space_find(g->mac->space, "velocity");
  assert_ok(kp_mac_add_field(g->mac, &desc, &distance));
  kp_real *items = kp_buffer_host(&distance->buffers[0], KP_ACCESS_OVERWRITE);
  kp_real *u[3];
  for (int c = 0; c < 3; ++c) {
    u[c] = kp_buffer_host(&velocity->buffers[c], KP_ACCESS_OVERWRITE);
  }
  for (int k = -2; k < v->n[2] + 2; ++k) {
    for (int j = -2; j < v->n[1] + 2; ++j) {
      for (int i = -2; i < v->n[0] + 2; ++i) {
        int64_t at = kp_mac_at(v, i, j, k);
        kp_vec3 p = kp_vec3_make(v->lo[0] + v->cell * (i + 0.5), v->lo[1] + v->cell * (j + 0.5),
                                 v->lo[2] + v->cell * (k + 0.5));
        kp_vec3 d = kp_vec3_sub(p, kp_vec3_make(1.0, height, 1.2));
        items[at] = (kp_real)(kp_vec3_length(d) - 0.8);
        u[0][at] = (kp_real)(2.0 * (p.x - 0.5 * v->cell));
        u[1][at] = (kp_real)(1.0 - p.x);
        u[2][at] = (kp_real)(3.0 * p.y);
      }
    }
  }
}

static kp_frame *load_surface(grid_world *g, const kp_surface_out *how, const char *folder) {
  const char *path = kp_test_path(folder, "surface.kpf");
  kp_batch batch = { 0 };
  kp_surfaces surfaces;
  kp_frame *frame;
  assert_ok(kp_surfaces_begin(&surfaces, how, g->world));
  kp_batch_begin(&batch, g->world, 0, 3);
  assert_ok(kp_surfaces_add(&surfaces, g->world, &batch));
  assert_ok(kp_container_write(path, &batch.head, batch.sections.data, batch.sections.count));
  kp_batch_free(&batch);
  kp_surfaces_free(&surfaces);
  assert_ok(kp_frame_load(path, &frame));
  return frame;
}

static kp_mesh closed_mesh(const kp_frame_mesh *in) {
  kp_mesh mesh;
  assert_non_null(in);
  assert_ok(kp_mesh_create((kp_index)in->n_vertices, (kp_index)in->n_triangles, &mesh));
  memcpy(mesh.vertices, in->vertices, (size_t)in->n_vertices * sizeof *mesh.vertices);
  for (uint64_t i = 0; i < 3 * in->n_triangles; ++i) {
    mesh.triangles[i / 3].v[i % 3] = (kp_index)in->triangles[i];
  }
  assert_ok(kp_mesh_check_closed(&mesh));
  return mesh;
}

static void test_level_set(void **state) {
  static const char *const backends[] = { "cpu", "mirror" };
  for (int b = 0; b < 2; ++b) {
    // a whole ball, and half of one that sits on the floor
    for (int half = 0; half < 2; ++half) {
      grid_world g = make_world(backends[b], 3);
      fill_level_set(&g, half == 1 ? 0.0 : 1.5);
      kp_text_copy(g.world->env.grids.data[0].name, KP_NAME_SIZE, "drop");
      kp_surface_out how = kp_default_surface_out();
      kp_text_copy(how.from, sizeof how.from, "drop");
      kp_frame *frame = load_surface(&g, &how, *state);
      const kp_frame_mesh *surface = kp_frame_find_mesh(frame, "surface of drop");
      kp_mesh mesh = closed_mesh(surface);
      double volume = 4.0 / 3.0 * 3.14159265 * 0.512 / (half + 1);
      // the sharp rim on the floor is cut off
      assert_near_relative(kp_mesh_volume(&mesh), volume, half == 1 ? 0.025 : 0.01);
      for (uint64_t i = 0; i < surface->n_vertices; ++i) {
        kp_vec3 p = surface->vertices[i];
        assert_true(p.y > -1e-3);
        kp_vec3 v = kp_vec3_make(2.0 * p.x, 1.0 - p.x, 3.0 * p.y);
        assert_vec3_near(surface->velocities[i], v, p.y < 0.06 ? 0.2 : 1e-4);
      }
      assert_int_equal(kp_frame_find_field(&surface->fields, "normal")->n_components, 3);
      kp_mesh_destroy(&mesh);
      kp_frame_free(&frame);
      free_world(&g);
    }
  }
}

// A small solid in the middle of the ball, which the level set leaves out: no surface around it.
static void test_solid_in_liquid(void **state) {
  grid_world g = make_world("mirror", 3);
  fill_level_set(&g, 1.5);
  const kp_mac_view *v = &g.mac->view;
  kp_real *phi =
      kp_buffer_host(&kp_space_find(g.mac->space, "distance")->buffers[0], KP_ACCESS_WRITE);
  uint8_t *flags =
      kp_buffer_host(&kp_space_find(g.mac->space, "flags")->buffers[0], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < v->count; ++i) {
    // the ball's own distance tells how far its middle is
    double from_middle = (double)phi[i] + 0.8;
    if (from_middle < 0.2) {
      phi[i] = (kp_real)(0.2 - from_middle);
      flags[i] = KP_CELL_SOLID;
    }
  }
  kp_text_copy(g.world->env.grids.data[0].name, KP_NAME_SIZE, "drop");
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "drop");
  kp_frame *frame = load_surface(&g, &how, *state);
  const kp_frame_mesh *surface = kp_frame_find_mesh(frame, "surface of drop");
  kp_mesh mesh = closed_mesh(surface);
  assert_int_equal(surface->n_vertices - surface->n_triangles / 2, 2);
  assert_near_relative(kp_mesh_volume(&mesh), 4.0 / 3.0 * 3.14159265 * 0.512, 0.01);
  kp_mesh_destroy(&mesh);
  kp_frame_free(&frame);
  free_world(&g);
}

static void test_particles(void **state) {
  grid_world g = make_world("cpu", 3);
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "none");
  kp_frame *frame = load_surface(&g, &how, *state);
  assert_int_equal(frame->n_meshes, 0);
  kp_frame_free(&frame);
  // particles have a surface unless it is turned off
  how = kp_default_surface_out();
  frame = load_surface(&g, &how, *state);
  kp_mesh mesh = closed_mesh(kp_frame_find_mesh(frame, "surface of drop"));
  assert_between(kp_mesh_volume(&mesh), 0.15, 1.2);  // eight particles, 1 m^3
  kp_mesh_destroy(&mesh);
  kp_frame_free(&frame);
  kp_text_copy(how.from, sizeof how.from, "dorp");
  kp_surfaces surfaces;
  assert_fails(KP_ERROR_SCENE, "did you mean \"drop\"",
               kp_surfaces_begin(&surfaces, &how, g.world));
  kp_surfaces_free(&surfaces);
  free_world(&g);
}

static kp_world *blocks_world(const kp_liquid_def *liquids, int n) {
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(3, 2, 2));
  kp_world *world = kp_test_world(&settings);
  for (int i = 0; i < n; ++i) {
    assert_ok(kp_world_add_liquid(world, &liquids[i]));
  }
  assert_ok(kp_world_build(world));
  return world;
}

// Two halves of a block, one at rest and one that moves: one closed surface around both, that of
// the whole block, with the velocity of whichever is near.
static void test_joined(void **state) {
  kp_liquid_def halves[2] = {
    kp_test_liquid("left", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1), 0.1),
    kp_test_liquid("right", kp_vec3_make(1, 0, 0), kp_vec3_make(2, 1, 1), 0.1),
  };
  halves[1].velocity = kp_vec3_make(0, 0, 3);
  kp_liquid_def whole = kp_test_liquid("whole", kp_vec3_make(0, 0, 0), kp_vec3_make(2, 1, 1), 0.1);
  grid_world two = { .world = blocks_world(halves, 2) };
  grid_world one = { .world = blocks_world(&whole, 1) };
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "all");
  how.join = true;
  kp_frame *joined = load_surface(&two, &how, *state), *single = load_surface(&one, &how, *state);
  assert_int_equal(joined->n_meshes, 1);
  const kp_frame_mesh *surface = kp_frame_find_mesh(joined, "surface of left and right");
  const kp_frame_mesh *twin = kp_frame_find_mesh(single, "surface of whole");
  kp_mesh mesh = closed_mesh(surface);
  assert_near_relative(kp_mesh_volume(&mesh), 2.0, 0.05);
  assert_int_equal(surface->n_vertices, twin->n_vertices);
  for (uint64_t i = 0; i < surface->n_vertices; ++i) {
    double x = surface->vertices[i].x, speed = surface->velocities[i].z;
    assert_vec3_near(surface->vertices[i], twin->vertices[i], 1e-5);
    assert_near(speed, x < 0.75 ? 0.0 : x > 1.25 ? 3.0 : speed, 1e-5);
  }
  kp_mesh_destroy(&mesh);
  kp_frame_free(&joined);
  kp_frame_free(&single);
  kp_world_destroy(&two.world);
  kp_world_destroy(&one.world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_window, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_flat, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_level_set, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_solid_in_liquid, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_particles, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_joined, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_measure),
    cmocka_unit_test(test_measure_by_method),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
