# Tests are cmocka programs under CTest. The lists are tests/<kind>/tests.cmake, written with
#
#   kp_test(name SOURCES a.c b.c LABELS fast [TIMEOUT seconds])
#   kp_test_command(name COMMAND program arguments... LABELS fast [TIMEOUT seconds])
#
# Labels: fast (a few seconds at most), full (before landing), long (make nightly, make claims). Besides them
# each test is labelled with its folder, and with
#   real      its expectations depend on the precision: it runs in the double build too
#   memory    it runs under the address sanitizer before every landing
#   claims    it writes results of claims: make claims runs it
# Aggregates to build: all (without the long ones), tests_real, tests_memory, tests_long, tests_claims.
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

# one thread per test and as many tests at a time as there are cores; tests of bits set threads themselves
if(NOT KELPIE_SANITIZE STREQUAL "thread")
  list(APPEND kelpie_test_environment "OMP_NUM_THREADS=1")
endif()

foreach(group IN ITEMS real memory long claims)
  add_custom_target(tests_${group})
endforeach()

function(kp_test_settings name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;COST" "LABELS")
  if(NOT arg_LABELS)
    message(FATAL_ERROR "test ${name} has no LABELS: fast, full or long")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(NOT arg_COST)
    set(arg_COST 0)
  endif()
  get_filename_component(kind ${CMAKE_CURRENT_LIST_DIR} NAME)
  if("fast" IN_LIST arg_LABELS AND kind MATCHES "^(unit|property|kernels|fault|fuzz)$")
    list(APPEND arg_LABELS memory)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS};${kind}"
    TIMEOUT ${arg_TIMEOUT}
    COST ${arg_COST}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "${kelpie_test_environment};KELPIE_TEST_NAME=${name}")
  # where a test has a long variant, that one records the claims
  string(REGEX REPLACE "_long$" "" short ${name})
  if(NOT short STREQUAL name AND TEST ${short})
    set_property(TEST ${short} APPEND PROPERTY ENVIRONMENT "KELPIE_CLAIMS_DIR=")
  endif()
  if(TARGET ${name})
    # a long test is built on demand alone, whatever its other labels
    set(groups real memory claims)
    if("long" IN_LIST arg_LABELS)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      set(groups long claims)
    endif()
    foreach(group IN LISTS groups)
      if(group IN_LIST arg_LABELS)
        add_dependencies(tests_${group} ${name})
      endif()
    endforeach()
  endif()
endfunction()

# Whether the regex is found in a source of a test, shared helpers aside.
function(kp_find_in_sources result regex)
  set(${result} OFF PARENT_SCOPE)
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} found REGEX "${regex}" LIMIT_COUNT 1)
    if(found AND NOT file MATCHES "/tests/support/")
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(kp_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;COST" "SOURCES;LABELS")
  foreach(file IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_LIST_DIR} NORMALIZE)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "test ${name} names ${file}, which does not exist.")
    endif()
    list(APPEND files ${file})
  endforeach()
  add_executable(${name} ${files})
  target_link_libraries(${name} PRIVATE kelpie_test_support)
  kp_internal_link(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  kp_find_in_sources(is_real "KP_TOL\\(|IS_DOUBLE|sizeof\\(kp_real\\)" ${files})
  if(is_real)
    list(APPEND arg_LABELS real)
  endif()
  kp_find_in_sources(has_claims "kp_claim" ${files})
  if(has_claims)
    list(APPEND arg_LABELS claims)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  kp_test_settings(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
endfunction()

function(kp_test_command name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;COST" "COMMAND;LABELS")
  set(scripts ${arg_COMMAND})
  list(FILTER scripts INCLUDE REGEX "[.]py$")
  kp_find_in_sources(has_claims "claims[.]write" ${scripts})
  if(has_claims)
    list(APPEND arg_LABELS claims)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  kp_test_settings(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT} COST ${arg_COST})
endfunction()

add_library(kelpie_test_support STATIC
  ${PROJECT_SOURCE_DIR}/tests/support/test.c ${PROJECT_SOURCE_DIR}/tests/support/claims.c)
target_include_directories(kelpie_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(kelpie_test_support PUBLIC KP_SCENES="${PROJECT_SOURCE_DIR}/scenes")
target_link_libraries(kelpie_test_support PRIVATE kelpie_flags PUBLIC PkgConfig::cmocka)

find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT Python3_Interpreter_FOUND)
  message(WARNING "Python was not found: the tests written in it are left out (tests/cli, tests/restart ...)")
endif()

foreach(kind IN ITEMS
    unit kernels physics golden property fault fuzz restart cli headers images perf)
  include(${PROJECT_SOURCE_DIR}/tests/${kind}/tests.cmake)
endforeach()
