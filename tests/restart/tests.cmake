if(Python3_Interpreter_FOUND)
  kp_test_command(test_stop
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_stop.py
    LABELS full TIMEOUT 300)
  foreach(name IN ITEMS test_restart test_kill test_same_bits)
    kp_test_command(${name}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/${name}.py
      LABELS full real TIMEOUT 600)
  endforeach()
endif()
