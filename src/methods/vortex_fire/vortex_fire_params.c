// Parameter table of vortex_fire { }: settings shared by all fires of vortex particles of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_vortex_fire_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_vortex_fire_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_vortex_fire_def, member, words, text)

static const char *const gather_words[] = { "local", "global", "grid", NULL };
static const char *const scheme_words[] = { "standard", "transpose", NULL };
static const char *const advection_words[] = { "euler", "midpoint", NULL };
static const char *const grid_words[] = { "follow", "grow", NULL };
static const char *const coloring_words[] = { "density", "birth", NULL };

static const kp_param rows[] = {
  ROW(cell, REAL, "m", 1e-6, 1e6,
      "Edge of a cell of the velocity grid, twice the radius of a vorton; when not given, by the "
      "emitter: about one vorton per cell around the flame."),
  ROW(volume, REAL, "m^3", 1e-18, 1e18,
      "What a vorton stands for; when not given, that of a cell."),
  WORDS(gather, gather_words,
        "Which vortons a sample of the grid feels: those within reach; all of them one by one, "
        "which costs the square of their number; or all of them by a stream function that is "
        "solved on the grid (vortex-in-cell), which smooths over a cell."),
  ROW(reach, REAL, "cells", 0.5, 64,
      "How far a sample feels; 1.5 is the ball in the 27 cells around it."),
  ROW(stretching, REAL, "", 0, 1, "Share of the vortex stretching that is applied."),
  WORDS(scheme, scheme_words, "Of stretching: J w, or the transpose of J."),
  ROW(limit, REAL, "1/s", 1e-6, 1e9,
      "Largest vorticity. Without a limit stretching runs away within a second."),
  ROW(exchange, REAL, "1/s", 0, 1e6, "Rate at which vorticity evens out with each neighbour."),
  ROW(exchange_radius, REAL, "cells", 0.1, 16, "How far neighbours are."),
  ROW(lightness, REAL, "", 0, 1,
      "Share of the density of air that one vorton per cell takes away: where the density "
      "changes, gravity makes vorticity."),
  ROW(rise_rate, REAL, "1/s", 0, 1e6, "How fast a vorton takes on the velocity of the fire."),
  ROW(shedding, REAL, "1/s", 0, 1e6,
      "How fast a vorton that touches a solid takes on the vorticity that stops the flow there."),
  WORDS(advection, advection_words, "Along the velocity at the vorton, or half a step ahead."),
  WORDS(grid, grid_words, "The grid follows the flame, or only grows."),
  ROW(grid_limit, REAL, "", 2, 1e6,
      "Cells per vorton at most; beyond, vortons far from all others are born again."),
  WORDS(coloring, coloring_words,
        "Bright where vortons crowd, or by the place of birth as other fires."),
  ROW(bright, REAL, "", 1e-3, 1e6, "Vortons per cell that shine in the colour of the core."),
  ROW(cfl, REAL, "cells", 0.01, 10, "What the fastest vorton may cross in a step."),
};

static void set_default(void *def) {
  *(kp_vortex_fire_def *)def = kp_default_vortex_fire_def();
}

const kp_param_table kp_vortex_fire_params = {
  "vortex_fire",
  "Flames of vortex particles: settings shared by all fires of method vortex.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_vortex_fire_def),
  set_default,
};
