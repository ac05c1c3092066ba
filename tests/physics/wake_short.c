#include "wake_size.h"

const wake_size wake = {
  .cells = 28,
  .cfl = 1.75,
  .seconds = 5.0,
  .from = 3.0,
  .plume_cells = 16,
  .words = "84x28 cells, CFL 1.75, means over 3 to 5 s",
};
