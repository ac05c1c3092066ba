// The spec: everything a scene or a program says about a world, as checked defs. Building a world
// reads it and never changes it. Curves and texts are owned by the spec.
#pragma once

#include "base/array.h"
#include "base/param.h"
#include "kelpie/types.h"

typedef struct kp_spec {
  kp_domain_def domain;
  kp_simulation_def simulation;
  kp_sph_def sph;
  KP_ARRAY(kp_liquid_def) liquids;
  KP_ARRAY(kp_collider_def) colliders;
  KP_ARRAY(kp_body_def) bodies;
  KP_ARRAY(kp_emitter_def) emitters;
  KP_ARRAY(kp_sink_def) sinks;
  KP_ARRAY(double *) owned;  // curve samples
  char folder[1024];         // where meshes are
} kp_spec;

void kp_spec_init(kp_spec *spec);
void kp_spec_free(kp_spec *spec);

// Checks the cookie, the parameter ranges and that the name is new; copies curve samples; keeps
// entities ordered by name, so a world does not depend on the order in which they were said.
KP_NODISCARD kp_result kp_spec_add_liquid(kp_spec *spec, const kp_liquid_def *def);
KP_NODISCARD kp_result kp_spec_add_collider(kp_spec *spec, const kp_collider_def *def);
KP_NODISCARD kp_result kp_spec_add_body(kp_spec *spec, const kp_body_def *def);
KP_NODISCARD kp_result kp_spec_add_emitter(kp_spec *spec, const kp_emitter_def *def);
KP_NODISCARD kp_result kp_spec_add_sink(kp_spec *spec, const kp_sink_def *def);

// Checks that need the whole: something can ever be in the world, emitters name liquids, meshes
// exist, estimated memory fits. Warnings go to the log.
KP_NODISCARD kp_result kp_spec_check(const kp_spec *spec);

// Range check of one def against its table; the sentence names entity, key, value and range.
KP_NODISCARD kp_result kp_params_check(const kp_param_table *table, const void *def,
                                       const char *name);

// The parameter tables of all entities, by name.
extern const kp_param_table kp_domain_params, kp_simulation_params, kp_liquid_params,
    kp_collider_params, kp_body_params, kp_emitter_params, kp_sink_params, kp_output_params;
extern const kp_param_table kp_sph_params;  // methods/sph/sph_params.c
