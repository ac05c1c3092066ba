#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/frames.h"
#include "io/disk.h"
#include "io/export.h"

#define MOST_FORMATS 32

static const kp_option options[] = {
  { "to", 't', "FORMATS", "what to write, in any case, several with commas between" },
  { "output", 'o', "DIR", "where to; <run>/export/<format> when missing" },
  { "frames", 0, "A:B", "only these frames: A:B, A:, :B or one number" },
  { "float", 0, NULL, "write positions with 7 digits instead of 16: half the size" },
  { "half", 0, NULL, "16-bit numbers in vdb files: half the size, 3 digits" },
  { "plain", 0, NULL, "no compression, for programs that cannot read it" },
};

static const kp_command command = {
  "export",
  "DIR --to FORMATS [options]",
  "Writes the frames of a run as files of other programs, in metres and m/s, with 64-bit ids.",
  "  kelpie export out/dam_break --to ply,vtu\n"
  "  kelpie export out/dam_break --to csv --frames 60 -o /tmp/tables\n"
  "  kelpie export out/flag --to pc2,usda",
  options,
  sizeof options / sizeof options[0],
  1,
  1,
};

// What the command does, and a line for each format of the table.
static kp_result describe(kp_text *out) {
  size_t n;
  const kp_exporter *const *all = kp_exporters(&n);
  KP_TRY(kp_text_add(out, "%s\n\nFormats:", command.text));
  for (size_t i = 0; i < n; ++i) {
    KP_TRY(kp_text_add(out, "\n  %-7s %s", all[i]->name, all[i]->text));
  }
  const kp_export_alias *aliases = kp_export_aliases(&n);
  KP_TRY(kp_text_add(out, "\n\nOther names: "));
  for (size_t i = 0; i < n; ++i) {
    KP_TRY(kp_text_add(out, "%s%s = %s", i > 0 ? ", " : "", aliases[i].name, aliases[i].of));
  }
  return kp_text_add(out, ".");
}

static kp_result find_exporter(const char *name, const kp_exporter **out) {
  *out = kp_exporter_find(name);
  if (*out != NULL) {
    return KP_OK;
  }
  const char *dot = strrchr(name, '.'), *names[MOST_FORMATS];
  if (dot != NULL && kp_exporter_find(dot) != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "--to %s: it takes formats, and -o the folder for the files: --to %s -o DIR",
                   name, kp_exporter_find(dot)->name);
  }
  size_t n, index;
  const kp_exporter *const *all = kp_exporters(&n);
  for (size_t i = 0; i < n && i < MOST_FORMATS; ++i) {
    names[i] = all[i]->name;
  }
  return kp_parse_word("--to", name, names, n < MOST_FORMATS ? n : MOST_FORMATS, &index);
}

typedef struct export_target {
  char folder[KP_PATH_SIZE];
  bool is_new;  // made by us
} export_target;

static kp_result make_target(const kp_frame_list *frames, const char *wanted,
                             const kp_exporter *exporter, export_target *out) {
  if (wanted != NULL) {
    kp_text_copy(out->folder, KP_PATH_SIZE, wanted);
  } else {
    KP_TRY(kp_run_path(&frames->folder, out->folder, "export/%s", exporter->name));
  }
  out->is_new = !kp_folder_exists(out->folder);
  return kp_folder_make(out->folder);
}

// A format for which there is nothing leaves no folder, nor the one around it.
static void drop_empty(const kp_frame_list *frames, const char *wanted,
                       const export_target *target) {
  char around[KP_PATH_SIZE];
  if (!target->is_new || !kp_disk_remove_folder(target->folder)) {
    return;
  }
  if (wanted == NULL && kp_run_path(&frames->folder, around, "export") == KP_OK) {
    // it stays where other formats lie in it
    (void)kp_disk_remove_folder(around);
  }
}

static kp_result export_frame(kp_frame_list *frames, size_t index, const kp_exporter *exporter,
                              const char *folder, uint32_t flags, kp_export_list *list) {
  kp_frame *frame = NULL;
  KP_TRY(kp_frame_list_load(frames, index, &frame));
  if (frame == NULL && exporter->needs_every_frame) {
    KP_TRY(kp_frame_list_load_nearest(frames, index, &frame));
  }
  kp_result result = frame != NULL ? exporter->write(frame, folder, flags, list) : KP_OK;
  kp_frame_free(&frame);
  return result;
}

static kp_result export_all(kp_frame_list *frames, const kp_exporter *exporter, const char *wanted,
                            uint32_t flags) {
  export_target target;
  kp_export_list list = { .n_frames = frames->end - frames->begin };
  KP_TRY(make_target(frames, wanted, exporter, &target));
  kp_result result = KP_OK;
  for (size_t i = frames->begin; result == KP_OK && i < frames->end; ++i) {
    result = export_frame(frames, i, exporter, target.folder, flags, &list);
  }
  if (result == KP_OK && exporter->finish != NULL) {
    result = exporter->finish(target.folder, &list);
  }
  if (result == KP_OK && list.count == 0) {
    drop_empty(frames, wanted, &target);
    kp_log(KP_LOG_WARN, "export", "%s: no file, since these frames hold nothing for it. %s",
           exporter->name, exporter->text);
  } else if (result == KP_OK) {
    (void)printf("%s: %zu files of %zu frames in %s\n", exporter->name, list.count,
                 frames->end - frames->begin, target.folder);
  }
  kp_export_list_free(&list);
  return result;
}

typedef struct format_list {
  const kp_exporter *items[MOST_FORMATS];
  size_t n;
} format_list;

static bool has_format(const format_list *list, const kp_exporter *exporter) {
  for (size_t i = 0; i < list->n; ++i) {
    if (list->items[i] == exporter) {
      return true;
    }
  }
  return false;
}

// "ply, VTU": each format once.
static kp_result find_formats(const char *to, format_list *out) {
  char words[256], *rest = NULL;
  if (strlen(to) >= sizeof words) {
    return kp_fail(KP_ERROR_ARGUMENT, "--to names too many formats");
  }
  kp_text_copy(words, sizeof words, to);
  for (char *name = strtok_r(words, ", ", &rest); name != NULL;
       name = strtok_r(NULL, ", ", &rest)) {
    const kp_exporter *exporter;
    KP_TRY(find_exporter(name, &exporter));
    if (!has_format(out, exporter)) {
      out->items[out->n++] = exporter;
    }
  }
  return out->n > 0 ? KP_OK : kp_fail(KP_ERROR_ARGUMENT, "--to names no format");
}

// Frames become many files, so a path of one is a mistake.
static kp_result check_folder(const char *folder) {
  const char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
  const char *dot = folder != NULL ? strrchr(slash != NULL ? slash : folder, '.') : NULL;
  if (dot != NULL && dot[1] != '\0' && kp_exporter_find(dot) != NULL && !kp_folder_exists(folder)) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "-o %s: this is the folder the files go to; leave %s out, --to says the format",
                   folder, dot);
  }
  return KP_OK;
}

// All names are looked up before the first file is written.
static kp_result run_export(const kp_arguments *arguments) {
  const char *to = kp_arguments_get(arguments, "to");
  const char *folder = kp_arguments_get(arguments, "output");
  if (to == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "say which format: --to ply,usda,vdb; see kelpie export -h");
  }
  format_list formats = { 0 };
  kp_frame_list frames;
  uint32_t flags = kp_arguments_has(arguments, "float") ? KP_EXPORT_FLOAT32 : 0;
  flags |= kp_arguments_has(arguments, "plain") ? KP_EXPORT_PLAIN : 0;
  flags |= kp_arguments_has(arguments, "half") ? KP_EXPORT_HALF : 0;
  KP_TRY(find_formats(to, &formats));
  KP_TRY(check_folder(folder));
  if ((flags & KP_EXPORT_HALF) != 0 && !has_format(&formats, &kp_export_vdb) &&
      !has_format(&formats, &kp_export_usda)) {
    return kp_fail(KP_ERROR_ARGUMENT, "--half is for vdb files, of which --to %s makes none", to);
  }
  KP_TRY(
      kp_frame_list_find(arguments->plain.data[0], kp_arguments_get(arguments, "frames"), &frames));
  kp_result result = KP_OK;
  for (size_t i = 0; i < formats.n && result == KP_OK; ++i) {
    result = export_all(&frames, formats.items[i], folder, flags);
  }
  result = kp_frame_list_report(&frames, result);
  kp_frame_list_free(&frames);
  return result;
}

int cmd_export(int argc, char **argv) {
  kp_arguments arguments;
  kp_text text = { 0 };
  int status;
  kp_command described = command;
  described.text = describe(&text) == KP_OK ? text.data : command.text;
  bool may_begin = kp_cli_begin(&described, argc, argv, &arguments, &status);
  kp_text_free(&text);
  if (!may_begin) {
    return status;
  }
  kp_result result = run_export(&arguments);
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
