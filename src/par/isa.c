// Which of the compiled instruction sets runs. Results are the same for all; only speed differs.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "par/kernel.h"

static const char *const isa_names[KP_ISA_COUNT] = { "base", "v3", "v4" };

// -1 until first asked for. Every thread that finds it unset computes the same value.
static atomic_int current_isa = -1;

const char *kp_isa_name(kp_isa isa) {
  return (unsigned)isa < (unsigned)KP_ISA_COUNT ? isa_names[isa] : "unknown";
}

// Compiled in, and present on this machine and in its operating system.
static bool is_usable(kp_isa isa) {
  bool usable = isa == KP_ISA_BASE;
#if defined(KP_WITH_ISA_V3) && defined(__x86_64__) && !defined(KP_WITH_FUSED)
  if (isa == KP_ISA_V3) {
    usable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  }
#endif
#if defined(KP_WITH_ISA_V4) && defined(__x86_64__)
  if (isa == KP_ISA_V4) {
    usable = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
#endif
  return usable;
}

static kp_isa best_up_to(kp_isa isa) {
  while (!is_usable(isa)) {
    isa = (kp_isa)(isa - 1);
  }
  return isa;
}

static kp_isa choose(void) {
  const char *wanted = getenv("KP_ISA");
  if (wanted == NULL || wanted[0] == '\0') {
    return best_up_to(KP_ISA_V4);
  }
  for (int isa = 0; isa < KP_ISA_COUNT; ++isa) {
    if (strcmp(wanted, isa_names[isa]) == 0) {
      kp_isa got = best_up_to((kp_isa)isa);
      if ((int)got != isa) {
        kp_log(KP_LOG_WARN, "par", "KP_ISA=%s cannot run here; using %s", wanted, isa_names[got]);
      }
      return got;
    }
  }
  kp_isa best = best_up_to(KP_ISA_V4);
  kp_log(KP_LOG_WARN, "par", "KP_ISA=%s is none of base, v3, v4; using %s", wanted,
         isa_names[best]);
  return best;
}

kp_isa kp_isa_current(void) {
  int isa = atomic_load_explicit(&current_isa, memory_order_relaxed);
  if (isa < 0) {
    isa = (int)choose();
    atomic_store_explicit(&current_isa, isa, memory_order_relaxed);
  }
  return (kp_isa)isa;
}

void kp_isa_force(kp_isa isa) {
  atomic_store_explicit(&current_isa, (int)best_up_to(isa), memory_order_relaxed);
}
