#include "cavity_size.h"

const cavity_size cavity_size_chosen = {
  "32 x 32 particles", { 32, 52 }, { 12.0, 22.0 }, 32, 2.0, 4e-4, 0.05, false,
};
