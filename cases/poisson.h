// Pressure systems of a given size for tests and bench: cubes (or squares) of `edge` cells with the
// boundaries a simulation meets.
#pragma once

#include "linalg/poisson.h"

typedef enum kp_case_poisson_kind {
  KP_CASE_CLOSED,   // a box with walls all around: singular
  KP_CASE_OPEN,     // its top is open
  KP_CASE_SURFACE,  // a wavy free surface inside, ghost fluid with theta down to 0.01
  KP_CASE_SPHERE,   // a solid sphere that cuts faces, open top
  KP_CASE_POCKETS,  // four by four by four chambers behind walls of one cell: singular each
  KP_CASE_POISSON_KINDS
} kp_case_poisson_kind;

typedef struct kp_case_poisson_def {
  const char *backend;
  kp_case_poisson_kind kind;
  int64_t edge;      // cells
  int dimension;     // 2 or 3
  bool is_periodic;  // across x
  int solver;        // kp_poisson_solver
  double tolerance;
  int max_iterations;
} kp_case_poisson_def;

typedef struct kp_case_poisson {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
  kp_buffer flags, faces[3], right, start, answer;
  kp_poisson *poisson;
  kp_poisson_system system;
} kp_case_poisson;

extern const char *const kp_case_poisson_names[];
kp_case_poisson_def kp_default_case_poisson_def(void);
KP_NODISCARD kp_result kp_case_poisson_create(const kp_case_poisson_def *def, kp_case_poisson *out);
void kp_case_poisson_destroy(kp_case_poisson *c);
// From p = 0 and the right side as it was at the start.
KP_NODISCARD kp_result kp_case_poisson_solve(kp_case_poisson *c, kp_poisson_report *report);
