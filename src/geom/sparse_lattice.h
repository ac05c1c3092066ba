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
// Refuses blocks whose places do not fit into keys.
KP_NODISCARD kp_result kp_blocks_check_span(const kp_blocks *b, const int64_t first[3],
                                            const int64_t last[3]);
void kp_blocks_free(kp_blocks *b);
// What sorting took.
int64_t kp_blocks_room_bytes(const kp_blocks *b);

KP_FN int64_t kp_blocks_volume(const kp_blocks *b) {
  return (int64_t)b->edge * b->edge * b->depth;
}

// A key is z, y, x of a block in 21 bits each, so ascending keys run along x first and a neighbour
// is a constant away.
#define KP_BLOCK_BITS 21
#define KP_BLOCK_MIDDLE ((int64_t)1 << (KP_BLOCK_BITS - 1))
#define KP_BLOCK_STEP_Y ((uint64_t)1 << KP_BLOCK_BITS)
#define KP_BLOCK_STEP_Z ((uint64_t)1 << 2 * KP_BLOCK_BITS)

KP_FN uint64_t kp_block_key(int64_t x, int64_t y, int64_t z) {
  return (uint64_t)(x + KP_BLOCK_MIDDLE) | (uint64_t)(y + KP_BLOCK_MIDDLE) << KP_BLOCK_BITS |
         (uint64_t)(z + KP_BLOCK_MIDDLE) << 2 * KP_BLOCK_BITS;
}

KP_FN int32_t kp_block_part(uint64_t key, int axis) {
  return (int32_t)((int64_t)(key >> axis * KP_BLOCK_BITS & (KP_BLOCK_STEP_Y - 1)) -
                   KP_BLOCK_MIDDLE);
}

// The first of ascending keys that is not below one.
KP_FN int64_t kp_blocks_lower(const uint64_t *keys, int64_t n, uint64_t key) {
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    int64_t middle = lo + (hi - lo) / 2;
    if (keys[middle] < key) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo;
}

// The block at a place, in blocks; -1: none.
KP_FN int64_t kp_blocks_find(const kp_blocks *b, const int64_t at[3]) {
  for (int c = 0; c < 3; ++c) {
    if (at[c] < -KP_BLOCK_MIDDLE || at[c] >= KP_BLOCK_MIDDLE) {
      return -1;
    }
  }
  uint64_t key = kp_block_key(at[0], at[1], at[2]);
  int64_t found = kp_blocks_lower(b->keys, b->n, key);
  return found < b->n && b->keys[found] == key ? found : -1;
}

// Where the first sample of the block at a place lies [m].
KP_FN kp_vec3 kp_blocks_corner(const kp_blocks *b, const int32_t at[3]) {
  double size = b->edge * b->spacing;
  double z = b->depth != b->edge ? -b->spacing : size * at[2];
  return kp_vec3_make(size * at[0], size * at[1], z);
}

// A sample in space from its number among all samples.
typedef struct kp_block_place {
  int32_t block, local[3];
  int64_t at[3];
} kp_block_place;

KP_FN kp_block_place kp_blocks_place(const kp_blocks *b, int64_t sample) {
  int64_t slot = sample / kp_blocks_volume(b);
  int32_t n = (int32_t)(sample - slot * kp_blocks_volume(b)), e = b->edge;
  kp_block_place p;
  p.block = b->stored[slot];
  p.local[0] = n % e;
  p.local[1] = n / e % e;
  p.local[2] = n / e / e;
  for (int c = 0; c < 3; ++c) {
    int64_t first = c == 2 && b->depth != e ? -1 : (int64_t)b->at[p.block][c] * e;
    p.at[c] = first + p.local[c];
  }
  return p;
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
