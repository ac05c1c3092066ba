// Kernels: what one element does, written once in x_kernels.h, listed in one line per module,
// expanded here into loops for each backend.
//
//   POINT   void mod_name(int64_t i, const mod_name_args *a)             writes only element i
//   REDUCE  void mod_name(int64_t i, const mod_name_args *a, double *v)  fills v[0..n_values)
//   ROW     void mod_name(int64_t j, int64_t k, int64_t i0, int64_t i1, const mod_name_args *a)
//   PAIR    see data/pairs.h
//   TEAM    see par/team.h
//
// The values of a REDUCE are combined by its operations, one kp_reduce_op per value. A ROW kernel
// gives the same wherever its run i0..i1 is cut; a card cuts it into cells.
//
// A module lists its kernels once, for instance
//
//   #define SPH_KERNELS(POINT, REDUCE, ROW, PAIR) POINT(sph, kick) REDUCE(sph, report, SPH_OPS) ...
//
// and writes three short files: x_cpu.c (compiled for each instruction set) expands the list with
// the KP_CPU_... macros, x_cuda.cu with KP_CUDA_..., and x.c with KP_DEFINE_..., which makes the
// table entries `const kp_kernel mod_name_kernel`.
#pragma once

#include <math.h>

#include "kelpie/config.h"

// For positions of a list that an expansion leaves out.
#define KP_NO_POINT(mod, name)
#define KP_NO_REDUCE(mod, name, ...)
#define KP_NO_ROW(mod, name)
#define KP_NO_PAIR(mod, name, ...)

// Before a loop whose iterations are independent: each writes its own element and reads no element
// another one writes (or does not use what it read). Point loops say so themselves; row kernels
// that read and write one array must. Only gcc is told: clang warns where a hinted loop cannot be
// vectorised and makes its own alias checks.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define KP_INDEPENDENT _Pragma("GCC ivdep")
#else
#define KP_INDEPENDENT
#endif

typedef enum kp_isa { KP_ISA_BASE, KP_ISA_V3, KP_ISA_V4, KP_ISA_COUNT } kp_isa;

typedef enum kp_kernel_kind {
  KP_KERNEL_POINT,
  KP_KERNEL_REDUCE,
  KP_KERNEL_ROW,
  KP_KERNEL_PAIR,
  KP_KERNEL_TEAM
} kp_kernel_kind;

typedef enum kp_reduce_op { KP_REDUCE_SUM, KP_REDUCE_MIN, KP_REDUCE_MAX } kp_reduce_op;

#define KP_REDUCE_VALUES 24

// What combines with any value to that value: the result of a reduction over nothing.
KP_FN double kp_reduce_neutral(kp_reduce_op op) {
  if (op == KP_REDUCE_SUM) {
    return 0.0;
  }
  return op == KP_REDUCE_MIN ? HUGE_VAL : -HUGE_VAL;
}

// One step of a reduction. NaN poisons a sum and is passed over by min and max.
KP_FN double kp_reduce_combine(kp_reduce_op op, double total, double value) {
  if (op == KP_REDUCE_SUM) {
    return total + value;
  }
  bool is_better = op == KP_REDUCE_MIN ? value < total : value > total;
  return is_better ? value : total;
}

// A list of n segments of a structured grid for ROW kernels; see data (grids come with a later
// layer).
typedef struct kp_row_segment {
  int32_t j, k, i0, i1;
} kp_row_segment;

struct kp_pair_job;
struct kp_team;

typedef void (*kp_point_fn)(int64_t begin, int64_t end, const void *args);
typedef void (*kp_reduce_fn)(int64_t begin, int64_t end, const void *args, double *values);
typedef void (*kp_row_fn)(const kp_row_segment *segments, int64_t begin, int64_t end,
                          const void *args);
// begin and end count work items of the job (occupied cells of the i side).
typedef void (*kp_pair_fn)(const struct kp_pair_job *job, int64_t begin, int64_t end,
                           const void *args);
typedef void (*kp_team_fn)(const struct kp_team *team, const void *args);

// One launcher per kernel on the device; `extra` is NULL (point; team, where n counts tiles),
// double *partials (reduce; one row of n_values per block of KP_REDUCE_BLOCK elements), const
// kp_row_segment * (row) or const kp_pair_job * (pair). Returns 0 or a CUDA error code.
typedef int (*kp_cuda_fn)(int64_t n, const void *args, void *extra, void *stream);

#define KP_REDUCE_BLOCK 4096  // elements per partial result, on every backend

typedef struct kp_kernel {
  const char *name;  // "sph.kick"
  kp_kernel_kind kind;
  size_t args_size;
  int n_values;
  const kp_reduce_op *ops;
  kp_point_fn point[KP_ISA_COUNT];
  kp_reduce_fn reduce[KP_ISA_COUNT];
  kp_row_fn row[KP_ISA_COUNT];
  kp_pair_fn pair[KP_ISA_COUNT];
  kp_team_fn team[KP_ISA_COUNT];
  kp_cuda_fn cuda;  // NULL in a build without CUDA
} kp_kernel;

// Instruction set in use: the best the machine has, or the one named in KP_ISA (base, v3, v4).
kp_isa kp_isa_current(void);
const char *kp_isa_name(kp_isa isa);
// Test hook; an instruction set that was not built or that the machine lacks falls back to the next
// lower.
void kp_isa_force(kp_isa isa);
