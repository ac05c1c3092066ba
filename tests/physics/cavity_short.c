#include "cavity_size.h"

const cavity_size cavity_size_chosen = {
  "32 x 32 particles", { 32, 0 }, { 12.0, 0.0 }, 32, 2.0, 4e-4, 0.04,
};
