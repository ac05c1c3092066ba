// The solver of implicit steps for groups of nodes that springs and elements of four nodes hold
// together (cloth, soft bodies), but no hair: conjugate gradients between Gauss-Seidel sweeps by
// colours (deform_sweep_kernels.h).
//
// The sweeps know the sums of stiffness at a node, from which the small mass does not come back
// exactly in kp_real. So they only correct: the residual is that of a product that
// sees differences of velocities and keeps what moves as a whole, and a correction is followed by
// another one until that residual is small.
#pragma once

#include "methods/deform/deform_levels.h"
#include "methods/deform/deform_poly.h"

// Rows that are worked on at once.
typedef struct kp_sweep_rows {
  kp_buffer segments;  // kp_row_segment: a slice each
  int64_t n;
  kp_buffer shares;  // ... and of the shares of its wide rows
  int64_t n_shares;
  kp_range totals;
  bool has_side[2];  // wide rows have entries of earlier, of later colours
} kp_sweep_rows;

struct kp_sweep {
  int64_t rows, n_entries, n_pairs;
  int64_t slices;  // of entries: those of rows, then those of shares of wide rows
  bool has_springs, has_blocks, has_wide;
  kp_range nodes;
  KP_ARRAY(kp_sweep_rows) colours;
  kp_sweep_rows whole;  // all colours
  // constant, I32
  kp_buffer node, row;  // of a row; of a node of the group
  kp_buffer start, other, run, pair;
  kp_buffer sign;               // of entries of springs, numbers
  kp_buffer entries;            // kp_row_segment: slices of them
  kp_buffer wide, owner, fold;  // see sweep_entries, sweep_share_args and sweep_fold_args
  kp_buffer pair_start, pair_springs;
  kp_buffer low, high, begins, part_start, parts;  // of blocks, see sweep_join_args
  kp_buffer corner_start, corner;
  // of a system
  double h;           // s, in the entries; 0: they are not those of the springs as evaluated last
  kp_buffer records;  // of pairs of nodes, SWEEP_PAIR numbers each
  kp_buffer springs, pull, blocks;  // of entries
  kp_buffer block, inverse, own;
  kp_buffer half;  // blocks of rows with earlier colours alone, for the levels
  kp_levels levels;
  kp_poly poly;                    // instead of sweeps
  kp_buffer share, total;          // of wide rows
  kp_buffer t, w;                  // records of rows
  kp_buffer minus, right, change;  // vectors of rows
  kp_buffer wanted, guess, product;
};

// For a group whose springs and elements are known; *out stays NULL where hair belongs to it, and
// where no step of its scheme has a system.
KP_NODISCARD kp_result kp_sweep_make(kp_deform *deform, const kp_deform_group *group,
                                     kp_backend *backend, kp_sweep **out);
void kp_sweep_destroy(kp_sweep **sweep);

// Tetrahedra of a part as blocks, at positions x: kp_deform_tets_evaluate for groups that are
// solved by sweeps.
KP_NODISCARD kp_result kp_sweep_evaluate(kp_deform *deform, const kp_deform_part *part,
                                         kp_buffer x[3], double implicit);
// Entries of the system (M - h D), after evaluate.
KP_NODISCARD kp_result kp_sweep_fill(kp_deform *deform, kp_sweep *sweep, double h);
// Its blocks, as far as nodes are free to move; `reach`: the step in those an explicit scheme could
// take; `is_again`: of the entries as they were the last time, when all contacts were yet to come.
KP_NODISCARD kp_result kp_sweep_factor(kp_deform *deform, kp_sweep *sweep, double h, double reach,
                                       bool is_again);

// product = what the springs of the entries give to the rows in their step at velocities v.
KP_NODISCARD kp_result kp_sweep_pull(kp_deform *deform, kp_sweep *sweep, kp_buffer v[3]);

// deform->change: from a guess to the answer for deform->right.
KP_NODISCARD kp_result kp_sweep_solve(kp_deform *deform, kp_sweep *sweep);

// ---- for deform_poly.c

struct sweep_entries;
void kp_sweep_bind_entries(kp_call *call, struct sweep_entries *entries, kp_sweep *sweep);
