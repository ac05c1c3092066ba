#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/frames.h"
#include "io/export.h"

static const kp_option options[] = {
  { "to", 't', "FORMATS", "what to write, several with commas between; see below" },
  { "output", 'o', "DIR", "where to; <run>/export/<format> when missing" },
  { "frames", 0, "A:B", "only these frames: A:B, A:, :B or one number" },
  { "float", 0, NULL, "write positions with 7 digits instead of 16: half the size" },
  { "half", 0, NULL, "16-bit numbers in vdb files: half the size, 3 digits" },
  { "plain", 0, NULL, "no compression, for programs that cannot read it" },
};

static const kp_command command = {
  "export",
  "DIR --to FORMATS [options]",
  "Writes the frames of a run as files of other programs, in metres and m/s, with 64-bit ids:\n"
  "  ply, obj, glb    Blender, MeshLab, browsers: one file per object and frame\n"
  "  pc2, mdd         Blender's mesh cache: the motion of cloth in one file, with its OBJ\n"
  "  vdb              volumes, for Blender, Houdini and renderers\n"
  "  bgeo, usda       Houdini: particles; everything in one scene with time samples\n"
  "  vtu, vtp, vtkhdf ParaView, with a .pvd or .series index that knows the physical time\n"
  "  pov              POV-Ray scenes, ready to render\n"
  "  csv              spreadsheets, scripts",
  "  kelpie export out/dam_break --to ply,vtu\n"
  "  kelpie export out/dam_break --to csv --frames 60 -o /tmp/tables\n"
  "  kelpie export out/flag --to pc2,usda",
  options,
  sizeof options / sizeof options[0],
  1,
  1,
};

static kp_result find_exporter(const char *name, const kp_exporter **out) {
  const char *names[64];
  size_t n, index;
  const kp_exporter *const *all = kp_exporters(&n);
  n = n < sizeof names / sizeof names[0] ? n : sizeof names / sizeof names[0];
  for (size_t i = 0; i < n; ++i) {
    names[i] = all[i]->name;
  }
  KP_TRY(kp_parse_word("--to", name, names, n, &index));
  *out = all[index];
  return KP_OK;
}

static kp_result target_folder(const kp_frame_list *frames, const char *wanted,
                               const kp_exporter *exporter, char out[KP_PATH_SIZE]) {
  if (wanted != NULL) {
    kp_text_copy(out, KP_PATH_SIZE, wanted);
  } else {
    KP_TRY(kp_run_path(&frames->folder, out, "export/%s", exporter->name));
  }
  return kp_folder_make(out);
}

static kp_result export_frame(const kp_frame_list *frames, size_t index,
                              const kp_exporter *exporter, const char *folder, uint32_t flags,
                              kp_export_list *list) {
  char path[KP_PATH_SIZE];
  kp_frame *frame = NULL;
  KP_TRY(kp_frame_list_path(frames, index, path));
  KP_TRY(kp_frame_load(path, &frame));
  kp_result result = exporter->write(frame, folder, flags, list);
  kp_frame_free(&frame);
  return result;
}

static kp_result export_all(const kp_frame_list *frames, const kp_exporter *exporter,
                            const char *wanted, uint32_t flags) {
  char folder[KP_PATH_SIZE];
  kp_export_list list = { .n_frames = frames->end - frames->begin };
  KP_TRY(target_folder(frames, wanted, exporter, folder));
  kp_result result = KP_OK;
  for (size_t i = frames->begin; result == KP_OK && i < frames->end; ++i) {
    result = export_frame(frames, i, exporter, folder, flags, &list);
  }
  if (result == KP_OK && exporter->finish != NULL) {
    result = exporter->finish(folder, &list);
  }
  if (result == KP_OK && list.count == 0) {
    kp_log(KP_LOG_WARN, "export", "%s: no file, since these frames hold nothing for it. %s",
           exporter->name, exporter->text);
  } else if (result == KP_OK) {
    (void)printf("%s: %zu files of %zu frames in %s\n", exporter->name, list.count,
                 frames->end - frames->begin, folder);
  }
  kp_export_list_free(&list);
  return result;
}

// All names are looked up before the first file is written. `formats` is cut up.
static kp_result export_formats(const kp_frame_list *frames, char *formats, const char *wanted,
                                uint32_t flags) {
  const kp_exporter *exporters[16];
  size_t n = 0;
  char *rest = NULL;
  for (char *name = strtok_r(formats, ",", &rest); name != NULL;
       name = strtok_r(NULL, ",", &rest)) {
    if (n == sizeof exporters / sizeof exporters[0]) {
      return kp_fail(KP_ERROR_ARGUMENT, "--to names too many formats");
    }
    KP_TRY(find_exporter(name, &exporters[n++]));
  }
  for (size_t i = 0; i < n; ++i) {
    KP_TRY(export_all(frames, exporters[i], wanted, flags));
  }
  return n > 0 ? KP_OK : kp_fail(KP_ERROR_ARGUMENT, "--to names no format");
}

static kp_result run_export(const kp_arguments *arguments) {
  const char *to = kp_arguments_get(arguments, "to");
  if (to == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "say which format: --to ply,usda,vdb");
  }
  char formats[256];
  kp_frame_list frames;
  uint32_t flags = kp_arguments_has(arguments, "float") ? KP_EXPORT_FLOAT32 : 0;
  flags |= kp_arguments_has(arguments, "plain") ? KP_EXPORT_PLAIN : 0;
  flags |= kp_arguments_has(arguments, "half") ? KP_EXPORT_HALF : 0;
  kp_text_copy(formats, sizeof formats, to);
  if ((flags & KP_EXPORT_HALF) != 0 && strstr(to, "vdb") == NULL && strstr(to, "usd") == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "--half is for vdb files, of which --to %s makes none", to);
  }
  KP_TRY(
      kp_frame_list_find(arguments->plain.data[0], kp_arguments_get(arguments, "frames"), &frames));
  kp_result result = export_formats(&frames, formats, kp_arguments_get(arguments, "output"), flags);
  kp_frame_list_free(&frames);
  return result;
}

int cmd_export(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_result result = run_export(&arguments);
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
