// Depth of field and motion blur by the passes (Haeberli and Akeley 1990, "The accumulation buffer:
// hardware support for high-quality rendering"): each pass looks from another place of the lens
// with the plane of focus held still, at another moment of the time the shutter is open.
#include <math.h>

#include "render/pass.h"

#define GOLDEN_ANGLE 2.399963229728653
#define PI 3.14159265358979323846

static double mirrored(int k, int base) {
  double value = 0.0, digit = 1.0;
  for (; k > 0; k /= base) {
    digit /= base;
    value += digit * (k % base);
  }
  return value;
}

// Pass k of n in another order: its rank among the mirrored digits of all. Place on the lens,
// moment and place on the sun (which goes by k) each have an order of their own, so that none of
// them follows another.
static int shuffled(int k, int n, int base) {
  double own = mirrored(k, base);
  int rank = 0;
  for (int i = 0; i < n; ++i) {
    rank += mirrored(i, base) < own ? 1 : 0;
  }
  return rank;
}

kp_lens_sample kp_lens_sample_of(int k, int n) {
  kp_lens_sample s = { 0.0, 0.0, 0.0 };
  if (n > 1) {
    // a golden-angle spiral (Vogel 1979) fills the disc evenly for any n; moments are the middles
    // of n equal parts of the opening
    int at = shuffled(k, n, 2);
    double r = sqrt((at + 0.5) / n), angle = GOLDEN_ANGLE * at + 0.5 * PI;
    s.x = r * cos(angle);
    s.y = r * sin(angle);
    s.moment = (shuffled(k, n, 7) + 0.5) / n - 0.5;
  }
  return s;
}

void kp_lens_apply(kp_pass *pass) {
  const kp_render_def *def = pass->def;
  kp_lens_sample s = kp_lens_sample_of(pass->index, pass->count);
  pass->moment = s.moment * def->shutter * pass->scene->interval;
  if (!(def->aperture > 0.0)) {
    return;
  }
  kp_view *view = &pass->view;
  kp_vec3 way = kp_vec3_sub(pass->camera.target, pass->camera.position);
  double focus = def->focus > 0.0 ? def->focus : kp_vec3_dot(way, view->frame.forward);
  double right = 0.5 * def->aperture * s.x, up = 0.5 * def->aperture * s.y;
  view->origin = kp_vec3_madd(view->origin, right, view->frame.right);
  view->origin = kp_vec3_madd(view->origin, up, view->frame.up);
  // what lies at the distance of focus keeps its pixel; rows grow downwards
  view->axis_x += (float)(right * (double)view->scale / focus);
  view->axis_y -= (float)(up * (double)view->scale / focus);
}
