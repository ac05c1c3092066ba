#include "pressure_size.h"

const pressure_size pressure_size_chosen = { "test_pressure", 64, 256 };
