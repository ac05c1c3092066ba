#include "walls_size.h"

const walls_size walls_size_chosen = {
  .words = "dam of 225 and 768, river of 280 and 1536 particles in 2D and 3D, 20000 steps",
  .steps_2d = 20000,
  .steps_3d = 20000,
  .steps_river = 20000,
};
