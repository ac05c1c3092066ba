kp_sources(
  bins.c
  camera.c
  cast.c
  caustics.c
  colormap.c
  cover.c
  creases.c
  environment.c
  deep.c
  fire_light.c
  framing.c
  ground.c
  lens.c
  light.c
  live.c
  lines.c
  lumislice.c
  picture.c
  points.c
  primitives.c
  ray_scene.c
  ray_tree.c
  render.c
  render_params.c
  scene_carry.c
  scene_curves.c
  scene_fields.c
  scene_from_frame.c
  scene_meshes.c
  scene_points.c
  scene_volumes.c
  shade.c
  shadow.c
  slices.c
  smooth.c
  trace.c
  triangles.c
  video.c
  volume.c
  yarn.c
  yarn_lists.c)
kp_isa_sources(cast_cpu.c live_cpu.c ray_cpu.c yarn_cpu.c)
kp_cuda_sources(cast_cuda.cu ray_cuda.cu)

# keys are bits of numbers, which must be those of the CPU
kp_exact_cuda_sources(live_cuda.cu yarn_cuda.cu)
