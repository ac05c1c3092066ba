kp_sources(
  emitter.c
  flame.c
  force_field.c
  integrate.c
  medium.c
  medium_population.c
  motion.c
  region.c
  scatter.c
  walls.c)
kp_isa_sources(flame_cpu.c force_field_cpu.c integrate_cpu.c medium_cpu.c)
kp_cuda_sources(flame_cuda.cu force_field_cuda.cu integrate_cuda.cu medium_cuda.cu)

kp_sources(
  advect.c
  flow.c
  flow_force.c
  grid_params.c
  grid_solids.c
  release.c
  thrust.c
  viscous.c)
kp_isa_sources(
  advect_cpu.c
  flow_cpu.c
  grid_solids_cpu.c
  release_cpu.c
  thrust_cpu.c
  viscous_cpu.c)
kp_cuda_sources(
  advect_cuda.cu
  flow_cuda.cu
  grid_solids_cuda.cu
  release_cuda.cu
  thrust_cuda.cu
  viscous_cuda.cu)

kp_sources(grid_source.c vortex_particles.c vortices_params.c vorticity.c)
kp_isa_sources(grid_source_cpu.c vortex_particles_cpu.c vorticity_cpu.c)
kp_cuda_sources(grid_source_cuda.cu vortex_particles_cuda.cu vorticity_cuda.cu)

kp_sources(contact.c contact_bodies.c contact_resolve.c contact_zones.c)
kp_isa_sources(contact_cpu.c)
kp_cuda_sources(contact_cuda.cu)
