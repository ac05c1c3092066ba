// What tests of every particle method do: put particles at chosen places, read a field back, hold a
// world to the same bits on every road.
#pragma once

#include "support/worlds.h"

// Position and velocity of particle i of a set, counted in its present order.
void kp_test_place(kp_world *world, const char *set, int64_t i, kp_vec3 x, kp_vec3 v);

// Random places in a box and random velocities of each component up to `speed`.
void kp_test_scatter(kp_world *world, const char *set, kp_aabb box, double speed, uint64_t seed);

// All values of one component of a field; free with kp_free.
double *kp_test_field(kp_world *world, const char *set, const char *field, int component);

// Sums of the population, as stats.csv has them.
kp_population_stats kp_test_stats(kp_world *world, const char *set);

// One hash for one to four threads, for every instruction set, on the mirror backend and after a
// rewind in the middle. `make` builds the world.
void kp_test_same_bits(kp_world *(*make)(const char *backend), int64_t steps);
