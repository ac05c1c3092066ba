// Grains: spheres that touch, rub, roll and stick (discrete element method). See grains.md for the
// equations.
//
// One object holds all grains of a world, because they feel each other. A population whose radii
// spread more than 2:1 is split into sets of like size, each with cells of its own. Every ordered
// pair of sets that meet is a link with pair rows, which hold until something has travelled a skin;
// only then is anything sorted. Host logic only; the arithmetic is in grains_kernels.h.
#pragma once

#include "data/pair_rows.h"
#include "methods/common/medium.h"
#include "methods/grains/grains_kernels.h"

// One set: a population, or its grains of one class of sizes.
typedef struct kp_grains_set {
  kp_grains_def def;
  int population;   // number of the def
  bool is_carrier;  // takes what is filled and emitted; holds the largest
  kp_medium medium;
  double smallest, largest;  // m, radii the set is made for
  double unit_mass;          // kg over R^dimension
  kp_field *radius, *spin;   // REAL x 1, x 3
  kp_field *turn;            // REAL x 3, angular acceleration
  kp_field *face_slide;      // REAL x 9: springs against the faces of the domain, three per axis
  kp_field *face_roll;       // REAL x 9; NULL without rolling friction
  kp_buffer records;
  grains_law wall_law;
  int64_t n_contacts;  // of the last statistics
} kp_grains_set;

// Grains of one set against those of another, or of the same.
typedef struct kp_grains_link {
  int i, j;  // sets
  kp_pair_rows *rows;
  kp_field *slide, *roll;  // REAL x 3 by entry
  grains_law law;
  double coefficient, mass;  // dashpot [kg/s] and m* [kg] of two of the largest
  bool is_alike;
} kp_grains_link;

// Samples of solids: still ones and moving ones.
typedef struct kp_grains_walls {
  kp_interface *interface;
  kp_cells *cells;
  kp_buffer discs;  // GRAINS_DISC_SIZE REAL by sample
  double largest_disc;
  KP_ARRAY(double) extents;  // m, of each range from its body's centre
} kp_grains_walls;

typedef struct kp_grains_touch {
  int set, walls;
  kp_pair_rows *rows;
  kp_field *slide, *roll;
  kp_field *push;           // REAL x 3 by entry: force on the sample; moving ones only
  kp_buffer keys, entries;  // entries sorted by sample
  kp_buffer starts;         // of each sample's entries
} kp_grains_touch;

typedef struct kp_grains {
  kp_dem_def def;
  double skin;     // m
  double inertia;  // of a grain over m R^2
  bool has_rolling;
  bool sorts_always;  // somebody else needs fresh cells each step
  KP_ARRAY(kp_grains_set) sets;
  KP_ARRAY(kp_grains_link) links;
  KP_ARRAY(kp_grains_touch) touches;
  kp_grains_walls walls[2];  // still and moving
  double longest_step;       // s, from the stiffest contact
} kp_grains;

extern const kp_method kp_grains_method;

KP_NODISCARD kp_result kp_grains_create(kp_env *env, const kp_dem_def *def,
                                        const kp_grains_def *grains, size_t n, kp_grains **out);

// Share of critical damping that gives a restitution: of a linear dashpot, or of Tsuji's for Hertz.
// Without attraction the hit ends when the force is gone (Schwager & Poeschel 2007).
double kp_grains_damping(double restitution, bool is_hertz, bool may_attract);

// The part of a sample's disc that lies on the surface: within `radius`, and along the unit vector
// `across` no further than `high` and no less than `low` (an edge of the solid has one or two).
typedef struct grains_disc_cut {
  double radius, low, high;
  kp_vec3 across;
} grains_disc_cut;

// parts of the method, one file each
KP_NODISCARD kp_result kp_grains_make_walls(kp_env *env, kp_interface *interface, double edge,
                                            kp_grains_walls *walls);
KP_NODISCARD kp_result kp_grains_setup(kp_grains *grains, kp_env *env, const kp_grains_def *defs,
                                       size_t n);
// Laws from the defs, when stiffnesses are known.
void kp_grains_set_laws(kp_grains *grains, kp_env *env);
// Radii, masses and spins of the grains from `first` on; those of other classes go to their sets.
// Emitted ones are also scattered a little.
KP_NODISCARD kp_result kp_grains_born(kp_grains *grains, kp_env *env, kp_grains_set *set,
                                      int64_t first, bool is_emitted);
// Grains that fill a shape, from their lattice to a random packing.
KP_NODISCARD kp_result kp_grains_shake(kp_grains_set *set, kp_env *env);
KP_NODISCARD kp_result kp_grains_forces(kp_grains *grains, kp_env *env);
KP_NODISCARD kp_result kp_grains_energy(kp_grains *grains, kp_env *env, int set, double *springs,
                                        double *rotation);
