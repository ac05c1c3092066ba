// A bag of triangles and segments with everything the contact module wants, for its tests: add
// pieces, close it, move nodes, ask.
#pragma once

#include "support/test.h"

#include "base/array.h"
#include "methods/common/contact.h"

typedef struct kp_bag {
  KP_ARRAY(kp_vec3) x;
  KP_ARRAY(double) mass;  // 0: moves as told
  KP_ARRAY(kp_index) object;
  KP_ARRAY(kp_index) triangles;
  KP_ARRAY(kp_index) segments;
  KP_ARRAY(kp_contact_object) objects;
  kp_contact_def def;
  double h;     // of all nodes, before the clamp
  double part;  // of the shortest edge
  // after close
  kp_backend *backend;
  kp_contact *contact;
  kp_buffer from[3], to[3], v[3], inverse_mass;
} kp_bag;

kp_bag kp_bag_make(void);
void kp_bag_free(kp_bag *bag);

// A rectangle origin + i/nx a + j/ny b of (nx + 1)(ny + 1) nodes of mass m, an object of its own;
// the number of its first node.
kp_index kp_bag_add_sheet(kp_bag *bag, kp_vec3 origin, kp_vec3 a, kp_vec3 b, int nx, int ny,
                          double m);
// A hair of n segments.
kp_index kp_bag_add_hair(kp_bag *bag, kp_vec3 origin, kp_vec3 end, int n, double m);

// Makes the contact; `to` = `from` = x, v = 0. The other tells what fails; it can be opened again.
void kp_bag_close(kp_bag *bag, kp_backend_kind backend);
KP_NODISCARD kp_result kp_bag_try_close(kp_bag *bag, kp_backend_kind backend);
void kp_bag_open(kp_bag *bag);

kp_index kp_bag_nodes(const kp_bag *bag);
kp_vec3 kp_bag_get(kp_bag *bag, kp_buffer field[3], kp_index i);
kp_vec3 kp_bag_velocity(kp_bag *bag, kp_index i);
void kp_bag_set(kp_bag *bag, kp_buffer field[3], kp_index i, kp_vec3 x);
void kp_bag_set_velocity(kp_bag *bag, kp_index i, kp_vec3 v);

// Pairs of triangles that intersect in `from` or `to`, by the exact test.
int64_t kp_bag_intersections(kp_bag *bag, kp_buffer field[3]);

// Pairs that collide between `from` and `to`, by all pairs; those of hair or with all nodes led are
// not counted.
int64_t kp_bag_collisions(kp_bag *bag);

void kp_bag_find(kp_bag *bag);
// Over a time of 1/60 s with inner steps of a sixteenth of it.
void kp_bag_resolve(kp_bag *bag);
// `from` = `to`
void kp_bag_accept(kp_bag *bag);
uint64_t kp_bag_hash(kp_bag *bag);
