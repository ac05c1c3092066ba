# The words the lists src/<layer>/sources.cmake are written in. Each list names its files; a file that
# is named but absent is an error, a file that is present but not named is not built.
#
#   kp_sources(a.c b.c)        plain sources
#   kp_isa_sources(k.c)        compiled once per instruction set with -DKP_ISA=base, v3, v4
#   kp_cuda_sources(k.cu)      only in builds with the CUDA backend
#   kp_exact_cuda_sources(k.cu)  ... and rounded as a host rounds
#   kp_mpi_sources(m.c)        only in builds with the MPI backend

function(kp_collect property directory)
  cmake_path(RELATIVE_PATH directory BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS ${directory}/${file})
      message(FATAL_ERROR "${folder}/sources.cmake names ${file}, which does not exist.")
    endif()
    set_property(GLOBAL APPEND PROPERTY ${property} ${directory}/${file})
  endforeach()
endfunction()

macro(kp_sources)
  kp_collect(${kelpie_list} ${CMAKE_CURRENT_LIST_DIR} ${ARGN})
endmacro()

macro(kp_isa_sources)
  kp_collect(kelpie_isa_list ${CMAKE_CURRENT_LIST_DIR} ${ARGN})
endmacro()

macro(kp_cuda_sources)
  kp_collect(kelpie_cuda_list ${CMAKE_CURRENT_LIST_DIR} ${ARGN})
endmacro()

macro(kp_exact_cuda_sources)
  kp_collect(kelpie_exact_cuda_list ${CMAKE_CURRENT_LIST_DIR} ${ARGN})
endmacro()

macro(kp_mpi_sources)
  kp_collect(kelpie_mpi_list ${CMAKE_CURRENT_LIST_DIR} ${ARGN})
endmacro()

set(kelpie_layers
  base math par data geom linalg
  methods
  couple world scene io render run
  backend/cpu backend/mirror backend/cuda backend/mpi)

set(kelpie_list kelpie_plain_list)
foreach(layer IN LISTS kelpie_layers)
  include(${PROJECT_SOURCE_DIR}/src/${layer}/sources.cmake)
endforeach()

set(kelpie_list kelpie_cases_list)
include(${PROJECT_SOURCE_DIR}/cases/sources.cmake)

set(kelpie_list kelpie_cli_list)
include(${PROJECT_SOURCE_DIR}/cli/sources.cmake)

foreach(list IN ITEMS plain isa cuda exact_cuda mpi cases cli)
  get_property(kelpie_${list}_sources GLOBAL PROPERTY kelpie_${list}_list)
endforeach()
