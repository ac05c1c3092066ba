// Solid shapes of a scene: what the user writes (kp_shape_def, kelpie/shape.h) and what is asked
// (kp_shape).
//
// Distances are signed and in metres: negative inside, positive outside, with slope at most one
// everywhere. `invert` exchanges inside and outside: an inverted box is a room. A built shape is
// constant; every query may run from any thread.
//
// A shape with `shell` is hollow: its surface, that thick, half to each side. Its mesh may be open.
//
// In two dimensions a shape stands for its section by the plane z = 0 (kp_shape_flatten), 1 m
// thick.
#pragma once

#include "base/param.h"
#include "geom/mesh.h"
#include "geom/shape_kernels.h"
#include "kelpie/shape.h"

extern const kp_param_table kp_shape_box_params;
extern const kp_param_table kp_shape_sphere_params;
extern const kp_param_table kp_shape_cylinder_params;
extern const kp_param_table kp_shape_capsule_params;
extern const kp_param_table kp_shape_plane_params;
extern const kp_param_table kp_shape_mesh_params;

// The tables in the order of kp_shape_kind; *n = KP_SHAPE_KIND_COUNT. A table's name is the word
// used in scenes ("box"), its set_default also sets `kind`.
const kp_param_table *const *kp_shape_tables(size_t *n);

// Unit size at the origin: box [0, 1]^3, radius 0.5, axis (0,0,0)-(0,1,0), plane y = 0 with normal
// +y.
kp_shape_def kp_default_shape_def(kp_shape_kind kind);

struct kp_mesh_query;

typedef struct kp_shape {
  kp_shape_def def;
  int dimension;               // 3; 2 after kp_shape_flatten
  kp_aabb bounds;              // of the surface; components are +-HUGE_VAL where it is unbounded
  double volume;               // [m^3], of the bounded side; HUGE_VAL for a plane
  struct kp_mesh_query *mesh;  // KP_SHAPE_MESH only
} kp_shape;

// Check the def and build the shape. A mesh file is sought relative to `folder` (the caller has
// checked that it stays inside; NULL means the working folder), must be closed, and is turned right
// side out. Fails with KP_ERROR_SCENE (sizes), KP_ERROR_IO or KP_ERROR_FORMAT (mesh file).
KP_NODISCARD kp_result kp_shape_build(const kp_shape_def *def, const char *folder,
                                      kp_shape **shape);
void kp_shape_destroy(kp_shape **shape);

// A solid in three dimensions becomes this closed mesh, which is taken over on success; bounds and
// volume follow.
KP_NODISCARD kp_result kp_shape_become(kp_shape *shape, kp_mesh *mesh);

// Turn the shape into its section by z = 0, unbounded in z: boxes ignore z, spheres become circles,
// cylinders and capsules whose axis runs along z become circles too (`def` changes accordingly:
// kind KP_SHAPE_SPHERE, centre in the plane). Distances are those of the section (for meshes and
// oblique axes: of the solid, which has the same sign and is never larger). Fails with
// KP_ERROR_SCENE when the plane z = 0 misses the shape.
KP_NODISCARD kp_result kp_shape_flatten(kp_shape *shape);

double kp_shape_distance(const kp_shape *shape, kp_vec3 p);

// Unit outward normal at the nearest point of the surface: the gradient of the distance.
kp_vec3 kp_shape_normal(const kp_shape *shape, kp_vec3 p);

// For kernels; not of meshes.
kp_shape_view kp_shape_view_of(const kp_shape *shape);

// Both at once.
double kp_shape_query(const kp_shape *shape, kp_vec3 p, kp_vec3 *normal);

// Bounds of the surface, and the volume it encloses (in 2D: area of the section times 1 m).
kp_aabb kp_shape_bounds(const kp_shape *shape);
double kp_shape_volume(const kp_shape *shape);

// True when the solid is bounded: no plane, not inverted.
bool kp_shape_is_bounded(const kp_shape *shape);

// For rigid bodies of density 1. Fails with KP_ERROR_SCENE for unbounded solids.
KP_NODISCARD kp_result kp_shape_mass_properties(const kp_shape *shape, kp_mass_properties *out);

// A closed mesh of the solid (in 2D: of the one that is cut) with edges of about `edge` metres
// along curved parts. Fails with KP_ERROR_SCENE for planes and boxes unbounded in z.
KP_NODISCARD kp_result kp_shape_tessellate(const kp_shape *shape, double edge, kp_mesh *mesh);
