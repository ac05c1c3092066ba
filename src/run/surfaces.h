// Surfaces of liquids as meshes of a frame: "mesh/surface of <liquid>/..." with the velocity and
// the normal of every vertex: that of its level set, or one around its particles. Every liquid has
// one unless the scene says otherwise.
#pragma once

#include "base/param.h"
#include "geom/grid_surface.h"
#include "geom/mesh_smooth_device.h"
#include "geom/surface_depth.h"
#include "geom/surface_device.h"
#include "run/band_points.h"
#include "run/batch.h"
#include "run/spray_set.h"

typedef struct kp_surface_out {
  uint32_t cookie;
  char from[KP_TEXT_SIZE];  // a liquid, "all" or "none"; "": all
  int field;                // kp_surface_kind
  double level;             // of the field; 0: its own
  double voxel;             // spacings of particles between samples
  double reach;             // spacings: particles so far away count; 0: the field's own
  int64_t smooth;           // passes; -1: the field's own
  int mesh_smoothing;       // kp_mesh_smoothing
  int64_t mesh_passes;
  double mesh_radius;  // voxels
  bool join;           // liquids of particles have one surface together
  bool depth;          // particles carry how deep they lie
  bool spray;          // what is loose becomes drops
  double spray_share;  // of the neighbours inside a liquid, below which a particle is loose
  double spray_drops;  // of a particle
  double spray_volume;
  double spray_spread;    // spacings
  double spray_thickest;  // Pa s
} kp_surface_out;

kp_surface_out kp_default_surface_out(void);
extern const kp_param_table kp_surface_params;

// A liquid that has a surface.
typedef struct kp_liquid_surface {
  char name[KP_NAME_SIZE];
  kp_mac *mac;  // with its distance, or NULL
  kp_field *distance;
  kp_space *particles;  // or NULL
  kp_mac *below;        // of a narrow band of particles: the grid with the rest, or NULL
  kp_field *depth;      // of its cells
  double spacing;       // m, of the particles
  bool sprays;
  bool is_coarse;  // their grid knows nothing finer than two spacings
  size_t n_parts;  // the surface goes around this liquid and the next n_parts - 1
} kp_liquid_surface;

#define KP_SURFACE_ARRAYS 19  // places and what else is carried over from particles

typedef struct kp_surfaces {
  kp_surface_out how;
  KP_ARRAY(kp_liquid_surface) items;
  kp_surfacer surfacer;  // memory for one liquid at a time
  kp_surface_depth depth;
  kp_grid_surface grid;               // of a level set
  void *gathered[KP_SURFACE_ARRAYS];  // of liquids that are joined, one after the other
  kp_device_surfacer device;          // the same where particles lie on a device, and its mesh
  kp_device_smoother device_smoother;
  kp_buffer joined[KP_SURFACE_ARRAYS];
  kp_band_points below;  // of the liquid at hand
  kp_isosurface mesh;
  kp_mesh_smoother smoother;
  kp_buffer points;  // the vertices of a mesh of the host
  float *spray;      // of each particle
} kp_surfaces;

// Which liquids of a built world have one. Refuses a name that no liquid has.
KP_NODISCARD kp_result kp_surfaces_begin(kp_surfaces *surfaces, const kp_surface_out *how,
                                         kp_world *world);
void kp_surfaces_free(kp_surfaces *surfaces);

// The meshes at this moment.
KP_NODISCARD kp_result kp_surfaces_add(kp_surfaces *surfaces, kp_world *world, kp_batch *batch);
