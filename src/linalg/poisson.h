// The Poisson equation of a MAC grid, matrix free:
//
//   (A p)_i = sum over faces f of cell i  c_f (p_i - p_j) / h^2  +  e_i p_i        = b_i
//
// for the cells whose flag says KP_CELL_FLUID; p_j = 0 in all other cells. Every boundary is in the
// coefficients c_f >= 0 of the faces [m^3/kg, or what the caller's units are]:
//
//   between fluid cells       1/rho, times the open fraction of a cut face
//   at a wall (Neumann)       0
//   at open air (Dirichlet)   1/rho, or 1/(rho theta) with the surface at the share theta of the
//                             way to the neighbour's centre (ghost fluid, second order)
//
// e_i >= 0 is optional: implicit viscosity is the same operator with e = 1/dt. A region of fluid
// that touches no given pressure and has no e is singular; each such region is found by flood fill,
// its right side is made compatible and its answer has mean zero.
//
// Across a periodic axis the neighbour of the last cell is the first. A float cannot hold p to more
// than about 1e-7 of itself, which is much in terms of A p where p is smooth; so the solver keeps
// the rest of p beside it (kp_poisson_rest) and its residual is that of both together.
//
// Nothing but `lattice` says that unknowns are cells. Velocities that live on the faces across x,
// say, are solved for (implicit viscosity) with lattice KP_MAC_FACE_X: flags, coefficients, right
// side and answer then belong to those faces, unknowns are the items whose flag says
// KP_CELL_FLUID, and faces[a][i] couples item i with the item before it along axis a.
//
// The solver is conjugate gradients preconditioned by one V-cycle of geometric multigrid (after
// McAdams, Sifakis & Teran 2010), or one of the baselines.
#pragma once

#include "data/mac.h"
#include "kelpie/types.h"
#include "linalg/pcg.h"

typedef struct kp_poisson_def {
  const char *name;     // for messages: "pressure"
  kp_mac_kind lattice;  // what the unknowns are: KP_MAC_CELL
  int solver;           // kp_poisson_solver
  double tolerance;     // of |b - A p| over |b|
  int max_iterations;
  double relaxation;  // omega of SOR, 1..2
} kp_poisson_def;

// What changes from solve to solve. Arrays of the layout of the grid.
typedef struct kp_poisson_system {
  kp_buffer *flags;     // u8 per cell; ghosts and cells outside the window are never fluid
  kp_buffer *faces[3];  // c of the lower face of each cell; faces[2] is not read in 2D. Those above
                        // the last cells of a periodic axis are set here
  kp_buffer *extra;     // e of each cell; NULL: none
  kp_buffer *right;     // b; values of cells that are not fluid are not read; may be changed
  kp_buffer *answer;    // p: the first guess and the answer, 0 in cells that are not fluid
} kp_poisson_system;

typedef struct kp_poisson_report {
  int iterations;
  bool is_converged;
  double residual;  // |b - A p| / |b|
  double worst;     // largest |b - A p| of a cell
  int64_t n_cells;  // unknowns
  int n_pockets;    // singular regions
  int n_levels;     // of multigrid
} kp_poisson_report;

typedef struct kp_poisson kp_poisson;

kp_poisson_def kp_default_poisson_def(void);
KP_NODISCARD kp_result kp_poisson_create(kp_mac *mac, const kp_poisson_def *def, kp_poisson **out);
void kp_poisson_destroy(kp_poisson **poisson);
// Not reaching the tolerance is no error: the report tells.
KP_NODISCARD kp_result kp_poisson_solve(kp_poisson *poisson, const kp_poisson_system *system,
                                        kp_poisson_report *report);
// Another right side and answer with the matrix of the last solve, which nobody has touched since:
// what was made of it is used again. Its tolerance may be another one.
KP_NODISCARD kp_result kp_poisson_solve_next(kp_poisson *poisson, kp_buffer *right,
                                             kp_buffer *answer, double tolerance,
                                             kp_poisson_report *report);
// What the answer of the last solve cannot hold of p: p is the sum of both. grad p taken from each
// and added is good to the tolerance; from the answer alone it is good to rounding of p.
kp_buffer *kp_poisson_rest(kp_poisson *poisson);
// Bytes per cell of everything the solver holds, levels included.
double kp_poisson_bytes_per_cell(const kp_poisson *poisson);
