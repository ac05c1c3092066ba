// Telling how far a run is: a bar on a terminal, one line per frame elsewhere, or one JSON object
// per line.
#pragma once

#include <stdio.h>

#include "run/rows.h"

#define KP_PROGRESS_MODES(X)                                                                       \
  X(AUTO, "auto")                                                                                  \
  X(BAR, "bar")                                                                                    \
  X(PLAIN, "plain")                                                                                \
  X(JSON, "json")                                                                                  \
  X(NONE, "none")

typedef enum kp_progress_mode {
#define X(name, word) KP_PROGRESS_##name,
  KP_PROGRESS_MODES(X)
#undef X
      KP_PROGRESS_MODE_COUNT
} kp_progress_mode;

extern const char *const kp_progress_words[KP_PROGRESS_MODE_COUNT];

typedef struct kp_progress {
  kp_progress_mode mode;  // never AUTO
  FILE *out;
  uint64_t last_frame;
  double mean_wall;  // s per frame, a moving average
} kp_progress;

void kp_progress_begin(kp_progress *progress, kp_progress_mode mode, FILE *out,
                       uint64_t last_frame);
void kp_progress_frame(kp_progress *progress, const kp_frame_facts *facts, double time,
                       bool has_checkpoint);
// Leaves a bar's line, so that what is printed next begins on a new one.
void kp_progress_end(kp_progress *progress);
