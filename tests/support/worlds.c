#include "support/worlds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define LOG_SIZE 65536

kp_test_settings kp_test_settings_make(int dimension, kp_vec3 lo, kp_vec3 hi) {
  kp_test_settings s = { .backend = "cpu",
                         .domain = kp_default_domain_def(),
                         .simulation = kp_default_simulation_def(),
                         .sph = kp_default_sph_def() };
  s.domain.dimension = dimension;
  s.domain.min = lo;
  s.domain.max = hi;
  s.simulation.policy = KP_POLICY_STOP;
  return s;
}

kp_world *kp_test_world(const kp_test_settings *settings) {
  kp_world *world = NULL;
  assert_ok(kp_world_create(settings->backend, &world));
  assert_ok(kp_world_set_domain(world, &settings->domain));
  assert_ok(kp_world_set_simulation(world, &settings->simulation));
  assert_ok(kp_world_set_sph(world, &settings->sph));
  return world;
}

kp_shape_def kp_test_box(kp_vec3 lo, kp_vec3 hi) {
  kp_shape_def shape = kp_default_liquid_def().shape;
  shape.kind = KP_SHAPE_BOX;
  shape.min = lo;
  shape.max = hi;
  return shape;
}

kp_shape_def kp_test_mesh(const char *file) {
  kp_shape_def shape = kp_default_shape_def(KP_SHAPE_MESH);
  snprintf(shape.file, sizeof shape.file, "%s", file);
  return shape;
}

void kp_test_write_obj(const char *folder, const char *name, const kp_mesh *mesh) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (kp_index v = 0; v < mesh->n_vertices; ++v) {
    kp_vec3 p = mesh->vertices[v];
    fprintf(file, "v %.17g %.17g %.17g\n", p.x, p.y, p.z);
  }
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_index *v = mesh->triangles[t].v;
    fprintf(file, "f %d %d %d\n", v[0] + 1, v[1] + 1, v[2] + 1);
  }
  assert_int_equal(fclose(file), 0);
}

kp_shape_def kp_test_ball(kp_vec3 center, double radius) {
  kp_shape_def shape = kp_default_liquid_def().shape;
  shape.kind = KP_SHAPE_SPHERE;
  shape.center = center;
  shape.radius = radius;
  return shape;
}

kp_liquid_def kp_test_liquid(const char *name, kp_vec3 lo, kp_vec3 hi, double spacing) {
  kp_liquid_def def = kp_default_liquid_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  def.spacing = spacing;
  return def;
}

kp_test_particles kp_test_particles_read(kp_world *world, const char *set) {
  kp_test_particles p = { .n = kp_world_count(world, set) };
  assert_true(p.n >= 0);
  size_t n = (size_t)p.n;
  p.memory = kp_alloc((10 * n + 1) * sizeof(double), KP_MEMORY_SCRATCH);
  assert_non_null(p.memory);
  for (int c = 0; c < 3; ++c) {
    p.x[c] = p.memory + (size_t)c * n;
    p.v[c] = p.memory + (size_t)(3 + c) * n;
    p.a[c] = p.memory + (size_t)(6 + c) * n;
    assert_ok(kp_world_read(world, set, "position", c, p.x[c], p.n));
    assert_ok(kp_world_read(world, set, "velocity", c, p.v[c], p.n));
    assert_ok(kp_world_read(world, set, "acceleration", c, p.a[c], p.n));
  }
  p.density = p.memory + 9 * n;
  assert_ok(kp_world_read(world, set, "density", 0, p.density, p.n));
  return p;
}

void kp_test_particles_free(kp_test_particles *particles) {
  kp_free(particles->memory);
  *particles = (kp_test_particles){ 0 };
}

void *kp_test_system(const kp_world *world, const kp_method *method) {
  void *self = kp_world_system(world, method);
  assert_non_null(self);
  return self;
}

kp_sph *kp_test_sph(kp_world *world) {
  return kp_test_system(world, &kp_sph_method);
}

kp_sph_fluid *kp_test_fluid(kp_world *world, const char *name) {
  kp_sph *sph = kp_test_sph(world);
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    if (strcmp(sph->fluids.data[f].def.name, name) == 0) {
      return &sph->fluids.data[f];
    }
  }
  fail_msg("there is no liquid %s", name);
  return NULL;
}

void kp_test_stir(kp_world *world, const char *set, double speed, uint64_t seed) {
  kp_test_random random = kp_test_random_begin(seed);
  kp_sph_fluid *fluid = kp_test_fluid(world, set);
  for (int c = 0; c < fluid->medium.set->dimension; ++c) {
    kp_real *v = kp_buffer_host(&fluid->medium.set->velocity->buffers[c], KP_ACCESS_WRITE);
    assert_non_null(v);
    for (int64_t i = 0; i < fluid->medium.set->space->n; ++i) {
      v[i] = (kp_real)kp_test_uniform(&random, -speed, speed);
    }
  }
  fluid->medium.max_speed = kp_test_most(fluid->medium.max_speed, 1.8 * speed);
}

static void add_liquid(kp_test_sums *sums, kp_world *world, const kp_sph_fluid *fluid) {
  kp_test_particles p = kp_test_particles_read(world, fluid->def.name);
  for (int64_t i = 0; i < p.n; ++i) {
    kp_vec3 x = kp_vec3_make(p.x[0][i], p.x[1][i], p.x[2][i]);
    kp_vec3 v = kp_vec3_make(p.v[0][i], p.v[1][i], p.v[2][i]);
    sums->momentum = kp_vec3_madd(sums->momentum, fluid->medium.mass, v);
    sums->angular = kp_vec3_madd(sums->angular, fluid->medium.mass, kp_vec3_cross(x, v));
    sums->size += fluid->medium.mass * kp_vec3_length(v);
    sums->kinetic_energy += 0.5 * fluid->medium.mass * kp_vec3_dot(v, v);
  }
  sums->mass += fluid->medium.mass * (double)p.n;
  kp_test_particles_free(&p);
}

static void add_body(kp_test_sums *sums, kp_world *world, kp_index body) {
  const kp_body *model = &world->bodies->models.data[body];
  kp_frame3 f = kp_bodies_frame(world->bodies, body);
  double mass = 1.0 / model->inverse_mass;
  kp_vec3 spin = kp_quat_rotate(kp_quat_conjugate(f.orientation), f.angular_velocity);
  kp_vec3 own = kp_quat_rotate(f.orientation, kp_mat3_mul_vec3(&model->inertia, spin));
  sums->momentum = kp_vec3_madd(sums->momentum, mass, f.velocity);
  sums->angular = kp_vec3_madd(sums->angular, mass, kp_vec3_cross(f.position, f.velocity));
  sums->angular = kp_vec3_add(sums->angular, own);
  sums->size += mass * kp_vec3_length(f.velocity);
  sums->mass += mass;
  sums->kinetic_energy += 0.5 * mass * kp_vec3_dot(f.velocity, f.velocity);
}

kp_test_sums kp_test_sums_of(kp_world *world) {
  kp_test_sums sums = { 0 };
  kp_sph *sph = kp_test_sph(world);
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    add_liquid(&sums, world, &sph->fluids.data[f]);
  }
  for (size_t b = 0; b < world->bodies->models.count; ++b) {
    if (world->bodies->models.data[b].kind == KP_BODY_FREE) {
      add_body(&sums, world, (kp_index)b);
    }
  }
  return sums;
}

void kp_test_steps(kp_world *world, int64_t n) {
  for (int64_t s = 0; s < n; ++s) {
    assert_ok(kp_world_step(world, 1.0, NULL));
  }
}

static char log_text[LOG_SIZE];

static void keep_line(kp_log_level level, const char *module, const char *message, void *user) {
  (void)level, (void)user;
  size_t used = strlen(log_text);
  snprintf(log_text + used, LOG_SIZE - used, "%s: %s\n", module, message);
}

void kp_test_log_begin(void) {
  log_text[0] = '\0';
  kp_set_log(keep_line, NULL, KP_LOG_WARN);
}

const char *kp_test_log_end(void) {
  kp_set_log(NULL, NULL, KP_LOG_WARN);
  return log_text;
}
