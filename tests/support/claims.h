// Results of claims, one small file each: <KELPIE_CLAIMS_DIR>/<id>.json. Nothing is written when
// that variable is not set.
//
// A claim is a list of checks, each a figure, a relation and a threshold. The file holds the checks
// and no verdict: tools/coverage computes it from them by the rule of kp_claim_judge.
#pragma once

#include <stddef.h>

typedef enum kp_claim_status {
  KP_CLAIM_CONFIRMED,
  KP_CLAIM_PARTIAL,
  KP_CLAIM_REFUTED
} kp_claim_status;

typedef enum kp_claim_relation { KP_AT_MOST, KP_AT_LEAST, KP_LESS, KP_MORE } kp_claim_relation;

typedef struct kp_claim_check {
  const char *what;  // the quantity, with its unit
  double figure;     // what was measured
  kp_claim_relation relation;
  double threshold;  // what the figure is held against
} kp_claim_check;

typedef struct kp_claim {
  const char *id;    // bayraktar-C12: one source of one test holds it
  const char *text;  // what is claimed
  const char *size;  // of the case that was run, in words
  // of claims with one check: its figure and threshold
  double figure;
  double threshold;
} kp_claim;

// Confirmed when all checks hold; refuted when the first one, the claim itself, does not hold;
// partial when the first holds and another does not. A figure that is not a number holds nowhere.
kp_claim_status kp_claim_judge(size_t n, const kp_claim_check checks[]);

// Writes the claim with its checks, the precision of the build and the test's name, which CTest
// gives in KELPIE_TEST_NAME. Returns the verdict.
kp_claim_status kp_claim_checks(const kp_claim *claim, size_t n, const kp_claim_check checks[]);

// The same for a list in braces.
#define kp_claim_all(claim, ...)                                                                   \
  kp_claim_checks((claim), sizeof((kp_claim_check[]){ __VA_ARGS__ }) / sizeof(kp_claim_check),     \
                  (kp_claim_check[]){ __VA_ARGS__ })

// Claims with one check: claim->figure against claim->threshold.
kp_claim_status kp_claim_at_most(const kp_claim *claim);
kp_claim_status kp_claim_at_least(const kp_claim *claim);
