#include "flip_flows_size.h"

const flip_flows_size flip_flows_size_chosen = { 64, 0.02, true };
