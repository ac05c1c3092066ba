// The pair driver of the cuda backend, for x_cuda.cu files: KP_CUDA_PAIR makes the launcher of one
// pair kernel. The host side is in backend/cuda/pairs_cuda.cu.
//
//   1. place   once per build of the j side, two records per slot: the exact place in fixed point,
//              where the fraction of a cell has 26 bits and the number of the cell is kept modulo
//              64, so that a plain difference of whole numbers is the difference of places to the
//              rounding of a float, at any distance from the origin; and a coarse place of one
//              byte per axis, of which one difference and one product of bytes tell who is near;
//   2. pack    per pass the j-fields behind the places, in vectors of four, in the order of slots;
//   3. walk    one thread per slot of the i side. Threads of a warp differ in which candidates are
//              near: worked off row by row, the warp would take 72 turns of the body for 33
//              neighbours. So the near ones of all rows are noted in shared memory, as masks of 32
//              candidates, and all threads work off what they have when one is full or all rows
//              are done: some 37 turns;
//   4. lists   a pass may leave what it found for later passes over the same places and radius
//              (kp_pair_job.keep), which then need no search. An element that found more than
//              fits walks again.
//
// The order of an element's sum is that of data/pairs.h in each of these.
#pragma once

#include <cuda_runtime.h>

#include "data/pairs.h"

#define KP_CUDA_PAIR_THREADS 128
#define KP_CUDA_NOTES 12  // masks a thread can put off
#define KP_CUDA_ROW_STEP 8  // candidates tested per turn; coarse places are padded by as many

// Four numbers that load and store as vectors.
struct alignas(4 * sizeof(kp_real) < 16 ? 4 * sizeof(kp_real) : 16) kp_real4 {
  kp_real x, y, z, w;
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
  kp_cuda_fixed x, y, z;
  kp_real field;  // the first of a pass
};

// One pass as the kernels see it: plain data, handed over by value.
struct kp_cuda_search {
  kp_cells_view i, j;
  int32_t flat;        // 2D: z counts for nothing
  int32_t reach_yz[2];  // cells to look at on either side
  float cut_cells2;    // radius squared, rounded up, in cells
  int32_t cut2;        // the same in steps of coarse places
  double coarse;       // such steps per cell
  double fraction;     // fixed-point steps per cell
  int32_t fraction_bits;
  kp_real step;        // length of one
  const uint32_t *tests;        // [j.n] coarse places
  const kp_cuda_place *places;  // [j.n]
  kp_cuda_place *packed;        // [j.n] places and first fields of a pass, ...
  kp_real4 *fields;             // ... and the others; NULL: read where they are
  int32_t is_same;              // both sides are one grid
  const uint8_t *halo;          // per cell of j: 0 when nothing is within reach of it; or NULL
  const uint32_t *near;         // slots of i where something is, behind their number
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
  bool wants_size;  // only tell n_fields
  int n_fields;
};

// An element of the i side in the lattice of j.
struct kp_cuda_own {
  double at[3];  // in cells
  int32_t cell[3];
  float part[3];  // of the cell
  kp_cuda_place place;
  uint32_t test;
};

static __device__ __forceinline__ kp_cuda_fixed kp_cuda_fix(const kp_cuda_search &w, double x,
                                                            int32_t cell) {
  double rest = (x - ((double)cell + 0.5) * w.j.edge) * w.j.inverse_edge;
  kp_cuda_wrap whole = (kp_cuda_wrap)cell << w.fraction_bits;
  return (kp_cuda_fixed)(whole + (kp_cuda_wrap)(kp_cuda_fixed)llrint(rest * w.fraction));
}

// One byte per axis of a place in cells. `up` rounds to the nearest instead of down: the difference
// of two such words takes a borrow from each byte to the next, and so is centred again.
static __device__ __forceinline__ uint32_t kp_cuda_coarse(const kp_cuda_search &w, double x,
                                                          double y, double z, double up) {
  uint32_t bx = (uint32_t)__double2ll_rd(x * w.coarse) & 255u;
  uint32_t by = (uint32_t)__double2ll_rd(y * w.coarse + up) & 255u;
  uint32_t bz = (uint32_t)__double2ll_rd(z * w.coarse + up) & 255u;
  return bx | by << 8 | bz << 16;
}

// Far from the box of j the cell is kept near it: out of reach, but a number that fits.
static __device__ __forceinline__ void kp_cuda_find_axis(const kp_cuda_search &w, int axis,
                                                         double x, kp_cuda_own *own) {
  double t = x * w.j.inverse_edge;
  double lo = (double)(w.j.lo[axis] - w.reach_yz[0] - 2);
  double hi = lo + (double)(w.j.dims[axis] + 2 * w.reach_yz[0] + 4);
  t = t < lo ? lo : (t > hi ? hi : t);
  own->at[axis] = t;
  own->cell[axis] = __double2int_rd(t);
}

static __device__ __forceinline__ void kp_cuda_find(const kp_cuda_search &w, int64_t e,
                                                    kp_cuda_own *own) {
  kp_cuda_find_axis(w, 0, w.i.x[e], own);
  kp_cuda_find_axis(w, 1, w.i.y[e], own);
  kp_cuda_find_axis(w, 2, w.flat ? 0.0 : w.i.z[e], own);
}

static __device__ __forceinline__ void kp_cuda_settle(const kp_cuda_search &w, int64_t e,
                                                      kp_cuda_own *own) {
  own->place.x = kp_cuda_fix(w, w.i.x[e], own->cell[0]);
  own->place.y = kp_cuda_fix(w, w.i.y[e], own->cell[1]);
  own->place.z = kp_cuda_fix(w, w.flat ? 0.0 : w.i.z[e], own->cell[2]);
  own->test = kp_cuda_coarse(w, own->at[0], own->at[1], own->at[2], 0.5);
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    own->part[axis] = (float)(own->at[axis] - (double)own->cell[axis]);
  }
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

// ---- packed j-fields: the first beside the place, the others in groups of four ------------------

template <int n_fields>
struct kp_cuda_fields {
  static constexpr int groups = (n_fields + 2) / 4;
};

template <typename K>
static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS)
    kp_cuda_pair_pack(const __grid_constant__ typename K::args a,
                      const __grid_constant__ kp_cuda_search w) {
  constexpr int groups = kp_cuda_fields<K::n_fields>::groups;
  int64_t s = (int64_t)blockIdx.x * KP_CUDA_PAIR_THREADS + threadIdx.x;
  if (s >= w.j.n) {
    return;
  }
  kp_real values[4 * groups + 5] = {};
  K::read(a, w.j.order != nullptr ? (int64_t)w.j.order[s] : s, values);
  kp_cuda_place p = w.places[s];
  p.field = values[0];
  w.packed[s] = p;
#pragma unroll
  for (int g = 0; g < groups; ++g) {
    const kp_real *v = values + 1 + 4 * g;
    kp_real4 r = { v[0], v[1], v[2], v[3] };
    w.fields[g * w.j.n + s] = r;
  }
}

// ---- one pair -----------------------------------------------------------------------------------

template <typename K, bool is_always_packed>
static __device__ __forceinline__ void kp_cuda_meet(const kp_cuda_search &w,
                                                    const typename K::args &a,
                                                    const kp_cuda_place &own, uint32_t slot,
                                                    const typename K::self &self,
                                                    typename K::acc *acc) {
  constexpr int groups = kp_cuda_fields<K::n_fields>::groups;
  kp_real values[4 * groups + 5];
  kp_cuda_place p;
  if (!is_always_packed && w.packed == nullptr) {
    p = w.places[slot];
    K::read(a, w.j.order != nullptr ? (int64_t)w.j.order[slot] : (int64_t)slot, values);
  } else {
    p = K::n_fields > 0 ? w.packed[slot] : w.places[slot];
    values[0] = p.field;
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      kp_real4 r = w.fields[g * w.j.n + slot];
      values[4 * g + 1] = r.x;
      values[4 * g + 2] = r.y;
      values[4 * g + 3] = r.z;
      values[4 * g + 4] = r.w;
    }
  }
  kp_real dx = (kp_real)(kp_cuda_fixed)((kp_cuda_wrap)own.x - (kp_cuda_wrap)p.x) * w.step;
  kp_real dy = (kp_real)(kp_cuda_fixed)((kp_cuda_wrap)own.y - (kp_cuda_wrap)p.y) * w.step;
  kp_real dz = (kp_real)(kp_cuda_fixed)((kp_cuda_wrap)own.z - (kp_cuda_wrap)p.z) * w.step;
  K::pair(acc, &self, values, dx, dy, dz, dx * dx + dy * dy + dz * dz, &a);
}

// ---- the walk -----------------------------------------------------------------------------------

static __device__ __forceinline__ uint32_t kp_cuda_shift_in(uint32_t near, uint32_t own,
                                                            uint32_t test, int32_t bound) {
  int32_t d = (int32_t)(own - test);
  return __funnelshift_l((uint32_t)__dp4a(d, d, bound), near, 1);
}

// Which of the candidates from `slot` on are near, up to `end` or the end of 32 whose first is a
// multiple of four: they load in vectors. Returns the mask, the last one in bit 0, and how many
// were tested. Three instructions per candidate: the sign of the product of the difference with
// itself, less the bound, is shifted in.
static __device__ __forceinline__ uint32_t kp_cuda_near(const kp_cuda_search &w, uint32_t own,
                                                        uint32_t slot, uint32_t end,
                                                        uint32_t *count) {
  const uint32_t lead = slot & 3u;
  const uint4 *tests = (const uint4 *)(w.tests + (slot - lead));
  const int32_t n_tests = (int32_t)min(end - slot + lead, 32u);
  const int32_t bound = -1 - w.cut2;
  uint32_t near = 0;
  // the last turn tests beyond the end; that is shifted out again, as the lead is masked
  int32_t k = 0;
#pragma unroll 1
  for (; k < n_tests; k += KP_CUDA_ROW_STEP) {
    uint4 a = __ldg(tests);
    uint4 b = __ldg(tests + 1);
    tests += 2;
    near = kp_cuda_shift_in(near, own, a.x, bound);
    near = kp_cuda_shift_in(near, own, a.y, bound);
    near = kp_cuda_shift_in(near, own, a.z, bound);
    near = kp_cuda_shift_in(near, own, a.w, bound);
    near = kp_cuda_shift_in(near, own, b.x, bound);
    near = kp_cuda_shift_in(near, own, b.y, bound);
    near = kp_cuda_shift_in(near, own, b.z, bound);
    near = kp_cuda_shift_in(near, own, b.w, bound);
  }
  *count = (uint32_t)n_tests - lead;
  return (near >> (uint32_t)(k - n_tests)) & (0xffffffffu >> (32u - *count));
}

// Shared memory by its own address: the compiler would make it anew for every near candidate.
static __device__ __forceinline__ uint2 kp_cuda_read_note(uint32_t at) {
  uint2 note;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(note.x), "=r"(note.y) : "r"(at));
  return note;
}

static __device__ __forceinline__ void kp_cuda_write_note(uint32_t at, uint32_t x, uint32_t y) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" : : "r"(at), "r"(x), "r"(y) : "memory");
}

// is_few: over the elements of w.near alone. Ten blocks on a multiprocessor leave 48 registers, a
// few less than the bodies would take, and pay: scene B 433 -> 449 Mps/s, scene A unchanged.
template <typename K, bool is_few>
static __global__ void __launch_bounds__(KP_CUDA_PAIR_THREADS, 10)
    kp_cuda_pair_walk(const __grid_constant__ typename K::args a,
                      const __grid_constant__ kp_cuda_search w) {
  __shared__ uint2 all_notes[KP_CUDA_NOTES * KP_CUDA_PAIR_THREADS];
  constexpr uint32_t all = 0xffffffffu;
  constexpr uint32_t note_step = KP_CUDA_PAIR_THREADS * sizeof(uint2);
  const uint32_t notes = (uint32_t)__cvta_generic_to_shared(all_notes + threadIdx.x);
  const uint32_t n = is_few ? w.near[0] : (uint32_t)w.i.n;
  if (w.only_overflow && *w.overflow == 0) {
    return;
  }
  for (uint32_t base = blockIdx.x * KP_CUDA_PAIR_THREADS; base < n;
       base += gridDim.x * KP_CUDA_PAIR_THREADS) {
    const uint32_t at = base + threadIdx.x;
    const uint32_t s = at >= n ? 0 : (is_few ? w.near[1 + at] : at);
    const bool is_wanted = at < n && (!w.only_overflow || w.counts[s] > w.capacity);
    if (__any_sync(all, is_wanted) == 0) {
      continue;
    }
    const int64_t e = w.i.order != nullptr ? (int64_t)w.i.order[s] : (int64_t)s;
    kp_cuda_own own;
    kp_cuda_find(w, e, &own);
    kp_cuda_settle(w, e, &own);
    typename K::self self;
    typename K::acc acc;
    if (is_wanted) {
      K::load(e, &a, &self, &acc);
    }
    uint32_t notes_end = notes;
    uint32_t n_found = 0;
    uint32_t listed = s;
    auto work_off = [&]() {
      uint2 note = make_uint2(0, 0);  // last slot, mask
      for (uint32_t at_note = notes; note.y != 0 || at_note < notes_end;) {
        if (note.y == 0) {
          note = kp_cuda_read_note(at_note);
          at_note += note_step;
        }
        uint32_t bit = 31u - (uint32_t)__clz((int)note.y);
        uint32_t slot = note.x - bit;
        note.y ^= 1u << bit;
        if (!is_few && w.list != nullptr) {
          if (n_found < (uint32_t)w.capacity) {
            w.list[listed] = slot;
            listed += n;
          }
          ++n_found;
        }
        kp_cuda_meet<K, !is_few>(w, a, own.place, slot, self, &acc);
      }
      notes_end = notes;
    };
    // rows are counted from the element's own: the same loop for all threads of a warp
    for (int32_t dz = -w.reach_yz[1]; dz <= w.reach_yz[1]; ++dz) {
      float gap_z = kp_cuda_gap(own.part[2], dz);
      float left_z = w.cut_cells2 - gap_z * gap_z;
      int32_t rz = own.cell[2] + dz - w.j.lo[2];
      bool is_plane = is_wanted && (uint32_t)rz < (uint32_t)w.j.dims[2];
      for (int32_t dy = -w.reach_yz[0]; dy <= w.reach_yz[0]; ++dy) {
        float gap_y = kp_cuda_gap(own.part[1], dy);
        float left2 = left_z - gap_y * gap_y;
        int32_t ry = own.cell[1] + dy - w.j.lo[1];
        uint32_t slot = 0;
        uint32_t end = 0;
        if (is_plane && (uint32_t)ry < (uint32_t)w.j.dims[1] && left2 >= 0.0f) {
          kp_cuda_row(w, own, left2, ry, rz, &slot, &end);
        }
        while (__any_sync(all, slot < end) != 0) {
          if (slot < end) {
            uint32_t count;
            uint32_t near = kp_cuda_near(w, own.test, slot, end, &count);
            if (near != 0) {
              kp_cuda_write_note(notes_end, slot + count - 1u, near);
              notes_end += note_step;
            }
            slot += count;
          }
          if (__any_sync(all, notes_end == notes + KP_CUDA_NOTES * note_step) != 0) {
            work_off();
          }
        }
      }
    }
    work_off();
    if (is_wanted) {
      K::store(e, &acc, &self, &a);
      if (!is_few && w.list != nullptr && !w.only_overflow) {
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
    kp_cuda_find(w, e, &own);
    kp_cuda_settle(w, e, &own);
    place = own.place;
  }
  typename K::self self;
  typename K::acc acc;
  K::load(e, &a, &self, &acc);
  const uint32_t *next = w.list + s;
#pragma unroll 2
  for (int32_t k = 0; k < count; ++k) {
    kp_cuda_meet<K, true>(w, a, place, *next, self, &acc);
    next += n;
  }
  K::store(e, &acc, &self, &a);
}

#define KP_CUDA_FEW_BLOCKS 2112  // sixteen per multiprocessor of an H200

template <typename K>
static int kp_cuda_pair_launch(const void *args, kp_cuda_pair_call *call, cudaStream_t stream) {
  constexpr int threads = KP_CUDA_PAIR_THREADS;
  if (call->wants_size) {
    call->n_fields = K::n_fields;
    return 0;
  }
  const typename K::args &a = *(const typename K::args *)args;
  kp_cuda_search w = call->search;
  unsigned i_blocks = (unsigned)((w.i.n + threads - 1) / threads);
  unsigned j_blocks = (unsigned)((w.j.n + threads - 1) / threads);
  if (K::n_fields > 0 && w.packed != nullptr && j_blocks > 0) {
    kp_cuda_pair_pack<K><<<j_blocks, threads, 0, stream>>>(a, w);
  }
  if (w.has_list) {
    kp_cuda_pair_list<K><<<i_blocks, threads, 0, stream>>>(a, w);
    w.only_overflow = 1;
  }
  unsigned few = i_blocks < KP_CUDA_FEW_BLOCKS ? i_blocks : KP_CUDA_FEW_BLOCKS;
  if (w.near != nullptr) {
    kp_cuda_pair_walk<K, true><<<few, threads, 0, stream>>>(a, w);
  } else {
    kp_cuda_pair_walk<K, false><<<w.only_overflow ? few : i_blocks, threads, 0, stream>>>(a, w);
  }
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
