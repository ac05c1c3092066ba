// Parameter table of vortices "name" { }.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_vortices_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_vortices_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_vortices_def, member, words, text)

static const char *const forcing_words[] = { "analytic", "confinement", "attenuated", "difference",
                                             NULL };
static const char *const kernel_words[] = { "gaussian", "tent", "unit_tent", NULL };
static const char *const stretching_words[] = { "preserve", "free", "clamp", "decrease_only",
                                                NULL };
static const char *const rule_words[] = { "random", "ring", "upright", "grid", NULL };
static const char *const solids_words[] = { "remove", "push", NULL };

static const kp_param rows[] = {
  ROW(into, TEXT, "", 0, 0, "Name of the smoke, or liquid of method level_set, that they live in."),
  ROW(shape, SHAPE, "", 0, 0, "Where they are born, at random places."),
  ROW(rate, REAL, "1/s", 0, 1e12, "Particles born per second."),
  ROW(limit, INT, "", 0, 2147483647, "Particles born at most."),
  ROW(start, REAL, "s", 0, 1e9, "None is born before."),
  ROW(stop, REAL, "s", 0, 1e9, "None is born after."),
  WORDS(rule, rule_words,
        "Where a newborn's axis points: anywhere, around the middle of the shape as a smoke ring, "
        "up or down, or along the vorticity of the grid, where that is above the threshold."),
  ROW(threshold, REAL, "1/s", 0, 1e9, "Vorticity of the grid below which rule grid makes none."),
  ROW(magnitude, REAL, "", 0, 1e9, "Vorticity of a particle; its kernel spreads it in space."),
  ROW(radius, REAL, "m", 1e-9, 1e6, "Reach of a particle; four cells when not given."),
  ROW(radius_spread, REAL, "", 0, 0.99, "Random part of it, to either side."),
  ROW(strength, REAL, "m/s", 0, 1e9, "Factor of the force on the grid."),
  WORDS(kernel, kernel_words,
        "How a particle spreads: a normalised Gaussian cut off at the radius, a tent of height 1, "
        "or a tent of unit integral."),
  WORDS(forcing, forcing_words,
        "What acts on the grid: the confinement force of each particle; confinement of the grid "
        "where particles are; that of each particle less what the grid has; or confinement of the "
        "difference."),
  WORDS(stretching, stretching_words,
        "What becomes of the length of a particle's vorticity that the flow stretches."),
  ROW(most, REAL, "", 1, 1e9, "Stretching clamp: times the length at birth."),
  WORDS(solids, solids_words, "What solids do to particles inside them."),
};

static void set_default(void *def) {
  *(kp_vortices_def *)def = kp_default_vortices_def();
}

const kp_param_table kp_vortices_params = {
  "vortices",
  "Vortex particles: they carry vorticity along with a flow and drive it.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_vortices_def),
  set_default,
};
