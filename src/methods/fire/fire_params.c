// Parameter table of fire "name" { }.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_fire_params;

#define FAR 1e6  // m, the farthest coordinate
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_fire_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_fire_def, member, words, text)

static const char *const method_words[] = { "particles", "vortex", NULL };
static const char *const emitter_words[] = { "ball",  "disc",   "clustered_disc",
                                             "block", "sphere", NULL };
static const char *const respawn_words[] = { "always", "never", NULL };
static const char *const integrator_words[] = {
  "euler", "symplectic", "leapfrog", "velocity_verlet", "position_verlet", "rk2", "rk4", NULL,
};

static const kp_param rows[] = {
  WORDS(method, method_words,
        "particles: they do not meet; each rises, fades and dies alone. vortex: they turn each "
        "other as the vortices of a flame do; see vortex_fire { }."),
  ROW(particles, INT, "", 1, 2147483647, "How many."),
  WORDS(emitter, emitter_words,
        "Where particles are born: evenly in a ball, a disc or a block, on a sphere, or in a disc "
        "that is denser at its centre."),
  ROW(position, CURVE3, "m", -FAR, FAR, "Centre of the emitter; may be a function of time."),
  ROW(radius, REAL, "m", 1e-6, FAR, "Of a ball, sphere or disc."),
  ROW(size, VEC3, "m", 0, FAR, "Of a block."),
  WORDS(respawn, respawn_words,
        "Whether the dead are born again; never makes an explosion of all at once."),
  ROW(stagger, BOOL, "", 0, 0, "At the start everybody is somewhere in life, not newborn."),
  ROW(velocity, VEC3, "m/s", -1e4, 1e4, "Of a newborn; vortex: what it is lifted to."),
  ROW(velocity_spread, VEC3, "m/s", 0, 1e4, "Random part of it, to either side."),
  ROW(burst, REAL, "m/s", 0, 1e4, "Speed away from the centre of a newborn at the rim."),
  ROW(acceleration, VEC3, "m/s^2", -1e5, 1e5,
      "Of a particle all its life; gravity does not act. Not of vortex."),
  ROW(acceleration_spread, VEC3, "m/s^2", 0, 1e5, "Random part of it, added."),
  ROW(decay_center, REAL, "1/s", 0, 1e6, "Share of a life lost per second on the axis."),
  ROW(decay_rim, REAL, "1/s", 0, 1e6, "And at the rim: a larger one makes the flame pointed."),
  ROW(life_spread, REAL, "", 0, 0.99, "Random part of a life, to either side."),
  ROW(floor, REAL, "m", -FAR, FAR, "Particles below this height die; without it the domain's."),
  ROW(wind, CURVE, "m/s^2", -1e5, 1e5,
      "Strength of the wind; 0 is calm. May be a function of time."),
  ROW(wind_period_a, REAL, "s", 1e-6, 1e6, "Of the wind along the first axis across up."),
  ROW(wind_period_b, REAL, "s", 1e-6, 1e6, "And along the second."),
  ROW(mass, REAL, "kg", 0, 1e12, "Of a particle, for statistics only."),
  WORDS(integrator, integrator_words,
        "Advances positions and velocities in time; vortex has its own."),
  ROW(sprite_radius, REAL, "m", 1e-9, FAR, "Of a particle in pictures."),
  ROW(color, VEC3, "", 0, 10, "Linear RGB of a particle born at the centre."),
  ROW(color_spread, VEC3, "", 0, 10, "Random part of it, added."),
  ROW(color_rim, VEC3, "", 0, 10, "Linear RGB of a particle born at the rim."),
};

static void set_default(void *def) {
  *(kp_fire_def *)def = kp_default_fire_def();
}

const kp_param_table kp_fire_params = {
  "fire",
  "A flame of particles that are born, fade and die.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_fire_def),
  set_default,
};
