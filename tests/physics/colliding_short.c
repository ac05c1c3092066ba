#include "colliding_size.h"

const colliding_size colliding_size_chosen = { 3, 0, false };
