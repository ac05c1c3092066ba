// Smoothing of surfaces after they were made.
//
//   hong     Hong 2009, section III.H: every vertex and its normal become the mean of all within a
//            radius, itself included, three or four times. Rubs out bumps and small features alike,
//            and takes volume.
//   normal   the same along normals only: the mean of all within a radius draws vertices together
//            into clumps, and triangles between them fold.
//   taubin   Taubin 1995: a step towards the mean of the neighbours along edges, then a longer one
//            back. Waves longer than some six edges keep their height, so features and volume stay.
//
// Vertices on the faces of a box stay on them. The result is the same for any number of threads.
#pragma once

#include "geom/sparse_lattice.h"

typedef enum kp_mesh_smoothing {
  KP_MESH_SMOOTHING_NONE,
  KP_MESH_SMOOTHING_HONG,
  KP_MESH_SMOOTHING_NORMAL,
  KP_MESH_SMOOTHING_TAUBIN,
  KP_MESH_SMOOTHING_COUNT
} kp_mesh_smoothing;

// Their names, NULL at the end.
extern const char *const kp_mesh_smoothing_names[];

typedef struct kp_mesh_smoother_def {
  kp_mesh_smoothing kind;
  int passes;
  double radius;  // m, of hong and normal
  kp_aabb box;    // m
  double near;    // m: vertices so near a face of the box lie on it
} kp_mesh_smoother_def;

// Memory that is kept from mesh to mesh; start from a zeroed struct.
typedef struct kp_mesh_smoother {
  kp_blocks cells;
  uint32_t *starts, *order, *cell_of;  // vertices by cell
  uint32_t *first, *beside;            // neighbours of each vertex along edges
  double *places;                      // x, y, z of vertices
  kp_vec3 *moved;
  float *normals;
} kp_mesh_smoother;

KP_NODISCARD kp_result kp_mesh_smoother_run(kp_mesh_smoother *s, const kp_mesh_smoother_def *how,
                                            kp_isosurface *mesh);
void kp_mesh_smoother_free(kp_mesh_smoother *s);
