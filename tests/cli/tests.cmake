if(Python3_Interpreter_FOUND)
  kp_test_command(test_cli
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_cli.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_bad_scenes
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_bad_scenes.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_inputs
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_inputs.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_memory
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_memory.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_damage
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_damage.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_full_disk
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_full_disk.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_compare_runs
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_compare_runs.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_probe_tables
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_probes.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_exports
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_exports.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_films
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_films.py
    LABELS fast TIMEOUT 300)
  kp_test_command(test_gallery
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_gallery.py
    LABELS fast TIMEOUT 120)
  # tools/validation and tools/forecast, which have no other test
  kp_test_command(test_tools
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_tools.py
    LABELS full TIMEOUT 300)
  kp_test_command(test_theory
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_theory.py
    LABELS fast)
  # every kernel of the library forwards and backwards, to the last bit
  kp_test_command(test_kernel_order
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_kernel_order.py
    LABELS full TIMEOUT 900)
  kp_test_command(test_papers
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_papers.py
    LABELS full TIMEOUT 900)
  kp_test_command(test_papers_run
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_papers_run.py
    LABELS full TIMEOUT 900 COST 60)
  # at the stated sizes: hours, and 6 GB
  kp_test_command(test_papers_run_stated
    COMMAND ${CMAKE_COMMAND} -E env KELPIE_PAPERS=stated
      ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/test_papers_run.py
    LABELS long TIMEOUT 14400)
endif()
