// Worlds of scenes that are written as text.
#pragma once

#include "support/test.h"

#include <string.h>

#include "scene/scene.h"
#include "world/world.h"

// Built on the CPU.
static inline kp_world *kp_test_world_of_scene(const char *text) {
  kp_scene *scene = NULL;
  kp_world *world = NULL;
  assert_ok(kp_scene_load_text("scene.lua", ".", text, strlen(text), NULL, &scene));
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_set_spec(world, kp_scene_spec(scene)));
  kp_scene_free(&scene);
  assert_ok(kp_world_build(world));
  return world;
}
