#include "walls_size.h"

const walls_size walls_size_chosen = {
  .words = "dam and river of up to 1536 particles, 1500, 600 and 150 steps",
  .steps_2d = 1500,
  .steps_3d = 600,
  .steps_river = 150,
};
