// Saving and loading the state of a world: a checkpoint file, as `kelpie run` writes them.
#pragma once

#include "kelpie/world.h"

#ifdef __cplusplus
extern "C" {
#endif

// The whole state, written to a temporary name and renamed: an older file is replaced or untouched.
KP_API KP_NODISCARD kp_result kp_world_save(kp_world *world, const char *path);

// Into a world that was built from the same defs. What follows is bit for bit what would have
// followed the save. A damaged file or one of another world is refused (KP_ERROR_FORMAT) and the
// world stays as it was.
KP_API KP_NODISCARD kp_result kp_world_load(kp_world *world, const char *path);

#ifdef __cplusplus
}
#endif
