#include "skirt_size.h"

const skirt_size skirt = {
  .is_long = true,
  .seconds = 2.4,
  .columns = "skirt.columns=72",
  .rows = "skirt.rows=48",
  .words = "skirt of 72 x 49 nodes, 2.4 s of a walk, k = 2 N/m, dt = 1/600 s",
};
