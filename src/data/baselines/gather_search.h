// Baseline: the gather-only neighbour search of Bayraktar 2010, sections 6.2.2 and 6.2.3 (B22, B23,
// Algorithms 2 and 3). Every output element computes what belongs into it; nothing is scattered. A
// grid map holds per cell
//
//   R  index of the cell's first entry among the sorted particles, by binary search
//   G  particles in the cell
//   B  sum of G over the cell and its up to 26 neighbours
//   A  exclusive sum of B: start of the cell's block in the table
//
// and the table lists, for each cell, the particles of its neighbourhood, so that the candidates of
// a particle are one contiguous range. (The listing sums G for A and looks for cells in the wrong
// texture; only the forms above work.)
#pragma once

#include "base/result.h"
#include "data/baselines/brute_force.h"
#include "kelpie/vec.h"

typedef struct kp_gather_cell {
  uint32_t first, count, neighbours, block;  // R, G, B, A
} kp_gather_cell;

typedef struct kp_gather_search {
  kp_vec3 origin;
  double edge;
  int32_t dims[3];
  int64_t n_cells, n_points, n_table;
  int64_t sort_passes;  // of the bitonic network
  uint64_t *sorted;     // cell << 32 | particle, ascending
  kp_gather_cell *map;
  uint32_t *table;  // n_table = sum of B, at most 27 per particle
} kp_gather_search;

// Positions outside the box are put into the nearest cell.
KP_NODISCARD kp_result kp_gather_search_build(kp_gather_search *search, const kp_points *points,
                                              const kp_aabb *box, double edge);
void kp_gather_search_free(kp_gather_search *search);

// Candidates of particle i: a range of the table.
void kp_gather_search_range(const kp_gather_search *search, const kp_points *points, int64_t i,
                            uint32_t *begin, uint32_t *end);
