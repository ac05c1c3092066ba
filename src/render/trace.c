// Water, glass and mirrors: rays that leave the line of sight.
//
// The eye's ray is met by the rasteriser; from the first clear or glossy surface on it is traced
// through the trees of ray_scene.h (Whitted 1980, "An Improved Illumination Model for Shaded
// Display"). At a clear surface it splits into a mirrored and a refracted one in Fresnel's shares
// for as long as both matter; a share that does not is given to the other, so that no light is
// lost. In a liquid it loses exp(-absorbed x metres) and gains what the liquid scatters.
//
// A liquid wets what it lies on: where it ends less than a hair before a floor, a wall or a body,
// there is no air between them that could mirror.
#include <math.h>
#include <string.h>

#include "render/optics.h"
#include "render/pass.h"
#include "render/ray_scene.h"

#define WATER_INDEX 1.3333
#define PARTS_OF_SCENE 1.3  // a liquid by default: so many times its colour across a scene
#define TURNS_MOST 14       // surfaces that one ray meets
#define SPLITS 4            // of them, at which it may become two
#define LEAST 0.03f         // share of a pixel that is worth a ray of its own
#define LEAST_FIRST 0.004f  // the same at the first surface: what it mirrors is its gloss
#define STACK (SPLITS + 2)
#define GREY 0.5f         // of water in the grey variant (Lyes 2010, indoor splash)
#define RAYS_FROM 16      // passes: shadows by rays; fewer would show as grain
#define SPRITES_MOST 256  // that a ray sees between two surfaces
#define SUN_LOBE 900.0f   // exponent of the mirrored sun
#define SUN_BRIGHT 30.0f  // and its light

typedef struct path {
  kp_f3 origin, direction;  // view space
  kp_rgb weight;
  int medium, outer;  // materials it is in, and that one is in; KP_MATERIAL_SKY: air
  int turns;
  bool mirrored;
} path;

typedef struct tracer {
  const kp_pass *pass;
  path stack[STACK];
  int n, splits;
  float noise;
  kp_rgb color;
  float seen;              // share of what is not empty sky
  kp_volume_ray *volumes;  // room for one ray per volume; NULL: smoke is not looked at
} tracer;

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

static uint8_t mask_of(const kp_look_def *look, bool is_mesh) {
  double opacity = kp_look_opacity(look);
  if (is_mesh && (look->wireframe || opacity <= 0.0)) {
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
    return has_bent_rays(pass) ? KP_RAY_SPRITE : 0;
  }
  return mask_of(look, false);
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
    memset(masks + p->triangle_offsets[k], mask_of(&s->meshes[k].look, true), (size_t)count);
  }
  for (int k = 0; k < s->n_points; ++k) {
    int64_t count = p->ball_offsets[k + 1] - p->ball_offsets[k];
    memset(balls + p->ball_offsets[k], mask_of_points(pass, &s->points[k].look), (size_t)count);
  }
  for (int64_t i = 0; i < p->n_segments; ++i) {
    bool is_outline = (int)p->segments[i].set == pass->outline;
    uint8_t outline = pass->cast != NULL ? KP_RAY_EYE : 0;
    segments[i] = is_outline ? outline : mask_of(&s->lines[p->segments[i].set].look, false);
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
  return pass->cast != NULL || pass->sun_by_rays || has_bent_rays(pass);
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

static kp_f3 to_world(const kp_pass *pass, kp_f3 v) {
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
  kp_ray ray = { .origin = kp_f3_add(pass->ray_start, to_world(pass, position)),
                 .direction = to_world(pass, to),
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
  kp_ray ray = { .origin = kp_f3_add(pass->ray_start, to_world(pass, origin)),
                 .direction = to_world(pass, direction),
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

static kp_surface_point resolve(const kp_pass *pass, const path *ray, const kp_ray_hit *hit) {
  kp_surface_point point = describe(pass, ray->origin, ray->direction, hit);
  point.occlusion = occlusion_at(pass, point.position);
  return point;
}

kp_rgb kp_sky_color(const kp_pass *pass, kp_f3 direction) {
  return kp_light_sky(&pass->light, to_world(pass, direction), kp_f3_dot(direction, pass->up));
}

static void add(tracer *t, const path *ray, kp_rgb color) {
  t->color = kp_rgb_add(t->color, kp_rgb_mul(ray->weight, color));
  t->seen += kp_maxf(ray->weight.r, kp_maxf(ray->weight.g, ray->weight.b));
}

static void add_sky(tracer *t, const path *ray) {
  const kp_pass *pass = t->pass;
  if (pass->def->transparent && !ray->mirrored) {
    return;
  }
  kp_rgb color = kp_sky_color(pass, ray->direction);
  float towards = kp_f3_dot(ray->direction, pass->sun);
  if (ray->mirrored && ray->turns == 1 && towards > 0.98f) {
    float lobe = SUN_BRIGHT * powf(kp_minf(towards, 1.0f), SUN_LOBE);
    color = kp_rgb_add(color, kp_rgb_scale(pass->light.sun_color, lobe));
  }
  add(t, ray, color);
}

static void add_solid(tracer *t, const path *ray, const kp_surface_point *point) {
  const kp_pass *pass = t->pass;
  kp_rgb color = kp_shade_surface(pass, point, t->noise);
  if (point->material == KP_MATERIAL_GROUND) {
    color = kp_rgb_mix(color, kp_sky_color(pass, ray->direction),
                       kp_ground_fade(pass, point->position));
  }
  add(t, ray, color);
}

// A way of so many metres through the medium the ray is in.
static void pass_medium(tracer *t, path *ray, float metres) {
  const kp_pass *pass = t->pass;
  const kp_material *m = &pass->materials[ray->medium];
  if (ray->medium == KP_MATERIAL_SKY) {
    return;
  }
  kp_rgb taken = kp_rgb_scale(m->absorbed, kp_minf(metres, pass->ray_size));
  kp_rgb left = kp_rgb_make(expf(-taken.r), expf(-taken.g), expf(-taken.b));
  if (m->cloudy > 0.0f) {
    // light of the liquid's colour comes back as far as it is not taken in on the way
    float sun = 0.5f * kp_shadow_at(pass, ray->origin);
    kp_rgb light = kp_rgb_add(kp_rgb_scale(pass->light.sun_color, sun),
                              kp_rgb_scale(pass->light.ambient_up, 0.7f));
    kp_rgb gone = kp_rgb_make(1.0f - left.r, 1.0f - left.g, 1.0f - left.b);
    kp_rgb back = kp_rgb_mul(kp_rgb_mul(light, m->color), kp_rgb_scale(gone, m->cloudy));
    t->color = kp_rgb_add(t->color, kp_rgb_mul(ray->weight, back));
    t->seen += m->cloudy * kp_maxf(gone.r, kp_maxf(gone.g, gone.b)) * ray->weight.g;
  }
  ray->weight = kp_rgb_mul(ray->weight, left);
}

// The same through smoke and flames, which are in the air.
static void pass_smoke(tracer *t, path *ray, float metres) {
  if (t->volumes == NULL || t->pass->n_volumes == 0 || ray->medium != KP_MATERIAL_SKY) {
    return;
  }
  kp_march march = { .origin = ray->origin,
                     .direction = ray->direction,
                     .rays = t->volumes,
                     .length = 1.0f,
                     .noise = t->noise,
                     .transmittance = 1.0f };
  if (kp_volumes_aim(t->pass, &march)) {
    kp_volumes_march(t->pass, &march, 0.0f, metres);
    t->color = kp_rgb_add(t->color, kp_rgb_mul(ray->weight, march.color));
    t->seen += (1.0f - march.transmittance) * ray->weight.g;
    ray->weight = kp_rgb_scale(ray->weight, march.transmittance);
  }
}

// Sprites from the origin to a surface, in the order in which the ray enters them; one that the ray
// starts in comes where it is left.
static void pass_sprites(tracer *t, path *ray, float metres) {
  const kp_pass *pass = t->pass;
  if (!pass->primitives.has_sprites) {
    return;
  }
  kp_sprite_layer layer = { .through = 1.0f };
  uint32_t seen[SPRITES_MOST];
  float from = 0.0f;
  for (int n = 0; n < SPRITES_MOST && layer.through > LEAST;) {
    path rest = *ray;
    rest.origin = kp_f3_madd(ray->origin, from, ray->direction);
    kp_ray_hit hit = cast(pass, rest.origin, rest.direction, metres - from, KP_RAY_SPRITE);
    if (hit.kind != KP_RAY_BALL) {
      break;
    }
    bool is_new = true;
    for (int k = 0; k < n && is_new; ++k) {
      is_new = seen[k] != hit.id;
    }
    if (is_new) {
      seen[n++] = hit.id;
      kp_points_add_sprite(pass, hit.id, ray->origin, ray->direction, &layer);
    }
    from += hit.t + KP_TRACE_OFF * pass->ray_size;
  }
  if (layer.weight > 0.0f) {
    kp_rgb color = kp_rgb_add(layer.light, layer.color);
    t->color = kp_rgb_add(t->color, kp_rgb_mul(ray->weight, color));
    float shine = kp_maxf(layer.light.r, kp_maxf(layer.light.g, layer.light.b));
    t->seen += kp_clampf(1.0f - layer.through + shine, 0.0f, 1.0f) * ray->weight.g;
    ray->weight = kp_rgb_scale(ray->weight, layer.through);
  }
}

// ---- clear surfaces

static void push(tracer *t, const path *ray) {
  if (t->n < STACK) {
    t->stack[t->n++] = *ray;
  }
}

static kp_f3 off_surface(const kp_pass *pass, const kp_surface_point *point, float side) {
  return kp_f3_madd(point->position, side * KP_TRACE_OFF * pass->ray_size, point->face);
}

// The normal as the ray sees it: a smooth one may turn away at a rim where the face does not.
static kp_f3 seen_normal(const kp_surface_point *point) {
  float cosine = kp_f3_dot(point->normal, point->eye);
  if (cosine >= 0.02f) {
    return point->normal;
  }
  return kp_f3_normalize(kp_f3_madd(point->normal, 0.02f - cosine, point->eye));
}

static path mirrored_path(const tracer *t, const path *ray, const kp_surface_point *point,
                          kp_f3 normal) {
  path out = *ray;
  out.direction = kp_reflect(ray->direction, normal);
  if (kp_f3_dot(out.direction, point->face) <= 0.0f) {
    out.direction = kp_reflect(ray->direction, point->face);
  }
  out.origin = off_surface(t->pass, point, 1.0f);
  out.turns = ray->turns + 1;
  out.mirrored = true;
  return out;
}

// Through the surface; the direction is zero where all is mirrored.
static path bent_path(const tracer *t, const path *ray, const kp_surface_point *point, kp_f3 normal,
                      float n1, float n2) {
  path out = *ray;
  out.direction = kp_refract(ray->direction, normal, n1, n2);
  if (kp_f3_dot(out.direction, point->face) >= 0.0f &&
      kp_f3_dot(out.direction, out.direction) > 0.0f) {
    out.direction = kp_refract(ray->direction, point->face, n1, n2);
  }
  out.origin = off_surface(t->pass, point, -1.0f);
  out.turns = ray->turns + 1;
  if (point->is_inside) {
    bool is_in = ray->medium == point->material;
    out.medium = is_in ? ray->outer : ray->medium;
    out.outer = is_in ? KP_MATERIAL_SKY : ray->outer;
    out.outer = out.outer == out.medium ? KP_MATERIAL_SKY : out.outer;
  } else if (ray->medium != point->material) {
    out.medium = point->material;
    out.outer = ray->medium;
  }
  return out;
}

static float index_of(const kp_pass *pass, int material) {
  return material == KP_MATERIAL_SKY ? 1.0f : pass->materials[material].refraction;
}

static void meet_clear(tracer *t, const path *ray, const kp_surface_point *point);

// What a liquid lies on, or glass lies in, is seen without a gap of air.
static bool meet_wetted(tracer *t, const path *ray, const kp_surface_point *point) {
  const kp_pass *pass = t->pass;
  kp_f3 start = off_surface(pass, point, -1.0f);
  kp_ray_hit hit = cast(pass, start, ray->direction, KP_TRACE_TOUCH * pass->ray_size, KP_RAY_SEEN);
  if (hit.kind == KP_RAY_MISS || hit.t >= KP_TRACE_TOUCH * pass->ray_size) {
    return false;
  }
  path on = *ray;
  on.origin = start;
  kp_surface_point wetted = resolve(pass, &on, &hit);
  const kp_material *m = &pass->materials[wetted.material];
  bool is_other = m->is_clear && !wetted.is_inside && wetted.material != point->material;
  if (is_other) {
    meet_clear(t, &on, &wetted);
  } else if (!m->is_clear && m->opacity >= 1.0f) {
    add_solid(t, &on, &wetted);
  }
  return is_other || (!m->is_clear && m->opacity >= 1.0f);
}

float kp_trace_mirrored(const kp_pass *pass, float cosine, float n1, float n2) {
  cosine = kp_clampf(cosine, 0.0f, 1.0f);
  return pass->def->fresnel == KP_FRESNEL_SCHLICK ? kp_fresnel_schlick(cosine, n1, n2)
                                                  : kp_fresnel_exact(cosine, n1, n2);
}

static void meet_clear(tracer *t, const path *ray, const kp_surface_point *point) {
  const kp_pass *pass = t->pass;
  if (point->is_inside && ray->medium == point->material && meet_wetted(t, ray, point)) {
    return;
  }
  int to = point->is_inside ? (ray->medium == point->material ? ray->outer : ray->medium)
                            : point->material;
  float n1 = index_of(pass, ray->medium), n2 = index_of(pass, to);
  kp_f3 normal = seen_normal(point);
  float share = kp_trace_mirrored(pass, kp_f3_dot(normal, point->eye), n1, n2);
  if (pass->def->fresnel == KP_FRESNEL_GREY) {
    add(t, ray, kp_rgb_scale(kp_rgb_make(1.0f, 1.0f, 1.0f), share + (1.0f - share) * GREY));
    return;
  }
  path in = bent_path(t, ray, point, normal, n1, n2), out = mirrored_path(t, ray, point, normal);
  bool is_total = !(kp_f3_dot(in.direction, in.direction) > 0.0f);
  // a share that does not pay for a ray goes to the other
  float most = kp_maxf(ray->weight.r, kp_maxf(ray->weight.g, ray->weight.b));
  bool may_split = t->splits < SPLITS && t->n + 2 <= STACK;
  float least = ray->turns == 0 ? LEAST_FIRST : LEAST;
  if (is_total) {
    share = 1.0f;
  } else if (share * most < least || (!may_split && share < 0.5f)) {
    share = 0.0f;
  } else if ((1.0f - share) * most < LEAST || !may_split) {
    share = 1.0f;
  }
  t->splits += share > 0.0f && share < 1.0f ? 1 : 0;
  in.weight = kp_rgb_scale(ray->weight, 1.0f - share);
  out.weight = kp_rgb_scale(ray->weight, share);
  if (share < 1.0f) {
    push(t, &in);
  }
  if (share > 0.0f) {
    push(t, &out);
  }
}

// A thin pane: part of it is seen, the rest goes straight through.
static void meet_pane(tracer *t, path *ray, const kp_surface_point *point, float opacity) {
  path on = *ray;
  on.weight = kp_rgb_scale(ray->weight, opacity);
  add_solid(t, &on, point);
  ray->weight = kp_rgb_scale(ray->weight, 1.0f - opacity);
  ray->origin = kp_f3_madd(point->position, KP_TRACE_OFF * t->pass->ray_size, ray->direction);
  ++ray->turns;
  push(t, ray);
}

static void run(tracer *t) {
  const kp_pass *pass = t->pass;
  while (t->n > 0) {
    path ray = t->stack[--t->n];
    kp_ray_hit hit = cast(pass, ray.origin, ray.direction, HUGE_VALF, KP_RAY_SEEN);
    bool is_lost = hit.kind == KP_RAY_MISS || ray.turns >= TURNS_MOST;
    pass_medium(t, &ray, hit.t);
    pass_smoke(t, &ray, hit.t);
    pass_sprites(t, &ray, hit.t);
    if (is_lost) {
      add_sky(t, &ray);
      continue;
    }
    kp_surface_point point = resolve(pass, &ray, &hit);
    const kp_material *m = &pass->materials[point.material];
    if (m->is_clear) {
      meet_clear(t, &ray, &point);
    } else if (m->opacity < 1.0f && hit.kind == KP_RAY_TRIANGLE) {
      meet_pane(t, &ray, &point, m->opacity);
    } else {
      add_solid(t, &ray, &point);
    }
  }
}

kp_rgb kp_trace_clear(const kp_pass *pass, const kp_surface_point *point, float noise,
                      kp_volume_ray *rays, float *alpha) {
  tracer t = { .pass = pass, .noise = noise, .volumes = rays };
  path ray = { .direction = kp_f3_scale(point->eye, -1.0f), .weight = { 1.0f, 1.0f, 1.0f } };
  if (point->is_inside) {
    // the eye is under water
    ray.medium = point->material;
    pass_medium(&t, &ray, sqrtf(kp_f3_dot(point->position, point->position)));
  }
  meet_clear(&t, &ray, point);
  run(&t);
  *alpha = kp_clampf(t.seen, 0.0f, 1.0f);
  return t.color;
}

kp_rgb kp_trace_mirror(const kp_pass *pass, const kp_surface_point *point, kp_f3 direction,
                       float noise) {
  tracer t = { .pass = pass, .noise = noise, .splits = SPLITS };
  path ray = { .direction = direction, .weight = { 1.0f, 1.0f, 1.0f }, .turns = TURNS_MOST / 2 };
  ray.origin = kp_f3_madd(point->position, 10.0f * KP_TRACE_OFF * pass->ray_size, point->normal);
  ray.mirrored = true;
  push(&t, &ray);
  run(&t);
  return t.color;
}
