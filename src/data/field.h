// Fields: every array of the state, in a registry of spaces. Sorting, emission, removal,
// checkpoint, rewind, export and hashing are each one loop over the registry; no method does these
// by hand.
#pragma once

#include "base/array.h"
#include "data/buffer.h"

typedef enum kp_field_flag {
  KP_FIELD_SAVE = 1 << 0,     // part of checkpoints, rewind and the state hash
  KP_FIELD_SORT = 1 << 1,     // permuted by the sort
  KP_FIELD_MIGRATE = 1 << 2,  // goes with a particle to another rank
  KP_FIELD_GHOST = 1 << 3,    // copied to ghost and periodic images
  KP_FIELD_EXPORT = 1 << 4,   // written to frames
  KP_FIELD_COLD = 1 << 5,     // addressed by a stable slot, not permuted by the sort
} kp_field_flag;

#define KP_FIELD_STATE (KP_FIELD_SAVE | KP_FIELD_SORT | KP_FIELD_MIGRATE)
#define KP_FIELD_COMPONENTS 9
#define KP_NAME_SIZE 48

typedef struct kp_field_desc {
  const char *name;  // "velocity"
  kp_type type;
  int components;    // 1, 3 (x y z), 9, or n
  const char *unit;  // "m/s"
  uint32_t flags;
  double initial;  // of new elements that are given no value
} kp_field_desc;

struct kp_space;

typedef struct kp_field {
  char name[KP_NAME_SIZE];
  char unit[16];
  kp_type type;
  int components;
  int64_t width;  // items of an element in each component, side by side; 1 unless COLD
  uint32_t flags;
  double initial;
  struct kp_space *space;
  kp_buffer buffers[KP_FIELD_COMPONENTS];  // one array per component
} kp_field;

typedef enum kp_space_kind {
  KP_SPACE_PARTICLES,
  KP_SPACE_PAIRS,
  KP_SPACE_CELLS,
  KP_SPACE_FACES,
  KP_SPACE_VERTICES,
  KP_SPACE_EDGES,
  KP_SPACE_TRIANGLES,
  KP_SPACE_TETRAHEDRA,
  KP_SPACE_LEAVES,
  KP_SPACE_BODIES,
  KP_SPACE_GLOBAL,  // a few numbers: clocks, counters, emitter states
  KP_SPACE_KIND_COUNT
} kp_space_kind;

typedef struct kp_space {
  char name[KP_NAME_SIZE];
  kp_space_kind kind;
  kp_backend *backend;
  struct kp_registry *registry;
  int64_t n;
  uint64_t revision;  // grows when elements are added, removed or permuted
  int64_t growths;    // reallocations of fields so far (perf.csv)
  KP_ARRAY(kp_field *) fields;
  kp_field *slot;   // u32, there once a COLD field is
  int64_t n_slots;  // cold slots handed out (a high-water mark; holes are closed by compact)
  KP_ARRAY(uint32_t) free_slots;
  kp_buffer spare[4];    // back buffers of the sort for items of 1, 2(unused), 4, 8 bytes
  kp_buffer scratch[3];  // flags, offsets, order of remove
} kp_space;

typedef struct kp_registry {
  kp_backend *backend;
  KP_ARRAY(kp_space *) spaces;
} kp_registry;

KP_NODISCARD kp_result kp_registry_create(kp_backend *backend, kp_registry **out);
void kp_registry_destroy(kp_registry **registry);
KP_NODISCARD kp_result kp_registry_add_space(kp_registry *registry, const char *name,
                                             kp_space_kind kind, kp_space **out);
kp_space *kp_registry_find(const kp_registry *registry, const char *name);
// For constructors that fail half-way: take a space out again, with its fields.
void kp_registry_remove_space(kp_registry *registry, kp_space **space);

// Adding a field to a space that has elements fills it with `initial`. Names are unique in a space;
// "slot" is taken by the COLD fields. add_fields adds all or none.
KP_NODISCARD kp_result kp_space_add_field(kp_space *space, const kp_field_desc *desc,
                                          kp_field **out);
KP_NODISCARD kp_result kp_space_add_fields(kp_space *space, const kp_field_desc *descs, size_t n);
// A COLD field with `width` items per element and component, those of an element side by side in
// its slot: long histories, read whole. Items of 4 or 8 bytes. Everything that is done to a field
// is done to all its items; arrays of values and views are `width` times as long.
KP_NODISCARD kp_result kp_space_add_wide_field(kp_space *space, const kp_field_desc *desc,
                                               int64_t width, kp_field **out);
kp_field *kp_space_find(const kp_space *space, const char *name);

// Make room for n elements in all fields and back buffers: changes up to that size then allocate
// nothing.
KP_NODISCARD kp_result kp_space_reserve(kp_space *space, int64_t n);

// Values for new elements: host arrays of n_new (times width) items of the field's type, one per
// component.
typedef struct kp_append_value {
  kp_field *field;
  const void *components[KP_FIELD_COMPONENTS];
} kp_append_value;

// Add n_new elements at the end. Fields without a value get `initial`; COLD fields get a slot.
// Copies only the new elements to the device, never whole arrays.
KP_NODISCARD kp_result kp_space_append(kp_space *space, int64_t n_new,
                                       const kp_append_value *values, size_t n_values);

// Let the space have n elements: those behind are dropped, new ones get `initial`. For lists that
// their owner writes anew; without COLD fields.
KP_NODISCARD kp_result kp_space_resize(kp_space *space, int64_t n);

// Keep the elements whose flag (u32 per element, device-readable) is not 0, in order. Returns the
// new count in space->n (one 4-byte look by the host).
KP_NODISCARD kp_result kp_space_remove(kp_space *space, kp_buffer *keep);

// Keep the first n elements; a space without COLD fields.
KP_NODISCARD kp_result kp_space_keep_first(kp_space *space, int64_t n);

// Element i becomes what element order[i] was, for all SORT fields. order: u32 per element.
KP_NODISCARD kp_result kp_space_permute(kp_space *space, kp_buffer *order);

// Close the holes of the COLD slots: slot i of the compacted arrays belongs to element i.
KP_NODISCARD kp_result kp_space_compact_cold(kp_space *space);
// The same for all spaces, before a checkpoint: rows then lie in the order in which they are read.
KP_NODISCARD kp_result kp_registry_compact_cold(kp_registry *registry);

// Visit each component of each field that has all `flags`: spaces by name order of creation, fields
// likewise. `data` is the host side, valid during the call.
typedef struct kp_field_view {
  const kp_space *space;
  const kp_field *field;
  int component;
  int64_t count;  // items (COLD fields: slots times width)
  const void *data;
} kp_field_view;
typedef kp_result (*kp_visit_fn)(const kp_field_view *view, void *user);
KP_NODISCARD kp_result kp_registry_visit(kp_registry *registry, uint32_t flags, kp_visit_fn fn,
                                         void *user);

// Hash of all SAVE fields and counts; equal states give equal hashes on every backend that shares
// bits. COLD fields count in the order of the elements, so the hash does not see which slots they
// use.
KP_NODISCARD kp_result kp_registry_hash(kp_registry *registry, uint64_t *out);
// Hash of names, types, components and flags of what is saved: tells whether a checkpoint fits.
uint64_t kp_registry_layout(const kp_registry *registry);

// Fill the state from a source (checkpoint). `read` gives the items of "space/field/component" (or
// the count with data == NULL). All counts are asked for and checked before anything changes; what
// the items mean is guarded by kp_registry_layout. Fields without SAVE get `initial`; spaces
// without SAVE fields stay.
typedef kp_result (*kp_load_fn)(const char *space, const char *field, int component, int64_t *count,
                                void *data, void *user);
KP_NODISCARD kp_result kp_registry_load(kp_registry *registry, kp_load_fn read, void *user);

// In-memory copies of the SAVE fields on the device, for retry, look-ahead and step doubling.
// *snapshot is NULL the first time; it can be taken again without allocating when sizes have not
// grown. Rewind needs the layout of the save; it bumps the revision of every space, and spaces
// without SAVE fields stay.
typedef struct kp_snapshot kp_snapshot;
KP_NODISCARD kp_result kp_registry_save(kp_registry *registry, kp_snapshot **snapshot);
KP_NODISCARD kp_result kp_registry_rewind(kp_registry *registry, const kp_snapshot *snapshot);
void kp_snapshot_free(kp_snapshot **snapshot);

// Bytes per element of all fields of a space (spare buffers counted), for `kelpie check` and bench.
double kp_space_bytes_per_element(const kp_space *space);
