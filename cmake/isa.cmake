# Instruction sets the pair and row kernels are compiled for. Results are bit-equal between them
# (fixed lanes, fixed order, no contraction), so the choice at start-up changes speed alone.
include(CheckCCompilerFlag)

set(kelpie_isas base)
set(kelpie_isa_flags_base "")
set(kelpie_isa_flags_v3 -march=x86-64-v3)
set(kelpie_isa_flags_v4 -march=x86-64-v4 -mprefer-vector-width=512)

if(NOT KELPIE_ISA_BASE_ONLY AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  check_c_compiler_flag(-march=x86-64-v3 KELPIE_COMPILES_V3)
  check_c_compiler_flag(-march=x86-64-v4 KELPIE_COMPILES_V4)
  if(KELPIE_COMPILES_V3)
    list(APPEND kelpie_isas v3)
  endif()
  if(KELPIE_COMPILES_V4)
    list(APPEND kelpie_isas v4)
  endif()
endif()
