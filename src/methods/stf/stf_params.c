// Parameter table of stf { }: the shear-thickening fluid of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_stf_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_stf_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_stf_def, member, words, text)

static const char *const birth_words[] = { "distance", "clavet", NULL };
static const char *const history_words[] = { "none", "magnitudes", "sum", NULL };

static const kp_param rows[] = {
  ROW(support, REAL, "spacings", 1.5, 4, "Radius of interaction H."),
  ROW(sound_speed, REAL, "m/s", 1e-3, 1e5,
      "Sets the stiffness of pressure; auto takes 5 times the largest speed expected."),
  ROW(near_ratio, REAL, "", 0, 100,
      "Near-pressure stiffness over pressure stiffness; keeps particles apart."),
  ROW(linear_viscosity, REAL, "1/s", 0, 1e6, "Sigma of the pairwise viscosity impulses."),
  ROW(squared_viscosity, REAL, "1/m", 0, 1e6, "Beta of the pairwise viscosity impulses."),
  ROW(spring_stiffness, REAL, "1/s^2", 0, 1e9, "k_min: stiffness of a spring without history."),
  ROW(spring_reach, REAL, "H", 0.3, 1, "Pairs closer than this get a spring."),
  ROW(spring_removal, REAL, "", 1, 2, "Springs longer than this times spring_reach break."),
  ROW(plasticity, REAL, "1/s", 0, 1e4, "Alpha: rate at which rest lengths follow past the yield."),
  ROW(yield, REAL, "", 0, 1, "Gamma: share of the rest length up to which a spring is elastic."),
  WORDS(birth, birth_words,
        "Rest length at birth: the distance, or spring_reach with the factor 1 - L/H of Clavet."),
  WORDS(history, history_words,
        "What stiffens springs: nothing, the sum of past magnitudes of the relative velocity "
        "(Eq. 5.13), or the magnitude of the sum (Eq. 5.9), which vibration does not stiffen."),
  ROW(order, REAL, "", 0.01, 0.99, "q of the fractional derivative; small remembers evenly."),
  ROW(memory, REAL, "s", 1e-3, 1e3, "How long the past counts."),
  ROW(thickening, REAL, "", 0, 1e3,
      "Added stiffness, in spring_stiffness, at reference_speed for the whole memory."),
  ROW(reference_speed, REAL, "m/s", 1e-6, 1e3, "Relative speed of neighbours it belongs to."),
  ROW(stick, REAL, "", 0, 1, "How firmly stiff fluid holds to walls; 0 never."),
  ROW(body_friction, REAL, "", 0, 1, "Share of the sliding speed lost at bodies in a step."),
  ROW(vibration_amplitude, REAL, "m", 0, 10, "Of the sources that shake the floor; 0: still."),
  ROW(vibration_sources, INT, "", 1, 1000, "Along each side of the floor."),
  ROW(vibration_lowest, REAL, "Hz", 0, 1e4, "Frequencies are drawn from here ..."),
  ROW(vibration_highest, REAL, "Hz", 0, 1e4, "... to here."),
  ROW(vibration_redraw, REAL, "s", 1e-3, 1e3, "How long a source keeps its frequency."),
  ROW(vibration_start, REAL, "s", 0, 1e6, "First shake."),
  ROW(vibration_stop, REAL, "s", 0, 1e9, "Last shake."),
  ROW(cfl, REAL, "", 1e-3, 1, "Share of H that sound and flow may cross in one step."),
};

static void set_default(void *def) {
  *(kp_stf_def *)def = kp_default_stf_def();
}

const kp_param_table kp_stf_params = {
  "stf",
  "The shear-thickening fluid: settings of liquids with method 'stf'.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_stf_def),
  set_default,
};
