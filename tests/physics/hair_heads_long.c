#include "hair_heads.h"

const kp_hair_heads_size kp_hair_heads = { 10000, 50, 4, 2.0 };
