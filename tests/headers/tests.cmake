find_program(KELPIE_CXX NAMES c++ g++ clang++)
mark_as_advanced(KELPIE_CXX)
if(NOT KELPIE_CXX)
  set(KELPIE_CXX "")
endif()
kp_test_command(headers LABELS fast
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/check ${CMAKE_C_COMPILER} ${KELPIE_CXX})
