#include "io/ply.h"

#include "fuzz/fuzz.h"
#include "fuzz/fuzz_mesh.h"

const char kp_fuzz_corpus[] = "ply";
int kp_fuzz_n_read;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  kp_fuzz_n_read += fuzz_mesh(kp_ply_parse, bytes, n_bytes);
  return 0;
}
