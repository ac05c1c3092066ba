#include "claims_size.h"

const claims_size claims_size_chosen = { .gas_time = 500.0,
                                         .n_gas_steps = 4,
                                         .tries = { 0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8,
                                                    1.0 },
                                         .n_tries = 9,
                                         .try_time = 500.0,
                                         .plasma_particles = 8000,
                                         .water_particles = 16384,
                                         .stray_particles = 16384,
                                         .stray_steps = 2000 };
