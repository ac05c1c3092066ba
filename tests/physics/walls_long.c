#include "walls_size.h"

const walls_size walls_size_chosen = { "bayraktar-C18-long",
                                       "225 particles in 2D, 768 in 3D, 20000 steps", 20000,
                                       20000 };
