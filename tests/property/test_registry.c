// Random sequences of changes to a space, against a model in plain arrays, on the cpu and on the
// mirror backend (or the one named by KP_TEST_BACKEND): the same elements with the same values, and
// the same hashes.
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/field.h"
#include "par/parallel.h"

#include "support/claims.h"

#define N_KINDS 2
#define MOST 20000
#define WIDTH 7  // items of an element in the wide field

#define SKIPPED 77

static kp_backend_kind other_kind = KP_BACKEND_MIRROR;

typedef struct element {
  kp_gid id;
  kp_pos x[3];
  kp_real mass;
  uint8_t flag;
  int32_t cold;
  double trace[2];
  double ring[2][WIDTH];
} element;

typedef struct model {
  element elements[MOST];
  int64_t n;
} model;

typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_space *space;
  kp_field *id, *x, *mass, *flag, *cold, *trace, *ring;
  kp_buffer order, keep;
  kp_snapshot *snapshot;
} world;

// Host columns of new elements.
typedef struct columns {
  kp_gid id[MOST];
  kp_pos x[3][MOST];
  int32_t cold[MOST];
  double ring[2][MOST * WIDTH];
} columns;

typedef struct session {
  world worlds[N_KINDS];
  model now, saved;
  columns batch;
  uint32_t words[MOST];
  kp_gid next_id;
} session;

// Beside these, every item of the ring is RING.
static const element fresh = { .mass = (kp_real)0.1, .flag = 3, .cold = -7, .trace = { 0.5, 0.5 } };
#define RING 0.25

static void world_open(world *w, kp_backend_kind kind) {
  assert_ok(kp_backend_create(kind, &w->backend));
  assert_ok(kp_registry_create(w->backend, &w->registry));
  assert_ok(kp_registry_add_space(w->registry, "grains", KP_SPACE_PARTICLES, &w->space));
  const kp_field_desc descs[] = {
    { "id", KP_TYPE_U64, 1, "", KP_FIELD_STATE, 0.0 },
    { "x", KP_TYPE_POS, 3, "m", KP_FIELD_STATE, 0.0 },
    { "mass", KP_TYPE_REAL, 1, "kg", KP_FIELD_STATE, 0.1 },
    { "flag", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 3.0 },
    { "cold", KP_TYPE_I32, 1, "", KP_FIELD_STATE | KP_FIELD_COLD, -7.0 },
    { "trace", KP_TYPE_F64, 2, "", KP_FIELD_STATE | KP_FIELD_COLD, 0.5 },
  };
  assert_ok(kp_space_add_fields(w->space, descs, sizeof descs / sizeof descs[0]));
  w->id = kp_space_find(w->space, "id");
  w->x = kp_space_find(w->space, "x");
  w->mass = kp_space_find(w->space, "mass");
  w->flag = kp_space_find(w->space, "flag");
  w->cold = kp_space_find(w->space, "cold");
  w->trace = kp_space_find(w->space, "trace");
  const kp_field_desc wide = { "ring", KP_TYPE_F64, 2, "", KP_FIELD_STATE | KP_FIELD_COLD, RING };
  assert_ok(kp_space_add_wide_field(w->space, &wide, WIDTH, &w->ring));
  kp_buffer_init(&w->order, w->backend);
  kp_buffer_init(&w->keep, w->backend);
  w->snapshot = NULL;
}

static void world_close(world *w) {
  kp_snapshot_free(&w->snapshot);
  kp_buffer_free(&w->order);
  kp_buffer_free(&w->keep);
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

static const void *host(kp_field *field, int component) {
  return kp_buffer_host(&field->buffers[component], KP_ACCESS_READ);
}

static void compare(world *w, const model *m) {
  assert_int_equal(w->space->n, m->n);
  const kp_gid *id = host(w->id, 0);
  const kp_pos *x[3] = { host(w->x, 0), host(w->x, 1), host(w->x, 2) };
  const kp_real *mass = host(w->mass, 0);
  const uint8_t *flag = host(w->flag, 0);
  const uint32_t *slot = host(w->space->slot, 0);
  const int32_t *cold = host(w->cold, 0);
  const double *trace[2] = { host(w->trace, 0), host(w->trace, 1) };
  const double *ring[2] = { host(w->ring, 0), host(w->ring, 1) };
  for (int64_t i = 0; i < m->n; ++i) {
    const element *e = &m->elements[i];
    bool is_equal = id[i] == e->id && mass[i] == e->mass && flag[i] == e->flag;
    for (int c = 0; c < 3; ++c) {
      is_equal = is_equal && x[c][i] == e->x[c];
    }
    assert_true(slot[i] < w->space->n_slots);
    is_equal = is_equal && cold[slot[i]] == e->cold && trace[0][slot[i]] == e->trace[0] &&
               trace[1][slot[i]] == e->trace[1];
    for (int c = 0; c < 2; ++c) {
      const double *place = ring[c] + (size_t)slot[i] * WIDTH;
      is_equal = is_equal && memcmp(place, e->ring[c], sizeof e->ring[c]) == 0;
    }
    assert_true(is_equal);
  }
  assert_int_equal(w->space->n_slots, w->space->n + (int64_t)w->space->free_slots.count);
}

static void do_append(session *s, kp_test_random *random, int64_t most) {
  int64_t n = kp_test_integer(random, 0, most);
  n = s->now.n + n > MOST ? MOST - s->now.n : n;
  bool has_x = kp_test_bits(random) % 2 == 0;
  bool has_cold = kp_test_bits(random) % 2 == 0;
  bool has_ring = kp_test_bits(random) % 2 == 0;
  for (int64_t i = 0; i < n; ++i) {
    element e = fresh;
    s->batch.id[i] = e.id = s->next_id++;
    s->batch.cold[i] = (int32_t)kp_test_bits(random);
    e.cold = has_cold ? s->batch.cold[i] : e.cold;
    for (int c = 0; c < 3; ++c) {
      s->batch.x[c][i] = kp_test_uniform(random, -1.0, 1.0);
      e.x[c] = has_x ? s->batch.x[c][i] : 0.0;
    }
    for (int k = 0; k < 2 * WIDTH; ++k) {
      double value = kp_test_uniform(random, -1.0, 1.0);
      s->batch.ring[k % 2][i * WIDTH + k / 2] = value;
      e.ring[k % 2][k / 2] = has_ring ? value : RING;
    }
    s->now.elements[s->now.n++] = e;
  }
  for (int k = 0; k < N_KINDS; ++k) {
    world *w = &s->worlds[k];
    kp_append_value values[4] = { { w->id, { s->batch.id } } };
    size_t n_values = 1;
    if (has_x) {
      values[n_values++] =
          (kp_append_value){ w->x, { s->batch.x[0], s->batch.x[1], s->batch.x[2] } };
    }
    if (has_cold) {
      values[n_values++] = (kp_append_value){ w->cold, { s->batch.cold } };
    }
    if (has_ring) {
      values[n_values++] = (kp_append_value){ w->ring, { s->batch.ring[0], s->batch.ring[1] } };
    }
    assert_ok(kp_space_append(w->space, n, values, n_values));
  }
}

static void fill_words(kp_buffer *buffer, const uint32_t *words, int64_t n) {
  assert_ok(kp_buffer_resize(buffer, (size_t)n * sizeof *words));
  memcpy(kp_buffer_host(buffer, KP_ACCESS_OVERWRITE), words, (size_t)n * sizeof *words);
}

static void do_remove(session *s, kp_test_random *random) {
  double chance = kp_test_uniform(random, 0.0, 1.1);
  int64_t n_kept = 0;
  int64_t n_old = s->now.n;
  for (int64_t i = 0; i < n_old; ++i) {
    bool is_kept = kp_test_uniform(random, 0.0, 1.0) < chance;
    s->words[i] = is_kept ? (uint32_t)kp_test_bits(random) | 1u : 0u;
    if (is_kept) {
      s->now.elements[n_kept++] = s->now.elements[i];
    }
  }
  s->now.n = n_kept;
  for (int k = 0; k < N_KINDS; ++k) {
    fill_words(&s->worlds[k].keep, s->words, n_old);
    assert_ok(kp_space_remove(s->worlds[k].space, &s->worlds[k].keep));
  }
}

static void do_permute(session *s, kp_test_random *random) {
  int64_t n = s->now.n;
  for (int64_t i = 0; i < n; ++i) {
    int64_t j = kp_test_integer(random, 0, i);
    s->words[i] = s->words[j];
    s->words[j] = (uint32_t)i;
  }
  static model moved;
  for (int64_t i = 0; i < n; ++i) {
    moved.elements[i] = s->now.elements[s->words[i]];
  }
  memcpy(s->now.elements, moved.elements, (size_t)n * sizeof moved.elements[0]);
  for (int k = 0; k < N_KINDS; ++k) {
    fill_words(&s->worlds[k].order, s->words, n);
    assert_ok(kp_space_permute(s->worlds[k].space, &s->worlds[k].order));
  }
}

// A host-side change of one hot and one cold value.
static void do_write(session *s, kp_test_random *random) {
  if (s->now.n == 0) {
    return;
  }
  int64_t i = kp_test_integer(random, 0, s->now.n - 1);
  double value = kp_test_uniform(random, 0.0, 1.0);
  s->now.elements[i].mass = (kp_real)value;
  s->now.elements[i].trace[1] = value;
  s->now.elements[i].ring[1][WIDTH - 1] = value;
  for (int k = 0; k < N_KINDS; ++k) {
    world *w = &s->worlds[k];
    const uint32_t *slot = host(w->space->slot, 0);
    ((kp_real *)kp_buffer_host(&w->mass->buffers[0], KP_ACCESS_WRITE))[i] = (kp_real)value;
    ((double *)kp_buffer_host(&w->trace->buffers[1], KP_ACCESS_WRITE))[slot[i]] = value;
    double *ring = kp_buffer_host(&w->ring->buffers[1], KP_ACCESS_WRITE);
    ring[(size_t)slot[i] * WIDTH + WIDTH - 1] = value;
  }
}

static void do_save(session *s) {
  s->saved = s->now;
  for (int k = 0; k < N_KINDS; ++k) {
    assert_ok(kp_registry_save(s->worlds[k].registry, &s->worlds[k].snapshot));
  }
}

static void do_rewind(session *s) {
  s->now = s->saved;
  for (int k = 0; k < N_KINDS; ++k) {
    assert_ok(kp_registry_rewind(s->worlds[k].registry, s->worlds[k].snapshot));
  }
}

static void do_compact(session *s) {
  for (int k = 0; k < N_KINDS; ++k) {
    assert_ok(kp_space_compact_cold(s->worlds[k].space));
    assert_int_equal(s->worlds[k].space->n_slots, s->now.n);
  }
}

static void do_something(session *s, kp_test_random *random, int64_t most) {
  switch (kp_test_integer(random, 0, 8)) {
  case 0:
  case 1:
    do_append(s, random, most);
    break;
  case 2:
    do_remove(s, random);
    break;
  case 3:
  case 4:
    do_permute(s, random);
    break;
  case 5:
    do_write(s, random);
    break;
  case 6:
    do_save(s);
    break;
  case 7:
    do_rewind(s);
    break;
  default:
    do_compact(s);
    break;
  }
}

typedef struct plan {
  int n_steps;
  int64_t most;  // elements of one append
} plan;

static struct { int64_t looks, hashes_apart, most; } met;

static void random_case(kp_test_random *random, void *user) {
  const plan *p = user;
  session *s = kp_alloc_zero(sizeof *s, KP_MEMORY_TEST);
  world_open(&s->worlds[0], KP_BACKEND_CPU);
  world_open(&s->worlds[1], other_kind);
  do_save(s);
  for (int step = 0; step < p->n_steps; ++step) {
    do_something(s, random, p->most);
    // looking changes which sides are fresh, so not every step is looked at
    if (kp_test_bits(random) % 3 != 0) {
      uint64_t hashes[N_KINDS];
      for (int k = 0; k < N_KINDS; ++k) {
        compare(&s->worlds[k], &s->now);
        assert_ok(kp_registry_hash(s->worlds[k].registry, &hashes[k]));
      }
      met.hashes_apart += hashes[0] != hashes[1];
      met.most = s->now.n > met.most ? s->now.n : met.most;
      ++met.looks;
    }
  }
  world_close(&s->worlds[0]);
  world_close(&s->worlds[1]);
  kp_free(s);
}

static void test_small_sequences(void **state) {
  (void)state;
  kp_test_for_seeds(40, random_case, &(plan){ .n_steps = 60, .most = 9 });
}

// Large enough for several chunks per kernel, on one thread and on four.
static void test_large_sequences(void **state) {
  (void)state;
  for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
    kp_parallel_set_threads(n_threads);
    kp_test_for_seeds(2, random_case, &(plan){ .n_steps = 25, .most = 12000 });
  }
  kp_parallel_set_threads(0);
}

static void test_claim(void **state) {
  (void)state;
  kp_claim claim = { .id = "lyes-L1",
                     .text = "arrays of a set stay with their particles through any sequence of "
                             "changes",
                     .size = "random appends, removals, sorts, saves and rewinds on two backends" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "states that differ between backends", (double)met.hashes_apart, KP_AT_MOST, 0.0 },
      { "states equal to a plain model of the set", (double)met.looks, KP_AT_LEAST, 1000.0 },
      { "particles, most", (double)met.most, KP_AT_LEAST, 10000.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// 0, or the exit code when the wanted backend is unknown or not there.
static int choose_backend(void) {
  const char *name = getenv("KP_TEST_BACKEND");
  if (name == NULL) {
    return 0;
  }
  kp_backend *backend = NULL;
  kp_result result = kp_backend_parse(name, &other_kind);
  result = result == KP_OK ? kp_backend_create(other_kind, &backend) : result;
  if (result != KP_OK) {
    (void)printf("skipped: %s\n", kp_last_error());
    return result == KP_ERROR_BACKEND ? SKIPPED : 1;
  }
  kp_backend_destroy(&backend);
  return 0;
}

int main(void) {
  int code = choose_backend();
  if (code != 0) {
    return code;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_small_sequences),
    cmocka_unit_test(test_large_sequences),
    cmocka_unit_test(test_claim),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
