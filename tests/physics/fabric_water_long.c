#include "fabric_water_size.h"

const water_size water = {
  .is_long = true,
  .driven = 8.0,
  .short_driven = 4.0,
  .first_window = 0,
  .tolerance = 0.15,
  .words = "31 x 21 nodes, driven 4 s (short memory) and 8 s",
};
