// libFuzzer target: any bytes as a scene. It is refused or read, and what was read can be written
// out and read again with the same meaning.
#include <stdlib.h>

#include "scene/scene.h"

#include "fuzz/fuzz.h"

const char kp_fuzz_corpus[] = "scene";
int kp_fuzz_n_read;

static void ignore(kp_log_level level, const char *module, const char *message, void *user) {
  (void)level;
  (void)module;
  (void)message;
  (void)user;
}

static void check_round_trip(const kp_scene *scene) {
  uint64_t hash, again;
  kp_text used = { 0 };
  kp_scene *copy = NULL;
  const kp_spec *spec = kp_scene_spec(scene);
  bool has_curves = spec->owned.count > 0;
  if (kp_scene_write_used(scene, &used) != KP_OK || kp_scene_hash(scene, &hash) != KP_OK ||
      kp_scene_load_text("used.lua", ".", used.data, used.count, NULL, &copy) != KP_OK ||
      kp_scene_hash(copy, &again) != KP_OK) {
    abort();
  }
  // a function of time is written as its first value only
  if (hash != again && !has_curves) {
    abort();
  }
  kp_scene_free(&copy);
  kp_text_free(&used);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  kp_set_log(ignore, NULL, KP_LOG_ERROR);
  kp_scene *scene = NULL;
  // the folder does not exist: modules and meshes are never found
  if (kp_scene_load_text("fuzz.lua", "/nonexistent", (const char *)bytes, n_bytes, NULL, &scene) ==
      KP_OK) {
    check_round_trip(scene);
    kp_scene_free(&scene);
    ++kp_fuzz_n_read;
  } else if (scene != NULL || kp_last_error()[0] == '\0') {
    abort();
  }
  return 0;
}
