#include "cavity_size.h"

const cavity_size cavity_size_chosen = {
  "200 x 200 particles (40K), Re 100, t = 5 s", { 64, 80 }, { 25.0, 40.0 }, 200, 5.0, 2.5e-4, 0.02,
};
