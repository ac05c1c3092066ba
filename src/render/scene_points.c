// Sets of particles in a scene.
#include "base/text.h"
#include "render/scene_parts.h"

// Light of one particle of a flame, where no look says more.
#define FLAME_GLOW 0.12

static kp_result get_component(kp_frame_scene *s, const kp_frame_field *field, int c,
                               uint64_t count, const double **out) {
  if (field->type == KP_ITEM_F64) {
    *out = field->data[c];
    return KP_OK;
  }
  double *copy = kp_scene_take(s, count, sizeof *copy);
  if (copy == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_frame_to_double(field, c, copy);
  *out = copy;
  return KP_OK;
}

// Colours and weights that particles bring along, as those of flames.
static kp_result find_colors(kp_frame_scene *s, const kp_frame_set *set, kp_render_points *points) {
  const kp_frame_field *alpha = kp_frame_find_field(&set->fields, "alpha");
  KP_TRY(kp_scene_find_vectors(s, &set->fields, "color", set->count, points->colors));
  if (alpha == NULL) {
    return KP_OK;
  }
  kp_scene_element e = { "set", set->name, &set->fields, NULL, set->count };
  return kp_scene_field_as_scalar(s, &e, alpha, &points->alphas);
}

static bool is_flame(const kp_frame_set *set) {
  return kp_frame_find_field(&set->fields, "color") != NULL &&
         kp_frame_find_field(&set->fields, "alpha") != NULL;
}

kp_result kp_scene_add_set(kp_frame_scene *s, const kp_frame_set *set, const kp_look_def *look,
                           double radius) {
  kp_render_points *points = &s->points[s->scene.n_points++];
  const kp_frame_field *position = kp_frame_find_field(&set->fields, "position");
  if (position == NULL || position->n_components != 3) {
    return kp_fail(KP_ERROR_FORMAT, "set \"%s\" has no positions", set->name);
  }
  points->n = (int64_t)set->count;
  points->positions.stride = 1;
  KP_TRY(get_component(s, position, 0, set->count, &points->positions.x));
  KP_TRY(get_component(s, position, 1, set->count, &points->positions.y));
  KP_TRY(get_component(s, position, 2, set->count, &points->positions.z));
  const kp_frame_field *velocity = kp_frame_find_field(&set->fields, "velocity");
  if (velocity != NULL && velocity->n_components == 3 && velocity->count == set->count) {
    points->velocities.stride = 1;
    KP_TRY(get_component(s, velocity, 0, set->count, &points->velocities.x));
    KP_TRY(get_component(s, velocity, 1, set->count, &points->velocities.y));
    KP_TRY(get_component(s, velocity, 2, set->count, &points->velocities.z));
  }
  if (look != NULL) {
    points->look = *look;
  } else {
    points->look = kp_default_look_def();
    points->look.color = kp_vec3_make(0.22, 0.48, 0.78);
    points->look.color_map = KP_COLORMAP_WATER;
    points->look.gloss = 0.5;
    points->look.glow = is_flame(set) ? FLAME_GLOW : 0.0;
    if (!is_flame(set) && kp_frame_find_field(&set->fields, "velocity") != NULL) {
      kp_text_copy(points->look.color_by, sizeof points->look.color_by, "velocity");
    }
  }
  kp_scene_element e = { "set", set->name, &set->fields, NULL, set->count };
  KP_TRY(kp_scene_find_scalar(s, &e, &points->look, &points->scalar));
  KP_TRY(find_colors(s, set, points));
  const kp_frame_field *radii = kp_frame_find_field(&set->fields, "radius");
  if (radii != NULL) {
    return kp_scene_field_as_scalar(s, &e, radii, &points->radii);
  }
  points->radius = radius > 0.0 ? radius : kp_frame_set_radius(set);
  return KP_OK;
}
