#include "fabric_water_size.h"

const water_size water = {
  .is_long = false,
  .driven = 4.0,
  .short_driven = 1.0,
  .first_window = 3,
  .tolerance = 0.2,
  .words = "31 x 21 nodes, driven 1 s (short memory) and 4 s",
};
