// Parameter table of grid { }: settings shared by all grids of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_grid_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_grid_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_grid_def, member, words, text)

static const char *const advection_words[] = { "upwind",     "semi_lagrangian", "bfecc",
                                               "maccormack", "bfecc_upwind",    "maccormack_upwind",
                                               NULL };
static const char *const limiter_words[] = { "none", "clamp", "revert", NULL };
static const char *const trace_words[] = { "euler", "rk2", "rk3", NULL };
static const char *const interpolation_words[] = { "linear", "cubic", "auto", NULL };
static const char *const solver_words[] = { "multigrid", "cg", "jacobi", "ic", "sor", NULL };

static const kp_param rows[] = {
  ROW(cell, REAL, "m", 1e-9, 1e9,
      "Edge of a cell; a 64th of the longest side of the domain when not given."),
  WORDS(
      advection, advection_words,
      "How fields are carried along: first order upwind or semi_lagrangian; second order bfecc or "
      "maccormack, of traces or of upwind blocks (which need cfl below 1)."),
  WORDS(
      limiter, limiter_words,
      "What becomes of second-order values beyond the values they come from: nothing, clamped, or "
      "reverted to first order."),
  WORDS(trace, trace_words, "How the way back along the flow is found."),
  WORDS(interpolation, interpolation_words,
        "Between grid points: trilinear or monotone cubic; auto is cubic for the velocity of a gas "
        "in two dimensions that is carried by maccormack, linear for all else."),
  WORDS(solver, solver_words,
        "Of pressure and viscosity: conjugate gradients with multigrid, plain, with the diagonal, "
        "with incomplete Cholesky, or relaxation cell by cell."),
  ROW(tolerance, REAL, "", 1e-14, 0.5,
      "Of the pressure, relative to its right side; when not given 1e-6 of FLIP and APIC, whose "
      "particles make what is left over grow, 1e-4 of all else."),
  ROW(iterations, INT, "", 1, 1e6, "Of the solver at most."),
  ROW(relaxation, REAL, "", 0.1, 1.999, "Over-relaxation of solver sor."),
  ROW(centering, REAL, "", 0.5, 1,
      "Share of the pressure of a gas, and of that which turns the flow of FLIP and APIC, that "
      "acts "
      "at the end of a step, the rest at its start: 1 loses energy in proportion to the step, 0.5 "
      "of FLIP and 0.55 of a gas hardly do; when not given 0.5 of FLIP, 0.55 of gases."),
  ROW(cfl, REAL, "cells", 0.01, 100, "What the fastest point may cross in a step."),
  ROW(stream, VEC3, "m/s", -1e6, 1e6,
      "Flow in and out through the open sides of the domain, and that at the start."),
  ROW(no_slip, BOOL, "", 0, 0, "Fluid sticks to closed sides and solids."),
  ROW(lid, VEC3, "m/s", -1e6, 1e6,
      "Of the closed upper side of the domain, which slides and drags what sticks to it."),
  ROW(follow, BOOL, "", 0, 0,
      "Work only where something is going on, in a window that follows it; the rest is open air."),
};

static void set_default(void *def) {
  *(kp_grid_def *)def = kp_default_grid_def();
}

const kp_param_table kp_grid_params = {
  "grid",
  "Grids: settings shared by all grid fluids of a world.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_grid_def),
  set_default,
};
