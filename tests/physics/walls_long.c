#include "walls_size.h"

const walls_size walls_size_chosen = { "225 particles in 2D, 768 in 3D, 20000 steps", 20000,
                                       20000 };
