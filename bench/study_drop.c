// A drop into a pool with five advections of the velocity (Selle 2008, section 2.9).
#include "base/memory.h"
#include "cases/splashes.h"

#include "bench/study.h"

#define CELLS 32   // across
#define FRAMES 18  // of 1/24 s: the last of the dissertation's

kp_result kp_study_drop(const kp_study_def *def, FILE *out) {
  kp_splash_def splash = { .backend = def->backend,
                           .dimension = 3,
                           .cells = def->most > 0 ? def->most : CELLS,
                           .frames = def->steps > 0 ? def->steps : FRAMES };
  kp_splash_frame *frames =
      kp_alloc((size_t)(splash.frames + 1) * sizeof *frames, KP_MEMORY_SCRATCH);
  if (frames == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_study_row(out, "cells,advection,frame,kinetic,potential,volume,area,max_speed,steps");
  kp_result result = KP_OK;
  for (int v = 0; v < KP_SPLASH_VARIANTS && result == KP_OK; ++v) {
    int64_t reached = 0;
    splash.variant = v;
    result = kp_splash_run(&splash, frames, &reached);
    for (int64_t f = 0; f <= reached && result == KP_OK; ++f) {
      const kp_splash_frame *at = &frames[f];
      kp_study_row(out, "%lld,%s,%lld,%.6g,%.6g,%.6g,%.6g,%.4g,%lld", (long long)splash.cells,
                   kp_splash_names[v], (long long)f, at->kinetic, at->potential, at->volume,
                   at->area, at->fastest, (long long)at->steps);
    }
  }
  kp_free(frames);
  return result;
}
