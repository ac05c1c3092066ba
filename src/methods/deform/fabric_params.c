// Parameter tables of immersion "name" { } and limit "name" { }.
#include "base/param.h"
#include "kelpie/types.h"

extern const kp_param_table kp_immersion_params, kp_limit_params;

#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_immersion_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_immersion_def, member, words, text)

static const char *const window_words[] = { "seconds", "steps", "full", NULL };

static const kp_param immersion_rows[] = {
  ROW(of, TEXT, "", 0, 0, "The cloth that is under water."),
  ROW(water_density, REAL, "kg/m^3", 0, 1e5, "Of the water."),
  ROW(fibre_density, REAL, "kg/m^3", 1, 1e6,
      "Of what the cloth is made of: it sinks if this is more than that of water."),
  ROW(added_mass, REAL, "", 0, 100, "Share of the displaced water that moves along."),
  ROW(drag, REAL, "N s/m^3", 0, 1e9, "Along the velocity, per area of cloth."),
  ROW(memory_drag, REAL, "N s^q/m^3", 0, 1e9,
      "Along the velocity, per area and derivative of order q of the position."),
  ROW(damping, REAL, "N s^q/m", 0, 1e9,
      "Of structural springs, per derivative of order q of their ends."),
  ROW(damping_shear, REAL, "N s^q/m", 0, 1e9, "The same of shear springs."),
  ROW(damping_bend, REAL, "N s^q/m", 0, 1e9, "The same of bending springs."),
  ROW(order, REAL, "", 0.01, 1,
      "Order q of the derivative; 1 is the velocity itself, without memory."),
  WORDS(window, window_words,
        "How far back it remembers: `memory` seconds, so many `steps`, or all of the past."),
  ROW(memory, REAL, "s", 1e-6, 1e6, "Length of a memory in seconds."),
  ROW(samples, INT, "", 1, 100000, "Velocities kept in a memory of seconds."),
  ROW(steps, INT, "", 1, 100000, "Length of a memory in steps."),
  ROW(interior, BOOL, "", 0, 0,
      "The end of the memory as printed: its oldest sample counts as if older ones followed."),
  ROW(unit, BOOL, "", 0, 0, "Weights are divided by their sum S: a mean of recent velocities."),
  ROW(clamp, BOOL, "", 0, 0, "Drag with memory never pushes, as it does after a reversal."),
  ROW(current, CURVE3, "m/s", -1e4, 1e4, "Velocity of the water; may be a function of time."),
};

static void set_immersion(void *def) {
  *(kp_immersion_def *)def = kp_default_immersion_def();
}

const kp_param_table kp_immersion_params = {
  "immersion",
  "Still or streaming water around a cloth, which is not simulated but remembered.",
  immersion_rows,
  sizeof immersion_rows / sizeof immersion_rows[0],
  sizeof(kp_immersion_def),
  set_immersion,
};

#undef ROW
#undef WORDS
#define ROW(member, kind, unit, lowest, highest, text)                                             \
  KP_PARAM(kp_limit_def, member, kind, unit, lowest, highest, text)
#define WORDS(member, words, text) KP_PARAM_WORDS(kp_limit_def, member, words, text)

static const char *const method_words[] = { "direct", "provot", NULL };
static const char *const walk_words[] = { "layered", "literal", NULL };
static const char *const order_words[] = { "hvs", "hsv", "vhs", "vsh", "shv", "svh", NULL };
static const char *const down_words[] = { "gravity", "distance", NULL };

static const kp_param limit_rows[] = {
  ROW(of, TEXT, "", 0, 0, "The cloth whose edges are limited; its scheme is position_verlet."),
  WORDS(
      method, method_words,
      "One pass through an ordered list that moves the lower end of each edge, or passes over all "
      "edges that move both."),
  ROW(tolerance, REAL, "", 0, 10, "Share of its length that an edge may be longer."),
  ROW(two_sided, BOOL, "", 0, 0, "Edges that are too short are corrected as well."),
  ROW(passes, INT, "", 1, 1000, "Of method provot, per step."),
  ROW(seams, INT, "", 0, 1000,
      "Passes over the edges that a list leaves out, which move both ends, before the list."),
  WORDS(walk, walk_words,
        "How the list is made: generation by generation, or node by node as printed."),
  WORDS(order, order_words, "Which edges come first: horizontal, vertical, shear."),
  WORDS(down, down_words,
        "What is down: along gravity at the start, or away from the fixed nodes (cloth that lies "
        "flat)."),
  ROW(visits, INT, "", 1, 100, "How often a pass may move one node."),
  ROW(compensation, REAL, "", 0, 2,
      "Share of each correction that the upper node feels in the next step."),
  ROW(shape, SHAPE, "", 0, 0, "Nodes in it at the start count as fixed, beside pinned ones."),
  ROW(slides, BOOL, "", 0, 0,
      "Nodes of the shape start lists too, but are not held: edges that come from pinned nodes "
      "move "
      "them, as cloth that slides over a knee."),
  ROW(fastest, REAL, "m/s", 0, 1e6,
      "Of a correction of a list: edges that stretched while another list was used come in over "
      "some "
      "steps; 0: at once."),
  ROW(when, CURVE, "", -1e9, 1e9,
      "Of several limits of one cloth, that with the highest value is used; may be a function of "
      "time."),
  ROW(touched, REAL, "", 0, 1,
      "The limit is used only while at least this share of the nodes of its shape touches bodies, "
      "so "
      "that contact chooses between lists; 0: whatever they do."),
  ROW(rebuild, REAL, "", 0, 1,
      "The list is made anew when the nodes that are pinned or touch bodies differ from those it "
      "starts from by more than this share; 0: never."),
  ROW(patience, INT, "", 1, 1000000,
      "Inner steps that a node, or the shape of a limit, must touch a body or no longer touch it "
      "before that counts."),
};

static void set_limit(void *def) {
  *(kp_limit_def *)def = kp_default_limit_def();
}

const kp_param_table kp_limit_params = {
  "limit",
  "A limit on the length of the edges of a cloth.",
  limit_rows,
  sizeof limit_rows / sizeof limit_rows[0],
  sizeof(kp_limit_def),
  set_limit,
};
