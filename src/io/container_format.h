// What a container looks like on disk, shared by its writer and its reader.
//
//   | head | chunk | chunk | ... | section records | chunk records | end mark |
//
// Chunks stand one behind the other without gaps in the order of their records, so that a chunk's
// place is the sum of the sizes before it: nothing can overlap, and every byte of the file is
// covered by a checksum (head, table, chunks) or compared (magic, end mark).
#pragma once

#include "io/container.h"

#define KP_CONTAINER_VERSION 1u
#define KP_CONTAINER_ENDIAN 0x01020304u
#define KP_CONTAINER_ENDIAN_SWAPPED 0x04030201u

// The non-ASCII byte and the line ends show a file that went through a text conversion.
#define KP_CONTAINER_MAGIC "\x89KPF\r\n\x1a\n"
#define KP_CONTAINER_END "KPF end\n"
#define KP_CONTAINER_MAGIC_SIZE 8

// Raw bytes per chunk. A reader takes any multiple of 8 within the bounds.
#define KP_CHUNK_BYTES ((uint32_t)2 << 20)
#define KP_CHUNK_BYTES_LEAST 4096u
#define KP_CHUNK_BYTES_MOST ((uint32_t)16 << 20)

typedef enum kp_chunk_codec {
  KP_CHUNK_STORED,         // raw bytes: compression did not pay
  KP_CHUNK_ZSTD,           // zstd of the raw bytes
  KP_CHUNK_SHUFFLED_ZSTD,  // zstd of all first bytes of the items, then all second bytes, ...
  KP_CHUNK_CODEC_COUNT
} kp_chunk_codec;

typedef struct kp_disk_head {
  uint8_t magic[KP_CONTAINER_MAGIC_SIZE];
  uint32_t endian;
  uint32_t version;
  uint64_t file_bytes;
  uint64_t table_offset;
  uint64_t n_sections;
  uint64_t n_chunks;
  uint64_t table_checksum;
  uint64_t layout_hash, frame, step;
  double time;
  uint32_t kind, real_size;
  uint32_t chunk_bytes, reserved;
  char build[64];
  uint64_t checksum;  // of the bytes before it
} kp_disk_head;

typedef struct kp_disk_section {
  char name[KP_SECTION_NAME_SIZE];
  char unit[KP_SECTION_UNIT_SIZE];
  uint32_t type, reserved;
  uint64_t count;
  uint64_t n_chunks;
  uint64_t checksum;  // of the raw items
} kp_disk_section;

typedef struct kp_disk_chunk {
  uint32_t stored_bytes;
  uint32_t codec;
  uint64_t checksum;  // of the stored bytes
} kp_disk_chunk;

// The records are written as they lie in memory: no padding, eight-byte steps.
_Static_assert(sizeof(kp_disk_head) == 176, "head layout changed: raise KP_CONTAINER_VERSION");
_Static_assert(sizeof(kp_disk_section) == 160,
               "section layout changed: raise KP_CONTAINER_VERSION");
_Static_assert(sizeof(kp_disk_chunk) == 16, "chunk layout changed: raise KP_CONTAINER_VERSION");

// Chunks of a section of n raw bytes.
KP_FN uint64_t kp_chunk_count(uint64_t raw_bytes, uint32_t chunk_bytes) {
  return raw_bytes / chunk_bytes + (raw_bytes % chunk_bytes != 0 ? 1 : 0);
}

// Transpose n items of `size` bytes (4 or 8) into `size` planes of n bytes, and back.
void kp_bytes_shuffle(const uint8_t *in, size_t n, size_t size, uint8_t *out);
void kp_bytes_unshuffle(const uint8_t *in, size_t n, size_t size, uint8_t *out);

// Scratch per worker is indexed by kp_parallel_worker: how many are needed.
int kp_chunk_workers(void);
