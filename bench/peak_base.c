#define KP_PEAK kp_peak_base
#include "bench/peak.h"
