#define KP_PEAK kp_peak_v4
#include "bench/peak.h"
