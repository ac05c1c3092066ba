// How long the wall tests run: in the suite, or as the claim asks (label long).
#pragma once

typedef struct walls_size {
  const char *words;
  int steps_2d, steps_3d, steps_river;
} walls_size;

extern const walls_size walls_size_chosen;
