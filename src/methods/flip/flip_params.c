// Parameter table of flip { }: settings shared by all FLIP liquids of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_flip_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_flip_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_flip_def, member, words, text)

static const char *const transfer_words[] = { "flip", "apic", NULL };

static const kp_param rows[] = {
  WORDS(transfer, transfer_words,
        "What goes from the grid to the particles: changes of velocity blended with velocity, or "
        "velocity with its slopes."),
  ROW(ratio, REAL, "", 0, 1,
      "flip: share of a particle's own velocity that is kept; 1 takes changes alone, 0 is PIC."),
  ROW(volume, REAL, "", 0, 1,
      "Share of what a cell holds too much that a step moves away; 0 lets the volume drift."),
  ROW(volume_tolerance, REAL, "", 1e-12, 0.5, "Of the solve for that, relative to its right side."),
  ROW(band, REAL, "cells", 0, 1000,
      "Narrow band: only liquid within so many cells of the surface is particles, below it is the "
      "grid; 0: all of it is particles."),
  ROW(lets_go, BOOL, "", 0, 0,
      "Water leaves solids that pull at it near its surface; without, it follows a plate that is "
      "lifted off it."),
  ROW(suction, REAL, "Pa", 0, 1e12, "What a solid may pull with before water leaves it."),
};

static void set_default(void *def) {
  *(kp_flip_def *)def = kp_default_flip_def();
}

const kp_param_table kp_flip_params = {
  "flip",
  "FLIP: particles that carry a liquid whose pressure lives on a grid; shared by all its liquids.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_flip_def),
  set_default,
};
