// Parameter table of level_set { }: settings of water with a particle level set.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_level_set_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_level_set_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_level_set_def, member, words, text)

static const char *const start_words[] = { "slope", "crossings", NULL };
static const char *const distance_words[] = { "band", "sweep", "march", NULL };
static const char *const near_words[] = { "same", "first_order", NULL };
static const char *const extrapolation_words[] = { "layers", "distance", NULL };

static const kp_param rows[] = {
  ROW(particles, INT, "", 0, 256,
      "Of both signs, per cell near the surface; 0 leaves the level set alone."),
  ROW(particle_band, REAL, "cells", 1, 8, "How far to either side of the surface they are drawn."),
  ROW(air_particles, BOOL, "", 0, 0,
      "Also particles in the air, as published: they keep bubbles open, but air has no pressure "
      "here and what they keep costs volume."),
  ROW(reseed, INT, "", 0, 1e6,
      "Sub-steps until those that have not escaped are drawn anew; 0 never."),
  ROW(show_particles, BOOL, "", 0, 0, "Writes the particles to frames too."),
  WORDS(distance, distance_words,
        "How the level set becomes a distance again: by passes in a band, by fast sweeping of the "
        "whole grid, or by fast marching on the host."),
  WORDS(start, start_words,
        "First values of the distance beside the surface: from its slope, or from the crossings "
        "along the axes, which moves tilted planes."),
  WORDS(near_surface, near_words,
        "Advection of the velocity near the surface: as everywhere, or of first order, which loses "
        "what a higher order gains."),
  ROW(near_distance, REAL, "cells", 0, 16, "What counts as near with first_order."),
  WORDS(extrapolation, extrapolation_words,
        "Velocity into the air: means of the faces around in layers, or constant along the "
        "gradient of the distance."),
  ROW(lets_go, BOOL, "", 0, 0,
      "Water leaves solids that pull at it near its surface; without, a jet along a ball follows "
      "it "
      "around."),
  ROW(volume, REAL, "", 0, 1,
      "Share of what the water has gained or lost that a step of full length gives back, where it "
      "was gained or lost; 0 lets the volume drift. What open sides let out is not asked back."),
  ROW(suction, REAL, "Pa", 0, 1e12, "What a solid may pull with before water leaves it."),
};

static void set_default(void *def) {
  *(kp_level_set_def *)def = kp_default_level_set_def();
}

const kp_param_table kp_level_set_params = {
  "level_set",
  "Water whose surface is a particle level set: settings of liquids of that method.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_level_set_def),
  set_default,
};
