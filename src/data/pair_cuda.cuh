// The pair driver of the cuda backend, for x_cuda.cu files: KP_CUDA_PAIR makes the launcher of one
// pair kernel. The host side is in backend/cuda/pairs_cuda.cu.
//
//   1. place   once per build of the j side, two records per slot: a float4 to test distances with,
//              and the exact place in fixed point. The fraction of a cell has 26 bits and the
//              number of the cell is kept modulo 64, so that a plain difference of whole numbers is
//              the difference of places to the rounding of a float, at any distance from the origin;
//   2. pack    per pass the j-fields, in vectors of up to four, in the order of slots;
//   3. walk    one thread per slot of the i side. Threads of a warp differ in which candidates are
//              near: worked off as they are found, the whole warp would wait for the body at nearly
//              every candidate. So the near ones are queued in shared memory, row after row, and
//              all threads work off what they have when one is full or all rows are done: some 37
//              turns of the body for 33 neighbours instead of 72;
//   4. lists   a pass may leave what it found for later passes over the same places and radius
//              (kp_pair_job.keep), which then need no search. An element that found more than
//              fits walks again.
//
// The order of an element's sum is that of data/pairs.h in each of these.
#pragma once

#include <cuda_runtime.h>

#include "data/pairs.h"

#define KP_CUDA_PAIR_THREADS 128
#define KP_CUDA_QUEUE 32  // near candidates a thread can put off

// Four numbers that load and store as vectors.
struct alignas(4 * sizeof(kp_real) < 16 ? 4 * sizeof(kp_real) : 16) kp_real4 {
  kp_real x, y, z, w;
};
struct alignas(2 * sizeof(kp_real)) kp_real2 {
  kp_real x, y;
};

#ifdef KELPIE_DOUBLE
typedef int64_t kp_cuda_fixed;
typedef uint64_t kp_cuda_wrap;
#define KP_CUDA_FIXED_BITS 64
#else
typedef int32_t kp_cuda_fixed;
typedef uint32_t kp_cuda_wrap;
#define KP_CUDA_FIXED_BITS 32
#endif

struct alignas(16) kp_cuda_place {
  kp_cuda_fixed x, y, z, unused;
};

// One pass as the kernels see it: plain data, handed over by value.
struct kp_cuda_search {
  kp_cells_view i, j;
  int32_t flat;        // 2D: z counts for nothing
  int32_t reach_yz[2];  // cells to look at on either side
  float cut2;          // of the test, rounded up [m^2]
  float cut_cells2;    // the same in cells
  double corner[3];    // test places are relative to it
  double fraction;     // fixed-point steps per cell
  int32_t fraction_bits;
  kp_real step;        // length of one
  const float4 *tests;          // [j.n]
  const kp_cuda_place *places;  // [j.n]
  kp_real *fields;              // packed j-fields; NULL: read where they are
  int32_t is_same;              // both sides are one grid
  int32_t adds_only;            // see kp_pair_job
  const uint8_t *halo;          // per cell of j: 0 when nothing is within reach of it; or NULL
  uint32_t *list;               // [capacity][i.n] slots; NULL: none
  uint8_t *counts;              // [i.n]; capacity + 1: too many to list
  uint32_t *overflow;           // 1 when an element has too many
  int32_t capacity;
  int32_t has_list;             // lists are there to be read
  int32_t only_overflow;        // walk for those that did not fit
};

// What a launcher gets as `extra`.
struct kp_cuda_pair_call {
  kp_cuda_search search;
  bool wants_size;     // only tell field_bytes
  size_t field_bytes;  // per slot of j
};

struct kp_cuda_own {
  int32_t cell[3];
  float part[3];  // of the cell
  float test[3];
  kp_cuda_place place;
};

static __device__ __forceinline__ kp_cuda_fixed kp_cuda_fix(const kp_cuda_search &w, double x,
                                                            int32_t cell) {
  double rest = (x - ((double)cell + 0.5) * w.j.edge) * w.j.inverse_edge;
  kp_cuda_wrap whole = (kp_cuda_wrap)cell << w.fraction_bits;
  return (kp_cuda_fixed)(whole + (kp_cuda_wrap)(kp_cuda_fixed)llrint(rest * w.fraction));
}

// An element of the i side in the lattice of j. Far from the box of j the cell is kept near it: out
// of reach, but a number that fits.
static __device__ __forceinline__ void kp_cuda_place_of(const kp_cuda_search &w, int axis, double x,
                                                        kp_cuda_own *own, kp_cuda_fixed *fixed) {
  double t = x * w.j.inverse_edge;
  double lo = (double)(w.j.lo[axis] - w.reach_yz[0] - 2);
  double hi = lo + (double)(w.j.dims[axis] + 2 * w.reach_yz[0] + 4);
  t = t < lo ? lo : (t > hi ? hi : t);
  double whole = floor(t);
  own->cell[axis] = (int32_t)whole;
  own->part[axis] = (float)(t - whole);
  own->test[axis] = (float)(x - w.corner[axis]);
  *fixed = kp_cuda_fix(w, x, own->cell[axis]);
}

static __device__ __forceinline__ void kp_cuda_own_of(const kp_cuda_search &w, int64_t e,
                                                      kp_cuda_own *own) {
  kp_cuda_place_of(w, 0, w.i.x[e], own, &own->place.x);
  kp_cuda_place_of(w, 1, w.i.y[e], own, &own->place.y);
  kp_cuda_place_of(w, 2, w.flat ? 0.0 : w.i.z[e], own, &own->place.z);
}

static __device__ __noinline__ void kp_cuda_sparse_range(const kp_cells_view *v, int32_t x0,
                                                         int32_t x1, int32_t y, int32_t z,
                                                         uint32_t *begin, uint32_t *end) {
  kp_cells_range(v, x0, x1, y, z, begin, end);
}

// Distance, in cells, from a place within its cell to the row of cells `d` further.
static __device__ __forceinline__ float kp_cuda_gap(float part, int32_t d) {
  return d == 0 ? 0.0f : (d < 0 ? part - (float)(d + 1) : (float)d - part);
}

// Slots of the cells of row (dy, dz) that the ball reaches; left2 is what the ball has left there.
static __device__ __forceinline__ void kp_cuda_row(const kp_cuda_search &w, const kp_cuda_own &own,
                                                   float left2, int32_t ry, int32_t rz,
                                                   uint32_t *begin, uint32_t *end) {
  const kp_cells_view &v = w.j;
  float reach = sqrtf(left2) + 1e-5f;
  int32_t x0 = own.cell[0] + (int32_t)floorf(own.part[0] - reach);
  int32_t x1 = own.cell[0] + (int32_t)floorf(own.part[0] + reach);
  if (v.sparse) {
    kp_cuda_sparse_range(&v, x0, x1, ry + v.lo[1], rz + v.lo[2], begin, end);
    return;
  }
  // a dense box has fewer than 2^32 cells
  uint32_t first = ((uint32_t)rz * (uint32_t)v.dims[1] + (uint32_t)ry) * (uint32_t)v.dims[0];
  int32_t i0 = max(x0 - v.lo[0], 0);
  int32_t i1 = min(x1 - v.lo[0], v.dims[0] - 1);
  if (i0 <= i1) {
    *begin = v.cell_start[first + (uint32_t)i0];
    *end = v.cell_start[first + (uint32_t)i1 + 1u];
  }
}

static __device__ __forceinline__ bool kp_cuda_is_alone(const kp_cuda_search &w,
                                                        const kp_cuda_own &own) {
  const kp_cells_view &v = w.j;
  uint32_t x = (uint32_t)(own.cell[0] - v.lo[0]);
  uint32_t y = (uint32_t)(own.cell[1] - v.lo[1]);
  uint32_t z = (uint32_t)(own.cell[2] - v.lo[2]);
  bool is_inside =
      x < (uint32_t)v.dims[0] && y < (uint32_t)v.dims[1] && z < (uint32_t)v.dims[2];
  return is_inside && w.halo[(z * (uint32_t)v.dims[1] + y) * (uint32_t)v.dims[0] + x] == 0;
}

// ---- packed j-fields: whole groups of four, then what is left over in a vector of 1, 2 or 4 ------

template <int n_fields>
struct kp_cuda_fields {
  static constexpr int groups = n_fields / 4;
  static constexpr int rest = n_fields % 4 == 3 ? 4 : n_fields % 4;
  static constexpr int width = 4 * groups + rest;

  static __device__ __forceinline__ void write(kp_real *at, int64_t n, int64_t s,
                                               const kp_real *values) {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      kp_real4 r = { values[4 * g], values[4 * g + 1], values[4 * g + 2], values[4 * g + 3] };
      ((kp_real4 *)at)[g * n + s] = r;
    }
    kp_real *tail = at + 4 * groups * n;
    const kp_real *v = values + 4 * groups;
    if constexpr (rest == 4) {
      kp_real4 r = { v[0], v[1], v[2], (kp_real)0 };
      ((kp_real4 *)tail)[s] = r;
    } else if constexpr (rest == 2) {
      kp_real2 r = { v[0], v[1] };
      ((kp_real2 *)tail)[s] = r;
    } else if constexpr (rest == 1) {
      tail[s] = v[0];
    }
  }

  static __device__ __forceinline__ void read(const kp_real *at, int64_t n, uint32_t s,
                                              kp_real *values) {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      kp_real4 r = ((const kp_real4 *)at)[g * n + s];
      values[4 * g] = r.x;
      values[4 * g + 1] = r.y;
      values[4 * g + 2] = r.z;
      values[4 * g + 3] = r.w;
    }
    const kp_real *tail = at + 4 * groups * n;
    kp_real *v = values + 4 * groups;
    if constexpr (rest == 4) {
      kp_real4 r = ((const kp_real4 *)tail)[s];
      v[0] = r.x;
      v[1] = r.y;
      v[2] = r.z;
    } else if constexpr (rest == 2) {
      kp_real2 r = ((const kp_real2 *)tail)[s];
      v[0] = r.x;
      v[1] = r.y;
    } else if constexpr (rest == 1) {
      v[0] = tail[s];
    }
  }
};

template <typename K>
static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS)
    kp_cuda_pair_pack(const __grid_constant__ typename K::args a,
                      const __grid_constant__ kp_cuda_search w) {
  int64_t s = (int64_t)blockIdx.x * KP_CUDA_PAIR_THREADS + threadIdx.x;
  if (s < w.j.n) {
    kp_real values[K::n_fields + 1];
    K::read(a, w.j.order != nullptr ? (int64_t)w.j.order[s] : s, values);
    kp_cuda_fields<K::n_fields>::write(w.fields, w.j.n, s, values);
  }
}

// ---- one pair -----------------------------------------------------------------------------------

template <typename K>
static __device__ __forceinline__ void kp_cuda_meet(const kp_cuda_search &w,
                                                    const typename K::args &a,
                                                    const kp_cuda_place &own, uint32_t slot,
                                                    const typename K::self &self,
                                                    typename K::acc *acc) {
  kp_cuda_place p = w.places[slot];
  kp_real values[K::n_fields + 1];
  if (w.fields != nullptr) {
    kp_cuda_fields<K::n_fields>::read(w.fields, w.j.n, slot, values);
  } else {
    K::read(a, w.j.order != nullptr ? (int64_t)w.j.order[slot] : (int64_t)slot, values);
  }
  kp_real dx = (kp_real)(kp_cuda_fixed)((kp_cuda_wrap)own.x - (kp_cuda_wrap)p.x) * w.step;
  kp_real dy = (kp_real)(kp_cuda_fixed)((kp_cuda_wrap)own.y - (kp_cuda_wrap)p.y) * w.step;
  kp_real dz = (kp_real)(kp_cuda_fixed)((kp_cuda_wrap)own.z - (kp_cuda_wrap)p.z) * w.step;
  K::pair(acc, &self, values, dx, dy, dz, dx * dx + dy * dy + dz * dz, &a);
}

// ---- the walk -----------------------------------------------------------------------------------

template <typename K>
static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS)
    kp_cuda_pair_walk(const __grid_constant__ typename K::args a,
                      const __grid_constant__ kp_cuda_search w) {
  __shared__ uint32_t queues[KP_CUDA_QUEUE * KP_CUDA_PAIR_THREADS];
  constexpr uint32_t all = 0xffffffffu;
  uint32_t *const queue = queues + threadIdx.x;
  const uint32_t n = (uint32_t)w.i.n;
  if (w.only_overflow && *w.overflow == 0) {
    return;
  }
  for (uint32_t base = blockIdx.x * KP_CUDA_PAIR_THREADS; base < n;
       base += gridDim.x * KP_CUDA_PAIR_THREADS) {
    const uint32_t s = base + threadIdx.x;
    bool is_wanted = s < n && (!w.only_overflow || w.counts[s] > w.capacity);
    const int64_t e = s < n ? (w.i.order != nullptr ? (int64_t)w.i.order[s] : (int64_t)s) : 0;
    kp_cuda_own own;
    kp_cuda_own_of(w, e, &own);
    const bool is_searching = is_wanted && !(w.halo != nullptr && kp_cuda_is_alone(w, own));
    is_wanted = is_wanted && (is_searching || !w.adds_only);
    if (__any_sync(all, is_wanted) == 0) {
      continue;
    }
    typename K::self self;
    typename K::acc acc;
    if (is_wanted) {
      K::load(e, &a, &self, &acc);
    }
    uint32_t n_queued = 0;
    uint32_t n_found = 0;
    auto work_off = [&]() {
      for (uint32_t k = 0; k < n_queued; ++k) {
        uint32_t slot = queue[k * KP_CUDA_PAIR_THREADS];
        if (w.list != nullptr && n_found < (uint32_t)w.capacity) {
          w.list[(size_t)n_found * n + s] = slot;
        }
        ++n_found;
        kp_cuda_meet<K>(w, a, own.place, slot, self, &acc);
      }
      n_queued = 0;
    };
    // rows are counted from the element's own: the same loop for all threads of a warp
    const bool any_search = __any_sync(all, is_searching) != 0;
    const int32_t reach_z = any_search ? w.reach_yz[1] : -1;
    for (int32_t dz = -reach_z; dz <= reach_z; ++dz) {
      float gap_z = kp_cuda_gap(own.part[2], dz);
      float left_z = w.cut_cells2 - gap_z * gap_z;
      int32_t rz = own.cell[2] + dz - w.j.lo[2];
      bool is_plane = is_searching && (uint32_t)rz < (uint32_t)w.j.dims[2];
      for (int32_t dy = -w.reach_yz[0]; dy <= w.reach_yz[0]; ++dy) {
        float gap_y = kp_cuda_gap(own.part[1], dy);
        float left2 = left_z - gap_y * gap_y;
        int32_t ry = own.cell[1] + dy - w.j.lo[1];
        uint32_t slot = 0;
        uint32_t end = 0;
        if (is_plane && (uint32_t)ry < (uint32_t)w.j.dims[1] && left2 >= 0.0f) {
          kp_cuda_row(w, own, left2, ry, rz, &slot, &end);
        }
        for (;;) {
          uint32_t stop = min(end, slot + (KP_CUDA_QUEUE - n_queued));
          for (; slot < stop; ++slot) {
            float4 p = __ldg(&w.tests[slot]);
            float tx = own.test[0] - p.x;
            float ty = own.test[1] - p.y;
            float tz = own.test[2] - p.z;
            if (tx * tx + ty * ty + tz * tz <= w.cut2) {
              queue[n_queued * KP_CUDA_PAIR_THREADS] = slot;
              ++n_queued;
            }
          }
          if (__any_sync(all, slot < end) == 0) {
            break;
          }
          work_off();
        }
      }
    }
    work_off();
    if (is_wanted) {
      K::store(e, &acc, &self, &a);
      if (w.list != nullptr && !w.only_overflow) {
        bool fits = n_found <= (uint32_t)w.capacity;
        w.counts[s] = (uint8_t)(fits ? n_found : (uint32_t)w.capacity + 1u);
        if (!fits) {
          *w.overflow = 1;
        }
      }
    }
  }
}

// The pass from the lists of an earlier one.
template <typename K>
static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS)
    kp_cuda_pair_list(const __grid_constant__ typename K::args a,
                      const __grid_constant__ kp_cuda_search w) {
  const uint32_t n = (uint32_t)w.i.n;
  const uint32_t s = blockIdx.x * KP_CUDA_PAIR_THREADS + threadIdx.x;
  if (s >= n) {
    return;
  }
  const int32_t count = w.counts[s];
  if (count > w.capacity) {
    return;
  }
  const int64_t e = w.i.order != nullptr ? (int64_t)w.i.order[s] : (int64_t)s;
  kp_cuda_place place;
  if (w.is_same) {
    place = w.places[s];
  } else {
    kp_cuda_own own;
    kp_cuda_own_of(w, e, &own);
    place = own.place;
  }
  typename K::self self;
  typename K::acc acc;
  K::load(e, &a, &self, &acc);
  const uint32_t *next = w.list + s;
#pragma unroll 2
  for (int32_t k = 0; k < count; ++k) {
    kp_cuda_meet<K>(w, a, place, *next, self, &acc);
    next += n;
  }
  K::store(e, &acc, &self, &a);
}

#define KP_CUDA_OVERFLOW_BLOCKS 1024

template <typename K>
static int kp_cuda_pair_launch(const void *args, kp_cuda_pair_call *call, cudaStream_t stream) {
  constexpr int threads = KP_CUDA_PAIR_THREADS;
  if (call->wants_size) {
    call->field_bytes = kp_cuda_fields<K::n_fields>::width * sizeof(kp_real);
    return 0;
  }
  const typename K::args &a = *(const typename K::args *)args;
  kp_cuda_search w = call->search;
  unsigned i_blocks = (unsigned)((w.i.n + threads - 1) / threads);
  unsigned j_blocks = (unsigned)((w.j.n + threads - 1) / threads);
  if (K::n_fields > 0 && w.fields != nullptr && j_blocks > 0) {
    kp_cuda_pair_pack<K><<<j_blocks, threads, 0, stream>>>(a, w);
  }
  if (w.has_list) {
    kp_cuda_pair_list<K><<<i_blocks, threads, 0, stream>>>(a, w);
    w.only_overflow = 1;
    i_blocks = i_blocks < KP_CUDA_OVERFLOW_BLOCKS ? i_blocks : KP_CUDA_OVERFLOW_BLOCKS;
  }
  kp_cuda_pair_walk<K><<<i_blocks, threads, 0, stream>>>(a, w);
  return (int)cudaGetLastError();
}

#define KP_CUDA_PAIR_ONE(field) +1
#define KP_CUDA_PAIR_READ(field) values[column++] = a.j_##field[e];
#define KP_CUDA_PAIR_GIVE(field) j.field = values[column++];

// The functions of one kernel under names that templates know.
#define KP_CUDA_PAIR_EXPAND(prefix, args_type, LIST, ...)                                          \
  struct prefix##_on_cuda {                                                                        \
    typedef prefix##_args args;                                                                    \
    typedef prefix##_i self;                                                                       \
    typedef prefix##_acc acc;                                                                      \
    static constexpr int n_fields = 0 LIST(KP_CUDA_PAIR_ONE);                                      \
    static __device__ __forceinline__ void load(int64_t e, const args *a, self *i, acc *sum) {     \
      prefix##_load(e, a, i, sum);                                                                 \
    }                                                                                              \
    static __device__ __forceinline__ void store(int64_t e, const acc *sum, const self *i,         \
                                                 const args *a) {                                  \
      prefix##_store(e, sum, i, a);                                                                \
    }                                                                                              \
    static __device__ __forceinline__ void read(const args &a, int64_t e, kp_real *values) {       \
      [[maybe_unused]] int column = 0;                                                             \
      LIST(KP_CUDA_PAIR_READ)                                                                      \
      (void)a, (void)e, (void)values;                                                              \
    }                                                                                              \
    static __device__ __forceinline__ void pair(acc *sum, const self *i, const kp_real *values,    \
                                                kp_real dx, kp_real dy, kp_real dz, kp_real r2,    \
                                                const args *a) {                                   \
      [[maybe_unused]] int column = 0;                                                             \
      prefix##_j j;                                                                                \
      LIST(KP_CUDA_PAIR_GIVE)                                                                      \
      (void)values;                                                                                \
      prefix##_pair(sum, i, &j, dx, dy, dz, r2, a);                                                \
    }                                                                                              \
  };                                                                                               \
  extern "C" int prefix##_cuda(int64_t n, const void *args, void *extra, void *stream);            \
  extern "C" int prefix##_cuda(int64_t, const void *args, void *extra, void *stream) {             \
    return kp_cuda_pair_launch<prefix##_on_cuda>(args, (kp_cuda_pair_call *)extra,                 \
                                                 (cudaStream_t)stream);                            \
  }

// The dots are: type of the arguments, list of the j-fields, and a merge, which one lane does not
// need.
#define KP_CUDA_PAIR(mod, name, ...) KP_CUDA_PAIR_EXPAND(mod##_##name, __VA_ARGS__, )
