// Smoke by half-angle slices with shadows (Ikits, Kniss, Lefohn and Hansen 2004, GPU Gems chapter
// 39; Lyes 2015, Listings 7.5 and 7.6), for comparison with marched rays.
//
// The volume is cut square to the vector half way between the direction to the sun and that to the
// eye, so that one order of slices is the order of the light and that of the view. Each slice is
// first drawn to the eye, shaded by the optical depth that the slices before it left in the sun's
// buffer, and then added to that buffer. Where the eye looks against the sun the vector to the eye
// is turned around (the listing forgets this): slices still go away from the sun, and are laid over
// each other from back to front.
#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"

#define TEXELS_MOST 2048

struct kp_slices {
  kp_slice_pixel *pixels;  // of the picture
  float *depth;            // optical depth from the sun to the middle of the slice
  float *part;             // and that of the slice itself
  int width, height;       // of the sun's buffer
  kp_vec3 middle, half;    // of the box of all sliced volumes
  kp_camera_frame sun;     // forward points away from the sun
  double texel, spacing;   // [m]
  // of this pass
  kp_vec3 axis;      // square to the slices, towards the sun
  double at;         // of the slice that is drawn, along the axis from the middle [m]
  bool front_first;  // as the eye sees them
  kp_f3 eye_axis, eye_right, eye_up;  // axis and directions of the sun's buffer in view space
  kp_f3 eye_middle;
  kp_tile_box seen;  // pixels that may see the box
};

static bool is_sliced(const kp_pass *pass) {
  for (int k = 0; k < pass->n_volumes; ++k) {
    if (pass->grids[k].is_sliced) {
      return true;
    }
  }
  return false;
}

static double width_along(kp_vec3 half, kp_vec3 d) {
  return half.x * fabs(d.x) + half.y * fabs(d.y) + half.z * fabs(d.z);
}

static kp_result create_buffers(kp_pass *pass) {
  struct kp_slices *s = pass->slices;
  size_t n = (size_t)pass->def->width * (size_t)pass->def->height;
  s->pixels = kp_alloc(n * sizeof *s->pixels, KP_MEMORY_RENDER);
  size_t texels = (size_t)s->width * (size_t)s->height;
  s->depth = kp_alloc(texels * sizeof *s->depth, KP_MEMORY_RENDER);
  s->part = kp_alloc(texels * sizeof *s->part, KP_MEMORY_RENDER);
  return s->pixels != NULL && s->depth != NULL && s->part != NULL ? KP_OK : KP_ERROR_MEMORY;
}

kp_result kp_slices_create(kp_pass *pass) {
  if (!is_sliced(pass)) {
    return KP_OK;
  }
  struct kp_slices *s = pass->slices = kp_alloc_zero(sizeof *s, KP_MEMORY_RENDER);
  if (s == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_aabb box = kp_aabb_empty();
  double cell = HUGE_VAL;
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_render_volume *v = pass->volumes[k].volume;
    if (pass->grids[k].is_sliced) {
      kp_vec3 size = kp_vec3_make(v->nx * v->cell, v->ny * v->cell, v->nz * v->cell);
      box = kp_aabb_grow(kp_aabb_grow(box, v->origin), kp_vec3_add(v->origin, size));
      cell = fmin(cell, v->cell);
    }
  }
  s->middle = kp_vec3_scale(kp_vec3_add(box.min, box.max), 0.5);
  s->half = kp_vec3_scale(kp_vec3_sub(box.max, box.min), 0.5);
  s->sun = kp_camera_frame_along(kp_vec3_scale(pass->light.sun, -1.0), pass->light.up);
  double wide = width_along(s->half, s->sun.right), high = width_along(s->half, s->sun.up);
  s->spacing = cell;
  s->texel = fmax(cell, 2.0 * fmax(wide, high) / TEXELS_MOST);
  s->width = (int)ceil(2.0 * wide / s->texel) + 2;
  s->height = (int)ceil(2.0 * high / s->texel) + 2;
  return create_buffers(pass);
}

void kp_slices_free(kp_pass *pass) {
  struct kp_slices *s = pass->slices;
  if (s != NULL) {
    kp_free(s->pixels);
    kp_free(s->depth);
    kp_free(s->part);
    kp_free(s);
    pass->slices = NULL;
  }
}

const kp_slice_pixel *kp_slices_at(const kp_pass *pass, int x, int y) {
  return &pass->slices->pixels[(int64_t)y * pass->view.width + x];
}

// Optical depth where the sun's buffer is met, between its texels; nothing is outside.
static float depth_at(const struct kp_slices *s, float a, float b) {
  float x = a - 0.5f, y = b - 0.5f;
  if (!(x > 0.0f && y > 0.0f && x < (float)(s->width - 1) && y < (float)(s->height - 1))) {
    return 0.0f;
  }
  int i = (int)x, j = (int)y;
  float fx = x - (float)i, fy = y - (float)j;
  const float *p = s->depth + (int64_t)j * s->width + i;
  float low = p[0] + fx * (p[1] - p[0]);
  float high = p[s->width] + fx * (p[s->width + 1] - p[s->width]);
  return low + fy * (high - low);
}

// One slice as the ray of a pixel meets it.
static void draw_pixel(const kp_pass *pass, int x, int y) {
  const struct kp_slices *s = pass->slices;
  int64_t i = (int64_t)y * pass->view.width + x;
  kp_slice_pixel *pixel = &s->pixels[i];
  kp_f3 ray = kp_f3_make(kp_view_slope_x(&pass->view, x), kp_view_slope_y(&pass->view, y), 1.0f);
  float along = kp_f3_dot(ray, s->eye_axis);
  float t = ((float)s->at + kp_f3_dot(s->eye_middle, s->eye_axis)) / along;
  if (!(t > 0.0f && t < pass->surfaces.depth[i])) {
    return;
  }
  kp_volume_step step = { .sun_open = -1.0f };
  kp_volume_place place = { .view = kp_f3_scale(ray, t) };
  place.metres = (float)s->spacing * sqrtf(kp_f3_dot(ray, ray)) / fabsf(along);
  kp_f3 from = kp_f3_sub(place.view, s->eye_middle);
  place.sun_depth = depth_at(s, kp_f3_dot(from, s->eye_right) + 0.5f * (float)s->width,
                             kp_f3_dot(from, s->eye_up) + 0.5f * (float)s->height);
  for (int k = 0; k < pass->n_volumes; ++k) {
    const kp_volume_grid *grid = &pass->grids[k];
    place.grid = kp_volume_to_grid(grid, place.view);
    if (grid->is_sliced && kp_volume_holds(grid, place.grid)) {
      float phase[KP_SCATTERINGS];
      kp_volume_set_phase(grid, kp_f3_dot(ray, pass->sun) / sqrtf(kp_f3_dot(ray, ray)), phase);
      place.phase = phase;
      kp_volumes_gather(pass, grid, &place, &step);
    }
  }
  float left;
  kp_rgb light = kp_volume_light(&step, &left);
  if (s->front_first) {
    pixel->color = kp_rgb_add(pixel->color, kp_rgb_scale(light, pixel->through));
  } else {
    pixel->color = kp_rgb_add(kp_rgb_scale(pixel->color, left), light);
  }
  pixel->through *= left;
}

static void draw_rows(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  kp_tile_box box = pass->slices->seen;
  for (int y = box.y0 + (int)begin; y < box.y0 + (int)end; ++y) {
    for (int x = box.x0; x < box.x1; ++x) {
      draw_pixel(pass, x, y);
    }
  }
}

// Add the other half of the slice before and the first half of this one: the depth is that of its
// middle when it is drawn.
static void shade_rows(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  struct kp_slices *s = pass->slices;
  double facing = kp_vec3_dot(s->axis, pass->light.sun);
  float metres = (float)(s->spacing / facing);
  for (int j = (int)begin; j < (int)end; ++j) {
    for (int i = 0; i < s->width; ++i) {
      double a = ((double)i + 0.5 - 0.5 * s->width) * s->texel;
      double b = ((double)j + 0.5 - 0.5 * s->height) * s->texel;
      kp_vec3 p = kp_vec3_madd(kp_vec3_madd(s->middle, a, s->sun.right), b, s->sun.up);
      double off = s->at - kp_vec3_dot(kp_vec3_sub(p, s->middle), s->axis);
      p = kp_vec3_madd(p, off / facing, pass->light.sun);
      int64_t at = (int64_t)j * s->width + i;
      float part = kp_volumes_extinction(pass, p) * metres;
      s->depth[at] += 0.5f * (s->part[at] + part);
      s->part[at] = part;
    }
  }
}

// Pixels around the corners of the box; all of them where a corner is behind the eye.
static kp_tile_box find_seen(const kp_pass *pass) {
  const struct kp_slices *s = pass->slices;
  const kp_view *view = &pass->view;
  kp_tile_box all = { 0, 0, view->width, view->height };
  float x0 = HUGE_VALF, y0 = HUGE_VALF, x1 = -HUGE_VALF, y1 = -HUGE_VALF;
  for (int corner = 0; corner < 8; ++corner) {
    kp_vec3 p = s->middle;
    p.x += corner & 1 ? s->half.x : -s->half.x;
    p.y += corner & 2 ? s->half.y : -s->half.y;
    p.z += corner & 4 ? s->half.z : -s->half.z;
    kp_f3 v = kp_view_point(view, p);
    if (v.z < view->nearest) {
      return all;
    }
    x0 = kp_minf(x0, v.x * view->scale / v.z + view->axis_x);
    x1 = kp_maxf(x1, v.x * view->scale / v.z + view->axis_x);
    y0 = kp_minf(y0, v.y * view->scale / v.z + view->axis_y);
    y1 = kp_maxf(y1, v.y * view->scale / v.z + view->axis_y);
  }
  return (kp_tile_box){ (int)kp_clampf(x0, 0.0f, (float)all.x1),
                        (int)kp_clampf(y0, 0.0f, (float)all.y1),
                        (int)kp_clampf(x1 + 1.0f, 0.0f, (float)all.x1),
                        (int)kp_clampf(y1 + 1.0f, 0.0f, (float)all.y1) };
}

static void aim(kp_pass *pass) {
  struct kp_slices *s = pass->slices;
  kp_vec3 eye = kp_vec3_scale(pass->view.frame.forward, -1.0);
  s->front_first = kp_vec3_dot(eye, pass->light.sun) >= 0.0;
  kp_vec3 side = kp_vec3_scale(eye, s->front_first ? 1.0 : -1.0);
  s->axis = kp_vec3_normalize(kp_vec3_add(side, pass->light.sun));
  s->eye_axis = kp_view_vector(&pass->view, s->axis);
  s->eye_middle = kp_view_point(&pass->view, s->middle);
  float texels = (float)(1.0 / s->texel);
  s->eye_right = kp_f3_scale(kp_view_vector(&pass->view, s->sun.right), texels);
  s->eye_up = kp_f3_scale(kp_view_vector(&pass->view, s->sun.up), texels);
  s->seen = find_seen(pass);
}

kp_result kp_slices_render(kp_pass *pass) {
  struct kp_slices *s = pass->slices;
  if (s == NULL) {
    return KP_OK;
  }
  aim(pass);
  size_t texels = (size_t)s->width * (size_t)s->height;
  int64_t n = (int64_t)pass->view.width * pass->view.height;
  memset(s->depth, 0, texels * sizeof *s->depth);
  memset(s->part, 0, texels * sizeof *s->part);
  for (int64_t i = 0; i < n; ++i) {
    s->pixels[i] = (kp_slice_pixel){ .through = 1.0f };
  }
  // each pass shifts the slices, so that they do not show
  double reach = width_along(s->half, s->axis);
  double shift = ((double)pass->index + 0.5) / (double)pass->count;
  int slices = (int)ceil(2.0 * reach / s->spacing) + 1;
  for (int k = 0; k < slices; ++k) {
    s->at = reach - ((double)k + shift - 0.5) * s->spacing;
    kp_parallel_for(s->height, 8, shade_rows, pass);
    kp_parallel_for(s->seen.y1 - s->seen.y0, 4, draw_rows, pass);
  }
  return KP_OK;
}
