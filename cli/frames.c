#include "cli/frames.h"

#include <time.h>

#include "base/log.h"

kp_result kp_frame_list_path(const kp_frame_list *list, size_t index, char out[KP_PATH_SIZE]) {
  return kp_run_path(&list->folder, out, "frames/%s", list->all.files[index].name);
}

void kp_frame_list_free(kp_frame_list *list) {
  kp_numbered_free(&list->all);
  kp_array_free(&list->damaged);
}

// ---- frames that cannot be read

static bool is_known_damaged(const kp_frame_list *list, uint64_t number) {
  for (size_t i = 0; i < list->damaged.count; ++i) {
    if (list->damaged.data[i] == number) {
      return true;
    }
  }
  return false;
}

kp_result kp_frame_list_load(kp_frame_list *list, size_t index, kp_frame **frame) {
  char path[KP_PATH_SIZE];
  *frame = NULL;
  KP_TRY(kp_frame_list_path(list, index, path));
  kp_result result = kp_frame_load(path, frame);
  if (result != KP_ERROR_FORMAT && result != KP_ERROR_IO) {
    return result;
  }
  uint64_t number = list->all.files[index].number;
  if (is_known_damaged(list, number)) {
    return KP_OK;
  }
  kp_log(KP_LOG_WARN, "frames", "%s; frame %llu is left out", kp_last_error(),
         (unsigned long long)number);
  return kp_array_push(&list->damaged, number);
}

kp_result kp_frame_list_load_nearest(kp_frame_list *list, size_t index, kp_frame **frame) {
  *frame = NULL;
  const size_t before = index - list->begin, after = list->end - index - 1;
  for (size_t d = 1; *frame == NULL && (d <= before || d <= after); ++d) {
    if (d <= before) {
      KP_TRY(kp_frame_list_load(list, index - d, frame));
    }
    if (d <= after && *frame == NULL) {
      KP_TRY(kp_frame_list_load(list, index + d, frame));
    }
  }
  if (*frame != NULL) {
    uint64_t number = list->all.files[index].number;
    double late = (double)number - (double)(*frame)->frame;
    (*frame)->time += (*frame)->fps > 0.0 ? late / (*frame)->fps : 0.0;
    (*frame)->frame = number;
  }
  return KP_OK;
}

kp_result kp_frame_list_report(const kp_frame_list *list, kp_result result) {
  if (result != KP_OK || list->damaged.count == 0) {
    return result;
  }
  uint64_t first = list->damaged.data[0];
  for (size_t i = 1; i < list->damaged.count; ++i) {
    first = list->damaged.data[i] < first ? list->damaged.data[i] : first;
  }
  return kp_fail(KP_ERROR_FORMAT,
                 "%zu of %zu frames of %s could not be read and were left out, the first is frame "
                 "%llu; kelpie resume %s makes damaged frames again",
                 list->damaged.count, list->end - list->begin, list->folder.path,
                 (unsigned long long)first, list->folder.path);
}

static void choose(kp_frame_list *list) {
  const kp_numbered_file *files = list->all.files;
  const int64_t first = list->first, last = list->last;
  list->begin = 0;
  list->end = list->all.count;
  while (list->begin < list->end && first >= 0 && files[list->begin].number < (uint64_t)first) {
    ++list->begin;
  }
  while (list->end > list->begin && last >= 0 && files[list->end - 1].number > (uint64_t)last) {
    --list->end;
  }
}

kp_result kp_frame_list_follow(const char *path, const char *frames, kp_frame_list *out) {
  *out = (kp_frame_list){ .first = -1, .last = -1 };
  bool is_single;
  if (frames != NULL) {
    KP_TRY(kp_parse_range(frames, &out->first, &out->last, &is_single));
  }
  KP_TRY(kp_run_folder_open(path, &out->folder));
  KP_TRY(kp_run_frames(&out->folder, &out->all));
  choose(out);
  return KP_OK;
}

kp_result kp_frame_list_find(const char *path, const char *frames, kp_frame_list *out) {
  KP_TRY(kp_frame_list_follow(path, frames, out));
  if (out->begin == out->end) {
    kp_result result =
        out->all.count == 0
            ? kp_fail(KP_ERROR_IO, "%s holds no frames yet", path)
            : kp_fail(KP_ERROR_ARGUMENT,
                      "%s holds frames %llu to %llu, none of them in --frames %s", path,
                      (unsigned long long)out->all.files[0].number,
                      (unsigned long long)out->all.files[out->all.count - 1].number, frames);
    kp_frame_list_free(out);
    return result;
  }
  return KP_OK;
}

static kp_result look_again(kp_frame_list *list) {
  kp_numbered_list newer;
  KP_TRY(kp_run_frames(&list->folder, &newer));
  kp_numbered_free(&list->all);
  list->all = newer;
  choose(list);
  return KP_OK;
}

kp_result kp_frame_list_wait(kp_frame_list *list, size_t index, const volatile sig_atomic_t *stop,
                             bool *is_there) {
  const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
  for (;;) {
    // asked before looking, so that the last frames of a run that ends in between are seen
    bool is_running = kp_run_folder_is_running(&list->folder);
    KP_TRY(look_again(list));
    *is_there = index < list->end && *stop == 0;
    if (*is_there || !is_running || *stop != 0) {
      return KP_OK;
    }
    (void)nanosleep(&pause, NULL);
  }
}
