// A world: make it, add things, build it, step it, read it. Not thread safe: one thread drives a
// world; the world uses the machine's cores by itself. Several worlds may live at once.
//
//   kp_world *world;
//   kp_world_create("cpu", &world);
//   kp_liquid_def water = kp_default_liquid_def();
//   ...
//   kp_world_add_liquid(world, &water);
//   kp_world_build(world);
//   kp_world_advance(world, 1.0 / 60.0, NULL);
//   kp_world_read(world, "water", "position", 0, x, n);
//   kp_world_destroy(&world);
#pragma once

#include "kelpie/report.h"
#include "kelpie/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kp_world kp_world;

// backend: "cpu", "mirror" or "cuda".
KP_API KP_NODISCARD kp_result kp_world_create(const char *backend, kp_world **out);
KP_API void kp_world_destroy(kp_world **world);

// Before kp_world_build. Names are unique over all entities. Defs are copied.
KP_API KP_NODISCARD kp_result kp_world_set_domain(kp_world *world, const kp_domain_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_simulation(kp_world *world,
                                                      const kp_simulation_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_sph(kp_world *world, const kp_sph_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_springs(kp_world *world, const kp_springs_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_stf(kp_world *world, const kp_stf_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_mps(kp_world *world, const kp_mps_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_grid(kp_world *world, const kp_grid_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_level_set(kp_world *world, const kp_level_set_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_flip(kp_world *world, const kp_flip_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_marker(kp_world *world, const kp_marker_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_liquid(kp_world *world, const kp_liquid_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_plasma(kp_world *world, const kp_plasma_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_fire(kp_world *world, const kp_fire_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_vortex_fire(kp_world *world,
                                                       const kp_vortex_fire_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_smoke(kp_world *world, const kp_smoke_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_source(kp_world *world, const kp_source_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_vortices(kp_world *world, const kp_vortices_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_dem(kp_world *world, const kp_dem_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_grains(kp_world *world, const kp_grains_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_rigid(kp_world *world, const kp_rigid_def *def);
KP_API KP_NODISCARD kp_result kp_world_set_solids(kp_world *world, const kp_solids_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_cloth(kp_world *world, const kp_cloth_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_soft(kp_world *world, const kp_soft_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_hair(kp_world *world, const kp_hair_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_pin(kp_world *world, const kp_pin_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_wind(kp_world *world, const kp_wind_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_immersion(kp_world *world, const kp_immersion_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_limit(kp_world *world, const kp_limit_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_collider(kp_world *world, const kp_collider_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_morph(kp_world *world, const kp_morph_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_body(kp_world *world, const kp_body_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_emitter(kp_world *world, const kp_emitter_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_sink(kp_world *world, const kp_sink_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_force(kp_world *world, const kp_force_def *def);
KP_API KP_NODISCARD kp_result kp_world_add_probe(kp_world *world, const kp_probe_def *def);
// Folder in which mesh files are looked for; default is the current one.
KP_API KP_NODISCARD kp_result kp_world_set_folder(kp_world *world, const char *folder);

// Makes model and state. After it the defs are fixed.
KP_API KP_NODISCARD kp_result kp_world_build(kp_world *world);

// One sub-step of at most `longest` seconds (the world may choose less).
KP_API KP_NODISCARD kp_result kp_world_step(kp_world *world, double longest,
                                            kp_step_report *report);
// Sub-steps until exactly `seconds` have passed, with the world's policy for trouble. report may be
// NULL.
KP_API KP_NODISCARD kp_result kp_world_advance(kp_world *world, double seconds,
                                               kp_step_report *report);

KP_API double kp_world_time(const kp_world *world);
KP_API int64_t kp_world_steps(const kp_world *world);
KP_API int64_t kp_world_count(const kp_world *world, const char *set);  // -1: no such set

// Copy a field's component as double: the first n items, or all where there are fewer.
KP_API KP_NODISCARD kp_result kp_world_read(kp_world *world, const char *set, const char *field,
                                            int component, double *out, int64_t n);

// Looks through the probe at the present state: the first n regions, x fastest, and how many there
// are.
KP_API KP_NODISCARD kp_result kp_world_probe_now(kp_world *world, const char *name,
                                                 kp_probe_value *out, int64_t n, int64_t *count);

// Hash of the whole state.
KP_API KP_NODISCARD kp_result kp_world_hash(kp_world *world, uint64_t *out);

// A user force, called once per force evaluation and set: add to the accelerations. A free body is
// a set of one element under its name, its centre of mass. The elements of a fluid on a grid (FLIP
// and other liquids of grids, gases) are the faces of its cells, under the name of the liquid or
// gas ("flip" where several liquids share the grid), and of what is added at a face the component
// across it counts. Runs on the host, so on a device backend it costs copies.
typedef struct kp_force_view {
  const char *set;
  int64_t n;
  double time;
  const kp_pos *x, *y, *z;      // m
  const kp_real *vx, *vy, *vz;  // m/s
  kp_real *ax, *ay, *az;        // m/s^2, to be added to
} kp_force_view;
typedef void (*kp_force_fn)(const kp_force_view *view, void *user);
KP_API void kp_world_set_force(kp_world *world, kp_force_fn fn, void *user);

#ifdef __cplusplus
}
#endif
