#include "claims_size.h"

const claims_size claims_size_chosen = { .gas_time = 100.0,
                                         .n_gas_steps = 3,
                                         .plasma_particles = 1000,
                                         .water_particles = 3000,
                                         .stray_particles = 2000,
                                         .stray_steps = 500 };
