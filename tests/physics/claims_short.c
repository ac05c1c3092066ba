#include "claims_size.h"

const claims_size claims_size_chosen = { .gas_time = 100.0,
                                         .n_gas_steps = 3,
                                         .tries = { 0.025, 0.2, 1.0 },
                                         .n_tries = 3,
                                         .try_time = 60.0,
                                         .plasma_particles = 1000,
                                         .water_particles = 3000,
                                         .stray_particles = 2000,
                                         .stray_steps = 500 };
