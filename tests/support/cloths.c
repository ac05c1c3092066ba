#include "support/cloths.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

kp_cloth_def kp_test_sheet(int64_t columns, int64_t rows, double spacing) {
  kp_cloth_def def = kp_default_cloth_def();
  snprintf(def.name, sizeof def.name, "sheet");
  def.columns = columns;
  def.rows = rows;
  def.width = spacing * (double)columns;
  def.height = spacing * (double)rows;
  def.position = kp_vec3_make(0, -0.5 * def.height, 0);
  def.rotation_deg = kp_vec3_make(90, 0, 0);
  def.pattern = KP_CLOTH_REGULAR;
  def.model = KP_CLOTH_GRID;
  def.damping = 0.0;
  def.bend_damping = 0.0;
  def.self = false;
  def.scheme = KP_SCHEME_SYMPLECTIC;
  return def;
}

kp_cloth_def kp_test_towel(int64_t columns, int64_t rows, double spacing) {
  kp_cloth_def sheet = kp_test_sheet(columns, rows, spacing);
  sheet.density = 0.4 / (20 * 30 * (0.04 * 0.04));
  sheet.stiffness = 20.0;
  sheet.shear = 10.0;
  sheet.bend_stiffness = 0.5;
  sheet.bend_diagonals = true;
  return sheet;
}

kp_test_cloth kp_test_cloth_make(const kp_cloth_def *sheet, double dt) {
  kp_test_cloth c = { .backend = "cpu", .gravity = 9.81, .dt = dt, .sheet = *sheet };
  c.solids = kp_default_solids_def();
  c.solids.dt = dt;
  c.solids.inner = 1;
  return c;
}

kp_world *kp_test_cloth_world(const kp_test_cloth *c) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-20, -20, -20), kp_vec3_make(20, 20, 20));
  s.backend = c->backend;
  s.simulation.gravity = kp_vec3_make(0, -c->gravity, 0);
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_solids(world, &c->solids));
  assert_ok(kp_world_add_cloth(world, &c->sheet));
  for (size_t k = 0; k < 4; ++k) {
    if (c->pins[k] != NULL) {
      assert_ok(kp_world_add_pin(world, c->pins[k]));
    }
    if (c->limits[k] != NULL) {
      assert_ok(kp_world_add_limit(world, c->limits[k]));
    }
  }
  if (c->body != NULL) {
    assert_ok(kp_world_add_collider(world, c->body));
  }
  if (c->water != NULL) {
    assert_ok(kp_world_add_immersion(world, c->water));
  }
  assert_ok(kp_world_build(world));
  return world;
}

kp_pin_def kp_test_pin(const char *name, kp_vec3 lo, kp_vec3 hi) {
  kp_pin_def def = kp_default_pin_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  snprintf(def.of, sizeof def.of, "sheet");
  def.shape = kp_test_box(lo, hi);
  return def;
}

kp_deform *kp_test_deform(kp_world *world) {
  return kp_test_system(world, &kp_deform_method);
}

kp_vec3 *kp_test_nodes(kp_world *world) {
  kp_set *set = kp_test_deform(world)->set;
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&set->position->buffers[c], KP_ACCESS_READ);
  }
  kp_vec3 *out = kp_alloc(sizeof *out * (size_t)set->space->n, KP_MEMORY_WORLD);
  for (int64_t i = 0; i < set->space->n; ++i) {
    out[i] = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
  }
  return out;
}

void kp_test_node(kp_world *world, int64_t i, kp_vec3 x, kp_vec3 v) {
  kp_set *set = kp_test_deform(world)->set;
  const double p[3] = { x.x, x.y, x.z }, u[3] = { v.x, v.y, v.z };
  for (int c = 0; c < 3; ++c) {
    ((kp_pos *)kp_buffer_host(&set->position->buffers[c], KP_ACCESS_WRITE))[i] = p[c];
    ((kp_real *)kp_buffer_host(&set->velocity->buffers[c], KP_ACCESS_WRITE))[i] = (kp_real)u[c];
  }
}

kp_test_stretch kp_test_stretch_of(kp_world *world) {
  kp_deform *d = kp_test_deform(world);
  kp_vec3 *x = kp_test_nodes(world);
  const int32_t *a = kp_buffer_host(&d->springs.a, KP_ACCESS_READ);
  const int32_t *b = kp_buffer_host(&d->springs.b, KP_ACCESS_READ);
  const kp_real *rest = kp_buffer_host(&d->springs.rest, KP_ACCESS_READ);
  kp_test_stretch out = { 0.0, 0.0 };
  int64_t n = 0;
  for (int64_t s = 0; s < d->springs.n; ++s) {
    if (d->springs.kinds.data[s] != KP_SPRING_EDGE && d->springs.kinds.data[s] != KP_SPRING_SHEAR) {
      continue;
    }
    double strain = kp_vec3_length(kp_vec3_sub(x[b[s]], x[a[s]])) / (double)rest[s] - 1.0;
    out.largest = kp_test_most(out.largest, strain);
    out.mean += fmax(strain, 0.0);
    ++n;
  }
  out.mean /= (double)n;
  kp_free(x);
  return out;
}

double kp_test_energy(kp_world *world) {
  kp_population_stats s = kp_test_stats(world, "sheet");
  return s.kinetic_energy + s.internal_energy;
}

void kp_test_until(kp_world *world, double time, double interval) {
  while (kp_world_time(world) < time - 1e-9 * interval) {
    double left = time - kp_world_time(world);
    assert_ok(kp_world_advance(world, left < interval ? left : interval, NULL));
  }
}
