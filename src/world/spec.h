// The spec: everything a scene or a program says about a world, as checked defs. Building a world
// reads it and never changes it. Curves and texts are owned by the spec.
#pragma once

#include "base/array.h"
#include "base/names.h"
#include "base/param.h"
#include "kelpie/types.h"

// Everything a scene may say, in lists: settings blocks of methods, each X(word), and named
// entities, each X(word, plural). For word there are kp_word_def, kp_default_word_def and
// kp_word_params, and for entities kp_spec_add_word.
#define KP_SPEC_BLOCKS(X)                                                                          \
  X(sph)                                                                                           \
  X(springs)                                                                                       \
  X(stf)                                                                                           \
  X(dem)                                                                                           \
  X(mps)                                                                                           \
  X(grid)                                                                                          \
  X(vortex_fire)                                                                                   \
  X(level_set)                                                                                     \
  X(flip)                                                                                          \
  X(marker)                                                                                        \
  X(rigid)                                                                                         \
  X(solids)

// Entities that hold particles, which emitters may feed: their defs have name, shape, empty,
// spacing and velocity.
#define KP_SPEC_POPULATIONS(X)                                                                     \
  X(liquid, liquids)                                                                               \
  X(grains, grains)

// Entities of so many particles at random places: their defs have name and particles.
#define KP_SPEC_CLOUDS(X)                                                                          \
  X(plasma, plasmas)                                                                               \
  X(fire, fires)

// Gases on grids, which sources feed: their defs have name, shape, empty and velocity.
#define KP_SPEC_GASES(X) X(smoke, smokes)

#define KP_SPEC_ENTITIES(X)                                                                        \
  KP_SPEC_POPULATIONS(X)                                                                           \
  KP_SPEC_CLOUDS(X)                                                                                \
  KP_SPEC_GASES(X)                                                                                 \
  X(source, sources)                                                                               \
  X(vortices, swarms)                                                                              \
  X(cloth, cloths)                                                                                 \
  X(soft, softs)                                                                                   \
  X(hair, hairs)                                                                                   \
  X(pin, pins)                                                                                     \
  X(wind, winds)                                                                                   \
  X(immersion, immersions)                                                                         \
  X(limit, limits)                                                                                 \
  X(collider, colliders)                                                                           \
  X(morph, morphs)                                                                                 \
  X(body, bodies)                                                                                  \
  X(emitter, emitters)                                                                             \
  X(sink, sinks)                                                                                   \
  X(force, forces)                                                                                 \
  X(probe, probes)

#define KP_SPEC_BLOCK_MEMBER(word) kp_##word##_def word;
#define KP_SPEC_ENTITY_MEMBER(word, plural) KP_ARRAY(kp_##word##_def) plural;

typedef struct kp_spec {
  kp_domain_def domain;
  kp_simulation_def simulation;
  KP_SPEC_BLOCKS(KP_SPEC_BLOCK_MEMBER)
  KP_SPEC_ENTITIES(KP_SPEC_ENTITY_MEMBER)
  KP_ARRAY(double *) owned;  // curve samples
  kp_names names;            // of all entities
  char folder[1024];         // where meshes are
} kp_spec;

// What all populations have in common; points into the spec.
typedef struct kp_population_def {
  const char *word, *name;
  const kp_shape_def *shape;
  bool empty;
  double spacing;
  kp_vec3 velocity;
  const kp_vec_lattice *velocity_at;
  int64_t particles;  // of a cloud, which has no shape here and is not fed; else 0
} kp_population_def;
typedef KP_ARRAY(kp_population_def) kp_population_defs;
KP_NODISCARD kp_result kp_spec_populations(const kp_spec *spec, kp_population_defs *out);

void kp_spec_init(kp_spec *spec);
void kp_spec_free(kp_spec *spec);

// Checks the cookie, the parameter ranges and that the name is new; copies curve samples; keeps
// entities ordered by name, so a world does not depend on the order in which they were said.
#define KP_SPEC_DECLARE_ADD(word, plural)                                                          \
  KP_NODISCARD kp_result kp_spec_add_##word(kp_spec *spec, const kp_##word##_def *def);
KP_SPEC_ENTITIES(KP_SPEC_DECLARE_ADD)

// Checks that need the whole: something can ever be in the world, emitters name liquids, meshes
// exist, estimated memory fits. Warnings go to the log.
KP_NODISCARD kp_result kp_spec_check(const kp_spec *spec);

// Range check of one def against its table; the sentence names entity, key, value and range.
KP_NODISCARD kp_result kp_params_check(const kp_param_table *table, const void *def,
                                       const char *name);

// The parameter tables, by name; those of methods are in their folders.
#define KP_SPEC_DECLARE_BLOCK_TABLE(word) extern const kp_param_table kp_##word##_params;
#define KP_SPEC_DECLARE_TABLE(word, plural) extern const kp_param_table kp_##word##_params;
extern const kp_param_table kp_domain_params, kp_simulation_params, kp_output_params;
KP_SPEC_BLOCKS(KP_SPEC_DECLARE_BLOCK_TABLE)
KP_SPEC_ENTITIES(KP_SPEC_DECLARE_TABLE)
