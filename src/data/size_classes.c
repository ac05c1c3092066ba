#include "data/size_classes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

// Looking up one row of cells costs about as much as this many candidates.
#define ROW_COST 4.0

int kp_size_classes_count(double smallest, double largest) {
  KP_ASSERT(smallest > 0.0 && largest >= smallest && largest < HUGE_VAL);
  double ratio = largest / smallest;
  int n = ilogb(ratio);
  // the upper end of the last class belongs to it
  return n < 1 ? 1 : n + (ratio > ldexp(1.0, n) ? 1 : 0);
}

int kp_size_classes_find(const kp_size_classes *s, double radius) {
  int c = ilogb(radius / s->def.smallest);
  return c < 0 ? 0 : (c < s->count ? c : s->count - 1);
}

static kp_result make_class(kp_registry *registry, const char *name, int index,
                            const kp_size_classes_def *def, kp_size_class *out) {
  static const kp_field_desc radius = {
    .name = "radius",
    .type = KP_TYPE_REAL,
    .components = 1,
    .unit = "m",
    .flags = KP_FIELD_STATE | KP_FIELD_GHOST | KP_FIELD_EXPORT,
  };
  char text[KP_NAME_SIZE];
  int length = snprintf(text, sizeof text, "%s.%d", name, index);
  if (length < 0 || length >= (int)sizeof text) {
    return kp_fail(KP_ERROR_ARGUMENT, "the name \"%s\" is too long for a set of size classes",
                   name);
  }
  KP_TRY(kp_set_create(registry, text, def->kind, def->dimension, &out->set));
  KP_TRY(kp_space_add_field(out->set->space, &radius, &out->radius));
  double upper = ldexp(def->smallest, index + 1);
  upper = upper < def->largest ? upper : def->largest;
  return kp_cells_create(out->set, 2.0 * upper, &out->cells);
}

kp_result kp_size_classes_create(kp_registry *registry, const char *name,
                                 const kp_size_classes_def *def, kp_size_classes **out) {
  *out = NULL;
  int count = kp_size_classes_count(def->smallest, def->largest);
  if (count > KP_SIZE_CLASSES) {
    return kp_fail(KP_ERROR_ARGUMENT, "the radii of \"%s\" spread too far: %g to %g m", name,
                   def->smallest, def->largest);
  }
  kp_size_classes *s = kp_alloc_zero(sizeof *s, KP_MEMORY_FIELD);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  s->def = *def;
  kp_buffer_init(&s->keep, registry->backend);
  kp_result result = KP_OK;
  while (s->count < count && result == KP_OK) {
    result = make_class(registry, name, s->count, def, &s->classes[s->count]);
    ++s->count;
  }
  if (result != KP_OK) {
    for (int c = 0; c < s->count; ++c) {
      kp_space *space = s->classes[c].set != NULL ? s->classes[c].set->space : NULL;
      kp_cells_destroy(&s->classes[c].cells);
      if (space != NULL) {
        kp_registry_remove_space(registry, &space);
      }
    }
    kp_size_classes_destroy(&s);
    return result;
  }
  *out = s;
  return KP_OK;
}

void kp_size_classes_destroy(kp_size_classes **classes) {
  kp_size_classes *s = *classes;
  if (s == NULL) {
    return;
  }
  for (int c = 0; c < s->count; ++c) {
    kp_cells_destroy(&s->classes[c].cells);
    kp_set_destroy(&s->classes[c].set);
  }
  kp_array_free(&s->staging);
  kp_array_free(&s->targets);
  kp_buffer_free(&s->keep);
  kp_free(s);
  *classes = NULL;
}

kp_result kp_size_classes_add_fields(kp_size_classes *s, const kp_field_desc *descs, size_t n) {
  for (int c = 0; c < s->count; ++c) {
    KP_TRY(kp_space_add_fields(s->classes[c].set->space, descs, n));
  }
  return KP_OK;
}

// --- adding --------------------------------------------------------------------------------------

// Columns of one batch inside the staging memory: eight words per particle, the widest types first.
typedef struct batch {
  kp_pos *position[3];
  kp_gid *id;
  kp_real *velocity[3];
  kp_real *radius;
  int64_t n;
} batch;

static batch make_batch(kp_size_classes *s, int64_t capacity) {
  uint64_t *column[8];
  for (int k = 0; k < 8; ++k) {
    column[k] = s->staging.data + (size_t)capacity * (size_t)k;
  }
  return (batch){ .position = { (void *)column[0], (void *)column[1], (void *)column[2] },
                  .id = (void *)column[3],
                  .velocity = { (void *)column[4], (void *)column[5], (void *)column[6] },
                  .radius = (void *)column[7] };
}

static void put(batch *b, kp_vec3 x, kp_vec3 v, kp_gid id, double radius) {
  int64_t k = b->n++;
  b->position[0][k] = x.x;
  b->position[1][k] = x.y;
  b->position[2][k] = x.z;
  b->velocity[0][k] = (kp_real)v.x;
  b->velocity[1][k] = (kp_real)v.y;
  b->velocity[2][k] = (kp_real)v.z;
  b->id[k] = id;
  b->radius[k] = (kp_real)radius;
}

static kp_result append_batch(kp_size_class *c, const batch *b) {
  const kp_append_value values[] = {
    { c->set->position, { b->position[0], b->position[1], b->position[2] } },
    { c->set->velocity, { b->velocity[0], b->velocity[1], b->velocity[2] } },
    { c->set->id, { b->id } },
    { c->radius, { b->radius } },
  };
  KP_TRY(kp_space_append(c->set->space, b->n, values, sizeof values / sizeof values[0]));
  for (int64_t k = 0; k < b->n; ++k) {
    double r = (double)b->radius[k];
    c->largest = r > c->largest ? r : c->largest;
  }
  return KP_OK;
}

// Checks the radii and makes room for all before anything changes.
static kp_result prepare_add(kp_size_classes *s, int64_t n, const double *radii,
                             int64_t counts[KP_SIZE_CLASSES], kp_gid *next_id) {
  for (int64_t i = 0; i < n; ++i) {
    if (!((kp_real)radii[i] > 0) || !(radii[i] < HUGE_VAL)) {
      return kp_fail(KP_ERROR_ARGUMENT, "particle %lld of \"%s\" has the radius %g", (long long)i,
                     s->classes[0].set->space->name, radii[i]);
    }
    ++counts[kp_size_classes_find(s, (double)(kp_real)radii[i])];
  }
  int64_t most = 0;
  for (int c = 0; c < s->count; ++c) {
    const kp_set *set = s->classes[c].set;
    *next_id = set->next_id > *next_id ? set->next_id : *next_id;
    most = counts[c] > most ? counts[c] : most;
    if (counts[c] > 0) {
      KP_TRY(kp_space_reserve(set->space, set->space->n + counts[c]));
    }
  }
  return kp_array_resize(&s->staging, (size_t)most * 8);
}

kp_result kp_size_classes_add(kp_size_classes *s, int64_t n, const kp_vec3 *positions,
                              const kp_vec3 *velocities, const double *radii) {
  int64_t counts[KP_SIZE_CLASSES] = { 0 };
  kp_gid next_id = 0;
  KP_TRY(prepare_add(s, n, radii, counts, &next_id));
  bool is_flat = s->def.dimension == 2;
  for (int c = 0; c < s->count; ++c) {
    if (counts[c] == 0) {
      continue;
    }
    batch b = make_batch(s, counts[c]);
    for (int64_t i = 0; i < n && b.n < counts[c]; ++i) {
      if (kp_size_classes_find(s, (double)(kp_real)radii[i]) == c) {
        kp_vec3 x = positions[i];
        kp_vec3 v = velocities != NULL ? velocities[i] : kp_vec3_make(0.0, 0.0, 0.0);
        x.z = is_flat ? 0.0 : x.z;
        v.z = is_flat ? 0.0 : v.z;
        put(&b, x, v, next_id + (kp_gid)i, radii[i]);
      }
    }
    KP_TRY(append_batch(&s->classes[c], &b));
  }
  for (int c = 0; c < s->count; ++c) {
    s->classes[c].set->next_id = next_id + (kp_gid)n;
  }
  return KP_OK;
}

// --- moving between classes ----------------------------------------------------------------------

// What a change of radii asks for.
typedef struct plan {
  int64_t arrivals[KP_SIZE_CLASSES];
  int64_t departures[KP_SIZE_CLASSES];
  double largest[KP_SIZE_CLASSES];
  int64_t n_moved;
} plan;

// Targets of the elements of class c, into s->targets; adds to the plan when one is given.
static kp_result find_targets(kp_size_classes *s, int c, plan *p) {
  const kp_size_class *from = &s->classes[c];
  int64_t n = from->set->space->n;
  KP_TRY(kp_array_resize(&s->targets, (size_t)n));
  void *memory;
  KP_TRY(kp_buffer_get(&from->radius->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  const kp_real *radius = memory;
  for (int64_t i = 0; i < n; ++i) {
    double r = (double)radius[i];
    if (!(r > 0.0) || !(r < HUGE_VAL)) {
      return kp_fail(KP_ERROR_PHYSICS, "element %lld of \"%s\" has the radius %g", (long long)i,
                     from->set->space->name, r);
    }
    int to = s->def.kind == KP_SET_TIED ? c : kp_size_classes_find(s, r);
    s->targets.data[i] = (uint8_t)to;
    if (p != NULL) {
      p->largest[to] = r > p->largest[to] ? r : p->largest[to];
      p->arrivals[to] += to != c;
      p->departures[c] += to != c;
      p->n_moved += to != c;
    }
  }
  return KP_OK;
}

// The items of one component of those elements of class `from` whose target is `to`. Values of COLD
// fields lie in the slots of their elements.
static kp_result pick_items(kp_size_classes *s, kp_field *field, int component, int to, void *out) {
  kp_space *space = field->space;
  size_t stride = kp_type_size(field->type) * (size_t)field->width;
  void *memory;
  KP_TRY(kp_buffer_get(&field->buffers[component], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  const char *items = memory;
  const uint32_t *slots = NULL;
  if ((field->flags & KP_FIELD_COLD) != 0) {
    KP_TRY(kp_buffer_get(&space->slot->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
    slots = memory;
  }
  char *end = out;
  for (int64_t i = 0; i < space->n; ++i) {
    if (s->targets.data[i] == to) {
      size_t at = slots != NULL ? slots[i] : (size_t)i;
      memcpy(end, items + at * stride, stride);
      end += stride;
    }
  }
  return KP_OK;
}

// The field of the same name and kind in another class.
static kp_result match_field(const kp_field *field, kp_space *space, kp_field **out) {
  kp_field *twin = kp_space_find(space, field->name);
  if (twin == NULL || twin->type != field->type || twin->components != field->components ||
      twin->width != field->width) {
    return kp_fail(KP_ERROR_INTERNAL, "\"%s\" and \"%s\" differ in their field \"%s\"", space->name,
                   field->space->name, field->name);
  }
  *out = twin;
  return KP_OK;
}

// Appends the elements of class `from` whose target is `to` there.
static kp_result append_movers(kp_size_classes *s, int from, int to, int64_t n,
                               kp_append_value *values) {
  kp_space *source = s->classes[from].set->space;
  kp_space *target = s->classes[to].set->space;
  size_t n_columns = 0;
  for (size_t k = 0; k < source->fields.count; ++k) {
    const kp_field *field = source->fields.data[k];
    n_columns += (size_t)(field->components * field->width);
  }
  // a word per item, whatever its type
  KP_TRY(kp_array_resize(&s->staging, n_columns * (size_t)n));
  uint64_t *column = s->staging.data;
  size_t n_values = 0;
  for (size_t k = 0; k < source->fields.count; ++k) {
    kp_field *field = source->fields.data[k];
    if (field == source->slot) {
      continue;
    }
    kp_append_value *value = &values[n_values++];
    *value = (kp_append_value){ 0 };
    KP_TRY(match_field(field, target, &value->field));
    for (int c = 0; c < field->components; ++c) {
      KP_TRY(pick_items(s, field, c, to, column));
      value->components[c] = column;
      column += n * field->width;
    }
  }
  return kp_space_append(target, n, values, n_values);
}

static kp_result remove_movers(kp_size_classes *s, int from) {
  kp_space *space = s->classes[from].set->space;
  KP_TRY(kp_buffer_resize(&s->keep, (size_t)space->n * sizeof(uint32_t)));
  void *memory;
  KP_TRY(kp_buffer_get(&s->keep, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
  uint32_t *keep = memory;
  for (int64_t i = 0; i < space->n; ++i) {
    keep[i] = s->targets.data[i] == from;
  }
  return kp_space_remove(space, &s->keep);
}

static kp_result move_from(kp_size_classes *s, int from) {
  KP_TRY(find_targets(s, from, NULL));
  kp_space *space = s->classes[from].set->space;
  int64_t counts[KP_SIZE_CLASSES] = { 0 };
  for (int64_t i = 0; i < space->n; ++i) {
    ++counts[s->targets.data[i]];
  }
  kp_append_value *values =
      kp_alloc(space->fields.count * sizeof(kp_append_value), KP_MEMORY_SCRATCH);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  for (int to = 0; to < s->count && result == KP_OK; ++to) {
    if (to != from && counts[to] > 0) {
      result = append_movers(s, from, to, counts[to], values);
    }
  }
  kp_free(values);
  return result == KP_OK ? remove_movers(s, from) : result;
}

kp_result kp_size_classes_update(kp_size_classes *s, int64_t *n_moved) {
  plan p = { .n_moved = 0 };
  for (int c = 0; c < s->count; ++c) {
    KP_TRY(find_targets(s, c, &p));
  }
  for (int c = 0; c < s->count; ++c) {
    kp_space *space = s->classes[c].set->space;
    if (p.arrivals[c] > 0 || p.departures[c] > 0) {
      KP_TRY(kp_space_reserve(space, space->n + p.arrivals[c]));
    }
  }
  for (int c = 0; c < s->count; ++c) {
    s->classes[c].largest = p.largest[c];
    if (p.departures[c] > 0) {
      KP_TRY(move_from(s, c));
    }
  }
  if (n_moved != NULL) {
    *n_moved = p.n_moved;
  }
  return KP_OK;
}

// --- searching -----------------------------------------------------------------------------------

kp_result kp_size_classes_build(kp_size_classes *s) {
  for (int c = 0; c < s->count; ++c) {
    KP_TRY(kp_cells_build(s->classes[c].cells, NULL));
  }
  return KP_OK;
}

// What gathering over j for every i costs: rows looked up and candidates seen, in an even spread.
static double cost_of(const kp_cells *i, const kp_cells *j, double radius) {
  kp_vec3 lo = j->bounds.min;
  kp_vec3 hi = j->bounds.max;
  const double size[3] = { hi.x - lo.x, hi.y - lo.y, hi.z - lo.z };
  double width = 2.0 * radius + j->edge;
  double rows = 1.0;
  double candidates = (double)j->set->space->n;
  for (int d = 0; d < 3 && d < j->set->dimension; ++d) {
    double extent = size[d] + j->edge;
    double reach = width < extent ? width : extent;
    rows *= d > 0 ? reach / j->edge : 1.0;
    candidates *= reach / extent;
  }
  return (double)i->set->space->n * (ROW_COST * rows + candidates);
}

size_t kp_size_classes_pairs(const kp_size_classes *s, kp_size_pair out[KP_SIZE_PAIRS]) {
  size_t n = 0;
  for (int b = 0; b < s->count; ++b) {
    for (int a = 0; a <= b; ++a) {
      kp_cells *small = s->classes[a].cells;
      kp_cells *large = s->classes[b].cells;
      if (small->set->space->n == 0 || large->set->space->n == 0) {
        continue;
      }
      double radius = s->classes[a].largest + s->classes[b].largest;
      bool is_swapped = cost_of(large, small, radius) < cost_of(small, large, radius);
      out[n++] = (kp_size_pair){ .i = is_swapped ? large : small,
                                 .j = is_swapped ? small : large,
                                 .i_class = is_swapped ? b : a,
                                 .j_class = is_swapped ? a : b,
                                 .radius = radius,
                                 .once = a == b };
    }
  }
  return n;
}

kp_result kp_size_pair_job(const kp_size_pair *pair, kp_pair_job *out) {
  return kp_pair_job_make(pair->i, pair->j, pair->radius, out);
}

kp_result kp_size_pair_lists(const kp_size_pair *pair, kp_pair_lists *lists) {
  return kp_pair_lists_build(lists, pair->i, pair->j, pair->radius, pair->once);
}
