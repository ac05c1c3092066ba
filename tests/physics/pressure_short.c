#include "pressure_size.h"

const pressure_size pressure_size_chosen = { 64, 256 };
