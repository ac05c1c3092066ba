kp_sources(
  kernel_check.c
  kernel_flow.c
  kernel_gas.c
  kernel_solids.c
  kernel_list.c
  kernel_media.c
  kernel_rays.c
  kernel_surfaces.c
  kernel_worlds.c
  measure.c
  ray_mesh.c
  render.c
  report.c
  roof.c
  study.c
  study_cost.c
  study_drop.c
  study_energy.c
  study_fire.c
  study_fractional.c
  study_surface.c)

# the multiply-add rate is that of the machine, so here products and sums may be contracted
foreach(isa IN LISTS kelpie_isas)
  kp_sources(peak_${isa}.c)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/peak_${isa}.c PROPERTIES
    COMPILE_OPTIONS "${kelpie_isa_flags_${isa}};-ffp-contract=fast")
endforeach()
