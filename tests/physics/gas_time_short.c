#include "gas_time_size.h"

const gas_time_size gas_time_size_chosen = { 1, { { 1000, 40.0, 0.006 } } };
