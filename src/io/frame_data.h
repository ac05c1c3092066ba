// One frame in memory, as exporters and the renderer see it: plain arrays, no simulation behind it.
//
// Sections of a frame file (see container.h); <c> is x, y, z for three components, else 0, 1, ...
//
//   set/<name>/<field>/<c>        particles; every set has position/x|y|z
//   set/<name>/names              optional: a name for each of them, ended by a zero
//   mesh/<name>/vertices/x|y|z    triangle mesh
//   mesh/<name>/triangles         3 vertex indices per triangle (any integer type)
//   mesh/<name>/tetrahedra        of a solid, optional: 4 vertex indices each
//   mesh/<name>/velocity/x|y|z    m/s, optional
//   mesh/<name>/<field>/<c>       any other field per vertex
//   curve/<name>/points/x|y|z     all points of all curves
//   curve/<name>/offsets          first point of each curve, and the number of points at the end
//   curve/<name>/velocity/x|y|z   optional
//   curve/<name>/<field>/<c>      per point, e.g. radius/0
//   volume/<name>/dims            3 integers: cells in x, y, z
//   volume/<name>/origin          3 numbers: lower corner of cell (0, 0, 0) [m]
//   volume/<name>/spacing         1 number: edge of a cell [m]
//   volume/<name>/<field>/<c>     per cell, x fastest: density/0, temperature/0, velocity/x|y|z
//   meta/up_axis                  1 integer: 0 x, 1 y, 2 z; y when missing
//   meta/fps                      1 number; 0 when missing
//   meta/domain                   6 numbers: lower and upper corner; empty box when missing
//
// A mesh and curves of one name are one thing: knitwear and its yarn. It is drawn as its curves.
//
// Names hold no '/'. Lengths in metres, velocities in m/s. Any other section is skipped.
#pragma once

#include "io/container.h"
#include "kelpie/vec.h"

typedef struct kp_frame_field {
  char name[KP_SECTION_NAME_SIZE];
  char unit[KP_SECTION_UNIT_SIZE];
  kp_item_type type;
  int n_components;
  uint64_t count;  // items per component
  void **data;     // one array per component
} kp_frame_field;

typedef struct kp_frame_fields {
  kp_frame_field *items;
  size_t count;
} kp_frame_fields;

typedef struct kp_frame_set {
  char name[KP_SECTION_NAME_SIZE];
  uint64_t count;          // particles
  kp_frame_fields fields;  // position, velocity, id, density, ... in file order
  char *names;             // one after the other, each ended by a zero; NULL: they have none
  uint64_t names_size;     // bytes
} kp_frame_set;

typedef struct kp_frame_mesh {
  char name[KP_SECTION_NAME_SIZE];
  uint64_t n_vertices;
  kp_vec3 *vertices;
  kp_vec3 *velocities;  // NULL when the file has none
  uint64_t n_triangles;
  uint32_t *triangles;  // 3 per triangle, each below n_vertices, counter-clockwise from outside
  uint64_t n_tets;
  uint32_t *tets;  // 4 per tetrahedron; NULL: it is a surface
  kp_frame_fields fields;
} kp_frame_mesh;

typedef struct kp_frame_curves {
  char name[KP_SECTION_NAME_SIZE];
  uint64_t n_points;
  kp_vec3 *points;
  kp_vec3 *velocities;  // NULL when the file has none
  uint64_t n_curves;
  uint64_t *offsets;  // n_curves + 1, ascending from 0 to n_points
  kp_frame_fields fields;
} kp_frame_curves;

typedef struct kp_frame_volume {
  char name[KP_SECTION_NAME_SIZE];
  uint64_t dims[3];
  kp_vec3 origin;
  double spacing;
  kp_frame_fields fields;  // each of dims[0] * dims[1] * dims[2] cells
  float *density;          // the field density as float, NULL when there is none
} kp_frame_volume;

typedef struct kp_frame {
  uint64_t frame;
  double time;  // s
  int up_axis;
  double fps;
  kp_aabb domain;
  kp_frame_set *sets;
  size_t n_sets;
  kp_frame_mesh *meshes;
  size_t n_meshes;
  kp_frame_curves *curves;
  size_t n_curves;
  kp_frame_volume *volumes;
  size_t n_volumes;
} kp_frame;

// Everything a frame file holds. A file whose parts do not fit together is refused
// (KP_ERROR_FORMAT).
KP_NODISCARD kp_result kp_frame_load(const char *path, kp_frame **out);
KP_NODISCARD kp_result kp_frame_from_container(kp_container *container, kp_frame **out);
void kp_frame_free(kp_frame **frame);

// Write a frame file; layout hash, step, build and real size come from head, the rest from the
// frame.
KP_NODISCARD kp_result kp_frame_save(const char *path, const kp_container_head *head,
                                     const kp_frame *frame);

// By name; NULL when there is none.
const kp_frame_set *kp_frame_find_set(const kp_frame *frame, const char *name);
const kp_frame_mesh *kp_frame_find_mesh(const kp_frame *frame, const char *name);
const kp_frame_curves *kp_frame_find_curves(const kp_frame *frame, const char *name);
const kp_frame_volume *kp_frame_find_volume(const kp_frame *frame, const char *name);
const kp_frame_field *kp_frame_find_field(const kp_frame_fields *fields, const char *name);

// Liquids in frames by names: the mesh around one, or around several that are joined
// ("surface of a and b"), and the drops of what has come loose.
#define KP_SURFACE_OF "surface of "
#define KP_SURFACE_AND " and "
#define KP_SPRAY_OF "spray of "
bool kp_frame_is_surface(const kp_frame_mesh *mesh);
bool kp_frame_is_surface_of(const kp_frame_mesh *mesh, const char *liquid);
bool kp_frame_is_spray(const kp_frame_set *set);

// Knitwear that is drawn as yarn: its mesh is for programs that want a surface, not for pictures.
bool kp_frame_is_yarn(const kp_frame *frame, const kp_frame_mesh *mesh);

// One value as double (64-bit integers are rounded); component and index must be in range.
double kp_frame_value(const kp_frame_field *field, int component, uint64_t index);

// A whole component as numbers of one type, whatever the stored one.
void kp_frame_to_double(const kp_frame_field *field, int component, double *out);
void kp_frame_to_float(const kp_frame_field *field, int component, float *out);

// Half the median distance to the nearest neighbour over a few particles spread through the set:
// how large to draw them when nothing says it.
double kp_frame_set_radius(const kp_frame_set *set);

// Building a frame by hand. All memory belongs to the frame; new arrays are zero. A pointer
// returned through `out` is valid until the next object or field of the same kind is added.
KP_NODISCARD kp_result kp_frame_create(uint64_t frame_number, double time, kp_frame **out);
KP_NODISCARD kp_result kp_frame_add_set(kp_frame *frame, const char *name, uint64_t count,
                                        kp_frame_set **out);
KP_NODISCARD kp_result kp_frame_add_mesh(kp_frame *frame, const char *name, uint64_t n_vertices,
                                         uint64_t n_triangles, kp_frame_mesh **out);
KP_NODISCARD kp_result kp_frame_add_curves(kp_frame *frame, const char *name, uint64_t n_points,
                                           uint64_t n_curves, kp_frame_curves **out);
KP_NODISCARD kp_result kp_frame_add_volume(kp_frame *frame, const char *name,
                                           const uint64_t dims[3], kp_frame_volume **out);

typedef struct kp_frame_field_def {
  const char *name, *unit;
  kp_item_type type;
  int n_components;
  uint64_t count;
} kp_frame_field_def;

// Free with the frame, or, for fields outside of one, with kp_frame_fields_free.
KP_NODISCARD kp_result kp_frame_add_field(kp_frame_fields *fields, const kp_frame_field_def *def,
                                          kp_frame_field **out);

void kp_frame_fields_free(kp_frame_fields *fields);

// Name of component `index` of n: "x", "y", "z" for three, else the number (in `buffer`).
const char *kp_frame_component_name(int n_components, int index, char buffer[16]);
