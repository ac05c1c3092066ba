#include "support/claims.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "kelpie/config.h"

static const char *const relation_words[] = { "<=", ">=", "<", ">" };

static bool holds(const kp_claim_check *check) {
  switch (check->relation) {
  case KP_AT_MOST:
    return check->figure <= check->threshold;
  case KP_AT_LEAST:
    return check->figure >= check->threshold;
  case KP_LESS:
    return check->figure < check->threshold;
  case KP_MORE:
    return check->figure > check->threshold;
  }
  return false;
}

kp_claim_status kp_claim_judge(size_t n, const kp_claim_check checks[]) {
  if (n == 0 || !holds(&checks[0])) {
    return KP_CLAIM_REFUTED;
  }
  for (size_t i = 1; i < n; ++i) {
    if (!holds(&checks[i])) {
      return KP_CLAIM_PARTIAL;
    }
  }
  return KP_CLAIM_CONFIRMED;
}

static void put_text(FILE *file, const char *text) {
  fputc('"', file);
  for (; *text != '\0'; ++text) {
    if (*text == '"' || *text == '\\') {
      fputc('\\', file);
    }
    fputc(*text, file);
  }
  fputc('"', file);
}

static void put_word(FILE *file, const char *key, const char *word) {
  fprintf(file, "  \"%s\": ", key);
  put_text(file, word != NULL ? word : "");
  fputs(",\n", file);
}

// Numbers that JSON has no word for become null.
static void put_number(FILE *file, double value) {
  if (isfinite(value)) {
    fprintf(file, "%.9g", value);
  } else {
    fputs("null", file);
  }
}

static void put_checks(FILE *file, size_t n, const kp_claim_check checks[]) {
  fputs("  \"checks\": [\n", file);
  for (size_t i = 0; i < n; ++i) {
    fputs("    { \"what\": ", file);
    put_text(file, checks[i].what);
    fputs(", \"figure\": ", file);
    put_number(file, checks[i].figure);
    fprintf(file, ", \"relation\": \"%s\", \"threshold\": ", relation_words[checks[i].relation]);
    put_number(file, checks[i].threshold);
    fputs(i + 1 < n ? " },\n" : " }\n", file);
  }
  fputs("  ]\n}\n", file);
}

// What is lost here would be missed by nobody, so it ends the test.
static void give_up(const char *why, const char *what) {
  fprintf(stderr, "claim %s: %s\n", what, why);
  exit(1);
}

static void write_file(const char *folder, const kp_claim *claim, size_t n,
                       const kp_claim_check checks[]) {
  const char *test = getenv("KELPIE_TEST_NAME");
  if (test == NULL) {
    give_up("KELPIE_TEST_NAME is not set: run the test by ctest", claim->id);
  }
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.json", folder, claim->id);
  // one that is there was written by another test of this run
  FILE *file = fopen(path, "wx");
  if (file == NULL) {
    give_up("its file is there already, or cannot be made", path);
  }
  fputs("{\n", file);
  put_word(file, "id", claim->id);
  put_word(file, "claim", claim->text);
  put_word(file, "size", claim->size);
  put_word(file, "precision", sizeof(kp_real) == 4 ? "float" : "double");
  put_word(file, "machine", getenv("KELPIE_CLAIMS_MACHINE"));
  put_word(file, "commit", getenv("KELPIE_CLAIMS_COMMIT"));
  put_word(file, "test", test);
  put_checks(file, n, checks);
  if (fclose(file) != 0) {
    give_up("its file cannot be written", path);
  }
}

kp_claim_status kp_claim_checks(const kp_claim *claim, size_t n, const kp_claim_check checks[]) {
  const char *folder = getenv("KELPIE_CLAIMS_DIR");
  if (folder != NULL && folder[0] != '\0') {
    write_file(folder, claim, n, checks);
  }
  return kp_claim_judge(n, checks);
}

static kp_claim_status one_check(const kp_claim *claim, kp_claim_relation relation) {
  kp_claim_check check = { claim->text, claim->figure, relation, claim->threshold };
  return kp_claim_checks(claim, 1, &check);
}

kp_claim_status kp_claim_at_most(const kp_claim *claim) {
  return one_check(claim, KP_AT_MOST);
}

kp_claim_status kp_claim_at_least(const kp_claim *claim) {
  return one_check(claim, KP_AT_LEAST);
}
