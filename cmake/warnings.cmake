# kelpie_warnings: for our own code only; headers of others come in as SYSTEM.
add_library(kelpie_warnings INTERFACE)

set(c_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes)
if(KELPIE_WERROR)
  list(APPEND c_warnings -Werror)
endif()

target_compile_options(kelpie_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C>:${c_warnings}>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
