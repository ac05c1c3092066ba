#include "gas_time_size.h"

const gas_time_size gas_time_size_chosen = { 1, { { 3200, 140.0, 0.02 } } };
