// How many random starts of each scene: in the suite, or with the label long.
#pragma once

extern const int tangle_seeds;
