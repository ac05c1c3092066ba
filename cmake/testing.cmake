# Tests are cmocka programs under CTest. The lists are tests/<kind>/tests.cmake, written with
#
#   kp_test(name SOURCES a.c b.c LABELS fast [TIMEOUT seconds])
#   kp_test_command(name COMMAND program arguments... LABELS fast [TIMEOUT seconds])
#
# Labels: fast (every commit), full (before landing), long (on demand: make claims).
# Each test finds the program, the sources and the build folder in its environment:
# KELPIE_PROGRAM, KELPIE_SOURCE_DIR, KELPIE_BINARY_DIR.
if(NOT KELPIE_TESTS)
  return()
endif()
if(NOT cmocka_FOUND)
  message(STATUS "cmocka was not found: the tests are not built")
  return()
endif()
enable_testing()

# spinning threads ruin shared machines and slow down tests that run side by side
list(APPEND kelpie_test_environment
  "GOMP_SPINCOUNT=1000" "OMP_WAIT_POLICY=passive"
  "KELPIE_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "KELPIE_BINARY_DIR=${PROJECT_BINARY_DIR}")
if(TARGET kelpie)
  list(APPEND kelpie_test_environment "KELPIE_PROGRAM=$<TARGET_FILE:kelpie>")
endif()

function(kp_test_settings name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS")
  if(NOT arg_LABELS)
    message(FATAL_ERROR "test ${name} has no LABELS: fast, full or long")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}"
    TIMEOUT ${arg_TIMEOUT}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "${kelpie_test_environment};KELPIE_TEST_NAME=${name}")
  # where a test has a long variant, that one records the claims
  string(REGEX REPLACE "_long$" "" short ${name})
  if(NOT short STREQUAL name AND TEST ${short})
    set_property(TEST ${short} APPEND PROPERTY ENVIRONMENT "KELPIE_CLAIMS_DIR=")
  endif()
endfunction()

function(kp_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LABELS")
  foreach(file IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_LIST_DIR})
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "test ${name} names ${file}, which does not exist.")
    endif()
    list(APPEND files ${file})
  endforeach()
  add_executable(${name} ${files})
  target_link_libraries(${name} PRIVATE kelpie_test_support)
  kp_internal_link(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  kp_test_settings(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()

function(kp_test_command name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS")
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  kp_test_settings(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()

add_library(kelpie_test_support STATIC ${PROJECT_SOURCE_DIR}/tests/support/test.c)
target_include_directories(kelpie_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(kelpie_test_support PRIVATE kelpie_flags PUBLIC PkgConfig::cmocka)

foreach(kind IN ITEMS
    unit kernels physics golden property fault fuzz restart cli headers images perf)
  include(${PROJECT_SOURCE_DIR}/tests/${kind}/tests.cmake)
endforeach()
