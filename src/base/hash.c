// XXH64 after its published specification (Y. Collet, "xxHash fast digest algorithm", 0.1.1), so
// that values can be checked with any other implementation.
#include "base/hash.h"

#include <string.h>

#define PRIME_1 0x9e3779b185ebca87ull
#define PRIME_2 0xc2b2ae3d27d4eb4full
#define PRIME_3 0x165667b19e3779f9ull
#define PRIME_4 0x85ebca77c2b2ae63ull
#define PRIME_5 0x27d4eb2f165667c5ull

#define STRIPE 32

static uint64_t rotate_left(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

// compilers turn the byte sums into one load on little-endian machines
static uint64_t read_64(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
         (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static uint64_t read_32(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static uint64_t add_word(uint64_t lane, uint64_t word) {
  return rotate_left(lane + word * PRIME_2, 31) * PRIME_1;
}

static uint64_t merge_lane(uint64_t value, uint64_t lane) {
  return (value ^ add_word(0, lane)) * PRIME_1 + PRIME_4;
}

static void add_stripes(kp_hash *hash, const uint8_t *p, size_t n_stripes) {
  uint64_t a = hash->lanes[0], b = hash->lanes[1], c = hash->lanes[2], d = hash->lanes[3];
  for (size_t i = 0; i < n_stripes; ++i, p += STRIPE) {
    a = add_word(a, read_64(p));
    b = add_word(b, read_64(p + 8));
    c = add_word(c, read_64(p + 16));
    d = add_word(d, read_64(p + 24));
  }
  hash->lanes[0] = a;
  hash->lanes[1] = b;
  hash->lanes[2] = c;
  hash->lanes[3] = d;
}

kp_hash kp_hash_begin(uint64_t seed) {
  return (kp_hash){ .lanes = { seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1 } };
}

void kp_hash_add(kp_hash *hash, const void *bytes, size_t n_bytes) {
  if (n_bytes == 0) {
    return;
  }
  const uint8_t *p = bytes;
  hash->total += n_bytes;

  // fill up a started stripe
  if (hash->n_tail > 0) {
    size_t room = STRIPE - hash->n_tail;
    size_t taken = n_bytes < room ? n_bytes : room;
    memcpy(hash->tail + hash->n_tail, p, taken);
    hash->n_tail += (uint32_t)taken;
    p += taken;
    n_bytes -= taken;
    if (hash->n_tail < STRIPE) {
      return;
    }
    add_stripes(hash, hash->tail, 1);
    hash->n_tail = 0;
  }

  // whole stripes straight from the input, the rest waits
  add_stripes(hash, p, n_bytes / STRIPE);
  hash->n_tail = (uint32_t)(n_bytes % STRIPE);
  memcpy(hash->tail, p + (n_bytes - hash->n_tail), hash->n_tail);
}

static uint64_t add_tail(uint64_t value, const uint8_t *p, size_t n) {
  for (; n >= 8; n -= 8, p += 8) {
    value = rotate_left(value ^ add_word(0, read_64(p)), 27) * PRIME_1 + PRIME_4;
  }
  if (n >= 4) {
    value = rotate_left(value ^ (read_32(p) * PRIME_1), 23) * PRIME_2 + PRIME_3;
    n -= 4;
    p += 4;
  }
  for (; n > 0; --n, ++p) {
    value = rotate_left(value ^ (*p * PRIME_5), 11) * PRIME_1;
  }
  return value;
}

uint64_t kp_hash_end(const kp_hash *hash) {
  const uint64_t *lanes = hash->lanes;
  uint64_t value;
  if (hash->total >= STRIPE) {
    value = rotate_left(lanes[0], 1) + rotate_left(lanes[1], 7) + rotate_left(lanes[2], 12) +
            rotate_left(lanes[3], 18);
    for (int i = 0; i < 4; ++i) {
      value = merge_lane(value, lanes[i]);
    }
  } else {
    // lane 2 still holds the seed
    value = lanes[2] + PRIME_5;
  }
  value = add_tail(value + hash->total, hash->tail, hash->n_tail);
  value = (value ^ value >> 33) * PRIME_2;
  value = (value ^ value >> 29) * PRIME_3;
  return value ^ value >> 32;
}

uint64_t kp_hash_bytes(const void *bytes, size_t n_bytes, uint64_t seed) {
  kp_hash hash = kp_hash_begin(seed);
  kp_hash_add(&hash, bytes, n_bytes);
  return kp_hash_end(&hash);
}
