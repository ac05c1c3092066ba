// A shear-thickening fluid, corn starch in water: Clavet's viscoelastic particles, whose springs
// remember how fast their ends have been moving against each other and are the stiffer for it
// (Ozgen 2013, chapter 5). See stf.md for the equations and the order of a step.
//
// Particles keep their places in memory until something has moved half a skin; then they are sorted
// and all rows of partners are built again, springs and memories going along.
#pragma once

#include "data/pair_rows.h"
#include "methods/common/medium.h"
#include "methods/stf/stf_memory.h"

#define KP_STF_CHANNELS 3
#define KP_STF_BLOCK_FIELDS 5  // of 9 components: the slots

// Samples of solids, still or moving, and who is near them.
typedef struct kp_stf_solids {
  kp_interface *samples;  // NULL: there are none
  kp_cells *cells;
  double gap;                 // m, of a touching particle from the samples
  kp_field *outer;            // REAL of the samples
  kp_field *impulse, *share;  // of the particles
  kp_pair_rows *touching;     // particle -> samples
  kp_pair_rows *touched;      // sample -> particles, of samples that feel it
} kp_stf_solids;

typedef struct kp_stf {
  kp_stf_def def;
  kp_liquid_def liquid;
  kp_medium medium;
  double support;                    // H [m]
  double skin;                       // m
  double sound_speed;                // m/s
  double stiffness, near_stiffness;  // k, k_near [m/s^2]
  double rest;                       // rho_0
  double links_full;                 // springs of a particle of a full lattice
  double history_gain;               // k_hist
  double predicted;                  // m: how far the prediction of this step goes at most
  bool is_rebuilt;                   // in this step
  kp_field *density, *pressure, *near_pressure, *weight;
  kp_field *shift, *push;  // displacements of this step
  kp_field *links, *links_new, *stiffening, *energy;
  kp_pair_rows *rows;  // partners within H
  kp_pair_rows *springs;
  kp_field *rest_length;  // by entry of springs
  // what springs remember; one channel, or three as a vector
  kp_stf_memory memory;
  int n_channels;  // 0: nothing
  kp_field *past[KP_STF_CHANNELS][KP_STF_BLOCK_FIELDS];
  kp_field *tail[KP_STF_CHANNELS], *sum[KP_STF_CHANNELS];
  double tail_share[KP_STF_TAILS];  // of this step
  double dt_last;                   // s
  kp_space *state;                  // GLOBAL: the blocks of memory
  kp_stf_solids solids[2];          // still and moving
  // the floor's sources
  int n_sources[2];
  kp_buffer heights, speeds;
} kp_stf;

extern const kp_method kp_stf_method;

KP_NODISCARD kp_result kp_stf_create(kp_env *env, const kp_stf_def *def,
                                     const kp_liquid_def *liquid, kp_stf **out);

// Height and speed of source k of the vibrating floor at a time: A (1 + sin(phi)), dphi/dt = 2 pi
// f, f drawn anew every `vibration_redraw` seconds. A function of the seed alone.
void kp_stf_source_at(const kp_stf_def *def, uint64_t seed, int64_t k, double time, double *height,
                      double *speed);

// parts of the method, one file each
KP_NODISCARD kp_result kp_stf_springs_create(kp_stf *stf, kp_env *env);
KP_NODISCARD kp_result kp_stf_springs_pass(kp_stf *stf, kp_env *env);
KP_NODISCARD kp_result kp_stf_springs_load(kp_stf *stf);
KP_NODISCARD kp_result kp_stf_solids_create(kp_stf *stf, kp_env *env);
void kp_stf_solids_free(kp_stf *stf);
KP_NODISCARD kp_result kp_stf_solids_build(kp_stf *stf, const kp_env *env);
KP_NODISCARD kp_result kp_stf_solids_pass(kp_stf *stf, kp_env *env);
KP_NODISCARD kp_result kp_stf_solids_load(kp_stf *stf);
KP_NODISCARD kp_result kp_stf_finish(kp_stf *stf, kp_env *env);

// Lengths of the periodic axes into the arguments of a pass over rows.
void kp_stf_periods(const kp_env *env, double length[3]);
// Binds begin, count and partner of the rows.
#define KP_STF_BIND_ROWS(call, args, from)                                                         \
  (KP_BIND(call, args, rows.begin, &(from)->begin->buffers[0], KP_ACCESS_READ),                    \
   KP_BIND(call, args, rows.count, &(from)->count->buffers[0], KP_ACCESS_READ),                    \
   KP_BIND(call, args, rows.partner, &(from)->partner->buffers[0], KP_ACCESS_READ))
