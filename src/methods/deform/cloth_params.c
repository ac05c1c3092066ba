// Parameter table of cloth "name" { }.
#include "base/param.h"
#include "kelpie/types.h"
#include "methods/deform/scheme_words.h"

extern const kp_param_table kp_cloth_params;

#define FAR 1e6  // m, the farthest coordinate
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_cloth_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_cloth_def, member, words, text)

static const char *const pattern_words[] = { "herring_bone", "regular", NULL };
static const char *const model_words[] = { "elastic", "edges", "grid", NULL };
static const char *const scheme_words[] = { KP_SCHEME_WORDS, KP_SPRING_SCHEME_WORDS, NULL };

static const kp_param rows[] = {
  ROW(width, REAL, "m", 1e-6, FAR, "Along x, before it is turned."),
  ROW(height, REAL, "m", 1e-6, FAR, "Along z, before it is turned."),
  ROW(columns, INT, "", 1, 100000, "Cells along the width."),
  ROW(rows, INT, "", 1, 100000, "Cells along the height."),
  WORDS(pattern, pattern_words,
        "How cells are cut into triangles: alternating, so that no direction is stiffer, or all "
        "alike."),
  KP_PARAM_FILE(kp_cloth_def, mesh, NULL,
                "An OBJ or PLY file of triangles in place of the rectangle."),
  ROW(position, VEC3, "m", -FAR, FAR, "Of the middle of the rectangle, the origin of the file."),
  ROW(rotation_deg, VEC3, "deg", -1e6, 1e6, "About x, y, z; {90, 0, 0} hangs it up."),
  KP_PARAM_OF_PLACE(kp_cloth_def, velocity, "m/s", -1e4, 1e4,
                    "At the start: a vector or a function of x, y and z, which is sampled when the "
                    "scene is read."),
  ROW(density, REAL, "kg/m^2", 1e-9, 1e6, "Mass per area."),
  WORDS(model, model_words,
        "A material of triangles that stretch and edges that bend, springs along and across the "
        "edges of the triangles, or structural, shear and bending springs of a grid."),
  ROW(young, REAL, "Pa", 0, 1e15,
      "Young's modulus of a material: with fabric_thickness it gives stiffness and bending where "
      "they are not given."),
  ROW(poisson, REAL, "", -0.99, 0.99, "Of a material, in its plane."),
  ROW(fabric_thickness, REAL, "m", 1e-9, 1.0,
      "Of the material that young acts on, whatever thickness has for contact."),
  ROW(stiffness, REAL, "N/m", 0, 1e12,
      "Against stretching: of a material its modulus, Young's modulus times thickness (without it, "
      "by young); of springs the force per width and strain (without it, 2000)."),
  ROW(bending, REAL, "N m", 0, 1e12,
      "Against bending, of a material: moment per width and curvature; without it, young "
      "fabric_thickness^3/(12 (1 - poisson^2))."),
  ROW(compression, REAL, "N/m", 0, 1e12,
      "Of springs when pushed together; without it, as stiffness."),
  ROW(damping, REAL, "", 0, 1e4,
      "Of those springs or triangles, as a share of the critical damping of each."),
  ROW(shear, REAL, "N/m", 0, 1e12, "Of the diagonals of a grid; without it, as stiffness."),
  ROW(bend_stiffness, REAL, "N/m", 0, 1e12,
      "Of the springs across edges, against bending; without it, 20."),
  ROW(hinge, REAL, "N m", 0, 1e12,
      "With springs, against a change of the angle at edges; 0 for none. Bending springs act "
      "beside "
      "it."),
  ROW(axial, REAL, "N/m", 0, 1e12,
      "With springs, of altitude springs at the edges: they bring a curved shell back once it is "
      "flat."),
  ROW(axial_floor, REAL, "", 0, 1,
      "Strain of those is taken of this share of the height of the triangles at least; 0: of the "
      "rest length, and edges that are flat at rest have none."),
  ROW(bend_damping, REAL, "", 0, 1e4,
      "Of all that resists bending, as a share of the critical damping of each."),
  ROW(bend_diagonals, BOOL, "", 0, 0,
      "Bending springs of a grid along diagonals as well (Choi and Ko)."),
  ROW(tube, BOOL, "", 0, 0,
      "The width is closed to a ring about z, the upper end at -z: a skirt, a sleeve."),
  ROW(flare, REAL, "", 0.01, 100, "Of a tube: width of the lower end over that of the upper one."),
  ROW(parabola, REAL, "1/m", -1e6, 1e6,
      "Bent along y = parabola z^2 from its middle, with the length it has: its rest shape too."),
  ROW(layers, INT, "", 1, 3, "1, or 3 for knitwear: front, middle and back, tied by springs."),
  ROW(gap, REAL, "m", 1e-9, 10, "Between two layers of knitwear."),
  ROW(volume_stiffness, REAL, "N/m", 0, 1e12,
      "Of the springs between layers: the more, the less layers slide past each other, and the "
      "more "
      "the fabric bends like a board."),
  ROW(yarn, BOOL, "", 0, 0, "Draw the yarn of the stitches of knitwear, as curves."),
  ROW(yarn_radius, REAL, "m", 1e-9, 10, "Of the yarn in pictures."),
  ROW(yarn_plies, INT, "", 1, 16, "Threads that a yarn is twisted of, in pictures."),
  ROW(yarn_pitch, REAL, "m", 1e-9, 1e3, "Length of one turn of the threads of a yarn."),
  ROW(particle_radius, REAL, "m", 0, 10,
      "Nodes meet as spheres, each other and samples of solids: a baseline. 0: they do not."),
  ROW(thickness, REAL, "m", 0, 1.0, "How near surfaces may come before they repel."),
  ROW(friction, REAL, "", 0, 100, "Of cloth on cloth."),
  ROW(self, BOOL, "", 0, 0, "Whether it meets itself."),
  ROW(drag, REAL, "N s/m^3", 0, 1e9, "Against the wind, per area and along the normal."),
  ROW(strength, CURVE, "", 0, 1e6,
      "Factor of all stiffness, a function of time; damping goes with its root."),
  ROW(viscosity, REAL, "1/s", 0, 1e6, "Share of its momentum that it loses per second."),
  WORDS(scheme, scheme_words, "How it is advanced in time."),
  ROW(color, VEC3, "", 0, 10, "Linear RGB in pictures."),
};

static void set_default(void *def) {
  *(kp_cloth_def *)def = kp_default_cloth_def();
}

const kp_param_table kp_cloth_params = {
  "cloth",
  "A piece of cloth: a surface of nodes, of a material or of springs.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_cloth_def),
  set_default,
};
