// Results of claims, one small file each: <KELPIE_CLAIMS_DIR>/<id>.json. Does nothing when that
// variable is not set.
#pragma once

typedef enum kp_claim_status {
  KP_CLAIM_CONFIRMED,
  KP_CLAIM_PARTIAL,
  KP_CLAIM_REFUTED
} kp_claim_status;

typedef struct kp_claim {
  const char *id;    // "bayraktar-C12"
  const char *text;  // what is claimed
  const char *size;  // of the case that was run, in words
  const char *test;  // ctest's name of the test that ran it
  double figure;     // what was measured
  double threshold;  // what it is held against
} kp_claim;

// Writes the claim with this status, the precision of the build and the command that runs it.
void kp_claim_write(const kp_claim *claim, kp_claim_status status);

// Confirmed when the figure is at most the threshold, else refuted.
void kp_claim_at_most(const kp_claim *claim);
