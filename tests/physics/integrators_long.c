#include "integrators_size.h"

const double integrators_gas_time = 500.0;
