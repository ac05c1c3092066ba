# make install: program with its page, libraries, headers, scenes, the script for Blender and the pkg-config file.
set(install_targets kelpie_static)
if(TARGET kelpie_shared)
  list(APPEND install_targets kelpie_shared)
endif()
if(TARGET kelpie)
  list(APPEND install_targets kelpie)
endif()
install(TARGETS ${install_targets}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/kelpie DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# scenes that must be refused are for tests alone
install(DIRECTORY scenes DESTINATION ${CMAKE_INSTALL_DATADIR}/kelpie PATTERN bad EXCLUDE)
install(FILES tools/blender/kelpie_import.py DESTINATION ${CMAKE_INSTALL_DATADIR}/kelpie/blender)
if(TARGET kelpie AND NOT CMAKE_CROSSCOMPILING)
  # the program writes its own page
  install(CODE "execute_process(COMMAND \"$<TARGET_FILE:kelpie>\" --man
    OUTPUT_FILE \"${PROJECT_BINARY_DIR}/kelpie.1\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${PROJECT_BINARY_DIR}/kelpie.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

set(pc_cflags "")
if(KELPIE_DOUBLE)
  set(pc_cflags "-DKELPIE_DOUBLE")
endif()
set(pc_requires "${kelpie_lua_module} ${kelpie_png_module} ${kelpie_zlib_module} ${kelpie_zstd_module}")
set(pc_libs "${OpenMP_C_FLAGS} -pthread -lm")
if(KELPIE_HAS_CUDA)
  string(APPEND pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -ldl -lstdc++")
endif()
# relative to the file itself, so that the prefix may be chosen at install time
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pc_prefix)
configure_file(cmake/kelpie.pc.in ${PROJECT_BINARY_DIR}/kelpie.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/kelpie.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
