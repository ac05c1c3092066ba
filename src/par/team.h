// Team kernels: a whole iteration of passes over the same elements in one launch.
//
//   TEAM    void mod_name(const kp_team *team, const mod_name_args *a)
//
// A launch costs some microseconds and a look of the host some more, which for a few ten thousand
// elements is more than the pass itself. All threads of a team run the kernel, from its first line
// to its last; passes are parted by kp_team_barrier, after which everybody sees what everybody
// wrote. On a card a team is as many blocks of threads as are resident at once, on the CPU a single
// thread: there such kernels are for comparison, and loops of launches the faster way.
//
// A pass is cut into tiles of KP_TEAM_TILE elements, and a tile belongs to one block:
//
//   KP_TEAM_TILES(team, tile, kp_team_tiles(n)) {
//     int64_t end = kp_team_end(tile, n);
//     for (int64_t i = tile * KP_TEAM_TILE + kp_team_lane(); i < end; i += kp_team_lanes()) { ... }
//   }
//
// All threads must come to the same barriers, tile sums and totals, so what decides about them must
// be known to all: an argument, or a total. Sums are those of tiles in order, so that bits depend
// neither on how many blocks there are nor on the order in which tiles are visited; the mirror
// backend visits them backwards.
#pragma once

#include "kelpie/config.h"

#define KP_TEAM_TILE 256
#define KP_TEAM_SUMS 4  // values of a tile sum, at most

#ifdef __CUDACC__

#include <cooperative_groups.h>

typedef struct kp_team {
  int64_t rank, size;  // of blocks
} kp_team;

#define KP_TEAM_TILES(team, tile, n)                                                               \
  for (int64_t tile = (team)->rank; tile < (n); tile += (team)->size)

KP_FN int kp_team_lane(void) {
#ifdef __CUDA_ARCH__
  return (int)threadIdx.x;
#else
  return 0;
#endif
}

KP_FN int kp_team_lanes(void) {
  return KP_TEAM_TILE;
}

KP_FN bool kp_team_is_first(const kp_team *team) {
  return team->rank == 0 && kp_team_lane() == 0;
}

KP_FN void kp_team_barrier(const kp_team *team) {
  (void)team;
#ifdef __CUDA_ARCH__
  cooperative_groups::this_grid().sync();
#endif
}

// out = v summed over the threads of a block: lanes of a warp by halves, then the warps in order.
KP_FN void kp_team_sum_block(double *v, int n, double *out) {
#ifdef __CUDA_ARCH__
  constexpr int warp = 32;
  __shared__ double warps[KP_TEAM_TILE / warp][KP_TEAM_SUMS];
  for (int k = 0; k < n; ++k) {
    for (int half = warp / 2; half > 0; half /= 2) {
      v[k] += __shfl_down_sync(0xffffffffu, v[k], (unsigned)half);
    }
    if (threadIdx.x % warp == 0) {
      warps[threadIdx.x / warp][k] = v[k];
    }
  }
  __syncthreads();
  if ((int)threadIdx.x < n) {
    double sum = 0.0;
    for (int w = 0; w < KP_TEAM_TILE / warp; ++w) {
      sum += warps[w][threadIdx.x];
    }
    out[threadIdx.x] = sum;
  }
  __syncthreads();
#else
  (void)v;
  (void)n;
  (void)out;
#endif
}

// sums[tile] = v, summed over what belongs to the tile.
KP_FN void kp_team_tile_sum(double *v, int n, int64_t tile, double *sums) {
  kp_team_sum_block(v, n, sums + tile * n);
}

// v = the sum over all tiles, after a barrier.
KP_FN void kp_team_total(const double *sums, int64_t n_tiles, int n, double *v) {
#ifdef __CUDA_ARCH__
  __shared__ double total[KP_TEAM_SUMS];
  for (int k = 0; k < n; ++k) {
    v[k] = 0.0;
    for (int64_t tile = threadIdx.x; tile < n_tiles; tile += KP_TEAM_TILE) {
      v[k] += sums[tile * n + k];
    }
  }
  kp_team_sum_block(v, n, total);
  for (int k = 0; k < n; ++k) {
    v[k] = total[k];
  }
  __syncthreads();
#else
  (void)sums;
  (void)n_tiles;
  (void)n;
  (void)v;
#endif
}

#else

typedef struct kp_team {
  bool is_backward;
} kp_team;

#define KP_TEAM_TILES(team, tile, n)                                                               \
  for (int64_t tile##_k = 0, tile = kp_team_visit((team), 0, (n)); tile##_k < (n);                 \
       tile = kp_team_visit((team), ++tile##_k, (n)))

KP_FN int64_t kp_team_visit(const kp_team *team, int64_t k, int64_t n) {
  return team->is_backward ? n - 1 - k : k;
}

KP_FN int kp_team_lane(void) {
  return 0;
}

KP_FN int kp_team_lanes(void) {
  return 1;
}

KP_FN bool kp_team_is_first(const kp_team *team) {
  (void)team;
  return true;
}

KP_FN void kp_team_barrier(const kp_team *team) {
  (void)team;
}

KP_FN void kp_team_tile_sum(double *v, int n, int64_t tile, double *sums) {
  for (int k = 0; k < n; ++k) {
    sums[tile * n + k] = v[k];
  }
}

KP_FN void kp_team_total(const double *sums, int64_t n_tiles, int n, double *v) {
  for (int k = 0; k < n; ++k) {
    v[k] = 0.0;
    for (int64_t tile = 0; tile < n_tiles; ++tile) {
      v[k] += sums[tile * n + k];
    }
  }
}

#endif

KP_FN int64_t kp_team_tiles(int64_t n) {
  return (n + KP_TEAM_TILE - 1) / KP_TEAM_TILE;
}

// Behind the last of n elements that is in the tile.
KP_FN int64_t kp_team_end(int64_t tile, int64_t n) {
  int64_t end = (tile + 1) * KP_TEAM_TILE;
  return end < n ? end : n;
}
