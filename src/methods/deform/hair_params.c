// Parameter table of hair "name" { }.
#include "base/param.h"
#include "kelpie/types.h"
#include "methods/deform/scheme_words.h"

extern const kp_param_table kp_hair_params;

#define FAR 1e6  // m, the farthest coordinate
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_hair_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_hair_def, member, words, text)

static const char *const limit_words[] = { "none", "biased", "momentum", NULL };
static const char *const scheme_words[] = { KP_SCHEME_WORDS, NULL };

static const kp_param rows[] = {
  ROW(on, TEXT, "", 0, 0,
      "The collider or body on whose surface it grows and whose motion leads the roots."),
  ROW(scalp, SHAPE, "", 0, 0,
      "The part of that surface, at the start, where hair grows; without it, all of it."),
  ROW(fade, REAL, "m", 0, FAR, "From the border of the scalp inwards, hair grows denser over it."),
  ROW(root, VEC3, "m", -FAR, FAR, "Without on: the middle of a disc of roots."),
  ROW(direction, VEC3, "", -FAR, FAR, "Without on: in which it grows."),
  ROW(spread, REAL, "m", 0, FAR, "Without on: radius of the disc of roots."),
  ROW(rooted, BOOL, "", 0, 0,
      "The first nodes of every hair are led, with their twist; else only pins hold it."),
  ROW(count, INT, "", 0, 100000000, "Hairs; 0: every curve of the guides is one."),
  ROW(segments, INT, "", 1, 100000, "Of every hair."),
  KP_PARAM_FILE(
      kp_hair_def, guides, NULL,
      "A file of curves from root to tip (lines of an OBJ file, or x y z per line with empty lines "
      "between curves): hairs are interpolated between the three nearest."),
  ROW(length, REAL, "m", 1e-6, FAR, "Along a hair, curls included."),
  ROW(curl_radius, REAL, "m", 0, FAR, "Of helical curls."),
  ROW(curl_pitch, REAL, "m", 1e-6, FAR, "Of one turn of a curl, along the middle line."),
  ROW(wave, REAL, "m", 0, FAR, "Amplitude of plane waves."),
  ROW(wave_length, REAL, "m", 1e-6, FAR, "Of plane waves."),
  ROW(fall, VEC3, "", -FAR, FAR, "Where hairs turn to; {0, 0, 0}: they grow straight on."),
  ROW(droop, REAL, "m", 0, FAR, "Length over which they turn to it."),
  ROW(lift, REAL, "m", 0, FAR, "How far from the surface a hair lies at least, at the start."),
  ROW(roughness, REAL, "", 0, 1, "Random share of directions, lengths and curls."),
  ROW(seed, INT, "", 0, 1e15, "Of roots and roughness."),
  ROW(straight_deg, REAL, "deg", 0, 180,
      "Segments that turn by less against a neighbour get an extra node, so that they resist "
      "twist; 180: all of them."),
  ROW(twist, BOOL, "", 0, 0, "Off: no extra nodes, a plain chain of springs."),
  ROW(density, REAL, "kg/m", 1e-12, 1e3, "Mass per length of a hair."),
  ROW(young, REAL, "Pa", 0, 1e15,
      "Young's modulus of a hair: with fibre_radius it gives what resists bending, E pi r^4/4, for "
      "any number of segments."),
  ROW(poisson, REAL, "", -0.99, 0.5, "With young: torsion is resisted by E pi r^4/(4 (1 + it))."),
  ROW(fibre_radius, REAL, "m", 1e-9, 1.0,
      "Of the round section that bends, whatever radius has for pictures."),
  ROW(edge_stiffness, REAL, "N", 0, 1e9,
      "Of springs along segments, force per strain; without it, twenty times that of the "
      "springs against torsion."),
  ROW(bend_stiffness, REAL, "N", 0, 1e9,
      "Of springs over two segments, whatever their length; without it, from young."),
  ROW(torsion_stiffness, REAL, "N", 0, 1e9,
      "Of springs over three segments, whatever their length; without it, from young."),
  ROW(altitude_stiffness, REAL, "N", 0, 1e9,
      "Of the shortest height of every four consecutive nodes, against collapse; without it, a "
      "twentieth of torsion_stiffness."),
  ROW(damping, REAL, "", 0, 1e4, "Of all springs, as a share of the critical damping."),
  WORDS(
      limit, limit_words,
      "How stretching is undone before nodes move: not at all, from root to tip exactly, or three "
      "times by impulses that conserve momentum where a segment is stretched by a tenth."),
  ROW(thickness, REAL, "m", 0, 1.0, "How near hairs may come before they repel."),
  ROW(friction, REAL, "", 0, 100, "Of hair on hair."),
  ROW(self, BOOL, "", 0, 0, "Whether its hairs meet each other."),
  ROW(stiction, REAL, "N", 0, 1e9, "Stiffness of springs between hairs that touch; 0: none."),
  ROW(stiction_distance, REAL, "m", 1e-9, FAR, "Hairs nearer than this stick; its rest length."),
  ROW(stiction_break, REAL, "m", 1e-9, FAR, "Springs longer than this break."),
  ROW(stiction_damping, REAL, "", 0, 1e4, "Of them, as a share of the critical damping."),
  ROW(stiction_links, INT, "", 1, 1000, "Springs per segment at most; the nearest are made."),
  ROW(viscosity, REAL, "1/s", 0, 1e6, "Share of its momentum against the air lost per second."),
  KP_PARAM_OF_PLACE(kp_hair_def, velocity, "m/s", -1e4, 1e4,
                    "At the start, of all but the roots: a vector or a function of x, y and z, "
                    "which is sampled when the scene is read."),
  WORDS(scheme, scheme_words, "How it is advanced in time."),
  ROW(radius, REAL, "m", 0, 1.0, "Of a hair in pictures."),
  ROW(color, VEC3, "", 0, 10, "Linear RGB in pictures."),
};

static void set_default(void *def) {
  *(kp_hair_def *)def = kp_default_hair_def();
}

const kp_param_table kp_hair_params = {
  "hair",
  "Hairs on a surface: curves that bend, twist and curl, and do not stretch.",
  rows,
  sizeof rows / sizeof rows[0],
  sizeof(kp_hair_def),
  set_default,
};
