#include "data/set.h"

#include "base/assert.h"
#include "base/memory.h"

static kp_result add_fields(kp_set *set) {
  // ghosts are made anew from their owners, so nothing of them is state
  uint32_t flags = set->kind == KP_SET_GHOST
                       ? (uint32_t)KP_FIELD_SORT
                       : (uint32_t)(KP_FIELD_STATE | KP_FIELD_GHOST | KP_FIELD_EXPORT);
  kp_field_desc descs[] = {
    { .name = "position", .type = KP_TYPE_POS, .components = 3, .unit = "m", .flags = flags },
    { .name = "velocity", .type = KP_TYPE_REAL, .components = 3, .unit = "m/s", .flags = flags },
    { .name = "id", .type = KP_TYPE_U64, .components = 1, .unit = "", .flags = flags },
  };
  KP_TRY(kp_space_add_fields(set->space, descs, sizeof descs / sizeof descs[0]));
  set->position = kp_space_find(set->space, "position");
  set->velocity = kp_space_find(set->space, "velocity");
  set->id = kp_space_find(set->space, "id");
  return KP_OK;
}

kp_result kp_set_create(kp_registry *registry, const char *name, kp_set_kind kind, int dimension,
                        kp_set **out) {
  *out = NULL;
  KP_ASSERT(dimension == 2 || dimension == 3);
  kp_set *set = kp_alloc_zero(sizeof *set, KP_MEMORY_FIELD);
  if (set == NULL) {
    return KP_ERROR_MEMORY;
  }
  set->kind = kind;
  set->dimension = dimension;
  kp_result result = kp_registry_add_space(registry, name, KP_SPACE_PARTICLES, &set->space);
  if (result == KP_OK) {
    result = add_fields(set);
    if (result != KP_OK) {
      kp_registry_remove_space(registry, &set->space);
    }
  }
  if (result != KP_OK) {
    kp_free(set);
    return result;
  }
  *out = set;
  return KP_OK;
}

void kp_set_destroy(kp_set **set) {
  if (*set != NULL) {
    kp_array_free(&(*set)->staging);
    kp_free(*set);
    *set = NULL;
  }
}

// Arrays of one batch inside the staging memory: positions first, the widest type.
typedef struct batch {
  kp_pos *position[3];
  kp_gid *id;
  kp_real *velocity[3];
} batch;

static kp_result make_batch(kp_set *set, int64_t n, batch *out) {
  _Static_assert(sizeof(kp_pos) == 8 && sizeof(kp_gid) == 8, "columns of eight bytes");
  size_t column = (size_t)n;
  KP_TRY(kp_array_resize(&set->staging, column * 7));
  char *memory = (char *)set->staging.data;
  for (int c = 0; c < 3; ++c) {
    out->position[c] = (void *)(memory + sizeof(double) * column * (size_t)c);
    out->velocity[c] = (void *)(memory + sizeof(double) * column * (size_t)(4 + c));
  }
  out->id = (void *)(memory + sizeof(double) * column * 3);
  return KP_OK;
}

kp_result kp_set_add(kp_set *set, int64_t n, const kp_vec3 *positions, const kp_vec3 *velocities) {
  if (n <= 0) {
    return KP_OK;
  }
  batch b;
  KP_TRY(make_batch(set, n, &b));
  bool is_flat = set->dimension == 2;
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 x = positions[i];
    kp_vec3 v = velocities != NULL ? velocities[i] : kp_vec3_make(0.0, 0.0, 0.0);
    b.position[0][i] = x.x;
    b.position[1][i] = x.y;
    b.position[2][i] = is_flat ? 0.0 : x.z;
    b.velocity[0][i] = (kp_real)v.x;
    b.velocity[1][i] = (kp_real)v.y;
    b.velocity[2][i] = is_flat ? 0 : (kp_real)v.z;
    b.id[i] = set->next_id + (kp_gid)i;
  }
  kp_append_value values[] = {
    { set->position, { b.position[0], b.position[1], b.position[2] } },
    { set->velocity, { b.velocity[0], b.velocity[1], b.velocity[2] } },
    { set->id, { b.id } },
  };
  KP_TRY(kp_space_append(set->space, n, values, sizeof values / sizeof values[0]));
  set->next_id += (kp_gid)n;
  return KP_OK;
}
