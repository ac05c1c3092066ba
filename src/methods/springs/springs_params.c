// Parameter table of springs { }: settings shared by all spring-mass liquids of a world.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_springs_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_springs_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_springs_def, member, words, text)

static const char *const calibration_words[] = { "layers", "printed", NULL };
static const char *const wall_words[] = { "penalty", "planes", NULL };
static const char *const integrator_words[] = {
  "euler", "symplectic", "leapfrog", "velocity_verlet", "position_verlet", "rk2", "rk4", NULL,
};

static const kp_param rows[] = {
  WORDS(calibration, calibration_words,
        "Where mass, stiffness, shear and damping come from when they are not given: layers makes "
        "the springs carry the liquid's depth, printed takes the numbers of Lyes 2015, Table 6.1."),
  ROW(stiffness, REAL, "N/m", 0, 1e12, "Of a contact; without it by calibration."),
  ROW(compression, REAL, "", 1e-4, 1,
      "Share of a diameter by which the lowest contact gives way under the liquid above it."),
  ROW(shear, REAL, "N s/m", 0, 1e9,
      "Resistance of a contact to sliding; without it viscosity times diameter."),
  ROW(damping, REAL, "N s/m", 0, 1e9,
      "Resistance of a contact to any relative motion; without it 0.05 of critical."),
  ROW(drag, REAL, "N s/m", 0, 1e9, "Resistance of the surroundings to the motion of a sphere."),
  ROW(diameter, REAL, "spacings", 0.5, 2, "Of a sphere."),
  ROW(tension, REAL, "", 0, 1,
      "Pull of spheres that have just parted, as a share of the stiffness; 0 is water, a few "
      "hundredths make a rubbery liquid."),
  ROW(tension_reach, REAL, "diameters", 1, 3, "Distance at which that pull has ended."),
  ROW(attraction, REAL, "N m^2/kg^2", 0, 1e12, "G of an attraction G m m / r^2 between spheres."),
  ROW(attraction_reach, REAL, "diameters", 1, 16, "Distance at which the attraction ends."),
  WORDS(walls, wall_words,
        "Closed faces of the domain: springs, or exact planes that reflect by its restitution."),
  ROW(wall_stiffness, REAL, "", 0.01, 100, "Stiffness of walls over that of a contact."),
  ROW(slip, REAL, "", 0, 1, "At solids: 0 rubs as spheres do, 1 slips freely."),
  WORDS(integrator, integrator_words, "Advances positions and velocities in time."),
  ROW(cfl, REAL, "", 1e-4, 1, "Share of the largest stable step."),
};

static void set_default(void *def) {
  *(kp_springs_def *)def = kp_default_springs_def();
}

const kp_param_table kp_springs_params = {
  "springs",
  "Spring-mass water: settings shared by all its liquids.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_springs_def),
  set_default,
};
