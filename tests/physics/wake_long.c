#include "wake_size.h"

const wake_size wake = {
  .cells = 100,
  .cfl = 0.75,
  .seconds = 10.0,
  .from = 6.0,
  .plume_cells = 32,
  .words = "300x100 cells, CFL 0.75, means over 6 to 10 s",
};
