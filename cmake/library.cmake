# libkelpie (static, shared), the cases shared by tests and bench, and the program.

# what every file of ours is compiled with
add_library(kelpie_flags INTERFACE)
target_include_directories(kelpie_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
target_compile_definitions(kelpie_flags INTERFACE
  _XOPEN_SOURCE=700 _DEFAULT_SOURCE
  $<$<BOOL:${KELPIE_DOUBLE}>:KELPIE_DOUBLE>
  $<$<BOOL:${KELPIE_VALIDATE}>:KP_VALIDATE>
  $<$<BOOL:${KELPIE_FUSED}>:KP_WITH_FUSED>
  $<$<BOOL:${KELPIE_HAS_CUDA}>:KP_WITH_CUDA>
  $<$<BOOL:${KELPIE_HAS_MPI}>:KP_WITH_MPI>)
# contraction would make results depend on the instruction set; errno costs vectorised square roots
target_compile_options(kelpie_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-fno-math-errno>
  $<$<COMPILE_LANGUAGE:C>:-fvisibility=$<IF:$<BOOL:${KELPIE_SANITIZE}>,default,hidden>>
  $<$<COMPILE_LANGUAGE:C>:-ffp-contract=$<IF:$<BOOL:$<TARGET_PROPERTY:KP_FUSES>>,fast,off>>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fvisibility=hidden,-ffp-contract=off>)
# 16-lane types are passed only inside one file, so the note about their ABI does not concern us
target_compile_options(kelpie_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Wno-psabi>)
target_link_libraries(kelpie_flags INTERFACE
  kelpie_warnings kelpie_sanitizers kelpie_dependencies)

# what a card rounds as a host does, the mirror does not fuse either
foreach(source IN LISTS kelpie_exact_cuda_sources)
  string(REPLACE "_cuda.cu" "_cpu.c" source ${source})
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
endforeach()

# pair and row kernels, once per instruction set
set(kelpie_object_targets kelpie_objects)
if(kelpie_isa_sources)
  foreach(isa IN LISTS kelpie_isas)
    add_library(kelpie_isa_${isa} OBJECT ${kelpie_isa_sources})
    target_compile_definitions(kelpie_isa_${isa} PRIVATE KP_ISA=${isa})
    target_compile_options(kelpie_isa_${isa} PRIVATE ${kelpie_isa_flags_${isa}})
    target_link_libraries(kelpie_isa_${isa} PRIVATE kelpie_flags)
    # the mirror backend runs v3 then and the cpu backend does not; see backend_mirror.c
    if(KELPIE_FUSED AND isa STREQUAL "v3")
      set_target_properties(kelpie_isa_${isa} PROPERTIES KP_FUSES ON)
    endif()
    list(APPEND kelpie_object_targets kelpie_isa_${isa})
    if(NOT isa STREQUAL "base")
      string(TOUPPER ${isa} isa_upper)
      target_compile_definitions(kelpie_flags INTERFACE KP_WITH_ISA_${isa_upper})
    endif()
  endforeach()
endif()

if(kelpie_cuda_sources AND KELPIE_HAS_CUDA)
  foreach(kind IN ITEMS cuda exact_cuda)
    add_library(kelpie_${kind}_objects OBJECT ${kelpie_${kind}_sources})
    target_link_libraries(kelpie_${kind}_objects PRIVATE kelpie_flags)
    list(APPEND kelpie_object_targets kelpie_${kind}_objects)
  endforeach()
  # float division and square root to the last bit cost a third of a pair loop on a card; CPU and CUDA agree
  # within tolerances anyway (double is not touched)
  target_compile_options(kelpie_cuda_objects PRIVATE --prec-div=false --prec-sqrt=false --ftz=true)
  target_compile_options(kelpie_exact_cuda_objects PRIVATE --fmad=false)
endif()

add_library(kelpie_objects OBJECT ${kelpie_plain_sources})
target_link_libraries(kelpie_objects PRIVATE kelpie_flags)
if(kelpie_mpi_sources AND KELPIE_HAS_MPI)
  target_sources(kelpie_objects PRIVATE ${kelpie_mpi_sources})
endif()

set(kelpie_all_objects "")
foreach(target IN LISTS kelpie_object_targets)
  list(APPEND kelpie_all_objects $<TARGET_OBJECTS:${target}>)
endforeach()

# kp_library(target STATIC|SHARED): the same objects in another wrapping
function(kp_library target kind)
  add_library(${target} ${kind} ${kelpie_all_objects})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME kelpie
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_compile_definitions(${target} PUBLIC $<$<BOOL:${KELPIE_DOUBLE}>:KELPIE_DOUBLE>)
  target_link_libraries(${target} PRIVATE kelpie_dependencies kelpie_sanitizers)
endfunction()

kp_library(kelpie_static STATIC)
# distributions' archives are not always position independent, so a static build has no shared library
if(NOT KELPIE_STATIC)
  kp_library(kelpie_shared SHARED)
endif()

# cases: set-ups by name, for tests, bench and the program; no part of the library
add_library(kelpie_cases INTERFACE)
if(kelpie_cases_sources)
  add_library(kelpie_cases_objects OBJECT ${kelpie_cases_sources})
  target_include_directories(kelpie_cases_objects PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(kelpie_cases_objects PRIVATE kelpie_flags)
  target_sources(kelpie_cases INTERFACE $<TARGET_OBJECTS:kelpie_cases_objects>)
endif()

# what programs of this project link: everything, with its inner names. A checked program is 130 MB, so
# that a hundred of them filled disks; in sanitizer builds they share one library.
if(KELPIE_SANITIZE)
  add_library(kelpie_inside SHARED ${kelpie_all_objects})
  set_target_properties(kelpie_inside PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(kelpie_inside PRIVATE kelpie_cases kelpie_flags)
else()
  add_library(kelpie_inside INTERFACE)
  target_link_libraries(kelpie_inside INTERFACE kelpie_cases kelpie_static)
endif()

# kp_internal_link(target): a program of this project, with access to internal headers
function(kp_internal_link target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE kelpie_inside kelpie_flags)
  if(KELPIE_STATIC)
    target_link_options(${target} PRIVATE -static-libgcc)
  endif()
endfunction()

if(kelpie_cli_sources)
  add_executable(kelpie ${kelpie_cli_sources})
  kp_internal_link(kelpie)
endif()
