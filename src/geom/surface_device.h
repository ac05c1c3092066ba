// Surfaces of particles on the device of a backend: from particles that lie there to a mesh that
// lies there, the same as kp_surfacer_fill and kp_marching_blocks make of the particles on the
// host. Particles are sorted into blocks by number, blocks exist around them, every sample gathers
// on its own.
#pragma once

#include "geom/marching_device.h"
#include "geom/particle_surface.h"

typedef struct kp_device_cloud {
  int64_t n;
  kp_buffer *x, *y, *z;  // kp_pos [m]
  kp_buffer *size;       // float, as in kp_cloud; NULL: 1
} kp_device_cloud;

// Kept from surface to surface.
typedef struct kp_device_surfacer {
  kp_backend *backend;
  kp_surfacer plan;  // how, and its numbers; no arrays
  kp_device_blocks blocks;
  kp_device_mesh mesh;
  kp_buffer keys, order;        // of particles by block
  kp_buffer counts;             // of particles, blocks, samples while they are numbered
  kp_buffer candidates, ranks;  // blocks that may exist
  kp_buffer numbers, starts;    // of blocks
  kp_buffer near, moved, home;  // of particles by block
  kp_buffer attributes, drops, other;
  kp_buffer averages;
  kp_buffer spray;  // of each particle
} kp_device_surfacer;

void kp_device_surfacer_init(kp_device_surfacer *s, kp_backend *backend);
void kp_device_surfacer_free(kp_device_surfacer *s);

// As kp_surfacer_fill; the samples are those of s->blocks.
KP_NODISCARD kp_result kp_device_surfacer_fill(kp_device_surfacer *s, const kp_surfacing *how,
                                               const kp_device_cloud *cloud);
// As kp_surfacer_spray.
KP_NODISCARD kp_result kp_device_surfacer_spray(kp_device_surfacer *s, int64_t n, float *out);
// The mesh s->mesh where the field is zero.
KP_NODISCARD kp_result kp_device_surfacer_march(kp_device_surfacer *s);
// As kp_surfacer_average for points (kp_vec3) of a buffer; the means alone are copied.
KP_NODISCARD kp_result kp_device_surfacer_average(kp_device_surfacer *s,
                                                  const kp_device_cloud *cloud, kp_buffer *points,
                                                  int64_t n, int n_values, kp_buffer *const *values,
                                                  float *const *out);
