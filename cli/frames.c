#include "cli/frames.h"

#include <time.h>

kp_result kp_frame_list_path(const kp_frame_list *list, size_t index, char out[KP_PATH_SIZE]) {
  return kp_run_path(&list->folder, out, "frames/%s", list->all.files[index].name);
}

void kp_frame_list_free(kp_frame_list *list) {
  kp_numbered_free(&list->all);
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
