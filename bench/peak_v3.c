#define KP_PEAK kp_peak_v3
#include "bench/peak.h"
