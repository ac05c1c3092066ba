// Shapes as a scene or a program describes them. Lengths in metres.
#pragma once

#include "kelpie/vec.h"

#define KP_TEXT_SIZE 128

typedef enum kp_shape_kind {
  KP_SHAPE_BOX,
  KP_SHAPE_SPHERE,
  KP_SHAPE_CYLINDER,
  KP_SHAPE_CAPSULE,
  KP_SHAPE_PLANE,
  KP_SHAPE_MESH,
  KP_SHAPE_KIND_COUNT
} kp_shape_kind;

// One struct for all kinds: each kind reads its own members and ignores the others.
typedef struct kp_shape_def {
  kp_shape_kind kind;
  kp_vec3 min, max;         // box: opposite corners; min.z = max.z makes it unbounded in z
  kp_vec3 center;           // sphere
  double radius;            // sphere, cylinder, capsule
  kp_vec3 a, b;             // cylinder, capsule: ends of the axis
  kp_vec3 point, normal;    // plane: solid on the side the normal points away from
  char file[KP_TEXT_SIZE];  // mesh: OBJ or PLY, relative to the scene
  double scale;             // mesh: applied first,
  kp_vec3 rotate_deg;       // then turned about x, y, z (fixed axes),
  kp_vec3 translate;        // then moved
  bool invert;              // inside becomes outside: a container
  double shell;  // m: thickness of the surface, when that alone is solid; 0: the inside is
} kp_shape_def;
