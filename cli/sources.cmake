# the program needs all of its commands
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/cmd_bench.c)
  kp_sources(
    cmd_bench.c
    cmd_check.c
    cmd_export.c
    cmd_info.c
    cmd_params.c
    cmd_render.c
    cmd_resume.c
    cmd_run.c
    cmd_scenes.c
    frames.c
    main.c
    options.c
    simulate.c)
endif()
