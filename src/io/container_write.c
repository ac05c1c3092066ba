// Writing a container: chunks are compressed by the worker threads, a batch at a time, and written
// in order. What a chunk becomes depends on its raw bytes alone.
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/container_format.h"
#include "io/files.h"
#include "par/parallel.h"

// Level 1 is the fastest that still finds matches in shuffled planes; higher ones cost several
// times more for a few percent.
#define ZSTD_LEVEL 1

// Chunks in flight per thread: enough that a slow one does not hold up the others.
#define CHUNKS_PER_THREAD 4
#define BATCH_MOST 64

typedef struct chunk_job {
  const uint8_t *raw;
  uint32_t raw_bytes;
  uint32_t item_size;
} chunk_job;

typedef struct worker {
  ZSTD_CCtx *zstd;
  uint8_t *shuffled;
} worker;

typedef struct writer {
  const kp_section *sections;
  size_t n_sections;
  kp_disk_section *section_records;
  kp_disk_chunk *chunk_records;
  chunk_job *jobs;
  uint64_t n_chunks;
  worker *workers;
  int n_workers;
  uint8_t **packed;  // one output buffer per chunk of a batch
  size_t n_packed;
  size_t packed_size;
  uint64_t first;  // of the current batch
} writer;

static kp_result check_section(const char *path, const kp_section *section) {
  if (section->name[0] == '\0' || memchr(section->name, '\0', KP_SECTION_NAME_SIZE) == NULL ||
      memchr(section->unit, '\0', KP_SECTION_UNIT_SIZE) == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: a section's name is empty or too long", path);
  }
  if ((unsigned)section->type >= (unsigned)KP_ITEM_TYPE_COUNT) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: section %s has no known type", path, section->name);
  }
  if (section->count > (uint64_t)PTRDIFF_MAX / kp_item_size(section->type) ||
      (section->count > 0 && section->data == NULL)) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: section %s has no data", path, section->name);
  }
  return KP_OK;
}

static int compare_names(const void *a, const void *b) {
  const kp_section *left = *(const kp_section *const *)a, *right = *(const kp_section *const *)b;
  return strcmp(left->name, right->name);
}

// A name stands for one section; a reader refuses a file with two.
static kp_result check_names(const char *path, const kp_section *sections, size_t n_sections) {
  const kp_section **by_name = kp_alloc(n_sections * sizeof *by_name, KP_MEMORY_IO);
  if (by_name == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < n_sections; ++i) {
    by_name[i] = &sections[i];
  }
  qsort(by_name, n_sections, sizeof *by_name, compare_names);
  kp_result result = KP_OK;
  for (size_t i = 1; i < n_sections && result == KP_OK; ++i) {
    if (strcmp(by_name[i - 1]->name, by_name[i]->name) == 0) {
      result = kp_fail(KP_ERROR_ARGUMENT, "%s: two sections are called %s", path, by_name[i]->name);
    }
  }
  kp_free(by_name);
  return result;
}

static kp_result plan_chunks(const char *path, writer *w) {
  w->section_records = kp_alloc_zero(w->n_sections * sizeof *w->section_records, KP_MEMORY_IO);
  if (w->section_records == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < w->n_sections; ++i) {
    const kp_section *section = &w->sections[i];
    KP_TRY(check_section(path, section));
    kp_disk_section *record = &w->section_records[i];
    // not the whole array: what stands behind the end of a name must not reach the file
    kp_text_copy(record->name, sizeof record->name, section->name);
    kp_text_copy(record->unit, sizeof record->unit, section->unit);
    record->type = (uint32_t)section->type;
    record->count = section->count;
    record->n_chunks = kp_chunk_count(section->count * kp_item_size(section->type), KP_CHUNK_BYTES);
    w->n_chunks += record->n_chunks;
  }
  KP_TRY(check_names(path, w->sections, w->n_sections));
  w->chunk_records = kp_alloc_zero(w->n_chunks * sizeof *w->chunk_records, KP_MEMORY_IO);
  w->jobs = kp_alloc_zero(w->n_chunks * sizeof *w->jobs, KP_MEMORY_IO);
  if (w->chunk_records == NULL || w->jobs == NULL) {
    return KP_ERROR_MEMORY;
  }
  chunk_job *job = w->jobs;
  for (size_t i = 0; i < w->n_sections; ++i) {
    size_t item_size = kp_item_size(w->sections[i].type);
    size_t left = (size_t)w->sections[i].count * item_size;
    const uint8_t *raw = w->sections[i].data;
    for (; left > 0; ++job) {
      size_t n = left < KP_CHUNK_BYTES ? left : KP_CHUNK_BYTES;
      *job = (chunk_job){ .raw = raw, .raw_bytes = (uint32_t)n, .item_size = (uint32_t)item_size };
      raw += n;
      left -= n;
    }
  }
  return KP_OK;
}

static kp_result make_workers(writer *w) {
  size_t largest = 0;
  for (uint64_t i = 0; i < w->n_chunks; ++i) {
    largest = w->jobs[i].raw_bytes > largest ? w->jobs[i].raw_bytes : largest;
  }
  w->n_workers = kp_chunk_workers();
  w->workers = kp_alloc_zero((size_t)w->n_workers * sizeof *w->workers, KP_MEMORY_IO);
  size_t n_packed = (size_t)w->n_workers * CHUNKS_PER_THREAD;
  n_packed = n_packed < BATCH_MOST ? n_packed : BATCH_MOST;
  n_packed = n_packed < w->n_chunks ? n_packed : (size_t)w->n_chunks;
  w->packed = kp_alloc_zero(n_packed * sizeof *w->packed, KP_MEMORY_IO);
  if (w->workers == NULL || w->packed == NULL) {
    return KP_ERROR_MEMORY;
  }
  w->n_packed = n_packed;
  w->packed_size = ZSTD_compressBound(largest);
  for (size_t i = 0; i < n_packed; ++i) {
    w->packed[i] = kp_alloc(w->packed_size, KP_MEMORY_IO);
    if (w->packed[i] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (int i = 0; i < w->n_workers; ++i) {
    w->workers[i].zstd = ZSTD_createCCtx();
    w->workers[i].shuffled = kp_alloc(largest, KP_MEMORY_IO);
    if (w->workers[i].zstd == NULL || w->workers[i].shuffled == NULL) {
      return kp_fail(KP_ERROR_MEMORY, "out of memory: compression of %zu bytes", largest);
    }
  }
  return KP_OK;
}

static void free_writer(writer *w) {
  for (int i = 0; w->workers != NULL && i < w->n_workers; ++i) {
    (void)ZSTD_freeCCtx(w->workers[i].zstd);
    kp_free(w->workers[i].shuffled);
  }
  for (size_t i = 0; i < w->n_packed; ++i) {
    kp_free(w->packed[i]);
  }
  kp_free(w->workers);
  kp_free(w->packed);
  kp_free(w->jobs);
  kp_free(w->chunk_records);
  kp_free(w->section_records);
}

static void pack_chunk(const writer *w, const chunk_job *job, uint8_t *out, kp_disk_chunk *record) {
  const worker *scratch = &w->workers[kp_parallel_worker()];
  const uint8_t *source = job->raw;
  record->codec = KP_CHUNK_ZSTD;
  if (job->item_size > 1) {
    kp_bytes_shuffle(job->raw, job->raw_bytes / job->item_size, job->item_size, scratch->shuffled);
    source = scratch->shuffled;
    record->codec = KP_CHUNK_SHUFFLED_ZSTD;
  }
  size_t n =
      ZSTD_compressCCtx(scratch->zstd, out, w->packed_size, source, job->raw_bytes, ZSTD_LEVEL);
  // what does not shrink is kept as it is, and reads faster
  if (ZSTD_isError(n) || n >= job->raw_bytes) {
    memcpy(out, job->raw, job->raw_bytes);
    n = job->raw_bytes;
    record->codec = KP_CHUNK_STORED;
  }
  record->stored_bytes = (uint32_t)n;
  record->checksum = kp_hash_bytes(out, n, 0);
}

static void pack_range(int64_t begin, int64_t end, void *context) {
  const writer *w = context;
  for (int64_t i = begin; i < end; ++i) {
    uint64_t chunk = w->first + (uint64_t)i;
    pack_chunk(w, &w->jobs[chunk], w->packed[i], &w->chunk_records[chunk]);
  }
}

static void hash_range(int64_t begin, int64_t end, void *context) {
  const writer *w = context;
  for (int64_t i = begin; i < end; ++i) {
    const kp_section *section = &w->sections[i];
    size_t n_bytes = (size_t)section->count * kp_item_size(section->type);
    w->section_records[i].checksum = kp_hash_bytes(section->data, n_bytes, 0);
  }
}

// Returns the bytes written.
static uint64_t write_chunks(writer *w, kp_file *file) {
  uint64_t written = 0;
  for (w->first = 0; w->first < w->n_chunks && file->error == 0; w->first += w->n_packed) {
    uint64_t left = w->n_chunks - w->first;
    size_t n = left < w->n_packed ? (size_t)left : w->n_packed;
    kp_parallel_for((int64_t)n, 1, pack_range, w);
    for (size_t i = 0; i < n; ++i) {
      size_t n_bytes = w->chunk_records[w->first + i].stored_bytes;
      kp_file_add(file, w->packed[i], n_bytes);
      written += n_bytes;
    }
  }
  return written;
}

static kp_disk_head make_head(const kp_container_head *head, const writer *w,
                              uint64_t chunk_bytes) {
  kp_disk_head disk = {
    .endian = KP_CONTAINER_ENDIAN,
    .version = KP_CONTAINER_VERSION,
    .table_offset = sizeof disk + chunk_bytes,
    .n_sections = w->n_sections,
    .n_chunks = w->n_chunks,
    .layout_hash = head->layout_hash,
    .frame = head->frame,
    .step = head->step,
    .time = head->time,
    .kind = head->kind,
    .real_size = head->real_size,
    .chunk_bytes = KP_CHUNK_BYTES,
  };
  size_t section_bytes = w->n_sections * sizeof *w->section_records;
  size_t record_bytes = (size_t)w->n_chunks * sizeof *w->chunk_records;
  disk.file_bytes = disk.table_offset + section_bytes + record_bytes + KP_CONTAINER_MAGIC_SIZE;
  memcpy(disk.magic, KP_CONTAINER_MAGIC, sizeof disk.magic);
  kp_text_copy(disk.build, sizeof disk.build, head->build);

  kp_hash table = kp_hash_begin(0);
  kp_hash_add(&table, w->section_records, section_bytes);
  kp_hash_add(&table, w->chunk_records, record_bytes);
  disk.table_checksum = kp_hash_end(&table);
  disk.checksum = kp_hash_bytes(&disk, offsetof(kp_disk_head, checksum), 0);
  return disk;
}

kp_result kp_container_write(const char *path, const kp_container_head *head,
                             const kp_section *sections, size_t n_sections) {
  writer w = { .sections = sections, .n_sections = n_sections };
  kp_file file = { 0 };
  kp_result result;
  KP_TRY_GOTO(result, plan_chunks(path, &w), done);
  KP_TRY_GOTO(result, make_workers(&w), done);
  kp_parallel_for((int64_t)n_sections, 1, hash_range, &w);

  // the head is known last; its place is kept with zeros, which no reader takes for a head
  KP_TRY_GOTO(result, kp_file_begin(&file, path), done);
  kp_disk_head disk = { 0 };
  kp_file_add(&file, &disk, sizeof disk);
  uint64_t chunk_bytes = write_chunks(&w, &file);
  kp_file_add(&file, w.section_records, n_sections * sizeof *w.section_records);
  kp_file_add(&file, w.chunk_records, (size_t)w.n_chunks * sizeof *w.chunk_records);
  kp_file_add(&file, KP_CONTAINER_END, KP_CONTAINER_MAGIC_SIZE);
  disk = make_head(head, &w, chunk_bytes);
  kp_file_patch(&file, 0, &disk, sizeof disk);
  result = kp_file_commit(&file);
done:
  free_writer(&w);
  return result;
}
