// Worlds of cloth: build one in a few lines, reach its nodes.
#pragma once

#include "methods/deform/fabric.h"

#include "support/media.h"

// A rectangle of cells that hangs in the plane z = 0, its upper edge at y = 0, springs of a grid
// without damping, no contact with itself, the name "sheet".
kp_cloth_def kp_test_sheet(int64_t columns, int64_t rows, double spacing);

// The towel of Ozgen 2013 for runs under water: the weight of a cell and the springs are those of
// cells of 0.04 m.
kp_cloth_def kp_test_towel(int64_t columns, int64_t rows, double spacing);

// Everything a world of one sheet is made of; NULL: none.
typedef struct kp_test_cloth {
  const char *backend;
  double gravity;  // m/s^2, downwards
  double dt;       // s, of an inner step
  kp_solids_def solids;
  kp_cloth_def sheet;
  const kp_pin_def *pins[4];
  const kp_immersion_def *water;
  const kp_limit_def *limits[4];
  const kp_collider_def *body;
} kp_test_cloth;

kp_test_cloth kp_test_cloth_make(const kp_cloth_def *sheet, double dt);
kp_world *kp_test_cloth_world(const kp_test_cloth *cloth);

// Nodes in a box are held.
kp_pin_def kp_test_pin(const char *name, kp_vec3 lo, kp_vec3 hi);

kp_deform *kp_test_deform(kp_world *world);

// Positions of all nodes, n of them; free with kp_free.
kp_vec3 *kp_test_nodes(kp_world *world);
void kp_test_node(kp_world *world, int64_t i, kp_vec3 x, kp_vec3 v);

// Lengths of the structural and shear springs against their rest lengths: largest and mean strain
// of those that are longer.
typedef struct kp_test_stretch {
  double largest, mean;
} kp_test_stretch;
kp_test_stretch kp_test_stretch_of(kp_world *world);

// Kinetic and elastic energy [J].
double kp_test_energy(kp_world *world);

// Advance to a time, in intervals of `interval`.
void kp_test_until(kp_world *world, double time, double interval);
