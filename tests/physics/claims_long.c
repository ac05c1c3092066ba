#include "claims_size.h"

const claims_size claims_size_chosen = { .gas_time = 500.0,
                                         .n_gas_steps = 4,
                                         .plasma_particles = 8000,
                                         .water_particles = 16384,
                                         .stray_particles = 16384,
                                         .stray_steps = 2000 };
