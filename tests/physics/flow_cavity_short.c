#include "flow_cavity_size.h"

const flow_cavity_size flow_cavity_size_chosen = {
  40, 2, { 12.0, 20.0, 0.0 }, 1.0, 0.05,
};
