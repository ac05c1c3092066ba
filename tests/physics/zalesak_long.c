#include "zalesak_size.h"

const zalesak_size zalesak_size_chosen = {
  .nodes = { 101, 201, 401, 801 }, .first = 0, .n_upwind = 3, .n_coarse = 3, .n_long = 4
};
