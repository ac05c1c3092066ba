#include "flip_flows_size.h"

const flip_flows_size flip_flows_size_chosen = { 32, 0.04, false };
