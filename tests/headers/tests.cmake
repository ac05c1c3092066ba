# kp_test(name SOURCES file.c LABELS fast)
find_program(KELPIE_CXX NAMES c++ g++ clang++)
mark_as_advanced(KELPIE_CXX)
if(NOT KELPIE_CXX)
  set(KELPIE_CXX "")
endif()
kp_test_command(headers LABELS fast
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/check ${CMAKE_C_COMPILER} ${KELPIE_CXX})

if(TARGET example_dam_break)
  kp_test_command(examples LABELS fast
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/examples
      $<TARGET_FILE:example_dam_break> $<TARGET_FILE:example_custom_force>)
  # a sanitizer's library would have to be linked by the stranger too
  if(NOT KELPIE_SANITIZE)
    kp_test_command(install LABELS full
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/install ${CMAKE_C_COMPILER})
  endif()
endif()

find_program(KELPIE_PYTHON python3)
mark_as_advanced(KELPIE_PYTHON)
if(KELPIE_PYTHON)
  kp_test_command(coverage LABELS fast
    COMMAND ${KELPIE_PYTHON} ${PROJECT_SOURCE_DIR}/tools/coverage --check)
endif()
