// Parameter tables of grains "name" { } and dem { }.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_grains_params, kp_dem_params;

#define FAR 1e9
#define SMALLEST 1e-9
#define FASTEST 1e6

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_grains_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_grains_def, member, words, text)

static const char *const size_words[] = { "uniform", "mass", NULL };

static const kp_param grain_rows[] = {
  ROW(shape, SHAPE, "", 0, 0,
      "Filled with grains at the start; without shape they must be fed by an emitter."),
  ROW(empty, BOOL, "", 0, 0, "Starts with nothing, to be filled by emitters."),
  ROW(spacing, REAL, "m", SMALLEST, FAR,
      "Of the lattice that fills the shape: as many grains start as it has points."),
  KP_PARAM_OF_PLACE(kp_grains_def, velocity, "m/s", -FASTEST, FASTEST,
                    "At the start: a vector or a function of x, y and z, which is sampled when the "
                    "scene is read."),
  ROW(spin, VEC3, "rad/s", -FASTEST, FASTEST, "Angular velocity at the start."),
  ROW(jitter, REAL, "spacings", 0, 0.5,
      "Random shift of every point of that lattice; auto shakes 50 grains and more further, into a "
      "random packing in which no two overlap."),
  ROW(radius, REAL, "m", SMALLEST, FAR, "Of the largest grains; auto is half the spacing."),
  ROW(size_ratio, REAL, "", 0.02, 1,
      "Radius of the smallest grains over that of the largest; below 1/2 grains are searched in "
      "classes of like size."),
  WORDS(sizes, size_words,
        "Between smallest and largest: uniform, every radius as often; mass, every radius with the "
        "same share of the mass."),
  ROW(density, REAL, "kg/m^3", 1e-3, 1e6, "Of the grain itself, not of the heap."),
  ROW(frozen, BOOL, "", 0, 0, "Stay where they are: a rough bed."),
  ROW(restitution, REAL, "", 0.01, 1, "Share of the normal speed that a hit of two leaves."),
  ROW(friction, REAL, "", 0, 10, "Coulomb coefficient."),
  ROW(wall_friction, REAL, "", 0, 10, "The same against solids and faces; auto is friction."),
  ROW(rolling_friction, REAL, "", 0, 10,
      "Coulomb coefficient of rolling; makes heaps steeper, as grains that are not round do."),
  ROW(cohesion, REAL, "J/m^2", 0, 1e6,
      "Surface energy: grains that touch pull with 2 pi times it times R* (Derjaguin)."),
  ROW(stiffness, REAL, "N/m", 1e-12, 1e15,
      "Normal spring of linear contacts; auto follows from contact_time."),
  ROW(contact_time, REAL, "s", 1e-12, 1e3,
      "How long a hit of two of the largest lasts without damping; auto follows from the expected "
      "speed and dem.overlap."),
  ROW(tangential_stiffness, REAL, "", 0, 10, "Over the normal one; linear contacts."),
  ROW(damping_rate, REAL, "1/s", 0, 1e12,
      "Normal dashpot over the mass m* of the two, linear contacts; auto follows from "
      "restitution."),
  ROW(tangential_damping, REAL, "", 0, 10, "Over the normal one."),
  ROW(young_modulus, REAL, "Pa", 1e-3, 1e13, "Of hertz contacts."),
  ROW(poisson_ratio, REAL, "", 0, 0.5, "Of hertz contacts."),
  ROW(color, VEC3, "", 0, 1, "Linear red, green, blue for pictures."),
};

static void set_grains(void *def) {
  *(kp_grains_def *)def = kp_default_grains_def();
}

const kp_param_table kp_grains_params = {
  "grains",
  "A population of grains: spheres that touch, rub, roll and stick.",
  grain_rows,
  sizeof grain_rows / sizeof grain_rows[0],
  sizeof(kp_grains_def),
  set_grains,
};

#undef ROW
#undef WORDS
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_dem_def, member, kind, unit, lowest, highest, text)

static const char *const contact_words[] = { "linear", "hertz", NULL };

static const kp_param dem_rows[] = {
  KP_PARAM_WORDS(kp_dem_def, contact, contact_words,
                 "Normal force over the overlap: linear (Hooke), or to the power 3/2 (Hertz)."),
  ROW(attraction, BOOL, "", 0, 0, "The dashpot may pull at the end of a hit."),
  ROW(steps_per_contact, REAL, "", 8, 1000, "Time steps of the shortest hit."),
  ROW(overlap, REAL, "", 1e-6, 0.5,
      "Share of the radius that the hardest expected hit presses in, where neither stiffness nor "
      "contact_time is given."),
  ROW(skin, REAL, "diameters", 0.001, 1,
      "Rows of neighbours are wider than contacts by this many of the smallest diameters and last "
      "until something has moved as far."),
};

static void set_dem(void *def) {
  *(kp_dem_def *)def = kp_default_dem_def();
}

const kp_param_table kp_dem_params = {
  "dem",
  "Discrete element method: settings shared by all grains.",
  dem_rows,
  sizeof dem_rows / sizeof dem_rows[0],
  sizeof(kp_dem_def),
  set_dem,
};
