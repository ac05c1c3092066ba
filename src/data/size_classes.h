// Size classes: a population whose radii spread more than 2:1 is split into sets of like size, each
// with cells of its own edge, so that the large ones do not blow up the search of the small ones.
//
//   class    floor(log2(r / smallest)), a factor of 2 each; the last one includes its upper end
//   set      "name.0", "name.1", ...; ids are unique over all of them
//   edge     twice the largest radius the class is made for: the reach of a search within it
//
// Every contact pair is found exactly once by searching each pair of classes with the sum of their
// largest radii. (Hierarchical grids: Ericson 2005, section 7.2.)
//
// Radii below the smallest belong to the first class and those above the largest to the last one:
// what is found stays right, only the search gets slower.
#pragma once

#include "data/pairs.h"

#define KP_SIZE_CLASSES 32
#define KP_SIZE_PAIRS (KP_SIZE_CLASSES * (KP_SIZE_CLASSES + 1) / 2)

typedef struct kp_size_classes_def {
  kp_set_kind kind;  // members of tied sets never change their class
  int dimension;
  double smallest, largest;  // radii [m]
} kp_size_classes_def;

typedef struct kp_size_class {
  kp_set *set;
  kp_field *radius;  // REAL x 1
  kp_cells *cells;
  double largest;  // radius in the class, or more; 0 when it never had a member
} kp_size_class;

typedef struct kp_size_classes {
  kp_size_classes_def def;
  int count;
  kp_size_class classes[KP_SIZE_CLASSES];
  KP_ARRAY(uint64_t) staging;  // columns of particles on their way in
  KP_ARRAY(uint8_t) targets;   // scratch of update: the class of each element
  kp_buffer keep;
} kp_size_classes;

// How many classes radii of that range make; 1 up to 2:1.
int kp_size_classes_count(double smallest, double largest);

// The spaces stay in the registry, as with kp_set_destroy.
KP_NODISCARD kp_result kp_size_classes_create(kp_registry *registry, const char *name,
                                              const kp_size_classes_def *def,
                                              kp_size_classes **out);
void kp_size_classes_destroy(kp_size_classes **classes);

// The same fields for every class. After a failure the classes differ: give the population up.
KP_NODISCARD kp_result kp_size_classes_add_fields(kp_size_classes *classes,
                                                  const kp_field_desc *descs, size_t n);

// The class of a radius.
int kp_size_classes_find(const kp_size_classes *classes, double radius);

// Append particles with new ids in the order given. velocities may be NULL (zero). Nothing is added
// when memory is short.
KP_NODISCARD kp_result kp_size_classes_add(kp_size_classes *classes, int64_t n,
                                           const kp_vec3 *positions, const kp_vec3 *velocities,
                                           const double *radii);

// To be called after radii have changed, after a load and after a rewind: measures the largest
// radius of each class and moves particles that have outgrown theirs, with the values of all their
// fields, by a remove and an append. A pass of the host over the radii. n_moved may be NULL. After
// a failure a particle may be in two classes: rewind.
KP_NODISCARD kp_result kp_size_classes_update(kp_size_classes *classes, int64_t *n_moved);

// Sort and index every class.
KP_NODISCARD kp_result kp_size_classes_build(kp_size_classes *classes);

// One search: which cells, how far. `once`: both sides are one class, and pairs are told apart by
// id.
typedef struct kp_size_pair {
  kp_cells *i, *j;
  int i_class, j_class;
  double radius;
  bool once;
} kp_size_pair;

// The searches that find every contact pair exactly once: each pair of classes that have members,
// with i on the side that makes less work. Call it after build. Returns their number.
size_t kp_size_classes_pairs(const kp_size_classes *classes, kp_size_pair out[KP_SIZE_PAIRS]);

KP_NODISCARD kp_result kp_size_pair_job(const kp_size_pair *pair, kp_pair_job *out);
KP_NODISCARD kp_result kp_size_pair_lists(const kp_size_pair *pair, kp_pair_lists *lists);
