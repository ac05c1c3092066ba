#include "pressure_size.h"

const pressure_size pressure_size_chosen = { "test_pressure_long", 128, 1024 };
