// What a world will be made of, counted before any of it is made: the one cost model behind the
// refusal of scenes that do not fit into memory and the figure `kelpie check` prints.
#pragma once

#include "base/array.h"
#include "world/spec.h"

// So many things of one entity.
typedef struct kp_spec_size {
  const char *word, *name;  // of the entity; point into the spec or are constant
  const char *what;         // "particles", "cells", ...
  const char *key;          // what would make it less
  double n, bytes;          // of memory, with what the solver needs besides
} kp_spec_size;

typedef KP_ARRAY(kp_spec_size) kp_spec_sizes;

// All that a spec asks for, which is checked on the way (spec_check.c). Freed with kp_array_free.
KP_NODISCARD kp_result kp_spec_count(const kp_spec *spec, kp_spec_sizes *sizes);

// Spacing of samples of solids that do not say their own: the finest liquid, which needs them for
// its density; grains do not mind. Infinite: nobody needs samples.
double kp_spec_finest_spacing(const kp_spec *spec);

// Layers of samples behind the closed faces of the domain: as many as any method wants to see.
int kp_spec_wall_layers(const kp_spec *spec);

// Particles of a population that fills a volume within a box; in 2D both are of the plane. A cloud
// says how many it has.
KP_NODISCARD kp_result kp_spec_sizes_add_particles(kp_spec_sizes *sizes, const kp_spec *spec,
                                                   const kp_population_def *p, double volume,
                                                   kp_aabb box);

// Samples over an area (in 2D a length) [m^2].
KP_NODISCARD kp_result kp_spec_sizes_add_samples(kp_spec_sizes *sizes, const kp_spec *spec,
                                                 const char *word, const char *name, double area,
                                                 double spacing, double layers);

// All that does not depend on shapes of entities: walls of the domain, grids, cloth, hair, emitters
// and probes.
KP_NODISCARD kp_result kp_spec_sizes_add_rest(kp_spec_sizes *sizes, const kp_spec *spec);

// Of a soft body in these bounds with this volume.
KP_NODISCARD kp_result kp_spec_sizes_add_soft(kp_spec_sizes *sizes, const kp_soft_def *def,
                                              kp_aabb box, double volume);

// Fails when all of it needs more memory than the machine or simulation.memory_limit has, or when
// one entity has more than can be numbered; the sentence names the largest.
KP_NODISCARD kp_result kp_spec_sizes_check(const kp_spec_sizes *sizes, const kp_spec *spec);

double kp_spec_sizes_bytes(const kp_spec_sizes *sizes);
