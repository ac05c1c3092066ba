kp_test(test_golden SOURCES test_golden.c golden_state.c golden_tables.c LABELS full real)
if(Python3_Interpreter_FOUND)
  kp_test_command(test_golden_choices
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_choices.py LABELS full)
endif()
