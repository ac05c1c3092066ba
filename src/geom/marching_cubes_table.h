// The 256 ways a surface can cut a cell, made from one rule instead of written down. Private to
// marching_cubes.c and its tests.
//
// Corner c of a cell has bit 0 of c along x, bit 1 along y, bit 2 along z. Edges 0..3 run along x
// from corners 0 2 4 6, edges 4..7 along y from corners 0 1 4 5, edges 8..11 along z from corners
// 0 1 2 3.
#pragma once

#include <stdint.h>

#define KP_CUBE_EDGES 12
#define KP_CUBE_TRIANGLES 10  // twelve cut edges in one loop have no more

typedef struct kp_cube_table {
  uint8_t n_triangles[256];
  uint8_t edges[256][3 * KP_CUBE_TRIANGLES];
} kp_cube_table;

// The two corners of an edge; the first is the lower one.
void kp_cube_edge(int edge, int corners[2]);

void kp_cube_table_make(kp_cube_table *table);
