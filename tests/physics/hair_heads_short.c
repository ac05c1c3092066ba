#include "hair_heads.h"

const kp_hair_heads_size kp_hair_heads = {
  300, 50, 4, false, "test_hair_heads", "selle-C33-small"
};
