#include "zalesak_size.h"

const zalesak_size zalesak_size_chosen = {
  .nodes = { 101, 201 }, .first = 0, .n_upwind = 1, .n_short = 2, .n_long = 2, .least_order = 1.6
};
