#include "zalesak_size.h"

const zalesak_size zalesak_size_chosen = {
  .nodes = { 101, 201 }, .first = 0, .n_upwind = 1, .n_coarse = 2, .n_long = 2
};
