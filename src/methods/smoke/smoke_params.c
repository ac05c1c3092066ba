// Parameter tables of smoke "name" { } and source "name" { }.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_smoke_params;
extern const kp_param_table kp_source_params;

#define FAR 1e6   // m, the farthest coordinate
#define HOT 1e6   // K
#define FAST 1e6  // m/s

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_smoke_def, member, kind, unit, lowest, highest, text)

static const kp_param smoke_rows[] = {
  ROW(shape, SHAPE, "", 0, 0, "Filled with smoke at the start."),
  ROW(empty, BOOL, "", 0, 0, "Starts with nothing, to be filled by sources."),
  ROW(density, REAL, "", 0, 1e9, "Of smoke in the shape at the start, in units of the scene."),
  ROW(temperature, REAL, "K", 0, HOT,
      "In the shape at the start; that of the surroundings when not given."),
  ROW(fuel, REAL, "", 0, 1, "In the shape at the start, as a share of the volume."),
  KP_PARAM_OF_PLACE(kp_smoke_def, velocity, "m/s", -FAST, FAST,
                    "Everywhere at the start: a vector or a function of x, y and z, which is "
                    "sampled when the scene is read."),
  ROW(air_density, REAL, "kg/m^3", 1e-6, 1e6, "Of the gas, for its pressure and sums."),
  ROW(ambient, REAL, "K", 0, HOT, "Temperature of the surroundings."),
  ROW(weight, REAL, "m/s^2", -1e6, 1e6, "Downward acceleration per unit of smoke."),
  ROW(lift, REAL, "m/s^2/K", 0, 1e6,
      "Upward acceleration per kelvin above the surroundings; that of an ideal gas if not given."),
  ROW(dissipation, REAL, "1/s", 0, 1e6, "Share of the smoke that vanishes per second."),
  ROW(cooling, REAL, "1/s", 0, 1e6, "Share of the excess temperature lost per second."),
  ROW(radiation, REAL, "K/s", 0, 1e9,
      "Lost at the temperature `hottest`; elsewhere with the fourth power of the excess."),
  ROW(hottest, REAL, "K", 1, HOT, "Temperature at which radiation is said."),
  ROW(viscosity, REAL, "Pa s", 0, 1e6, "Of the gas."),
  ROW(confinement, REAL, "", 0, 1e6,
      "Strength of vorticity confinement: gives back curls that the grid smears."),
  ROW(burn_rate, REAL, "1/s", 0, 1e9,
      "Fuel burnt per second where it is hot enough; 0: nothing burns."),
  ROW(ignition, REAL, "K", 0, HOT, "Temperature above which fuel burns."),
  ROW(heat, REAL, "K", 0, HOT, "Temperature gained per unit of fuel burnt."),
  ROW(soot, REAL, "", 0, 1e6, "Smoke made per unit of fuel burnt."),
  ROW(expansion, REAL, "", 1e-3, 1e3, "Volume of what has burnt over that of the fuel."),
  ROW(conserve, BOOL, "", 0, 0,
      "Keep the sums of smoke, heat and fuel while they are carried along; without, as the "
      "dissertations have it, only that of fuel."),
};

#undef ROW

static void set_smoke(void *def) {
  *(kp_smoke_def *)def = kp_default_smoke_def();
}

const kp_param_table kp_smoke_params = {
  "smoke",
  "A gas on a grid: smoke, fire, explosions.",
  smoke_rows,
  sizeof smoke_rows / sizeof smoke_rows[0],
  sizeof(kp_smoke_def),
  set_smoke,
};

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_source_def, member, kind, unit, lowest, highest, text)

static const kp_param source_rows[] = {
  ROW(into, TEXT, "", 0, 0, "Name of the smoke that is fed."),
  ROW(shape, SHAPE, "", 0, 0, "Where it feeds."),
  ROW(position, CURVE3, "m", -FAR, FAR, "Moves the shape; may be a function of time."),
  ROW(rotation_deg, CURVE3, "deg", -1e9, 1e9,
      "Turn about x, y, z through the shape's origin; may be a function of time."),
  ROW(parent, TEXT, "", 0, 0,
      "Name of the collider or free body that carries it along, from where both are at the start."),
  ROW(density, REAL, "", 0, 1e9, "Of smoke, held inside while the source is on."),
  ROW(temperature, REAL, "K", 0, HOT, "Held inside while the source is on."),
  ROW(fuel, REAL, "", 0, 1, "Held inside while the source is on, as a share of the volume."),
  ROW(density_rate, REAL, "1/s", 0, 1e9, "Smoke added per second, where density is not held."),
  ROW(temperature_rate, REAL, "K/s", -1e9, 1e9,
      "Temperature added per second, where it is not held."),
  ROW(fuel_rate, REAL, "1/s", 0, 1e9, "Fuel added per second, where it is not held."),
  ROW(velocity, VEC3, "m/s", -FAST, FAST, "Of the gas inside; with {0, 0, 0} it moves as it does."),
  ROW(divergence, CURVE, "1/s", -1e6, 1e6,
      "The gas inside swells by this share per second: an explosion. May be a function of time."),
  ROW(noise, REAL, "", 0, 1, "Share of what is fed that varies at random in space and time."),
  ROW(noise_scale, REAL, "m", 1e-9, FAR, "Size of its blobs; four cells when not given."),
  ROW(noise_time, REAL, "s", 1e-6, 1e6, "And how long one lasts."),
  ROW(start, REAL, "s", 0, 1e9, "Nothing is fed before."),
  ROW(stop, REAL, "s", 0, 1e9, "Nothing is fed after."),
};

static void set_source(void *def) {
  *(kp_source_def *)def = kp_default_source_def();
}

const kp_param_table kp_source_params = {
  "source",
  "A region that feeds smoke, heat, fuel, speed or volume to a gas.",
  source_rows,
  sizeof source_rows / sizeof source_rows[0],
  sizeof(kp_source_def),
  set_source,
};
