// A lattice of samples that exists only where points are: blocks of up to 8 x 8 x 8 samples around
// the points, found by sorting, so that memory follows the points and not the box they were flung
// over. Blocks lie at whole multiples of their edge in space: what a block holds does not depend on
// where the other points are.
//
// A block whose points make it known to lie wholly inside has no samples, only a value.
#pragma once

#include "geom/marching_cubes.h"

#define KP_BLOCK_EDGE 8   // samples along a block at most
#define KP_BLOCK_LEAST 4  // and at least
#define KP_BLOCK_AROUND 27

#define KP_BLOCK_INSIDE (-1)  // slots of blocks without samples
#define KP_BLOCK_OUTSIDE (-2)

typedef struct kp_blocks {
  double spacing;    // m between samples; sample (i, j, k) of space lies at spacing (i, j, k)
  int32_t edge;      // samples along x and y of a block
  int32_t depth;     // along z: as many, or 3 in a flat world, at -1, 0 and 1
  int64_t n;         // blocks
  int32_t (*at)[3];  // their places in blocks, by z, then y, then x
  int32_t (*around)[KP_BLOCK_AROUND];  // neighbours by dz, dy, dx; -1: none, which is outside
  int32_t *slots;                      // where their samples are
  uint8_t *deep;          // 1: all samples have the value `inside` until walls cut them; NULL: none
  uint8_t *calm;          // and so have those of all blocks around
  int64_t n_stored;       // blocks with samples
  int32_t *stored;        // the blocks of slots
  float inside, outside;  // values of blocks without samples
  float *values;          // edge * edge * depth for each slot
  float *other;           // as much
  uint64_t *keys;         // of blocks, ascending
  struct kp_block_room *room;
} kp_blocks;

// Blocks at the points and all those around them that lie within first..last. `bin_of` receives the
// block of every point; UINT32_MAX for a point outside or not finite.
KP_NODISCARD kp_result kp_blocks_cover(kp_blocks *b, int64_t n, const double *const place[3],
                                       const int64_t first[3], const int64_t last[3],
                                       uint32_t *bin_of);
// Room for the samples of every block whose slot is not negative; numbers the slots.
KP_NODISCARD kp_result kp_blocks_store(kp_blocks *b);
// The block at a place, in blocks; -1: none.
int64_t kp_blocks_find(const kp_blocks *b, const int64_t at[3]);
void kp_blocks_free(kp_blocks *b);
// What sorting took.
int64_t kp_blocks_room_bytes(const kp_blocks *b);

KP_FN int64_t kp_blocks_volume(const kp_blocks *b) {
  return (int64_t)b->edge * b->edge * b->depth;
}

// The sample of a block, or of one beside it when an index lies outside by less than an edge.
KP_FN float kp_blocks_sample(const kp_blocks *b, const float *values, int64_t block, int32_t i,
                             int32_t j, int32_t k) {
  int32_t e = b->edge, d = b->depth;
  int32_t x = i < 0   ? 0
              : i < e ? 1
                      : 2,
          y = j < 0   ? 0
              : j < e ? 1
                      : 2,
          z = k < 0   ? 0
              : k < d ? 1
                      : 2;
  int64_t at = b->around[block][x + 3 * y + 9 * z];
  int32_t slot = at < 0 ? KP_BLOCK_OUTSIDE : b->slots[at];
  if (slot < 0) {
    return slot == KP_BLOCK_INSIDE ? b->inside : b->outside;
  }
  int64_t local = i + e * (1 - x) + e * (j + e * (1 - y) + (int64_t)e * (k + d * (1 - z)));
  return values[slot * kp_blocks_volume(b) + local];
}

// Passes of the filter (1 2 1) / 4 along each axis of the world.
void kp_blocks_smooth(kp_blocks *b, int passes);
// max(value, signed distance to the box): a surface that goes on beyond the box ends at its faces.
void kp_blocks_clip(kp_blocks *b, const kp_aabb *box);
// Samples beside a block without samples get its sign, so that no surface ends there.
void kp_blocks_seal(kp_blocks *b);

// As kp_marching_cubes, of all samples: the same triangles as on one lattice that holds them all,
// by block. Closed whatever the samples are, after kp_blocks_seal.
KP_NODISCARD kp_result kp_marching_blocks(const kp_blocks *b, float level, kp_isosurface *out);
