// Counter-based random numbers: a value is a pure function of (seed, stream, id, counter), so
// results do not depend on threads, order, ranks or restarts. One stream id per use, listed here.
#pragma once

#include "base/hash.h"

typedef enum kp_rng_stream {
  KP_RNG_JITTER,
  KP_RNG_SAMPLER,
  KP_RNG_EMITTER,
  KP_RNG_RENDER,
  KP_RNG_VIBRATION,
  KP_RNG_TEST,
  KP_RNG_SCATTER,
  KP_RNG_FIRE,
  KP_RNG_GRAINS,
  KP_RNG_SOURCE,
  KP_RNG_VORTEX,
  KP_RNG_LEVEL_SET,
  KP_RNG_HAIR,
  KP_RNG_FLIP,
  KP_RNG_SPRAY,
  KP_RNG_SHIFT,
  KP_RNG_STREAM_COUNT
} kp_rng_stream;

KP_FN uint64_t kp_rng_bits(uint64_t seed, uint32_t stream, uint64_t id, uint64_t counter) {
  uint64_t z = kp_hash_mix(seed ^ ((uint64_t)stream << 56));
  z = kp_hash_mix(z ^ id);
  return kp_hash_mix(z ^ counter);
}

// Uniform in [0, 1), 53 bits.
KP_FN double kp_rng_uniform(uint64_t seed, uint32_t stream, uint64_t id, uint64_t counter) {
  return (double)(kp_rng_bits(seed, stream, id, counter) >> 11) * (1.0 / 9007199254740992.0);
}

// Standard normal (Box-Muller); uses counters 2 counter and 2 counter + 1.
double kp_rng_normal(uint64_t seed, uint32_t stream, uint64_t id, uint64_t counter);
