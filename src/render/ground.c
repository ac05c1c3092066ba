// The ground: an endless plane under the bounds with a quiet pattern that tells size, fading into
// the horizon so that no edge is seen.
#include <math.h>

#include "render/pass.h"

static double along_up(const kp_pass *pass, kp_vec3 p) {
  return kp_vec3_dot(p, pass->light.up);
}

// 1, 2 or 5 times a power of ten, at most v.
static double round_length(double v) {
  double power = pow(10.0, floor(log10(v)));
  double head = v / power;
  return power * (head >= 5.0 ? 5.0 : head >= 2.0 ? 2.0 : 1.0);
}

void kp_ground_set(kp_pass *pass) {
  kp_ground_plane *g = &pass->ground;
  kp_vec3 size = kp_vec3_sub(pass->bounds.max, pass->bounds.min);
  double diagonal = kp_vec3_length(size);
  // a hair under the bounds, so that what lies on their floor is not cut by it
  g->height = along_up(pass, pass->bounds.min) + pass->def->ground_height - 5e-4 * diagonal;
  g->square = round_length(0.15 * diagonal);
  g->fade = 3.0 * diagonal;
  g->normal = pass->up;
  double eye = along_up(pass, pass->view.origin) - g->height;
  g->offset = (float)-eye;
  bool wanted = pass->def->ground != KP_GROUND_NONE && !pass->def->transparent;
  g->on = wanted && eye > 0.0;
}

// Depth where the ray z (u, v, 1) meets the plane; infinite when it does not.
float kp_ground_depth(const kp_pass *pass, float u, float v) {
  const kp_ground_plane *g = &pass->ground;
  float slope = kp_f3_dot(g->normal, kp_f3_make(u, v, 1.0f));
  if (!g->on || slope >= -1e-6f) {
    return HUGE_VALF;
  }
  return g->offset / slope;
}

// Coordinates on the plane from below the middle of the bounds.
static void plane_coordinates(const kp_pass *pass, kp_f3 position, double *a, double *b) {
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(pass->bounds.min, pass->bounds.max), 0.5);
  kp_vec3 d = kp_vec3_sub(kp_view_to_world(&pass->view, position), middle);
  *a = d.x;
  *b = pass->scene->up == KP_UP_Z ? d.y : d.z;
}

kp_rgb kp_ground_albedo(const kp_pass *pass, kp_f3 position) {
  const kp_ground_plane *g = &pass->ground;
  kp_rgb base = pass->light.ground;
  double a, b;
  plane_coordinates(pass, position, &a, &b);
  a /= g->square;
  b /= g->square;
  // what one pixel spans, in squares
  double facing = fabs((double)kp_f3_dot(g->normal, kp_f3_normalize(position)));
  double span = (double)position.z / (double)pass->view.scale / g->square / fmax(facing, 1e-3);
  return kp_shading_ground(base, pass->def->ground, a, b, span);
}

// 0 near the scene, 1 where the ground has become horizon.
float kp_ground_fade(const kp_pass *pass, kp_f3 position) {
  double a, b;
  plane_coordinates(pass, position, &a, &b);
  return kp_shading_ground_fade(a, b, pass->ground.fade);
}
