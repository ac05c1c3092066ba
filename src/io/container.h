// The one file format of frames and checkpoints (.kpf): magic, version, endianness, real size,
// build id, layout hash, typed sections with units, zstd chunks of 2 MiB with an index, a checksum
// per chunk and per section, an end mark. Written to a temporary name, synced and renamed. Chunks
// are independent, so writing is parallel, reading partial, and the bytes are the same for any
// thread count.
//
// A reader never trusts a byte: lengths, counts and offsets are checked against the file's size
// before use, and unknown sections are skipped. A container is used by one thread at a time.
#pragma once

#include "base/result.h"

typedef enum kp_item_type {
  KP_ITEM_F32,
  KP_ITEM_F64,
  KP_ITEM_U8,
  KP_ITEM_I32,
  KP_ITEM_U32,
  KP_ITEM_I64,
  KP_ITEM_U64,
  KP_ITEM_TYPE_COUNT
} kp_item_type;

size_t kp_item_size(kp_item_type type);
const char *kp_item_name(kp_item_type type);

// One item as double; 64-bit integers are rounded.
double kp_item_value(kp_item_type type, const void *item);

#define KP_SECTION_NAME_SIZE 96
#define KP_SECTION_UNIT_SIZE 32

typedef struct kp_section {
  char name[KP_SECTION_NAME_SIZE];  // "space/field/component", e.g. "water/position/x"
  char unit[KP_SECTION_UNIT_SIZE];
  kp_item_type type;
  uint64_t count;     // items
  const void *data;   // writer: the items; reader: NULL until read
  uint64_t checksum;  // kp_hash_bytes of the raw items
} kp_section;

typedef struct kp_container_head {
  uint64_t layout_hash;  // of the state's layout: the caller refuses a checkpoint of another one
  uint64_t frame;
  uint64_t step;
  double time;
  uint32_t kind;  // 0 frame, 1 checkpoint
  uint32_t real_size;
  char build[64];
} kp_container_head;

// Write all sections; on failure nothing is left behind and an older file of that name is
// untouched.
KP_NODISCARD kp_result kp_container_write(const char *path, const kp_container_head *head,
                                          const kp_section *sections, size_t n_sections);

typedef struct kp_container kp_container;

// Reads head and section table only. Refuses what is empty, foreign, cut short, of another version
// or byte order, or damaged, each with its own sentence (KP_ERROR_FORMAT).
KP_NODISCARD kp_result kp_container_open(const char *path, kp_container **out);

// The same for a file's bytes in memory, which must outlive the container.
KP_NODISCARD kp_result kp_container_parse(const void *bytes, size_t n_bytes, kp_container **out);
void kp_container_close(kp_container **container);
const kp_container_head *kp_container_get_head(const kp_container *container);
const char *kp_container_path(const kp_container *container);  // for messages
size_t kp_container_count(const kp_container *container);
const kp_section *kp_container_section(const kp_container *container, size_t index);

// Section by name, or NULL.
const kp_section *kp_container_find(const kp_container *container, const char *name);

// Read `count` items from item `first` into out (type as stored). Only the chunks that hold them
// are read; each is checked, and a section that is read whole also against its own checksum.
KP_NODISCARD kp_result kp_container_read(kp_container *container, const kp_section *section,
                                         uint64_t first, uint64_t count, void *out);

// Reads everything and keeps nothing: fails as a read of the first damaged section would.
KP_NODISCARD kp_result kp_container_verify(kp_container *container);
