// How the parts of a frame become those of a scene of the renderer: what the files behind
// scene_from_frame.h share.
//
//   scene_from_frame.c  which look everything has, and life
//   scene_fields.c      values that colour elements, as arrays
//   scene_points.c      sets of particles
//   scene_meshes.c      meshes: normals, creases, surfaces of liquids
//   scene_carry.c       values of particles and cells at the vertices of surfaces
//   scene_curves.c      hairs and yarn as lines
//   scene_volumes.c     smoke and fire
#pragma once

#include "base/array.h"
#include "render/scene_from_frame.h"

struct kp_frame_scene {
  kp_render_scene scene;
  KP_ARRAY(void *) blocks;  // copies made here
  kp_render_points *points;
  kp_render_mesh *meshes;
  kp_render_lines *lines;
  kp_render_volume *volumes;
};

// What a look is applied to.
typedef struct kp_scene_element {
  const char *kind, *name;
  const kp_frame_fields *fields;
  const kp_vec3 *velocities;  // meshes and curves; NULL when they have none
  uint64_t count;
} kp_scene_element;

// Zeroed memory that lives as long as the scene; NULL: there is none.
void *kp_scene_take(kp_frame_scene *scene, uint64_t count, size_t size);

KP_NODISCARD kp_result kp_scene_no_such_field(const kp_scene_element *element, const char *wanted);
// A field as one float per element; vectors by their length.
KP_NODISCARD kp_result kp_scene_field_as_scalar(kp_frame_scene *scene,
                                                const kp_scene_element *element,
                                                const kp_frame_field *field, const float **out);
// The values that colour an element; *out is NULL when its look names no field. "speed" is the
// length of the velocity where no field has that name.
KP_NODISCARD kp_result kp_scene_find_scalar(kp_frame_scene *scene, const kp_scene_element *element,
                                            const kp_look_def *look, const float **out);
// Three components of a field as arrays; left alone where there is no such field.
KP_NODISCARD kp_result kp_scene_find_vectors(kp_frame_scene *scene, const kp_frame_fields *fields,
                                             const char *name, uint64_t count, const float **out);

// look: NULL, one that suits its kind.
KP_NODISCARD kp_result kp_scene_add_set(kp_frame_scene *scene, const kp_frame_set *set,
                                        const kp_look_def *look, double radius);
// liquid: of the liquid it is the surface of, or NULL.
KP_NODISCARD kp_result kp_scene_add_mesh(kp_frame_scene *scene, const kp_frame *frame,
                                         const kp_frame_mesh *mesh, const kp_look_def *look,
                                         const kp_look_def *liquid);
// A field of the particles or cells of a surface's liquids at its vertices; *out is NULL where none
// of them has it.
KP_NODISCARD kp_result kp_scene_carry(kp_frame_scene *scene, const kp_frame *frame,
                                      const kp_frame_mesh *mesh, const char *name,
                                      const float **out);
KP_NODISCARD kp_result kp_scene_add_curves(kp_frame_scene *scene, const kp_frame_curves *curves,
                                           const kp_look_def *look, double size);
KP_NODISCARD kp_result kp_scene_add_volume(kp_frame_scene *scene, const kp_frame_volume *volume,
                                           const kp_look_def *look);
