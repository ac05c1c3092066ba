// Buffers, fields, registry and particle sets, on the cpu and on the mirror backend.
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/field.h"
#include "data/set.h"

static const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
#define N_KINDS (sizeof kinds / sizeof kinds[0])

// A small population with a field of every item size and one cold field.
typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_space *space;
  kp_field *mass, *id, *flag, *history, *scratch;
} world;

static void world_open(world *w, kp_backend_kind kind) {
  assert_ok(kp_backend_create(kind, &w->backend));
  assert_ok(kp_registry_create(w->backend, &w->registry));
  assert_ok(kp_registry_add_space(w->registry, "water", KP_SPACE_PARTICLES, &w->space));
  const kp_field_desc descs[] = {
    { "mass", KP_TYPE_REAL, 1, "kg", KP_FIELD_STATE, 0.5 },
    { "id", KP_TYPE_U64, 1, "", KP_FIELD_STATE, 0.0 },
    { "flag", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 7.0 },
    { "history", KP_TYPE_F64, 2, "m", KP_FIELD_SAVE | KP_FIELD_COLD, -1.5 },
    { "scratch", KP_TYPE_I32, 1, "", 0, -3.0 },
  };
  assert_ok(kp_space_add_fields(w->space, descs, sizeof descs / sizeof descs[0]));
  w->mass = kp_space_find(w->space, "mass");
  w->id = kp_space_find(w->space, "id");
  w->flag = kp_space_find(w->space, "flag");
  w->history = kp_space_find(w->space, "history");
  w->scratch = kp_space_find(w->space, "scratch");
}

static void world_close(world *w) {
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

static const void *host(kp_field *field, int component) {
  const void *data = kp_buffer_host(&field->buffers[component], KP_ACCESS_READ);
  assert_non_null(data);
  return data;
}

static void append_ids(world *w, kp_gid first, int64_t n) {
  kp_gid *ids = kp_alloc((size_t)n * sizeof *ids, KP_MEMORY_TEST);
  for (int64_t i = 0; i < n; ++i) {
    ids[i] = first + (kp_gid)i;
  }
  kp_append_value value = { w->id, { ids } };
  assert_ok(kp_space_append(w->space, n, &value, 1));
  kp_free(ids);
}

// The cold value of element i, by its slot.
static double history_of(world *w, int64_t i) {
  const uint32_t *slots = host(w->space->slot, 0);
  return ((const double *)host(w->history, 1))[slots[i]];
}

static void set_history(world *w, int64_t i, double value) {
  const uint32_t *slots = host(w->space->slot, 0);
  double *data = kp_buffer_host(&w->history->buffers[1], KP_ACCESS_WRITE);
  data[slots[i]] = value;
}

static void fill_u32(kp_buffer *buffer, const uint32_t *values, size_t n) {
  assert_ok(kp_buffer_resize(buffer, n * sizeof *values));
  memcpy(kp_buffer_host(buffer, KP_ACCESS_OVERWRITE), values, n * sizeof *values);
}

static void test_type_sizes(void **state) {
  (void)state;
  assert_int_equal(kp_type_size(KP_TYPE_REAL), sizeof(kp_real));
  assert_int_equal(kp_type_size(KP_TYPE_POS), 8);
  assert_int_equal(kp_type_size(KP_TYPE_U8), 1);
  assert_int_equal(kp_type_size(KP_TYPE_I32), 4);
  assert_int_equal(kp_type_size(KP_TYPE_U32), 4);
  assert_int_equal(kp_type_size(KP_TYPE_F64), 8);
  assert_int_equal(kp_type_size(KP_TYPE_U64), 8);
}

static void test_buffer_sides(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    kp_backend *backend;
    assert_ok(kp_backend_create(kinds[k], &backend));
    kp_buffer buffer;
    kp_buffer_init(&buffer, backend);
    assert_non_null(kp_buffer_device(&buffer, KP_ACCESS_READ));
    assert_ok(kp_buffer_resize(&buffer, 100));
    bool is_shared = backend->vt->shares_host_memory;
    // state that stays on the device costs no host memory
    assert_true(is_shared == (buffer.host != NULL));

    memset(kp_buffer_host(&buffer, KP_ACCESS_OVERWRITE), 3, 100);
    assert_true(is_shared == (buffer.host == buffer.device));
    const char *device = kp_buffer_device(&buffer, KP_ACCESS_READ);
    assert_int_equal(device[99], 3);
    assert_int_equal(backend->counters.bytes_in, is_shared ? 0 : 100);
    // fresh already: no second copy
    (void)kp_buffer_device(&buffer, KP_ACCESS_READ);
    assert_int_equal(backend->counters.copies, is_shared ? 0 : 1);

    // growth keeps what is there on every valid side
    assert_ok(kp_buffer_resize(&buffer, 10000));
    device = kp_buffer_device(&buffer, KP_ACCESS_READ);
    assert_int_equal(device[99], 3);
    const char *bytes = kp_buffer_host(&buffer, KP_ACCESS_READ);
    assert_int_equal(bytes[99], 3);
    kp_buffer_free(&buffer);
    kp_backend_destroy(&backend);
  }
}

static void test_mirror_poisons(void **state) {
  (void)state;
  kp_backend *backend;
  assert_ok(kp_backend_create(KP_BACKEND_MIRROR, &backend));
  kp_buffer buffer;
  kp_buffer_init(&buffer, backend);
  assert_ok(kp_buffer_resize(&buffer, 16));
  unsigned char *bytes = kp_buffer_host(&buffer, KP_ACCESS_OVERWRITE);
  memset(bytes, 1, 16);
  unsigned char *device = kp_buffer_device(&buffer, KP_ACCESS_WRITE);
  assert_int_equal(device[0], 1);
  assert_int_equal(bytes[0], 0xff);
  device[0] = 9;
  bytes = kp_buffer_host(&buffer, KP_ACCESS_WRITE);
  assert_int_equal(bytes[0], 9);
  assert_int_equal(device[0], 0xff);
  // what a shrink forgot does not come back
  assert_ok(kp_buffer_resize(&buffer, 4));
  assert_ok(kp_buffer_resize(&buffer, 16));
  assert_int_equal(bytes[3], 1);
  assert_int_equal(bytes[4], 0xff);
  kp_buffer_free(&buffer);
  kp_backend_destroy(&backend);
}

static void test_buffer_grows_geometrically(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    kp_backend *backend;
    assert_ok(kp_backend_create(kinds[k], &backend));
    kp_buffer buffer;
    kp_buffer_init(&buffer, backend);
    int n_growths = 0;
    for (size_t n = 1; n <= 100000; ++n) {
      size_t before = buffer.capacity;
      char byte = (char)n;
      assert_ok(kp_buffer_append(&buffer, &byte, 1));
      n_growths += buffer.capacity != before ? 1 : 0;
    }
    // 64 x 1.5^n >= 100000 needs n = 19
    assert_between(n_growths, 15, 25);
    const char *bytes = kp_buffer_host(&buffer, KP_ACCESS_READ);
    for (size_t n = 1; n <= 100000; ++n) {
      assert_int_equal(bytes[n - 1], (char)n);
    }
    kp_buffer_free(&buffer);
    kp_backend_destroy(&backend);
  }
}

static void test_names_and_types_are_checked(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU);
  kp_field *field;
  kp_space *space;
  kp_field_desc desc = { "mass", KP_TYPE_REAL, 1, "", 0, 0.0 };
  size_t n_fields = w.space->fields.count;
  assert_fails(KP_ERROR_ARGUMENT, "two fields", kp_space_add_field(w.space, &desc, &field));
  assert_null(field);
  desc.name = "a/b";
  assert_fails(KP_ERROR_ARGUMENT, "no '/'", kp_space_add_field(w.space, &desc, &field));
  desc.name = "";
  assert_fails(KP_ERROR_ARGUMENT, "1 to", kp_space_add_field(w.space, &desc, &field));
  desc.name = "wide";
  desc.components = KP_FIELD_COMPONENTS + 1;
  assert_fails(KP_ERROR_ARGUMENT, "components", kp_space_add_field(w.space, &desc, &field));
  desc = (kp_field_desc){ "half", KP_TYPE_U8, 1, "", 0, 0.5 };
  assert_fails(KP_ERROR_ARGUMENT, "initial value 0.5", kp_space_add_field(w.space, &desc, &field));
  desc.initial = 256.0;
  assert_fails(KP_ERROR_ARGUMENT, "water/half", kp_space_add_field(w.space, &desc, &field));
  desc.initial = NAN;
  assert_fails(KP_ERROR_ARGUMENT, "water/half", kp_space_add_field(w.space, &desc, &field));
  assert_fails(KP_ERROR_ARGUMENT, "two spaces",
               kp_registry_add_space(w.registry, "water", KP_SPACE_CELLS, &space));

  // all or none
  const kp_field_desc pair[] = { { "one", KP_TYPE_REAL, 1, "", 0, 0.0 },
                                 { "one", KP_TYPE_REAL, 1, "", 0, 0.0 } };
  assert_fails(KP_ERROR_ARGUMENT, "two fields", kp_space_add_fields(w.space, pair, 2));
  assert_int_equal(w.space->fields.count, n_fields);

  // the slot field is made by the first COLD one
  assert_ok(kp_registry_add_space(w.registry, "other", KP_SPACE_CELLS, &space));
  desc = (kp_field_desc){ "slot", KP_TYPE_U32, 1, "", 0, 0.0 };
  assert_ok(kp_space_add_field(space, &desc, &field));
  desc = (kp_field_desc){ "cold", KP_TYPE_U32, 1, "", KP_FIELD_COLD, 0.0 };
  assert_fails(KP_ERROR_ARGUMENT, "COLD", kp_space_add_field(space, &desc, &field));
  assert_ptr_equal(kp_registry_find(w.registry, "other"), space);
  kp_registry_remove_space(w.registry, &space);
  assert_null(kp_registry_find(w.registry, "other"));
  assert_ptr_equal(kp_registry_find(w.registry, "water"), w.space);
  world_close(&w);
}

static void test_append_fills_defaults(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    uint64_t revision = w.space->revision;
    append_ids(&w, 100, 3);
    append_ids(&w, 200, 2);
    assert_int_equal(w.space->n, 5);
    assert_int_equal(w.space->revision, revision + 2);
    const kp_gid *ids = host(w.id, 0);
    assert_int_equal(ids[2], 102);
    assert_int_equal(ids[4], 201);
    for (int64_t i = 0; i < 5; ++i) {
      assert_true(((const kp_real *)host(w.mass, 0))[i] == (kp_real)0.5);
      assert_int_equal(((const uint8_t *)host(w.flag, 0))[i], 7);
      assert_int_equal(((const int32_t *)host(w.scratch, 0))[i], -3);
      assert_true(history_of(&w, i) == -1.5);
    }
    // a field that comes later gets its default too
    kp_field *late;
    kp_field_desc desc = { "late", KP_TYPE_POS, 1, "m", KP_FIELD_STATE, 2.25 };
    assert_ok(kp_space_add_field(w.space, &desc, &late));
    assert_true(((const double *)host(late, 0))[4] == 2.25);
    desc = (kp_field_desc){ "late_cold", KP_TYPE_U32, 1, "", KP_FIELD_COLD, 4294967295.0 };
    assert_ok(kp_space_add_field(w.space, &desc, &late));
    assert_int_equal(((const uint32_t *)host(late, 0))[4], 4294967295u);
    world_close(&w);
  }
}

static void test_append_refuses(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_MIRROR);
  kp_append_value value = { w.id, { NULL } };
  assert_fails(KP_ERROR_ARGUMENT, "component 0", kp_space_append(w.space, 1, &value, 1));
  assert_fails(KP_ERROR_ARGUMENT, "-1 elements", kp_space_append(w.space, -1, NULL, 0));
  kp_space *other;
  assert_ok(kp_registry_add_space(w.registry, "other", KP_SPACE_CELLS, &other));
  kp_gid id = 0;
  value.components[0] = &id;
  assert_fails(KP_ERROR_ARGUMENT, "do not belong", kp_space_append(other, 1, &value, 1));
  assert_int_equal(w.space->n, 0);
  assert_ok(kp_space_append(w.space, 0, NULL, 0));
  assert_int_equal(w.space->revision, 0);
  world_close(&w);
}

static void test_append_copies_only_the_new(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_MIRROR);
  append_ids(&w, 0, 1000);
  int64_t before = w.backend->counters.bytes_in + w.backend->counters.bytes_out;
  append_ids(&w, 1000, 10);
  int64_t moved = w.backend->counters.bytes_in + w.backend->counters.bytes_out - before;
  // ids of 8 bytes and slots of 4
  assert_int_equal(moved, 10 * 12);
  world_close(&w);
}

static void test_remove_keeps_order(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    append_ids(&w, 0, 6);
    for (int64_t i = 0; i < 6; ++i) {
      set_history(&w, i, 10.0 * (double)i);
    }
    kp_buffer keep;
    kp_buffer_init(&keep, w.backend);
    // any mark but zero keeps
    fill_u32(&keep, (uint32_t[]){ 0, 1, 0xffffffffu, 0, 2, 0 }, 6);
    (void)kp_buffer_device(&keep, KP_ACCESS_READ);
    int64_t before = w.backend->counters.bytes_out;
    assert_ok(kp_space_remove(w.space, &keep));
    // the look at the count and the freed slots
    assert_int_equal(w.backend->counters.bytes_out - before, 4 + 3 * 4);
    assert_int_equal(w.space->n, 3);
    const kp_gid wanted[] = { 1, 2, 4 };
    assert_memory_equal(host(w.id, 0), wanted, sizeof wanted);
    for (int64_t i = 0; i < 3; ++i) {
      assert_true(history_of(&w, i) == 10.0 * (double)wanted[i]);
    }
    // freed slots come back with fresh contents
    assert_int_equal(w.space->free_slots.count, 3);
    append_ids(&w, 50, 2);
    assert_int_equal(w.space->n_slots, 6);
    assert_true(history_of(&w, 3) == -1.5 && history_of(&w, 4) == -1.5);
    assert_true(history_of(&w, 2) == 40.0);

    // nothing to do is nothing done
    uint64_t revision = w.space->revision;
    fill_u32(&keep, (uint32_t[]){ 1, 1, 1, 1, 1 }, 5);
    assert_ok(kp_space_remove(w.space, &keep));
    assert_int_equal(w.space->revision, revision);
    fill_u32(&keep, (uint32_t[]){ 0, 0, 0, 0, 0 }, 5);
    assert_ok(kp_space_remove(w.space, &keep));
    assert_int_equal(w.space->n, 0);
    append_ids(&w, 9, 1);
    assert_int_equal(((const kp_gid *)host(w.id, 0))[0], 9);
    assert_true(history_of(&w, 0) == -1.5);

    assert_ok(kp_buffer_resize(&keep, 0));
    assert_fails(KP_ERROR_INTERNAL, "marks", kp_space_remove(w.space, &keep));
    kp_buffer_free(&keep);
    world_close(&w);
  }
}

static void test_permute_and_cold_slots(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    append_ids(&w, 0, 4);
    int32_t *scratch = kp_buffer_host(&w.scratch->buffers[0], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < 4; ++i) {
      set_history(&w, i, (double)i);
      scratch[i] = (int32_t)i;
    }
    kp_buffer order;
    kp_buffer_init(&order, w.backend);
    fill_u32(&order, (uint32_t[]){ 3, 1, 0, 2 }, 4);
    assert_ok(kp_space_permute(w.space, &order));
    const kp_gid wanted[] = { 3, 1, 0, 2 };
    assert_memory_equal(host(w.id, 0), wanted, sizeof wanted);
    // no SORT flag: stays; COLD: stays, found by the slot
    assert_int_equal(((const int32_t *)host(w.scratch, 0))[0], 0);
    assert_true(((const double *)host(w.history, 1))[0] == 0.0);
    for (int64_t i = 0; i < 4; ++i) {
      assert_true(history_of(&w, i) == (double)wanted[i]);
    }

    // closing holes changes neither what elements hold nor the hash
    kp_buffer keep;
    kp_buffer_init(&keep, w.backend);
    fill_u32(&keep, (uint32_t[]){ 1, 0, 1, 1 }, 4);
    assert_ok(kp_space_remove(w.space, &keep));
    uint64_t before;
    uint64_t after;
    assert_ok(kp_registry_hash(w.registry, &before));
    assert_ok(kp_space_compact_cold(w.space));
    assert_ok(kp_registry_hash(w.registry, &after));
    assert_true(before == after);
    assert_int_equal(w.space->n_slots, 3);
    assert_int_equal(w.space->free_slots.count, 0);
    assert_true(((const double *)host(w.history, 1))[0] == 3.0);
    assert_true(history_of(&w, 1) == 0.0 && history_of(&w, 2) == 2.0);
    append_ids(&w, 77, 2);
    assert_int_equal(((const uint32_t *)host(w.space->slot, 0))[4], 4);

    fill_u32(&order, (uint32_t[]){ 0 }, 1);
    assert_fails(KP_ERROR_INTERNAL, "shorter", kp_space_permute(w.space, &order));
    kp_buffer_free(&order);
    kp_buffer_free(&keep);
    world_close(&w);
  }
}

static kp_result count_view(const kp_field_view *view, void *user) {
  int64_t *n = user;
  *n += view->count;
  return view->data != NULL ? KP_OK : KP_ERROR_INTERNAL;
}

static void test_hash_and_layout(void **state) {
  (void)state;
  uint64_t hashes[N_KINDS];
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    append_ids(&w, 5, 7);
    assert_ok(kp_registry_hash(w.registry, &hashes[k]));
    int64_t n = 0;
    assert_ok(kp_registry_visit(w.registry, KP_FIELD_SAVE, count_view, &n));
    // mass, id, flag, slot and two components of history
    assert_int_equal(n, 6 * 7);

    // a change of one bit shows; scratch does not count
    uint64_t hash;
    int32_t *scratch = kp_buffer_host(&w.scratch->buffers[0], KP_ACCESS_WRITE);
    scratch[0] = 99;
    assert_ok(kp_registry_hash(w.registry, &hash));
    assert_true(hash == hashes[k]);
    kp_gid *ids = kp_buffer_host(&w.id->buffers[0], KP_ACCESS_WRITE);
    ids[6] ^= 1;
    assert_ok(kp_registry_hash(w.registry, &hash));
    assert_true(hash != hashes[k]);

    uint64_t layout = kp_registry_layout(w.registry);
    append_ids(&w, 0, 1);
    assert_true(kp_registry_layout(w.registry) == layout);
    kp_field *field;
    kp_field_desc passing = { "passing", KP_TYPE_U8, 1, "", 0, 0.0 };
    assert_ok(kp_space_add_field(w.space, &passing, &field));
    assert_true(kp_registry_layout(w.registry) == layout);
    kp_field_desc saved = { "more", KP_TYPE_U8, 1, "", KP_FIELD_SAVE, 0.0 };
    assert_ok(kp_space_add_field(w.space, &saved, &field));
    assert_true(kp_registry_layout(w.registry) != layout);
    world_close(&w);
  }
  assert_true(hashes[0] == hashes[1]);
}

// A checkpoint in memory: what visit gives is what load takes.
typedef struct section {
  char name[2 * KP_NAME_SIZE + 8];
  int64_t count;
  char *data;
} section;

typedef struct store {
  section sections[16];
  int n;
} store;

static void section_name(char *out, const char *space, const char *field, int component) {
  (void)snprintf(out, sizeof((section *)0)->name, "%s/%s/%d", space, field, component);
}

static kp_result put(const kp_field_view *view, void *user) {
  store *s = user;
  section *part = &s->sections[s->n++];
  section_name(part->name, view->space->name, view->field->name, view->component);
  size_t bytes = (size_t)view->count * kp_type_size(view->field->type);
  part->count = view->count;
  part->data = kp_alloc(bytes, KP_MEMORY_TEST);
  memcpy(part->data, view->data, bytes);
  return KP_OK;
}

static kp_result get(const char *space, const char *field, int component, int64_t *count,
                     void *data, void *user) {
  const store *s = user;
  char name[sizeof((section *)0)->name];
  section_name(name, space, field, component);
  for (int k = 0; k < s->n; ++k) {
    if (strcmp(s->sections[k].name, name) == 0) {
      *count = s->sections[k].count;
      if (data != NULL) {
        memcpy(data, s->sections[k].data, kp_alloc_size(s->sections[k].data));
      }
      return KP_OK;
    }
  }
  return kp_fail(KP_ERROR_FORMAT, "no section %s", name);
}

static void store_free(store *s) {
  for (int k = 0; k < s->n; ++k) {
    kp_free(s->sections[k].data);
  }
}

static void test_load(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    append_ids(&w, 5, 9);
    for (int64_t i = 0; i < 9; ++i) {
      set_history(&w, i, 0.25 * (double)i);
    }
    kp_buffer keep;
    kp_buffer_init(&keep, w.backend);
    fill_u32(&keep, (uint32_t[]){ 1, 0, 1, 1, 0, 1, 1, 1, 1 }, 9);
    assert_ok(kp_space_remove(w.space, &keep));
    uint64_t wanted;
    assert_ok(kp_registry_hash(w.registry, &wanted));
    store s = { .n = 0 };
    assert_ok(kp_registry_visit(w.registry, KP_FIELD_SAVE, put, &s));

    // into a fresh world of the other kind
    world v;
    world_open(&v, kinds[1 - k]);
    append_ids(&v, 0, 20);
    assert_ok(kp_registry_load(v.registry, get, &s));
    uint64_t hash;
    assert_ok(kp_registry_hash(v.registry, &hash));
    assert_true(hash == wanted);
    assert_int_equal(v.space->n, 7);
    assert_int_equal(v.space->n_slots, 9);
    assert_int_equal(v.space->free_slots.count, 2);
    assert_int_equal(((const int32_t *)host(v.scratch, 0))[6], -3);

    // counts that disagree and slots that collide are refused
    s.sections[1].count = 6;
    assert_fails(KP_ERROR_FORMAT, "water/id/0", kp_registry_load(v.registry, get, &s));
    assert_ok(kp_registry_hash(v.registry, &hash));
    assert_true(hash == wanted);
    s.sections[1].count = 7;
    for (int part = 0; part < s.n; ++part) {
      if (strcmp(s.sections[part].name, "water/slot/0") == 0) {
        memset(s.sections[part].data, 0, 8);
      }
    }
    assert_fails(KP_ERROR_FORMAT, "water/slot", kp_registry_load(v.registry, get, &s));
    s.n = 1;
    assert_fails(KP_ERROR_FORMAT, "no section", kp_registry_load(v.registry, get, &s));
    s.n = 6;
    store_free(&s);
    kp_buffer_free(&keep);
    world_close(&v);
    world_close(&w);
  }
}

static void test_snapshot(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    append_ids(&w, 0, 50);
    kp_snapshot *snapshot = NULL;
    uint64_t wanted;
    uint64_t hash;
    assert_ok(kp_registry_hash(w.registry, &wanted));
    assert_ok(kp_registry_save(w.registry, &snapshot));
    append_ids(&w, 1000, 70);
    set_history(&w, 3, 8.0);
    uint64_t revision = w.space->revision;
    assert_ok(kp_registry_rewind(w.registry, snapshot));
    assert_ok(kp_registry_hash(w.registry, &hash));
    assert_true(hash == wanted);
    assert_true(w.space->revision > revision);
    assert_int_equal(w.space->n_slots, 50);

    // again without memory
    int64_t n_host = kp_memory_allocations();
    int64_t n_device = w.backend->counters.device_allocations;
    int64_t moved = w.backend->counters.copies;
    assert_ok(kp_registry_save(w.registry, &snapshot));
    assert_ok(kp_registry_rewind(w.registry, snapshot));
    assert_int_equal(kp_memory_allocations(), n_host);
    assert_int_equal(w.backend->counters.device_allocations, n_device);
    assert_int_equal(w.backend->counters.copies, moved);

    kp_field *field;
    kp_field_desc desc = { "more", KP_TYPE_REAL, 1, "", KP_FIELD_STATE, 3.0 };
    assert_ok(kp_space_add_field(w.space, &desc, &field));
    assert_fails(KP_ERROR_ARGUMENT, "other fields", kp_registry_rewind(w.registry, snapshot));
    assert_ok(kp_registry_save(w.registry, &snapshot));
    assert_ok(kp_registry_rewind(w.registry, snapshot));
    kp_snapshot_free(&snapshot);
    world_close(&w);
  }
}

// Emission and removal in balance, sorts in between: after the first rounds nothing is allocated.
static void test_steady_state_allocates_nothing(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    append_ids(&w, 0, 1000);
    kp_buffer marks;
    kp_buffer order;
    kp_buffer_init(&marks, w.backend);
    kp_buffer_init(&order, w.backend);
    int64_t n_host = 0;
    int64_t n_device = 0;
    int64_t growths = 0;
    kp_gid ids[100];
    kp_append_value value = { w.id, { ids } };
    for (int round = 0; round < 30; ++round) {
      if (round == 5) {
        n_host = kp_memory_allocations();
        n_device = w.backend->counters.device_allocations;
        growths = w.space->growths;
      }
      memset(ids, round, sizeof ids);
      assert_ok(kp_space_append(w.space, 100, &value, 1));
      assert_ok(kp_buffer_resize(&order, (size_t)w.space->n * sizeof(uint32_t)));
      uint32_t *p = kp_buffer_host(&order, KP_ACCESS_OVERWRITE);
      for (int64_t i = 0; i < w.space->n; ++i) {
        p[i] = (uint32_t)(w.space->n - 1 - i);
      }
      assert_ok(kp_space_permute(w.space, &order));
      assert_ok(kp_buffer_resize(&marks, (size_t)w.space->n * sizeof(uint32_t)));
      p = kp_buffer_host(&marks, KP_ACCESS_OVERWRITE);
      for (int64_t i = 0; i < w.space->n; ++i) {
        p[i] = i % 11 != 0 || i >= 1100 ? 1 : 0;
      }
      assert_ok(kp_space_remove(w.space, &marks));
      assert_int_equal(w.space->n, 1000);
    }
    assert_int_equal(kp_memory_allocations(), n_host);
    assert_int_equal(w.backend->counters.device_allocations, n_device);
    assert_int_equal(w.space->growths, growths);
    assert_true(growths > 0);
    assert_int_equal(w.space->n_slots, 1100);
    kp_buffer_free(&marks);
    kp_buffer_free(&order);
    world_close(&w);
  }
}

// Many items of an element side by side: values come, go to a file and come back whole.
static void test_wide_fields(void **state) {
  (void)state;
  enum { WIDTH = 1500, N = 3 };  // a place is larger than a block of the hash
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world v;
    world_open(&w, kinds[k]);
    world_open(&v, kinds[1 - k]);
    const kp_field_desc desc = { "ring", KP_TYPE_F64, 1, "m", KP_FIELD_SAVE | KP_FIELD_COLD, 0.5 };
    kp_field *ring;
    kp_field *twin;
    double before = kp_space_bytes_per_element(w.space);
    assert_ok(kp_space_add_wide_field(w.space, &desc, WIDTH, &ring));
    assert_true(kp_space_bytes_per_element(w.space) == before + 8.0 * WIDTH);
    double *values = kp_alloc(N * WIDTH * sizeof *values, KP_MEMORY_TEST);
    for (int i = 0; i < N * WIDTH; ++i) {
      values[i] = (double)i;
    }
    kp_append_value value = { ring, { values } };
    assert_ok(kp_space_append(w.space, N, &value, 1));
    assert_ok(kp_space_append(w.space, 1, NULL, 0));
    const double *items = host(ring, 0);
    assert_memory_equal(items, values, N * WIDTH * sizeof *values);
    assert_true(items[N * WIDTH] == 0.5 && items[(N + 1) * WIDTH - 1] == 0.5);

    uint64_t hash;
    uint64_t wanted;
    assert_ok(kp_registry_hash(w.registry, &wanted));
    double *item = (double *)kp_buffer_host(&ring->buffers[0], KP_ACCESS_WRITE) + WIDTH + 777;
    *item += 1.0;
    assert_ok(kp_registry_hash(w.registry, &hash));
    assert_true(hash != wanted);
    *item -= 1.0;

    store s = { .n = 0 };
    assert_ok(kp_registry_visit(w.registry, KP_FIELD_SAVE, put, &s));
    // another width is another layout
    assert_ok(kp_space_add_wide_field(v.space, &desc, WIDTH, &twin));
    assert_true(kp_registry_layout(v.registry) == kp_registry_layout(w.registry));
    twin->width = WIDTH - 1;
    assert_true(kp_registry_layout(v.registry) != kp_registry_layout(w.registry));
    twin->width = WIDTH;
    assert_ok(kp_registry_load(v.registry, get, &s));
    assert_ok(kp_registry_hash(v.registry, &hash));
    assert_true(hash == wanted);
    int last = s.n - 1;
    assert_holds(s.sections[last].name, "ring");
    s.sections[last].count -= 1;
    assert_fails(KP_ERROR_FORMAT, "of 1500 each", kp_registry_load(v.registry, get, &s));
    store_free(&s);
    kp_free(values);
    world_close(&v);
    world_close(&w);
  }
}

static void test_wide_fields_are_cold(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU);
  kp_field *ring;
  kp_field_desc desc = { "ring", KP_TYPE_F64, 1, "", KP_FIELD_STATE, 0.0 };
  assert_fails(KP_ERROR_ARGUMENT, "COLD", kp_space_add_wide_field(w.space, &desc, 4, &ring));
  desc.flags |= KP_FIELD_COLD;
  assert_fails(KP_ERROR_ARGUMENT, "0 items", kp_space_add_wide_field(w.space, &desc, 0, &ring));
  desc.type = KP_TYPE_U8;
  assert_fails(KP_ERROR_ARGUMENT, "4 or 8", kp_space_add_wide_field(w.space, &desc, 4, &ring));
  assert_null(ring);
  world_close(&w);
}

static void test_bytes_per_element(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU);
  // mass, id, flag, history x 2, slot, scratch; back buffers of 1, 4 and 8 bytes
  double wanted = (double)sizeof(kp_real) + 8 + 1 + 16 + 4 + 4 + (1 + 4 + 8);
  assert_true(kp_space_bytes_per_element(w.space) == wanted);
  world_close(&w);
}

static void test_set(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    kp_set *flat;
    kp_set *deep;
    kp_set *twin;
    assert_ok(kp_set_create(w.registry, "flat", KP_SET_FREE, 2, &flat));
    assert_ok(kp_set_create(w.registry, "deep", KP_SET_TIED, 3, &deep));
    assert_fails(KP_ERROR_ARGUMENT, "two spaces",
                 kp_set_create(w.registry, "deep", KP_SET_TIED, 3, &twin));
    assert_null(twin);
    const kp_vec3 x[] = { { 1.0, 2.0, 3.0 }, { -1.0, -2.0, -0.0 } };
    const kp_vec3 v[] = { { 4.0, 5.0, 6.0 }, { 7.0, 8.0, -0.0 } };
    assert_ok(kp_set_add(flat, 2, x, v));
    assert_ok(kp_set_add(flat, 1, x, NULL));
    assert_ok(kp_set_add(flat, 0, NULL, NULL));
    assert_ok(kp_set_add(deep, 2, x, v));
    assert_int_equal(flat->next_id, 3);

    // two dimensions: z is zero to the bit, the sign included
    const kp_pos zero_pos[3] = { 0 };
    const kp_real zero_real[3] = { 0 };
    assert_memory_equal(host(flat->position, 2), zero_pos, sizeof zero_pos);
    assert_memory_equal(host(flat->velocity, 2), zero_real, sizeof zero_real);
    const kp_pos *z = host(deep->position, 2);
    assert_true(z[0] == 3.0 && signbit(z[1]));
    const kp_real *vy = host(flat->velocity, 1);
    assert_true(vy[0] == 5 && vy[1] == 8 && vy[2] == 0);
    const kp_gid ids[] = { 0, 1, 2 };
    assert_memory_equal(host(flat->id, 0), ids, sizeof ids);
    kp_set_destroy(&flat);
    kp_set_destroy(&deep);
    assert_null(flat);
    world_close(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_type_sizes),
    cmocka_unit_test(test_buffer_sides),
    cmocka_unit_test(test_mirror_poisons),
    cmocka_unit_test(test_buffer_grows_geometrically),
    cmocka_unit_test(test_names_and_types_are_checked),
    cmocka_unit_test(test_append_fills_defaults),
    cmocka_unit_test(test_append_refuses),
    cmocka_unit_test(test_append_copies_only_the_new),
    cmocka_unit_test(test_remove_keeps_order),
    cmocka_unit_test(test_permute_and_cold_slots),
    cmocka_unit_test(test_hash_and_layout),
    cmocka_unit_test(test_load),
    cmocka_unit_test(test_snapshot),
    cmocka_unit_test(test_steady_state_allocates_nothing),
    cmocka_unit_test(test_wide_fields),
    cmocka_unit_test(test_wide_fields_are_cold),
    cmocka_unit_test(test_bytes_per_element),
    cmocka_unit_test(test_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
