// Experiments of Lyes 2015 that tests and `kelpie study` share: the gas of soft spheres, the two
// water models in a box, the plasma of three influence radii, and the two sorts.
#pragma once

#include "data/cells.h"
#include "kelpie/kelpie.h"

// ---- energy of integrators ----------------------------------------------------------------------

// The gas: 400 compress-only spheres of diameter, mass and stiffness 1 between six walls of
// stiffness 2, a little gravity, nothing that damps; 0.6 spheres per unit of volume, speeds up to
// 0.1 along each axis. Spring-mass water with other numbers.
#define KP_GAS_SPHERES 400
#define KP_GAS_EDGE 8.73580464736299

typedef struct kp_gas_def {
  int integrator;
  double dt, time;
  uint64_t seed;      // of the speeds
  double limit;       // the run ends when E/E0 passes it
  int64_t n_samples;  // of E/E0, evenly over the time; 0: none
} kp_gas_def;

typedef struct kp_gas_result {
  double low, high;  // E/E0 after the first 5 time units
  double end;
  double worst;     // largest |E/E0 - 1| after them
  double jump;      // largest |E_n / E_{n-1} - 1|
  int64_t blown;    // step at which the limit was passed or a sphere ran away; 0: never
  double farthest;  // a centre was beyond a face of the box by so much
} kp_gas_result;

// samples: n_samples values of E/E0, or NULL. What was not reached is NaN.
KP_NODISCARD kp_result kp_gas_run(const kp_gas_def *def, kp_gas_result *out, double *samples);

// ---- the two water models -----------------------------------------------------------------------

typedef enum kp_water_model { KP_WATER_SPH, KP_WATER_SPRINGS, KP_WATER_COUNT } kp_water_model;
typedef enum kp_water_place {
  KP_WATER_CENTER,  // a block above the floor, in the middle
  KP_WATER_SIDE     // a block along the left wall
} kp_water_place;

extern const char *const kp_water_names[KP_WATER_COUNT];

typedef struct kp_water_def {
  int model;  // kp_water_model
  int place;  // kp_water_place
  int integrator;
  int64_t particles;  // about
  double dt_factor;   // on the step; 1
  bool is_printed;    // springs with the numbers of Table 6.1, which carry nothing
} kp_water_def;

kp_water_def kp_default_water_def(int model, int64_t particles);

// A unit cube around the origin with the block in it; adds all to a fresh world.
KP_NODISCARD kp_result kp_case_water(kp_world *world, const kp_water_def *def);

typedef struct kp_water_state {
  int64_t particles;
  double pairs;    // neighbours within reach, per particle
  int64_t strays;  // particles without any
  double energy;   // J: kinetic, of height and internal
} kp_water_state;

KP_NODISCARD kp_result kp_water_look(kp_world *world, kp_water_state *out);

// Height above the floor that 95 % of the liquid within 0.1 m of the right wall does not exceed; 0
// with fewer than `least` particles there.
KP_NODISCARD kp_result kp_water_height(kp_world *world, int64_t least, double *out);

// ---- plasma -------------------------------------------------------------------------------------

typedef enum kp_plasma_case {
  KP_PLASMA_TOO_SMALL,  // influence below half the mean distance
  KP_PLASMA_TOO_LARGE,  // three cells, searched only in the 27 around a charge
  KP_PLASMA_MATCHED,    // one cell
  KP_PLASMA_CASES
} kp_plasma_case;

extern const char *const kp_plasma_case_names[KP_PLASMA_CASES];

typedef struct kp_plasma_result {
  double moved;  // root mean square of the way, over the edge of the cube they started in
  double peak;   // density spectrum at the wavelength of the cells over that around it
  double pairs;  // within the influence radius, per charge, at the end
} kp_plasma_result;

// Equal charges in a cube inside a bounding sphere, so many steps.
KP_NODISCARD kp_result kp_plasma_run(int which, int64_t particles, int64_t steps,
                                     kp_plasma_result *out);

// The plasma of the timing: charges in a cube inside a bounding sphere of 128 cells, the influence
// radius and the cells `multiplier` of them.
KP_NODISCARD kp_result kp_case_plasma(kp_world *world, int64_t particles, double multiplier);

// ---- the two fires ------------------------------------------------------------------------------

#define KP_FIRE_MODELS 2  // in the order of kp_fire_kind

extern const char *const kp_fire_names[KP_FIRE_MODELS];

// A flame "flame" of a kp_fire_kind over a ball of 0.2 m, lifted to `rise` m/s; adds all to a fresh
// world.
KP_NODISCARD kp_result kp_case_fire(kp_world *world, int method, int64_t particles, double rise);

typedef struct kp_fire_flow {
  double curls;   // curl squared times the cell's edge squared, over velocity squared
  double rise;    // m/s, mean
  int64_t cells;  // that were looked at
} kp_fire_flow;

// Velocities of the particles averaged in cells; what counts are cells whose neighbours hold at
// least so many particles.
KP_NODISCARD kp_result kp_fire_curls(kp_world *world, double cell, int64_t least,
                                     kp_fire_flow *out);

// Light per width of a slice low <= y < high seen along z: of the inner and of the outer 30 % of
// its half width about x = middle.
KP_NODISCARD kp_result kp_fire_light(kp_world *world, double middle, double low, double high,
                                     double *inner, double *outer);

typedef struct kp_fire_gather_row {
  double reach;     // cells; 0: vortex-in-cell
  double error;     // root mean square of the difference to the global velocity, over its own
  double likeness;  // cosine between the two fields
  double seconds, seconds_global;
} kp_fire_gather_row;

// The velocity that the vortons of a world make within a reach, against that of all of them, on the
// samples where there are any. For vortex-in-cell the latter are as wide as they are on the grid.
KP_NODISCARD kp_result kp_fire_gather(kp_world *world, const double *reaches, int n,
                                      kp_fire_gather_row *out);
