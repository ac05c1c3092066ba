// run.json: what made a run, for people, for scripts and for resume.
#pragma once

#include "base/array.h"
#include "base/result.h"
#include "run/run_folder.h"

typedef struct kp_record_input {
  char *name;  // relative to the scene's folder
  uint64_t hash;
} kp_record_input;

typedef struct kp_run_record {
  char *scene;    // the scene's path as it was given
  char *build;    // program version, compiler, precision
  char *backend;  // "cpu", ...
  int threads;
  uint64_t scene_hash;  // of what the scene means
  int64_t first_frame, last_frame;
  double fps;
  KP_ARRAY(char *) sets;             // --set, in order
  KP_ARRAY(kp_record_input) inputs;  // the scene first
} kp_run_record;

void kp_run_record_free(kp_run_record *record);
KP_NODISCARD kp_result kp_run_record_write(const kp_run_record *record,
                                           const kp_run_folder *folder);
KP_NODISCARD kp_result kp_run_record_read(const kp_run_folder *folder, kp_run_record *out);

// "0.1.0 float GNU 12.2.0 Release": what bits may depend on.
const char *kp_build_text(void);

// Processor of this machine, "" when unknown; its threads come from par/parallel.h.
void kp_machine_text(char *out, size_t size);
