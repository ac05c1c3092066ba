// Water, glass and mirrors behind what the rasteriser met: rays that leave the line of sight. How
// they go is in walk.h; here is what they meet, and how that is lit, in view space.
#include <math.h>
#include <string.h>

#include "render/pass.h"
#include "render/ray_scene.h"

typedef struct kp_walk_world {
  const kp_pass *pass;
  float noise;
  kp_volume_ray *volumes;  // room for one ray per volume; NULL: smoke is not looked at
} kp_walk_world;

typedef kp_surface_point kp_walk_point;
typedef kp_material kp_walk_material;

#include "render/walk.h"

#define WATER_INDEX 1.3333
#define PARTS_OF_SCENE 1.3  // a liquid by default: so many times its colour across a scene
#define RAYS_FROM 16        // passes: shadows by rays; fewer would show as grain

// ---- materials

// Six times the volume that the faces of a mesh enclose; negative when they look inwards.
static double signed_volume(const kp_render_mesh *mesh) {
  const kp_render_positions *p = &mesh->positions;
  double sum = 0.0;
  kp_vec3 start = { 0.0, 0.0, 0.0 };
  for (int64_t i = 0; i < 3 * mesh->n_triangles; i += 3) {
    kp_vec3 v[3];
    for (int k = 0; k < 3; ++k) {
      int64_t j = (int64_t)mesh->triangles[i + k] * p->stride;
      v[k] = kp_vec3_make(p->x[j], p->y[j], p->z[j]);
    }
    start = i == 0 ? v[0] : start;
    kp_vec3 a = kp_vec3_sub(v[0], start), b = kp_vec3_sub(v[1], start);
    double part = kp_vec3_dot(a, kp_vec3_cross(b, kp_vec3_sub(v[2], start)));
    sum += isfinite(part) ? part : 0.0;
  }
  return sum;
}

void kp_trace_set_clear(kp_material *material, const kp_render_mesh *mesh, double size) {
  const kp_look_def *look = &mesh->look;
  float k = (float)(isnan(look->density) ? PARTS_OF_SCENE / size : look->density);
  kp_rgb c = material->color;
  material->is_clear = true;
  material->is_inside_out = signed_volume(mesh) < 0.0;
  material->refraction = (float)(isnan(look->refraction) ? WATER_INDEX : look->refraction);
  // white light takes on the colour on each 1 / k metres
  material->absorbed = kp_rgb_make(-k * logf(kp_maxf(c.r, 0.004f)), -k * logf(kp_maxf(c.g, 0.004f)),
                                   -k * logf(kp_maxf(c.b, 0.004f)));
  material->cloudy = (float)look->cloudy;
  material->has_caustics = look->caustics;
}

// ---- the scene of rays

static kp_view middle_view(const kp_pass *pass) {
  kp_view view = { .parallel = true };
  view.origin = kp_vec3_scale(kp_vec3_add(pass->bounds.min, pass->bounds.max), 0.5);
  view.frame.right = kp_vec3_make(1.0, 0.0, 0.0);
  view.frame.up = kp_vec3_make(0.0, -1.0, 0.0);
  view.frame.forward = kp_vec3_make(0.0, 0.0, 1.0);
  return view;
}

static uint8_t mask_of(const kp_pass *pass, const kp_look_def *look, bool is_mesh) {
  double opacity = kp_look_opacity(look);
  if (is_mesh && look->wireframe) {
    return pass->by_rays ? KP_RAY_EYE : 0;
  }
  if (is_mesh && opacity <= 0.0) {
    return 0;
  }
  return (uint8_t)(KP_RAY_SEEN | (opacity >= 0.5 ? KP_RAY_CASTER : 0) |
                   (opacity >= 1.0 ? KP_RAY_SOLID : 0));
}

// Whether rays go on from surfaces, and not to the sun alone.
static bool has_bent_rays(const kp_pass *pass) {
  bool any = false;
  for (int i = KP_MATERIAL_FIRST; i < pass->n_materials; ++i) {
    any = any || pass->materials[i].is_clear || pass->materials[i].gloss >= KP_GLOSS_MIRRORS;
  }
  return any;
}

static uint8_t mask_of_points(const kp_pass *pass, const kp_look_def *look) {
  if (kp_look_is_sprite(look)) {
    return has_bent_rays(pass) || pass->by_rays ? KP_RAY_SPRITE : 0;
  }
  return mask_of(pass, look, false);
}

static uint8_t mask_of_stroke(const kp_pass *pass, int set) {
  const kp_render_scene *s = pass->scene;
  uint8_t mask = mask_of(pass, &s->lines[set].look, false);
  bool is_yarn = pass->materials[KP_MATERIAL_FIRST + s->n_points + s->n_meshes + set].is_yarn;
  return pass->by_rays && is_yarn ? (uint8_t)((mask & KP_RAY_CASTER) | KP_RAY_YARN) : mask;
}

static kp_result build_scene(kp_pass *pass) {
  const kp_render_scene *s = pass->scene;
  const kp_primitives *p = &pass->primitives;
  size_t n = (size_t)(p->n_triangles + p->n_balls + p->n_segments) + 1;
  uint8_t *masks = kp_alloc(n, KP_MEMORY_RENDER);
  if (masks == NULL) {
    return KP_ERROR_MEMORY;
  }
  uint8_t *balls = masks + p->n_triangles, *segments = balls + p->n_balls;
  for (int k = 0; k < s->n_meshes; ++k) {
    int64_t count = p->triangle_offsets[k + 1] - p->triangle_offsets[k];
    memset(masks + p->triangle_offsets[k], mask_of(pass, &s->meshes[k].look, true), (size_t)count);
  }
  for (int k = 0; k < s->n_points; ++k) {
    int64_t count = p->ball_offsets[k + 1] - p->ball_offsets[k];
    memset(balls + p->ball_offsets[k], mask_of_points(pass, &s->points[k].look), (size_t)count);
  }
  for (int64_t i = 0; i < p->n_segments; ++i) {
    bool is_outline = (int)p->segments[i].set == pass->outline;
    uint8_t outline = pass->by_rays ? KP_RAY_EYE : 0;
    segments[i] = is_outline ? outline : mask_of_stroke(pass, (int)p->segments[i].set);
  }
  kp_ray_geometry geometry = { .n_triangles = p->n_triangles,
                               .n_balls = p->n_balls,
                               .n_segments = p->n_segments,
                               .vertices = p->vertices,
                               .triangles = p->triangles,
                               .triangle_masks = masks,
                               .balls = p->balls,
                               .ball_masks = balls,
                               .line_vertices = p->line_vertices,
                               .segments = p->segments,
                               .segment_masks = segments };
  kp_result result = kp_ray_scene_build(pass->rays, &geometry);
  kp_free(masks);
  return result;
}

// The map is filtered, which a picture of few passes needs; strands and smoke need it too.
static bool sees_sun_by_rays(const kp_pass *pass) {
  bool has_strands = pass->scene->n_lines > (pass->outline >= 0 ? 1 : 0);
  return pass->count >= RAYS_FROM && pass->n_volumes == 0 && !has_strands &&
         !kp_deep_is_wanted(pass);
}

static bool needs_rays(const kp_pass *pass) {
  return pass->by_rays || pass->sun_by_rays || has_bent_rays(pass);
}

// The trees are kept from pass to pass unless things move in them.
kp_result kp_trace_prepare(kp_pass *pass) {
  pass->sun_by_rays = sees_sun_by_rays(pass);
  if (!needs_rays(pass)) {
    return KP_OK;
  }
  if (pass->rays == NULL || pass->rays_moment != pass->moment) {
    if (pass->rays == NULL) {
      pass->rays = kp_alloc_zero(sizeof *pass->rays, KP_MEMORY_RENDER);
      if (pass->rays == NULL) {
        return KP_ERROR_MEMORY;
      }
    }
    kp_view view = middle_view(pass);
    kp_primitives_project(pass, &view);
    KP_TRY(build_scene(pass));
    pass->rays_moment = pass->moment;
  }
  kp_view middle = middle_view(pass);
  kp_view *eye = &pass->view;
  bool z_up = pass->scene->up == KP_UP_Z;
  kp_vec3 start = kp_vec3_sub(eye->origin, middle.origin);
  pass->ray_start = kp_f3_make((float)start.x, (float)start.y, (float)start.z);
  pass->ray_size = (float)kp_vec3_length(kp_vec3_sub(pass->bounds.max, pass->bounds.min));
  kp_camera_frame disc = kp_camera_frame_along(pass->light.sun, pass->light.up);
  double reach = tan(0.5 * pass->def->sun_size_deg * 3.14159265358979 / 180.0);
  pass->sun_right = kp_view_vector(eye, kp_vec3_scale(disc.right, reach));
  pass->sun_down = kp_view_vector(eye, kp_vec3_scale(disc.up, -reach));
  pass->rays->view.up = z_up ? 2 : 1;
  double height = pass->ground.height - (z_up ? middle.origin.z : middle.origin.y);
  pass->rays->view.ground = pass->ground.on ? (float)height : -HUGE_VALF;
  return KP_OK;
}

kp_f3 kp_trace_to_world(const kp_pass *pass, kp_f3 v) {
  const kp_camera_frame *f = &pass->view.frame;
  kp_f3 r = kp_f3_make((float)f->right.x, (float)f->right.y, (float)f->right.z);
  kp_f3 u = kp_f3_make((float)f->up.x, (float)f->up.y, (float)f->up.z);
  kp_f3 w = kp_f3_make((float)f->forward.x, (float)f->forward.y, (float)f->forward.z);
  return kp_f3_madd(kp_f3_madd(kp_f3_scale(r, v.x), -v.y, u), v.z, w);
}

// Points of a spiral over the disc, one per pass (Vogel 1979), turned anew in each pixel.
float kp_trace_sun(const kp_pass *pass, kp_f3 position, float turn) {
  float r = sqrtf(((float)pass->index + 0.5f) / (float)pass->count), angle = 6.2831853f * turn;
  kp_f3 to = kp_f3_madd(pass->sun, r * cosf(angle), pass->sun_right);
  to = kp_f3_madd(to, r * sinf(angle), pass->sun_down);
  kp_ray ray = { .origin = kp_f3_add(pass->ray_start, kp_trace_to_world(pass, position)),
                 .direction = kp_trace_to_world(pass, to),
                 .t_max = HUGE_VALF,
                 .mask = KP_RAY_CASTER };
  int32_t blocked;
  kp_ray_find_any(&pass->rays->view, &ray, 1, &blocked);
  return blocked != 0 ? 0.0f : 1.0f;
}

void kp_trace_free(kp_pass *pass) {
  if (pass->rays != NULL) {
    kp_ray_scene_free(pass->rays);
    kp_free(pass->rays);
  }
}

static kp_ray_hit cast(const kp_pass *pass, kp_f3 origin, kp_f3 direction, float most,
                       uint32_t mask) {
  kp_ray ray = { .origin = kp_f3_add(pass->ray_start, kp_trace_to_world(pass, origin)),
                 .direction = kp_trace_to_world(pass, direction),
                 .t_max = most,
                 .mask = mask };
  kp_ray_hit hit;
  kp_ray_find_nearest(&pass->rays->view, &ray, 1, &hit);
  return hit;
}

// ---- what a ray meets

static void resolve_stroke(const kp_pass *pass, const kp_ray_hit *hit, kp_surface_point *point) {
  const kp_primitives *p = &pass->primitives;
  const kp_segment *segment = &p->segments[hit->id];
  const kp_ball *a = &p->line_vertices[segment->vertex], *b = a + 1;
  kp_f3 start = kp_f3_make(a->x, a->y, a->z), end = kp_f3_make(b->x, b->y, b->z);
  kp_f3 axis = kp_f3_madd(start, hit->u, kp_f3_sub(end, start));
  int index = KP_MATERIAL_FIRST + pass->scene->n_points + pass->scene->n_meshes;
  const kp_material *material = &pass->materials[index + (int)segment->set];
  point->material = (uint16_t)(material - pass->materials);
  point->normal = kp_f3_normalize(kp_f3_sub(point->position, axis));
  point->albedo = material->color;
  if (material->scalar != NULL) {
    int64_t v = (int64_t)segment->vertex - p->line_offsets[segment->set];
    float low = material->scalar[v], high = material->scalar[v + 1];
    point->albedo = kp_material_color(material, low + hit->u * (high - low));
  }
}

// How open the point is, where the picture knows.
static float occlusion_at(const kp_pass *pass, kp_f3 p) {
  const kp_view *view = &pass->view;
  if (!(p.z > view->nearest)) {
    return 1.0f;
  }
  float x = p.x / p.z * view->scale + view->axis_x, y = p.y / p.z * view->scale + view->axis_y;
  if (!(x >= 0.0f && y >= 0.0f && x < (float)view->width && y < (float)view->height)) {
    return 1.0f;
  }
  int64_t i = (int64_t)y * view->width + (int64_t)x;
  bool is_same = fabsf(pass->surfaces.depth[i] - p.z) < 0.01f * pass->ray_size;
  return is_same ? pass->surfaces.occlusion[i] : 1.0f;
}

static kp_surface_point describe(const kp_pass *pass, kp_f3 origin, kp_f3 direction,
                                 const kp_ray_hit *hit) {
  kp_surface_point point = { .position = kp_f3_madd(origin, hit->t, direction),
                             .eye = kp_f3_scale(direction, -1.0f),
                             .is_traced = true };
  if (hit->kind == KP_RAY_TRIANGLE) {
    const float weights[3] = { 1.0f - hit->u - hit->v, hit->u, hit->v };
    kp_triangles_resolve_at(pass, hit->id, weights, &point);
  } else if (hit->kind == KP_RAY_BALL) {
    kp_points_resolve(pass, hit->id, &point);
  } else if (hit->kind == KP_RAY_STROKE) {
    resolve_stroke(pass, hit, &point);
  } else {
    point.material = KP_MATERIAL_GROUND;
    point.normal = pass->ground.normal;
    point.albedo = kp_ground_albedo(pass, point.position);
  }
  return point;
}

bool kp_trace_meet(const kp_pass *pass, kp_f3 origin, kp_f3 direction, float most,
                   kp_surface_point *point, float *metres) {
  kp_ray_hit hit = cast(pass, origin, direction, most, KP_RAY_SEEN);
  if (hit.kind == KP_RAY_MISS || hit.t >= most) {
    return false;
  }
  *point = describe(pass, origin, direction, &hit);
  *metres = hit.t;
  return true;
}

kp_rgb kp_sky_color(const kp_pass *pass, kp_f3 direction) {
  return kp_light_sky(&pass->light, kp_trace_to_world(pass, direction),
                      kp_f3_dot(direction, pass->up));
}

// ---- what the walk asks for

static kp_ray_hit kp_walk_nearest(const kp_walk_world *world, kp_f3 origin, kp_f3 direction,
                                  float most, uint32_t mask) {
  return cast(world->pass, origin, direction, most, mask);
}

static kp_surface_point kp_walk_resolve(const kp_walk_world *world, const kp_walk_path *ray,
                                        const kp_ray_hit *hit) {
  kp_surface_point point = describe(world->pass, ray->origin, ray->direction, hit);
  point.occlusion = occlusion_at(world->pass, point.position);
  return point;
}

static const kp_material *kp_walk_material_of(const kp_walk_world *world, int material) {
  return &world->pass->materials[material];
}

static kp_rgb kp_walk_sky(const kp_walk_world *world, kp_f3 direction) {
  return kp_sky_color(world->pass, direction);
}

static float kp_walk_sun_at(const kp_walk_world *world, kp_f3 place) {
  return kp_shadow_at(world->pass, place);
}

static kp_rgb kp_walk_shade(kp_walk *walk, const kp_walk_path *ray, const kp_surface_point *point) {
  const kp_pass *pass = walk->world->pass;
  kp_rgb color = kp_shade_surface(pass, point, walk->world->noise);
  if (point->material == KP_MATERIAL_GROUND) {
    color = kp_rgb_mix(color, kp_sky_color(pass, ray->direction),
                       kp_ground_fade(pass, point->position));
  }
  return color;
}

static bool kp_walk_aim(const kp_walk_world *world, kp_march *march) {
  march->noise = world->noise;
  return world->volumes != NULL && world->pass->n_volumes > 0 && kp_volumes_aim(world->pass, march);
}

static void kp_walk_march(const kp_walk_world *world, kp_march *march, float from, float to) {
  kp_volumes_march(world->pass, march, from, to);
}

static bool kp_walk_has_sprites(const kp_walk_world *world) {
  return world->pass->primitives.has_sprites;
}

static kp_sprite kp_walk_sprite(const kp_walk_world *world, const kp_ray_hit *hit) {
  return kp_points_sprite(world->pass, hit->id);
}

// The eye's rays are the rasteriser's.
static kp_sprite_layer kp_walk_yarn(const kp_walk_world *world, const kp_walk_path *ray,
                                    float metres) {
  (void)world;
  (void)ray;
  (void)metres;
  return (kp_sprite_layer){ .through = 1.0f };
}

// ---- from a surface on

static kp_walk_frame make_frame(const kp_pass *pass) {
  return (kp_walk_frame){ .size = pass->ray_size,
                          .sun = pass->sun,
                          .sun_color = pass->light.sun_color,
                          .ambient_up = pass->light.ambient_up,
                          .least = pass->count > 1 ? KP_WALK_LEAST : KP_WALK_PREVIEW,
                          .fresnel = (int32_t)pass->def->fresnel,
                          .is_transparent = pass->def->transparent };
}

kp_rgb kp_trace_clear(const kp_pass *pass, const kp_surface_point *point, float noise,
                      kp_volume_ray *rays, float *alpha) {
  kp_walk_world world = { .pass = pass, .noise = noise, .volumes = rays };
  kp_walk_frame frame = make_frame(pass);
  kp_walk walk = kp_walk_start(&world, &frame);
  kp_walk_path ray = kp_walk_path_from((kp_f3){ 0 }, kp_f3_scale(point->eye, -1.0f));
  if (point->is_inside) {
    // the eye is under water
    ray.medium = point->material;
    kp_walk_dim(&walk, &ray, sqrtf(kp_f3_dot(point->position, point->position)));
  }
  kp_walk_clear(&walk, &ray, point);
  kp_walk_run(&walk);
  *alpha = kp_clampf(walk.seen, 0.0f, 1.0f);
  return walk.color;
}

kp_rgb kp_trace_mirror(const kp_pass *pass, const kp_surface_point *point, kp_f3 direction,
                       float noise) {
  kp_walk_world world = { .pass = pass, .noise = noise };
  kp_walk_frame frame = make_frame(pass);
  kp_walk walk = kp_walk_start(&world, &frame);
  kp_f3 off = kp_f3_madd(point->position, 10.0f * KP_OPTICS_OFF * pass->ray_size, point->normal);
  kp_walk_path ray = kp_walk_path_from(off, direction);
  ray.turns = KP_WALK_TURNS / 2;
  ray.is_mirrored = true;
  walk.splits = KP_WALK_SPLITS;
  kp_walk_push(&walk, &ray);
  kp_walk_run(&walk);
  return walk.color;
}
