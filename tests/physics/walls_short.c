#include "walls_size.h"

const walls_size walls_size_chosen = { "225 particles in 2D, 768 in 3D, 1500 and 600 steps", 1500,
                                       600 };
