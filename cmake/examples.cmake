# The programs of examples/: like those of a user, they see only the public headers.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
foreach(example IN ITEMS dam_break custom_force)
  add_executable(example_${example} ${PROJECT_SOURCE_DIR}/examples/${example}.c)
  set_target_properties(example_${example} PROPERTIES
    OUTPUT_NAME ${example}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  target_link_libraries(example_${example} PRIVATE
    kelpie_static kelpie_warnings kelpie_sanitizers)
endforeach()
