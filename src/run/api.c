// The public kelpie/scene.h and kelpie/io.h.
#include "kelpie/io.h"
#include "kelpie/scene.h"
#include "run/batch.h"
#include "run/scene_extras.h"
#include "world/world.h"

static kp_result need_path(const char *path) {
  return path != NULL ? KP_OK : kp_fail(KP_ERROR_ARGUMENT, "the path is NULL");
}

kp_result kp_world_load_scene(kp_world *world, const char *path, const char *const *sets,
                              size_t n_sets) {
  kp_extras extras;
  kp_scene *scene;
  KP_TRY(need_path(path));
  if (n_sets > 0 && sets == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "%zu sets are at NULL", n_sets);
  }
  kp_extras_init(&extras);
  kp_scene_options options = kp_extras_options(&extras, sets, n_sets);
  KP_TRY(kp_scene_load(path, &options, &scene));
  kp_result result = kp_world_set_spec(world, kp_scene_spec(scene));
  kp_scene_free(&scene);
  return result;
}

kp_result kp_world_save(kp_world *world, const char *path) {
  kp_batch batch = { 0 };
  KP_TRY(kp_world_need_built(world));
  KP_TRY(need_path(path));
  kp_batch_begin(&batch, world, 1, 0);
  kp_result result = kp_batch_add_state(&batch, world);
  if (result == KP_OK) {
    result = kp_container_write(path, &batch.head, batch.sections.data, batch.sections.count);
  }
  kp_batch_free(&batch);
  return result;
}

kp_result kp_world_load(kp_world *world, const char *path) {
  kp_container *container;
  kp_batch batch = { 0 };
  KP_TRY(kp_world_need_built(world));
  KP_TRY(need_path(path));
  KP_TRY(kp_container_open(path, &container));
  kp_result result = kp_batch_check_fit(container, world);
  if (result == KP_OK) {
    result = kp_batch_read(&batch, container);
  }
  if (result == KP_OK) {
    result = kp_batch_restore(&batch, world);
  }
  kp_batch_free(&batch);
  kp_container_close(&container);
  return result;
}
