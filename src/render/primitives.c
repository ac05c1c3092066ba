// The scene as flat lists: all sets of a kind behind each other, so that binning and covering have
// one loop per kind however many sets there are.
#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"

// Width in pixels that strokes have at least for the eye, so that a single hair is seen as a faint
// line however thin it is; the sun sees it as it is.
#define LEAST_STROKE 0.35f
#define CHUNK 8192

static void *take(int64_t count, size_t element, bool *ok) {
  void *memory = kp_alloc_zero((size_t)(count > 0 ? count : 1) * element, KP_MEMORY_RENDER);
  *ok = *ok && memory != NULL;
  return memory;
}

// For what is written as a whole before it is read.
static void *take_raw(int64_t count, size_t element, bool *ok) {
  void *memory = kp_alloc((size_t)(count > 0 ? count : 1) * element, KP_MEMORY_RENDER);
  *ok = *ok && memory != NULL;
  return memory;
}

kp_rgb kp_material_color(const kp_material *material, float scalar) {
  float t = (scalar - material->scalar_min) * material->scalar_scale;
  if (isnan(t)) {
    return kp_colormap_eval(KP_COLORMAP_VIRIDIS, NAN);
  }
  t = kp_clampf(t, 0.0f, 1.0f) * (float)(KP_COLOR_STEPS - 1);
  int i = (int)t;
  i = i > KP_COLOR_STEPS - 2 ? KP_COLOR_STEPS - 2 : i;
  return kp_rgb_mix(material->steps[i], material->steps[i + 1], t - (float)i);
}

static kp_rgb decode(kp_vec3 srgb) {
  return kp_rgb_make(kp_srgb_decode((float)srgb.x), kp_srgb_decode((float)srgb.y),
                     kp_srgb_decode((float)srgb.z));
}

static void set_material(kp_material *material, const kp_look_def *look, const float *scalar,
                         int64_t n) {
  material->scalar = scalar;
  material->color = decode(look->color);
  material->opacity = (float)kp_look_opacity(look);
  material->gloss = (float)look->gloss;
  material->smooth = (float)look->smooth;
  material->is_blinn_phong = look->shading == KP_SHADING_BLINN_PHONG;
  material->specular = (float)look->specular;
  material->shininess = (float)look->shininess;
  if (scalar == NULL) {
    return;
  }
  double low = look->range_min, high = look->range_max;
  if (!(high != low)) {
    low = HUGE_VAL;
    high = -HUGE_VAL;
    for (int64_t i = 0; i < n; ++i) {
      low = scalar[i] < low ? (double)scalar[i] : low;
      high = scalar[i] > high ? (double)scalar[i] : high;
    }
  }
  material->scalar_min = isfinite(low) ? (float)low : 0.0f;
  material->scalar_scale = isfinite(high - low) && high != low ? (float)(1.0 / (high - low)) : 1.0f;
  for (int i = 0; i < KP_COLOR_STEPS; ++i) {
    double t = (double)i / (KP_COLOR_STEPS - 1);
    material->steps[i] = look->color_map == KP_COLORMAP_TWO
                             ? kp_rgb_mix(material->color, decode(look->color_end), (float)t)
                             : kp_colormap_eval((kp_colormap)look->color_map, t);
  }
}

static kp_result create_materials(kp_pass *pass) {
  const kp_render_scene *s = pass->scene;
  pass->n_materials = KP_MATERIAL_FIRST + s->n_points + s->n_meshes + s->n_lines;
  bool ok = true;
  pass->materials = take(pass->n_materials, sizeof(kp_material), &ok);
  if (!ok) {
    return KP_ERROR_MEMORY;
  }
  pass->materials[KP_MATERIAL_GROUND].opacity = 1.0f;
  kp_material *next = pass->materials + KP_MATERIAL_FIRST;
  for (int k = 0; k < s->n_points; ++k, ++next) {
    set_material(next, &s->points[k].look, s->points[k].scalar, s->points[k].n);
    double radius = s->points[k].radius;
    if (s->points[k].radii != NULL && s->points[k].n > 0) {
      radius = (double)s->points[k].radii[0];
    }
    next->radius = (float)(radius * s->points[k].look.radius_scale);
  }
  kp_vec3 size = kp_vec3_sub(pass->bounds.max, pass->bounds.min);
  for (int k = 0; k < s->n_meshes; ++k, ++next) {
    const kp_look_def *look = &s->meshes[k].look;
    set_material(next, look, s->meshes[k].scalar, s->meshes[k].n_vertices);
    next->is_two_sided = look->two_sided;
    next->back = decode(look->color_back);
    if (kp_look_is_clear(look)) {
      kp_trace_set_clear(next, &s->meshes[k], kp_vec3_length(size));
    }
    next->line_width = look->wireframe ? (float)look->line_width : 0.0f;
  }
  for (int k = 0; k < s->n_lines; ++k, ++next) {
    const kp_render_lines *lines = &s->lines[k];
    set_material(next, &lines->look, lines->scalar, (int64_t)lines->first[lines->n_lines]);
  }
  return KP_OK;
}

static void count_primitives(const kp_render_scene *s, kp_primitives *p) {
  for (int k = 0; k < s->n_points; ++k) {
    p->ball_offsets[k] = p->n_balls;
    p->n_balls += s->points[k].look.visible ? s->points[k].n : 0;
    const kp_look_def *look = &s->points[k].look;
    p->has_sprites = p->has_sprites || (look->visible && kp_look_is_sprite(look));
    p->has_puffs = p->has_puffs || (look->visible && kp_look_sprite(look) == KP_SPRITE_OVER);
  }
  p->ball_offsets[s->n_points] = p->n_balls;
  for (int k = 0; k < s->n_meshes; ++k) {
    const kp_render_mesh *mesh = &s->meshes[k];
    p->vertex_offsets[k] = p->n_vertices;
    p->triangle_offsets[k] = p->n_triangles;
    p->n_vertices += mesh->look.visible ? mesh->n_vertices : 0;
    p->n_triangles += mesh->look.visible ? mesh->n_triangles : 0;
    p->has_clear = p->has_clear || (mesh->look.visible && kp_look_opacity(&mesh->look) < 1.0);
  }
  p->vertex_offsets[s->n_meshes] = p->n_vertices;
  p->triangle_offsets[s->n_meshes] = p->n_triangles;
  for (int k = 0; k < s->n_lines; ++k) {
    const kp_render_lines *lines = &s->lines[k];
    p->line_offsets[k] = p->n_line_vertices;
    if (lines->look.visible) {
      p->n_line_vertices += (int64_t)lines->first[lines->n_lines];
      for (int64_t line = 0; line < lines->n_lines; ++line) {
        int64_t n = (int64_t)(lines->first[line + 1] - lines->first[line]);
        p->n_segments += n > 1 ? n - 1 : 0;
      }
    }
  }
  p->line_offsets[s->n_lines] = p->n_line_vertices;
}

static void list_segments(const kp_render_scene *s, kp_primitives *p) {
  int64_t next = 0;
  uint32_t line_number = 0;
  for (int k = 0; k < s->n_lines; ++k) {
    const kp_render_lines *lines = &s->lines[k];
    for (int64_t line = 0; lines->look.visible && line < lines->n_lines; ++line, ++line_number) {
      for (uint64_t v = lines->first[line]; v + 1 < lines->first[line + 1]; ++v) {
        kp_segment *segment = &p->segments[next++];
        segment->vertex = (uint32_t)((uint64_t)p->line_offsets[k] + v);
        segment->line = line_number;
        segment->set = (uint32_t)k;
      }
    }
  }
}

static kp_vec3 position_at(const kp_render_positions *positions, int64_t i) {
  int64_t j = i * positions->stride;
  return kp_vec3_make(positions->x[j], positions->y[j], positions->z[j]);
}

// Area-weighted vertex normals; each corner adds the cross product of two edges.
static void make_normals(const kp_render_mesh *mesh, kp_f3 *normals) {
  for (int64_t t = 0; t < mesh->n_triangles; ++t) {
    const uint32_t *v = mesh->triangles + 3 * t;
    kp_vec3 a = position_at(&mesh->positions, v[0]);
    kp_vec3 ab = kp_vec3_sub(position_at(&mesh->positions, v[1]), a);
    kp_vec3 ac = kp_vec3_sub(position_at(&mesh->positions, v[2]), a);
    kp_vec3 n = kp_vec3_cross(ab, ac);
    for (int corner = 0; corner < 3; ++corner) {
      kp_f3 *sum = &normals[v[corner]];
      *sum = kp_f3_add(*sum, kp_f3_make((float)n.x, (float)n.y, (float)n.z));
    }
  }
}

static void list_meshes(const kp_render_scene *s, kp_primitives *p) {
  for (int k = 0; k < s->n_meshes; ++k) {
    const kp_render_mesh *mesh = &s->meshes[k];
    if (!mesh->look.visible) {
      continue;
    }
    uint32_t *triangles = p->triangles + 3 * p->triangle_offsets[k];
    for (int64_t i = 0; i < 3 * mesh->n_triangles; ++i) {
      triangles[i] = mesh->triangles[i] + (uint32_t)p->vertex_offsets[k];
    }
    kp_f3 *normals = p->normals + p->vertex_offsets[k];
    if (mesh->normals != NULL) {
      memcpy(normals, mesh->normals, (size_t)mesh->n_vertices * sizeof(kp_f3));
    } else if (mesh->smooth_shading) {
      make_normals(mesh, normals);
    }
  }
}

kp_result kp_primitives_create(kp_pass *pass) {
  const kp_render_scene *s = pass->scene;
  kp_primitives *p = &pass->primitives;
  bool ok = true;
  KP_TRY(create_materials(pass));
  p->ball_offsets = take(s->n_points + 1, sizeof(int64_t), &ok);
  p->vertex_offsets = take(s->n_meshes + 1, sizeof(int64_t), &ok);
  p->triangle_offsets = take(s->n_meshes + 1, sizeof(int64_t), &ok);
  p->line_offsets = take(s->n_lines + 1, sizeof(int64_t), &ok);
  if (!ok) {
    return KP_ERROR_MEMORY;
  }
  count_primitives(s, p);
  int64_t most = p->n_balls > p->n_triangles ? p->n_balls : p->n_triangles;
  most = most > p->n_segments ? most : p->n_segments;
  if (most >= UINT32_MAX || p->n_vertices >= UINT32_MAX || p->n_line_vertices >= UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a frame with more than %u particles, triangles or vertices",
                   UINT32_MAX);
  }
  p->balls = take_raw(p->n_balls, sizeof(kp_ball), &ok);
  p->vertices = take_raw(p->n_vertices, sizeof(kp_f3), &ok);
  p->screen = take(p->n_vertices, sizeof(kp_screen_place), &ok);
  p->normals = take(p->n_vertices, sizeof(kp_f3), &ok);
  p->triangles = take_raw(3 * p->n_triangles, sizeof(uint32_t), &ok);
  p->line_vertices = take_raw(p->n_line_vertices, sizeof(kp_ball), &ok);
  p->segments = take_raw(p->n_segments, sizeof(kp_segment), &ok);
  p->rects = take_raw(most, sizeof(kp_bin_rect), &ok);
  if (!ok) {
    return KP_ERROR_MEMORY;
  }
  list_meshes(s, p);
  list_segments(s, p);
  return KP_OK;
}

void kp_primitives_free(kp_pass *pass) {
  kp_primitives *p = &pass->primitives;
  kp_free(pass->materials);
  kp_free(p->ball_offsets);
  kp_free(p->vertex_offsets);
  kp_free(p->triangle_offsets);
  kp_free(p->line_offsets);
  kp_free(p->balls);
  kp_free(p->vertices);
  kp_free(p->screen);
  kp_free(p->normals);
  kp_free(p->triangles);
  kp_free(p->line_vertices);
  kp_free(p->segments);
  kp_free(p->rects);
}

int kp_primitives_set(const int64_t *offsets, int n_sets, int64_t index) {
  int low = 0, high = n_sets;  // offsets[low] <= index < offsets[high]
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (offsets[middle] <= index) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

typedef struct project_context {
  const kp_view *view;
  double moment;  // of the pass
  const kp_render_positions *positions, *velocities;
  const float *radii;
  float radius, radius_scale;
  float least;  // radius per distance from the eye that a stroke has at least
  bool is_sprite;
  kp_ball *balls;
  kp_f3 *points;
} project_context;

static kp_f3 place_of(const project_context *c, int64_t i) {
  kp_vec3 p = position_at(c->positions, i);
  if (c->moment != 0.0 && c->velocities->x != NULL) {
    p = kp_vec3_madd(p, c->moment, position_at(c->velocities, i));
  }
  return kp_view_point(c->view, p);
}

static void project_balls(int64_t begin, int64_t end, void *context) {
  const project_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    kp_f3 p = place_of(c, i);
    float r = c->radii != NULL ? c->radii[i] * c->radius_scale : c->radius;
    r = r > 0.0f && p.z > 0.0f ? kp_maxf(r, c->least * p.z) : r;
    c->balls[i] = (kp_ball){ p.x, p.y, p.z, c->is_sprite ? -r : r };
  }
}

static void project_points(int64_t begin, int64_t end, void *context) {
  const project_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    c->points[i] = place_of(c, i);
  }
}

// Bring every element into the space of the view, where it is at the moment of the pass.
void kp_primitives_project(kp_pass *pass, const kp_view *view) {
  const kp_render_scene *s = pass->scene;
  kp_primitives *p = &pass->primitives;
  project_context c = { .view = view, .moment = pass->moment };
  for (int k = 0; k < s->n_points; ++k) {
    c.positions = &s->points[k].positions;
    c.velocities = &s->points[k].velocities;
    c.radii = s->points[k].radii;
    c.radius_scale = (float)s->points[k].look.radius_scale;
    c.radius = (float)(s->points[k].radius * s->points[k].look.radius_scale);
    c.balls = p->balls + p->ball_offsets[k];
    c.is_sprite = kp_look_is_sprite(&s->points[k].look);
    kp_parallel_for(p->ball_offsets[k + 1] - p->ball_offsets[k], CHUNK, project_balls, &c);
  }
  c.is_sprite = false;
  c.least = view->parallel ? 0.0f : 0.5f * LEAST_STROKE / view->scale;
  for (int k = 0; k < s->n_lines; ++k) {
    c.positions = &s->lines[k].positions;
    c.velocities = &s->lines[k].velocities;
    c.radii = s->lines[k].radii;
    c.radius_scale = (float)s->lines[k].look.radius_scale;
    c.radius = (float)(s->lines[k].radius * s->lines[k].look.radius_scale);
    c.balls = p->line_vertices + p->line_offsets[k];
    kp_parallel_for(p->line_offsets[k + 1] - p->line_offsets[k], CHUNK, project_balls, &c);
  }
  for (int k = 0; k < s->n_meshes; ++k) {
    c.positions = &s->meshes[k].positions;
    c.velocities = &s->meshes[k].velocities;
    c.points = p->vertices + p->vertex_offsets[k];
    kp_parallel_for(p->vertex_offsets[k + 1] - p->vertex_offsets[k], CHUNK, project_points, &c);
  }
}
