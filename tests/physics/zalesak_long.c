#include "zalesak_size.h"

const zalesak_size zalesak_size_chosen = { .nodes = { 201, 401, 801 },
                                           .first = 1,
                                           .n_upwind = 2,
                                           .n_short = 2,
                                           .n_long = 3,
                                           .least_order = 1.9 };
