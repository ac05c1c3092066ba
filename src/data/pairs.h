// Pair kernels: for every element i of one set, gather over the elements j of another (or the same)
// set that are closer than a radius. A pair kernel is four pieces, written once:
//
//   #define SPH_DENSITY_J(X) X(mass)                   the j-fields it reads, kp_real
//   typedef struct { ... } sph_density_args;           must hold `const kp_real *j_mass;`
//   typedef struct { kp_real vx; } sph_density_i;      what is loaded once per i
//   typedef struct { kp_w sum; } sph_density_acc;      lanes of the sums: members of type kp_w only
//   KP_PAIR_J(sph_density, SPH_DENSITY_J)              makes sph_density_j, lanes of the j-fields
//   KP_FN void sph_density_load(int64_t i, const sph_density_args *a, sph_density_i *self,
//                               sph_density_acc *acc)
//   KP_FN void sph_density_pair(sph_density_acc *acc, const sph_density_i *self,
//                               const sph_density_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
//                               const sph_density_args *a)
//   KP_FN void sph_density_store(int64_t i, const sph_density_acc *acc, const sph_density_i *self,
//                                const sph_density_args *a)
//
// and one line in the module's list: PAIR(sph, density, sph_density_args, SPH_DENSITY_J).
//
// d = x_i - x_j in kp_real (exact to rounding at any distance from the origin), r2 = d.d. The pair
// function sees every j within the radius, the element itself included (d = 0), and some beyond it,
// for which it must itself give nothing (multiply by a masked kernel or use kp_w_select); padded
// lanes come with r2 huge and zero j-fields. The sums are added over lanes in `store` with
// kp_w_sum. Order of candidates: rows by z, then y, then x, slots ascending: the bits of a sum do
// not depend on threads or instruction set.
//
// `load` sets every lane of acc to the neutral value (0 for sums). An acc that is not all sums
// names as fifth entry of the line a function `void merge(acc *a, const acc *b)` that combines two
// accs lane by lane, such as a->top = kp_w_max(a->top, b->top); see math/wide.h for why.
//
// A kernel may be a family; the list then names variants with compile-time constants, e.g.
// PAIR(sph, density_cubic_3, sph_density_args, SPH_DENSITY_J) where density_cubic_3_pair is a
// one-line inline call of the family's body with constants, and
// KP_PAIR_VARIANT(sph_density_cubic_3, sph_density) takes all else from the family.
#pragma once

#include "data/call.h"
#include "data/cells.h"
#include "math/wide.h"

#define KP_PAIR_LANES_OF(field) kp_w field;
#define KP_PAIR_J(prefix, LIST)                                                                    \
  typedef struct prefix##_j {                                                                      \
    LIST(KP_PAIR_LANES_OF)                                                                         \
    char unused; /* the list may be empty */                                                       \
  } prefix##_j;

#define KP_PAIR_VARIANT(prefix, family)                                                            \
  typedef family##_args prefix##_args;                                                             \
  typedef family##_i prefix##_i;                                                                   \
  typedef family##_acc prefix##_acc;                                                               \
  typedef family##_j prefix##_j;                                                                   \
  KP_FN void prefix##_load(int64_t i, const family##_args *a, family##_i *self,                    \
                           family##_acc *acc) {                                                    \
    family##_load(i, a, self, acc);                                                                \
  }                                                                                                \
  KP_FN void prefix##_store(int64_t i, const family##_acc *acc, const family##_i *self,            \
                            const family##_args *a) {                                              \
    family##_store(i, acc, self, a);                                                               \
  }

typedef struct kp_pair_job {
  kp_cells_view i, j;  // device views
  double radius;
  int32_t dimension;     // 2: no z rows, dz = 0
  const uint32_t *work;  // host backends: work items of the i side, see data/cells.h
  int64_t n_work;
  kp_cells *i_cells, *j_cells;
  // Hints, which a driver may use; results do not depend on them.
  int32_t keep;    // > 0: passes over the same places and radius follow; lists of up to so many
                   // neighbours per element pay
  bool adds_only;  // an element that meets nobody may be left as it is: `store` would add zero
} kp_pair_job;

// i over `i_set`, j over `j_set` (may be the same). Both must have built cells.
KP_NODISCARD kp_result kp_pair_job_make(kp_cells *i_cells, kp_cells *j_cells, double radius,
                                        kp_pair_job *out);

struct kp_pair_stage;
typedef struct kp_pair_piece {
  int32_t stage;
  size_t first, count;
} kp_pair_piece;

// Explicit neighbour lists, when asked: CSR over elements of the i side with the element indices of
// j, ascending slots, self excluded when both sets are one. A pair is listed when r <= radius in
// double precision, so lists are symmetric and equal to those of brute force. `once`: only pairs
// with id_i < id_j, so every unordered pair appears exactly once.
typedef struct kp_pair_lists {
  kp_buffer start;    // u32 [n + 1]
  kp_buffer indices;  // u32
  int64_t n_pairs;
  struct kp_pair_stage *stages;  // scratch of the host search: one per worker, ...
  int n_stages;
  KP_ARRAY(kp_pair_piece) pieces;  // ... and where the lists of each chunk of work lie
} kp_pair_lists;
// A kp_pair_lists is zero before its first build; building it again reuses its memory.
KP_NODISCARD kp_result kp_pair_lists_build(kp_pair_lists *lists, kp_cells *i_cells,
                                           kp_cells *j_cells, double radius, bool once);
void kp_pair_lists_free(kp_pair_lists *lists);

// Mean number of j within the radius of an i (self excluded), for reports.
KP_NODISCARD kp_result kp_pair_count(kp_cells *i_cells, kp_cells *j_cells, double radius,
                                     double *mean_out);
