// How fine the water of test_photographs is: in the suite, or as the claims ask (label long).
#pragma once

typedef struct photographs_size {
  double waves, crater, crown;  // m, spacings
} photographs_size;

extern const photographs_size photographs_size_chosen;
