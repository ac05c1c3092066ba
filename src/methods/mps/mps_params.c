// Parameter table of mps { }: settings shared by all MPS liquids of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_mps_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_mps_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_mps_def, member, words, text)

static const char *const weight_words[] = { "standard", "printed", NULL };
static const char *const gradient_words[] = { "minimum", "plain", "symmetric", NULL };
static const char *const source_words[] = { "density", "mixed", NULL };

static const kp_param rows[] = {
  ROW(radius, REAL, "spacings", 1.5, 5, "Reach of number density and gradient."),
  ROW(laplacian_radius, REAL, "spacings", 1.5, 6, "Reach of viscosity and of the pressure matrix."),
  WORDS(weight, weight_words,
        "standard r_e/r - 1; printed r_e/r, with a jump at r_e, as in the dissertation."),
  WORDS(gradient, gradient_words,
        "Pressure differences to the lowest around (nobody is pulled), to the particle's own, or "
        "symmetric, which keeps momentum."),
  WORDS(source, source_words,
        "Right side of the pressure: deviation of the number density, or mixed with the divergence "
        "of the velocity."),
  ROW(relaxation, REAL, "", 1e-4, 1, "Share of the density deviation that a step corrects."),
  ROW(divergence, REAL, "", 0, 1, "mixed: share of the divergence that a step corrects."),
  ROW(suction, BOOL, "", 0, 0,
      "Too low a density pulls together; without it only too high a one pushes apart."),
  ROW(surface, REAL, "", 0.5, 1, "A particle below this share of the rest density is surface."),
  ROW(compressibility, REAL, "1/Pa", 0, 1, "Of the liquid; keeps closed boxes solvable."),
  ROW(clamp_negative_pressure, BOOL, "", 0, 0, "No tension: negative pressures become zero."),
  ROW(collision_distance, REAL, "spacings", 0.01, 1,
      "Closer particles that approach each other bounce."),
  ROW(restitution, REAL, "", 0, 1, "Share of the approach speed such a bounce keeps."),
  ROW(slip, REAL, "", 0, 1, "Viscosity at walls: 0 sticks, 1 slips freely."),
  ROW(cfl, REAL, "", 1e-3, 0.5, "Share of the spacing the fastest particle crosses in a step."),
  ROW(tolerance, REAL, "", 1e-12, 0.1, "Of the pressure solve, relative to its right side."),
  ROW(iterations, INT, "", 1, 1e6, "Of the pressure solve at most."),
};

static void set_default(void *def) {
  *(kp_mps_def *)def = kp_default_mps_def();
}

const kp_param_table kp_mps_params = {
  "mps",
  "Moving-particle semi-implicit method: settings shared by all its liquids.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_mps_def),
  set_default,
};
