// Parameter tables of solids { } and of pins.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_solids_params, kp_pin_params, kp_wind_params;

#define FAR 1e6  // m, the farthest coordinate
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_solids_def, member, kind, unit, lowest, highest, text)

static const char *const friction_words[] = { "after", "before", NULL };
static const char *const triangles_words[] = { "none", "led", "all", "auto", NULL };
static const char *const solver_words[] = { "auto", "sweeps", "polynomial", NULL };

static const kp_param solids_rows[] = {
  ROW(dt, REAL, "s", 1e-9, 1e3,
      "Length of an inner step; without it, as long as strain_rate and stability allow."),
  ROW(inner, INT, "", 1, 1000, "Inner steps between two searches for collisions."),
  ROW(strain_rate, REAL, "", 1e-6, 1e6, "How much the strain of a spring may change in a step."),
  ROW(cfl, REAL, "", 0, 1e6,
      "Longest step as a multiple of what explicit springs bear; 0: no such limit where springs "
      "are implicit."),
  ROW(implicit, BOOL, "", 0, 0, "Springs resist implicitly: any step is stable, long ones damp."),
  ROW(ahead, REAL, "", 0.5, 1,
      "Part of a step that implicit springs of Newmark's variant look ahead: 0.5 is as far as its "
      "half steps go and the edge of stability, where springs that turn make energy; more damps. "
      "At the default a sheet that swings without damping loses 95 % of its swing in 10 s, and "
      "with "
      "0.5 and dt = 0.002 42 %: what shall keep its energy needs scheme = \"velocity_verlet\" or "
      "\"symplectic\". "
      "With hair also the part after which the second solve of a step ends."),
  ROW(turns, BOOL, "", 0, 0,
      "Stretched springs also resist being turned implicitly: few long steps per frame stay calm, "
      "and so does taut hair. Without it such steps are livelier, and tear cloth up."),
  ROW(tolerance, REAL, "", 1e-14, 0.5, "Of the implicit solve, relative."),
  ROW(iterations, INT, "", 1, 1000000, "Of the implicit solve, at most."),
  KP_PARAM_WORDS(
      kp_solids_def, solver, solver_words,
      "Of implicit steps of cloth and soft bodies: sweeps by colours of nodes, which take least "
      "work, or a polynomial of the matrix, which a card does in one launch; auto: that on a card "
      "for bodies of edges and for systems that are not large, sweeps elsewhere."),
  ROW(repulsion, REAL, "N/m", 0, 1e9, "Stiffness of surfaces that come too near."),
  ROW(history, BOOL, "", 0, 0,
      "Surfaces that are near remember on which side of each other they were."),
  ROW(attempts, INT, "", 1, 1000,
      "Passes over collisions before what still collides is made rigid for the step."),
  ROW(contact, BOOL, "", 0, 0, "Surfaces and hairs meet themselves and each other."),
  ROW(bodies, BOOL, "", 0, 0, "Nodes meet bodies and the closed faces of the domain."),
  ROW(rewind, BOOL, "", 0, 0,
      "Go back and take half as many inner steps when something collides, for comparison."),
  ROW(edge_share, REAL, "", 1e-6, 10,
      "Thickness is at most this part of the shortest edge at a node."),
  KP_PARAM_WORDS(
      kp_solids_def, friction, friction_words,
      "When bodies rub: after the implicit solve with the impulse it gave, or before it, "
      "a baseline that feels too little."),
  ROW(gap, REAL, "m", 0, 1e3,
      "How far nodes stay from bodies; when missing a fourth of the thickness where triangles of "
      "bodies are met, none elsewhere."),
  KP_PARAM_WORDS(
      kp_solids_def, body_triangles, triangles_words,
      "Whose edges and corners do not pass between nodes of cloth and soft bodies: of boxes and "
      "meshes that are still or scripted (led), of free ones too (all, or auto: where there is a "
      "gap and no rewind), or none, which is quicker."),
  ROW(domain_friction, REAL, "", 0, 1e3, "Coulomb coefficient of the closed faces of the domain."),
  ROW(particle_restitution, REAL, "", 1e-3, 1,
      "Of nodes that meet as spheres: speed after over speed before."),
  ROW(particle_friction, REAL, "", 0, 100, "Of nodes that meet as spheres."),
  ROW(avoid, REAL, "m", 0, 1e3,
      "Nodes are pushed from bodies that are nearer than this, before they meet; 0: they are not."),
  ROW(avoid_stiffness, REAL, "N/m", 0, 1e9, "Of that push, per node."),
  ROW(avoid_damping, REAL, "N s/m", 0, 1e9, "Of that push, against coming nearer, per node."),
  ROW(key_rate, REAL, "1/s", 1e-3, 1e6,
      "How often distances to colliders that change their form (morph) are made; between them they "
      "are interpolated along the motion."),
  ROW(key_cells, INT, "", 4, 150, "Cells of these distances along the longest side of the box."),
};

static void set_solids(void *def) {
  *(kp_solids_def *)def = kp_default_solids_def();
}

const kp_param_table kp_solids_params = {
  "solids",
  "How cloth, hair and soft bodies are advanced and kept apart.",
  solids_rows,
  sizeof solids_rows / sizeof solids_rows[0],
  sizeof(kp_solids_def),
  set_solids,
};

#undef ROW
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_wind_def, member, kind, unit, lowest, highest, text)

static const kp_param wind_rows[] = {
  ROW(velocity, CURVE3, "m/s", -1e4, 1e4, "Of the air; may be a function of time."),
  ROW(inward, REAL, "m/s", -1e4, 1e4, "Added: towards the axis."),
  ROW(swirl, REAL, "rad/s", -1e4, 1e4, "Added: about the axis."),
  ROW(center, VEC3, "m", -FAR, FAR, "A point of the axis."),
  ROW(axis, VEC3, "", -FAR, FAR, "Direction of the axis."),
  ROW(from, REAL, "m", -FAR, FAR,
      "Along the axis from the centre: there is no wind before this, ..."),
  ROW(until, REAL, "m", -FAR, FAR,
      "... and all of it beyond this; equal to from: everywhere. May be the smaller one."),
  ROW(radius, REAL, "m", 0, FAR, "Of a Gaussian around the axis; 0: at any distance."),
};

static void set_wind(void *def) {
  *(kp_wind_def *)def = kp_default_wind_def();
}

const kp_param_table kp_wind_params = {
  "wind",
  "Moving air that drags surfaces along their normal.",
  wind_rows,
  sizeof wind_rows / sizeof wind_rows[0],
  sizeof(kp_wind_def),
  set_wind,
};

#undef ROW
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_pin_def, member, kind, unit, lowest, highest, text)

static const kp_param pin_rows[] = {
  ROW(of, TEXT, "", 0, 0, "The cloth, hair or soft body whose nodes are held; without it, any."),
  ROW(shape, SHAPE, "", 0, 0, "Nodes that lie in it at the start."),
  ROW(position, CURVE3, "m", -FAR, FAR, "How far they have moved; may be a function of time."),
  ROW(rotation_deg, CURVE3, "deg", -1e9, 1e9,
      "How far they have turned about x, y, z of the pivot; may be a function of time."),
  ROW(pivot, VEC3, "m", -FAR, FAR, "What they turn about."),
  ROW(start, REAL, "s", 0, 1e9, "When they are taken hold of, wherever they are then."),
  ROW(stop, REAL, "s", 0, 1e9, "When they are let go; without it, never."),
  ROW(free, VEC3, "", 0, 1, "Axes with 1 are not held: {0, 0, 1} lets nodes slide along z."),
};

static void set_pin(void *def) {
  *(kp_pin_def *)def = kp_default_pin_def();
}

const kp_param_table kp_pin_params = {
  "pin",
  "Nodes of a cloth, hair or soft body that are held or led along a path.",
  pin_rows,
  sizeof pin_rows / sizeof pin_rows[0],
  sizeof(kp_pin_def),
  set_pin,
};
