// A look at a run in the terminal while it goes on: each frame as coloured half blocks, two pixels
// to a letter. Particles and grids are drawn where they lie (render/live.h), so a card sends pixels
// alone.
#pragma once

#include "run/run.h"

// Has each frame drawn on def->out. One run at a time.
void kp_watch_begin(kp_run_def *def);
