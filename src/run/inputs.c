#include "run/inputs.h"

#include "base/hash.h"
#include "base/text.h"

#define SCENE_BYTES_MOST ((size_t)64 << 20)

// Where the index-th input is kept: the scene on top, where people look for it, the rest below
// inputs/.
static kp_result kept_path(const kp_run_folder *folder, size_t index, const char *name,
                           char out[KP_PATH_SIZE]) {
  return index == 0 ? kp_run_path(folder, out, "scene.lua")
                    : kp_run_path(folder, out, "inputs/%s", name);
}

static kp_result keep_input(const kp_run_folder *folder, size_t index, const char *from,
                            const kp_scene_input *input) {
  char to[KP_PATH_SIZE], parent[KP_PATH_SIZE];
  uint64_t hash;
  KP_TRY(kept_path(folder, index, input->name, to));
  KP_TRY(kp_path_folder(parent, sizeof parent, to));
  KP_TRY(kp_folder_make(parent));
  KP_TRY(kp_file_copy(from, to, &hash));
  if (hash != input->hash) {
    return kp_fail(KP_ERROR_IO, "%s changed while it was being read; run again", from);
  }
  return KP_OK;
}

static kp_result note_input(kp_run_record *record, const kp_scene_input *input) {
  kp_record_input copy = { kp_strdup(input->name, KP_MEMORY_IO), input->hash };
  if (copy.name == NULL || kp_array_push(&record->inputs, copy) != KP_OK) {
    kp_free(copy.name);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

static kp_result write_used(const kp_scene *scene, const kp_run_folder *folder) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, path, "used.lua"));
  kp_text text = { 0 };
  kp_result result = kp_scene_write_used(scene, &text);
  if (result == KP_OK) {
    result = kp_file_write(path, text.data, text.count);
  }
  kp_text_free(&text);
  return result;
}

kp_result kp_inputs_keep(const kp_scene *scene, const char *scene_path, const kp_run_folder *folder,
                         kp_run_record *record) {
  const kp_scene_input *inputs;
  size_t n = kp_scene_inputs(scene, &inputs);
  for (size_t i = 0; i < n; ++i) {
    char from[KP_PATH_SIZE];
    KP_TRY(kp_path_join(from, sizeof from, kp_scene_folder(scene), inputs[i].name));
    KP_TRY(keep_input(folder, i, i == 0 ? scene_path : from, &inputs[i]));
    KP_TRY(note_input(record, &inputs[i]));
  }
  return write_used(scene, folder);
}

static kp_result check_inputs(const kp_run_folder *folder, const kp_run_record *record) {
  for (size_t i = 0; i < record->inputs.count; ++i) {
    const kp_record_input *input = &record->inputs.data[i];
    char path[KP_PATH_SIZE];
    uint64_t hash;
    KP_TRY(kept_path(folder, i, input->name, path));
    KP_TRY(kp_file_hash(path, &hash));
    if (hash != input->hash) {
      return kp_fail(KP_ERROR_FORMAT,
                     "%s was changed since the run began; a run goes on only with the inputs it "
                     "began with",
                     path);
    }
  }
  return KP_OK;
}

kp_result kp_inputs_load(const kp_run_folder *folder, const kp_run_record *record,
                         const kp_extras *extras, kp_scene **out) {
  *out = NULL;
  char path[KP_PATH_SIZE], inputs[KP_PATH_SIZE];
  char *text = NULL;
  size_t n_bytes;
  KP_TRY(check_inputs(folder, record));
  KP_TRY(kp_run_path(folder, path, "scene.lua"));
  KP_TRY(kp_run_path(folder, inputs, "inputs"));
  KP_TRY(kp_folder_make(inputs));
  KP_TRY(kp_file_read(path, SCENE_BYTES_MOST, &text, &n_bytes));
  const char *const *sets = (const char *const *)record->sets.data;
  kp_scene_options options = kp_extras_options(extras, sets, record->sets.count);
  kp_result result = kp_scene_load_text(path, inputs, text, n_bytes, &options, out);
  kp_free(text);
  return result;
}
