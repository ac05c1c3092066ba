#include "knit_size.h"

const kp_knit_sizes kp_knit_size = { { 8, 16, 32, 48 }, 48 };
