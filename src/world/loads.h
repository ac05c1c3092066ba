// Which bodies are watched, and what each system of the world does to them. Forces on samples are
// looked at after every stage of a system, so that each gets its own; what a system did to a free
// body without telling is the change of its momentum.
#pragma once

#include "methods/method.h"

struct kp_world;
struct kp_system;

// Bodies that a probe tracks; when bodies are there and systems are not.
KP_NODISCARD kp_result kp_world_loads_watch(struct kp_world *world);
// Names what systems are called, when all are there.
KP_NODISCARD kp_result kp_world_loads_build(struct kp_world *world);

// Around a stage of a system.
void kp_world_loads_before(struct kp_world *world, const struct kp_system *system);
KP_NODISCARD kp_result kp_world_loads_after(struct kp_world *world, const struct kp_system *system,
                                            kp_stage stage);

// From now on, without anybody who takes rows: means are those of one call.
void kp_world_loads_begin(struct kp_world *world);
