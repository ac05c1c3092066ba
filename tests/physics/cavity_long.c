#include "cavity_size.h"

const cavity_size cavity_size_chosen = {
  "200 x 200 particles (40K), 5 s; steady: 64 x 64 and 80 x 80",
  { 64, 80 },
  { 25.0, 40.0 },
  200,
  5.0,
  2.5e-4,
  0.02,
  true,
};
