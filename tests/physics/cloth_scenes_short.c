#include "cloth_scenes.h"

static const kp_cloth_scene whole[] = {
  { .scene = "spinning_ball", .size = 0.06, .frames = 50, .fps = 60 },
  { .scene = "curtain_and_ball", .size = 0.025, .frames = 10, .fps = 60 },
  { .scene = "wardrobe", .size = 0.02, .frames = 20, .fps = 120 },
  { .scene = "leaves", .size = 0.05, .frames = 4, .fps = 60 },
  { .scene = "twister", .size = 0.08, .frames = 40, .fps = 60 },
};

const kp_cloth_scenes kp_cloth_scenes_to_run = {
  .whole = whole,
  .n_whole = sizeof whole / sizeof whole[0],
};
