// Parameter table of plasma "name" { }.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_plasma_params;

#define FAR 1e6  // m, the farthest coordinate
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_plasma_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_plasma_def, member, words, text)

static const char *const charge_words[] = { "balanced", "equal", NULL };
static const char *const search_words[] = { "complete", "near", NULL };
static const char *const integrator_words[] = {
  "euler", "symplectic", "leapfrog", "velocity_verlet", "position_verlet", "rk2", "rk4", NULL,
};

static const kp_param rows[] = {
  ROW(shape, SHAPE, "", 0, 0, "Where the charges start, spread evenly at random."),
  ROW(particles, INT, "", 1, 2147483647, "How many charges."),
  KP_PARAM_OF_PLACE(kp_plasma_def, velocity, "m/s", -1e6, 1e6,
                    "At the start: a vector or a function of x, y and z, which is sampled when the "
                    "scene is read."),
  ROW(radius, REAL, "m", 1e-9, FAR, "Of a particle: for the container and for pictures."),
  ROW(mass, REAL, "kg", 1e-30, 1e30, "Of a particle."),
  ROW(charge, REAL, "C", 0, 1e12, "Of a particle."),
  WORDS(charges, charge_words, "Half positive and half negative, or all equal."),
  ROW(strength, REAL, "N m^2/C^2", 0, 1e15, "k_e of Coulomb's law."),
  ROW(softening, REAL, "m", 1e-9, FAR,
      "Length added to every distance; without it a tenth of the influence radius."),
  ROW(influence, REAL, "m", 1e-9, FAR, "Charges farther apart than this do not act on each other."),
  ROW(cell, REAL, "m", 1e-9, FAR,
      "Edge of a cell of the neighbour search; without it the influence radius."),
  WORDS(search, search_words,
        "complete finds every pair; near stops at the 27 cells around a charge and misses pairs "
        "where the influence radius exceeds the cells."),
  ROW(container_center, VEC3, "m", -FAR, FAR, "Of the bounding sphere."),
  ROW(container_radius, REAL, "m", 0, FAR, "Of the bounding sphere; 0: there is none."),
  ROW(restitution, REAL, "", 0, 1, "Share of the normal speed kept at the bounding sphere."),
  ROW(damping, REAL, "1/s", 0, 1e6, "Rate at which all motion dies away."),
  WORDS(integrator, integrator_words, "Advances positions and velocities in time."),
  ROW(cfl, REAL, "", 1e-4, 1, "Share of the softening length a charge may cross in one step."),
  ROW(color, VEC3, "", 0, 1, "Linear RGB, for pictures."),
};

static void set_default(void *def) {
  *(kp_plasma_def *)def = kp_default_plasma_def();
}

const kp_param_table kp_plasma_params = {
  "plasma",
  "Charges that attract and repel each other within an influence radius.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_plasma_def),
  set_default,
};
