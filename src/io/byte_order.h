// Numbers in files whose byte order is given, whatever the machine's own.
#pragma once

#include <string.h>

#include "io/files.h"

KP_FN uint32_t kp_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Most significant byte first: BGEO, MDD.
KP_FN void kp_put_big(unsigned char out[4], uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    out[i] = (unsigned char)(value >> (24 - 8 * i));
  }
}

// Least significant byte first: PC2, glTF.
KP_FN void kp_put_little(unsigned char out[4], uint32_t value) {
  for (int i = 0; i < 4; ++i) {
    out[i] = (unsigned char)(value >> (8 * i));
  }
}

KP_FN void kp_file_add_big(kp_file *file, uint32_t value) {
  unsigned char bytes[4];
  kp_put_big(bytes, value);
  kp_file_add(file, bytes, sizeof bytes);
}

KP_FN void kp_file_add_big_short(kp_file *file, uint16_t value) {
  const unsigned char bytes[2] = { (unsigned char)(value >> 8), (unsigned char)value };
  kp_file_add(file, bytes, sizeof bytes);
}

KP_FN void kp_file_add_little(kp_file *file, uint32_t value) {
  unsigned char bytes[4];
  kp_put_little(bytes, value);
  kp_file_add(file, bytes, sizeof bytes);
}
