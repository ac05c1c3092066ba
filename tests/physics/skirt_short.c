#include "skirt_size.h"

const skirt_size skirt = {
  .seconds = 1.2,
  .columns = "skirt.columns=48",
  .rows = "skirt.rows=32",
  .words = "skirt of 48 x 33 nodes, 1.2 s of a walk, k = 2 N/m, dt = 1/600 s",
};
