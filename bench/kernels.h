// `kelpie bench kernels`: every kernel of every list, launched by small worlds, run a second time
// on the CPU from the same bits and compared.
#pragma once

#include "cases/cases.h"

// Every kernel of the library.
extern const kp_kernel *const kp_kernel_list[];
extern const size_t kp_n_kernels;

// Worlds that together launch every kernel a step can launch.
size_t kp_kernel_worlds(void);
kp_dam_break_def kp_kernel_world(size_t k, int64_t particles);

// Worlds of other media, said with the public API: domain, settings and entities.
typedef struct kp_kernel_medium {
  const char *name;
  kp_result (*add)(kp_world *world, int64_t particles);
  kp_result (*start)(kp_world *world);  // after it was built; NULL: nothing
} kp_kernel_medium;
extern const kp_kernel_medium kp_kernel_media[];
extern const size_t kp_n_kernel_media;
// A gas that does everything gases can, with about so many cells.
KP_NODISCARD kp_result kp_kernel_add_gas(kp_world *world, int64_t particles);

// Fills an empty world with a flow of about so many cells and takes a few steps of it.
KP_NODISCARD kp_result kp_kernel_add_solids(kp_world *world, int64_t particles);
KP_NODISCARD kp_result kp_kernel_add_sheets(kp_world *world, int64_t particles);
KP_NODISCARD kp_result kp_kernel_add_hubs(kp_world *world, int64_t particles);
KP_NODISCARD kp_result kp_kernel_bend_solids(kp_world *world);
KP_NODISCARD kp_result kp_kernel_flow(kp_world *world, int64_t cells);

// Casts n rays through a mesh, balls and strokes, and makes a picture of a slab of water.
KP_NODISCARD kp_result kp_kernel_rays(kp_backend *backend, int64_t n);

// Makes the surfaces of n particles from every field.
KP_NODISCARD kp_result kp_kernel_surfaces(kp_backend *backend, int64_t n);

typedef struct kp_kernels_def {
  const char *backend;
  int64_t particles;  // of each world
  bool json;
} kp_kernels_def;

// Prints a row per kernel. *is_right: all were launched and none differed more than rounding.
KP_NODISCARD kp_result kp_kernels_check(const kp_kernels_def *def, bool *is_right);
