kp_sources(build.c defaults.c probes.c spec.c spec_check.c step.c world.c world_params.c)
