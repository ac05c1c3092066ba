// Clear liquids: a closed mesh that mirrors the sky (Fresnel's law), bends what is seen through it
// (Snell's law, once, where the eye's ray comes in) and takes in and scatters light on the way
// through. What lies behind is looked up in the picture at the place the bent ray comes out, as in
// van der Laan, Green and Sainz 2009.
#include <math.h>

#include "render/pass.h"

#define ETA (1.0f / 1.333f)  // refraction of air over that of water
#define MIRRORED 0.04f       // share of light that water mirrors when it falls straight on it
#define SHININESS 250.0f     // exponent of the sun's highlight
#define TRACE_STEPS 64       // of a bent ray through the scene
#define MILKY 0.16f         // share of light that the surface scatters: it shows the shape of waves
#define PARTS_OF_SCENE 8.0  // a scene's length of water takes out all but exp(-8) of the light
#define SCATTERED 0.75f     // of what is taken out

void kp_water_set(kp_material *material, const kp_look_def *look, double size) {
  float k = (float)(isnan(look->density) ? PARTS_OF_SCENE / size : look->density);
  kp_rgb c = material->color;
  // a colour is what is left of white after a while: what it lacks is taken out faster
  material->absorbed = kp_rgb_make(-k * logf(kp_maxf(c.r, 0.02f)), -k * logf(kp_maxf(c.g, 0.02f)),
                                   -k * logf(kp_maxf(c.b, 0.02f)));
  material->absorbed = kp_rgb_scale(material->absorbed, 1.0f / 2.3f);
  material->is_water = true;
}

// Share that is mirrored at the angle whose cosine is given (Schlick 1994).
static float fresnel(float cosine) {
  float grazing = 1.0f - cosine, square = grazing * grazing;
  return MIRRORED + (1.0f - MIRRORED) * square * square * grazing;
}

// What is mirrored: a sky that is bright at the horizon and darkens upwards more than the one
// behind the scene, which gives waves their shape; the lit ground where the mirrored ray goes down.
static kp_rgb mirror(const kp_pass *pass, const kp_surface_point *point, kp_f3 eye) {
  float facing = kp_f3_dot(point->normal, eye);
  kp_f3 ray = kp_f3_sub(kp_f3_scale(point->normal, 2.0f * facing), eye);
  float up = kp_f3_dot(ray, pass->up);
  kp_rgb horizon = kp_rgb_scale(pass->light.horizon, 1.15f);
  if (up < 0.0f) {
    kp_rgb lit = kp_rgb_add(kp_rgb_scale(pass->light.sun_color, 0.5f), pass->light.ambient_up);
    kp_rgb ground = kp_rgb_scale(kp_rgb_mul(lit, pass->light.ground), 0.6f);
    return kp_rgb_mix(horizon, ground, kp_minf(-5.0f * up, 1.0f));
  }
  kp_rgb high = kp_rgb_mul(pass->light.zenith, kp_rgb_make(0.45f, 0.60f, 0.80f));
  float t = 1.0f - (1.0f - up) * (1.0f - up) * (1.0f - up);
  return kp_rgb_mix(horizon, high, t);
}

static kp_rgb diffuse(const kp_pass *pass, const kp_surface_point *point) {
  float cosine = kp_maxf(kp_f3_dot(point->normal, pass->sun), 0.0f);
  float sun = cosine > 0.0f ? cosine * kp_shadow_at(pass, point->position) : 0.0f;
  kp_rgb light = kp_rgb_add(kp_rgb_scale(pass->light.sun_color, sun),
                            kp_light_ambient(&pass->light, kp_f3_dot(point->normal, pass->up)));
  kp_rgb pale = kp_rgb_mix(point->albedo, kp_rgb_make(1.0f, 1.0f, 1.0f), 0.35f);
  return kp_rgb_mul(light, pale);
}

static kp_rgb highlight(const kp_pass *pass, const kp_surface_point *point, kp_f3 eye) {
  kp_f3 half = kp_f3_normalize(kp_f3_add(eye, pass->sun));
  float peak = kp_clampf(kp_f3_dot(point->normal, half), 0.0f, 1.0f);
  float shine = 0.03f * (SHININESS + 8.0f) / 8.0f * powf(peak, SHININESS);
  if (shine > 1e-3f) {
    shine *= kp_shadow_at(pass, point->position);
  }
  return kp_rgb_scale(pass->light.sun_color, shine);
}

kp_fragment kp_water_shade(const kp_pass *pass, const kp_surface_point *point) {
  kp_f3 eye = kp_f3_normalize(kp_f3_scale(point->position, -1.0f));
  float facing = kp_clampf(kp_f3_dot(point->normal, eye), 0.0f, 1.0f);
  float mirrored = fresnel(facing), milky = (1.0f - mirrored) * MILKY;
  kp_fragment f = { .is_water = true, .material = point->material, .normal = point->normal };
  f.alpha = mirrored + milky;
  f.color = kp_rgb_scale(mirror(pass, point, eye), mirrored);
  f.color = kp_rgb_add(f.color, kp_rgb_scale(diffuse(pass, point), milky));
  // not weakened by the Fresnel term, which its own small share stands for
  f.color = kp_rgb_add(f.color, highlight(pass, point, eye));
  f.color = kp_rgb_scale(f.color, 1.0f / f.alpha);
  return f;
}

void kp_water_pass(const kp_pass *pass, const kp_material *material, kp_f3 place, float metres,
                   kp_march *march) {
  kp_rgb taken = kp_rgb_scale(material->absorbed, metres);
  kp_rgb left = kp_rgb_make(expf(-taken.r), expf(-taken.g), expf(-taken.b));
  float sun = 0.45f * kp_shadow_at(pass, place);
  kp_rgb light = kp_rgb_add(kp_rgb_scale(pass->light.sun_color, sun),
                            kp_rgb_scale(pass->light.ambient_up, 0.7f));
  // light of a colour comes back as far as it is not taken in on the way
  kp_rgb back = kp_rgb_mul(kp_rgb_mul(light, material->color),
                           kp_rgb_make(1.0f - left.r, 1.0f - left.g, 1.0f - left.b));
  back = kp_rgb_mul(kp_rgb_scale(back, SCATTERED * march->transmittance), march->tint);
  march->color = kp_rgb_add(march->color, back);
  march->tint = kp_rgb_mul(march->tint, left);
}

// The direction after the surface; never total from air into water.
static kp_f3 refract(kp_f3 ray, kp_f3 normal) {
  float cosine = kp_clampf(-kp_f3_dot(ray, normal), 0.0f, 1.0f);
  float k = 1.0f - ETA * ETA * (1.0f - cosine * cosine);
  return kp_f3_normalize(kp_f3_madd(kp_f3_scale(ray, ETA), ETA * cosine - sqrtf(k), normal));
}

// A point of the picture in front of which nothing stands that the water is behind.
static bool find_pixel(const kp_pass *pass, kp_f3 p, float nearest, int *x, int *y, float *depth) {
  if (!(p.z > pass->view.nearest)) {
    return false;
  }
  *x = (int)floorf(p.x / p.z * pass->view.scale + pass->view.axis_x);
  *y = (int)floorf(p.y / p.z * pass->view.scale + pass->view.axis_y);
  if (*x < 0 || *y < 0 || *x >= pass->view.width || *y >= pass->view.height) {
    return false;
  }
  *depth = pass->surfaces.depth[(int64_t)*y * pass->view.width + *x];
  return *depth >= nearest;
}

static void bend(const kp_pass *pass, kp_f3 place, kp_f3 normal, float metres, int *x, int *y) {
  kp_f3 ray = refract(kp_f3_normalize(place), normal);
  kp_f3 end = kp_f3_madd(place, metres, ray);
  if (!(end.z > pass->view.nearest)) {
    return;
  }
  int px = (int)floorf(end.x / end.z * pass->view.scale + pass->view.axis_x);
  int py = (int)floorf(end.y / end.z * pass->view.scale + pass->view.axis_y);
  if (px < 0 || py < 0 || px >= pass->view.width || py >= pass->view.height) {
    return;
  }
  // what stands before the water is not seen through it
  if (pass->surfaces.depth[(int64_t)py * pass->view.width + px] >= place.z) {
    *x = px;
    *y = py;
  }
}

void kp_water_trace(const kp_pass *pass, kp_f3 place, kp_f3 normal, float noise, float most,
                    float *metres, int *x, int *y) {
  kp_f3 ray = refract(kp_f3_normalize(place), normal);
  kp_vec3 size = kp_vec3_sub(pass->bounds.max, pass->bounds.min);
  float step = (float)kp_vec3_length(size) / TRACE_STEPS, far = 0.0f;
  for (int i = 0; i < TRACE_STEPS && far < most; ++i) {
    float s = ((float)i + noise) * step, depth;
    int px, py;
    kp_f3 p = kp_f3_madd(place, s, ray);
    if (!find_pixel(pass, p, place.z, &px, &py, &depth)) {
      continue;
    }
    // behind what is seen there, but not so far that it went by behind it
    if (p.z >= depth && p.z - depth < 2.0f * step) {
      float lo = far, hi = s;
      for (int turn = 0; turn < 4; ++turn) {
        float middle = 0.5f * (lo + hi), at;
        int mx, my;
        kp_f3 q = kp_f3_madd(place, middle, ray);
        bool is_behind = find_pixel(pass, q, place.z, &mx, &my, &at) && q.z >= at;
        lo = is_behind ? lo : middle;
        hi = is_behind ? middle : hi;
        px = is_behind ? mx : px;
        py = is_behind ? my : py;
      }
      *metres = hi;
      *x = px;
      *y = py;
      return;
    }
    far = s;
  }
  *metres = most < (float)kp_vec3_length(size) ? most : *metres;
  bend(pass, place, normal, *metres, x, y);
}
