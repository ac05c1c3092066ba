kp_sources(
  box_tree.c
  bvh.c
  ccd.c
  contact_manifold.c
  convex.c
  marching_blocks.c
  marching_cubes.c
  marching_cubes_table.c
  marching_device.c
  marching_squares.c
  level_set.c
  level_set_keys.c
  distance_grid.c
  mesh.c
  mesh_make.c
  mesh_query.c
  mesh_smooth.c
  outline.c
  particle_surface.c
  sampler.c
  sampler_surface.c
  scalp.c
  shape.c
  shape_params.c
  sparse_lattice.c
  surface_depth.c
  surface_device.c
  surface_fields.c
  strand.c
  tet_lattice.c
  tetrahedra.c
  tetrahedra_stuff.c
  thinning.c
  triangle_triangle.c
)
kp_isa_sources(box_tree_cpu.c level_set_cpu.c marching_cpu.c particle_surface_cpu.c surface_cpu.c)
kp_cuda_sources(level_set_cuda.cu)

# surfaces have the bits of the CPU on a card too: a mesh that differs in its last bits could differ
# in its triangles
kp_exact_cuda_sources(marching_cuda.cu surface_cuda.cu)
