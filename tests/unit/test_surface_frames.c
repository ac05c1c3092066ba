// Surfaces in frames: liquids that mix have one surface when they are joined, which carries their
// concentration and velocity and takes after the look of the first.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geom/mesh.h"
#include "io/frame_data.h"
#include "render/scene_from_frame.h"
#include "run/surfaces.h"

#include "support/worlds.h"

#define D 0.05

// Two halves of a pool: concentration 1 to the left, 0 to the right, which moves.
static kp_world *make_halves(const char *backend) {
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.8, 0.4));
  settings.backend = backend;
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def left =
      kp_test_liquid("pink", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.3, 0.4), D);
  kp_liquid_def right =
      kp_test_liquid("white", kp_vec3_make(0.4, 0, 0), kp_vec3_make(0.8, 0.3, 0.4), D);
  left.concentration = 1.0;
  left.dispersion = right.dispersion = 1e-4;
  right.velocity = kp_vec3_make(0, 0, 0.5);
  assert_ok(kp_world_add_liquid(world, &left));
  assert_ok(kp_world_add_liquid(world, &right));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_frame *load(kp_world *world, const kp_surface_out *how, const char *folder) {
  const char *path = kp_test_path(folder, "surface.kpf");
  kp_batch batch = { 0 };
  kp_surfaces surfaces;
  kp_frame *frame;
  assert_ok(kp_surfaces_begin(&surfaces, how, world));
  kp_batch_begin(&batch, world, 0, 3);
  assert_ok(kp_batch_add_sets(&batch, world));
  assert_ok(kp_surfaces_add(&surfaces, world, &batch));
  assert_ok(kp_container_write(path, &batch.head, batch.sections.data, batch.sections.count));
  kp_batch_free(&batch);
  kp_surfaces_free(&surfaces);
  assert_ok(kp_frame_load(path, &frame));
  return frame;
}

static double volume_of(const kp_frame_mesh *in) {
  kp_mesh mesh;
  assert_ok(kp_mesh_create((kp_index)in->n_vertices, (kp_index)in->n_triangles, &mesh));
  memcpy(mesh.vertices, in->vertices, (size_t)in->n_vertices * sizeof *mesh.vertices);
  for (uint64_t i = 0; i < 3 * in->n_triangles; ++i) {
    mesh.triangles[i / 3].v[i % 3] = (kp_index)in->triangles[i];
  }
  assert_ok(kp_mesh_check_closed(&mesh));
  double volume = kp_mesh_volume(&mesh);
  kp_mesh_destroy(&mesh);
  return volume;
}

// Depth as a field of particles: in the middle of a pool, from its top down, walls left out; joined
// and alone, on cpu and from a device.
static void test_depth(void **state) {
  const char *const backends[2] = { "cpu", "mirror" };
  for (int k = 0; k < 4; ++k) {
    kp_world *world = make_halves(backends[k / 2]);
    kp_surface_out how = kp_default_surface_out();
    kp_text_copy(how.from, sizeof how.from, "all");
    how.join = k % 2 == 1;
    how.depth = true;
    kp_frame *frame = load(world, &how, *state);
    for (int side = 0; side < 2; ++side) {
      const char *name = side == 0 ? "pink" : "white";
      kp_test_particles p = kp_test_particles_read(world, name);
      const kp_frame_field *depth = NULL;
      for (size_t i = 0; i < frame->n_sets; ++i) {
        if (strcmp(frame->sets[i].name, name) == 0) {
          depth = kp_frame_find_field(&frame->sets[i].fields, "depth");
        }
      }
      assert_non_null(depth);
      assert_int_equal(depth->count, p.n);
      for (int64_t i = 0; i < p.n; ++i) {
        // alone each half has a side of its own in the middle of the tank
        double below = 0.3 - p.x[1][i];
        double aside = how.join ? 1.0 : fabs(p.x[0][i] - 0.4);
        assert_near(kp_frame_value(depth, 0, (uint64_t)i), fmin(below, aside), 0.4 * D);
      }
      kp_test_particles_free(&p);
    }
    kp_frame_free(&frame);
    kp_world_destroy(&world);
  }
}

static void test_joined(void **state) {
  kp_world *world = make_halves("cpu");
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "all");
  how.join = true;
  kp_frame *frame = load(world, &how, *state);
  assert_int_equal(frame->n_meshes, 1);
  const kp_frame_mesh *mesh = kp_frame_find_mesh(frame, "surface of pink and white");
  assert_non_null(mesh);
  assert_near_relative(volume_of(mesh), 0.8 * 0.3 * 0.4, 0.03);
  const kp_frame_field *c = kp_frame_find_field(&mesh->fields, "concentration");
  assert_non_null(c);
  assert_int_equal(c->n_components, 1);
  int n_between = 0, n_on_walls = 0;
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    double x = mesh->vertices[i].x, value = kp_frame_value(c, 0, i);
    double expected = x < 0.4 - 2.6 * D ? 1.0 : 0.0;
    if (fabs(x - 0.4) > 2.6 * D) {
      assert_near(value, expected, 1e-6);
      // white moves along z, but what lies on a wall does not go through it
      double away = fmin(mesh->vertices[i].z, 0.4 - mesh->vertices[i].z) / D;
      double share = fmin(fmax(away, 0.0), 1.0);
      assert_near(mesh->velocities[i].z, 0.5 * (1.0 - expected) * share, 1e-5);
      n_on_walls += away < 1e-3 && expected == 0.0 ? 1 : 0;
    } else {
      assert_between(value, 0.0, 1.0);
      n_between += value > 0.05 && value < 0.95 ? 1 : 0;
    }
  }
  assert_true(n_between > 10);
  assert_true(n_on_walls > 10);
  // coloured as the first liquid says, and opaque
  kp_named_look look = { .look = kp_default_look_def() };
  kp_text_copy(look.name, sizeof look.name, "pink");
  kp_text_copy(look.look.color_by, sizeof look.look.color_by, "concentration");
  kp_frame_scene *scene = NULL;
  assert_ok(kp_frame_scene_create(frame, &look, 1, 0.5 * D, &scene));
  const kp_render_scene *drawn = kp_frame_scene_get(scene);
  assert_int_equal(drawn->n_meshes, 1);
  assert_non_null(drawn->meshes[0].scalar);
  assert_false(drawn->meshes[0].look.water);
  kp_frame_scene_destroy(&scene);
  kp_frame_free(&frame);
  kp_world_destroy(&world);
}

// What shear-thickening fluid remembers is on its surface too, and colours it.
static void test_stiffening(void **state) {
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.8, 0.4));
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def starch =
      kp_test_liquid("starch", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.3, 0.4), D);
  starch.method = KP_LIQUID_STF;
  assert_ok(kp_world_add_liquid(world, &starch));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 40);
  int64_t n = kp_world_count(world, "starch");
  double *values = malloc((size_t)n * sizeof *values), most = 0.0;
  assert_non_null(values);
  assert_ok(kp_world_read(world, "starch", "stiffening", 0, values, n));
  for (int64_t i = 0; i < n; ++i) {
    most = kp_test_most(most, values[i]);
  }
  free(values);
  assert_true(most > 0.0);
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "starch");
  kp_frame *frame = load(world, &how, *state);
  const kp_frame_mesh *mesh = kp_frame_find_mesh(frame, "surface of starch");
  const kp_frame_field *field = kp_frame_find_field(&mesh->fields, "stiffening");
  assert_non_null(field);
  double shown = 0.0;
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    double value = kp_frame_value(field, 0, i);
    assert_between(value, 0.0, 1.000001 * most);
    shown = kp_test_most(shown, value);
  }
  print_message("stiffening up to %g inside, %g on the surface\n", most, shown);
  assert_true(shown > 0.1 * most);
  kp_frame_free(&frame);
  kp_world_destroy(&world);
}

// Apart there are two, each with its own, and smoothing leaves them on the walls.
static void test_apart(void **state) {
  kp_world *world = make_halves("cpu");
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "all");
  for (int kind = 0; kind < KP_MESH_SMOOTHING_COUNT; ++kind) {
    how.mesh_smoothing = kind;
    kp_frame *frame = load(world, &how, *state);
    assert_int_equal(frame->n_meshes, 2);
    const kp_frame_mesh *mesh = kp_frame_find_mesh(frame, "surface of pink");
    double volume = volume_of(mesh), lowest = 1.0;
    for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
      lowest = kp_test_least(lowest, mesh->vertices[i].y);
    }
    assert_near_relative(volume, 0.4 * 0.3 * 0.4, kind == KP_MESH_SMOOTHING_NONE ? 0.06 : 0.12);
    assert_near(lowest, 0.0, 1e-3 * D);
    kp_frame_free(&frame);
  }
  kp_world_destroy(&world);
}

static void check_same(const kp_batch *x, const kp_batch *y) {
  assert_int_equal(x->sections.count, y->sections.count);
  for (size_t k = 0; k < x->sections.count; ++k) {
    const kp_section *a = &x->sections.data[k], *b = &y->sections.data[k];
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->data, b->data, (size_t)a->count * kp_item_size(a->type));
  }
}

// Surfaces after three steps; the particles of each from the first one named on are on the host, or
// stayed on the device.
static void surface_after_steps(kp_world *world, const kp_surface_out *how, size_t first,
                                bool is_on_host, kp_batch *batch) {
  kp_surfaces surfaces;
  kp_test_steps(world, 3);
  assert_ok(kp_surfaces_begin(&surfaces, how, world));
  kp_batch_begin(batch, world, 0, 3);
  assert_ok(kp_surfaces_add(&surfaces, world, batch));
  for (size_t i = first; i < surfaces.items.count; ++i) {
    kp_field *places = kp_space_find(surfaces.items.data[i].particles, "position");
    assert_true(places->buffers[0].host_valid == is_on_host);
  }
  kp_surfaces_free(&surfaces);
}

// A world on a device makes the same meshes there, with the same velocities and concentrations, and
// its particles stay there.
static void test_device(void **state) {
  (void)state;
  for (int join = 0; join < 2; ++join) {
    kp_surface_out how = kp_default_surface_out();
    kp_text_copy(how.from, sizeof how.from, "all");
    how.join = join != 0;
    kp_world *worlds[2] = { make_halves("cpu"), make_halves("mirror") };
    kp_batch batches[2];
    memset(batches, 0, sizeof batches);
    for (int w = 0; w < 2; ++w) {
      surface_after_steps(worlds[w], &how, 0, w == 0, &batches[w]);
    }
    check_same(&batches[0], &batches[1]);
    for (int w = 0; w < 2; ++w) {
      kp_batch_free(&batches[w]);
      kp_world_destroy(&worlds[w]);
    }
  }
}

// A block of level-set water beside a ball that it closes around.
static kp_world *make_grid_water(const char *backend) {
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.6, 0.5));
  settings.backend = backend;
  settings.simulation.gravity = kp_vec3_make(0, -9.81, 0);
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.4, 0.5), D);
  water.method = KP_LIQUID_LEVEL_SET;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def ball = kp_default_collider_def();
  kp_text_copy(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_default_shape_def(KP_SHAPE_SPHERE);
  ball.shape.center = kp_vec3_make(0.35, 0.15, 0.25);
  ball.shape.radius = 0.12;
  assert_ok(kp_world_add_collider(world, &ball));
  assert_ok(kp_world_build(world));
  return world;
}

// The surface of a level set is made on a device with the same bits, whatever smooths it, and
// nothing of the grid comes back: the finished mesh and its velocities alone.
static void test_grid_device(void **state) {
  (void)state;
  kp_world *worlds[2] = { make_grid_water("cpu"), make_grid_water("mirror") };
  for (int w = 0; w < 2; ++w) {
    kp_test_steps(worlds[w], 3);
  }
  for (int kind = 0; kind < KP_MESH_SMOOTHING_COUNT; ++kind) {
    kp_surface_out how = kp_default_surface_out();
    how.mesh_smoothing = kind;
    kp_batch batches[2];
    memset(batches, 0, sizeof batches);
    for (int w = 0; w < 2; ++w) {
      kp_surfaces surfaces;
      assert_ok(kp_surfaces_begin(&surfaces, &how, worlds[w]));
      kp_batch_begin(&batches[w], worlds[w], 0, 3);
      int64_t before = worlds[w]->backend->counters.bytes_out;
      assert_ok(kp_surfaces_add(&surfaces, worlds[w], &batches[w]));
      int64_t copied = worlds[w]->backend->counters.bytes_out - before;
      int64_t n = surfaces.mesh.n_vertices;
      assert_true(n > 500);
      // vertices, normals, velocities and triangles, and counts
      assert_true(copied <= n * (24 + 12 + 12) + 12 * surfaces.mesh.n_triangles + 64);
      kp_surfaces_free(&surfaces);
    }
    check_same(&batches[0], &batches[1]);
    kp_batch_free(&batches[0]);
    kp_batch_free(&batches[1]);
  }
  kp_world_destroy(&worlds[0]);
  kp_world_destroy(&worlds[1]);
}

// A deep pool whose particles are a band under its surface.
static kp_world *make_band(const char *backend, int dimension, double band) {
  bool is_flat = dimension == 2;
  kp_test_settings settings = kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0),
                                                    kp_vec3_make(1.6, 1.2, is_flat ? 0.0 : 0.8));
  settings.backend = backend;
  settings.simulation.gravity = kp_vec3_make(0, -9.81, 0);
  kp_world *world = kp_test_world(&settings);
  kp_flip_def flip = kp_default_flip_def();
  flip.band = band;
  assert_ok(kp_world_set_flip(world, &flip));
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0),
                                       kp_vec3_make(1.0, 0.8, is_flat ? 0.0 : 0.8), D);
  water.method = KP_LIQUID_FLIP;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

// What is below a narrow band is full, moves as the grid does, and is so on a device too.
static void test_band(void **state) {
  kp_surface_out how = kp_default_surface_out();
  for (int kind = 0; kind < 2; ++kind) {
    how.field = kind == 0 ? KP_SURFACE_ANISOTROPIC : KP_SURFACE_ZHU_BRIDSON;
    kp_frame *frames[2];
    for (int w = 0; w < 2; ++w) {
      kp_world *world = make_band(w == 0 ? "cpu" : "mirror", 3, 2.0);
      int64_t n_first = kp_registry_find(world->registry, "water")->n;
      kp_test_steps(world, 6);
      assert_true(kp_registry_find(world->registry, "water")->n < (int64_t)(0.9 * (double)n_first));
      frames[w] = load(world, &how, *state);
      kp_world_destroy(&world);
    }
    const kp_frame_mesh *a = kp_frame_find_mesh(frames[0], "surface of water");
    const kp_frame_mesh *b = kp_frame_find_mesh(frames[1], "surface of water");
    double volume = volume_of(a), fastest = 0.0;
    print_message("volume %.4f of 0.64\n", volume);
    assert_near_relative(volume, 0.64, 0.04);
    for (uint64_t i = 0; i < a->n_vertices; ++i) {
      fastest = kp_test_most(fastest, kp_vec3_length(a->velocities[i]));
    }
    assert_between(fastest, 0.01, 5.0);
    assert_int_equal(a->n_vertices, b->n_vertices);
    size_t size = (size_t)a->n_vertices * sizeof *a->vertices;
    assert_memory_equal(a->vertices, b->vertices, size);
    assert_memory_equal(a->velocities, b->velocities, size);
    kp_frame_free(&frames[0]);
    kp_frame_free(&frames[1]);
  }
  // a sheet has the area that it has where all of it is particles
  double areas[2];
  for (int w = 0; w < 2; ++w) {
    kp_world *world = make_band("cpu", 2, 2.0 * w);
    kp_test_steps(world, 6);
    kp_frame *frame = load(world, &how, *state);
    areas[w] = volume_of(kp_frame_find_mesh(frame, "surface of water")) / (how.voxel * D);
    kp_frame_free(&frame);
    kp_world_destroy(&world);
  }
  print_message("area %.4f without a band, %.4f with one\n", areas[0], areas[1]);
  assert_near_relative(areas[1], areas[0], 0.02);
}

// A pool, and two particles high above it that are liquids of their own.
static kp_world *make_pool(const char *backend, double viscosity) {
  kp_test_settings settings =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.8, 0.4));
  settings.backend = backend;
  kp_world *world = kp_test_world(&settings);
  kp_liquid_def pool =
      kp_test_liquid("pool", kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.2, 0.4), D);
  kp_liquid_def drop = kp_test_liquid("drop", kp_vec3_make(0.2, 0.6, 0.2),
                                      kp_vec3_make(0.2 + 2 * D, 0.6 + D, 0.2 + D), D);
  pool.viscosity = drop.viscosity = viscosity;
  assert_ok(kp_world_add_liquid(world, &pool));
  assert_ok(kp_world_add_liquid(world, &drop));
  assert_ok(kp_world_build(world));
  return world;
}

static const kp_frame_set *find_set(const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_sets; ++i) {
    if (strcmp(frame->sets[i].name, name) == 0) {
      return &frame->sets[i];
    }
  }
  return NULL;
}

// A pool at rest has no spray at all, two loose particles are nothing else, thick liquids have
// none; the same on a device, where the pool's particles stay.
static void test_spray(void **state) {
  kp_surface_out how = kp_default_surface_out();
  kp_text_copy(how.from, sizeof how.from, "all");
  kp_world *worlds[2] = { make_pool("cpu", 1e-3), make_pool("mirror", 1e-3) };
  kp_batch batches[2];
  memset(batches, 0, sizeof batches);
  for (int w = 0; w < 2; ++w) {
    surface_after_steps(worlds[w], &how, 1, w == 0, &batches[w]);
  }
  check_same(&batches[0], &batches[1]);
  kp_frame *frame = load(worlds[0], &how, *state);
  const kp_frame_set *pool = find_set(frame, "spray of pool");
  const kp_frame_set *drop = find_set(frame, "spray of drop");
  assert_true(pool != NULL && pool->count == 0);
  assert_true(drop != NULL && drop->count >= 2 * (uint64_t)(how.spray_drops / 3.0));
  assert_int_equal(kp_frame_find_mesh(frame, "surface of drop")->n_triangles, 0);
  const kp_frame_field *radius = kp_frame_find_field(&drop->fields, "radius");
  double volume = 0.0;
  for (uint64_t i = 0; i < drop->count; ++i) {
    volume += 4.0 / 3.0 * 3.14159265358979 * pow(kp_frame_value(radius, 0, i), 3.0);
  }
  assert_near_relative(volume, how.spray_volume * 2.0 * D * D * D, 1e-4);
  // drops are puffs, nearly white; the particles they came from are not drawn
  kp_frame_scene *scene = NULL;
  assert_ok(kp_frame_scene_create(frame, NULL, 0, 0.5 * D, &scene));
  const kp_render_scene *drawn = kp_frame_scene_get(scene);
  for (int i = 0; i < drawn->n_points; ++i) {
    const kp_look_def *look = &drawn->points[i].look;
    bool is_spray = strncmp(frame->sets[i].name, "spray of ", 9) == 0;
    if (is_spray || strcmp(frame->sets[i].name, "bodies") != 0) {
      assert_true(look->visible == is_spray);
      assert_true((look->sprite == KP_SPRITE_OVER && look->color.x > 0.9) == is_spray);
    }
  }
  kp_frame_scene_destroy(&scene);
  kp_frame_free(&frame);
  // joined they have one spray; thick ones none
  how.join = true;
  frame = load(worlds[0], &how, *state);
  assert_true(find_set(frame, "spray of drop and pool")->count > 0);
  kp_frame_free(&frame);
  kp_world *thick = make_pool("cpu", 5.0);
  frame = load(thick, &how, *state);
  assert_null(find_set(frame, "spray of drop and pool"));
  kp_frame_free(&frame);
  kp_world_destroy(&thick);
  for (int w = 0; w < 2; ++w) {
    kp_batch_free(&batches[w]);
    kp_world_destroy(&worlds[w]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_depth, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_joined, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_stiffening, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_apart, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_device),
    cmocka_unit_test_setup_teardown(test_spray, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_grid_device),
    cmocka_unit_test_setup_teardown(test_band, kp_test_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
