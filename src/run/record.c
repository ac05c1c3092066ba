#include "run/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/build_info.h"
#include "base/text.h"
#include "io/json.h"
#include "par/kernel.h"
#include "run/json_read.h"

#define RECORD_BYTES_MOST ((size_t)16 << 20)

const char *kp_build_text(void) {
  return KP_VERSION_STRING " " KP_REAL_NAME " " KP_BUILD_COMPILER " " KP_BUILD_TYPE;
}

void kp_machine_text(char *out, size_t size) {
  out[0] = '\0';
  FILE *stream = fopen("/proc/cpuinfo", "re");
  if (stream == NULL) {
    return;
  }
  char line[512];
  while (fgets(line, sizeof line, stream) != NULL) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
      colon[strcspn(colon, "\n")] = '\0';
      kp_text_copy(out, size, colon + 1 + strspn(colon + 1, " "));
      break;
    }
  }
  (void)fclose(stream);
}

void kp_run_record_free(kp_run_record *record) {
  kp_free(record->scene);
  kp_free(record->build);
  kp_free(record->backend);
  for (size_t i = 0; i < record->sets.count; ++i) {
    kp_free(record->sets.data[i]);
  }
  for (size_t i = 0; i < record->inputs.count; ++i) {
    kp_free(record->inputs.data[i].name);
  }
  kp_array_free(&record->sets);
  kp_array_free(&record->inputs);
  *record = (kp_run_record){ 0 };
}

static void write_machine(kp_json *json) {
  char processor[256];
  kp_machine_text(processor, sizeof processor);
  struct utsname system;
  bool has_system = uname(&system) == 0;
  kp_json_begin_object(json, "machine");
  kp_json_string(json, "name", has_system ? system.nodename : NULL);
  kp_json_string(json, "system", has_system ? system.sysname : NULL);
  kp_json_string(json, "processor", processor);
  kp_json_int(json, "cores", (int64_t)sysconf(_SC_NPROCESSORS_ONLN));
  kp_json_string(json, "instruction_set", kp_isa_name(kp_isa_current()));
  kp_json_end(json);
}

kp_result kp_run_record_write(const kp_run_record *record, const kp_run_folder *folder) {
  char path[KP_PATH_SIZE];
  KP_TRY(kp_run_path(folder, path, "run.json"));
  kp_json json = { 0 };
  kp_json_begin_object(&json, NULL);
  kp_json_string(&json, "kelpie", KP_VERSION_STRING);
  kp_json_string(&json, "build", record->build);
  kp_json_string(&json, "scene", record->scene);
  kp_json_hash(&json, "scene_hash", record->scene_hash);
  kp_json_string(&json, "backend", record->backend);
  kp_json_int(&json, "threads", record->threads);
  kp_json_int(&json, "first_frame", record->first_frame);
  kp_json_int(&json, "last_frame", record->last_frame);
  kp_json_number(&json, "fps", record->fps);
  write_machine(&json);
  kp_json_begin_array(&json, "sets");
  for (size_t i = 0; i < record->sets.count; ++i) {
    kp_json_string(&json, NULL, record->sets.data[i]);
  }
  kp_json_end(&json);
  kp_json_begin_array(&json, "inputs");
  for (size_t i = 0; i < record->inputs.count; ++i) {
    kp_json_begin_object(&json, NULL);
    kp_json_string(&json, "name", record->inputs.data[i].name);
    kp_json_hash(&json, "hash", record->inputs.data[i].hash);
    kp_json_end(&json);
  }
  kp_json_end(&json);
  kp_json_end(&json);
  kp_result result = kp_json_write(&json, path);
  kp_json_free(&json);
  return result;
}

// ---- reading

static kp_result copy_text(const kp_json_values *values, const char *key, const char *path,
                           char **out) {
  const char *text = kp_json_get(values, key);
  if (text == NULL) {
    return kp_fail(KP_ERROR_FORMAT, "%s has no \"%s\"", path, key);
  }
  *out = kp_strdup(text, KP_MEMORY_IO);
  return *out != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static kp_result read_hash(const kp_json_values *values, const char *key, const char *path,
                           uint64_t *out) {
  const char *text = kp_json_get(values, key);
  char *end = NULL;
  *out = text != NULL ? strtoull(text, &end, 16) : 0;
  if (text == NULL || *text == '\0' || *end != '\0') {
    return kp_fail(KP_ERROR_FORMAT, "%s has no hash \"%s\"", path, key);
  }
  return KP_OK;
}

static kp_result read_sets(const kp_json_values *values, kp_run_record *out) {
  for (size_t i = 0;; ++i) {
    char key[64];
    (void)snprintf(key, sizeof key, "sets/%zu", i);
    const char *text = kp_json_get(values, key);
    if (text == NULL) {
      return KP_OK;
    }
    char *copy = kp_strdup(text, KP_MEMORY_IO);
    if (copy == NULL || kp_array_push(&out->sets, copy) != KP_OK) {
      kp_free(copy);
      return KP_ERROR_MEMORY;
    }
  }
}

static kp_result read_inputs(const kp_json_values *values, const char *path, kp_run_record *out) {
  for (size_t i = 0;; ++i) {
    char key[64];
    (void)snprintf(key, sizeof key, "inputs/%zu/name", i);
    const char *text = kp_json_get(values, key);
    if (text == NULL) {
      return KP_OK;
    }
    (void)snprintf(key, sizeof key, "inputs/%zu/hash", i);
    kp_record_input input = { 0 };
    KP_TRY(read_hash(values, key, path, &input.hash));
    input.name = kp_strdup(text, KP_MEMORY_IO);
    if (input.name == NULL || kp_array_push(&out->inputs, input) != KP_OK) {
      kp_free(input.name);
      return KP_ERROR_MEMORY;
    }
  }
}

// A whole number that fits; anything else counts as 0.
static int64_t read_int(const kp_json_values *values, const char *key) {
  double number = kp_json_get_number(values, key, 0.0);
  return number >= 0.0 && number < 1e9 ? (int64_t)number : 0;
}

static kp_result read_values(const kp_json_values *values, const char *path, kp_run_record *out) {
  KP_TRY(copy_text(values, "scene", path, &out->scene));
  KP_TRY(copy_text(values, "build", path, &out->build));
  KP_TRY(copy_text(values, "backend", path, &out->backend));
  KP_TRY(read_hash(values, "scene_hash", path, &out->scene_hash));
  out->threads = (int)read_int(values, "threads");
  out->first_frame = read_int(values, "first_frame");
  out->last_frame = read_int(values, "last_frame");
  out->fps = kp_json_get_number(values, "fps", 0.0);
  KP_TRY(read_sets(values, out));
  return read_inputs(values, path, out);
}

kp_result kp_run_record_read(const kp_run_folder *folder, kp_run_record *out) {
  *out = (kp_run_record){ 0 };
  char path[KP_PATH_SIZE];
  char *text = NULL;
  size_t n_bytes;
  KP_TRY(kp_run_path(folder, path, "run.json"));
  KP_TRY(kp_file_read(path, RECORD_BYTES_MOST, &text, &n_bytes));
  kp_json_values values;
  kp_result result = kp_json_parse(path, text, &values);
  kp_free(text);
  if (result != KP_OK) {
    return result;
  }
  result = read_values(&values, path, out);
  kp_json_values_free(&values);
  if (result != KP_OK) {
    kp_run_record_free(out);
  }
  return result;
}
