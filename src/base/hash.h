// 64-bit content hash (streaming), and the mixing function the random numbers share.
// The value of equal bytes is equal on every machine; it is not a cryptographic hash.
#pragma once

#include "kelpie/config.h"

typedef struct kp_hash {
  uint64_t lanes[4];
  uint64_t total;
  uint8_t tail[32];
  uint32_t n_tail;
} kp_hash;

kp_hash kp_hash_begin(uint64_t seed);
void kp_hash_add(kp_hash *hash, const void *bytes, size_t n_bytes);
uint64_t kp_hash_end(const kp_hash *hash);
uint64_t kp_hash_bytes(const void *bytes, size_t n_bytes, uint64_t seed);

// splitmix64 finaliser: a bijection with good avalanche.
KP_FN uint64_t kp_hash_mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
