// The parameter tables of the shapes, one per kind.
#include <string.h>

#include "geom/shape.h"

#define FAR 1e9  // [m]; keeps sums of squares finite and readable

#define INVERT_ROW                                                                                 \
  KP_PARAM(kp_shape_def, invert, BOOL, "", 0, 1,                                                   \
           "Exchange inside and outside: an inverted box is a room.")

#define SHELL_ROW                                                                                  \
  KP_PARAM(kp_shape_def, shell, REAL, "m", 0, FAR,                                                 \
           "Thickness of a thin wall along the surface, hollow inside; 0 is solid. 3D only.")

static const kp_param box_rows[] = {
  KP_PARAM(kp_shape_def, min, VEC3, "m", -FAR, FAR, "Corner with the smallest coordinates."),
  KP_PARAM(kp_shape_def, max, VEC3, "m", -FAR, FAR,
           "Corner with the largest coordinates; equal z makes the box unbounded in z."),
  INVERT_ROW,
  SHELL_ROW,
};

static const kp_param sphere_rows[] = {
  KP_PARAM(kp_shape_def, center, VEC3, "m", -FAR, FAR, "Centre."),
  KP_PARAM(kp_shape_def, radius, REAL, "m", 1e-9, FAR, "Radius."),
  INVERT_ROW,
  SHELL_ROW,
};

static const kp_param round_rows[] = {
  KP_PARAM(kp_shape_def, a, VEC3, "m", -FAR, FAR, "One end of the axis."),
  KP_PARAM(kp_shape_def, b, VEC3, "m", -FAR, FAR, "The other end of the axis."),
  KP_PARAM(kp_shape_def, radius, REAL, "m", 1e-9, FAR, "Radius around the axis."),
  INVERT_ROW,
  SHELL_ROW,
};

static const kp_param plane_rows[] = {
  KP_PARAM(kp_shape_def, point, VEC3, "m", -FAR, FAR, "A point of the plane."),
  KP_PARAM(kp_shape_def, normal, VEC3, "", -FAR, FAR,
           "Direction out of the solid, of any length but zero."),
  INVERT_ROW,
};

static const kp_param mesh_rows[] = {
  KP_PARAM_FILE(kp_shape_def, file, NULL,
                "OBJ or PLY file with a closed surface (a shell may be open), relative to the "
                "scene's folder."),
  KP_PARAM(kp_shape_def, scale, REAL, "", 1e-9, FAR, "Size factor, applied first."),
  KP_PARAM(kp_shape_def, rotate_deg, VEC3, "deg", -3600, 3600,
           "Turn about x, then y, then z (fixed axes), applied after the scale."),
  KP_PARAM(kp_shape_def, translate, VEC3, "m", -FAR, FAR, "Shift, applied last."),
  INVERT_ROW,
  SHELL_ROW,
};

kp_shape_def kp_default_shape_def(kp_shape_kind kind) {
  kp_shape_def def;
  memset(&def, 0, sizeof def);  // padding too: defs are hashed
  def.kind = kind;
  def.max = kp_vec3_make(1.0, 1.0, 1.0);
  def.radius = 0.5;
  def.b = kp_vec3_make(0.0, 1.0, 0.0);
  def.normal = kp_vec3_make(0.0, 1.0, 0.0);
  def.scale = 1.0;
  return def;
}

// name, kind, rows, sentence
#define KINDS(X)                                                                                   \
  X(box, KP_SHAPE_BOX, box_rows, "A box along the axes.")                                          \
  X(sphere, KP_SHAPE_SPHERE, sphere_rows, "A sphere; in 2D a circle.")                             \
  X(cylinder, KP_SHAPE_CYLINDER, round_rows, "A cylinder with flat ends.")                         \
  X(capsule, KP_SHAPE_CAPSULE, round_rows, "All points within a distance of a line segment.")      \
  X(plane, KP_SHAPE_PLANE, plane_rows, "The half space behind a plane.")                           \
  X(mesh, KP_SHAPE_MESH, mesh_rows, "A solid enclosed by triangles from a file.")

#define X(name, kind, rows, sentence)                                                              \
  static void set_default_##name(void *def) {                                                      \
    *(kp_shape_def *)def = kp_default_shape_def(kind);                                             \
  }                                                                                                \
  const kp_param_table kp_shape_##name##_params = {                                                \
    #name, sentence, rows, sizeof rows / sizeof *rows, sizeof(kp_shape_def), set_default_##name    \
  };
KINDS(X)
#undef X

const kp_param_table *const *kp_shape_tables(size_t *n) {
  static const kp_param_table *const tables[KP_SHAPE_KIND_COUNT] = {
#define X(name, kind, rows, sentence) [kind] = &kp_shape_##name##_params,
    KINDS(X)
#undef X
  };
  *n = KP_SHAPE_KIND_COUNT;
  return tables;
}
