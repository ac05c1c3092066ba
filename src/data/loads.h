// Loads: force and torque of each medium on the bodies that are watched. A medium tells the forces
// of a sub-step (set, add) or impulses (push). Impulses are summed until somebody takes them, so
// that a mean over many sub-steps misses no impact. The sums are state: a resumed run goes on with
// them, and a retry goes back with them.
#pragma once

#include "data/field.h"
#include "kelpie/types.h"

// About the centre of mass, of colliders about their position; or the integrals over time.
typedef struct kp_load {
  kp_vec3 force;   // N, or N s
  kp_vec3 torque;  // N m, or N m s
} kp_load;

#define KP_LOADS_NONE (-1)

typedef struct kp_load_medium {
  char name[KP_NAME_SIZE];
  bool is_one_way;  // free bodies do not feel it: it is no part of their sum
} kp_load_medium;

typedef struct kp_loads {
  kp_space *space;             // one item per watched body and medium
  kp_field *impulse, *moment;  // F64 x 3, SAVE
  kp_field *since;             // F64, SAVE: when they were last taken [s]
  KP_ARRAY(kp_index) bodies;   // watched; the same one may be watched twice
  KP_ARRAY(kp_load_medium) media;
  KP_ARRAY(kp_load) step;        // bodies x media: forces of this sub-step
  KP_ARRAY(kp_load) on_samples;  // of each body, when last looked at
  KP_ARRAY(kp_load) before;      // momentum of each body before a stage
  KP_ARRAY(kp_load) kept;        // see kp_loads_keep
  int current;                   // medium of the system whose turn it is
} kp_loads;

KP_NODISCARD kp_result kp_loads_create(kp_registry *registry, kp_loads **out);
void kp_loads_destroy(kp_loads **loads);

// Before kp_loads_close. A name that is known gives its number.
KP_NODISCARD kp_result kp_loads_watch(kp_loads *loads, kp_index body);
KP_NODISCARD kp_result kp_loads_medium(kp_loads *loads, const char *name, bool is_one_way,
                                       int *medium);
KP_NODISCARD kp_result kp_loads_close(kp_loads *loads);

// `loads` may be NULL in all that follows: then nobody watches.
bool kp_loads_watches(const kp_loads *loads, kp_index body);
// A force of this sub-step: the only one of the medium, or one more.
void kp_loads_set(kp_loads *loads, kp_index body, int medium, kp_load force);
void kp_loads_add(kp_loads *loads, kp_index body, int medium, kp_load force);
void kp_loads_push(kp_loads *loads, kp_index body, int medium, kp_load impulse);
// The forces of the sub-step begin anew, or become impulses of dt.
void kp_loads_clear(kp_loads *loads);
void kp_loads_commit(kp_loads *loads, double dt);

// Where a method may have to go back within a sub-step: the impulses so far, and back to them.
KP_NODISCARD kp_result kp_loads_keep(kp_loads *loads);
void kp_loads_go_back(kp_loads *loads);

// Means of all media on the k-th watched body since they were taken; NaN where no time has passed.
void kp_loads_mean(const kp_loads *loads, size_t k, double time, kp_load *media);
void kp_loads_take(kp_loads *loads, size_t k, double time);

static inline kp_load kp_load_sum(kp_load a, double s, kp_load b) {
  return (kp_load){ kp_vec3_madd(a.force, s, b.force), kp_vec3_madd(a.torque, s, b.torque) };
}
