// Particle sets. Each population is a set on a common origin. Free sets (liquids, grains) are
// physically sorted by cell, x fastest, ties by id. Tied sets (cloth, hair, boundary samples) never
// move in memory; their grid keeps an order.
#pragma once

#include "data/field.h"
#include "kelpie/vec.h"

typedef enum kp_set_kind { KP_SET_FREE, KP_SET_TIED, KP_SET_GHOST } kp_set_kind;

typedef struct kp_set {
  kp_set_kind kind;
  int dimension;  // 2: z and vz stay zero
  kp_space *space;
  kp_field *position;  // POS x 3
  kp_field *velocity;  // REAL x 3
  kp_field *id;        // U64
  kp_gid next_id;      // kept in a GLOBAL field by the world
  struct kp_cells *cells;
  KP_ARRAY(double) staging;  // components of particles on their way in
} kp_set;

// The space "name" of the registry owns the fields; destroying a set leaves it. Ghost sets are not
// saved.
KP_NODISCARD kp_result kp_set_create(kp_registry *registry, const char *name, kp_set_kind kind,
                                     int dimension, kp_set **out);
void kp_set_destroy(kp_set **set);

// Append particles with new ids. velocities may be NULL (zero). In two dimensions z is set to zero.
KP_NODISCARD kp_result kp_set_add(kp_set *set, int64_t n, const kp_vec3 *positions,
                                  const kp_vec3 *velocities);
