// Sunlight behind water and glass: their shadows, and the caustics in them.
//
// A lattice of rays from the sun goes through clear surfaces, bent by Snell's law and dimmed by
// Fresnel's shares and the colour of the liquid, to the first surface that is not clear. Between
// four neighbours that went the same way light is a beam, whose share of the light is that of its
// cell of the lattice, wherever it lands: what lands on a smaller place is brighter (Watt 1990,
// "Light-water interaction using backward beam tracing"). Where light lands is kept in a map in the
// sun's view (Wyman and Davis 2006, "Interactive image-space techniques for approximating
// caustics"): light per area of that view is irradiance over the cosine to the sun, so it takes the
// place of the shadow of any surface, and no light is lost on the way.
//
//   sun   | | | | | | |    lattice: first clear surface -> `water`, landing places -> texels
//   ~~~~~~\~|~/~~~~\|/~~
//   ______ \|/ _____|___   light of a texel: sum of the parts of beams that land there
//
// Each pass has a lattice of its own, shifted, from its own point of the sun's disc: with the
// passes penumbras become soft. Light that clear surfaces mirror is left out.
#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/optics.h"
#include "render/pass.h"

#define TURNS_MOST 8     // clear surfaces on the way of one ray
#define SIDE_LEAST 64.0  // rays along the lattice, and those by the size of the picture
#define SIDE_SHARE 0.25
#define SIDE_PREVIEW 0.6  // of it in a picture of one pass, which has no time for more
#define MARGIN 0.25f      // of the lattice around it, for light that lands beside
#define PARTS_MOST 12     // of a beam along one side
#define BEAM_MOST 24.0f   // texels between neighbours: farther apart they are no beam
#define ROWS 4

typedef struct landing {
  float x, y;         // texels
  kp_rgb light;       // share of the sun's
  uint16_t material;  // KP_MATERIAL_SKY: nowhere
  uint16_t turns;
} landing;

struct kp_caustics {
  kp_caustics_map map;  // view space
  float high;           // where rays start, towards the sun [m]
  int64_t capacity, rays_capacity;
  kp_caustics_texel *texels;
  landing *landings;
  float *water;
};

bool kp_caustics_are_wanted(const kp_pass *pass) {
  bool any = false;
  for (int i = KP_MATERIAL_FIRST; i < pass->n_materials; ++i) {
    any = any || pass->materials[i].has_caustics;
  }
  return any && kp_rgb_luminance(pass->light.sun_color) > 0.0f;
}

void kp_caustics_free(kp_pass *pass) {
  struct kp_caustics *c = pass->caustics;
  if (c != NULL) {
    kp_free(c->texels);
    kp_free(c->landings);
    kp_free(c->water);
    kp_free(c);
  }
}

// ---- the lattice

typedef struct extent {
  float low[3], high[3];  // right, down, towards the sun [m]
} extent;

static void grow(extent *e, const struct kp_caustics *c, kp_f3 p) {
  kp_f3 d = kp_f3_sub(p, c->map.origin);
  const float at[3] = { kp_f3_dot(d, c->map.right), kp_f3_dot(d, c->map.down),
                        kp_f3_dot(d, c->map.sun) };
  for (int a = 0; a < 3; ++a) {
    e->low[a] = kp_minf(e->low[a], at[a]);
    e->high[a] = kp_maxf(e->high[a], at[a]);
  }
}

// Around all clear meshes, as the sun sees them.
static extent clear_extent(const kp_pass *pass, const struct kp_caustics *c) {
  const kp_primitives *p = &pass->primitives;
  extent e;
  for (int a = 0; a < 3; ++a) {
    e.low[a] = HUGE_VALF;
    e.high[a] = -HUGE_VALF;
  }
  for (int k = 0; k < pass->scene->n_meshes; ++k) {
    if (!pass->materials[KP_MATERIAL_FIRST + pass->scene->n_points + k].has_caustics) {
      continue;
    }
    for (int64_t i = p->vertex_offsets[k]; i < p->vertex_offsets[k + 1]; ++i) {
      kp_f3 v = p->vertices[i];
      if (isfinite(v.x + v.y + v.z)) {
        grow(&e, c, v);
      }
    }
  }
  return e;
}

static kp_result fit(void **memory, int64_t *capacity, int64_t n, size_t element) {
  if (*capacity >= n) {
    return KP_OK;
  }
  kp_free(*memory);
  *capacity = 0;
  *memory = kp_alloc((size_t)n * element, KP_MEMORY_RENDER);
  if (*memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  *capacity = n;
  return KP_OK;
}

// Texels as wide as the rays are apart; false where there is nothing to light.
static bool set_lattice(kp_pass *pass, kp_vec3 sun) {
  struct kp_caustics *c = pass->caustics;
  kp_camera_frame frame = kp_camera_frame_along(kp_vec3_scale(sun, -1.0), pass->light.up);
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(pass->bounds.min, pass->bounds.max), 0.5);
  c->map.origin = kp_view_point(&pass->view, middle);
  c->map.right = kp_view_vector(&pass->view, frame.right);
  c->map.down = kp_view_vector(&pass->view, kp_vec3_scale(frame.up, -1.0));
  c->map.sun = kp_view_vector(&pass->view, sun);
  extent e = clear_extent(pass, c);
  float across = e.high[0] - e.low[0], along = e.high[1] - e.low[1];
  if (!(across > 0.0f) || !(along > 0.0f)) {
    return false;
  }
  double pixels = (double)pass->def->width * (double)pass->def->height;
  double side = SIDE_LEAST + SIDE_SHARE * sqrt(pixels);
  side *= pass->count == 1 ? SIDE_PREVIEW : 1.0;
  float shorter = kp_maxf(kp_minf(across, along), 0.1f * kp_maxf(across, along));
  c->map.scale = (float)side / sqrtf(shorter * kp_maxf(across, along));
  c->map.n_x = (int)(across * c->map.scale) + 3;
  c->map.n_y = (int)(along * c->map.scale) + 3;
  c->map.first_x = (int)(MARGIN * (float)c->map.n_x) + 2;
  c->map.first_y = (int)(MARGIN * (float)c->map.n_y) + 2;
  c->map.width = c->map.n_x + 2 * c->map.first_x;
  c->map.height = c->map.n_y + 2 * c->map.first_y;
  c->map.shift_x = kp_pass_turn(pass, 1, 0);
  c->map.shift_y = kp_pass_turn(pass, 0, 7);
  c->high = e.high[2] + 2.0f * pass->ray_size;
  // the corner of the first texel
  float edge = 1.0f / c->map.scale;
  c->map.origin =
      kp_f3_madd(c->map.origin, e.low[0] - edge * (float)(c->map.first_x + 1), c->map.right);
  c->map.origin =
      kp_f3_madd(c->map.origin, e.low[1] - edge * (float)(c->map.first_y + 1), c->map.down);
  return true;
}

// ---- one ray

typedef struct photon {
  kp_f3 origin, direction;
  kp_rgb light;
  int medium, outer;  // KP_MATERIAL_SKY: air
  int turns;
} photon;

static float index_of(const kp_pass *pass, int material) {
  return material == KP_MATERIAL_SKY ? 1.0f : pass->materials[material].refraction;
}

static void dim(const kp_pass *pass, photon *p, float metres) {
  if (p->medium != KP_MATERIAL_SKY) {
    kp_rgb taken = kp_rgb_scale(pass->materials[p->medium].absorbed, metres);
    p->light = kp_rgb_mul(p->light, kp_rgb_make(expf(-taken.r), expf(-taken.g), expf(-taken.b)));
  }
}

// Through a clear surface, or back where all is mirrored.
static void bend(const kp_pass *pass, photon *p, const kp_surface_point *point) {
  bool leaves = point->is_inside && p->medium == point->material;
  int to = leaves ? p->outer : point->is_inside ? p->medium : point->material;
  float n1 = index_of(pass, p->medium), n2 = index_of(pass, to);
  kp_f3 normal = point->normal;
  if (kp_f3_dot(normal, p->direction) > -0.02f) {
    normal = point->face;
  }
  kp_f3 in = kp_refract(p->direction, normal, n1, n2);
  float side = -1.0f;
  if (kp_f3_dot(in, in) > 0.0f && kp_f3_dot(in, point->face) < 0.0f) {
    float share =
        kp_fresnel_share((int)pass->def->fresnel, -kp_f3_dot(normal, p->direction), n1, n2);
    p->light = kp_rgb_scale(p->light, 1.0f - share);
    p->direction = in;
    p->outer = leaves ? KP_MATERIAL_SKY : point->is_inside ? p->outer : p->medium;
    p->medium = to;
  } else {
    p->direction = kp_reflect(p->direction, normal);
    side = 1.0f;
    if (kp_f3_dot(p->direction, point->face) <= 0.0f) {
      p->light = kp_rgb_make(0.0f, 0.0f, 0.0f);
    }
  }
  p->origin = kp_f3_madd(point->position, side * KP_OPTICS_OFF * pass->ray_size, point->face);
  ++p->turns;
}

// What a liquid lies on gets its light without a gap of air.
static bool meets_wetted(const kp_pass *pass, const photon *p, const kp_surface_point *point,
                         kp_surface_point *wetted) {
  kp_f3 start = kp_f3_madd(point->position, -KP_OPTICS_OFF * pass->ray_size, point->face);
  float metres;
  if (!point->is_inside || p->medium != point->material ||
      !kp_trace_meet(pass, start, p->direction, KP_OPTICS_TOUCH * pass->ray_size, wetted,
                     &metres)) {
    return false;
  }
  const kp_material *m = &pass->materials[wetted->material];
  return !m->is_clear && m->opacity >= 1.0f;
}

static void land(const struct kp_caustics *c, const photon *p, const kp_surface_point *point,
                 landing *out) {
  kp_f3 d = kp_f3_sub(point->position, c->map.origin);
  *out = (landing){ kp_f3_dot(d, c->map.right) * c->map.scale,
                    kp_f3_dot(d, c->map.down) * c->map.scale, p->light, point->material,
                    (uint16_t)p->turns };
}

// Depths grow away from the sun.
static void follow(const kp_pass *pass, photon *p, landing *out, float *water) {
  const struct kp_caustics *c = pass->caustics;
  *out = (landing){ .material = KP_MATERIAL_SKY };
  *water = HUGE_VALF;
  kp_surface_point point, wetted;
  float metres;
  while (p->turns < TURNS_MOST &&
         kp_trace_meet(pass, p->origin, p->direction, HUGE_VALF, &point, &metres)) {
    const kp_material *m = &pass->materials[point.material];
    if (p->turns == 0 && !m->has_caustics) {
      return;
    }
    dim(pass, p, metres);
    if (p->turns == 0) {
      *water = -kp_f3_dot(kp_f3_sub(point.position, c->map.origin), c->map.sun);
    }
    if (m->is_clear) {
      if (meets_wetted(pass, p, &point, &wetted)) {
        land(c, p, &wetted, out);
        return;
      }
      bend(pass, p, &point);
    } else if (m->opacity < 1.0f) {
      // a pane
      p->light = kp_rgb_scale(p->light, 1.0f - m->opacity);
      p->origin = kp_f3_madd(point.position, KP_OPTICS_OFF * pass->ray_size, p->direction);
      ++p->turns;
    } else {
      land(c, p, &point, out);
      return;
    }
  }
}

static void follow_rows(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  const struct kp_caustics *c = pass->caustics;
  float edge = 1.0f / c->map.scale;
  for (int64_t j = begin; j < end; ++j) {
    for (int i = 0; i < c->map.n_x; ++i) {
      photon p = { .direction = kp_f3_scale(c->map.sun, -1.0f), .light = { 1.0f, 1.0f, 1.0f } };
      p.origin = kp_f3_madd(c->map.origin, edge * ((float)(c->map.first_x + i) + c->map.shift_x),
                            c->map.right);
      p.origin =
          kp_f3_madd(p.origin, edge * ((float)(c->map.first_y + j) + c->map.shift_y), c->map.down);
      p.origin = kp_f3_madd(p.origin, c->high, c->map.sun);
      follow(pass, &p, &c->landings[j * c->map.n_x + i], &c->water[j * c->map.n_x + i]);
    }
  }
}

// ---- the map

static void add_light(kp_caustics_texel *t, uint16_t material, kp_rgb light, float share) {
  for (int k = 0; k < KP_CAUSTICS_LAYERS; ++k) {
    if (t->material[k] == material || t->material[k] == KP_MATERIAL_SKY) {
      t->material[k] = material;
      t->light[k] = kp_rgb_add(t->light[k], kp_rgb_scale(light, share));
      return;
    }
  }
}

// Into the four texels around, whose middles are at halves.
static void splat(struct kp_caustics *c, const landing *l, float share) {
  float x = l->x - 0.5f, y = l->y - 0.5f;
  if (!(x >= 0.0f && y >= 0.0f && x < (float)(c->map.width - 1) &&
        y < (float)(c->map.height - 1))) {
    return;
  }
  int i = (int)x, j = (int)y;
  float fx = x - (float)i, fy = y - (float)j;
  kp_caustics_texel *t = c->texels + (int64_t)j * c->map.width + i;
  add_light(t, l->material, l->light, share * (1.0f - fx) * (1.0f - fy));
  add_light(t + 1, l->material, l->light, share * fx * (1.0f - fy));
  add_light(t + c->map.width, l->material, l->light, share * (1.0f - fx) * fy);
  add_light(t + c->map.width + 1, l->material, l->light, share * fx * fy);
}

static float distance(const landing *a, const landing *b) {
  float x = a->x - b->x, y = a->y - b->y;
  return sqrtf(x * x + y * y);
}

// Texels along the longest side of a beam; < 0: its corners went different ways.
static float beam_size(const landing *const corners[4]) {
  for (int k = 1; k < 4; ++k) {
    if (corners[k]->material != corners[0]->material || corners[k]->turns != corners[0]->turns) {
      return -1.0f;
    }
  }
  float most = kp_maxf(distance(corners[0], corners[1]), distance(corners[2], corners[3]));
  most = kp_maxf(most, distance(corners[0], corners[2]));
  most = kp_maxf(most, distance(corners[1], corners[3]));
  return most <= BEAM_MOST ? most : -1.0f;
}

static landing mix(const landing *a, const landing *b, float t) {
  landing l = *a;
  l.x += t * (b->x - a->x);
  l.y += t * (b->y - a->y);
  l.light = kp_rgb_mix(a->light, b->light, t);
  return l;
}

// The light of one cell of the lattice: a beam in so many parts that they lie closer than texels,
// or its four corners on their own.
static void lay_beam(struct kp_caustics *c, const landing *const corners[4]) {
  float size = beam_size(corners);
  if (size < 0.0f) {
    for (int k = 0; k < 4; ++k) {
      if (corners[k]->material != KP_MATERIAL_SKY) {
        splat(c, corners[k], 0.25f);
      }
    }
    return;
  }
  if (corners[0]->material == KP_MATERIAL_SKY) {
    return;
  }
  int n = (int)ceilf(2.0f * size);
  n = n < 2 ? 2 : n > PARTS_MOST ? PARTS_MOST : n;
  float share = 1.0f / (float)(n * n);
  for (int j = 0; j < n; ++j) {
    float fy = ((float)j + 0.5f) / (float)n;
    landing left = mix(corners[0], corners[2], fy), right = mix(corners[1], corners[3], fy);
    for (int i = 0; i < n; ++i) {
      landing l = mix(&left, &right, ((float)i + 0.5f) / (float)n);
      splat(c, &l, share);
    }
  }
}

kp_result kp_caustics_render(kp_pass *pass, kp_vec3 sun) {
  if (!kp_caustics_are_wanted(pass)) {
    return KP_OK;
  }
  if (pass->caustics == NULL) {
    pass->caustics = kp_alloc_zero(sizeof *pass->caustics, KP_MEMORY_RENDER);
    if (pass->caustics == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  struct kp_caustics *c = pass->caustics;
  if (!set_lattice(pass, sun)) {
    c->map.n_x = c->map.n_y = c->map.width = c->map.height = 0;
    return KP_OK;
  }
  int64_t n = (int64_t)c->map.width * c->map.height, n_rays = (int64_t)c->map.n_x * c->map.n_y;
  int64_t of_water = c->rays_capacity;
  KP_TRY(fit((void **)&c->texels, &c->capacity, n, sizeof *c->texels));
  KP_TRY(fit((void **)&c->water, &of_water, n_rays, sizeof *c->water));
  KP_TRY(fit((void **)&c->landings, &c->rays_capacity, n_rays, sizeof *c->landings));
  memset(c->texels, 0, (size_t)n * sizeof *c->texels);
  c->map.texels = c->texels;
  c->map.water = c->water;
  kp_parallel_for(c->map.n_y, ROWS, follow_rows, pass);
  for (int j = 0; j + 1 < c->map.n_y; ++j) {
    for (int i = 0; i + 1 < c->map.n_x; ++i) {
      const landing *l = c->landings + (int64_t)j * c->map.n_x + i;
      const landing *const corners[4] = { l, l + 1, l + c->map.n_x, l + c->map.n_x + 1 };
      lay_beam(c, corners);
    }
  }
  return KP_OK;
}

const kp_caustics_map *kp_caustics_get(const kp_pass *pass) {
  return pass->caustics != NULL ? &pass->caustics->map : NULL;
}
