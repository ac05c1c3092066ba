// The cases by name, with the figures they are held to and the work they cannot do without.
#include <string.h>

#include "cases/cases.h"

// Arrays that a step reads or writes at least once per particle: p positions, r other reals.
static double bytes(double n_positions, double n_reals, double others) {
  return n_positions * (double)sizeof(kp_pos) + n_reals * (double)sizeof(kp_real) + others;
}

// keys, one pass of sorting, permutation of the moved fields, cell starts
static double sort_bytes(double n_positions, double n_reals) {
  return bytes(3.0 + 2.0 * n_positions, 2.0 * n_reals, 8.0 + 16.0 + 16.0 + 4.0 + 8.0);
}

// Sort of position, velocity, id; density 3p 1r, state 3r, force 3p 8r, gravity 6r, symplectic
// Euler 6p 9r, domain 6p 6r, check 3p 7r. Pair operations: density 22, force 40.
static kp_case_work work_a(void) {
  return (kp_case_work){
    .bytes = sort_bytes(3.0, 3.0) + bytes(21.0, 40.0, 0.0),
    .flops_per_neighbour = 22.0 + 40.0,
  };
}

// As scene A, and per particle its slot (in the sort too), velocity, a row of ten past ones read,
// one written, and the mean written: 40r.
static kp_case_work work_a_fractional(void) {
  kp_case_work work = work_a();
  work.bytes += bytes(0.0, 40.0, 12.0);
  return work;
}

// Sort of position, velocity, id and the pressures of both solves; lists written and read, terms
// (3r and 1r per neighbour) written once; then, with one turn for the divergence and two for the
// density, eight passes that read 3r + 4 bytes per neighbour and one of viscosity that reads 1r +
// 4, each with about 10r per particle; 15p 26r besides. Pair operations: terms 40, passes 9 x 7.
static kp_case_work work_a_implicit(void) {
  const double real = (double)sizeof(kp_real);
  return (kp_case_work){
    .bytes = sort_bytes(3.0, 5.0) + bytes(15.0, 26.0 + 9.0 * 10.0, 0.0),
    .bytes_per_neighbour = 8.0 + 4.0 * real + 8.0 * (3.0 * real + 4.0) + real + 4.0,
    .flops_per_neighbour = 40.0 + 9.0 * 7.0,
  };
}

// Two evaluations, each with a sort of position, velocity, id, start of the step (3p 3r), stages
// (12r) and densities (3r); rates 3p 9r, state 3r, gravity 6r. Between them copies and sums of the
// midpoint scheme, 18p 68r; domain and check 9p 13r. Pair operations: rates 53 per evaluation.
static kp_case_work work_b(void) {
  return (kp_case_work){
    .bytes = 2.0 * (sort_bytes(6.0, 21.0) + bytes(3.0, 18.0, 0.0)) + bytes(27.0, 81.0, 0.0),
    .flops_per_neighbour = 2.0 * 53.0,
  };
}

// Sort of position, velocity, id; one look at the positions, one count. Distance and comparison: 9.
static kp_case_work work_count(void) {
  return (kp_case_work){
    .bytes = sort_bytes(3.0, 3.0) + bytes(3.0, 0.0, 4.0),
    .flops_per_neighbour = 9.0,
  };
}

// Two sorts; density, divergence, lowest, gradient 12p 20r; predict and correct 12p 18r; the matrix
// 8 bytes for each of the 122 pairs at 3.1 spacings, found once and read by each of about 20
// iterations, which move 15 reals more.
static kp_case_work work_mps(void) {
  return (kp_case_work){
    .bytes = 2.0 * sort_bytes(3.0, 4.0) + bytes(24.0, 38.0 + 20.0 * 15.0, 21.0 * 122.0 * 8.0),
  };
}

// Per point, of which there is one extra node each: five steps, each reads 3.5 springs and an
// altitude per node (14 and 20 reals), writes and reads twice a band of 36 reals, and runs over
// some 40 reals of nodes and vectors in two iterations.
static kp_case_work work_hair(void) {
  return (kp_case_work){ .bytes =
                             5.0 * 2.0 * bytes(12.0, 3.5 * 14.0 + 20.0 + 3.0 * 36.0 + 80.0, 0.0) };
}

// Per particle: the sort of position, velocity and id; places 3p 3r; the gather reads places and
// velocities once from memory (6r) and eight times from the caches; carrying 6p 6r. Per cell, of
// which there is an eighth: 60 reals of the passes over faces and 12 iterations of some 20.
static kp_case_work work_flip_f(void) {
  return (kp_case_work){ .bytes = sort_bytes(3.0, 4.0) +
                                  bytes(9.0, 15.0, 0.125 * 4.0 * (60.0 + 12.0 * 20.0)) };
}

// Per cell of the box, a quarter of which holds eight particles.
static kp_case_work work_flip_c(void) {
  kp_case_work work = work_flip_f();
  work.bytes *= 2.0;
  return work;
}

static kp_case_work work_list(void) {
  kp_case_work work = work_count();
  work.bytes_per_neighbour = 4.0;
  return work;
}

// Per grain: position, velocity, spin, radius and mass packed to a record (128), the record and the
// place of the row read and six accelerations written (96), motion (168), report (48). Per entry of
// a row: partner, springs read and written, and the partner's record. Operations of the law without
// rolling: 150.
static kp_case_work work_chute(void) {
  return (kp_case_work){
    .bytes = 128.0 + 96.0 + 168.0 + 48.0,
    .bytes_per_neighbour = 4.0 + 24.0 + 64.0,
    .flops_per_neighbour = 150.0,
  };
}

// Density 3p 4r and relaxation 3p 11r over 56 partners, springs 3p 7r over 26; of a spring's memory
// 13 numbers read and 2 written; prediction 6p 9r, end 6p 17r, check 3p 7r. Pair operations: 14 and
// 40, 60 of a spring and 30 of its memory.
static kp_case_work work_stf(void) {
  return (kp_case_work){
    .bytes = bytes(24.0, 55.0 + 26.0 * 15.0, 82.0 * 4.0),
    .flops_per_neighbour = 14.0 + 40.0 + 0.5 * 90.0,
  };
}

// Position, velocity, lift, acceleration and life read, the first two, life and alpha written.
static kp_case_work work_fire(void) {
  return (kp_case_work){ .bytes = bytes(12.0, 30.0, 0.0) };
}

// Sort of position, velocity, life, vorticity and what goes with them (3p 24r); of the grid, about
// three samples per vorton: velocity, slopes and torque written and read, 3p 32r each; stretch,
// exchange, motion, solids, life, colour: 18p 75r. Pair operations of the exchange: 17 per
// neighbour within a cell, and 35 of each of three samples' neighbours within 1.5 cells, which are
// 3.4 times as many.
static kp_case_work work_vortex_fire(void) {
  return (kp_case_work){
    .bytes = sort_bytes(3.0, 24.0) + 3.0 * bytes(3.0, 32.0, 0.0) + bytes(18.0, 75.0, 0.0),
    .flops_per_neighbour = 17.0 + 3.0 * 3.4 * 35.0,
  };
}

// Per body and sub-step (8): state of 240 bytes read and written; per contact point, of which there
// are about 4.5: 280 bytes in three passes, 40 of which are written.
static kp_case_work work_rigid(void) {
  return (kp_case_work){ .bytes = 8.0 * 2.0 * 240.0, .bytes_per_neighbour = 8.0 * 3.0 * 320.0 };
}

// A sample is read once; a bit of it is written and read.
static kp_case_work work_marching_cubes(void) {
  return (kp_case_work){ .bytes = sizeof(float) };
}

// The place is read and sorted; of eight samples per particle the distance is written, smoothed
// twice and read by marching cubes.
static kp_case_work work_surface(void) {
  return (kp_case_work){ .bytes = 2.0 * 3.0 * sizeof(double) + 8.0 * 6.0 * sizeof(float) };
}

// Per value, of MacCormack with two cell fields and three components: in either sweep the velocity
// (3r, by two fields of cells together) and the field are read and a field is written; the second
// reads the first one's too.
static kp_case_work work_advect(void) {
  double velocity = (3.0 + 3.0 * 3.0) / 5.0;
  return (kp_case_work){ .bytes = bytes(0.0, 2.0 * velocity + 2.0 + 3.0, 0.0) };
}

// Once: masks, diagonal, coarse coefficients 11r; residuals anew, 8r each, five times. Per
// iteration: step 10r, sums 3r, operator 5r; V-cycle 8/7 of: first sweep 6r, restriction 5.5r,
// prolongation 3.5r, two half sweeps 6.5r each.
static kp_case_work work_pressure(void) {
  return (kp_case_work){ .bytes = bytes(0.0, 11.0 + 5.0 * 8.0, 0.0),
                         .bytes_per_neighbour = bytes(0.0, 18.0 + 28.0 * 8.0 / 7.0, 1.0) };
}

// Per node five tetrahedra: rest 13r read, blocks 56r and forces 16r written and read. Of the rows
// 14 entries with 9r and the other end, written once and read in some 10 products, with 30r of
// vectors each. Two solves of a step.
static kp_case_work work_tets(void) {
  double elements = 5.0 * bytes(4.0, 13.0 + 2.0 * 72.0, 16.0);
  double product = 14.0 * bytes(0.0, 9.0, 4.0) + bytes(0.0, 30.0, 0.0);
  return (kp_case_work){ .bytes = 2.0 * (elements + 11.0 * product) };
}

// Per cell: both sweeps of MacCormack for two cell fields and three components (as above, five
// values), buoyancy 4r, divergence 5r, correction 3 x 3r, check 4r; and six turns of conjugate
// gradients with a V-cycle of two smoothings, each 26r and an eighth more for the coarse levels.
// A node of cloth has twelve springs in its row (six edges, six across them). A product with the
// matrix reads of each the other end and four numbers, and of a node some twenty more. A frame has
// five steps of two solves, of about twenty products each.
static kp_case_work work_cloth(void) {
  double product = 12.0 * (4.0 + 4.0 * sizeof(kp_real)) + 20.0 * sizeof(kp_real);
  return (kp_case_work){ .bytes = 5.0 * 2.0 * 20.0 * product };
}

static kp_case_work work_smoke(void) {
  return (kp_case_work){ .bytes = 5.0 * work_advect().bytes +
                                  bytes(0.0, 4.0 + 5.0 + 9.0 + 4.0 + 6.0 * 26.0 * 8.0 / 7.0, 0.0) };
}

const kp_case kp_cases[] = {
  {
      .name = "sph-a",
      .family = "sph",
      .text = "weakly compressible water, 30 neighbours, two passes",
      .unit = "M particle-steps/s",
      .sizes = { 25000, 117649, 493039, 2000000 },
      .build = kp_case_sph_a,
      .work = work_a,
      .must_core = 2.5,
      .must_card = 1800.0,
  },
  {
      .name = "sph-a-implicit",
      .family = "sph",
      .text = "incompressible water (dfsph), density to 0.05 %, divergence to 0.1 %",
      .unit = "M particle-steps/s",
      .sizes = { 25000, 117649, 493039 },
      .build = kp_case_sph_a_implicit,
      .work = work_a_implicit,
      .must_core = 1.4,
  },
  {
      .name = "sph-a-fractional",
      .family = "sph",
      .text = "weakly compressible water, viscosity by the past of ten steps",
      .unit = "M particle-steps/s",
      .sizes = { 25000, 117649, 493039 },
      .build = kp_case_sph_a_fractional,
      .work = work_a_fractional,
      .must_core = 2.5 / 1.1,
  },
  {
      .name = "sph-b",
      .family = "sph",
      .text = "dam break with obstacle, 250 neighbours, two evaluations",
      .unit = "M particle-steps/s",
      .sizes = { 120000, 400000, 1100000 },
      .build = kp_case_sph_b,
      .walls = kp_case_sph_b_walls,
      .work = work_b,
      .must_core = 5.0 * 0.15,
      .must_card = 450.0,
  },
  {
      .name = "dem-chute",
      .family = "grains",
      .text = "grains down a chute, Hooke with history",
      .unit = "M particle-steps/s",
      .sizes = { 32000 },
      .build = kp_case_dem_chute,
      .work = work_chute,
      .settle = 5000,
      .must_core = 10.0,
  },
  {
      .name = "mps",
      .family = "mps",
      .text = "incompressible water, a pressure solve on particles, 122 entries a row",
      .unit = "M particle-steps/s",
      .sizes = { 8000, 27000, 125000 },
      .build = kp_case_mps,
      .work = work_mps,
  },
  {
      .name = "flip-c",
      .family = "grid",
      .text = "dam break by FLIP in long steps, size cells along the box",
      .unit = "M cell-steps/s",
      .sizes = { 64, 128 },
      .build = kp_case_flip_c,
      .work = work_flip_c,
      .counts_cells = true,
      .settle = 4,
      .must_core = 3.4,
  },
  {
      .name = "flip-f",
      .family = "grid",
      .text = "dam break by FLIP, size cells along the box",
      .unit = "M particle-steps/s",
      .sizes = { 64, 128 },
      .build = kp_case_flip_f,
      .work = work_flip_f,
      .settle = 10,
      .must_core = 3.0,
  },
  {
      .name = "stf",
      .family = "stf",
      .text = "shear-thickening fluid with memory, struck by a ball",
      .unit = "M particle-steps/s",
      .sizes = { 20000, 200000 },
      .build = kp_case_stf,
      .work = work_stf,
  },
  {
      .name = "fire",
      .family = "fire",
      .text = "flame of particles that do not meet",
      .unit = "M particle-steps/s",
      .sizes = { 16384, 131072 },
      .build = kp_case_particle_fire,
      .work = work_fire,
  },
  {
      .name = "fire-vortex",
      .family = "fire",
      .text = "flame of vortices over a ball, with its velocity grid",
      .unit = "M particle-steps/s",
      .sizes = { 16384, 131072 },
      .build = kp_case_vortex_fire,
      .work = work_vortex_fire,
      .settle = 100,
  },
  {
      .name = "neighbours",
      .family = "neighbours",
      .text = "sort of points that moved, and a count of their neighbours",
      .unit = "M points/s",
      .sizes = { 125000, 1000000 },
      .search = kp_case_points_count,
      .work = work_count,
  },
  {
      .name = "neighbours-lists",
      .family = "neighbours",
      .text = "the same with explicit lists",
      .unit = "M points/s",
      .sizes = { 125000, 1000000 },
      .search = kp_case_points_list,
      .work = work_list,
      .must_core = 8.6,
  },
  {
      .name = "advect",
      .family = "grid",
      .text =
          "MacCormack with reversion: two cell fields and the velocity, size cells along a side",
      .unit = "M cell-fields/s",
      .sizes = { 64, 128, 256 },
      .turns = &kp_case_advect,
      .work = work_advect,
      .must_core = 30.0,
  },
  {
      .name = "poisson",
      .family = "grid",
      .text = "pressure to 1e-6 in a box with an open top and a ball, size cells along a side",
      .unit = "M cells/s",
      .sizes = { 32, 64, 128, 256 },
      .turns = &kp_case_pressure,
      .work = work_pressure,
      .must_core = 2.6,
      .must_card = 400.0,
  },
  {
      .name = "smoke-d",
      .family = "grid",
      .text = "a plume, size cells high: MacCormack for smoke, heat and velocity, pressure to 1e-3",
      .unit = "M cell-steps/s",
      .sizes = { 64, 128, 256 },
      .build = kp_case_smoke_d,
      .work = work_smoke,
      .must_core = 3.4,
  },
  {
      .name = "rigid-pile",
      .family = "solids",
      .text = "boxes, balls, drums and capsules in a heap: contacts found once, 8 sub-steps",
      .unit = "M body-steps/s",
      .sizes = { 200, 1000 },
      .build = kp_case_rigid_pile,
      .work = work_rigid,
      .settle = 120,
  },
  {
      .name = "cloth-e",
      .family = "solids",
      .text =
          "cloth of size x size vertices on a ball, five inner steps per frame, which is a step",
      .unit = "M vertex-frames/s",
      .sizes = { 100, 200 },
      .build = kp_case_cloth_e,
      .work = work_cloth,
      .settle = 12,
      .must_core = 0.16,
  },
  {
      .name = "hair-e",
      .family = "solids",
      .text = "strands of ten segments with torsion on a ball, five implicit steps per frame",
      .unit = "M points x frames/s",
      .sizes = { 1000, 10000 },
      .build = kp_case_hair_e,
      .walls = kp_case_hair_e_extras,
      .work = work_hair,
      .settle = 5,
      .must_core = 0.74,
  },
  {
      .name = "tets",
      .family = "solids",
      .text = "a cube of elastic tetrahedra sags from a wall, implicit steps of 1/60 s to 1e-3",
      .unit = "M node-steps/s",
      .sizes = { 8000, 64000 },
      .build = kp_case_tets,
      .work = work_tets,
  },
  {
      .name = "marching-cubes",
      .family = "surfaces",
      .text = "the surface of a ball in a lattice, size samples along a side",
      .unit = "M cells/s",
      .sizes = { 128, 256, 512 },
      .turns = &kp_case_marching_cubes,
      .work = work_marching_cubes,
      .must_core = 100.0,
  },
  {
      .name = "surface",
      .family = "surfaces",
      .text = "particles to triangles, voxels of half a spacing",
      .unit = "M particles/s",
      .sizes = { 100000, 1000000 },
      .turns = &kp_case_surface,
      .work = work_surface,
      .must_core = 1.0,
  },
};

const size_t kp_n_cases = sizeof kp_cases / sizeof kp_cases[0];

const kp_case *kp_case_find(const char *name) {
  for (size_t c = 0; c < kp_n_cases; ++c) {
    if (strcmp(kp_cases[c].name, name) == 0) {
      return &kp_cases[c];
    }
  }
  return NULL;
}
