// Force fields: accelerations inside a box, a sphere (a disc in 2D) or everywhere, constant or
// functions of time, for a while or for ever. They act on every particle medium and on free bodies
// whose centre they hold, or on one of them by name: streams driven by sources (Oezgen 2013,
// Fig. 4.5), and the inertial force of a container that is shaken.
#pragma once

#include "methods/method.h"

typedef struct kp_force_fields {
  const kp_force_def *defs;  // of the spec
  size_t n;
  int dimension;
  kp_buffer records;  // those that are on, for the kernel
} kp_force_fields;

// Shapes are boxes and spheres (world/spec_check.c). `defs` must stay.
KP_NODISCARD kp_result kp_force_fields_create(kp_backend *backend, const kp_force_def *defs,
                                              size_t n, int dimension, kp_force_fields **out);
void kp_force_fields_destroy(kp_force_fields **fields);

// Writes the records of the fields that are on for the population `name`, for kernels; how many.
KP_NODISCARD kp_result kp_force_fields_write(kp_force_fields *fields, const char *name, double time,
                                             int32_t *n);

// Adds to the accelerations of the population `name`, at env->time.
KP_NODISCARD kp_result kp_force_fields_add(kp_force_fields *fields, const kp_env *env, kp_set *set,
                                           kp_field *acceleration);

// The same for n elements of a set from `first` on, which are what `name` stands for: one of the
// deformables that share a set.
KP_NODISCARD kp_result kp_force_fields_add_to(kp_force_fields *fields, const kp_env *env,
                                              const char *name, kp_set *set, int64_t first,
                                              int64_t n, kp_field *acceleration);

// The same for one point, for bodies [m/s^2].
kp_vec3 kp_force_fields_at(const kp_force_fields *fields, const char *name, double time, kp_vec3 p);

// The speed a field can give across the domain, sqrt(2 a L), with its largest acceleration [m/s].
double kp_force_fields_speed(const kp_force_fields *fields, const kp_domain_def *domain);
