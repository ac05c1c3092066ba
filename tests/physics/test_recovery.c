// A body that has collapsed to a sheet finds back to its form with altitude springs, and does not
// with springs along edges alone (Selle 2008, figure 5.3).
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "geom/tetrahedra.h"
#include "io/tet_file.h"
#include "methods/deform/deform.h"

#include "support/claims.h"
#include "support/deform.h"
#include "support/media.h"

static double torus(const void *self, kp_vec3 p) {
  (void)self;
  double ring = sqrt(p.x * p.x + p.z * p.z) - 1.0;
  return sqrt(ring * ring + p.y * p.y) - 0.4;
}

typedef struct outcome {
  double volume;    // over that at rest
  double inverted;  // share of the tetrahedra
  double force;     // N, largest on a node at any time
  int64_t n_tets;
} outcome;

static kp_vec3 node(kp_deform *d, kp_index i) {
  double p[3];
  for (int c = 0; c < 3; ++c) {
    const kp_pos *x = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
    p[c] = x[i];
  }
  return kp_vec3_make(p[0], p[1], p[2]);
}

static double volume(kp_deform *d, const kp_tet_mesh *mesh, double *inverted) {
  double sum = 0.0;
  int64_t n = 0;
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    const kp_index *v = mesh->tets[t].v;
    kp_vec3 a = node(d, v[0]);
    double six =
        kp_vec3_dot(kp_vec3_sub(node(d, v[1]), a),
                    kp_vec3_cross(kp_vec3_sub(node(d, v[2]), a), kp_vec3_sub(node(d, v[3]), a)));
    sum += six / 6.0;
    n += !(six > 0.0);
  }
  *inverted = (double)n / (double)mesh->n_tets;
  return sum;
}

static double largest_force(kp_deform *d, kp_world *world) {
  const kp_deform_group *group = &d->groups.data[0];
  int64_t n = d->set->space->n;
  assert_ok(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
  assert_ok(kp_deform_impulse(d, &world->env, group, d->set->velocity->buffers, 1.0, true));
  const kp_real *f = kp_buffer_host(&d->right, KP_ACCESS_READ);
  double most = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    most =
        kp_test_most(most, sqrt((double)f[i] * (double)f[i] + (double)f[n + i] * (double)f[n + i] +
                                (double)f[2 * n + i] * (double)f[2 * n + i]));
  }
  return most;
}

// The puddle: every node at a height of 0 but for a thousandth of the tube.
static void collapse(kp_deform *d) {
  kp_test_random random = kp_test_random_begin(15);
  kp_pos *y = kp_buffer_host(&d->set->position->buffers[1], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    y[i] = kp_test_uniform(&random, -4e-4, 4e-4);
  }
}

static outcome recover(const char *folder, kp_soft_model model, double seconds) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-3, -3, -3), kp_vec3_make(3, 3, 3));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.policy = KP_POLICY_WARN;
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 0.005;
  solids.inner = 1;
  kp_soft_def def = kp_default_soft_def();
  snprintf(def.name, sizeof def.name, "torus");
  snprintf(def.tets, sizeof def.tets, "torus.mesh");
  def.model = (int)model;
  def.density = 10.0;
  def.stiffness = 100.0;
  def.damping = 3.0;
  def.self = false;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_folder(world, folder));
  assert_ok(kp_world_set_solids(world, &solids));
  assert_ok(kp_world_add_soft(world, &def));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  kp_tet_mesh mesh;
  assert_ok(kp_tet_mesh_read(kp_test_path(folder, "torus.mesh"), &mesh));
  outcome out = { .n_tets = mesh.n_tets };
  double rest = volume(d, &mesh, &out.inverted);
  collapse(d);
  out.force = largest_force(d, world);
  for (int k = 0; k < (int)(seconds / 0.005); ++k) {
    if (kp_world_step(world, 0.005, NULL) != KP_OK) {
      break;
    }
    if (k % 10 == 0) {
      out.force = kp_test_most(out.force, largest_force(d, world));
    }
  }
  out.volume = volume(d, &mesh, &out.inverted) / rest;
  kp_tet_mesh_destroy(&mesh);
  kp_world_destroy(&world);
  return out;
}

static void test_recovery(void **state) {
  const char *folder = *state;
  kp_tet_mesh mesh;
  const kp_aabb bounds = { { -1.4, -0.4, -1.4 }, { 1.4, 0.4, 1.4 } };
  assert_ok(kp_tet_mesh_stuff(torus, NULL, bounds, (kp_tet_size){ .spacing = 0.3 }, &mesh));
  assert_ok(kp_tet_mesh_write(kp_test_path(folder, "torus.mesh"), &mesh));
  kp_tet_mesh_destroy(&mesh);
  outcome altitude = recover(folder, KP_SOFT_ALTITUDE, 2.0);
  outcome edges = recover(folder, KP_SOFT_SPRINGS, 2.0);
  outcome faces = recover(folder, KP_SOFT_POINT_FACE, 2.0);
  outcome all[] = { altitude, edges, faces };
  static const char *const names[] = { "altitude", "edges", "point/face" };
  for (int k = 0; k < 3; ++k) {
    print_message("%s: volume %.4f of rest, %.1f %% of %d inverted, largest force %.4g N\n",
                  names[k], all[k].volume, 100.0 * all[k].inverted, (int)all[k].n_tets,
                  all[k].force);
  }
  assert_true(altitude.inverted == 0.0);
  assert_near(altitude.volume, 1.0, 0.02);
  assert_true(edges.inverted > 0.1);
  assert_true(faces.force > 100.0 * altitude.force);
  assert_true(fabs(faces.volume) < 2.0);  // a solve that is lost would tear it apart
  kp_claim claim = { .id = "selle-C20",
                     .text = "altitude springs bring back a body that collapsed to a sheet",
                     .size = "torus of 1692 tetrahedra, 2 s" };
  kp_claim_all(&claim, { "error of the volume", fabs(altitude.volume - 1.0), KP_AT_MOST, 0.02 },
               { "share of tetrahedra inverted", altitude.inverted, KP_AT_MOST, 0 });
  claim = (kp_claim){ .id = "selle-C20-edges",
                      .text = "share of tetrahedra that springs along edges alone leave inverted",
                      .size = "torus of 1692 tetrahedra, 2 s",
                      .figure = edges.inverted,
                      .threshold = 0.1 };
  kp_claim_at_least(&claim);
  claim = (kp_claim){ .id = "selle-C20-point-face",
                      .text = "largest force of four point/face springs, of altitude springs'",
                      .size = "torus of 1692 tetrahedra, 2 s; the form is found all the same",
                      .figure = faces.force / altitude.force,
                      .threshold = 100.0 };
  kp_claim_at_least(&claim);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_recovery),
  };
  return cmocka_run_group_tests(tests, kp_test_folder_make, kp_test_folder_remove);
}
