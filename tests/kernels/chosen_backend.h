// Which backends a test program runs on: cpu and mirror, or the one named by --backend NAME or
// KP_TEST_BACKEND. Include after support/test.h.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "par/backend.h"

#define SKIPPED 77

static kp_backend *test_backends[2];
static int n_test_backends;

static const char *chosen_name(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], "--backend") == 0) {
      return argv[i + 1];
    }
  }
  return getenv("KP_TEST_BACKEND");
}

// 0, SKIPPED when the named backend has no device here, or 1.
static int open_backends(int argc, char **argv) {
  kp_backend_kind kinds[2] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
  const char *name = chosen_name(argc, argv);
  int n = 2;
  if (name != NULL) {
    n = 1;
    if (kp_backend_parse(name, &kinds[0]) != KP_OK) {
      (void)fprintf(stderr, "%s\n", kp_last_error());
      return 1;
    }
  }
  for (n_test_backends = 0; n_test_backends < n; ++n_test_backends) {
    kp_result result = kp_backend_create(kinds[n_test_backends], &test_backends[n_test_backends]);
    if (result != KP_OK) {
      (void)printf("skipped: %s\n", kp_last_error());
      return result == KP_ERROR_BACKEND ? SKIPPED : 1;
    }
  }
  return 0;
}

static void close_backends(void) {
  for (int b = 0; b < n_test_backends; ++b) {
    kp_backend_destroy(&test_backends[b]);
  }
}

// Device copy of a host array; never the same memory.
static void *upload(kp_backend *b, const void *host, size_t size) {
  void *device = kp_device_alloc(b, size);
  assert_non_null(device);
  assert_ok(kp_copy_in(b, device, host, size));
  return device;
}

// Back to a host array; the device memory is given back.
static void download(kp_backend *b, void *host, void *device, size_t size) {
  assert_ok(kp_copy_out(b, host, device, size));
  kp_device_free(b, device);
}

static void *host_alloc(size_t size) {
  void *memory = kp_alloc(size, KP_MEMORY_TEST);
  assert_non_null(memory);
  return memory;
}
