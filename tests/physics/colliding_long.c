#include "colliding_size.h"

const colliding_size colliding_size_chosen = { "test_colliding_flows_long", 20, 3, true };
