#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/film_clock.h"
#include "cli/frames.h"
#include "cli/simulate.h"
#include "io/disk.h"
#include "io/number.h"
#include "par/backend.h"
#include "par/parallel.h"
#include "render/environment.h"
#include "render/framing.h"
#include "render/scene_from_frame.h"
#include "render/video.h"
#include "run/inputs.h"

#define HAIR_GLOSS 0.6
#define SEEN_FRAMES                                                                                \
  5  // of the run, from the first to the last: the camera frames what moves in them
#define SURFACE_OF "surface of "
#define GRAIN_CLASSES 6  // sets a population of grains may be split into, by powers of two

static const kp_option options[] = {
  { "output", 'o', "DIR", "where to; <run>/images when missing" },
  { "frames", 0, "A:B", "only these frames: A:B, A:, :B or one number" },
  { "size", 0, "WxH", "width and height in pixels, e.g. 1920x1080" },
  { "samples", 0, "N", "passes per picture: 1 is quick, 16 good, 64 for stills" },
  { "preview", 0, NULL, "small and quick: 480x270, one sample" },
  { "camera", 0, "A,E[,Z]", "look from azimuth A and elevation E in degrees, zoom Z" },
  { "color-by", 0, "FIELD", "colour particles by a field such as speed or density" },
  { "range", 0, "A:B", "values at the ends of the colour map; from each frame when missing" },
  { "environment", 0, "FILE", "PNG of what lies around, instead of the scene's" },
  { "set", 's', "KEY=VALUE", "change a value of render or look, e.g. render.exposure=1" },
  { "scene", 0, "FILE", "take render and look from this scene instead of the run's own" },
  { "follow", 0, NULL,
    "wait for frames until the run ends; nobody knows what will move, so the "
    "domain is framed" },
  { "cameras", 0, NULL, "print the camera, lens and sun of every frame as CSV; makes no picture" },
  { "missing", 0, NULL, "keep the pictures that are there and make the others" },
  { "video", 0, NULL, "fail when no video can be made" },
  { "no-video", 0, NULL, "pictures only" },
  { "threads", 'j', "N", "threads to use; all of the machine when missing" },
  { "backend", 0, "NAME", "where rays make the picture: cpu, cuda or mirror" },
};

static const kp_command command = {
  "render",
  "DIR [options]",
  "Makes a picture of each frame of a run, and a video where ffmpeg is found. Cameras and looks\n"
  "come from render { } and look \"name\" { } of the scene and may be changed at will: nothing is\n"
  "simulated again. A run that goes on can be followed; Ctrl-C stops after the picture.",
  "  kelpie render out/dam_break\n"
  "  kelpie render out/dam_break --preview --frames 0:30\n"
  "  kelpie render out/dam_break --follow\n"
  "  kelpie render out/dam_break --frames 60 --size 1920x1080 --samples 64 --color-by density",
  options,
  sizeof options / sizeof options[0],
  1,
  1,
};

typedef struct render_job {
  const kp_arguments *arguments;
  kp_frame_list frames;
  kp_extras extras;
  kp_scene *scene;
  KP_ARRAY(kp_named_look) looks;
  double particle_radius;
  double fps;
  char folder[KP_PATH_SIZE];
  kp_picture picture;
  kp_environment environment;
  kp_aabb seen;         // what moves over the frames at hand; empty: the domain is framed
  kp_backend *backend;  // NULL: as render.method says, on this processor
  bool has_seen_looks;  // that all of them fit something
  bool has_seen_color;  // that the field of --color-by is there
  bool has_picture;     // one was made or kept, the newest of frame last_picture
  uint64_t last_picture;
  kp_video *video;
  char video_path[KP_PATH_SIZE];
  bool is_following;
  uint64_t n_expected;  // pictures in all
  const volatile sig_atomic_t *stop;
  kp_film_clock clock;
} render_job;

// ---- looks

static kp_result add_look(render_job *job, const char *name, const kp_look_def *look) {
  kp_named_look item = { .look = *look };
  kp_text_copy(item.name, sizeof item.name, name);
  return kp_array_push(&job->looks, item);
}

static kp_look_def *find_look(const render_job *job, const char *name) {
  for (size_t i = 0; i < job->looks.count; ++i) {
    if (strcmp(job->looks.data[i].name, name) == 0) {
      return &job->looks.data[i].look;
    }
  }
  return NULL;
}

static kp_look_def plain_look(kp_vec3 color) {
  kp_look_def look = kp_default_look_def();
  // defs hold light as it adds up, looks what an artist picks
  look.color =
      kp_vec3_make((double)kp_srgb_encode((float)color.x), (double)kp_srgb_encode((float)color.y),
                   (double)kp_srgb_encode((float)color.z));
  return look;
}

static bool is_same_color(kp_vec3 a, kp_vec3 b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

// The colour of an entity, unless the scene has a look for it that says another.
static kp_result add_color(render_job *job, const char *name, kp_vec3 color, double gloss) {
  kp_look_def look = plain_look(color), *known = find_look(job, name);
  if (known != NULL && is_same_color(known->color, kp_default_look_def().color)) {
    known->color = look.color;
  }
  look.gloss = gloss;
  return known != NULL ? KP_OK : add_look(job, name, &look);
}

// A population of many sizes is several sets: sand, sand.1, sand.2.
static kp_result add_grain_colors(render_job *job, const kp_grains_def *def, double gloss) {
  for (int k = 0; k < GRAIN_CLASSES; ++k) {
    char name[48];
    (void)snprintf(name, sizeof name, k == 0 ? "%.40s" : "%.36s.%d", def->name, k);
    KP_TRY(add_color(job, name, def->color, gloss));
  }
  return KP_OK;
}

// Entities are drawn in their colours; liquids and colliders of the usual colour are left to the
// renderer, which knows water and walls.
static kp_result add_entity_looks(render_job *job) {
  const kp_spec *spec = kp_scene_spec(job->scene);
  const double gloss = kp_default_look_def().gloss;
  kp_vec3 liquid = kp_default_liquid_def().color, collider = kp_default_collider_def().color;
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    const kp_liquid_def *def = &spec->liquids.data[i];
    if (!is_same_color(def->color, liquid)) {
      KP_TRY(add_color(job, def->name, def->color, gloss));
    }
  }
  for (size_t i = 0; i < spec->colliders.count; ++i) {
    const kp_collider_def *def = &spec->colliders.data[i];
    if (!is_same_color(def->color, collider)) {
      KP_TRY(add_color(job, def->name, def->color, gloss));
    }
  }
  for (size_t i = 0; i < spec->grains.count; ++i) {
    KP_TRY(add_grain_colors(job, &spec->grains.data[i], gloss));
  }
  for (size_t i = 0; i < spec->hairs.count; ++i) {
    KP_TRY(add_color(job, spec->hairs.data[i].name, spec->hairs.data[i].color, HAIR_GLOSS));
  }
  for (size_t i = 0; i < spec->cloths.count; ++i) {
    KP_TRY(add_color(job, spec->cloths.data[i].name, spec->cloths.data[i].color, gloss));
  }
  for (size_t i = 0; i < spec->softs.count; ++i) {
    KP_TRY(add_color(job, spec->softs.data[i].name, spec->softs.data[i].color, gloss));
  }
  for (size_t i = 0; i < spec->bodies.count; ++i) {
    KP_TRY(add_color(job, spec->bodies.data[i].name, spec->bodies.data[i].color, gloss));
  }
  return KP_OK;
}

// A liquid or its surface.
static bool is_of_liquid(const kp_spec *spec, const char *name) {
  bool is_one = strncmp(name, SURFACE_OF, strlen(SURFACE_OF)) == 0;
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    is_one = is_one || strcmp(spec->liquids.data[i].name, name) == 0;
  }
  return is_one;
}

static kp_result color_liquids(render_job *job, const char *field, const char *range) {
  const kp_spec *spec = kp_scene_spec(job->scene);
  double low = 0.0, high = 0.0;
  if (range != NULL) {
    const char *colon = strchr(range, ':');
    if (colon == NULL || !kp_number_parse(range, ":", &low) ||
        !kp_number_parse(colon + 1, "", &high) || !(low < high)) {
      return kp_fail(KP_ERROR_ARGUMENT,
                     "--range must be lowest:highest, the first below the second, not '%s'", range);
    }
  }
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    const char *name = spec->liquids.data[i].name;
    if (find_look(job, name) == NULL) {
      kp_look_def look = kp_default_look_def();
      KP_TRY(add_look(job, name, &look));
    }
  }
  for (size_t k = 0; k < job->looks.count; ++k) {
    if (is_of_liquid(spec, job->looks.data[k].name)) {
      kp_look_def *look = &job->looks.data[k].look;
      kp_text_copy(look->color_by, sizeof look->color_by, field);
      look->range_min = low;
      look->range_max = high;
      look->water = false;
    }
  }
  return KP_OK;
}

static kp_result gather_looks(render_job *job) {
  const char *name;
  const void *look;
  for (size_t i = 0; (look = kp_scene_extra_at(job->scene, KP_EXTRA_LOOK, i, &name)) != NULL; ++i) {
    KP_TRY(add_look(job, name, look));
  }
  // bodies are drawn as meshes; their centres are for exports
  kp_look_def hidden = kp_default_look_def();
  hidden.visible = false;
  if (find_look(job, "bodies") == NULL) {
    KP_TRY(add_look(job, "bodies", &hidden));
  }
  KP_TRY(add_entity_looks(job));
  const char *field = kp_arguments_get(job->arguments, "color-by");
  const char *range = kp_arguments_get(job->arguments, "range");
  if (field == NULL && range != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "--range needs --color-by");
  }
  return field != NULL ? color_liquids(job, field, range) : KP_OK;
}

// Half the spacing when all liquids agree on it; else each set's own is found from its particles.
static double find_radius(const kp_spec *spec) {
  double spacing = spec->liquids.count > 0 ? spec->liquids.data[0].spacing : 0.0;
  for (size_t i = 1; i < spec->liquids.count; ++i) {
    spacing = spec->liquids.data[i].spacing == spacing ? spacing : 0.0;
  }
  return 0.5 * spacing;
}

// ---- options

static kp_result parse_size(const char *text, kp_render_def *still) {
  char *end;
  long width = strtol(text, &end, 10);
  long height = *end == 'x' ? strtol(end + 1, &end, 10) : 0;
  if (*end != '\0' || width < 1 || height < 1 || width > KP_PICTURE_SIZE_LIMIT ||
      height > KP_PICTURE_SIZE_LIMIT) {
    return kp_fail(KP_ERROR_ARGUMENT, "--size must be like 960x540, not '%s'", text);
  }
  still->width = width;
  still->height = height;
  return KP_OK;
}

static kp_result parse_camera(const char *text, kp_film_def *def) {
  double values[3] = { 0.0 };
  const char *at = text;
  int n = 0;
  while (n < 3 && at != NULL && kp_number_parse(at, ",", &values[n])) {
    ++n;
    at = strchr(at, ',');
    at = at != NULL ? at + 1 : NULL;
  }
  if (n < 2 || at != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "--camera must be azimuth,elevation or azimuth,elevation,zoom, not '%s'", text);
  }
  kp_film_set(&def->camera_azimuth_deg, values[0]);
  kp_film_set(&def->camera_elevation_deg, values[1]);
  if (n == 3) {
    kp_film_set(&def->camera_zoom, values[2]);
  }
  // the framing camera, even where the scene places one
  kp_film_set_vector(&def->camera_position, kp_vec3_make(0.0, 0.0, 0.0));
  kp_film_set_vector(&def->camera_target, kp_vec3_make(0.0, 0.0, 0.0));
  return KP_OK;
}

static kp_result apply_options(const kp_arguments *arguments, kp_film_def *def) {
  const char *size = kp_arguments_get(arguments, "size");
  const char *samples = kp_arguments_get(arguments, "samples");
  const char *camera = kp_arguments_get(arguments, "camera");
  if (kp_arguments_has(arguments, "preview")) {
    def->still.width = 480;
    def->still.height = 270;
    def->still.samples = 1;
  }
  if (size != NULL) {
    KP_TRY(parse_size(size, &def->still));
  }
  if (samples != NULL) {
    KP_TRY(kp_parse_int("--samples", samples, 1, 4096, &def->still.samples));
  }
  if (camera != NULL) {
    KP_TRY(parse_camera(camera, def));
  }
  return kp_film_check(def);
}

// A flat world is looked at from the front unless somebody says otherwise.
static void face_flat_world(const kp_scene *scene, kp_film_def *def) {
  kp_film_def standard = kp_default_film_def();
  const kp_curve *azimuth = &def->camera_azimuth_deg, *elevation = &def->camera_elevation_deg;
  bool is_standard = azimuth->n == 0 && elevation->n == 0 &&
                     azimuth->constant[0] == standard.camera_azimuth_deg.constant[0] &&
                     elevation->constant[0] == standard.camera_elevation_deg.constant[0];
  if (kp_scene_spec(scene)->domain.dimension == 2 && is_standard) {
    kp_film_set(&def->camera_azimuth_deg, 0.0);
    kp_film_set(&def->camera_elevation_deg, 0.0);
  }
}

// ---- the scene

static kp_result add_sets(const kp_arguments *arguments, kp_run_record *record) {
  const char **sets = NULL;
  size_t n;
  kp_result result = kp_arguments_all(arguments, "set", &sets, &n);
  for (size_t i = 0; result == KP_OK && i < n; ++i) {
    char *copy = kp_strdup(sets[i], KP_MEMORY_BASE);
    result = copy != NULL ? kp_array_push(&record->sets, copy) : KP_ERROR_MEMORY;
    if (result != KP_OK) {
      kp_free(copy);
    }
  }
  kp_free(sets);
  return result;
}

// Frames up to `last` that are chosen; those that are there when it is -1.
static uint64_t count_expected(const kp_frame_list *frames, int64_t last) {
  if (last < 0) {
    return frames->end - frames->begin;
  }
  const int64_t first = frames->first > 0 ? frames->first : 0;
  last = frames->last >= 0 && frames->last < last ? frames->last : last;
  return last >= first ? (uint64_t)(last - first) + 1 : 0;
}

static kp_result load_scene(render_job *job) {
  const char *other = kp_arguments_get(job->arguments, "scene");
  kp_run_record record;
  KP_TRY(kp_run_record_read(&job->frames.folder, &record));
  job->fps = record.fps;
  job->n_expected = count_expected(&job->frames, job->is_following ? record.last_frame : -1);
  kp_extras_init(&job->extras);
  kp_result result = add_sets(job->arguments, &record);
  if (result == KP_OK && other != NULL) {
    const char *const *sets = (const char *const *)record.sets.data;
    kp_scene_options scene_options = kp_extras_options(&job->extras, sets, record.sets.count);
    result = kp_scene_load(other, &scene_options, &job->scene);
  } else if (result == KP_OK) {
    result = kp_inputs_load(&job->frames.folder, &record, &job->extras, &job->scene);
  }
  kp_run_record_free(&record);
  return result;
}

// ---- pictures

static kp_result picture_path(const render_job *job, uint64_t number, char out[KP_PATH_SIZE]) {
  char name[64];
  (void)snprintf(name, sizeof name, "frame_%06llu.png", (unsigned long long)number);
  return kp_path_join(out, KP_PATH_SIZE, job->folder, name);
}

// A picture that is there already goes into the video as it is, if it has the size.
static kp_result keep_picture(render_job *job, uint64_t number, bool *is_kept) {
  char path[KP_PATH_SIZE];
  kp_image image;
  *is_kept = false;
  KP_TRY(picture_path(job, number, path));
  if (!kp_arguments_has(job->arguments, "missing") || !kp_file_exists(path) ||
      kp_png_read(path, &image) != KP_OK) {
    return KP_OK;
  }
  kp_result result = KP_OK;
  const kp_render_def *def = &job->extras.render.still;
  *is_kept = image.width == (int)def->width && image.height == (int)def->height;
  if (*is_kept && job->video != NULL && *job->stop == 0) {
    result = kp_video_add(job->video, &image);
  }
  kp_image_free(&image);
  return result;
}

static kp_result save_picture(render_job *job, const kp_render_def *def, uint64_t number) {
  char path[KP_PATH_SIZE];
  kp_image image;
  KP_TRY(picture_path(job, number, path));
  KP_TRY(kp_picture_encode(&job->picture, def->exposure, def->transparent, &image));
  kp_result result = kp_png_write(path, &image);
  // Ctrl-C reaches ffmpeg as well, which then takes no more
  if (result == KP_OK && job->video != NULL && *job->stop == 0) {
    result = kp_video_add(job->video, &image);
  }
  kp_image_free(&image);
  return result;
}

static bool is_in_frame(const kp_frame *frame, const char *name) {
  bool is_there = false;
  for (size_t i = 0; i < frame->n_sets; ++i) {
    is_there = is_there || strcmp(frame->sets[i].name, name) == 0;
  }
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    is_there = is_there || strcmp(frame->meshes[i].name, name) == 0;
  }
  for (size_t i = 0; i < frame->n_curves; ++i) {
    is_there = is_there || strcmp(frame->curves[i].name, name) == 0;
  }
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    is_there = is_there || strcmp(frame->volumes[i].name, name) == 0;
  }
  return is_there;
}

// Whether the scene has something of this name: what is not in this frame may come later.
static bool is_in_scene(const kp_spec *spec, const char *name) {
  bool is_there = false;
#define X(word, plural)                                                                            \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    is_there = is_there || strcmp(spec->plural.data[i].name, name) == 0;                           \
  }
  KP_SPEC_ENTITIES(X)
#undef X
  return is_there;
}

// With the first picture: a look of a misspelt name draws nothing.
static void warn_of_idle_looks(render_job *job, const kp_frame *frame) {
  const char *name;
  for (size_t i = 0; kp_scene_extra_at(job->scene, KP_EXTRA_LOOK, i, &name) != NULL; ++i) {
    if (!is_in_frame(frame, name) && !is_in_scene(kp_scene_spec(job->scene), name)) {
      kp_log(KP_LOG_WARN, "render", "look \"%s\": there is nothing of this name to draw", name);
    }
  }
  job->has_seen_looks = true;
}

typedef KP_ARRAY(const char *) word_list;

static kp_result list_fields(const kp_frame_fields *fields, word_list *words) {
  for (size_t f = 0; f < fields->count; ++f) {
    KP_TRY(kp_array_push(words, (const char *)fields->items[f].name));
  }
  return KP_OK;
}

// The fields of all that is named after a liquid: its particles, surface and cells.
static kp_result list_liquid_fields(const kp_frame *frame, const char *liquid, word_list *words) {
  for (size_t i = 0; i < frame->n_sets; ++i) {
    if (strstr(frame->sets[i].name, liquid) != NULL) {
      KP_TRY(list_fields(&frame->sets[i].fields, words));
    }
  }
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    if (strstr(frame->meshes[i].name, liquid) != NULL) {
      KP_TRY(list_fields(&frame->meshes[i].fields, words));
    }
  }
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    if (strstr(frame->volumes[i].name, liquid) != NULL) {
      KP_TRY(list_fields(&frame->volumes[i].fields, words));
    }
  }
  return KP_OK;
}

static kp_result judge_color_field(render_job *job, const char *name, const word_list *words) {
  bool is_speed = strcmp(name, "speed") == 0 || strcmp(name, "velocity") == 0;
  for (size_t i = 0; i < words->count; ++i) {
    job->has_seen_color = job->has_seen_color || is_speed || strcmp(words->data[i], name) == 0;
  }
  if (job->has_seen_color || words->count == 0) {
    return KP_OK;  // or nobody knows yet
  }
  const char *nearest = kp_text_nearest(name, words->data, words->count);
  return kp_fail(
      KP_ERROR_ARGUMENT,
      "--color-by: liquids have no field \"%s\"%s%s%s; kelpie info %s lists their fields", name,
      nearest != NULL ? ", did you mean \"" : "", nearest != NULL ? nearest : "",
      nearest != NULL ? "\"?" : "", job->frames.folder.path);
}

static kp_result check_color_field(render_job *job, const kp_frame *frame) {
  const char *name = kp_arguments_get(job->arguments, "color-by");
  const kp_spec *spec = kp_scene_spec(job->scene);
  if (name == NULL || job->has_seen_color) {
    return KP_OK;
  }
  if (spec->liquids.count == 0) {
    return kp_fail(KP_ERROR_ARGUMENT, "--color-by colours liquids, of which the scene has none");
  }
  word_list words = { 0 };
  kp_result result = KP_OK;
  for (size_t l = 0; l < spec->liquids.count && result == KP_OK; ++l) {
    result = list_liquid_fields(frame, spec->liquids.data[l].name, &words);
  }
  if (result == KP_OK) {
    result = judge_color_field(job, name, &words);
  }
  kp_array_free(&words);
  return result;
}

// In a film the picture before stands in for a frame that cannot be read, so that it keeps time.
static kp_result hold_picture(render_job *job) {
  char path[KP_PATH_SIZE];
  kp_image image;
  if (!job->has_picture || job->video == NULL || *job->stop != 0) {
    return KP_OK;
  }
  KP_TRY(picture_path(job, job->last_picture, path));
  KP_TRY(kp_png_read(path, &image));
  kp_result result = kp_video_add(job->video, &image);
  kp_image_free(&image);
  return result;
}

static void note_picture(render_job *job, uint64_t number) {
  job->has_picture = true;
  job->last_picture = number;
}

static kp_result draw_frame(render_job *job, const kp_render_def *def, const kp_frame *frame) {
  kp_frame_scene *scene = NULL;
  kp_result result =
      kp_frame_scene_create(frame, job->looks.data, job->looks.count, job->particle_radius, &scene);
  if (result == KP_OK) {
    kp_render_scene drawn = *kp_frame_scene_get(scene);
    drawn.environment = job->environment.texels != NULL ? &job->environment : NULL;
    drawn.interval = job->fps > 0.0 ? 1.0 / job->fps : 0.0;
    drawn.backend = job->backend;
    drawn.seen = job->seen;
    result = kp_render_frame(&drawn, def, &job->picture);
  }
  kp_frame_scene_destroy(&scene);
  return result;
}

static kp_result render_one(render_job *job, size_t index) {
  const uint64_t number = job->frames.all.files[index].number;
  kp_frame *frame = NULL;
  bool is_kept;
  KP_TRY(keep_picture(job, number, &is_kept));
  if (is_kept) {
    note_picture(job, number);
    return KP_OK;
  }
  KP_TRY(kp_frame_list_load(&job->frames, index, &frame));
  if (frame == NULL) {
    return hold_picture(job);
  }
  if (!job->has_seen_looks) {
    warn_of_idle_looks(job, frame);
  }
  kp_result result = check_color_field(job, frame);
  const kp_render_def def = kp_film_at(&job->extras.render, frame->time);
  if (result == KP_OK) {
    result = draw_frame(job, &def, frame);
  }
  if (result == KP_OK) {
    result = save_picture(job, &def, frame->frame);
  }
  if (result == KP_OK) {
    note_picture(job, number);
  }
  kp_frame_free(&frame);
  return result;
}

// A frame that cannot be read is told when it is to be drawn.
static kp_result add_to_framing(render_job *job, size_t index, kp_framing *framing) {
  char path[KP_PATH_SIZE];
  kp_frame *frame = NULL;
  kp_frame_scene *scene = NULL;
  KP_TRY(kp_frame_list_path(&job->frames, index, path));
  kp_result result = kp_frame_load(path, &frame);
  if (result == KP_ERROR_FORMAT || result == KP_ERROR_IO) {
    return KP_OK;
  }
  KP_TRY(result);
  result = check_color_field(job, frame);
  if (result == KP_OK) {
    result = kp_frame_scene_create(frame, job->looks.data, job->looks.count, job->particle_radius,
                                   &scene);
  }
  if (result == KP_OK) {
    result = kp_framing_add(framing, frame, kp_frame_scene_get(scene));
  }
  kp_frame_scene_destroy(&scene);
  kp_frame_free(&frame);
  return result;
}

// Whether any picture has a camera that frames what moves.
static bool frames_motion(const render_job *job) {
  const kp_film_def *film = &job->extras.render;
  const kp_render_def first = kp_film_at(film, 0.0);
  bool is_placed =
      film->camera_position.n > 0 || film->camera_target.n > 0 || kp_render_is_placed(&first);
  return !is_placed && film->still.camera_frame == KP_FRAME_MOTION;
}

// What moves in a few frames of the run, whichever are drawn: a single picture has the camera of
// the film. Frames of a run that goes on are not known yet, so its domain is framed.
static kp_result find_seen(render_job *job) {
  job->seen = kp_aabb_empty();
  if (job->is_following || !frames_motion(job)) {
    return KP_OK;
  }
  const size_t n = job->frames.all.count, few = n < SEEN_FRAMES ? n : SEEN_FRAMES;
  kp_framing framing = { 0 };
  kp_result result = KP_OK;
  for (size_t k = 0; result == KP_OK && k < few; ++k) {
    result = add_to_framing(job, few > 1 ? k * (n - 1) / (few - 1) : 0, &framing);
  }
  job->seen = kp_framing_box(&framing);
  kp_framing_free(&framing);
  return result;
}

static void print_numbers(const double *values, int n) {
  char number[KP_NUMBER_SIZE];
  for (int i = 0; i < n; ++i) {
    kp_number_format(number, values[i]);
    (void)printf(",%s", number);
  }
}

static void print_camera(const render_job *job, const kp_render_scene *scene, uint64_t number) {
  const double time = job->fps > 0.0 ? (double)number / job->fps : 0.0;
  const kp_render_def def = kp_film_at(&job->extras.render, time);
  const kp_camera camera = kp_render_get_camera(scene, &def);
  const kp_vec3 sun = kp_render_get_sun(&camera, &def), at = camera.position, to = camera.target;
  const double distance = kp_vec3_length(kp_vec3_sub(to, at));
  const double values[] = { at.x,
                            at.y,
                            at.z,
                            to.x,
                            to.y,
                            to.z,
                            def.camera_fov_deg,
                            def.aperture,
                            def.focus > 0.0 ? def.focus : distance,
                            sun.x,
                            sun.y,
                            sun.z,
                            def.sun_strength,
                            def.sky_strength,
                            def.exposure };
  (void)printf("%llu", (unsigned long long)number);
  print_numbers(values, sizeof values / sizeof values[0]);
  (void)printf("\n");
}

// For other programs that shall see a run as its pictures do.
static kp_result print_cameras(render_job *job) {
  kp_frame *frame = NULL;
  for (size_t i = job->frames.begin; i < job->frames.end && frame == NULL; ++i) {
    KP_TRY(kp_frame_list_load(&job->frames, i, &frame));
  }
  if (frame == NULL) {
    return kp_frame_list_report(&job->frames, KP_OK);
  }
  kp_render_scene scene = { .bounds = frame->domain,
                            .seen = job->seen,
                            .up = frame->up_axis == 2 ? KP_UP_Z : KP_UP_Y };
  (void)printf("frame,x,y,z,target_x,target_y,target_z,fov_deg,aperture,focus,sun_x,sun_y,sun_z,"
               "sun_strength,sky_strength,exposure\n");
  for (size_t i = job->frames.begin; i < job->frames.end; ++i) {
    print_camera(job, &scene, job->frames.all.files[i].number);
  }
  kp_frame_free(&frame);
  return KP_OK;
}

static kp_result open_video(render_job *job) {
  const kp_arguments *arguments = job->arguments;
  bool wants = kp_arguments_has(arguments, "video");
  bool is_possible = kp_video_available(NULL) && job->n_expected > 1;
  if (kp_arguments_has(arguments, "no-video") || (!wants && !is_possible)) {
    return KP_OK;
  }
  // a film that is not at its end has another name
  KP_TRY(kp_path_join(job->video_path, sizeof job->video_path, job->folder, "video.part.mp4"));
  kp_video_def def = kp_default_video_def();
  def.path = job->video_path;
  def.fps = job->fps > 0.0 ? job->fps : def.fps;
  def.width = (int)job->extras.render.still.width;
  def.height = (int)job->extras.render.still.height;
  return kp_video_open(&def, &job->video);
}

static kp_result close_video(render_job *job, kp_result result) {
  char path[KP_PATH_SIZE], sentence[1024];
  // the sentence of an earlier failure is worth more than ffmpeg's
  kp_text_copy(sentence, sizeof sentence, kp_last_error());
  kp_result closed = kp_video_close(&job->video);
  if (result == KP_OK && closed == KP_OK) {
    KP_TRY(kp_path_join(path, sizeof path, job->folder, "video.mp4"));
    return kp_disk_rename(job->video_path, path)
               ? KP_OK
               : kp_fail(KP_ERROR_IO, "%s could not be made: %s", path, strerror(errno));
  }
  kp_disk_clean(job->video_path);
  return result != KP_OK ? kp_fail(result, "%s", sentence) : closed;
}

// True while there is a picture to be made; waits for the next frame of a run that goes on.
static kp_result find_next(render_job *job, size_t index, bool *is_there) {
  *is_there = index < job->frames.end && *job->stop == 0;
  return job->is_following && index >= job->frames.end
             ? kp_frame_list_wait(&job->frames, index, job->stop, is_there)
             : KP_OK;
}

static kp_result render_all(render_job *job) {
  KP_TRY(open_video(job));
  bool has_video = job->video != NULL, is_there = true;
  size_t n = 0;
  kp_film_begin(&job->clock, job->n_expected);
  kp_result result = find_next(job, job->frames.begin, &is_there);
  while (result == KP_OK && is_there) {
    result = render_one(job, job->frames.begin + n);
    if (result == KP_OK) {
      kp_film_tell(&job->clock, ++n);
      result = find_next(job, job->frames.begin + n, &is_there);
    }
  }
  kp_film_end(&job->clock);
  if (result == KP_OK && *job->stop != 0) {
    result = kp_fail(KP_STOPPED, "stopped after picture %zu of %llu", n,
                     (unsigned long long)job->n_expected);
  }
  if (!job->has_picture) {
    result = kp_frame_list_report(&job->frames, result);
  }
  if (has_video) {
    result = close_video(job, result);
  }
  if (result == KP_OK) {
    (void)printf("pictures%s in %s\n", has_video ? " and video.mp4" : "", job->folder);
  }
  return kp_frame_list_report(&job->frames, result);
}

// The map of the command line, else the one in the scene's folder.
static kp_result load_environment(render_job *job) {
  const char *file = job->extras.render.still.environment;
  const char *wanted = kp_arguments_get(job->arguments, "environment");
  if (wanted != NULL) {
    return kp_environment_load(wanted, &job->environment);
  }
  char path[KP_PATH_SIZE];
  KP_TRY(kp_path_join(path, sizeof path, kp_scene_folder(job->scene), file));
  return file[0] != '\0' ? kp_environment_load(path, &job->environment) : KP_OK;
}

static kp_result open_backend(render_job *job) {
  const char *name = kp_arguments_get(job->arguments, "backend");
  kp_backend_kind kind = KP_BACKEND_CPU;
  if (name == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_backend_parse(name, &kind));
  return kind != KP_BACKEND_CPU ? kp_backend_create(kind, &job->backend) : KP_OK;
}

static kp_result set_up(render_job *job) {
  const char *wanted = kp_arguments_get(job->arguments, "output");
  const char *threads = kp_arguments_get(job->arguments, "threads");
  if (threads != NULL) {
    int64_t n;
    KP_TRY(kp_parse_int("--threads", threads, 1, 4096, &n));
    kp_parallel_set_threads((int)n);
  }
  KP_TRY(open_backend(job));
  KP_TRY(load_scene(job));
  face_flat_world(job->scene, &job->extras.render);
  KP_TRY(apply_options(job->arguments, &job->extras.render));
  KP_TRY(gather_looks(job));
  KP_TRY(load_environment(job));
  job->particle_radius = find_radius(kp_scene_spec(job->scene));
  if (wanted != NULL) {
    kp_text_copy(job->folder, sizeof job->folder, wanted);
  } else {
    KP_TRY(kp_run_path(&job->frames.folder, job->folder, "images"));
  }
  return kp_arguments_has(job->arguments, "cameras") ? KP_OK : kp_folder_make(job->folder);
}

int cmd_render(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  render_job job = { .arguments = &arguments,
                     .is_following = kp_arguments_has(&arguments, "follow") };
  job.stop = kp_cli_catch_stop();
  const char *chosen = kp_arguments_get(&arguments, "frames"), *path = arguments.plain.data[0];
  kp_result result = job.is_following ? kp_frame_list_follow(path, chosen, &job.frames)
                                      : kp_frame_list_find(path, chosen, &job.frames);
  if (result == KP_OK) {
    result = set_up(&job);
  }
  if (result == KP_OK) {
    result = find_seen(&job);
  }
  if (result == KP_OK) {
    result = kp_arguments_has(&arguments, "cameras") ? print_cameras(&job) : render_all(&job);
  }
  kp_picture_free(&job.picture);
  kp_environment_free(&job.environment);
  kp_backend_destroy(&job.backend);
  kp_array_free(&job.looks);
  kp_scene_free(&job.scene);
  kp_frame_list_free(&job.frames);
  status = kp_cli_report(result);
  kp_arguments_free(&arguments);
  return status;
}
