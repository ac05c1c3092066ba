// Scenes for programs: a world as a scene file describes it, to be stepped by hand.
//
//   kp_world *world;
//   kp_world_create("cpu", &world);
//   kp_world_load_scene(world, "dam_break.lua", NULL, 0);
//   kp_world_build(world);
#pragma once

#include "kelpie/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// Before kp_world_build: what the scene says replaces what was set and added before. `sets` are
// changes as on the command line, "water.viscosity=0.1". KP_ERROR_SCENE with file, line and key
// when the scene is refused.
KP_API KP_NODISCARD kp_result kp_world_load_scene(kp_world *world, const char *path,
                                                  const char *const *sets, size_t n_sets);

#ifdef __cplusplus
}
#endif
