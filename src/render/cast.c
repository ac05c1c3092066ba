#include "render/cast.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "par/kernel_define.h"
#include "render/cast_kernels.h"
#include "render/ray_scene.h"
#include "render/yarn_lists.h"

CAST_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define PI 3.14159265358979323846

enum {
  NODES,
  BLOCKS = 3,
  TRIANGLES = 6,
  NORMALS,
  VERTEX_COLORS,
  BALL_COLORS,
  BALL_ALPHAS,
  STROKE_COLORS,
  MATERIALS_OF,
  MATERIALS = MATERIALS_OF + 3,
  AROUND,
  FIRE,
  CAUSTICS,
  WATER,
  GLOW,
  GRIDS,
  VOLUME_RAYS,
  RGBA,
  DEPTH,
  N_BUFFERS
};

enum { DENSITY, EMISSION, SCALAR, LIGHT, WARM, VOLUME_ARRAYS };

#define RAY_BYTES ((int64_t)128 << 20)  // of rays through many volumes in one launch

struct kp_cast {
  kp_backend *backend, *own;  // where it runs, and the one that was opened for it
  kp_buffer buffers[N_BUFFERS];
  kp_buffer *volumes;  // VOLUME_ARRAYS of each
  int n_volumes;
  kp_yarn_lists yarn;
  double moment;  // of the trees that were sent
  bool has_trees;
};

// ---- what is sent

// Room for n elements on the host side; at least one, so that no pointer is NULL for nothing.
static void *fill_buffer(kp_buffer *buffer, int64_t n, size_t element, bool *ok) {
  size_t size = (size_t)(n > 0 ? n : 1) * element;
  if (!*ok || kp_buffer_resize(buffer, size) != KP_OK) {
    *ok = false;
    return NULL;
  }
  void *host = kp_buffer_host(buffer, KP_ACCESS_OVERWRITE);
  if (host == NULL) {
    *ok = false;
  } else {
    memset(host, 0, size);
  }
  return host;
}

static void send_buffer(kp_buffer *buffer, const void *bytes, int64_t n, size_t element, bool *ok) {
  void *host = fill_buffer(buffer, n, element, ok);
  if (*ok && n > 0) {
    memcpy(host, bytes, (size_t)n * element);
  }
}

static void *fill(struct kp_cast *c, int buffer, int64_t n, size_t element, bool *ok) {
  return fill_buffer(&c->buffers[buffer], n, element, ok);
}

static void send(struct kp_cast *c, int buffer, const void *bytes, int64_t n, size_t element,
                 bool *ok) {
  send_buffer(&c->buffers[buffer], bytes, n, element, ok);
}

static void send_materials(struct kp_cast *c, const kp_pass *pass, bool *ok) {
  kp_cast_material *out = fill(c, MATERIALS, pass->n_materials, sizeof *out, ok);
  for (int i = 0; *ok && i < pass->n_materials; ++i) {
    const kp_material *m = &pass->materials[i];
    out[i] = (kp_cast_material){ .back = m->back,
                                 .absorbed = m->absorbed,
                                 .color = m->color,
                                 .opacity = m->opacity,
                                 .gloss = m->gloss,
                                 .refraction = m->refraction,
                                 .cloudy = m->cloudy,
                                 .specular = m->specular,
                                 .shininess = m->shininess,
                                 .lift = 1.4f * m->radius * m->smooth,
                                 .is_clear = m->is_clear,
                                 .is_inside_out = m->is_inside_out,
                                 .is_two_sided = m->is_two_sided,
                                 .is_blinn_phong = m->is_blinn_phong,
                                 .line_width = m->line_width };
    if (m->line_width > 0.0f) {
      // lines are not seen through
      out[i].is_clear = 0;
      out[i].opacity = 1.0f;
    }
  }
  const kp_render_scene *s = pass->scene;
  for (int k = 0; *ok && k < s->n_points; ++k) {
    const kp_look_def *look = &s->points[k].look;
    out[KP_MATERIAL_FIRST + k].glow = (float)look->glow;
    out[KP_MATERIAL_FIRST + k].texture = (int32_t)look->texture;
    out[KP_MATERIAL_FIRST + k].covers = kp_look_sprite(look) == KP_SPRITE_OVER;
  }
  if (*ok && pass->outline >= 0) {
    out[KP_MATERIAL_FIRST + s->n_points + s->n_meshes + pass->outline].is_outline = 1;
  }
}

// Colour of one element of a set by its value, by its own colours, or by the look.
static kp_rgb color_of(const kp_material *m, const float *const *colors, int64_t i) {
  if (m->scalar != NULL) {
    return kp_material_color(m, m->scalar[i]);
  }
  if (colors != NULL && colors[0] != NULL) {
    return kp_rgb_make(colors[0][i], colors[1][i], colors[2][i]);
  }
  return m->color;
}

static void send_meshes(struct kp_cast *c, const kp_pass *pass, bool *ok) {
  const kp_primitives *p = &pass->primitives;
  const kp_render_scene *s = pass->scene;
  send(c, TRIANGLES, p->triangles, 3 * p->n_triangles, sizeof *p->triangles, ok);
  send(c, NORMALS, p->normals, p->n_vertices, sizeof *p->normals, ok);
  kp_rgb *colors = fill(c, VERTEX_COLORS, p->n_vertices, sizeof *colors, ok);
  uint32_t *of = fill(c, MATERIALS_OF, p->n_triangles, sizeof *of, ok);
  for (int k = 0; *ok && k < s->n_meshes; ++k) {
    int index = KP_MATERIAL_FIRST + s->n_points + k;
    const kp_material *m = &pass->materials[index];
    for (int64_t i = p->vertex_offsets[k]; i < p->vertex_offsets[k + 1]; ++i) {
      colors[i] = color_of(m, s->meshes[k].colors, i - p->vertex_offsets[k]);
    }
    for (int64_t i = p->triangle_offsets[k]; i < p->triangle_offsets[k + 1]; ++i) {
      of[i] = (uint32_t)index;
    }
  }
}

static void send_others(struct kp_cast *c, const kp_pass *pass, bool *ok) {
  const kp_primitives *p = &pass->primitives;
  const kp_render_scene *s = pass->scene;
  kp_rgb *colors = fill(c, BALL_COLORS, p->n_balls, sizeof *colors, ok);
  uint32_t *of = fill(c, MATERIALS_OF + 1, p->n_balls, sizeof *of, ok);
  for (int k = 0; *ok && k < s->n_points; ++k) {
    for (int64_t i = p->ball_offsets[k]; i < p->ball_offsets[k + 1]; ++i) {
      const kp_material *m = &pass->materials[KP_MATERIAL_FIRST + k];
      colors[i] = color_of(m, s->points[k].colors, i - p->ball_offsets[k]);
      of[i] = (uint32_t)(KP_MATERIAL_FIRST + k);
    }
  }
  float *alphas = p->has_sprites ? fill(c, BALL_ALPHAS, p->n_balls, sizeof *alphas, ok) : NULL;
  for (int k = 0; *ok && alphas != NULL && k < s->n_points; ++k) {
    for (int64_t i = p->ball_offsets[k]; i < p->ball_offsets[k + 1]; ++i) {
      const float *given = s->points[k].alphas;
      alphas[i] = given != NULL ? given[i - p->ball_offsets[k]] : 1.0f;
    }
  }
  kp_rgb *ends = fill(c, STROKE_COLORS, 2 * p->n_segments, sizeof *ends, ok);
  of = fill(c, MATERIALS_OF + 2, p->n_segments, sizeof *of, ok);
  for (int64_t i = 0; *ok && i < p->n_segments; ++i) {
    const kp_segment *segment = &p->segments[i];
    int index = KP_MATERIAL_FIRST + s->n_points + s->n_meshes + (int)segment->set;
    int64_t v = (int64_t)segment->vertex - p->line_offsets[segment->set];
    ends[2 * i] = color_of(&pass->materials[index], NULL, v);
    ends[2 * i + 1] = color_of(&pass->materials[index], NULL, v + 1);
    of[i] = (uint32_t)index;
  }
}

static void send_trees(struct kp_cast *c, const kp_pass *pass, bool *ok) {
  static const size_t sizes[3] = { sizeof(kp_ray_triangles), sizeof(kp_ray_balls),
                                   sizeof(kp_ray_strokes) };
  const kp_ray_scene *rays = pass->rays;
  for (int k = 0; k < 3; ++k) {
    send(c, NODES + k, rays->nodes[k], rays->n_nodes[k], sizeof(kp_ray_node), ok);
    send(c, BLOCKS + k, rays->blocks[k], rays->n_blocks[k], sizes[k], ok);
  }
  c->has_trees = true;
  c->moment = pass->moment;
}

// What may move with the moment of a pass.
static void send_volume_values(struct kp_cast *c, const kp_pass *pass, bool *ok) {
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_grid *g = &pass->grids[k];
    const float *const values[3] = { g->density, g->emission, g->scalar };
    int64_t n = (int64_t)g->n[0] * g->n[1] * g->n[2];
    for (int f = 0; f < 3; ++f) {
      if (values[f] != NULL) {
        send_buffer(&c->volumes[VOLUME_ARRAYS * k + f], values[f], n, sizeof(float), ok);
      }
    }
  }
}

static void send_volumes(struct kp_cast *c, const kp_pass *pass, bool *ok) {
  kp_rgb *glow = fill(c, GLOW, (int64_t)KP_EMISSION_STEPS * pass->n_volumes, sizeof *glow, ok);
  for (int k = 0; *ok && k < pass->n_volumes; ++k) {
    const kp_volume_grid *g = &pass->grids[k];
    int64_t n = (int64_t)g->n[0] * g->n[1] * g->n[2];
    memcpy(glow + (int64_t)KP_EMISSION_STEPS * k, g->glow, KP_EMISSION_STEPS * sizeof *glow);
    send_buffer(&c->volumes[VOLUME_ARRAYS * k + LIGHT], g->light, n, sizeof *g->light, ok);
    if (g->warm != NULL) {
      n = (int64_t)g->n_warm[0] * g->n_warm[1] * g->n_warm[2];
      send_buffer(&c->volumes[VOLUME_ARRAYS * k + WARM], g->warm, n, sizeof *g->warm, ok);
    }
  }
}

kp_result kp_cast_create(const kp_pass *pass, kp_backend *backend, struct kp_cast **out) {
  struct kp_cast *c = kp_alloc_zero(sizeof *c, KP_MEMORY_RENDER);
  *out = c;
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (backend == NULL) {
    KP_TRY(kp_backend_create(KP_BACKEND_CPU, &c->own));
  }
  c->backend = backend != NULL ? backend : c->own;
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_init(&c->buffers[k], c->backend);
  }
  int n_arrays = VOLUME_ARRAYS * pass->n_volumes;
  c->volumes = kp_alloc_zero((size_t)(n_arrays + 1) * sizeof *c->volumes, KP_MEMORY_RENDER);
  if (c->volumes == NULL) {
    return KP_ERROR_MEMORY;
  }
  c->n_volumes = pass->n_volumes;
  for (int k = 0; k < n_arrays; ++k) {
    kp_buffer_init(&c->volumes[k], c->backend);
  }
  kp_yarn_lists_init(&c->yarn, c->backend);
  // of 4 bytes: float where kp_real is
  c->buffers[RGBA].type = KP_TYPE_F32;
  c->buffers[DEPTH].type = c->buffers[RGBA].type;
  bool ok = true;
  int64_t pixels = pass->def->width * pass->def->height;
  send_materials(c, pass, &ok);
  send_meshes(c, pass, &ok);
  send_others(c, pass, &ok);
  send_volumes(c, pass, &ok);
  if (pass->light.environment != NULL) {
    const kp_environment *e = pass->light.environment;
    send(c, AROUND, e->texels, 6 * (int64_t)e->size * e->size, sizeof *e->texels, &ok);
  }
  (void)fill(c, RGBA, 4 * pixels, sizeof(float), &ok);
  (void)fill(c, DEPTH, pixels, sizeof(float), &ok);
  return ok ? KP_OK : KP_ERROR_MEMORY;
}

void kp_cast_destroy(struct kp_cast **cast) {
  struct kp_cast *c = *cast;
  if (c == NULL) {
    return;
  }
  for (int k = 0; c->backend != NULL && k < N_BUFFERS; ++k) {
    kp_buffer_free(&c->buffers[k]);
  }
  for (int k = 0; k < VOLUME_ARRAYS * c->n_volumes; ++k) {
    kp_buffer_free(&c->volumes[k]);
  }
  kp_free(c->volumes);
  if (c->yarn.backend != NULL) {
    kp_yarn_lists_free(&c->yarn);
  }
  kp_backend_destroy(&c->own);
  kp_free(c);
  *cast = NULL;
}

// ---- one pass

static kp_f3 to_float(kp_vec3 v) {
  return kp_f3_make((float)v.x, (float)v.y, (float)v.z);
}

static bool has_clear(const kp_pass *pass) {
  bool any = false;
  for (int i = KP_MATERIAL_FIRST; i < pass->n_materials; ++i) {
    any = any || pass->materials[i].is_clear || pass->materials[i].opacity < 0.5f;
  }
  return any;
}

static bool has_wires(const kp_pass *pass) {
  bool any = false;
  for (int i = KP_MATERIAL_FIRST; i < pass->n_materials; ++i) {
    any = any || pass->materials[i].line_width > 0.0f;
  }
  return any;
}

static kp_cast_frame make_frame(const kp_pass *pass) {
  const kp_view *view = &pass->view;
  const kp_light *light = &pass->light;
  const kp_render_def *def = pass->def;
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(pass->bounds.min, pass->bounds.max), 0.5);
  kp_camera_frame disc = kp_camera_frame_along(light->sun, light->up);
  double reach = tan(0.5 * def->sun_size_deg * PI / 180.0);
  return (kp_cast_frame){ .eye = to_float(kp_vec3_sub(view->origin, middle)),
                          .right = to_float(view->frame.right),
                          .down = to_float(kp_vec3_scale(view->frame.up, -1.0)),
                          .forward = to_float(view->frame.forward),
                          .scale = view->scale,
                          .axis_x = view->axis_x,
                          .axis_y = view->axis_y,
                          .width = view->width,
                          .index = pass->index,
                          .count = pass->count,
                          .up = to_float(light->up),
                          .sun = to_float(light->sun),
                          .sun_right = to_float(kp_vec3_scale(disc.right, reach)),
                          .sun_down = to_float(kp_vec3_scale(disc.up, -reach)),
                          .sun_color = light->sun_color,
                          .ambient_up = light->ambient_up,
                          .ambient_side = light->ambient_side,
                          .ambient_down = light->ambient_down,
                          .zenith = light->zenith,
                          .horizon = light->horizon,
                          .ground_color = light->ground,
                          .size = pass->ray_size,
                          .occlusion = (float)def->occlusion,
                          .reach = pass->occlusion_reach,
                          .sky_strength = (float)def->sky_strength,
                          .around = light->environment != NULL ? light->environment->size : 0,
                          .z_up = light->z_up,
                          .square = pass->ground.square,
                          .fade = pass->ground.fade,
                          .ground = def->ground,
                          .fresnel = def->fresnel,
                          .is_transparent = def->transparent,
                          .has_clear = has_clear(pass),
                          .has_puffs = pass->primitives.has_puffs,
                          .has_wires = has_wires(pass),
                          .n_fire = pass->n_fire,
                          .air = pass->air };
}

// A tree of nothing has no root, and a bound buffer is never NULL: it stays unbound.
static void bind_tree(struct kp_cast *c, kp_call *call, cast_pixel_args *a,
                      const kp_ray_scene *rays) {
  const void **nodes[3] = { (const void **)&a->scene.rays.triangle_nodes,
                            (const void **)&a->scene.rays.ball_nodes,
                            (const void **)&a->scene.rays.stroke_nodes };
  const void **blocks[3] = { (const void **)&a->scene.rays.triangles,
                             (const void **)&a->scene.rays.balls,
                             (const void **)&a->scene.rays.strokes };
  for (int k = 0; k < 3; ++k) {
    bool is_there = rays->n_nodes[k] > 0;
    size_t of_nodes = (size_t)((char *)nodes[k] - (char *)a);
    size_t of_blocks = (size_t)((char *)blocks[k] - (char *)a);
    kp_call_bind(call, of_nodes, is_there ? &c->buffers[NODES + k] : NULL, KP_ACCESS_READ);
    kp_call_bind(call, of_blocks, is_there ? &c->buffers[BLOCKS + k] : NULL, KP_ACCESS_READ);
  }
}

// Those of a scene with few volumes come with the arguments.
static void bind_few_volumes(struct kp_cast *c, kp_call *call, cast_pixel_args *a,
                             const kp_pass *pass) {
  for (int k = 0; k < pass->n_volumes; ++k) {
    kp_buffer *b = &c->volumes[VOLUME_ARRAYS * k];
    kp_volume_grid *g = &a->scene.few[k];
    *g = pass->grids[k];
    bool glows = g->emission != NULL, is_warm = g->warm != NULL, has_scalar = g->scalar != NULL;
    g->glow_first = KP_EMISSION_STEPS * k;
    KP_BIND(call, a, scene.few[k].density, &b[DENSITY], KP_ACCESS_READ);
    KP_BIND(call, a, scene.few[k].emission, glows ? &b[EMISSION] : NULL, KP_ACCESS_READ);
    KP_BIND(call, a, scene.few[k].scalar, has_scalar ? &b[SCALAR] : NULL, KP_ACCESS_READ);
    KP_BIND(call, a, scene.few[k].light, &b[LIGHT], KP_ACCESS_READ);
    KP_BIND(call, a, scene.few[k].warm, is_warm ? &b[WARM] : NULL, KP_ACCESS_READ);
    KP_BIND(call, a, scene.few[k].glow, &c->buffers[GLOW], KP_ACCESS_READ);
  }
}

// Any number of volumes: grids whose pointers are those of the device, and room for the rays of
// `pixels`.
static kp_result bind_many_volumes(struct kp_cast *c, kp_call *call, cast_pixel_args *a,
                                   const kp_pass *pass, int64_t pixels) {
  bool ok = true;
  kp_volume_grid *grids = fill(c, GRIDS, pass->n_volumes, sizeof *grids, &ok);
  kp_buffer *rays = &c->buffers[VOLUME_RAYS];
  size_t size = (size_t)(pixels * pass->n_volumes) * sizeof(kp_volume_ray);
  KP_TRY(ok ? kp_buffer_resize(rays, size) : KP_ERROR_MEMORY);
  for (int k = 0; k < pass->n_volumes; ++k) {
    kp_volume_grid *g = &grids[k];
    *g = pass->grids[k];
    g->glow_first = KP_EMISSION_STEPS * k;
    void *of[VOLUME_ARRAYS + 1] = { NULL };
    bool has[VOLUME_ARRAYS] = { true, g->emission != NULL, g->scalar != NULL, true,
                                g->warm != NULL };
    for (int f = 0; f < VOLUME_ARRAYS; ++f) {
      kp_buffer *b = &c->volumes[VOLUME_ARRAYS * k + f];
      KP_TRY(has[f] ? kp_buffer_get(b, KP_SIDE_DEVICE, KP_ACCESS_READ, &of[f]) : KP_OK);
    }
    KP_TRY(kp_buffer_get(&c->buffers[GLOW], KP_SIDE_DEVICE, KP_ACCESS_READ, &of[VOLUME_ARRAYS]));
    g->density = of[DENSITY];
    g->emission = of[EMISSION];
    g->scalar = of[SCALAR];
    g->light = of[LIGHT];
    g->warm = of[WARM];
    g->glow = of[VOLUME_ARRAYS];
  }
  KP_BIND(call, a, scene.many, &c->buffers[GRIDS], KP_ACCESS_READ);
  KP_BIND(call, a, rays, rays, KP_ACCESS_OVERWRITE);
  call->has_unbound = true;
  return KP_OK;
}

// The map of this pass, from view space into that of the rays.
static void send_caustics(struct kp_cast *c, const kp_pass *pass, kp_caustics_map *out, bool *ok) {
  const kp_caustics_map *map = kp_caustics_get(pass);
  if (map == NULL || map->width == 0) {
    return;
  }
  *out = *map;
  out->origin = kp_f3_add(pass->ray_start, kp_trace_to_world(pass, map->origin));
  out->right = kp_trace_to_world(pass, map->right);
  out->down = kp_trace_to_world(pass, map->down);
  out->sun = kp_trace_to_world(pass, map->sun);
  send(c, CAUSTICS, map->texels, (int64_t)map->width * map->height, sizeof *map->texels, ok);
  send(c, WATER, map->water, (int64_t)map->n_x * map->n_y, sizeof *map->water, ok);
}

// All but what is written; *launch is the number of pixels, or of stations, at a time.
static kp_result bind_scene(struct kp_cast *c, kp_call *call, cast_pixel_args *a,
                            const kp_pass *pass, int64_t *launch) {
  bind_tree(c, call, a, pass->rays);
  KP_BIND(call, a, scene.fire, &c->buffers[FIRE], KP_ACCESS_READ);
  if (pass->n_volumes <= KP_CAST_VOLUMES) {
    bind_few_volumes(c, call, a, pass);
  } else {
    int64_t most = RAY_BYTES / (pass->n_volumes * (int64_t)sizeof(kp_volume_ray));
    *launch = most < *launch ? (most > 1024 ? most : 1024) : *launch;
    KP_TRY(bind_many_volumes(c, call, a, pass, *launch));
  }
  KP_BIND(call, a, scene.triangles, &c->buffers[TRIANGLES], KP_ACCESS_READ);
  KP_BIND(call, a, scene.normals, &c->buffers[NORMALS], KP_ACCESS_READ);
  KP_BIND(call, a, scene.vertex_colors, &c->buffers[VERTEX_COLORS], KP_ACCESS_READ);
  KP_BIND(call, a, scene.ball_colors, &c->buffers[BALL_COLORS], KP_ACCESS_READ);
  kp_buffer *alphas = pass->primitives.has_sprites ? &c->buffers[BALL_ALPHAS] : NULL;
  KP_BIND(call, a, scene.ball_alphas, alphas, KP_ACCESS_READ);
  KP_BIND(call, a, scene.stroke_colors, &c->buffers[STROKE_COLORS], KP_ACCESS_READ);
  for (int k = 0; k < 3; ++k) {
    KP_BIND(call, a, scene.materials_of[k], &c->buffers[MATERIALS_OF + k], KP_ACCESS_READ);
  }
  KP_BIND(call, a, scene.materials, &c->buffers[MATERIALS], KP_ACCESS_READ);
  bool is_around = pass->light.environment != NULL, is_bent = a->scene.caustics.width > 0;
  kp_buffer *map = is_bent ? &c->buffers[CAUSTICS] : NULL,
            *water = is_bent ? &c->buffers[WATER] : NULL;
  KP_BIND(call, a, scene.caustics.texels, map, KP_ACCESS_READ);
  KP_BIND(call, a, scene.caustics.water, water, KP_ACCESS_READ);
  KP_BIND(call, a, scene.around, is_around ? &c->buffers[AROUND] : NULL, KP_ACCESS_READ);
  return KP_OK;
}

static kp_result light_yarn(struct kp_cast *c, cast_pixel_args *a, const kp_pass *pass) {
  int64_t n = c->yarn.n_stations;
  kp_call call;
  kp_call_init(&call, &cast_station_kernel, a);
  KP_TRY(bind_scene(c, &call, a, pass, &n));
  KP_BIND(&call, a, stations, &c->yarn.stations, KP_ACCESS_WRITE);
  return kp_call_run(c->backend, &call, c->yarn.n_stations);
}

// The rays of some rows of pixels.
static kp_result cast_rows(struct kp_cast *c, cast_pixel_args *a, const kp_pass *pass, int row,
                           int end) {
  int64_t last = (int64_t)end * pass->def->width, launch;
  a->first = (int64_t)row * pass->def->width;
  launch = last - a->first;
  kp_call call;
  kp_call_init(&call, &cast_pixel_kernel, a);
  KP_TRY(bind_scene(c, &call, a, pass, &launch));
  if (c->yarn.n_quads > 0) {
    a->scene.yarn = c->yarn.view;
    KP_BIND(&call, a, scene.yarn.stations, &c->yarn.stations, KP_ACCESS_READ);
    KP_BIND(&call, a, scene.yarn.sets, &c->yarn.sets, KP_ACCESS_READ);
    KP_BIND(&call, a, scene.yarn.texels, &c->yarn.texels, KP_ACCESS_READ);
    KP_BIND(&call, a, scene.yarn_quads, &c->yarn.quads, KP_ACCESS_READ);
    KP_BIND(&call, a, scene.yarn_spans, &c->yarn.spans, KP_ACCESS_READ);
  }
  KP_BIND(&call, a, rgba, &c->buffers[RGBA], KP_ACCESS_WRITE);
  KP_BIND(&call, a, depth, &c->buffers[DEPTH], KP_ACCESS_WRITE);
  for (; a->first < last; a->first += launch) {
    int64_t left = last - a->first;
    KP_TRY(kp_call_run(c->backend, &call, left < launch ? left : launch));
  }
  return KP_OK;
}

kp_result kp_cast_pass(struct kp_cast *c, const kp_pass *pass) {
  bool ok = true;
  if (!c->has_trees || c->moment != pass->moment) {
    send_trees(c, pass, &ok);
    send_volume_values(c, pass, &ok);
    send(c, FIRE, pass->fire, pass->n_fire, sizeof *pass->fire, &ok);
  }
  cast_pixel_args a = { .scene = { .rays = pass->rays->view }, .frame = make_frame(pass) };
  send_caustics(c, pass, &a.scene.caustics, &ok);
  if (!ok) {
    return KP_ERROR_MEMORY;
  }
  a.frame.air.grids = NULL;  // those of the scene
  int64_t n_stations, n_quads;
  const kp_yarn_view *yarn = kp_yarn_get(pass, &n_stations, &n_quads);
  KP_TRY(kp_yarn_lists_send(&c->yarn, yarn, n_stations, n_quads));
  if (c->yarn.n_quads == 0) {
    return cast_rows(c, &a, pass, 0, (int)pass->def->height);
  }
  KP_TRY(light_yarn(c, &a, pass));
  for (int row = 0, end; row < (int)pass->def->height; row = end) {
    KP_TRY(kp_yarn_lists_make(&c->yarn, row, &end));
    KP_TRY(cast_rows(c, &a, pass, row, end));
  }
  return KP_OK;
}

kp_result kp_cast_read(struct kp_cast *c, kp_picture *picture) {
  size_t pixels = (size_t)picture->width * (size_t)picture->height;
  const void *rgba = kp_buffer_host(&c->buffers[RGBA], KP_ACCESS_READ);
  const void *depth = kp_buffer_host(&c->buffers[DEPTH], KP_ACCESS_READ);
  if (rgba == NULL || depth == NULL) {
    return KP_ERROR_MEMORY;
  }
  memcpy(picture->rgba, rgba, 4 * pixels * sizeof(float));
  memcpy(picture->depth, depth, pixels * sizeof(float));
  return KP_OK;
}
