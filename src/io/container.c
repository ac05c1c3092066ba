// Reading containers, and what reader and writer share. See container_format.h for the layout.
#include "io/container.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/container_format.h"
#include "io/disk.h"
#include "par/parallel.h"

static const struct {
  size_t size;
  const char *name;
} item_types[KP_ITEM_TYPE_COUNT] = {
  [KP_ITEM_F32] = { 4, "f32" }, [KP_ITEM_F64] = { 8, "f64" }, [KP_ITEM_U8] = { 1, "u8" },
  [KP_ITEM_I32] = { 4, "i32" }, [KP_ITEM_U32] = { 4, "u32" }, [KP_ITEM_I64] = { 8, "i64" },
  [KP_ITEM_U64] = { 8, "u64" },
};

size_t kp_item_size(kp_item_type type) {
  return (unsigned)type < (unsigned)KP_ITEM_TYPE_COUNT ? item_types[type].size : 0;
}

const char *kp_item_name(kp_item_type type) {
  return (unsigned)type < (unsigned)KP_ITEM_TYPE_COUNT ? item_types[type].name : "unknown";
}

double kp_item_value(kp_item_type type, const void *item) {
  switch (type) {
  case KP_ITEM_F32:
    return (double)*(const float *)item;
  case KP_ITEM_F64:
    return *(const double *)item;
  case KP_ITEM_U8:
    return (double)*(const uint8_t *)item;
  case KP_ITEM_I32:
    return (double)*(const int32_t *)item;
  case KP_ITEM_U32:
    return (double)*(const uint32_t *)item;
  case KP_ITEM_I64:
    return (double)*(const int64_t *)item;
  case KP_ITEM_U64:
    return (double)*(const uint64_t *)item;
  case KP_ITEM_TYPE_COUNT:
    break;
  }
  return 0.0;
}

// ---- byte planes

// Constant sizes let the compiler unroll the inner loop and vectorise the outer one. Planes are
// `stride` bytes apart.
static void shuffle_4(const uint8_t *restrict in, size_t n, size_t stride, uint8_t *restrict out) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < 4; ++k) {
      out[k * stride + i] = in[4 * i + k];
    }
  }
}

// Eight planes at once are more streams than the compiler vectorises well: blocks that stay in the
// nearest cache are split into halves of 4 bytes first (nearly three times as fast as the direct
// loop).
static void shuffle_8(const uint8_t *restrict in, size_t n, uint8_t *restrict out) {
  enum { BLOCK = 512 };
  uint32_t lower[BLOCK], upper[BLOCK];
  for (size_t first = 0; first < n; first += BLOCK) {
    size_t n_block = n - first < BLOCK ? n - first : BLOCK;
    for (size_t i = 0; i < n_block; ++i) {
      memcpy(&lower[i], in + 8 * (first + i), 4);
      memcpy(&upper[i], in + 8 * (first + i) + 4, 4);
    }
    shuffle_4((const uint8_t *)lower, n_block, n, out + first);
    shuffle_4((const uint8_t *)upper, n_block, n, out + 4 * n + first);
  }
}

static void unshuffle_4(const uint8_t *restrict in, size_t n, uint8_t *restrict out) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < 4; ++k) {
      out[4 * i + k] = in[k * n + i];
    }
  }
}

static void unshuffle_8(const uint8_t *restrict in, size_t n, uint8_t *restrict out) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < 8; ++k) {
      out[8 * i + k] = in[k * n + i];
    }
  }
}

void kp_bytes_shuffle(const uint8_t *in, size_t n, size_t size, uint8_t *out) {
  KP_ASSERT(size == 4 || size == 8);
  if (size == 4) {
    shuffle_4(in, n, n, out);
  } else {
    shuffle_8(in, n, out);
  }
}

void kp_bytes_unshuffle(const uint8_t *in, size_t n, size_t size, uint8_t *out) {
  KP_ASSERT(size == 4 || size == 8);
  if (size == 4) {
    unshuffle_4(in, n, out);
  } else {
    unshuffle_8(in, n, out);
  }
}

int kp_chunk_workers(void) {
  // inside someone's loop body the calling worker's index may be beyond the number of its own
  // threads
  int n_threads = kp_parallel_threads(), worker = kp_parallel_worker();
  return n_threads > worker ? n_threads : worker + 1;
}

// ---- the reader

typedef struct chunk_place {
  uint64_t offset;
  kp_disk_chunk record;
} chunk_place;

// Scratch of one worker thread.
typedef struct worker {
  ZSTD_DCtx *zstd;
  uint8_t *stored, *planes, *raw;
} worker;

struct kp_container {
  char *path;
  int descriptor;        // -1 when the bytes are in memory
  const uint8_t *bytes;  // not owned
  uint64_t size;
  kp_container_head head;
  uint32_t chunk_bytes;
  kp_section *sections;
  uint64_t *first_chunks;  // per section
  size_t n_sections;
  const kp_section **by_name;
  chunk_place *chunks;
  worker *workers;
  int n_workers;
  size_t worker_bytes;  // raw bytes the scratch has room for
};

static kp_result read_bytes(const kp_container *c, uint64_t offset, size_t n, void *out) {
  KP_ASSERT(offset <= c->size && n <= c->size - offset);
  if (c->descriptor < 0) {
    if (n > 0) {
      memcpy(out, c->bytes + offset, n);
    }
    return KP_OK;
  }
  uint8_t *to = out;
  while (n > 0) {
    ssize_t got = kp_disk_read_at(c->descriptor, c->path, to, n, offset);
    if (got <= 0) {
      return kp_fail(KP_ERROR_IO, "cannot read %s: %s", c->path,
                     got < 0 ? strerror(errno) : "it became shorter while it was read");
    }
    to += got;
    offset += (uint64_t)got;
    n -= (size_t)got;
  }
  return KP_OK;
}

// A fuzzer cannot guess checksums; with them out of its way it reaches the checks behind.
static bool is_sum_right(uint64_t found, uint64_t stored) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  (void)found;
  (void)stored;
  return true;
#else
  return found == stored;
#endif
}

static kp_result fail_damaged(const kp_container *c, const char *part) {
  return kp_fail(KP_ERROR_FORMAT, "%s: the file is damaged (%s)", c->path, part);
}

// Who wrote this file, and is it whole? Each way of being wrong has its own sentence.
static kp_result read_head(const kp_container *c, kp_disk_head *head) {
  *head = (kp_disk_head){ 0 };
  if (c->size == 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: the file is empty", c->path);
  }
  size_t n = c->size < sizeof *head ? (size_t)c->size : sizeof *head;
  KP_TRY(read_bytes(c, 0, n, head));
  size_t n_magic = n < sizeof head->magic ? n : sizeof head->magic;
  if (memcmp(head->magic, KP_CONTAINER_MAGIC, n_magic) != 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: this is not a Kelpie frame or checkpoint", c->path);
  }
  if (n < sizeof *head) {
    return kp_fail(KP_ERROR_FORMAT, "%s: the file is cut short, only %zu bytes are left", c->path,
                   n);
  }
  if (head->endian == KP_CONTAINER_ENDIAN_SWAPPED) {
    return kp_fail(KP_ERROR_FORMAT, "%s: written on a machine of the other byte order", c->path);
  }
  if (head->endian != KP_CONTAINER_ENDIAN) {
    return fail_damaged(c, "byte order mark");
  }
  if (head->version != KP_CONTAINER_VERSION) {
    return kp_fail(KP_ERROR_FORMAT, "%s: has format version %" PRIu32 ", this program reads %u",
                   c->path, head->version, KP_CONTAINER_VERSION);
  }
  uint64_t sum = kp_hash_bytes(head, offsetof(kp_disk_head, checksum), 0);
  if (!is_sum_right(sum, head->checksum)) {
    return fail_damaged(c, "head");
  }
  if (c->size < head->file_bytes) {
    return kp_fail(KP_ERROR_FORMAT,
                   "%s: the file is cut short, %" PRIu64 " of %" PRIu64 " bytes are left", c->path,
                   c->size, head->file_bytes);
  }
  if (c->size > head->file_bytes) {
    return kp_fail(KP_ERROR_FORMAT, "%s: %" PRIu64 " bytes follow the end of the file's content",
                   c->path, c->size - head->file_bytes);
  }
  return KP_OK;
}

// The lengths of the head against each other, so that later sums cannot overflow.
static kp_result check_head(const kp_container *c, const kp_disk_head *head) {
  const uint64_t size = c->size;
  bool is_right = size >= sizeof *head + KP_CONTAINER_MAGIC_SIZE &&
                  head->table_offset >= sizeof *head &&
                  head->table_offset <= size - KP_CONTAINER_MAGIC_SIZE &&
                  head->n_sections <= size / sizeof(kp_disk_section) &&
                  head->n_chunks <= size / sizeof(kp_disk_chunk);
  if (is_right) {
    uint64_t table_bytes = size - KP_CONTAINER_MAGIC_SIZE - head->table_offset;
    is_right = table_bytes ==
               head->n_sections * sizeof(kp_disk_section) + head->n_chunks * sizeof(kp_disk_chunk);
  }
  is_right = is_right && head->chunk_bytes >= KP_CHUNK_BYTES_LEAST &&
             head->chunk_bytes <= KP_CHUNK_BYTES_MOST && head->chunk_bytes % 8 == 0;
  if (!is_right) {
    return fail_damaged(c, "lengths in the head");
  }
  char end[KP_CONTAINER_MAGIC_SIZE];
  KP_TRY(read_bytes(c, size - sizeof end, sizeof end, end));
  if (memcmp(end, KP_CONTAINER_END, sizeof end) != 0) {
    return fail_damaged(c, "end mark");
  }
  return KP_OK;
}

// Sections of a type this program does not know are left out; their chunks are stepped over.
static kp_result take_sections(kp_container *c, const kp_disk_section *records, uint64_t n_records,
                               uint64_t n_chunks) {
  uint64_t chunk = 0;
  for (uint64_t i = 0; i < n_records; ++i) {
    const kp_disk_section *record = &records[i];
    if (record->n_chunks > n_chunks - chunk) {
      return fail_damaged(c, "chunk count of a section");
    }
    uint64_t first_chunk = chunk;
    chunk += record->n_chunks;
    if (record->type >= (uint32_t)KP_ITEM_TYPE_COUNT) {
      continue;
    }
    size_t item_size = kp_item_size((kp_item_type)record->type);
    bool is_right = memchr(record->name, '\0', sizeof record->name) != NULL &&
                    memchr(record->unit, '\0', sizeof record->unit) != NULL &&
                    record->name[0] != '\0' && record->count <= (uint64_t)PTRDIFF_MAX / item_size &&
                    kp_chunk_count(record->count * item_size, c->chunk_bytes) == record->n_chunks;
    if (!is_right) {
      return fail_damaged(c, "section table");
    }
    kp_section *section = &c->sections[c->n_sections];
    *section = (kp_section){ .type = (kp_item_type)record->type,
                             .count = record->count,
                             .checksum = record->checksum };
    kp_text_copy(section->name, sizeof section->name, record->name);
    kp_text_copy(section->unit, sizeof section->unit, record->unit);
    c->first_chunks[c->n_sections++] = first_chunk;
  }
  return chunk == n_chunks ? KP_OK : fail_damaged(c, "section table");
}

static kp_result take_chunks(kp_container *c, const kp_disk_chunk *records, uint64_t n_records,
                             uint64_t table_offset) {
  uint64_t offset = sizeof(kp_disk_head);
  for (uint64_t i = 0; i < n_records; ++i) {
    if (records[i].stored_bytes > table_offset - offset ||
        records[i].stored_bytes > c->chunk_bytes) {
      return fail_damaged(c, "chunk table");
    }
    c->chunks[i] = (chunk_place){ .offset = offset, .record = records[i] };
    offset += records[i].stored_bytes;
  }
  return offset == table_offset ? KP_OK : fail_damaged(c, "chunk table");
}

static int compare_names(const void *a, const void *b) {
  const kp_section *left = *(const kp_section *const *)a, *right = *(const kp_section *const *)b;
  return strcmp(left->name, right->name);
}

static kp_result sort_names(kp_container *c) {
  c->by_name = kp_alloc(c->n_sections * sizeof *c->by_name, KP_MEMORY_IO);
  if (c->by_name == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < c->n_sections; ++i) {
    c->by_name[i] = &c->sections[i];
  }
  qsort(c->by_name, c->n_sections, sizeof *c->by_name, compare_names);
  for (size_t i = 1; i < c->n_sections; ++i) {
    if (strcmp(c->by_name[i - 1]->name, c->by_name[i]->name) == 0) {
      return kp_fail(KP_ERROR_FORMAT, "%s: two sections are called %s", c->path,
                     c->by_name[i]->name);
    }
  }
  return KP_OK;
}

static kp_result read_table(kp_container *c, const kp_disk_head *head) {
  size_t section_bytes = (size_t)head->n_sections * sizeof(kp_disk_section);
  size_t chunk_bytes = (size_t)head->n_chunks * sizeof(kp_disk_chunk);
  uint8_t *table = kp_alloc(section_bytes + chunk_bytes, KP_MEMORY_IO);
  c->sections = kp_alloc_zero((size_t)head->n_sections * sizeof *c->sections, KP_MEMORY_IO);
  c->first_chunks = kp_alloc_zero((size_t)head->n_sections * sizeof *c->first_chunks, KP_MEMORY_IO);
  c->chunks = kp_alloc_zero((size_t)head->n_chunks * sizeof *c->chunks, KP_MEMORY_IO);
  kp_result result = KP_OK;
  if (table == NULL || c->sections == NULL || c->first_chunks == NULL || c->chunks == NULL) {
    result = KP_ERROR_MEMORY;
    goto done;
  }
  KP_TRY_GOTO(result, read_bytes(c, head->table_offset, section_bytes + chunk_bytes, table), done);
  if (!is_sum_right(kp_hash_bytes(table, section_bytes + chunk_bytes, 0), head->table_checksum)) {
    result = fail_damaged(c, "section table");
    goto done;
  }
  // blocks are aligned to 64 bytes and the records are multiples of 8
  const void *section_records = table, *chunk_records = table + section_bytes;
  KP_TRY_GOTO(result, take_sections(c, section_records, head->n_sections, head->n_chunks), done);
  KP_TRY_GOTO(result, take_chunks(c, chunk_records, head->n_chunks, head->table_offset), done);
  result = sort_names(c);
done:
  kp_free(table);
  return result;
}

// Everything behind opening the bytes; closes the container when it is refused.
static kp_result open_container(kp_container *c, kp_container **out) {
  kp_disk_head head;
  kp_result result = read_head(c, &head);
  if (result == KP_OK) {
    result = check_head(c, &head);
  }
  if (result == KP_OK) {
    c->chunk_bytes = head.chunk_bytes;
    c->head = (kp_container_head){ .layout_hash = head.layout_hash,
                                   .frame = head.frame,
                                   .step = head.step,
                                   .time = head.time,
                                   .kind = head.kind,
                                   .real_size = head.real_size };
    head.build[sizeof head.build - 1] = '\0';
    kp_text_copy(c->head.build, sizeof c->head.build, head.build);
    result = read_table(c, &head);
  }
  if (result != KP_OK) {
    kp_container_close(&c);
    return result;
  }
  *out = c;
  return KP_OK;
}

static kp_container *make_container(const char *path) {
  kp_container *c = kp_alloc_zero(sizeof *c, KP_MEMORY_IO);
  if (c == NULL) {
    return NULL;
  }
  c->descriptor = -1;
  c->path = kp_strdup(path, KP_MEMORY_IO);
  if (c->path == NULL) {
    kp_container_close(&c);
  }
  return c;
}

kp_result kp_container_open(const char *path, kp_container **out) {
  *out = NULL;
  kp_container *c = make_container(path);
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  // a pipe without a writer must not hang here
  c->descriptor = kp_disk_descriptor(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (c->descriptor < 0 || fstat(c->descriptor, &status) != 0) {
    kp_result result = kp_fail(KP_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
    kp_container_close(&c);
    return result;
  }
  if (!S_ISREG(status.st_mode)) {
    kp_container_close(&c);
    return kp_fail(KP_ERROR_FORMAT, "%s: this is not a file", path);
  }
  c->size = (uint64_t)status.st_size;
  return open_container(c, out);
}

kp_result kp_container_parse(const void *bytes, size_t n_bytes, kp_container **out) {
  *out = NULL;
  kp_container *c = make_container("(memory)");
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  c->bytes = bytes;
  c->size = n_bytes;
  return open_container(c, out);
}

static void free_workers(kp_container *c) {
  for (int i = 0; c->workers != NULL && i < c->n_workers; ++i) {
    (void)ZSTD_freeDCtx(c->workers[i].zstd);
    kp_free(c->workers[i].stored);
    kp_free(c->workers[i].planes);
    kp_free(c->workers[i].raw);
  }
  kp_free(c->workers);
  c->workers = NULL;
  c->n_workers = 0;
}

void kp_container_close(kp_container **container) {
  kp_container *c = *container;
  if (c == NULL) {
    return;
  }
  free_workers(c);
  if (c->descriptor >= 0) {
    (void)close(c->descriptor);
  }
  kp_free(c->sections);
  kp_free(c->first_chunks);
  kp_free(c->by_name);
  kp_free(c->chunks);
  kp_free(c->path);
  kp_free(c);
  *container = NULL;
}

const kp_container_head *kp_container_get_head(const kp_container *container) {
  return &container->head;
}

const char *kp_container_path(const kp_container *container) {
  return container->path;
}

size_t kp_container_count(const kp_container *container) {
  return container->n_sections;
}

const kp_section *kp_container_section(const kp_container *container, size_t index) {
  KP_ASSERT(index < container->n_sections);
  return &container->sections[index];
}

const kp_section *kp_container_find(const kp_container *container, const char *name) {
  // the first section that is not before the name
  size_t low = 0, high = container->n_sections;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(container->by_name[middle]->name, name) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool is_found = low < container->n_sections && strcmp(container->by_name[low]->name, name) == 0;
  return is_found ? container->by_name[low] : NULL;
}

// ---- reading items

typedef enum chunk_fault { FAULT_NONE, FAULT_READ, FAULT_DAMAGED } chunk_fault;

// One read of a run of items; chunks are numbered inside the section.
typedef struct read_job {
  kp_container *container;
  const kp_section *section;
  uint64_t first_place;  // index of the section's chunk 0 in the container
  uint64_t first_chunk;  // of the run
  uint64_t begin, end;   // raw bytes of the run inside the section
  uint8_t *out;
  uint8_t *faults;  // one per chunk of the run
} read_job;

static bool decompress(const worker *w, uint8_t *out, size_t n_raw, size_t n_stored) {
  size_t n = ZSTD_decompressDCtx(w->zstd, out, n_raw, w->stored, n_stored);
  return !ZSTD_isError(n) && n == n_raw;
}

// n_raw bytes of one chunk into out.
static chunk_fault unpack_chunk(const kp_container *c, const worker *w, const chunk_place *place,
                                size_t item_size, size_t n_raw, uint8_t *out) {
  size_t n = place->record.stored_bytes;
  if (read_bytes(c, place->offset, n, w->stored) != KP_OK) {
    return FAULT_READ;
  }
  bool is_right = is_sum_right(kp_hash_bytes(w->stored, n, 0), place->record.checksum);
  if (is_right && place->record.codec == KP_CHUNK_STORED && n == n_raw) {
    memcpy(out, w->stored, n);
  } else if (is_right && place->record.codec == KP_CHUNK_ZSTD) {
    is_right = decompress(w, out, n_raw, n);
  } else if (is_right && place->record.codec == KP_CHUNK_SHUFFLED_ZSTD && item_size > 1) {
    is_right = decompress(w, w->planes, n_raw, n);
    if (is_right) {
      kp_bytes_unshuffle(w->planes, n_raw / item_size, item_size, out);
    }
  } else {
    is_right = false;
  }
  return is_right ? FAULT_NONE : FAULT_DAMAGED;
}

static void read_range(int64_t range_begin, int64_t range_end, void *context) {
  const read_job *job = context;
  const kp_container *c = job->container;
  const worker *w = &c->workers[kp_parallel_worker()];
  size_t item_size = kp_item_size(job->section->type);
  uint64_t section_bytes = job->section->count * item_size;
  for (int64_t i = range_begin; i < range_end; ++i) {
    uint64_t chunk = job->first_chunk + (uint64_t)i;
    uint64_t begin = chunk * c->chunk_bytes, left = section_bytes - begin;
    uint64_t end = begin + (left < c->chunk_bytes ? left : c->chunk_bytes);

    // a chunk that is wanted whole goes straight to its place
    uint64_t from = begin > job->begin ? begin : job->begin;
    uint64_t to = end < job->end ? end : job->end;
    bool is_whole = from == begin && to == end;
    uint8_t *target = job->out + (from - job->begin);
    chunk_fault fault = unpack_chunk(c, w, &c->chunks[job->first_place + chunk], item_size,
                                     (size_t)(end - begin), is_whole ? target : w->raw);
    if (fault == FAULT_NONE && !is_whole) {
      memcpy(target, w->raw + (from - begin), (size_t)(to - from));
    }
    job->faults[i] = (uint8_t)fault;
  }
}

// Scratch for chunks of up to raw_bytes; grown when a larger section is read.
static kp_result make_workers(kp_container *c, size_t raw_bytes) {
  int n_workers = kp_chunk_workers();
  if (c->workers != NULL && c->n_workers >= n_workers && c->worker_bytes >= raw_bytes) {
    return KP_OK;
  }
  free_workers(c);
  c->workers = kp_alloc_zero((size_t)n_workers * sizeof *c->workers, KP_MEMORY_IO);
  if (c->workers == NULL) {
    return KP_ERROR_MEMORY;
  }
  c->n_workers = n_workers;
  c->worker_bytes = raw_bytes;
  for (int i = 0; i < n_workers; ++i) {
    worker *w = &c->workers[i];
    w->zstd = ZSTD_createDCtx();
    // stored bytes are never more than a whole chunk, checked when the table was read
    w->stored = kp_alloc(c->chunk_bytes, KP_MEMORY_IO);
    w->planes = kp_alloc(raw_bytes, KP_MEMORY_IO);
    w->raw = kp_alloc(raw_bytes, KP_MEMORY_IO);
    if (w->zstd == NULL || w->stored == NULL || w->planes == NULL || w->raw == NULL) {
      free_workers(c);
      return kp_fail(KP_ERROR_MEMORY, "out of memory: reading %s", c->path);
    }
  }
  return KP_OK;
}

static kp_result check_read(const read_job *job, uint64_t n_chunks, bool is_whole_section) {
  const kp_container *c = job->container;
  for (uint64_t i = 0; i < n_chunks; ++i) {
    if (job->faults[i] == FAULT_READ) {
      return kp_fail(KP_ERROR_IO, "cannot read section %s of %s", job->section->name, c->path);
    }
    if (job->faults[i] == FAULT_DAMAGED) {
      return kp_fail(KP_ERROR_FORMAT, "%s: section %s is damaged", c->path, job->section->name);
    }
  }
  if (is_whole_section && !is_sum_right(kp_hash_bytes(job->out, (size_t)(job->end - job->begin), 0),
                                        job->section->checksum)) {
    return kp_fail(KP_ERROR_FORMAT, "%s: section %s does not match its checksum", c->path,
                   job->section->name);
  }
  return KP_OK;
}

kp_result kp_container_read(kp_container *container, const kp_section *section, uint64_t first,
                            uint64_t count, void *out) {
  kp_container *c = container;
  KP_ASSERT(section >= c->sections && section < c->sections + c->n_sections);
  if (first > section->count || count > section->count - first) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "%s: section %s has %" PRIu64 " items, %" PRIu64 " from %" PRIu64
                   " were asked for",
                   c->path, section->name, section->count, count, first);
  }
  if (count == 0) {
    return KP_OK;
  }
  size_t item_size = kp_item_size(section->type);
  uint64_t section_bytes = section->count * item_size;
  read_job job = { .container = c,
                   .section = section,
                   .first_place = c->first_chunks[section - c->sections],
                   .first_chunk = first * item_size / c->chunk_bytes,
                   .begin = first * item_size,
                   .end = (first + count) * item_size,
                   .out = out };
  uint64_t n_chunks = kp_chunk_count(job.end, c->chunk_bytes) - job.first_chunk;
  KP_TRY(make_workers(c, section_bytes < c->chunk_bytes ? (size_t)section_bytes : c->chunk_bytes));
  job.faults = kp_alloc_zero((size_t)n_chunks, KP_MEMORY_IO);
  if (job.faults == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_parallel_for((int64_t)n_chunks, 1, read_range, &job);
  kp_result result = check_read(&job, n_chunks, count == section->count);
  kp_free(job.faults);
  return result;
}

kp_result kp_container_verify(kp_container *container) {
  kp_container *c = container;
  size_t largest = 1;
  for (size_t i = 0; i < c->n_sections; ++i) {
    uint64_t size = c->sections[i].count * kp_item_size(c->sections[i].type);
    largest = size > largest ? (size_t)size : largest;
  }
  void *block = kp_alloc(largest, KP_MEMORY_IO);
  kp_result result = block != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (size_t i = 0; i < c->n_sections && result == KP_OK; ++i) {
    result = kp_container_read(c, &c->sections[i], 0, c->sections[i].count, block);
  }
  kp_free(block);
  return result;
}
