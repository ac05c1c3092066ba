#include "hair_heads.h"

const kp_hair_heads_size kp_hair_heads = { 300, 50, 4, 0.5 };
