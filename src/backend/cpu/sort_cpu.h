// Stable radix sort of keys and 32-bit values, for one type of key. sort_cpu.c includes this once
// per type with
//
//   KEY          unsigned type of the keys
//   SORT(name)   the name with the suffix of the type
//
// Least significant digit first. Each pass counts the digits of fixed chunks, turns the counts into
// first slots (digit major, chunk minor) and moves the chunks independently; the order of equal
// digits is kept because later chunks get later slots. The result of a stable sort is unique, so it
// does not depend on chunks or threads.
//
// Between passes key and value travel together as one item: one write stream per digit, not two.

#define ITEM SORT(item)
#define SURVEY SORT(survey)
#define JOB SORT(job)

typedef struct ITEM {
  KEY key;
  uint32_t value;
} ITEM;

// What one look at the keys tells about a chunk.
typedef struct SURVEY {
  KEY varying;  // bits that differ from the first key of all
  KEY unsorted;
} SURVEY;

typedef struct JOB {
  KEY *keys;
  uint32_t *values;
  int64_t chunk;
  KEY mask;  // the bits that count
  SURVEY *surveys;

  // of one pass
  const ITEM *from;  // NULL: keys and values
  ITEM *to;          // NULL: keys and values
  uint32_t *counts;  // per chunk and digit
  int shift;
  uint32_t n_digits;
} JOB;

static void SORT(survey_chunk)(int64_t begin, int64_t end, void *context) {
  const JOB *job = context;
  const KEY *keys = job->keys;
  KEY mask = job->mask;
  KEY first = keys[0];
  KEY varying = 0;
  KEY unsorted = 0;
  // each chunk also compares with its predecessor
  for (int64_t i = begin > 0 ? begin : 1; i < end; ++i) {
    varying |= keys[i] ^ first;
    unsorted |= (KEY)((keys[i] & mask) < (keys[i - 1] & mask));
  }
  job->surveys[begin / job->chunk] = (SURVEY){ varying & mask, unsorted };
}

// Bits in which keys differ, or 0 when they are in order already.
static KEY SORT(survey_keys)(JOB *job, int64_t n) {
  kp_parallel_for(n, job->chunk, SORT(survey_chunk), job);
  KEY varying = 0;
  KEY unsorted = 0;
  for (int64_t c = 0; c <= (n - 1) / job->chunk; ++c) {
    varying |= job->surveys[c].varying;
    unsorted |= job->surveys[c].unsorted;
  }
  return unsorted ? varying : 0;
}

// The last digit may reach beyond the bits that count.
static uint32_t SORT(digit_mask)(const JOB *job) {
  return (uint32_t)(job->mask >> job->shift) & (job->n_digits - 1);
}

static void SORT(count_chunk)(int64_t begin, int64_t end, void *context) {
  const JOB *job = context;
  uint32_t digit_mask = SORT(digit_mask)(job);
  uint32_t *counts = job->counts + begin / job->chunk * job->n_digits;
  int shift = job->shift;
  memset(counts, 0, job->n_digits * sizeof *counts);
  if (job->from != NULL) {
    for (int64_t i = begin; i < end; ++i) {
      ++counts[(uint32_t)(job->from[i].key >> shift) & digit_mask];
    }
  } else {
    for (int64_t i = begin; i < end; ++i) {
      ++counts[(uint32_t)(job->keys[i] >> shift) & digit_mask];
    }
  }
}

static void SORT(move_chunk)(int64_t begin, int64_t end, void *context) {
  const JOB *job = context;
  uint32_t digit_mask = SORT(digit_mask)(job);
  uint32_t *slots = job->counts + begin / job->chunk * job->n_digits;
  int shift = job->shift;
  const ITEM *from = job->from;
  ITEM *to = job->to;
  KEY *keys = job->keys;
  uint32_t *values = job->values;
  if (from == NULL) {
    for (int64_t i = begin; i < end; ++i) {
      ITEM item = { keys[i], values[i] };
      to[slots[(uint32_t)(item.key >> shift) & digit_mask]++] = item;
    }
  } else if (to != NULL) {
    for (int64_t i = begin; i < end; ++i) {
      ITEM item = from[i];
      to[slots[(uint32_t)(item.key >> shift) & digit_mask]++] = item;
    }
  } else {
    for (int64_t i = begin; i < end; ++i) {
      ITEM item = from[i];
      uint32_t slot = slots[(uint32_t)(item.key >> shift) & digit_mask]++;
      keys[slot] = item.key;
      values[slot] = item.value;
    }
  }
}

static void SORT(pack_chunk)(int64_t begin, int64_t end, void *context) {
  const JOB *job = context;
  for (int64_t i = begin; i < end; ++i) {
    job->to[i] = (ITEM){ job->keys[i], job->values[i] };
  }
}

static void SORT(pass)(JOB *job, int64_t n) {
  kp_parallel_for(n, job->chunk, SORT(count_chunk), job);
  counts_to_slots(job->counts, (n - 1) / job->chunk + 1, job->n_digits);
  kp_parallel_for(n, job->chunk, SORT(move_chunk), job);
}

kp_result SORT(kp_cpu_sort)(kp_backend *backend, KEY *keys, uint32_t *values, int64_t n, int bits) {
  const int key_bits = 8 * (int)sizeof(KEY);
  KP_ASSERT(n <= UINT32_MAX);
  JOB job = { .keys = keys, .values = values, .chunk = chunk_of(n) };
  job.mask = (KEY)UINT64_MAX >> (key_bits - bits);

  // scratch: two arrays of items, then the counts, which the surveys share
  int64_t n_chunks = (n - 1) / job.chunk + 1;
  size_t items_size = round_up((size_t)n * sizeof(ITEM));
  size_t counts_size = (size_t)n_chunks * MAX_DIGITS * sizeof(uint32_t);
  char *scratch = kp_backend_scratch(backend, 2 * items_size + counts_size);
  if (scratch == NULL) {
    return kp_fail_in(KP_ERROR_MEMORY, "sort");
  }
  ITEM *items[2] = { (ITEM *)scratch, (ITEM *)(scratch + items_size) };
  job.counts = (uint32_t *)(scratch + 2 * items_size);
  job.surveys = (SURVEY *)job.counts;

  KEY varying = SORT(survey_keys)(&job, n);
  digit_plan plan = plan_digits((uint64_t)varying, n);
  job.n_digits = 1u << plan.bits;

  // one pass cannot go from keys and values to themselves
  if (plan.n_passes == 1) {
    job.to = items[0];
    kp_parallel_for(n, job.chunk, SORT(pack_chunk), &job);
    job.from = items[0];
  }
  for (int p = 0; p < plan.n_passes; ++p) {
    job.shift = plan.shifts[p];
    job.to = p + 1 < plan.n_passes ? items[p & 1] : NULL;
    SORT(pass)(&job, n);
    job.from = job.to;
  }
  return KP_OK;
}

#undef ITEM
#undef SURVEY
#undef JOB
