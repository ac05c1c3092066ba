// The inputs of a run: kept in the run folder when it begins, and the only ones read when it goes
// on.
#pragma once

#include "run/record.h"
#include "run/scene_extras.h"

// Copy the scene and every file it used into the run folder, write used.lua, and note names and
// hashes in the record. A file that changed since the scene was loaded is refused.
KP_NODISCARD kp_result kp_inputs_keep(const kp_scene *scene, const char *scene_path,
                                      const kp_run_folder *folder, kp_run_record *record);

// Load the kept scene. Inputs that are missing or were changed are refused.
KP_NODISCARD kp_result kp_inputs_load(const kp_run_folder *folder, const kp_run_record *record,
                                      const kp_extras *extras, kp_scene **out);
