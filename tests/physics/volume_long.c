#include "volume_size.h"

const volume_size volume_size_chosen = { .cells_3d = 24,
                                         .depth = 1.0,
                                         .seconds_2d = 10.0,
                                         .seconds_3d = 10.0,
                                         .settles = true,
                                         .long_steps = 64 };
