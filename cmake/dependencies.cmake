# What the core needs (an error when missing) and what it can use (named in the summary).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)

# kp_dependency(name ARCHIVE file MODULES pkg-config names...): makes the target kelpie::<name>.
# With KELPIE_STATIC the archive itself is linked, otherwise what pkg-config says.
function(kp_dependency name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "MODULES")
  pkg_search_module(${name} REQUIRED QUIET IMPORTED_TARGET GLOBAL ${arg_MODULES})
  add_library(kelpie_${name} INTERFACE)
  add_library(kelpie::${name} ALIAS kelpie_${name})
  if(KELPIE_STATIC)
    find_library(${name}_ARCHIVE NAMES ${arg_ARCHIVE} HINTS ${${name}_LIBRARY_DIRS}
      ${${name}_LIBDIR} REQUIRED)
    target_include_directories(kelpie_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
    target_link_libraries(kelpie_${name} INTERFACE ${${name}_ARCHIVE})
  else()
    target_link_libraries(kelpie_${name} INTERFACE PkgConfig::${name})
  endif()
  set(kelpie_${name}_version ${${name}_VERSION} PARENT_SCOPE)
  set(kelpie_${name}_module ${${name}_MODULE_NAME} PARENT_SCOPE)
endfunction()

kp_dependency(lua ARCHIVE liblua5.4.a MODULES lua5.4 lua-5.4 lua54 "lua>=5.4")
kp_dependency(png ARCHIVE libpng16.a MODULES libpng16 libpng)
kp_dependency(zlib ARCHIVE libz.a MODULES zlib)
kp_dependency(zstd ARCHIVE libzstd.a MODULES libzstd)

# OpenMP: the flag for compiling; in a static build the runtime's archive instead of its library
add_library(kelpie_openmp INTERFACE)
target_compile_options(kelpie_openmp INTERFACE $<$<COMPILE_LANGUAGE:C>:${OpenMP_C_FLAGS}>)
if(KELPIE_STATIC AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libgomp.a
    OUTPUT_VARIABLE gomp_archive OUTPUT_STRIP_TRAILING_WHITESPACE)
  target_link_libraries(kelpie_openmp INTERFACE ${gomp_archive} ${CMAKE_DL_LIBS})
else()
  target_link_libraries(kelpie_openmp INTERFACE OpenMP::OpenMP_C)
endif()

# everything the library needs; the order is that of a linker reading archives
add_library(kelpie_dependencies INTERFACE)
target_link_libraries(kelpie_dependencies INTERFACE
  kelpie::lua kelpie::png kelpie::zlib kelpie::zstd kelpie_openmp Threads::Threads
  ${CMAKE_DL_LIBS} m)

# cuda: absent is not an error, the library then has no such backend
set(KELPIE_HAS_CUDA OFF)
find_program(KELPIE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin PATH_SUFFIXES bin)
mark_as_advanced(KELPIE_NVCC)
if(KELPIE_CUDA AND NOT KELPIE_NVCC)
  message(STATUS "KELPIE_CUDA is on but nvcc was not found: building without the CUDA backend")
elseif(KELPIE_CUDA)
  set(CMAKE_CUDA_COMPILER ${KELPIE_NVCC})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "90-real;75-virtual")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(KELPIE_HAS_CUDA ON)
  # device code is C++ on the host side; the programs are linked as C
  set(cxx_runtime stdc++)
  if(KELPIE_STATIC)
    set(cxx_runtime -l:libstdc++.a)
  endif()
  target_link_libraries(kelpie_dependencies INTERFACE CUDA::cudart_static ${cxx_runtime})
endif()

# mpi
set(KELPIE_HAS_MPI OFF)
if(KELPIE_MPI)
  find_package(MPI COMPONENTS C)
  if(MPI_C_FOUND)
    set(KELPIE_HAS_MPI ON)
    target_link_libraries(kelpie_dependencies INTERFACE MPI::MPI_C)
  else()
    message(STATUS "KELPIE_MPI is on but MPI was not found: building without the MPI backend")
  endif()
endif()

# only named in the summary: used at run time, never linked
find_program(KELPIE_FFMPEG ffmpeg)
mark_as_advanced(KELPIE_FFMPEG)

# tests
if(KELPIE_TESTS)
  pkg_search_module(cmocka QUIET IMPORTED_TARGET cmocka)
endif()
