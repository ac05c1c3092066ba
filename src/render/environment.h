// What lies around a scene, far away: a cube map from pictures (Lyes 2010, 7.6.3). Colours are
// linear; 1 is white paper in full light.
#pragma once

#include "io/png.h"
#include "render/colormap.h"
#include "render/f3.h"

// Faces as OpenGL has them: right, left, top, bottom, front and back are +x, -x, +y, -y, +z and -z
// of a world whose y is up, each seen from the middle.
typedef struct kp_environment {
  int size;               // texels along an edge
  kp_rgb *texels;         // 6 size size, face after face, rows from the top
  kp_rgb up, side, down;  // light on a white sheet that faces there; side: the mean over all
} kp_environment;

// What the * of six files stands for, then NULL.
extern const char *const kp_environment_faces[];

// From one picture: a cross (4 x 3 or 3 x 4 squares), a row or column of six, or longitude and
// latitude (2 x 1); or from six, where the file's name has a * that stands for right, left, top,
// bottom, front and back.
KP_NODISCARD kp_result kp_environment_load(const char *path, kp_environment *out);
// The same from six square pictures of one size in memory.
KP_NODISCARD kp_result kp_environment_make(const kp_image *faces, kp_environment *out);
void kp_environment_free(kp_environment *environment);

// Light from a direction of any length, between the texels of a face.
kp_rgb kp_environment_color(const kp_environment *environment, kp_f3 direction);
