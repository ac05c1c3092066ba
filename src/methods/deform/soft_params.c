// Parameter table of soft "name" { }.
#include "base/param.h"
#include "kelpie/types.h"
#include "methods/deform/scheme_words.h"

extern const kp_param_table kp_soft_params;

#define FAR 1e6  // m, the farthest coordinate
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_soft_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_soft_def, member, words, text)

static const char *const model_words[] = { "elastic", "altitude", "point_face",
                                           "springs", "edges",    NULL };
static const char *const scheme_words[] = { KP_SCHEME_WORDS, NULL };

static const kp_param rows[] = {
  ROW(shape, SHAPE, "", 0, 0, "The solid, filled with tetrahedra."),
  KP_PARAM_FILE(
      kp_soft_def, tets, NULL,
      "A file of tetrahedra in place of the shape: Medit (.mesh) or TetGen (.node and .ele)."),
  ROW(spacing, REAL, "m", 1e-6, FAR, "Of the lattice the shape is filled with."),
  ROW(grade, REAL, "", 0, 10,
      "How fast tetrahedra grow inwards: cells at depth d may be wider by grade times d. 0: all "
      "are "
      "alike; else edges of boxes are bevelled too."),
  ROW(position, VEC3, "m", -FAR, FAR, "Moves the solid, after it was turned."),
  ROW(rotation_deg, VEC3, "deg", -1e6, 1e6, "Turns it about x, y, z of its origin."),
  KP_PARAM_OF_PLACE(kp_soft_def, velocity, "m/s", -1e4, 1e4,
                    "At the start: a vector or a function of x, y and z, which is sampled when the "
                    "scene is read."),
  ROW(spin, VEC3, "rad/s", -1e4, 1e4, "At the start, about its centre of mass."),
  ROW(density, REAL, "kg/m^3", 1e-9, 1e6, "Mass per volume."),
  WORDS(model, model_words,
        "An elastic material; springs along edges and the shortest altitude of every tetrahedron; "
        "the same with all four altitudes from corners to faces; springs along edges alone; or "
        "those of the surface with one from every vertex to the middle."),
  ROW(young, REAL, "Pa", 1e-6, 1e13, "Young's modulus of the elastic model."),
  ROW(poisson, REAL, "", 0, 0.495, "Poisson's ratio of the elastic model."),
  ROW(stiffness, REAL, "N", 0, 1e12, "Of springs: force per unit strain."),
  ROW(altitude, REAL, "N", 0, 1e12, "Of springs along altitudes; without it, as stiffness."),
  ROW(center, REAL, "N", 0, 1e12, "Of springs to the middle; without it, as stiffness."),
  ROW(damping, REAL, "", 0, 1e4,
      "As a share of the critical one; of the elastic model, of waves as long as the spacing."),
  ROW(strength, CURVE, "", 0, 1e6,
      "Factor of all stiffness, a function of time; damping goes with its root."),
  ROW(thickness, REAL, "m", 0, 1.0, "How near surfaces may come before they repel."),
  ROW(friction, REAL, "", 0, 100, "Of soft bodies and cloth on each other."),
  ROW(self, BOOL, "", 0, 0, "Whether it meets itself."),
  ROW(drag, REAL, "N s/m^3", 0, 1e9, "Against the wind, per area and along the normal."),
  ROW(viscosity, REAL, "1/s", 0, 1e6, "Share of its momentum that it loses per second."),
  WORDS(scheme, scheme_words, "How it is advanced in time."),
  ROW(color, VEC3, "", 0, 10, "Linear RGB in pictures."),
};

static void set_default(void *def) {
  *(kp_soft_def *)def = kp_default_soft_def();
}

const kp_param_table kp_soft_params = {
  "soft",
  "A soft body: a solid of nodes and tetrahedra.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_soft_def),
  set_default,
};
