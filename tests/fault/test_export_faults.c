// Each allocation and each call of the disk of every exporter of the table fails in turn, while two
// frames with an object of every kind are written over the files of an earlier export; so too of
// the frame file.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "io/export.h"
#include "io/files.h"
#include "io/frame_data.h"

#include "support/faults.h"
#include "support/frames.h"

#define N_POINTS 12
#define N_FRAMES 2

static void fill_set(kp_frame *frame, double shift) {
  kp_frame_set *set;
  assert_ok(kp_frame_add_set(frame, "water", N_POINTS, &set));
  void **position = kp_test_add_field(&set->fields, "position", KP_ITEM_F64, 3, N_POINTS);
  void **velocity = kp_test_add_field(&set->fields, "velocity", KP_ITEM_F32, 3, N_POINTS);
  uint64_t *id = kp_test_add_field(&set->fields, "id", KP_ITEM_U64, 1, N_POINTS)[0];
  for (uint64_t i = 0; i < N_POINTS; ++i) {
    id[i] = i;
    for (int c = 0; c < 3; ++c) {
      ((double *)position[c])[i] = shift + (double)i / (1 + c);
      ((float *)velocity[c])[i] = (float)shift;
    }
  }
}

static void fill_mesh(kp_frame *frame, double shift) {
  kp_frame_mesh *mesh;
  assert_ok(kp_frame_add_mesh(frame, "cloth", 4, 2, &mesh));
  mesh->velocities = kp_alloc_zero(4 * sizeof *mesh->velocities, KP_MEMORY_TEST);
  assert_non_null(mesh->velocities);
  for (uint32_t i = 0; i < 4; ++i) {
    mesh->vertices[i] = kp_vec3_make(i % 2, i / 2, shift);
  }
  const uint32_t triangles[] = { 0, 1, 2, 2, 1, 3 };
  memcpy(mesh->triangles, triangles, sizeof triangles);
  float *wet = kp_test_add_field(&mesh->fields, "wetness", KP_ITEM_F32, 1, 4)[0];
  wet[3] = 0.5f;
}

static void fill_curves(kp_frame *frame, double shift) {
  kp_frame_curves *curves;
  assert_ok(kp_frame_add_curves(frame, "hair", 5, 2, &curves));
  for (uint32_t i = 0; i < 5; ++i) {
    curves->points[i] = kp_vec3_make(i, 2.0 * i, shift);
  }
  const uint64_t offsets[] = { 0, 3, 5 };
  memcpy(curves->offsets, offsets, sizeof offsets);
}

static void fill_volume(kp_frame *frame, double shift) {
  const uint64_t dims[3] = { 4, 3, 2 };
  kp_frame_volume *volume;
  assert_ok(kp_frame_add_volume(frame, "smoke", dims, &volume));
  volume->spacing = 0.125;
  double *density = kp_test_add_field(&volume->fields, "density", KP_ITEM_F64, 1, 24)[0];
  for (int i = 0; i < 24; ++i) {
    density[i] = shift + i;
  }
}

static kp_frame *make_frame(uint64_t number, double shift) {
  kp_frame *frame;
  assert_ok(kp_frame_create(number, 0.1 * (double)number, &frame));
  frame->up_axis = 2;
  frame->fps = 10.0;
  frame->domain.min = kp_vec3_make(-1.0, -2.0, -3.0);
  frame->domain.max = kp_vec3_make(13.0, 14.0, 15.0);
  fill_set(frame, shift);
  fill_mesh(frame, shift);
  fill_curves(frame, shift);
  fill_volume(frame, shift);
  return frame;
}

// ---- exporters

typedef struct export_work {
  const char *folder;
  const kp_exporter *exporter;
  uint32_t flags;
  kp_frame *old[N_FRAMES], *new[N_FRAMES];
} export_work;

static kp_result export_frames(const export_work *w, kp_frame *const *frames) {
  kp_export_list list = { .n_frames = N_FRAMES };
  kp_result result = KP_OK;
  for (int i = 0; i < N_FRAMES && result == KP_OK; ++i) {
    result = w->exporter->write(frames[i], w->folder, w->flags, &list);
  }
  if (result == KP_OK && w->exporter->finish != NULL) {
    result = w->exporter->finish(w->folder, &list);
  }
  assert_true(result != KP_OK || list.count > 0);
  kp_export_list_free(&list);
  return result;
}

static void export_old(void *user) {
  export_work *w = user;
  assert_ok(export_frames(w, w->old));
}

static kp_result export_new(void *user) {
  export_work *w = user;
  return export_frames(w, w->new);
}

static export_work make_work(const char *folder) {
  export_work w = { .folder = folder };
  for (int i = 0; i < N_FRAMES; ++i) {
    w.old[i] = make_frame((uint64_t)i, 0.5);
    w.new[i] = make_frame((uint64_t)i, 0.25 + i);
  }
  return w;
}

static void free_work(export_work *w) {
  for (int i = 0; i < N_FRAMES; ++i) {
    kp_frame_free(&w->old[i]);
    kp_frame_free(&w->new[i]);
  }
}

static void test_exporters(void **state) {
  static const uint32_t flags[] = { 0, KP_EXPORT_PLAIN | KP_EXPORT_FLOAT32 };
  export_work w = make_work(*state);
  size_t n;
  const kp_exporter *const *all = kp_exporters(&n);
  assert_true(n >= 14);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < sizeof flags / sizeof flags[0]; ++k) {
      w.exporter = all[i];
      w.flags = flags[k];
      kp_faults faults = {
        .folder = *state, .prepare = export_old, .work = export_new, .user = &w, .most = 280
      };
      kp_faults_tried tried = kp_faults_try(&faults);
      print_message("%s: %lld allocations, %lld calls of the disk\n", all[i]->name,
                    (long long)tried.n_allocations, (long long)tried.n_disk_calls);
      assert_true(tried.n_allocations > 5);
      assert_true(tried.n_disk_calls > 5);
    }
  }
  free_work(&w);
}

// ---- frame files

static const kp_container_head head = { .real_size = 4, .build = "test" };

static void save_old(void *user) {
  export_work *w = user;
  assert_ok(kp_frame_save(kp_test_path(w->folder, "frame_000000.kpf"), &head, w->old[0]));
}

static kp_result save_new(void *user) {
  export_work *w = user;
  return kp_frame_save(kp_test_path(w->folder, "frame_000000.kpf"), &head, w->new[0]);
}

static kp_result load_frame(void *user) {
  export_work *w = user;
  kp_frame *frame = NULL;
  KP_TRY(kp_frame_load(kp_test_path(w->folder, "frame_000000.kpf"), &frame));
  assert_int_equal(frame->sets[0].count, N_POINTS);
  kp_frame_free(&frame);
  return KP_OK;
}

static void test_frame_files(void **state) {
  export_work w = make_work(*state);
  kp_faults faults = { .folder = *state, .prepare = save_old, .work = save_new, .user = &w };
  assert_true(kp_faults_try(&faults).n_disk_calls > 20);
  faults.work = load_frame;
  kp_faults_tried tried = kp_faults_try(&faults);
  assert_true(tried.n_disk_calls > 20);
  assert_true(tried.n_allocations > 40);
  free_work(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_exporters, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_frame_files, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
