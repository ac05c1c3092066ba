#include "knit_size.h"

const kp_knit_sizes kp_knit_size = { { 32, 64, 128, 256 }, 64 };
