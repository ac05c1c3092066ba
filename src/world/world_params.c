// Parameter tables of the entities every world has. Ranges are those beyond which a value is a slip
// of the pen, not taste: one micrometre to a thousand kilometres, and so on.
#include "world/spec.h"

#define FAR 1e6          // m, the farthest coordinate
#define SMALLEST 1e-6    // m, the smallest length
#define FASTEST 1e6      // m/s
#define MANY 2147483647  // of anything that is counted

#define ROWS(array) array, sizeof(array) / sizeof((array)[0])

static const char *const boundary_words[] = { "closed", "open", "periodic", NULL };
static const char *const policy_words[] = { "stop", "retry", "warn", NULL };
static const char *const method_words[] = { "sph",       "springs", "stf",    "mps",
                                            "level_set", "flip",    "marker", NULL };
static const char *const eos_words[] = { "linear", "tait", NULL };

// ---- domain

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_domain_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_domain_def, member, words, text)

static const kp_param domain_rows[] = {
  ROW(min, VEC3, "m", -FAR, FAR, "Lower corner of the box everything happens in."),
  ROW(max, VEC3, "m", -FAR, FAR, "Upper corner."),
  ROW(dimension, INT, "", 2, 3,
      "2 is one layer of particles at z = 0 that stands for 1 m of depth."),
  WORDS(boundary_x, boundary_words,
        "Both faces across x: a closed wall, open (what leaves is removed) or periodic."),
  WORDS(boundary_y, boundary_words, "Both faces across y."),
  WORDS(boundary_z, boundary_words, "Both faces across z; without meaning in 2D."),
  ROW(open_top, BOOL, "", 0, 0,
      "Opens the upper face although its axis is closed: a tank without lid."),
  ROW(restitution, REAL, "", 0, 1, "Share of the normal speed kept at a closed face."),
  ROW(friction, REAL, "", 0, 1,
      "Share of the sliding speed lost at a closed face; 0 slips freely."),
};

static void set_domain(void *def) {
  *(kp_domain_def *)def = kp_default_domain_def();
}

const kp_param_table kp_domain_params = {
  "domain",          "The box everything happens in, and what its faces do.",
  ROWS(domain_rows), sizeof(kp_domain_def),
  set_domain,
};

#undef ROW
#undef WORDS

// ---- simulation

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_simulation_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_simulation_def, member, words, text)

static const kp_param simulation_rows[] = {
  ROW(gravity, VEC3, "m/s^2", -1e4, 1e4, "Acceleration of everything that has mass."),
  ROW(dt, REAL, "s", 1e-9, 1.0,
      "Length of every sub-step; auto follows the limits of the methods."),
  ROW(dt_max, REAL, "s", 1e-9, 1.0,
      "No sub-step is longer; auto is 1/24 s for gases, whose steps follow their speed, "
      "and 0.01 s for everything else."),
  ROW(dt_min, REAL, "s", 0.0, 1.0, "A limit below this counts as trouble."),
  WORDS(
      policy, policy_words,
      "What trouble does (a state that is not finite, particles that leave a closed domain, a step "
      "below dt_min): stop the run, retry the frame with half the step, or warn and go on unless "
      "the state is not finite."),
  ROW(retries, INT, "", 0, 30, "Halvings of the step before retry gives up and the run stops."),
  ROW(seed, INT, "", 0, MANY, "Of all random numbers."),
  ROW(memory_limit, REAL, "GB", 1e-3, 1e9,
      "A scene that needs more memory (1 GB = 1e9 bytes) is refused before anything is made; auto "
      "is what the machine has, or the limit it sets to the program."),
};

static void set_simulation(void *def) {
  *(kp_simulation_def *)def = kp_default_simulation_def();
}

const kp_param_table kp_simulation_params = {
  "simulation",          "Gravity, step length and what happens in case of trouble.",
  ROWS(simulation_rows), sizeof(kp_simulation_def),
  set_simulation,
};

#undef ROW
#undef WORDS

// ---- liquid

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_liquid_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_liquid_def, member, words, text)

static const kp_param liquid_rows[] = {
  WORDS(method, method_words, "How it is computed."),
  ROW(shape, SHAPE, "", 0, 0,
      "Filled with liquid at the start; a liquid without shape must be fed by an emitter."),
  ROW(empty, BOOL, "", 0, 0, "Starts with nothing, to be filled by emitters."),
  ROW(spacing, REAL, "m", SMALLEST, FAR, "Distance between neighbouring particles at the start."),
  KP_PARAM_OF_PLACE(kp_liquid_def, velocity, "m/s", -FASTEST, FASTEST,
                    "At the start: a vector or a function of x, y and z, which is sampled when the "
                    "scene is read."),
  ROW(jitter, REAL, "spacings", 0, 0.5, "Random shift of every particle at the start."),
  ROW(rest_density, REAL, "kg/m^3", 1e-3, 1e6, "Density without pressure."),
  ROW(viscosity, REAL, "Pa s", 0, 1e6, "Used by the laplacian viscosity model; water has 0.001."),
  ROW(artificial_viscosity, REAL, "", 0, 100, "Alpha of the artificial viscosity model."),
  ROW(surface_tension, REAL, "N/m", 0, 1e6,
      "Of its surface against all else; water in air has 0.072. How: sph { tension }."),
  ROW(drag, REAL, "1/s", 0, 1e6, "Resistance of the surroundings: a = -drag v."),
  ROW(concentration, REAL, "", 0, 1, "Of what is mixed into it, at the start."),
  ROW(dispersion, REAL, "m^2/s", 0, 1e6,
      "How fast concentrations even out, within it and with other liquids; 0: they do not."),
  ROW(solute_density, REAL, "kg/m^3", 0, 1e6,
      "What a concentration of 1 adds to the rest density; one for all liquids that mix."),
  WORDS(eos, eos_words,
        "Equation of state: linear p = k (rho - rho0), or tait p = B ((rho/rho0)^gamma - 1)."),
  ROW(exponent, REAL, "", 1, 20, "Gamma of tait."),
  ROW(stiffness, REAL, "m^2/s^2 or Pa", 0, 1e15,
      "k of linear or B of tait; auto follows from the speed of sound."),
  ROW(sound_speed, REAL, "m/s", 1e-6, FASTEST,
      "Numerical speed of sound; auto is 10 times the largest speed expected from gravity and "
      "depth."),
  ROW(clamp_negative_pressure, BOOL, "", 0, 0, "No tension: pressure never pulls."),
  ROW(color, VEC3, "", 0, 1, "Linear red, green, blue for pictures."),
};

static void set_liquid(void *def) {
  *(kp_liquid_def *)def = kp_default_liquid_def();
}

const kp_param_table kp_liquid_params = {
  "liquid",   "A population of liquid particles.", ROWS(liquid_rows), sizeof(kp_liquid_def),
  set_liquid,
};

#undef ROW
#undef WORDS

// ---- collider

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_collider_def, member, kind, unit, lowest, highest, text)

static const kp_param collider_rows[] = {
  ROW(shape, SHAPE, "", 0, 0, "The solid, where it is when position and rotation are zero."),
  ROW(position, CURVE3, "m", -FAR, FAR, "Shift of the shape; may be a function of time."),
  ROW(rotation_deg, CURVE3, "deg", -1e9, 1e9,
      "Turn about x, y, z through the shape's origin; may be a function of time."),
  ROW(surface_velocity, CURVE3, "m/s", -FASTEST, FASTEST,
      "Of the surface, which slides without moving (a lid, a conveyor belt), in the axes of the "
      "shape; may be a function of time."),
  ROW(spacing, REAL, "m", SMALLEST, FAR,
      "Distance between boundary samples; auto is that of the finest liquid that sees them: FLIP "
      "and grids see the shape itself."),
  ROW(layers, INT, "", 1, 8, "Layers of samples, going inward."),
  ROW(friction, REAL, "", 0, 10,
      "Coulomb coefficient against other solids; a pair takes the geometric mean."),
  ROW(friction_scale, CURVE, "", 0, 1e6,
      "Factor of it; may be a function of time, for what comes loose or grips."),
  ROW(restitution, REAL, "", 0, 1,
      "Share of the normal speed kept when it hits another solid; a pair takes the larger."),
  ROW(rolling_friction, REAL, "m", 0, FAR,
      "Arm of the normal force that resists rolling; a pair takes the larger."),
  ROW(visible, BOOL, "", 0, 0, "Drawn in pictures."),
  ROW(color, VEC3, "", 0, 1, "Linear red, green, blue for pictures."),
};

static void set_collider(void *def) {
  *(kp_collider_def *)def = kp_default_collider_def();
}

const kp_param_table kp_collider_params = {
  "collider",          "A solid that stands still or moves as the scene says.",
  ROWS(collider_rows), sizeof(kp_collider_def),
  set_collider,
};

#undef ROW

// ---- morph

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_morph_def, member, kind, unit, lowest, highest, text)

static const kp_param morph_rows[] = {
  ROW(of, TEXT, "", 0, 0, "The collider that changes its form."),
  ROW(shape, SHAPE, "", 0, 0,
      "The form at weight 1: a mesh with the same vertices and triangles in the same order, or a "
      "shape of the same kind."),
  ROW(weight, CURVE, "", -100, 100,
      "How much of this form it takes on, added to that of other morphs; may be a function of "
      "time."),
};

static void set_morph(void *def) {
  *(kp_morph_def *)def = kp_default_morph_def();
}

const kp_param_table kp_morph_params = {
  "morph",          "A form that a collider takes on: a blend shape, for cloth and hair.",
  ROWS(morph_rows), sizeof(kp_morph_def),
  set_morph,
};

#undef ROW

// ---- body

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_body_def, member, kind, unit, lowest, highest, text)

static const kp_param body_rows[] = {
  ROW(shape, SHAPE, "", 0, 0, "The solid; its centre of mass follows from it."),
  ROW(density, REAL, "kg/m^3", 1e-3, 1e6, "Lighter than the liquid floats."),
  ROW(position, VEC3, "m", -FAR, FAR, "Shift of the shape at the start."),
  ROW(rotation_deg, VEC3, "deg", -1e9, 1e9,
      "Turn about x, then y, then z through the shape's origin, at the start."),
  ROW(velocity, VEC3, "m/s", -FASTEST, FASTEST, "At the start."),
  ROW(angular_velocity, VEC3, "rad/s", -1e6, 1e6, "At the start."),
  ROW(spacing, REAL, "m", SMALLEST, FAR,
      "Distance between boundary samples; auto is that of the finest liquid that sees them: FLIP "
      "and grids see the shape itself."),
  ROW(layers, INT, "", 1, 8, "Layers of samples, going inward."),
  ROW(friction, REAL, "", 0, 10,
      "Coulomb coefficient against other solids; a pair takes the geometric mean."),
  ROW(restitution, REAL, "", 0, 1,
      "Share of the normal speed kept when it hits another solid; a pair takes the larger."),
  ROW(rolling_friction, REAL, "m", 0, FAR,
      "Arm of the normal force that resists rolling; a pair takes the larger."),
  ROW(visible, BOOL, "", 0, 0, "Drawn in pictures."),
  ROW(color, VEC3, "", 0, 1, "Linear red, green, blue for pictures."),
};

static void set_body(void *def) {
  *(kp_body_def *)def = kp_default_body_def();
}

const kp_param_table kp_body_params = {
  "body", "A rigid body that moves freely.", ROWS(body_rows), sizeof(kp_body_def), set_body,
};

#undef ROW

// ---- emitter

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_emitter_def, member, kind, unit, lowest, highest, text)

static const char *const from_words[] = { "opening", "surface", "inside", NULL };

static const kp_param emitter_rows[] = {
  ROW(into, TEXT, "", 0, 0, "Name of the liquid that is fed."),
  KP_PARAM_WORDS(kp_emitter_def, from, from_words,
                 "Where particles come from: a disc or rectangle across the direction, the surface "
                 "of the shape along its normals, or the inside of the shape, wherever it has "
                 "room."),
  ROW(shape, SHAPE, "", 0, 0, "Of any kind, meshes included; with from = 'surface' or 'inside'."),
  ROW(position, CURVE3, "m", -FAR, FAR,
      "Centre of the opening, or shift of the shape; may be a function of time."),
  ROW(rotation_deg, CURVE3, "deg", -1e9, 1e9,
      "Turn about x, y, z, of the opening about its centre, of the shape about its origin; may be "
      "a function of time."),
  ROW(parent, TEXT, "", 0, 0,
      "Name of the collider or free body that carries it along, from where both are at the start."),
  ROW(direction, VEC3, "", -FAR, FAR,
      "Of the jet, and of what comes from the inside of a shape; its length does not matter."),
  ROW(radius, REAL, "m", SMALLEST, FAR, "Of the disc."),
  ROW(width, REAL, "m", 0, FAR,
      "Of a rectangle in place of the disc, along the level line across the jet; 0 is a disc."),
  ROW(height, REAL, "m", 0, FAR, "Of the rectangle, along the other line across the jet."),
  ROW(only_free, BOOL, "", 0, 0,
      "Leaves out particles whose place is taken, as of a nozzle under water."),
  ROW(speed, CURVE, "m/s", 0, FASTEST,
      "Of what comes out, against the emitter, whose own velocity is added; may be a function of "
      "time."),
  ROW(start, REAL, "s", 0, 1e9, "Nothing is emitted before."),
  ROW(stop, REAL, "s", 0, 1e9, "Nothing is emitted after."),
  ROW(limit, INT, "", 0, MANY, "Particles at most."),
};

static void set_emitter(void *def) {
  *(kp_emitter_def *)def = kp_default_emitter_def();
}

const kp_param_table kp_emitter_params = {
  "emitter",          "An opening or a shape that pours particles into a liquid.",
  ROWS(emitter_rows), sizeof(kp_emitter_def),
  set_emitter,
};

#undef ROW

// ---- sink

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_sink_def, member, kind, unit, lowest, highest, text)

static const kp_param sink_rows[] = {
  ROW(shape, SHAPE, "", 0, 0,
      "Particles inside it are removed; of any kind, meshes included. A box without extent along "
      "an axis has no end there."),
  ROW(position, CURVE3, "m", -FAR, FAR, "Shift of the shape; may be a function of time."),
  ROW(rotation_deg, CURVE3, "deg", -1e9, 1e9,
      "Turn about x, y, z through the shape's origin; may be a function of time."),
  ROW(parent, TEXT, "", 0, 0,
      "Name of the collider or free body that carries it along, from where both are at the start."),
};

static void set_sink(void *def) {
  *(kp_sink_def *)def = kp_default_sink_def();
}

const kp_param_table kp_sink_params = {
  "sink", "A place where particles disappear.", ROWS(sink_rows), sizeof(kp_sink_def), set_sink,
};

#undef ROW

// ---- force

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_force_def, member, kind, unit, lowest, highest, text)

static const kp_param force_rows[] = {
  ROW(shape, SHAPE, "", 0, 0, "Box or sphere it acts in; without one it acts everywhere."),
  ROW(acceleration, CURVE3, "m/s^2", -1e6, 1e6,
      "Given to what is inside; may be a function of time."),
  ROW(on, TEXT, "", 0, 0, "Name of the population or body it acts on; all of them when missing."),
  ROW(start, REAL, "s", 0, 1e9, "Nothing happens before."),
  ROW(stop, REAL, "s", 0, 1e9, "Nothing happens after."),
};

static void set_force(void *def) {
  *(kp_force_def *)def = kp_default_force_def();
}

const kp_param_table kp_force_params = {
  "force",          "An acceleration of particles and free bodies inside a shape, or everywhere.",
  ROWS(force_rows), sizeof(kp_force_def),
  set_force,
};

#undef ROW

// ---- probe

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_probe_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_probe_def, member, words, text)

static const char *const probe_words[] = { "mean", "fit", "track", "gauge", "wall", NULL };
static const char *const reading_words[] = { "wetted", "surface", NULL };

static const kp_param probe_rows[] = {
  ROW(of, TEXT, "", 0, 0, "Name of the population it looks at, or of a body or collider to track."),
  WORDS(kind, probe_words,
        "Means over each region; values at each centre by a linear fit; the path of a particle, or "
        "path and loads of a body; a wave gauge, the height of a liquid's free surface in the "
        "column of each centre; "
        "or the mean pressure of a liquid on a disc of the wall nearest to each centre."),
  ROW(min, VEC3, "m", -FAR, FAR, "Centre of the first region."),
  ROW(max, VEC3, "m", -FAR, FAR, "Centre of the last region."),
  ROW(counts, VEC3, "", 1, 100000, "Regions along x, y and z; one alone lies in the middle."),
  ROW(radius, REAL, "m", SMALLEST, FAR,
      "Of a region; auto lets neighbours touch. On grids it is a cell at least, of a fit two; of a "
      "gauge auto is two and a half spacings."),
  WORDS(reading, reading_words,
        "Of a gauge: the length of its column that is in liquid, above the floor, as a wire tells "
        "it; or the highest surface in it, splashes included."),
  ROW(particle, INT, "", -1, 1e15, "Id of the particle to track; -1 takes the mean of all."),
  ROW(every, INT, "steps", 1, MANY, "Steps between two looks."),
  ROW(interval, REAL, "s", 1e-9, 1e9, "Time between two looks; auto counts steps instead."),
};

static void set_probe(void *def) {
  *(kp_probe_def *)def = kp_default_probe_def();
}

const kp_param_table kp_probe_params = {
  "probe",
  "Measures velocity, pressure, density and temperature in regions, the height of a surface, or a "
  "path, into probes_NAME.csv.",
  ROWS(probe_rows),
  sizeof(kp_probe_def),
  set_probe,
};

#undef ROW
#undef WORDS

// ---- output

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_output_def, member, kind, unit, lowest, highest, text)

static const kp_param output_rows[] = {
  ROW(frames, INT, "", 1, 1000000, "Frames after the first picture at t = 0."),
  ROW(fps, REAL, "1/s", 1e-6, 1e9, "Frames per second of simulated time."),
  ROW(checkpoint_every, INT, "frames", 0, 1000000,
      "0 chooses: every frame, or more rarely where that would cost 5 % of the run."),
};

static void set_output(void *def) {
  *(kp_output_def *)def = kp_default_output_def();
}

const kp_param_table kp_output_params = {
  "output", "What is kept, and how often.", ROWS(output_rows), sizeof(kp_output_def), set_output,
};
