// Small worlds for tests of physics: build one in a few lines, reach into its state, read it back.
// Every function fails the running test when the world refuses.
#pragma once

#include "support/test.h"

#include "geom/mesh.h"
#include "methods/sph/sph.h"
#include "world/world.h"

// Everything a world is made of but its entities.
typedef struct kp_test_settings {
  const char *backend;
  kp_domain_def domain;
  kp_simulation_def simulation;
  kp_sph_def sph;
} kp_test_settings;

// Defaults on the cpu backend with policy stop; the domain is the box from lo to hi.
kp_test_settings kp_test_settings_make(int dimension, kp_vec3 lo, kp_vec3 hi);

// A world with these settings, not built yet.
kp_world *kp_test_world(const kp_test_settings *settings);

// Water filling a box.
kp_liquid_def kp_test_liquid(const char *name, kp_vec3 lo, kp_vec3 hi, double spacing);

kp_shape_def kp_test_box(kp_vec3 lo, kp_vec3 hi);
kp_shape_def kp_test_ball(kp_vec3 center, double radius);
kp_shape_def kp_test_mesh(const char *file);

// All digits of a mesh, as a file that kp_test_mesh names.
void kp_test_write_obj(const char *folder, const char *name, const kp_mesh *mesh);

// Copies of a set's state as double. Freed by kp_test_particles_free.
typedef struct kp_test_particles {
  int64_t n;
  double *x[3], *v[3], *a[3];
  double *density;
  double *memory;
} kp_test_particles;

kp_test_particles kp_test_particles_read(kp_world *world, const char *set);
void kp_test_particles_free(kp_test_particles *particles);

// What a method keeps of a world.
void *kp_test_system(const kp_world *world, const kp_method *method);

// The SPH object of a world, and one of its liquids.
kp_sph *kp_test_sph(kp_world *world);
kp_sph_fluid *kp_test_fluid(kp_world *world, const char *name);

// Random velocities of each component up to `speed`.
void kp_test_stir(kp_world *world, const char *set, double speed, uint64_t seed);

// Sums over all liquids and free bodies: momentum, and the sum of m |v| that drifts are measured
// by.
typedef struct kp_test_sums {
  kp_vec3 momentum;
  kp_vec3 angular;  // about the origin
  double size;      // sum of m |v|
  double mass, kinetic_energy;
} kp_test_sums;

kp_test_sums kp_test_sums_of(kp_world *world);

// n sub-steps, each as long as the world chooses.
void kp_test_steps(kp_world *world, int64_t n);

// The log of what follows, up to a fixed size; the words of warnings are searched in it.
void kp_test_log_begin(void);
const char *kp_test_log_end(void);
