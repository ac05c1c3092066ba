// Particles and surfaces for tests of fields and meshes.
#pragma once

#include "support/test.h"

#include "geom/mesh.h"
#include "geom/particle_surface.h"

// A cloud that grows.
typedef struct kp_test_cloud {
  int64_t n, room;
  double *x[3];
} kp_test_cloud;

void kp_test_cloud_add(kp_test_cloud *cloud, kp_vec3 p);
// The middles of cubes of edge d whose middle `inside` finds negative (NULL: all of the box), each
// shifted by up to `jitter` d.
void kp_test_cloud_fill(kp_test_cloud *cloud, kp_aabb box, double d, double (*inside)(kp_vec3 p),
                        double jitter);
kp_cloud kp_test_cloud_get(const kp_test_cloud *cloud);
void kp_test_cloud_free(kp_test_cloud *cloud);

// A surface and all that made it.
typedef struct kp_test_surface {
  kp_surfacer surfacer;
  kp_isosurface mesh;
} kp_test_surface;

// Makes it and checks that it is closed and encloses a positive volume.
void kp_test_surface_make(kp_test_surface *s, const kp_surfacing *how, const kp_test_cloud *cloud);
void kp_test_surface_free(kp_test_surface *s);
// Closed, every triangle with an area.
void kp_test_check_closed(const kp_isosurface *mesh);
double kp_test_surface_volume(const kp_isosurface *mesh);
int64_t kp_test_surface_euler(const kp_isosurface *mesh);
// Pieces that hang together by triangles, bubbles inside a liquid included.
int64_t kp_test_surface_pieces(const kp_isosurface *mesh);
// RMS angle [rad] between the triangles on either side of an edge whose middle lies in the box;
// infinite where there are next to none.
double kp_test_surface_dihedral(const kp_isosurface *mesh, const kp_aabb *box);
// Mean height of the vertices in a box and their RMS distance from it.
double kp_test_surface_height(const kp_isosurface *mesh, const kp_aabb *box, double *roughness);
