// Pictures while a run goes on: a second process, "kelpie render --follow", paints the frames as
// they come. It shares nothing with the simulation but the run folder, so it can neither hold it up
// nor take it down.
#pragma once

#include "run/run.h"

// Gives the painter a quarter of the run's threads, and has it started when the folder is there.
// One run at a time. After a resume it makes the pictures that are missing.
void kp_painter_share(kp_run_def *def, bool is_resumed);

// Waits for the last pictures, or ends the painter after the one it is at. Tells when it failed:
// that is no failure of the run. Without a painter nothing happens.
void kp_painter_end(bool is_stopped, bool is_quiet);
