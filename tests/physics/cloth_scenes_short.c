#include "cloth_scenes.h"

// As coarse as they may be, until cloth has met cloth in each; so coarse a strip does not without
// the thickness that it has at the author's size.
static const kp_cloth_scene whole[] = {
  { .scene = "spinning_ball", .size = 0.04, .frames = 120, .fps = 60 },
  { .scene = "curtain_and_ball", .size = 0.02, .frames = 120, .fps = 30, .inner = 12 },
  { .scene = "wardrobe", .size = 0.03, .frames = 240, .fps = 120 },
  { .scene = "leaves", .size = 0.04, .frames = 50, .fps = 60 },
  { .scene = "twister", .size = 0.05, .frames = 430, .fps = 60, .set = "solids.edge_share=0.03" },
};

static const kp_cloth_scene inner[] = {
  { .scene = "leaves", .size = 0.03, .frames = 40, .fps = 60, .inner = 16 },
};

static const kp_cloth_scene blind[] = {
  { .scene = "leaves", .size = 0.03, .frames = 40, .fps = 60, .inner = 16 },
};

const kp_cloth_scenes kp_cloth_scenes_to_run = {
  .whole = whole,
  .n_whole = sizeof whole / sizeof whole[0],
  .inner = inner,
  .n_inner = sizeof inner / sizeof inner[0],
  .blind = blind,
  .n_blind = sizeof blind / sizeof blind[0],
  .back = { { .scene = "leaves", .size = 0.03, .frames = 40, .fps = 60, .inner = 4 },
            { .scene = "leaves", .size = 0.04, .frames = 40, .fps = 60, .inner = 4 } },
};
