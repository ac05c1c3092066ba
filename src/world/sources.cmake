kp_sources(build.c defaults.c loads.c probe_patch.c probes.c spec.c spec_check.c spec_sizes.c step.c world.c
  world_params.c)
