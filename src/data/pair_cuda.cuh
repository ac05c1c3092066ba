// The pair driver of the cuda backend, for x_cuda.cu files: KP_CUDA_PAIR makes the launcher of one
// pair kernel.
//
//   1. pack    per slot of the j side one record of four kp_real (position relative to the centre
//              of its cell, and the cell's x) and as many further records as its j-fields need, so
//              that the walk reads whole 16-byte vectors, in the order of slots also for tied sets;
//   2. walk    one thread per slot of the i side; for each row of cells within reach one contiguous
//              range of records. d = (own relative - other relative) + (difference of cells) edge,
//              in kp_real: exact to rounding at any distance from the origin. The j-fields are read
//              for pairs within the radius only.
//
// Neighbouring threads are neighbours in space, so a warp's loads mostly meet in the first-level
// cache. See data/pairs.h for the contract of a kernel.
#pragma once

#include <cuda_runtime.h>

#include "data/pairs.h"

#define KP_CUDA_PAIR_THREADS 128

// Four numbers that load and store as vectors.
struct alignas(4 * sizeof(kp_real) < 16 ? 4 * sizeof(kp_real) : 16) kp_real4 {
  kp_real x, y, z, w;
};

// The lattice of the j side as the kernels see it. x is kept relative to blocks of 2^shift cells:
// with kp_real = float the number of a block must stay below 2^24 to be exact. shift is 0 unless
// the box is longer.
struct kp_cuda_lattice {
  double block;  // length of a block
  kp_real block_real;
  kp_real edge;
  int32_t shift;
};

static inline kp_cuda_lattice kp_cuda_lattice_of(const kp_cells_view *v) {
  kp_cuda_lattice l;
  l.shift = 0;
  while (v->dims[0] >> l.shift >= 1 << 23) {
    ++l.shift;
  }
  l.block = v->edge * (double)(1 << l.shift);
  l.block_real = (kp_real)l.block;
  l.edge = (kp_real)v->edge;
  return l;
}

// Position p in the lattice of v: relative coordinates and the number of the block.
static __device__ __forceinline__ kp_real4 kp_cuda_relative(const kp_cells_view *v,
                                                            const kp_cuda_lattice *l, double x,
                                                            double y, double z, int32_t cell[3]) {
  cell[0] = kp_cells_coordinate(x, v->inverse_edge);
  cell[1] = kp_cells_coordinate(y, v->inverse_edge);
  cell[2] = kp_cells_coordinate(z, v->inverse_edge);
  int32_t block = cell[0] >> l->shift;
  kp_real4 r;
  r.x = (kp_real)(x - ((double)block + 0.5) * l->block);
  r.y = (kp_real)(y - ((double)cell[1] + 0.5) * v->edge);
  r.z = (kp_real)(z - ((double)cell[2] + 0.5) * v->edge);
  r.w = (kp_real)(block - (v->lo[0] >> l->shift));
  return r;
}

// Walks the candidates of element e and calls body(slot, dx, dy, dz, r2) for those within the
// radius.
template <int dimension, typename Body>
static __device__ __forceinline__ void kp_cuda_walk(const kp_pair_job &job,
                                                    const kp_cuda_lattice &lattice, int64_t e,
                                                    const kp_real4 *positions, Body body) {
  const kp_cells_view *v = &job.j;
  double px = job.i.x[e];
  double py = job.i.y[e];
  double pz = dimension == 3 ? job.i.z[e] : 0.0;
  int32_t cell[3];
  kp_real4 own = kp_cuda_relative(v, &lattice, px, py, pz, cell);
  int32_t y0, y1;
  int32_t z0 = 0;
  int32_t z1 = 0;
  kp_cells_reach(v, 1, py, job.radius, &y0, &y1);
  if (dimension == 3) {
    kp_cells_reach(v, 2, pz, job.radius, &z0, &z1);
  }
  // rounded up: what is cut off lies beyond the radius for certain
  const kp_real cut2 = (kp_real)(job.radius * job.radius * (1.0 + 1e-5));
  const kp_real half_edge = (kp_real)0.5 * lattice.edge;
  const kp_real inverse_edge = (kp_real)v->inverse_edge;
  const kp_real cell_x = (kp_real)(px - ((double)cell[0] + 0.5) * v->edge);
  for (int32_t z = z0; z <= z1; ++z) {
    kp_real oz = dimension == 3 ? own.z + (kp_real)(cell[2] - z) * lattice.edge : (kp_real)0;
    kp_real gap_z = dimension == 3 ? fmax(fabs(oz) - half_edge, (kp_real)0) : (kp_real)0;
    for (int32_t y = y0; y <= y1; ++y) {
      // the part of the row that the ball reaches
      kp_real oy = own.y + (kp_real)(cell[1] - y) * lattice.edge;
      kp_real gap_y = fmax(fabs(oy) - half_edge, (kp_real)0);
      kp_real left2 = cut2 - gap_y * gap_y - gap_z * gap_z;
      if (left2 < (kp_real)0) {
        continue;
      }
      kp_real reach = sqrt(left2) + (kp_real)1e-5 * lattice.edge;
      int32_t x0 = cell[0] + (int32_t)floor((cell_x - reach) * inverse_edge + (kp_real)0.5);
      int32_t x1 = cell[0] + (int32_t)floor((cell_x + reach) * inverse_edge + (kp_real)0.5);
      uint32_t slot, end;
      kp_cells_range(v, x0, x1, y, z, &slot, &end);
      // Of a row's candidates a quarter are near, other ones for every thread: taken one by one, the whole warp
      // would wait for the body at nearly every candidate. So distances come first, 32 at a time, then the body
      // for the near ones, which the threads of a warp work off together.
      while (slot < end) {
        uint32_t count = end - slot < 32u ? end - slot : 32u;
        uint32_t near = 0;
        for (uint32_t k = 0; k < count; ++k) {
          kp_real4 p = positions[slot + k];
          kp_real dx = (own.x - p.x) + (own.w - p.w) * lattice.block_real;
          kp_real dy = oy - p.y;
          kp_real dz = dimension == 3 ? oz - p.z : (kp_real)0;
          near |= (uint32_t)(dx * dx + dy * dy + dz * dz <= cut2) << k;
        }
        while (near != 0) {
          uint32_t s = slot + (uint32_t)__ffs((int)near) - 1u;
          near &= near - 1u;
          kp_real4 p = positions[s];
          kp_real dx = (own.x - p.x) + (own.w - p.w) * lattice.block_real;
          kp_real dy = oy - p.y;
          kp_real dz = dimension == 3 ? oz - p.z : (kp_real)0;
          body(s, dx, dy, dz, dx * dx + dy * dy + dz * dz);
        }
        slot += count;
      }
    }
  }
}

#define KP_CUDA_PAIR_ONE(field) +1
#define KP_CUDA_PAIR_READ(field) values[column++] = a.j_##field[e];
#define KP_CUDA_PAIR_GIVE(field) j.field = values[column++];

// Records of the j-fields lie behind the positions: group g of slot s at fields[g n + s].
#define KP_CUDA_PAIR_PACK(prefix, LIST)                                                            \
  static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS) prefix##_pack(                    \
      const __grid_constant__ prefix##_args a, const __grid_constant__ kp_pair_job job,            \
      const __grid_constant__ kp_cuda_lattice lattice) {                                           \
    constexpr int n_fields = 0 LIST(KP_CUDA_PAIR_ONE);                                             \
    constexpr int n_groups = (n_fields + 3) / 4;                                                   \
    int64_t n = job.j.n;                                                                           \
    int64_t s = (int64_t)blockIdx.x * KP_CUDA_PAIR_THREADS + threadIdx.x;                          \
    if (s >= n) {                                                                                  \
      return;                                                                                      \
    }                                                                                              \
    int64_t e = job.j.order != nullptr ? (int64_t)job.j.order[s] : s;                              \
    int32_t cell[3];                                                                               \
    kp_real4 *records = (kp_real4 *)job.packed;                                                    \
    records[s] = kp_cuda_relative(&job.j, &lattice, job.j.x[e], job.j.y[e], job.j.z[e], cell);     \
    kp_real values[4 * n_groups + 1] = {};                                                         \
    [[maybe_unused]] int column = 0;                                                               \
    LIST(KP_CUDA_PAIR_READ)                                                                        \
    (void)a;                                                                                       \
    _Pragma("unroll") for (int g = 0; g < n_groups; ++g) {                                         \
      kp_real4 r = { values[4 * g], values[4 * g + 1], values[4 * g + 2], values[4 * g + 3] };     \
      records[(g + 1) * n + s] = r;                                                                \
    }                                                                                              \
  }

#define KP_CUDA_PAIR_WALK(prefix, LIST)                                                            \
  template <int dimension>                                                                         \
  static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS)                                   \
      prefix##_walk(const __grid_constant__ prefix##_args a,                                       \
                    const __grid_constant__ kp_pair_job job,                                       \
                    const __grid_constant__ kp_cuda_lattice lattice) {                             \
    constexpr int n_fields = 0 LIST(KP_CUDA_PAIR_ONE);                                             \
    constexpr int n_groups = (n_fields + 3) / 4;                                                   \
    int64_t s = (int64_t)blockIdx.x * KP_CUDA_PAIR_THREADS + threadIdx.x;                          \
    if (s >= job.i.n) {                                                                            \
      return;                                                                                      \
    }                                                                                              \
    int64_t e = job.i.order != nullptr ? (int64_t)job.i.order[s] : s;                              \
    const kp_real4 *records = (const kp_real4 *)job.packed;                                        \
    const int64_t n = job.j.n;                                                                     \
    prefix##_i self;                                                                               \
    prefix##_acc acc;                                                                              \
    prefix##_load(e, &a, &self, &acc);                                                             \
    kp_cuda_walk<dimension>(job, lattice, e, records,                                              \
                            [&](uint32_t slot, kp_real dx, kp_real dy, kp_real dz, kp_real r2) {   \
                              kp_real values[4 * n_groups + 1];                                    \
                              _Pragma("unroll") for (int g = 0; g < n_groups; ++g) {               \
                                kp_real4 r = records[(g + 1) * n + slot];                          \
                                values[4 * g] = r.x;                                               \
                                values[4 * g + 1] = r.y;                                           \
                                values[4 * g + 2] = r.z;                                           \
                                values[4 * g + 3] = r.w;                                           \
                              }                                                                    \
                              [[maybe_unused]] int column = 0;                                     \
                              prefix##_j j;                                                        \
                              LIST(KP_CUDA_PAIR_GIVE)                                              \
                              (void)values;                                                        \
                              prefix##_pair(&acc, &self, &j, dx, dy, dz, r2, &a);                  \
                            });                                                                    \
    prefix##_store(e, &acc, &self, &a);                                                            \
  }

#define KP_CUDA_PAIR_LAUNCHER(prefix, LIST)                                                        \
  extern "C" int prefix##_cuda(int64_t n, const void *args, void *extra, void *stream);            \
  extern "C" int prefix##_cuda(int64_t n, const void *args, void *extra, void *stream) {           \
    constexpr int n_groups = (0 LIST(KP_CUDA_PAIR_ONE) + 3) / 4;                                   \
    kp_pair_job *job = (kp_pair_job *)extra;                                                       \
    const prefix##_args *a = (const prefix##_args *)args;                                          \
    cudaStream_t s = (cudaStream_t)stream;                                                         \
    if (job->packed == nullptr) {                                                                  \
      job->packed_size = (size_t)job->j.n * (1 + n_groups) * sizeof(kp_real4) + 16;                \
      return 0;                                                                                    \
    }                                                                                              \
    kp_cuda_lattice lattice = kp_cuda_lattice_of(&job->j);                                         \
    unsigned j_blocks = (unsigned)((job->j.n + KP_CUDA_PAIR_THREADS - 1) / KP_CUDA_PAIR_THREADS);  \
    unsigned i_blocks = (unsigned)((n + KP_CUDA_PAIR_THREADS - 1) / KP_CUDA_PAIR_THREADS);         \
    if (j_blocks > 0) {                                                                            \
      prefix##_pack<<<j_blocks, KP_CUDA_PAIR_THREADS, 0, s>>>(*a, *job, lattice);                  \
    }                                                                                              \
    if (job->dimension == 2) {                                                                     \
      prefix##_walk<2><<<i_blocks, KP_CUDA_PAIR_THREADS, 0, s>>>(*a, *job, lattice);               \
    } else {                                                                                       \
      prefix##_walk<3><<<i_blocks, KP_CUDA_PAIR_THREADS, 0, s>>>(*a, *job, lattice);               \
    }                                                                                              \
    return (int)cudaGetLastError();                                                                \
  }

#define KP_CUDA_PAIR_EXPAND(prefix, args_type, LIST, ...)                                          \
  KP_CUDA_PAIR_PACK(prefix, LIST)                                                                  \
  KP_CUDA_PAIR_WALK(prefix, LIST)                                                                  \
  KP_CUDA_PAIR_LAUNCHER(prefix, LIST)

// The dots are: type of the arguments, list of the j-fields, and a merge, which one lane does not
// need.
#define KP_CUDA_PAIR(mod, name, ...) KP_CUDA_PAIR_EXPAND(mod##_##name, __VA_ARGS__, )
