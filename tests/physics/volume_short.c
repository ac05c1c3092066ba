#include "volume_size.h"

const volume_size volume_size_chosen = {
  .cells_3d = 24, .depth = 0.5, .seconds_2d = 2.0, .seconds_3d = 1.0, .long_steps = 48
};
