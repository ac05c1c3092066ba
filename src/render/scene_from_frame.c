// Which look everything of a frame has in a scene, and the life of that scene.
#include "render/scene_from_frame.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "render/scene_parts.h"

// Spray: how white it is, of clear water and of what has a colour, and how much a drop covers.
#define SPRAY_WHITE 0.94
#define SPRAY_TINGED 0.25
#define SPRAY_OPACITY 0.7

typedef struct look_list {
  const kp_named_look *looks;
  size_t n;
} look_list;

static const kp_look_def *find_look(const look_list *list, const char *name) {
  const kp_look_def *all = NULL;
  for (size_t i = 0; i < list->n; ++i) {
    const kp_named_look *named = &list->looks[i];
    if (strcmp(named->name, name) == 0) {
      return &named->look;
    }
    all = strcmp(named->name, "*") == 0 ? &named->look : all;
  }
  return all;
}

// The look of the first of them.
static const kp_look_def *find_liquid_look(const look_list *looks, const kp_frame_mesh *mesh) {
  char first[KP_SECTION_NAME_SIZE] = "";
  if (kp_frame_is_surface(mesh)) {
    kp_text_copy(first, sizeof first, mesh->name + strlen(KP_SURFACE_OF));
    char *end = strstr(first, KP_SURFACE_AND);
    if (end != NULL) {
      *end = '\0';
    }
  }
  return find_look(looks, first);
}

// Whether drops of "a and b" are in a frame: all that is left of a liquid may be spray.
static bool has_spray(const kp_frame *frame, const char *names) {
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    if (kp_frame_is_spray(set) && strcmp(set->name + strlen(KP_SPRAY_OF), names) == 0) {
      return set->count > 0;
    }
  }
  return false;
}

// A liquid whose surface is drawn is not drawn as particles as well.
static bool has_surface(const kp_frame_scene *s, const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    if (kp_frame_is_surface_of(mesh, name)) {
      bool is_there = mesh->n_triangles > 0 || has_spray(frame, mesh->name + strlen(KP_SURFACE_OF));
      return s->meshes[i].look.visible && is_there;
    }
  }
  return false;
}

// Drops take after the surface they came from: of clear water each mirrors and bends all of the sky
// and is nearly white, whatever the water is coloured by in bulk.
static kp_look_def find_spray_look(const kp_look_def *surface) {
  kp_look_def look = kp_default_look_def();
  double white = surface->water ? SPRAY_WHITE : SPRAY_TINGED;
  kp_vec3 rest = kp_vec3_scale(surface->color, 1.0 - white);
  look.color = kp_vec3_add(kp_vec3_make(white, white, white), rest);
  look.sprite = KP_SPRITE_OVER;
  look.texture = KP_TEXTURE_SOFT;
  look.opacity = SPRAY_OPACITY;
  look.visible = surface->visible;
  return look;
}

// The surface that a set is the spray of; NULL: it is no spray.
static const kp_look_def *find_sprayed(const kp_frame_scene *s, const kp_frame *frame,
                                       const kp_frame_set *set) {
  for (size_t i = 0; i < frame->n_meshes && kp_frame_is_spray(set); ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    if (kp_frame_is_surface(mesh) &&
        strcmp(mesh->name + strlen(KP_SURFACE_OF), set->name + strlen(KP_SPRAY_OF)) == 0) {
      return &s->meshes[i].look;
    }
  }
  return NULL;
}

static kp_result add_meshes(kp_frame_scene *s, const kp_frame *frame, const look_list *looks) {
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    const kp_frame_mesh *mesh = &frame->meshes[i];
    if (kp_frame_is_yarn(frame, mesh)) {
      kp_render_mesh *none = &s->meshes[s->scene.n_meshes++];
      none->look = kp_default_look_def();
      none->look.visible = false;
      continue;
    }
    KP_TRY(kp_scene_add_mesh(s, frame, mesh, find_look(looks, mesh->name),
                             find_liquid_look(looks, mesh)));
  }
  return KP_OK;
}

// After the meshes: what has a surface is not drawn as particles, and spray takes after it.
static kp_result add_sets(kp_frame_scene *s, const kp_frame *frame, const look_list *looks,
                          double radius) {
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    const kp_look_def *look = find_look(looks, set->name);
    const kp_look_def *sprayed = find_sprayed(s, frame, set);
    kp_look_def spray;
    if (sprayed != NULL && (look == NULL || look == find_look(looks, ""))) {
      spray = find_spray_look(sprayed);
      look = &spray;
    }
    KP_TRY(kp_scene_add_set(s, set, look, radius));
    if (has_surface(s, frame, set->name)) {
      s->points[i].look.visible = false;
    }
  }
  return KP_OK;
}

static kp_result make_room(kp_frame_scene *s, const kp_frame *frame) {
  s->points = kp_scene_take(s, frame->n_sets, sizeof *s->points);
  s->meshes = kp_scene_take(s, frame->n_meshes, sizeof *s->meshes);
  s->lines = kp_scene_take(s, frame->n_curves, sizeof *s->lines);
  s->volumes = kp_scene_take(s, frame->n_volumes, sizeof *s->volumes);
  s->scene = (kp_render_scene){ .points = s->points,
                                .meshes = s->meshes,
                                .lines = s->lines,
                                .volumes = s->volumes,
                                .bounds = frame->domain,
                                .up = frame->up_axis == 2 ? KP_UP_Z : KP_UP_Y };
  bool is_there = s->points != NULL && s->meshes != NULL && s->lines != NULL && s->volumes != NULL;
  return is_there ? KP_OK : KP_ERROR_MEMORY;
}

static kp_result fill_scene(kp_frame_scene *s, const kp_frame *frame, const look_list *looks,
                            double radius) {
  KP_TRY(make_room(s, frame));
  KP_TRY(add_meshes(s, frame, looks));
  KP_TRY(add_sets(s, frame, looks, radius));
  double size = kp_vec3_length(kp_vec3_sub(frame->domain.max, frame->domain.min));
  for (size_t i = 0; i < frame->n_curves; ++i) {
    const kp_frame_curves *curves = &frame->curves[i];
    KP_TRY(kp_scene_add_curves(s, curves, find_look(looks, curves->name),
                               isfinite(size) && size > 0.0 ? size : 1.0));
  }
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    const kp_frame_volume *volume = &frame->volumes[i];
    KP_TRY(kp_scene_add_volume(s, volume, find_look(looks, volume->name)));
  }
  return KP_OK;
}

kp_result kp_frame_scene_create(const kp_frame *frame, const kp_named_look *looks, size_t n_looks,
                                double particle_radius, kp_frame_scene **out) {
  *out = NULL;
  kp_frame_scene *s = kp_alloc_zero(sizeof *s, KP_MEMORY_RENDER);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  const look_list list = { looks, n_looks };
  kp_result result = fill_scene(s, frame, &list, particle_radius);
  if (result != KP_OK) {
    kp_frame_scene_destroy(&s);
    return result;
  }
  *out = s;
  return KP_OK;
}

const kp_render_scene *kp_frame_scene_get(const kp_frame_scene *scene) {
  return &scene->scene;
}

void kp_frame_scene_destroy(kp_frame_scene **scene) {
  kp_frame_scene *s = *scene;
  if (s == NULL) {
    return;
  }
  for (size_t i = 0; i < s->blocks.count; ++i) {
    kp_free(s->blocks.data[i]);
  }
  kp_array_free(&s->blocks);
  kp_free(s);
  *scene = NULL;
}
