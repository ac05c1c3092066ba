// One run under way: what run.c sets up and frame.c works with.
#pragma once

#include "run/inputs.h"
#include "run/run.h"
#include "run/shape_meshes.h"
#include "run/writer.h"

typedef struct kp_session {
  const kp_run_def *def;
  kp_run_folder folder;
  kp_run_record record;
  kp_extras extras;
  kp_scene *scene;
  kp_world *world;
  kp_shape_meshes meshes;
  kp_surfaces surfaces;
  kp_columns stats_columns, perf_columns;
  kp_table *stats, *perf;
  KP_ARRAY(kp_table *) probes;
  kp_writer *writer;
  kp_progress progress;
  uint64_t frame;  // the next one
  bool is_resumed;
  bool is_stopping;  // set in the frame after which the run stops

  // when the next checkpoint is worth its time
  double checkpoint_gather;  // s the newest one took to copy
  double checkpoint_time;    // when it was taken

  kp_perf_base perf_base;
  double frame_end;  // clock at the end of the last frame
} kp_session;

// Frame s->frame, from its inputs to its rows: the six steps of a frame.
KP_NODISCARD kp_result kp_session_frame(kp_session *s);
