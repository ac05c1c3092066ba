#include "flow_cavity_size.h"

const flow_cavity_size flow_cavity_size_chosen = {
  128, 3, { 15.0, 30.0, 50.0 }, 1.0, 0.01,
};
