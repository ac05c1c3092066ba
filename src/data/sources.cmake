kp_sources(
  buffer.c
  call.c
  call_check.c
  field.c
  pair_table.c
  registry_change.c
  registry_snapshot.c
  registry_state.c
  set.c)
kp_isa_sources(data_cpu.c)
kp_cuda_sources(data_cuda.cu)

kp_sources(
  cells.c
  pair_lists.c
  pairs.c)
kp_isa_sources(
  cells_cpu.c
  pair_lists_cpu.c)
kp_cuda_sources(
  cells_cuda.cu
  pair_lists_cuda.cu)

kp_sources(curve.c)

kp_sources(
  bodies.c
  interface.c)
kp_isa_sources(interface_cpu.c)
kp_cuda_sources(interface_cuda.cu)
