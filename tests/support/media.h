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

// Builds the world of a test on a backend.
typedef kp_world *(*kp_test_make)(const char *backend);

// The hash of the state after so many steps.
uint64_t kp_test_hash(kp_test_make make, const char *backend, int64_t steps);

// One hash, which is given back, for one to four threads, for every instruction set, on the mirror
// backend and after a rewind in the middle.
uint64_t kp_test_same_bits(kp_test_make make, int64_t steps);

// Going on, going back to step `at` and going on again ends at the reference.
void kp_test_rewind(kp_test_make make, const char *backend, int64_t at, int64_t steps,
                    uint64_t reference);
