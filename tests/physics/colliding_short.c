#include "colliding_size.h"

const colliding_size colliding_size_chosen = { 1, 0 };
