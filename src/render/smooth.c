// Two filters over the picture that make a heap of particles read as one body.
//
// Body normals: the depth of a particle set is smoothed where neighbours belong together, and
// normals are taken from the smoothed depth (van der Laan, Green and Sainz 2009, "Screen space
// fluid rendering with curvature flow"; the cut-off at depth steps follows Truong and Yuksel 2018,
// "A narrow-range filter for screen-space fluid rendering"). They are mixed with the balls' own.
//
// Occlusion: how much of the sky a point misses, estimated from the depth around it (McGuire et al.
// 2011, "The Alchemy screen-space ambient obscurance algorithm").
#include <math.h>

#include "par/parallel.h"
#include "render/pass.h"

#define ROWS 4
#define REACH_LIMIT 20
#define SPIRAL_TURNS 3.0f

static const kp_material *body_at(const kp_pass *pass, int64_t i) {
  const kp_material *m = &pass->materials[pass->surfaces.materials[i]];
  return m->radius > 0.0f && m->smooth > 0.0f ? m : NULL;
}

typedef struct filter_context {
  const kp_pass *pass;
  const float *in;
  float *out;
  bool down;  // along columns
} filter_context;

// Mean depth along a row or column over pixels of the same body at about the same depth.
static float filter_pixel(const filter_context *c, const kp_material *body, int x, int y) {
  const kp_view *view = &c->pass->view;
  const uint16_t *materials = c->pass->surfaces.materials;
  int64_t at = (int64_t)y * view->width + x, stride = c->down ? view->width : 1;
  int place = c->down ? y : x, limit = c->down ? view->height : view->width;
  float z = c->in[at];
  int reach = (int)(3.0f * body->radius * view->scale / z + 1.5f);
  reach = reach > REACH_LIMIT ? REACH_LIMIT : reach;
  int low = place - reach < 0 ? -place : -reach;
  int high = place + reach >= limit ? limit - 1 - place : reach;
  float range = 5.0f * body->radius, sum = 0.0f, weight_sum = 0.0f;
  float falloff = 2.0f / (float)(reach * reach);
  for (int k = low; k <= high; ++k) {
    int64_t i = at + k * stride;
    float dz = c->in[i] - z;
    if (materials[i] != materials[at] || dz > range || dz < -range) {
      continue;
    }
    float w = 1.0f - falloff * 0.5f * (float)(k * k) * 0.95f;
    w *= w;
    sum += w * dz;
    weight_sum += w;
  }
  return z + sum / weight_sum;
}

static void filter_rows(int64_t begin, int64_t end, void *context) {
  const filter_context *c = context;
  int width = c->pass->view.width;
  for (int y = (int)begin; y < (int)end; ++y) {
    for (int x = 0; x < width; ++x) {
      int64_t i = (int64_t)y * width + x;
      const kp_material *body = body_at(c->pass, i);
      c->out[i] = body != NULL ? filter_pixel(c, body, x, y) : c->in[i];
    }
  }
}

// Step of the view position to a neighbour, taken on the side where the depth changes less.
static kp_f3 smaller_step(const kp_view *view, const float *depth, int x, int y, bool down) {
  int64_t i = (int64_t)y * view->width + x, stride = down ? view->width : 1;
  int dx = down ? 0 : 1, dy = down ? 1 : 0;
  int place = down ? y : x, limit = down ? view->height : view->width;
  float z = depth[i];
  float ahead = place + 1 < limit ? depth[i + stride] : HUGE_VALF;
  float behind = place > 0 ? depth[i - stride] : HUGE_VALF;
  kp_f3 here = kp_view_unproject(view, x, y, z);
  if (fabsf(ahead - z) < fabsf(behind - z)) {
    return kp_f3_sub(kp_view_unproject(view, x + dx, y + dy, ahead), here);
  }
  return kp_f3_sub(here, kp_view_unproject(view, x - dx, y - dy, behind));
}

static void mix_normals(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  const kp_view *view = &pass->view;
  for (int y = (int)begin; y < (int)end; ++y) {
    for (int x = 0; x < view->width; ++x) {
      int64_t i = (int64_t)y * view->width + x;
      const kp_material *body = body_at(pass, i);
      if (body == NULL) {
        continue;
      }
      kp_f3 dx = smaller_step(view, pass->surfaces.smooth_b, x, y, false);
      kp_f3 dy = smaller_step(view, pass->surfaces.smooth_b, x, y, true);
      kp_f3 n = kp_f3_cross(dy, dx);  // towards the eye
      if (!isfinite(n.x + n.y + n.z)) {
        continue;
      }
      n = kp_f3_normalize(n);
      kp_f3 own = kp_f3_scale(pass->surfaces.normals[i], 1.0f - body->smooth);
      n = kp_f3_normalize(kp_f3_madd(own, body->smooth, n));
      pass->surfaces.normals[i] = n;
    }
  }
}

void kp_smooth_set_taps(kp_pass *pass) {
  kp_taps *taps = &pass->occlusion_taps;
  taps->n = pass->count >= 8 ? 5 : 12;
  for (int i = 0; i < taps->n; ++i) {
    float angle = 6.2831853f * SPIRAL_TURNS * (float)i / (float)taps->n;
    taps->at[i] = kp_f3_make(cosf(angle), sinf(angle), 0.0f);
  }
}

static float occlusion_at(const kp_pass *pass, int x, int y) {
  const kp_view *view = &pass->view;
  const kp_surfaces *s = &pass->surfaces;
  int64_t at = (int64_t)y * view->width + x;
  kp_f3 p = kp_view_unproject(view, x, y, s->depth[at]);
  kp_f3 n = s->normals[at];
  float reach = pass->occlusion_reach * view->scale / p.z;
  reach = kp_clampf(reach, 3.0f, 0.15f * (float)view->height + 3.0f);
  float turn = 6.2831853f * kp_pass_noise(pass, x, y, 1), start = kp_pass_noise(pass, x, y, 2);
  float c = cosf(turn), t = sinf(turn);
  const kp_taps *taps = &pass->occlusion_taps;
  float sum = 0.0f;
  float small = 0.01f * pass->occlusion_reach;
  for (int i = 0; i < taps->n; ++i) {
    float part = ((float)i + start) / (float)taps->n;
    kp_f3 d = kp_f3_scale(taps->at[i], reach * part);
    int qx = x + (int)lrintf(c * d.x - t * d.y);
    int qy = y + (int)lrintf(t * d.x + c * d.y);
    if (qx < 0 || qy < 0 || qx >= view->width || qy >= view->height) {
      continue;
    }
    float z = s->depth[(int64_t)qy * view->width + qx];
    if (!(z < HUGE_VALF)) {
      continue;
    }
    kp_f3 v = kp_f3_sub(kp_view_unproject(view, qx, qy, z), p);
    float vv = kp_f3_dot(v, v), vn = kp_f3_dot(v, n) - 0.002f * p.z;
    float near = 1.0f - vv / (4.0f * pass->occlusion_reach * pass->occlusion_reach);
    if (vn > 0.0f && near > 0.0f) {
      // the taps crowd the centre; weigh by the ring each stands for
      sum += part * near * vn / (sqrtf(vv) + small);
    }
  }
  float closed = 2.6f * sum / (float)taps->n;
  float open = 1.0f / (1.0f + closed * closed * 1.5f + closed);
  return 1.0f - (float)pass->def->occlusion * (1.0f - open);
}

static void occlude_rows(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  int width = pass->view.width;
  for (int y = (int)begin; y < (int)end; ++y) {
    for (int x = 0; x < width; ++x) {
      int64_t i = (int64_t)y * width + x;
      bool sky = pass->surfaces.materials[i] == KP_MATERIAL_SKY;
      pass->surfaces.occlusion[i] = sky ? 1.0f : occlusion_at(pass, x, y);
    }
  }
}

// With few passes the noise of the taps would show: mean over 5 x 5 pixels of similar depth.
static void calm_rows(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  const kp_view *view = &pass->view;
  const kp_surfaces *s = &pass->surfaces;
  for (int y = (int)begin; y < (int)end; ++y) {
    for (int x = 0; x < view->width; ++x) {
      int64_t at = (int64_t)y * view->width + x;
      float z = s->depth[at], sum = s->occlusion[at], weight = 1.0f;
      for (int j = y > 2 ? y - 2 : 0; j <= y + 2 && j < view->height; ++j) {
        for (int i = x > 2 ? x - 2 : 0; i <= x + 2 && i < view->width; ++i) {
          int64_t k = (int64_t)j * view->width + i;
          bool same = fabsf(s->depth[k] - z) < 0.5f * pass->occlusion_reach;
          sum += same ? s->occlusion[k] : 0.0f;
          weight += same ? 1.0f : 0.0f;
        }
      }
      s->smooth_a[at] = sum / weight;
    }
  }
}

void kp_smooth_render(kp_pass *pass) {
  kp_surfaces *s = &pass->surfaces;
  int height = pass->view.height;
  filter_context across = { pass, s->depth, s->smooth_a, false };
  filter_context down = { pass, s->smooth_a, s->smooth_b, true };
  kp_parallel_for(height, ROWS, filter_rows, &across);
  kp_parallel_for(height, ROWS, filter_rows, &down);
  kp_parallel_for(height, ROWS, mix_normals, pass);
  kp_parallel_for(height, ROWS, occlude_rows, pass);
  if (pass->count < 8) {
    kp_parallel_for(height, ROWS, calm_rows, pass);
    float *swap = s->occlusion;
    s->occlusion = s->smooth_a;
    s->smooth_a = swap;
  }
}
