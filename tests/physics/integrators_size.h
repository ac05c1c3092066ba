// How long the gas of test_integrators runs: in the suite, or as the claims ask (label long).
#pragma once

extern const double integrators_gas_time;
