# kelpie_sanitizers: chosen by KELPIE_SANITIZE, for every target including tests.
# kelpie_test_environment: what a program needs at run time to be checked well.
add_library(kelpie_sanitizers INTERFACE)
set(kelpie_test_environment "")

if(KELPIE_SANITIZE STREQUAL "address")
  set(flags -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
  list(APPEND kelpie_test_environment
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1")
elseif(KELPIE_SANITIZE STREQUAL "thread")
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR
      "KELPIE_SANITIZE=thread needs clang and its OpenMP runtime: "
      "with gcc's runtime ThreadSanitizer reports races that are none.")
  endif()
  set(flags -fsanitize=thread)
  # the archer library tells ThreadSanitizer what OpenMP's barriers and joins order
  list(APPEND kelpie_test_environment
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1"
    "OMP_TOOL_LIBRARIES=libarcher.so")
elseif(NOT KELPIE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "KELPIE_SANITIZE is \"${KELPIE_SANITIZE}\"; known are: address, thread.")
endif()

if(flags)
  target_compile_options(kelpie_sanitizers INTERFACE $<$<COMPILE_LANGUAGE:C>:${flags}>)
  target_link_options(kelpie_sanitizers INTERFACE ${flags})
  # instrumentation hides value ranges from gcc, and these warnings are then mostly wrong
  target_compile_options(kelpie_sanitizers INTERFACE
    $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation;-Wno-format-overflow;-Wno-maybe-uninitialized>
    $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>)
endif()
