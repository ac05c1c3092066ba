#include "tangle_size.h"

const int tangle_seeds = 100;
