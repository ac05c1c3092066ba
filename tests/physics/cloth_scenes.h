// What is run of the cloth scenes of Selle (2008, table 6.2): in short, and at the sizes of the
// claims.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct kp_cloth_scene {
  const char *id;     // of its claim; NULL: none
  const char *scene;  // in scenes/papers/selle, with a line `local size = 1`
  double size;        // of that line
  int frames, fps;
  int inner;          // inner steps of a collision step, which is a frame; 0: as the scene says
  const char *set;    // a value of the scene that is changed, or NULL
  int stated;         // frames of the whole run, which the claim asks for
  int64_t triangles;  // that the claim asks for
} kp_cloth_scene;

typedef struct kp_cloth_scenes {
  const kp_cloth_scene *whole, *inner;  // C25 and C30; C26
  const kp_cloth_scene *blind;          // C28: run once more without history
  size_t n_whole, n_inner, n_blind;
  kp_cloth_scene back[2];  // C27: run once more by going back and halving
} kp_cloth_scenes;

extern const kp_cloth_scenes kp_cloth_scenes_to_run;
