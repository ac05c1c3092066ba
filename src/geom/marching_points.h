// Marching cubes, one vertex or one row of cells at a time, for the loops of marching_cubes.c and
// marching_blocks.c and the kernels of marching_kernels.h alike.
#pragma once

#include "geom/marching_cubes_table.h"
#include "geom/sparse_lattice.h"

// Vertices keep this share of an edge away from its samples: triangles do not collapse where the
// surface passes through a sample.
#define KP_MARCHING_NEAREST (1.0f / 1024.0f)

KP_FN int kp_marching_count(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

// The lowest of bits that are not all zero.
KP_FN int kp_marching_lowest(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __ffs((int)bits) - 1;
#else
  return __builtin_ctz(bits);
#endif
}

// A vertex of a surface.
typedef struct kp_marching_vertex {
  kp_vec3 place;  // m
  float normal[3];
} kp_marching_vertex;

// Where between two samples the surface lies, from their values less the level.
KP_FN float kp_marching_share(float low, float high) {
  float t = low / (low - high);
  t = t > KP_MARCHING_NEAREST ? t : KP_MARCHING_NEAREST;  // so a NaN becomes a place on the edge
  return t < 1.0f - KP_MARCHING_NEAREST ? t : 1.0f - KP_MARCHING_NEAREST;
}

// A unit normal from slopes; beside values that are not finite, or on a ridge, along the edge.
KP_FN void kp_marching_normal(float out[3], int axis, bool is_lower) {
  float square = 0.0f;
  for (int c = 0; c < 3; ++c) {
    square += out[c] * out[c];
  }
  if (!(square > 0.0f && square < HUGE_VALF)) {
    for (int c = 0; c < 3; ++c) {
      out[c] = c != axis ? 0.0f : is_lower ? 1.0f : -1.0f;
    }
    square = 1.0f;
  }
  float length = sqrtf(square);
  for (int c = 0; c < 3; ++c) {
    out[c] /= length;
  }
}

// ---- blocks

// The vertex on the edge along an axis from a sample of a block.
KP_FN void kp_marching_block_vertex(const kp_blocks *b, int64_t block, float level,
                                    const int32_t from[3], int axis, kp_marching_vertex *out) {
  int32_t to[3] = { from[0] + (axis == 0), from[1] + (axis == 1), from[2] + (axis == 2) };
  float low = kp_blocks_sample(b, b->values, block, from[0], from[1], from[2]) - level;
  float high = kp_blocks_sample(b, b->values, block, to[0], to[1], to[2]) - level;
  float t = kp_marching_share(low, high);
  double at[3];
  for (int c = 0; c < 3; ++c) {
    int64_t first = c == 2 && b->depth != b->edge ? -1 : (int64_t)b->at[block][c] * b->edge;
    at[c] = (double)(first + from[c]) + (c == axis ? (double)t : 0.0);
  }
  out->place = kp_vec3_scale(kp_vec3_make(at[0], at[1], at[2]), b->spacing);
  for (int c = 0; c < 3; ++c) {
    int32_t step[3] = { c == 0, c == 1, c == 2 };
    float here = kp_blocks_sample(b, b->values, block, from[0] + step[0], from[1] + step[1],
                                  from[2] + step[2]) -
                 kp_blocks_sample(b, b->values, block, from[0] - step[0], from[1] - step[1],
                                  from[2] - step[2]);
    float there =
        kp_blocks_sample(b, b->values, block, to[0] + step[0], to[1] + step[1], to[2] + step[2]) -
        kp_blocks_sample(b, b->values, block, to[0] - step[0], to[1] - step[1], to[2] - step[2]);
    out->normal[c] = (1.0f - t) * here + t * there;
  }
  kp_marching_normal(out->normal, axis, low < 0.0f);
}

// ---- lattices

// Slope at a sample along an axis, one-sided at the rim [value per sample].
KP_FN float kp_marching_slope(const kp_lattice *l, const int32_t at[3], int axis) {
  int64_t stride = axis == 0 ? 1 : axis == 1 ? l->row : l->slab;
  const float *here = l->values + at[0] + at[1] * l->row + at[2] * l->slab;
  int64_t back = at[axis] > 0 ? stride : 0, ahead = at[axis] + 1 < l->n[axis] ? stride : 0;
  float way = (float)((back != 0) + (ahead != 0));
  return way > 0.0f ? (here[ahead] - here[-back]) / way : 0.0f;
}

KP_FN void kp_marching_lattice_vertex(const kp_lattice *l, float level, const int32_t from[3],
                                      int axis, kp_marching_vertex *out) {
  int64_t stride = axis == 0 ? 1 : axis == 1 ? l->row : l->slab;
  const float *here = l->values + from[0] + from[1] * l->row + from[2] * l->slab;
  float t = kp_marching_share(here[0] - level, here[stride] - level);
  double at[3] = { (double)from[0], (double)from[1], (double)from[2] };
  at[axis] += (double)t;
  out->place = kp_vec3_add(l->origin, kp_vec3_scale(kp_vec3_make(at[0], at[1], at[2]), l->spacing));
  int32_t to[3] = { from[0] + (axis == 0), from[1] + (axis == 1), from[2] + (axis == 2) };
  for (int c = 0; c < 3; ++c) {
    out->normal[c] = (1.0f - t) * kp_marching_slope(l, from, c) + t * kp_marching_slope(l, to, c);
  }
  kp_marching_normal(out->normal, axis, here[0] < here[stride]);
}
