// Scenes, parameter tables, spec and curves: what is read arrives, what is wrong is refused.
#include "support/test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/curve.h"
#include "geom/shape.h"
#include "run/scene_extras.h"
#include "scene/reference.h"
#include "scene/scene.h"
#include "world/world.h"

#define WATER "liquid 'water' { shape = box { max = {0.4, 0.4, 0.4} } }\n"

// ---- helpers

static kp_result load_with(const char *text, const kp_scene_options *options, kp_scene **scene) {
  return kp_scene_load_text("scene.lua", ".", text, strlen(text), options, scene);
}

static kp_scene *load(const char *text) {
  kp_scene *scene = NULL;
  assert_ok(load_with(text, NULL, &scene));
  return scene;
}

static void assert_refused(const char *words, const char *text) {
  kp_scene *scene = NULL;
  assert_fails(KP_ERROR_SCENE, words, load_with(text, NULL, &scene));
  assert_null(scene);
}

static kp_result load_set(const char *text, const char *set, kp_scene **scene) {
  kp_scene_options options = { .sets = &set, .n_sets = 1 };
  return load_with(text, &options, scene);
}

// ---- tables

static size_t alignment_of(kp_param_type type) {
  switch (type) {
  case KP_PARAM_BOOL:
  case KP_PARAM_TEXT:
    return 1;
  case KP_PARAM_ENUM:
    return 4;
  default:
    return 8;
  }
}

// Rows lie in the order of the members, and between two of them is nothing but padding.
static void assert_covers(const kp_param_table *table, size_t begin, size_t end) {
  for (size_t i = 0; i < table->n_rows; ++i) {
    const kp_param *row = &table->rows[i];
    size_t alignment = alignment_of(row->type);
    size_t start = (begin + alignment - 1) / alignment * alignment;
    if (row->offset != start) {
      fail_msg("%s: bytes %zu to %zu before '%s' are in no row", table->name, begin, row->offset,
               row->key);
    }
    begin = row->offset + row->size;
  }
  assert_true(end >= begin && end - begin < 8);
}

static void test_tables_cover_defs(void **state) {
  (void)state;
  const size_t cookie = sizeof(uint32_t), name = cookie + KP_TEXT_SIZE;
  assert_covers(&kp_domain_params, cookie, sizeof(kp_domain_def));
  assert_covers(&kp_simulation_params, cookie, sizeof(kp_simulation_def));
  assert_covers(&kp_sph_params, cookie, sizeof(kp_sph_def));
  assert_covers(&kp_liquid_params, name, sizeof(kp_liquid_def));
  assert_covers(&kp_collider_params, name, sizeof(kp_collider_def));
  assert_covers(&kp_body_params, name, sizeof(kp_body_def));
  assert_covers(&kp_emitter_params, name, sizeof(kp_emitter_def));
  assert_covers(&kp_sink_params, name, sizeof(kp_sink_def));
  assert_covers(&kp_output_params, cookie, sizeof(kp_output_def));
}

static size_t size_of(kp_param_type type, size_t size) {
  switch (type) {
  case KP_PARAM_REAL:
  case KP_PARAM_INT:
    return 8;
  case KP_PARAM_BOOL:
    return sizeof(bool);
  case KP_PARAM_VEC3:
    return sizeof(kp_vec3);
  case KP_PARAM_PLACE3:
    return sizeof(kp_vec3) + sizeof(kp_vec_lattice);
  case KP_PARAM_ENUM:
    return sizeof(int);
  case KP_PARAM_CURVE:
  case KP_PARAM_CURVE3:
    return sizeof(kp_curve);
  case KP_PARAM_SHAPE:
    return sizeof(kp_shape_def);
  default:
    return size;
  }
}

static void test_tables_are_sound(void **state) {
  (void)state;
  const kp_param_table *const tables[] = {
    &kp_domain_params,  &kp_simulation_params, &kp_sph_params,
    &kp_liquid_params,  &kp_collider_params,   &kp_body_params,
    &kp_emitter_params, &kp_sink_params,       &kp_output_params,
  };
  for (size_t t = 0; t < sizeof tables / sizeof tables[0]; ++t) {
    const kp_param_table *table = tables[t];
    for (size_t i = 0; i < table->n_rows; ++i) {
      const kp_param *row = &table->rows[i];
      assert_int_equal(row->size, size_of(row->type, row->size));
      assert_true(row->type != KP_PARAM_ENUM || row->names != NULL);
      assert_true(row->lowest <= row->highest);
      // a sentence
      size_t length = strlen(row->text);
      assert_true(length > 4 && row->text[length - 1] == '.');
    }
    // defaults pass their own check
    char *def = kp_alloc_zero(table->def_size, KP_MEMORY_TEST);
    table->set_default(def);
    assert_ok(kp_params_check(table, def, NULL));
    kp_free(def);
  }
}

static void test_range_check(void **state) {
  (void)state;
  kp_sph_def sph = kp_default_sph_def();
  sph.cfl = 3.0;
  assert_fails(KP_ERROR_SCENE, "sph: cfl = 3 is out of range: 0.0001 to 2",
               kp_params_check(&kp_sph_params, &sph, NULL));
  sph.cfl = NAN;
  assert_fails(KP_ERROR_SCENE, "cfl is NaN", kp_params_check(&kp_sph_params, &sph, NULL));
  sph = kp_default_sph_def();
  sph.kernel = KP_SPH_KERNEL_COUNT;
  assert_fails(KP_ERROR_SCENE, "kernel = 5 is none", kp_params_check(&kp_sph_params, &sph, NULL));

  // both ends belong to the range
  sph = kp_default_sph_def();
  sph.slip = 1.0;
  sph.density_diffusion = 0.0;
  assert_ok(kp_params_check(&kp_sph_params, &sph, NULL));

  kp_liquid_def liquid = kp_default_liquid_def();
  assert_true(isnan(liquid.stiffness));
  liquid.color.y = 1.5;
  assert_fails(KP_ERROR_SCENE, "liquid \"oil\": color = 1.5",
               kp_params_check(&kp_liquid_params, &liquid, "oil"));
}

// ---- spec

static kp_liquid_def some_liquid(const char *name) {
  kp_liquid_def def = kp_default_liquid_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_default_shape_def(KP_SHAPE_BOX);
  return def;
}

static void test_spec_orders_names(void **state) {
  (void)state;
  kp_spec spec;
  kp_spec_init(&spec);
  const char *const names[] = { "milk", "air", "water", "honey" };
  for (size_t i = 0; i < 4; ++i) {
    kp_liquid_def def = some_liquid(names[i]);
    assert_ok(kp_spec_add_liquid(&spec, &def));
  }
  assert_string_equal(spec.liquids.data[0].name, "air");
  assert_string_equal(spec.liquids.data[1].name, "honey");
  assert_string_equal(spec.liquids.data[2].name, "milk");
  assert_string_equal(spec.liquids.data[3].name, "water");

  kp_liquid_def twice = some_liquid("milk");
  assert_fails(KP_ERROR_SCENE, "taken by a liquid", kp_spec_add_liquid(&spec, &twice));
  kp_liquid_def raw = { 0 };
  assert_fails(KP_ERROR_ARGUMENT, "kp_default_liquid_def", kp_spec_add_liquid(&spec, &raw));
  kp_spec_free(&spec);
}

static void test_spec_owns_curves(void **state) {
  (void)state;
  kp_spec spec;
  kp_spec_init(&spec);
  double samples[] = { 0, 0, 0, 1, 2, 3 };
  kp_collider_def lid = kp_default_collider_def();
  snprintf(lid.name, sizeof lid.name, "lid");
  lid.shape = kp_default_shape_def(KP_SHAPE_SPHERE);
  lid.position = (kp_curve){ .components = 3, .n = 2, .interval = 1.0, .samples = samples };
  assert_ok(kp_spec_add_collider(&spec, &lid));
  samples[4] = -1.0;
  double value[3];
  kp_curve_at(&spec.colliders.data[0].position, 1.0, value, NULL);
  assert_near(value[1], 2.0, 0.0);

  lid.position.samples = NULL;
  snprintf(lid.name, sizeof lid.name, "lid2");
  assert_fails(KP_ERROR_SCENE, "no curve", kp_spec_add_collider(&spec, &lid));
  kp_spec_free(&spec);
}

// ---- curves

static void test_curve_constant(void **state) {
  (void)state;
  kp_curve curve = kp_curve_constant3(kp_vec3_make(1, 2, 3));
  double value[3], rate[3];
  kp_curve_at(&curve, 17.0, value, rate);
  assert_near(value[2], 3.0, 0.0);
  assert_near(rate[2], 0.0, 0.0);
}

// Parabolas are met exactly everywhere, so slopes at the ends are of second order.
static void test_curve_parabola(void **state) {
  (void)state;
  double samples[9];
  const double start = 0.5, interval = 0.25;
  for (int k = 0; k < 9; ++k) {
    double t = start + k * interval;
    samples[k] = 3.0 * t * t - 2.0 * t + 1.0;
  }
  kp_curve curve = {
    .components = 1, .n = 9, .start = start, .interval = interval, .samples = samples
  };
  for (double t = start; t <= start + 8 * interval; t += 0.0625) {
    double value, rate;
    kp_curve_at(&curve, t, &value, &rate);
    assert_near(value, 3.0 * t * t - 2.0 * t + 1.0, 1e-12);
    assert_near(rate, 6.0 * t - 2.0, 1e-11);
  }
  // still before and behind
  double value, rate;
  kp_curve_at(&curve, 0.0, &value, &rate);
  assert_near(value, samples[0], 0.0);
  assert_near(rate, 0.0, 0.0);
  kp_curve_at(&curve, 99.0, &value, &rate);
  assert_near(value, samples[8], 0.0);
  assert_near(rate, 0.0, 0.0);
}

static void test_curve_rate_is_derivative(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(7);
  double samples[30];
  for (int k = 0; k < 30; ++k) {
    samples[k] = kp_test_uniform(&random, -1.0, 1.0);
  }
  kp_curve curve = { .components = 3, .n = 10, .interval = 0.1, .samples = samples };
  for (int i = 1; i < 90; ++i) {
    const double t = 0.01 * i + 0.003, e = 1e-6;
    double value[3], rate[3], before[3], after[3];
    kp_curve_at(&curve, t, value, rate);
    kp_curve_at(&curve, t - e, before, NULL);
    kp_curve_at(&curve, t + e, after, NULL);
    for (int c = 0; c < 3; ++c) {
      assert_near(rate[c], (after[c] - before[c]) / (2.0 * e), 1e-7);
    }
  }
}

// ---- good scenes

static void test_values_arrive(void **state) {
  (void)state;
  kp_scene *scene = load("domain { min = {-1, 0, 0}, max = {1.6, 0.8, 0.6}, open_top = true,\n"
                         "         boundary_z = 'periodic' }\n"
                         "gravity { 0, -1.62, 0 }\n"
                         "simulation { dt = 'auto', dt_max = 1e-3, seed = 7 }\n"
                         "sph { kernel = 'wendland', support = 2 }\n"
                         "liquid 'water' { method = 'sph', spacing = 0.05, viscosity = 1,\n"
                         "  shape = sphere { center = {0, 0.4, 0.3}, radius = 0.2 } }\n"
                         "liquid 'oil' { shape = box { max = {0.1, 0.1, 0.1} }, stiffness = 12 }\n"
                         "collider 'pillar' { position = {0.5, 0, 0.25}, layers = 3,\n"
                         "  shape = cylinder { b = {0, 0.5, 0}, radius = 0.1 } }\n"
                         "body 'duck' { density = 250, shape = capsule { radius = 0.05 } }\n"
                         "emitter 'tap' { into = 'oil', position = {0, 0.7, 0.3}, speed = 2 }\n"
                         "sink 'drain' { shape = plane { point = {0, 0.01, 0} } }\n"
                         "output { frames = 10, fps = 25 }\n");
  const kp_spec *spec = kp_scene_spec(scene);
  assert_near(spec->domain.min.x, -1.0, 0.0);
  assert_true(spec->domain.open_top);
  assert_int_equal(spec->domain.boundary_z, KP_BOUNDARY_PERIODIC);
  assert_near(spec->simulation.gravity.y, -1.62, 0.0);
  assert_true(isnan(spec->simulation.dt));
  assert_int_equal(spec->simulation.seed, 7);
  assert_int_equal(spec->sph.kernel, KP_SPH_WENDLAND);
  assert_int_equal(spec->liquids.count, 2);
  assert_string_equal(spec->liquids.data[0].name, "oil");
  assert_near(spec->liquids.data[0].stiffness, 12.0, 0.0);
  assert_int_equal(spec->liquids.data[1].shape.kind, KP_SHAPE_SPHERE);
  assert_near(spec->liquids.data[1].shape.radius, 0.2, 0.0);
  assert_near(spec->colliders.data[0].position.constant[2], 0.25, 0.0);
  assert_int_equal(spec->colliders.data[0].layers, 3);
  assert_near(spec->bodies.data[0].density, 250.0, 0.0);
  assert_string_equal(spec->emitters.data[0].into, "oil");
  assert_near(spec->emitters.data[0].speed.constant[0], 2.0, 0.0);
  assert_int_equal(spec->sinks.data[0].shape.kind, KP_SHAPE_PLANE);
  assert_int_equal(kp_scene_output(scene)->frames, 10);
  assert_near(kp_scene_output(scene)->fps, 25.0, 0.0);
  kp_scene_free(&scene);
  assert_null(scene);
}

static void test_two_dimensions(void **state) {
  (void)state;
  kp_scene *scene = load("domain { dimension = 2, max = {2, 1} }\n"
                         "liquid 'water' { shape = box { min = {0, 0}, max = {0.5, 0.5} } }\n");
  assert_near(kp_scene_spec(scene)->domain.max.y, 1.0, 0.0);
  assert_near(kp_scene_spec(scene)->domain.max.z, 0.0, 0.0);
  kp_scene_free(&scene);
}

static void test_emitter_only(void **state) {
  (void)state;
  kp_scene *scene = load("liquid 'water' { spacing = 0.02 }\n"
                         "emitter 'tap' { into = 'water', position = {0.5, 0.9, 0.5} }\n");
  assert_true(kp_scene_spec(scene)->liquids.data[0].empty);
  kp_scene_free(&scene);
}

// Scenes may compute; pairs runs in key order and sort is stable.
static void test_lua_is_deterministic(void **state) {
  (void)state;
  kp_scene *scene =
      load("local t = { zebra = 1, apple = 2, [3] = 'c', [1] = 'a', mango = 3, [2.5] = 'b' }\n"
           "local keys = ''\n"
           "for k, v in pairs(t) do keys = keys .. tostring(k) .. ' ' end\n"
           "assert(keys == '1 2.5 3 apple mango zebra ', keys)\n"
           "for k in pairs(t) do t[k] = nil end\n"
           "for k in pairs(t) do error('not empty') end\n"
           "local list = {}\n"
           "for i = 1, 300 do list[i] = { key = i % 7, order = i } end\n"
           "table.sort(list, function(a, b) return a.key < b.key end)\n"
           "for i = 2, 300 do\n"
           "  local a, b = list[i - 1], list[i]\n"
           "  assert(a.key < b.key or a.key == b.key and a.order < b.order)\n"
           "end\n"
           "local n = { 3, 1, 2 } table.sort(n) assert(table.concat(n, ',') == '1,2,3')\n"
           "assert(('%5.2f|%s'):format(1.5, 'x') == ' 1.50|x')\n"
           "assert(('ab'):rep(3, '-') == 'ab-ab-ab' and ('x'):rep(0) == '')\n"
           "assert(tostring({}) == 'table' and tostring(nil) == 'nil')\n"
           "table.insert(n, 2, 9) assert(table.remove(n) == 3 and #n == 3 and n[2] == 9)\n"
           "print('hello', n, 1.5)\n" WATER);
  kp_scene_free(&scene);
}

// ---- functions of time

static void test_functions_become_curves(void **state) {
  (void)state;
  kp_scene *scene = load(WATER "output { frames = 30, fps = 30 }\n"
                               "collider 'lid' { shape = sphere { radius = 0.1 },\n"
                               "  position = function(t) return {math.sin(6 * t), t, 0} end,\n"
                               "  rotation_deg = function(t) return {0, 90 * t, 0} end }\n"
                               "emitter 'tap' { into = 'water', position = {0.5, 0.9, 0.5},\n"
                               "  speed = function(t) return t * t end }\n");
  const kp_spec *spec = kp_scene_spec(scene);
  const kp_curve *position = &spec->colliders.data[0].position;
  assert_int_equal(position->n, 31 * 8 + 1);
  for (int i = 0; i <= 100; ++i) {
    const double t = 0.01 * i;
    double value[3], rate[3];
    kp_curve_at(position, t, value, rate);
    assert_near(value[0], sin(6.0 * t), 1e-6);
    assert_near(rate[0], 6.0 * cos(6.0 * t), 5e-3);
    assert_near(value[1], t, 1e-12);
    assert_near(rate[1], 1.0, 1e-9);
    kp_curve_at(&spec->emitters.data[0].speed, t, value, NULL);
    assert_near(value[0], t * t, 1e-12);
  }
  kp_text used = { 0 };
  assert_ok(kp_scene_write_used(scene, &used));
  assert_holds(used.data,
               "position = {0, 0, 0},  -- at t = 0 of the function of time at scene.lua:4");
  kp_text_free(&used);
  kp_scene_free(&scene);
}

// ---- --set

static void test_set_values(void **state) {
  (void)state;
  const char *const sets[] = {
    "water.viscosity=0.25",
    "domain.max={2, 1, 0.5 * 2}",
    "output.frames=10",
    "sph.kernel=wendland",
    "water.stiffness=auto",
    "water.shape.max={0.2, 0.2, 0.2}",
    "gravity={0, 0, -9.81}",
    "domain.open_top=true",
    "lid.position={0.1, 0.2, 0.3}",
    "pool.shape=sphere{radius=0.2}",
  };
  kp_scene_options options = { .sets = sets, .n_sets = sizeof sets / sizeof sets[0] };
  kp_scene *scene = NULL;
  assert_ok(load_with(WATER "liquid 'pool' { shape = box {}, stiffness = 5 }\n"
                            "collider 'lid' { shape = sphere { radius = 0.1 },\n"
                            "  position = function(t) return {t, 0, 0} end }\n",
                      &options, &scene));
  const kp_spec *spec = kp_scene_spec(scene);
  const kp_liquid_def *water = &spec->liquids.data[1];
  assert_near(water->viscosity, 0.25, 0.0);
  assert_true(isnan(water->stiffness));
  assert_near(water->shape.max.y, 0.2, 0.0);
  assert_int_equal(spec->liquids.data[0].shape.kind, KP_SHAPE_SPHERE);
  assert_near(spec->domain.max.x, 2.0, 0.0);
  assert_true(spec->domain.open_top);
  assert_int_equal(spec->sph.kernel, KP_SPH_WENDLAND);
  assert_near(spec->simulation.gravity.z, -9.81, 0.0);
  assert_int_equal(kp_scene_output(scene)->frames, 10);
  // a constant replaces the function of the scene
  assert_int_equal(spec->colliders.data[0].position.n, 0);
  assert_near(spec->colliders.data[0].position.constant[2], 0.3, 0.0);
  kp_scene_free(&scene);
}

static void test_set_refusals(void **state) {
  (void)state;
  static const char *const cases[][2] = {
    { "watr.viscosity=1", "--set watr.viscosity=1: unknown entity 'watr', did you mean 'water'?" },
    { "water.viscocity=1", "unknown key 'viscocity', did you mean 'viscosity'?" },
    { "water.viscosity=-1", "viscosity = -1 is out of range" },
    { "water.viscosity=thick", "unknown word 'thick'" },
    { "water.viscosity='thick'", "viscosity must be a number, not a string" },
    { "water.viscosity=0/0", "viscosity is NaN" },
    { "water.viscosity=", "there is no value" },
    { "water.viscosity=1 2", "expected near '2'" },
    { "water.viscosity=nil", "there is no value" },
    { "water.viscosity.x=1", "unknown key 'viscosity.x'" },
    { "water.shape.maxx={1,1,1}", "unknown key 'maxx', did you mean 'max'?" },
    { "sph.kernel=cubik", "unknown kernel 'cubik', did you mean 'cubic'?" },
    { "output.frames=0", "frames = 0 is out of range" },
    { "output.frames=(function() while true do end end)()", "takes too long" },
    { "water.viscosity=liquid 'x' {}", "entities can only be said by the scene" },
    { "viscosity", "it must look like name.key=value" },
    { "viscosity=1", "it must look like name.key=value" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_scene *scene = NULL;
    assert_fails(KP_ERROR_ARGUMENT, cases[i][1], load_set(WATER, cases[i][0], &scene));
    assert_null(scene);
  }
}

// ---- entities of other layers

typedef struct extra_def {
  double zoom;
  kp_vec3 eye;
} extra_def;

static const kp_param extra_rows[] = {
  KP_PARAM(extra_def, zoom, REAL, "", 0.1, 10, "How near."),
  KP_PARAM(extra_def, eye, VEC3, "m", -10, 10, "From where."),
};

static void set_extra(void *def) {
  *(extra_def *)def = (extra_def){ .zoom = 1.0 };
}

static const kp_param_table extra_table = {
  "camera", "A view.", extra_rows, 2, sizeof(extra_def), set_extra,
};

static void test_extras(void **state) {
  (void)state;
  extra_def camera = { 0 }, image = { 0 }, unsaid = { 0 };
  const kp_scene_extra extras[] = {
    { "camera", &extra_table, false, &camera, NULL },
    { "output.image", &extra_table, false, &image, NULL },
    { "lamp", &extra_table, false, &unsaid, NULL },
    { "look", &extra_table, true, NULL, NULL },
  };
  const char *const sets[] = { "output.image.eye={1, 2, 3}", "look.water.zoom=4" };
  kp_scene_options options = { .sets = sets, .n_sets = 2, .extras = extras, .n_extras = 4 };
  kp_scene *scene = NULL;
  assert_ok(load_with(WATER "camera { zoom = 2 }\n"
                            "output { frames = 3, image = { zoom = 5 } }\n"
                            "look 'water' { zoom = 3 }\n"
                            "look 'air' { zoom = 0.5 }\n",
                      &options, &scene));
  assert_near(camera.zoom, 2.0, 0.0);
  assert_near(image.zoom, 5.0, 0.0);
  assert_near(image.eye.z, 3.0, 0.0);
  assert_near(unsaid.zoom, 1.0, 0.0);
  const char *name = NULL;
  const extra_def *look = kp_scene_extra_at(scene, "look", 1, &name);
  assert_string_equal(name, "water");
  assert_near(look->zoom, 4.0, 0.0);
  assert_null(kp_scene_extra_at(scene, "look", 2, &name));

  // used.lua says them too, and can be read again
  uint64_t hash, again;
  kp_text used = { 0 };
  assert_ok(kp_scene_write_used(scene, &used));
  assert_ok(kp_scene_hash(scene, &hash));
  kp_scene_free(&scene);
  options.n_sets = 0;
  assert_ok(load_with(used.data, &options, &scene));
  assert_ok(kp_scene_hash(scene, &again));
  assert_int_equal(hash, again);
  kp_text_free(&used);
  kp_scene_free(&scene);

  // looks name what a run makes of entities; entities do not
  assert_ok(load_with(WATER "look 'surface of water' { zoom = 3 }\n"
                            "look 'water.markers' { zoom = 2 }\n",
                      &options, &scene));
  look = kp_scene_extra_at(scene, "look", 1, &name);
  assert_string_equal(name, "water.markers");
  assert_near(look->zoom, 2.0, 0.0);
  kp_scene_free(&scene);
  assert_fails(KP_ERROR_SCENE, "a name has 1 to 64 letters",
               load_with(WATER "body 'a.b' { shape = sphere { radius = 0.1 } }", &options, &scene));

  assert_fails(KP_ERROR_SCENE, "output.image: unknown key 'zom', did you mean 'zoom'?",
               load_with(WATER "output { image = { zom = 1 } }", &options, &scene));
  assert_fails(KP_ERROR_SCENE, "output: unknown key 'imag', did you mean 'image'?",
               load_with(WATER "output { imag = { zoom = 1 } }", &options, &scene));
}

static const char *const map_words[] = { "off", "on" };

typedef struct map_def {
  double fine;
  char from[KP_TEXT_SIZE];
} map_def;

static const kp_param map_rows[] = {
  KP_PARAM(map_def, fine, REAL, "", 0, 10, "How fine."),
  KP_PARAM(map_def, from, TEXT, "", 0, 0, "Of what."),
};

static void set_map(void *def) {
  *(map_def *)def = (map_def){ .fine = 1.0 };
}

static const kp_param_table map_table = { "map", "A map.", map_rows, 2, sizeof(map_def), set_map };

// A boolean in place of the { } of a nested kind stands for a text of one of its rows, in a scene
// and behind --set.
static void test_switches(void **state) {
  (void)state;
  map_def map = { 0 }, plain = { 0 };
  const kp_scene_switch either = { "from", map_words[0], map_words[1] };
  const kp_scene_extra extras[] = { { "output.map", &map_table, false, &map, &either },
                                    { "output.plain", &map_table, false, &plain, NULL } };
  kp_scene_options options = { .extras = extras, .n_extras = 2 };
  kp_scene *scene = NULL;
  assert_ok(load_with(WATER "output { map = false }", &options, &scene));
  assert_string_equal(map.from, "off");
  kp_scene_free(&scene);
  assert_ok(load_with(WATER "output { map = true }", &options, &scene));
  assert_string_equal(map.from, "on");
  kp_scene_free(&scene);
  const char *const sets[] = { "output.map=false", "output.map.fine=3" };
  options.sets = sets;
  options.n_sets = 2;
  assert_ok(load_with(WATER "output { map = { from = 'water', fine = 2 } }", &options, &scene));
  assert_string_equal(map.from, "off");
  assert_near(map.fine, 3.0, 0.0);
  kp_scene_free(&scene);
  options.n_sets = 0;
  assert_fails(KP_ERROR_SCENE,
               "output.map is written output.map = { key = value, ... }, true or false",
               load_with(WATER "output { map = 3 }", &options, &scene));
  assert_fails(KP_ERROR_SCENE, "output.plain is written output.plain = { key = value, ... }",
               load_with(WATER "output { plain = false }", &options, &scene));
  const char *const plain_set[] = { "output.plain=false" };
  options.sets = plain_set;
  options.n_sets = 1;
  assert_fails(KP_ERROR_ARGUMENT, "unknown key 'plain'", load_with(WATER, &options, &scene));
}

// ---- used.lua, hash, files

static void test_used_reloads(void **state) {
  (void)state;
  kp_scene *scene =
      load("domain { max = {1, 1/3, 0.1}, friction = 0.1 }\n"
           "liquid 'b' { shape = box { max = {0.3, 0.1, 0.1} }, velocity = {-0.0, 1e-7, 1/7} }\n"
           "liquid 'a' { spacing = 0.01 }\n"
           "emitter 'tap' { into = 'a', position = {0.5, 0.1, 0.05} }\n"
           "collider 'c' { shape = sphere { radius = 0.05, invert = true } }\n");
  uint64_t hash, again;
  kp_text used = { 0 };
  assert_ok(kp_scene_write_used(scene, &used));
  assert_ok(kp_scene_hash(scene, &hash));
  kp_scene_free(&scene);
  scene = load(used.data);
  assert_ok(kp_scene_hash(scene, &again));
  assert_int_equal(hash, again);
  assert_near(kp_scene_spec(scene)->domain.max.y, 1.0 / 3.0, 0.0);
  kp_scene_free(&scene);
  kp_text_free(&used);
}

// The order in which things are said does not matter, values do.
static void test_hash_tells_apart(void **state) {
  (void)state;
  const char *const texts[] = {
    "output { frames = 5 }\n" WATER "liquid 'oil' { shape = box {} }\n",
    "liquid 'oil' { shape = box {} }\n" WATER "output { frames = 5 } -- comment\n",
    "liquid 'oil' { shape = box {}, viscosity = 0.06 }\n" WATER "output { frames = 5 }\n",
  };
  uint64_t hashes[3];
  for (int i = 0; i < 3; ++i) {
    kp_scene *scene = load(texts[i]);
    assert_ok(kp_scene_hash(scene, &hashes[i]));
    kp_scene_free(&scene);
  }
  assert_int_equal(hashes[0], hashes[1]);
  assert_int_not_equal(hashes[0], hashes[2]);
}

static void write_text(const char *folder, const char *name, const char *text) {
  kp_test_write_file(kp_test_path(folder, name), text, strlen(text));
}

static void test_modules_and_inputs(void **state) {
  const char *folder = *state;
  write_text(folder, "tank.lua", "local tank = { width = 0.5 }\nreturn tank\n");
  write_text(folder, "gem.obj",
             "v 0 0 0\nv 0.2 0 0\nv 0 0.2 0\nv 0 0 0.2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
  write_text(folder, "s.lua",
             "local tank = require 'tank'\nassert(tank == require 'tank')\n"
             "domain { max = {tank.width, 1, 1} }\n"
             "collider 'gem' { shape = mesh { file = 'gem.obj' } }\n" WATER);
  kp_scene *scene = NULL;
  assert_ok(kp_scene_load(kp_test_path(folder, "s.lua"), NULL, &scene));
  assert_near(kp_scene_spec(scene)->domain.max.x, 0.5, 0.0);
  assert_string_equal(kp_scene_folder(scene), folder);
  const kp_scene_input *inputs;
  assert_int_equal(kp_scene_inputs(scene, &inputs), 3);
  assert_string_equal(inputs[0].name, "s.lua");
  assert_string_equal(inputs[1].name, "tank.lua");
  assert_string_equal(inputs[2].name, "gem.obj");
  assert_int_not_equal(inputs[1].hash, 0);
  kp_scene_free(&scene);
}

static void test_links_do_not_escape(void **state) {
  const char *folder = *state;
  assert_int_equal(symlink("/etc/hostname", kp_test_path(folder, "away.lua")), 0);
  write_text(folder, "s.lua", "require 'away'\n");
  kp_scene *scene = NULL;
  assert_fails(KP_ERROR_SCENE, "'away' lies outside the scene's folder",
               kp_scene_load(kp_test_path(folder, "s.lua"), NULL, &scene));
  write_text(folder, "s.lua", WATER "collider 'x' { shape = mesh { file = 'away.lua' } }\n");
  assert_fails(KP_ERROR_SCENE, "'away.lua' lies outside the scene's folder",
               kp_scene_load(kp_test_path(folder, "s.lua"), NULL, &scene));
}

static void test_missing_and_compiled(void **state) {
  const char *folder = *state;
  kp_scene *scene = NULL;
  assert_fails(KP_ERROR_IO, "nothing.lua",
               kp_scene_load(kp_test_path(folder, "nothing.lua"), NULL, &scene));
  assert_fails(KP_ERROR_IO, "cannot open", kp_scene_load(folder, NULL, &scene));
  assert_refused("this is compiled Lua", "\x1bLua garbage");
  assert_refused("scene.lua:1:", "\x01\x02\x03");
  // a byte order mark is no error
  scene = load("\xef\xbb\xbf" WATER);
  kp_scene_free(&scene);
}

// Memory may end at any allocation: no crash, no leak, a sentence.
static void test_no_memory(void **state) {
  (void)state;
  const char *text = WATER "collider 'lid' { shape = sphere { radius = 0.1 },\n"
                           "  position = function(t) return {t, 0, 0} end }\n"
                           "output { frames = 2 }\n";
  kp_scene *scene = load(text);
  kp_scene_free(&scene);
  const int64_t before = kp_memory_bytes();
  kp_result result = KP_ERROR_MEMORY;
  int64_t n_failures = 0;
  for (int64_t n = 0; result != KP_OK && n < 20000; n += n < 400 ? 1 : 37) {
    kp_memory_fail_at(n);
    result = load_with(text, NULL, &scene);
    kp_memory_fail_at(-1);
    if (result != KP_OK) {
      assert_int_equal(result, KP_ERROR_MEMORY);
      assert_null(scene);
      assert_int_equal(kp_memory_bytes(), before);
      ++n_failures;
    }
    kp_scene_free(&scene);
  }
  assert_int_equal(result, KP_OK);
  assert_true(n_failures > 100);
  assert_int_equal(kp_memory_bytes(), before);
}

// ---- the manual

static void test_reference(void **state) {
  (void)state;
  const kp_scene_extra extra = { "camera", &extra_table, false, NULL, NULL };
  kp_text text = { 0 };
  assert_ok(kp_reference_print("liquid", NULL, 0, &text));
  assert_holds(text.data, "liquid \"name\" { }");
  assert_holds(text.data, "viscosity               0.05");
  assert_holds(text.data, "Pa s");
  kp_text_free(&text);
  assert_ok(kp_reference_print(NULL, &extra, 1, &text));
  assert_holds(text.data, "shape = box { }");
  assert_holds(text.data, "camera { }");
  kp_text_free(&text);
  assert_fails(KP_ERROR_ARGUMENT, "unknown name 'liqid', did you mean 'liquid'?",
               kp_reference_print("liqid", NULL, 0, &text));
  assert_ok(kp_reference_markdown(&extra, 1, &text));
  assert_holds(text.data, "## `domain { }`");
  assert_holds(text.data, "| `kernel` | `\"cubic\"` | mueller, cubic, wendland");
  kp_text_free(&text);
}

// ---- scenes/bad

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

// The words behind "-- expect: " in the first line.
static void read_expectation(const char *path, char *out, size_t size) {
  size_t n;
  char *text = kp_test_read_file(path, &n);
  static const char mark[] = "-- expect: ";
  assert_int_equal(strncmp(text, mark, sizeof mark - 1), 0);
  char *end = strchr(text, '\n');
  assert_non_null(end);
  assert_int_equal(strncmp(end, "\n-- exit: 3\n", 12), 0);
  *end = '\0';
  snprintf(out, size, "%s", text + sizeof mark - 1);
  kp_free(text);
}

// What only the methods know is refused when the world is built.
static kp_result build_scene(const kp_scene *scene, const kp_surface_out *surface) {
  kp_world *world = NULL;
  assert_ok(kp_world_create("cpu", &world));
  kp_result result = kp_world_set_spec(world, kp_scene_spec(scene));
  if (result == KP_OK) {
    result = kp_world_build(world);
  }
  if (result == KP_OK) {
    kp_surfaces surfaces;
    result = kp_surfaces_begin(&surfaces, surface, world);
    kp_surfaces_free(&surfaces);
  }
  kp_world_destroy(&world);
  return result;
}

static bool is_refused_as_expected(const char *folder, const char *name) {
  char words[512];
  const char *path = kp_test_path(folder, name);
  read_expectation(path, words, sizeof words);
  kp_scene *scene = NULL;
  const int64_t before = kp_memory_bytes();
  // processor time: a busy machine is not the scene's fault
  const clock_t start = clock();
  kp_extras extras;
  kp_extras_init(&extras);
  kp_scene_options options = kp_extras_options(&extras, NULL, 0);
  kp_result result = kp_scene_load(path, &options, &scene);
  bool tells_place = result != KP_OK && strstr(kp_last_error(), ".lua") != NULL;
  if (result == KP_OK) {
    result = kp_extras_check(&extras, scene);
    result = result == KP_OK ? build_scene(scene, &extras.surface) : result;
    tells_place = true;
    kp_scene_free(&scene);
  }
  const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  if (result != KP_ERROR_SCENE || strstr(kp_last_error(), words) == NULL || !tells_place ||
      seconds > 5.0 || kp_memory_bytes() != before) {
    print_error("%s: %s after %.1f s: \"%s\"\n  expected: \"%s\"\n", name, kp_result_name(result),
                seconds, result == KP_OK ? "" : kp_last_error(), words);
    kp_scene_free(&scene);
    return false;
  }
  return true;
}

static void test_bad_scenes(void **state) {
  (void)state;
  char folder[1024];
  snprintf(folder, sizeof folder, "%s/scenes/bad", kp_test_source_dir());
  DIR *listing = opendir(folder);
  assert_non_null(listing);
  char *names[512];
  size_t n = 0;
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL && n < 512;) {
    if (strstr(entry->d_name, ".lua") != NULL) {
      names[n++] = kp_strdup(entry->d_name, KP_MEMORY_TEST);
    }
  }
  closedir(listing);
  qsort(names, n, sizeof names[0], compare_names);
  assert_true(n >= 45);
  size_t n_refused = 0;
  for (size_t i = 0; i < n; ++i) {
    n_refused += is_refused_as_expected(folder, names[i]) ? 1 : 0;
    kp_free(names[i]);
  }
  assert_int_equal(n_refused, n);
}

static void test_demo_scenes(void **state) {
  (void)state;
  char path[1024];
  snprintf(path, sizeof path, "%s/scenes/demo/dam_break.lua", kp_test_source_dir());
  kp_scene *scene = NULL;
  kp_extras extras;
  kp_extras_init(&extras);
  kp_scene_options options = kp_extras_options(&extras, NULL, 0);
  assert_ok(kp_scene_load(path, &options, &scene));
  assert_true(kp_scene_spec(scene)->liquids.count > 0);
  kp_scene_free(&scene);
}

// The allowance grows with what is declared, and stays for loops that declare nothing.
static void test_scenes_of_many_entities(void **state) {
  (void)state;
  kp_scene *scene = load(WATER "for i = 1, 30000 do\n"
                               "  local r = 0.1 for k = 1, 400 do r = r + 1e-6 * k end\n"
                               "  body('b' .. i) { shape = sphere { radius = r } }\n"
                               "end\n");
  assert_int_equal(kp_scene_spec(scene)->bodies.count, 30000);
  kp_scene_free(&scene);
  assert_refused("too long", WATER "for i = 1, 1e9 do local r = i end\n");
  assert_refused("the name is taken by the body",
                 WATER "body 'b' { shape = sphere { radius = 1 } }\n"
                       "collider 'b' {}\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tables_cover_defs),
    cmocka_unit_test(test_tables_are_sound),
    cmocka_unit_test(test_range_check),
    cmocka_unit_test(test_spec_orders_names),
    cmocka_unit_test(test_spec_owns_curves),
    cmocka_unit_test(test_curve_constant),
    cmocka_unit_test(test_curve_parabola),
    cmocka_unit_test(test_curve_rate_is_derivative),
    cmocka_unit_test(test_values_arrive),
    cmocka_unit_test(test_two_dimensions),
    cmocka_unit_test(test_emitter_only),
    cmocka_unit_test(test_lua_is_deterministic),
    cmocka_unit_test(test_functions_become_curves),
    cmocka_unit_test(test_set_values),
    cmocka_unit_test(test_set_refusals),
    cmocka_unit_test(test_extras),
    cmocka_unit_test(test_switches),
    cmocka_unit_test(test_used_reloads),
    cmocka_unit_test(test_hash_tells_apart),
    cmocka_unit_test_setup_teardown(test_modules_and_inputs, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_links_do_not_escape, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_missing_and_compiled, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test(test_no_memory),
    cmocka_unit_test(test_reference),
    cmocka_unit_test(test_bad_scenes),
    cmocka_unit_test(test_scenes_of_many_entities),
    cmocka_unit_test(test_demo_scenes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
