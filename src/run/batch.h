// A batch: the sections of one container with host copies of their items, so that the writer thread
// can work while the simulation goes on. Memory is kept between frames.
#pragma once

#include "base/array.h"
#include "io/container.h"
#include "world/world.h"

typedef struct kp_batch {
  kp_container_head head;
  KP_ARRAY(kp_section) sections;
  KP_ARRAY(void *) blocks;  // one per section ever used; blocks[i] holds the items of sections[i]
} kp_batch;

// Forget the sections, keep the memory, and fill the head for this moment of the world. Kind: 0
// frame, 1 checkpoint.
void kp_batch_begin(kp_batch *batch, kp_world *world, uint32_t kind, uint64_t frame);
void kp_batch_free(kp_batch *batch);

// Of the items of all sections.
size_t kp_batch_bytes(const kp_batch *batch);

// Add a section with room for its items, which the caller fills. Fails when the name does not fit.
KP_NODISCARD kp_result kp_batch_room(kp_batch *batch, kp_item_type type, uint64_t count,
                                     const char *unit, void **data, const char *name_format, ...)
    KP_PRINTF(6, 7);

// Add a section and copy the items.
KP_NODISCARD kp_result kp_batch_add(kp_batch *batch, const kp_section *section);

// All SAVE fields of the world: "state/<space>/<field>/<component>".
KP_NODISCARD kp_result kp_batch_add_state(kp_batch *batch, kp_world *world);

// True for the particles a user asked for: the samples of walls and movers are not.
bool kp_space_is_population(const kp_world *world, const kp_space *space);

// All EXPORT fields of particles and bodies, as frame files want them (io/frame_data.h). Samples of
// walls are left out.
KP_NODISCARD kp_result kp_batch_add_sets(kp_batch *batch, kp_world *world);

// All EXPORT fields of the grids' cells inside their windows, velocities averaged to the centres.
// Nothing else of a grid is copied from the device.
KP_NODISCARD kp_result kp_batch_add_volumes(kp_batch *batch, kp_world *world);

// The meshes and curves of all deformables: "mesh/<name>/..." and "curve/<name>/...".
KP_NODISCARD kp_result kp_batch_add_parts(kp_batch *batch, kp_world *world);

// What items of a field are in a file.
kp_item_type kp_item_type_of(kp_type type);

// Read a whole container. Every checksum is tested, so what comes back is sound.
KP_NODISCARD kp_result kp_batch_read(kp_batch *batch, kp_container *container);

// Refuses a checkpoint that cannot be of this world: of another kind, precision or layout.
KP_NODISCARD kp_result kp_batch_check_fit(const kp_container *container, const kp_world *world);

// Put the state of a batch made by kp_batch_add_state into a world of the same layout.
KP_NODISCARD kp_result kp_batch_restore(const kp_batch *batch, kp_world *world);

const kp_section *kp_batch_find(const kp_batch *batch, const char *name);

// The hash of what a container holds: of its sections' checksums in order. Both forms agree.
uint64_t kp_batch_hash(const kp_batch *batch);
uint64_t kp_container_hash(const kp_container *container);
