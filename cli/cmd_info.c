#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/build_info.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/frames.h"
#include "geom/triangle_triangle.h"
#include "io/frame_data.h"
#include "par/kernel.h"
#include "render/video.h"
#include "run/batch.h"
#include "run/record.h"
#include "run/scene_extras.h"

static const kp_option options[] = {
  { "hash", 0, NULL, "print only the hash of the last frame, or of the one named by --frame" },
  { "frame", 0, "N", "which frame to look at; the last when missing" },
  { "crossings", 0, "NAMES",
    "pairs of triangles that cut each other in these meshes, a,b,c, in every frame" },
  { "build", 0, NULL, "what this program was built with" },
  { "schedule", 0, "SCENE", "the stages of a sub-step and who takes part, for a scene" },
};

static const kp_command command = {
  "info",
  "DIR | --build | --schedule SCENE",
  "Tells what a run folder holds. With --hash it prints one number that is equal for two runs\n"
  "exactly when their frames are equal to the last bit.",
  "  kelpie info out/dam_break\n"
  "  kelpie info out/dam_break --hash --frame 20\n"
  "  kelpie info out/cloth_twist --crossings strip\n"
  "  kelpie info --schedule scenes/demo/dam_break.lua",
  options,
  sizeof options / sizeof options[0],
  0,
  1,
};

static void print_build(void) {
  char processor[256];
  kp_machine_text(processor, sizeof processor);
  (void)printf("%-20s %s\n", "kelpie", KP_VERSION_STRING);
  (void)printf("%-20s %s, %s, %s\n", "compiler", KP_BUILD_COMPILER, KP_BUILD_TYPE, KP_BUILD_SYSTEM);
#define X(name, found) (void)printf("%-20s %s\n", name, (found)[0] != '\0' ? (found) : "no");
  KP_BUILD_PARTS(X)
#undef X
  (void)printf("%-20s %s, using %s\n", "processor", processor, kp_isa_name(kp_isa_current()));
  (void)printf("%-20s %s\n", "ffmpeg", kp_video_available(NULL) ? "found" : "not found: no videos");
}

static kp_result print_schedule(const char *path) {
  kp_extras extras;
  kp_scene *scene = NULL;
  kp_world *world = NULL;
  kp_text text = { 0 };
  kp_extras_init(&extras);
  kp_scene_options scene_options = kp_extras_options(&extras, NULL, 0);
  kp_result result;
  KP_TRY_GOTO(result, kp_scene_load(path, &scene_options, &scene), done);
  KP_TRY_GOTO(result, kp_spec_check(kp_scene_spec(scene)), done);
  KP_TRY_GOTO(result, kp_world_create("cpu", &world), done);
  KP_TRY_GOTO(result, kp_world_set_spec(world, kp_scene_spec(scene)), done);
  KP_TRY_GOTO(result, kp_world_build(world), done);
  KP_TRY_GOTO(result, kp_world_schedule(world, &text), done);
  (void)fwrite(text.data, 1, text.count, stdout);
done:
  kp_text_free(&text);
  kp_world_destroy(&world);
  kp_scene_free(&scene);
  return result;
}

static kp_result print_hash(const char *path) {
  kp_container *container;
  KP_TRY(kp_container_open(path, &container));
  (void)printf("%016" PRIx64 "\n", kp_container_hash(container));
  kp_container_close(&container);
  return KP_OK;
}

static void print_fields(const kp_frame_fields *fields) {
  for (size_t i = 0; i < fields->count; ++i) {
    const kp_frame_field *field = &fields->items[i];
    (void)printf("    %-20s %s x %d%s%s\n", field->name, kp_item_name(field->type),
                 field->n_components, field->unit[0] != '\0' ? "  " : "", field->unit);
  }
}

static kp_result print_frame(const char *path) {
  kp_frame *frame;
  KP_TRY(kp_frame_load(path, &frame));
  (void)printf("frame %" PRIu64 ", time %g s:\n", frame->frame, frame->time);
  for (size_t i = 0; i < frame->n_sets; ++i) {
    (void)printf("  set %s: %" PRIu64 "\n", frame->sets[i].name, frame->sets[i].count);
    print_fields(&frame->sets[i].fields);
  }
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    (void)printf("  mesh %s: %" PRIu64 " vertices, %" PRIu64 " triangles\n", frame->meshes[i].name,
                 frame->meshes[i].n_vertices, frame->meshes[i].n_triangles);
  }
  for (size_t i = 0; i < frame->n_curves; ++i) {
    (void)printf("  curves %s: %" PRIu64 "\n", frame->curves[i].name, frame->curves[i].n_curves);
  }
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    const kp_frame_volume *volume = &frame->volumes[i];
    (void)printf("  volume %s: %" PRIu64 " x %" PRIu64 " x %" PRIu64 " cells of %g m\n",
                 volume->name, volume->dims[0], volume->dims[1], volume->dims[2], volume->spacing);
    print_fields(&volume->fields);
  }
  kp_frame_free(&frame);
  return KP_OK;
}

static kp_result print_checkpoints(const kp_run_folder *folder) {
  kp_numbered_list list;
  KP_TRY(kp_run_checkpoints(folder, &list));
  (void)printf("checkpoints ");
  for (size_t i = 0; i < list.count; ++i) {
    (void)printf(" %" PRIu64, list.files[i].number);
  }
  (void)printf("%s\n", list.count == 0 ? " none" : "");
  kp_numbered_free(&list);
  return KP_OK;
}

static kp_result print_record(const kp_run_folder *folder, const kp_frame_list *frames) {
  kp_run_record record;
  KP_TRY(kp_run_record_read(folder, &record));
  uint64_t newest = frames->all.files[frames->all.count - 1].number;
  (void)printf("scene        %s (hash %016" PRIx64 ")\n", record.scene, record.scene_hash);
  (void)printf("made by      kelpie %s, %s, %d threads\n", record.build, record.backend,
               record.threads);
  for (size_t i = 0; i < record.sets.count; ++i) {
    (void)printf("set          %s\n", record.sets.data[i]);
  }
  (void)printf("frames       %zu, newest %" PRIu64 " of %" PRId64 ", %g per second%s\n",
               frames->all.count, newest, record.last_frame, record.fps,
               newest < (uint64_t)record.last_frame ? "; not complete" : "");
  kp_run_record_free(&record);
  return print_checkpoints(folder);
}

// ---- crossings

typedef struct soup_of_frame {
  KP_ARRAY(double) x;
  KP_ARRAY(double) y;
  KP_ARRAY(double) z;
  KP_ARRAY(kp_index) triangles;
} soup_of_frame;

static kp_result add_mesh(soup_of_frame *soup, const kp_frame_mesh *mesh) {
  kp_index first = (kp_index)soup->x.count;
  for (uint64_t v = 0; v < mesh->n_vertices; ++v) {
    KP_TRY(kp_array_push(&soup->x, mesh->vertices[v].x));
    KP_TRY(kp_array_push(&soup->y, mesh->vertices[v].y));
    KP_TRY(kp_array_push(&soup->z, mesh->vertices[v].z));
  }
  for (uint64_t k = 0; k < 3 * mesh->n_triangles; ++k) {
    KP_TRY(kp_array_push(&soup->triangles, first + (kp_index)mesh->triangles[k]));
  }
  return KP_OK;
}

// Whether a list "a,b,c" holds a name.
static bool is_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; at != NULL; at = strchr(at, ',')) {
    at += *at == ',' ? 1 : 0;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
      return true;
    }
  }
  return false;
}

static kp_result count_crossings(const char *path, const char *names) {
  kp_frame *frame;
  KP_TRY(kp_frame_load(path, &frame));
  soup_of_frame all = { 0 };
  kp_intersections found = { 0 };
  kp_result result = KP_OK;
  for (size_t m = 0; m < frame->n_meshes && result == KP_OK; ++m) {
    result = is_listed(names, frame->meshes[m].name) ? add_mesh(&all, &frame->meshes[m]) : KP_OK;
  }
  if (result == KP_OK && all.triangles.count == 0) {
    result = kp_fail(KP_ERROR_ARGUMENT, "--crossings: frame %" PRIu64 " has no mesh of \"%s\"",
                     frame->frame, names);
  }
  if (result == KP_OK) {
    kp_triangle_soup soup = { all.x.data, all.y.data, all.z.data, all.triangles.data,
                              (kp_index)(all.triangles.count / 3) };
    result = kp_soup_count(&soup, &found);
  }
  if (result == KP_OK) {
    (void)printf("frame %" PRIu64 ": %zu triangles, %" PRId64 " crossings\n", frame->frame,
                 all.triangles.count / 3, found.count);
  }
  kp_array_free(&all.x);
  kp_array_free(&all.y);
  kp_array_free(&all.z);
  kp_array_free(&all.triangles);
  kp_frame_free(&frame);
  return result;
}

static kp_result print_crossings(const kp_frame_list *frames, const char *names) {
  char path[KP_PATH_SIZE];
  for (size_t f = frames->begin; f < frames->end; ++f) {
    KP_TRY(kp_frame_list_path(frames, f, path));
    KP_TRY(count_crossings(path, names));
  }
  return KP_OK;
}

static kp_result print_run(const kp_arguments *arguments) {
  kp_frame_list frames;
  char path[KP_PATH_SIZE];
  const char *wanted = kp_arguments_get(arguments, "frame");
  int64_t number;
  if (wanted != NULL) {
    KP_TRY(kp_parse_int("--frame", wanted, 0, INT32_MAX, &number));
  }
  KP_TRY(kp_frame_list_find(arguments->plain.data[0], wanted, &frames));
  kp_result result = kp_frame_list_path(&frames, frames.end - 1, path);
  const char *meshes = kp_arguments_get(arguments, "crossings");
  if (result == KP_OK && meshes != NULL) {
    result = print_crossings(&frames, meshes);
  } else if (result == KP_OK && kp_arguments_has(arguments, "hash")) {
    result = print_hash(path);
  } else if (result == KP_OK) {
    result = print_record(&frames.folder, &frames);
    result = result == KP_OK ? print_frame(path) : result;
  }
  kp_frame_list_free(&frames);
  return result;
}

int cmd_info(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_result result = KP_OK;
  const char *scene = kp_arguments_get(&arguments, "schedule");
  if (kp_arguments_has(&arguments, "build")) {
    print_build();
  } else if (scene != NULL) {
    result = print_schedule(scene);
  } else if (arguments.plain.count == 1) {
    result = print_run(&arguments);
  } else {
    result = kp_fail(KP_ERROR_ARGUMENT, "name a run folder, --build or --schedule SCENE");
  }
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
