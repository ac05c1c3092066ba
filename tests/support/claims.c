#include "support/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kelpie/config.h"

static const char *const status_words[] = { "confirmed", "partial", "refuted" };

// Numbers that JSON has no word for become null.
static void put_number(FILE *file, const char *key, double value) {
  if (isfinite(value)) {
    fprintf(file, "  \"%s\": %.6g,\n", key, value);
  } else {
    fprintf(file, "  \"%s\": null,\n", key);
  }
}

static void put_word(FILE *file, const char *key, const char *word) {
  fprintf(file, "  \"%s\": \"%s\",\n", key, word != NULL ? word : "");
}

void kp_claim_write(const kp_claim *claim, kp_claim_status status) {
  const char *folder = getenv("KELPIE_CLAIMS_DIR");
  if (folder == NULL || folder[0] == '\0') {
    return;
  }
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.json", folder, claim->id);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "cannot write %s\n", path);
    return;
  }
  // texts are literals of the tests: nothing in them needs escaping
  fprintf(file, "{\n  \"id\": \"%s\",\n  \"claim\": \"%s\",\n", claim->id, claim->text);
  put_number(file, "figure", claim->figure);
  put_number(file, "threshold", claim->threshold);
  fprintf(file, "  \"status\": \"%s\",\n  \"size\": \"%s\",\n", status_words[status], claim->size);
  fprintf(file, "  \"precision\": \"%s\",\n", sizeof(kp_real) == 4 ? "float" : "double");
  put_word(file, "machine", getenv("KELPIE_CLAIMS_MACHINE"));
  put_word(file, "commit", getenv("KELPIE_CLAIMS_COMMIT"));
  fprintf(file, "  \"command\": \"make claims ids=%s\"\n}\n", claim->test);
  fclose(file);
}

void kp_claim_at_most(const kp_claim *claim) {
  kp_claim_write(claim, claim->figure <= claim->threshold ? KP_CLAIM_CONFIRMED : KP_CLAIM_REFUTED);
}
