#include "cli/frames.h"

kp_result kp_frame_list_path(const kp_frame_list *list, size_t index, char out[KP_PATH_SIZE]) {
  return kp_run_path(&list->folder, out, "frames/%s", list->all.files[index].name);
}

void kp_frame_list_free(kp_frame_list *list) {
  kp_numbered_free(&list->all);
}

static void choose(kp_frame_list *list, int64_t first, int64_t last) {
  const kp_numbered_file *files = list->all.files;
  list->begin = 0;
  list->end = list->all.count;
  while (list->begin < list->end && first >= 0 && files[list->begin].number < (uint64_t)first) {
    ++list->begin;
  }
  while (list->end > list->begin && last >= 0 && files[list->end - 1].number > (uint64_t)last) {
    --list->end;
  }
}

kp_result kp_frame_list_find(const char *path, const char *frames, kp_frame_list *out) {
  *out = (kp_frame_list){ 0 };
  int64_t first = -1, last = -1;
  bool is_single;
  if (frames != NULL) {
    KP_TRY(kp_parse_range(frames, &first, &last, &is_single));
  }
  KP_TRY(kp_run_folder_open(path, &out->folder));
  KP_TRY(kp_run_frames(&out->folder, &out->all));
  choose(out, first, last);
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
