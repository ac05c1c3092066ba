// Yarn as translucent quads that carry a lumislice (Bayraktar 2010, section 4.4). A yarn is a row
// of stations at equal steps of a Catmull-Rom curve through its points; its frame is carried along
// the curve and turned by the twist. Each station is a small cube cut into quads along three axes:
// one square to the yarn, which shows the slice, and two fans that contain its direction and show
// rows of it, so that there is no direction from which all quads are seen edge-on. Quads of a tile
// are sorted by depth and laid over each other (yarn_quads.h); a picture by rays has lists of them
// per pixel instead, made on its backend (yarn_lists.c).
#include <math.h>
#include <stdlib.h>

#include "par/parallel.h"
#include "render/pass.h"
#include "render/yarn_quads.h"

#define CHUNK 512
#define SUBSTEPS 16        // of a piece of the curve, for its length
#define LEAST_PIXELS 1.0f  // radius below which yarn is drawn as a stroke
#define CUTS_LEAST 3       // quads of a fan
#define CUTS_MOST 9
#define TWIST_RADII 7.0  // length of a turn, where no look says more
#define TWO_PI 6.28318530717958647693

// A set of lines that may be yarn.
typedef struct yarn_lines {
  int set;  // of the scene
  bool drawn;
  int64_t first_line;  // of all lines that may be yarn
} yarn_lines;

struct kp_yarn {
  kp_lumislice slice;
  yarn_lines *lines;
  kp_yarn_set *sets;
  int n_sets;
  int64_t n_lines;
  int64_t *line_first;  // first station of each line; n_lines + 1
  kp_yarn_station *stations;
  int64_t n_stations, n_quads;
  kp_bin_rect *rects;
  int64_t station_capacity, rect_capacity;
  kp_bins bins;
  kp_yarn_view view;
};

// ---- curves -------------------------------------------------------------------------------------

typedef struct piece {
  kp_f3 p[4];
  float r0, r1;
} piece;

static kp_f3 point_of(const kp_ball *b) {
  return kp_f3_make(b->x, b->y, b->z);
}

static piece get_piece(const kp_ball *line, int64_t n, int64_t i) {
  piece c;
  for (int k = 0; k < 4; ++k) {
    int64_t at = i + k - 1;
    at = at < 0 ? 0 : at >= n ? n - 1 : at;  // end points count twice
    c.p[k] = point_of(&line[at]);
  }
  c.r0 = line[i].r;
  c.r1 = line[i + 1].r;
  return c;
}

static kp_f3 weighted(const piece *c, float w0, float w1, float w2, float w3) {
  kp_f3 sum = kp_f3_scale(c->p[0], w0);
  sum = kp_f3_madd(sum, w1, c->p[1]);
  sum = kp_f3_madd(sum, w2, c->p[2]);
  return kp_f3_madd(sum, w3, c->p[3]);
}

// 0.5 [2 P1 + (P2 - P0) t + (2 P0 - 5 P1 + 4 P2 - P3) t^2 + (3 P1 - P0 - 3 P2 + P3) t^3]
static kp_f3 curve_at(const piece *c, float t) {
  float t2 = t * t, t3 = t2 * t;
  return weighted(c, 0.5f * (-t + 2.0f * t2 - t3), 0.5f * (2.0f - 5.0f * t2 + 3.0f * t3),
                  0.5f * (t + 4.0f * t2 - 3.0f * t3), 0.5f * (t3 - t2));
}

static kp_f3 curve_slope(const piece *c, float t) {
  float t2 = t * t;
  return weighted(c, 0.5f * (-1.0f + 4.0f * t - 3.0f * t2), 0.5f * (-10.0f * t + 9.0f * t2),
                  0.5f * (1.0f + 8.0f * t - 9.0f * t2), 0.5f * (3.0f * t2 - 2.0f * t));
}

static float distance(kp_f3 a, kp_f3 b) {
  kp_f3 d = kp_f3_sub(a, b);
  return sqrtf(kp_f3_dot(d, d));
}

float kp_yarn_length(const kp_ball *line, int64_t n) {
  float length = 0.0f;
  for (int64_t i = 0; i + 1 < n; ++i) {
    piece c = get_piece(line, n, i);
    kp_f3 before = c.p[1];
    for (int k = 1; k <= SUBSTEPS; ++k) {
      kp_f3 at = curve_at(&c, (float)k / SUBSTEPS);
      length += distance(at, before);
      before = at;
    }
  }
  return length;
}

void kp_yarn_walk(const kp_ball *line, int64_t n, const kp_yarn_steps *steps, kp_yarn_place *out) {
  float length = 0.0f, step = steps->step;
  int64_t next = 0, count = steps->count;
  for (int64_t i = 0; i + 1 < n && next < count; ++i) {
    piece c = get_piece(line, n, i);
    kp_f3 before = c.p[1];
    for (int k = 1; k <= SUBSTEPS && next < count; ++k) {
      kp_f3 at = curve_at(&c, (float)k / SUBSTEPS);
      float d = distance(at, before);
      // the last one may lie a rounding beyond the end
      bool last = i + 2 == n && k == SUBSTEPS;
      while (next < count && (((float)next + steps->shift) * step <= length + d || last)) {
        float s = ((float)next + steps->shift) * step;
        float share = d > 0.0f ? (s - length) / d : 0.0f;
        float t = ((float)(k - 1) + kp_clampf(share, 0.0f, 1.0f)) / SUBSTEPS;
        out[next].at = curve_at(&c, t);
        out[next].tangent = kp_f3_normalize(curve_slope(&c, t));
        out[next].radius = c.r0 + t * (c.r1 - c.r0);
        out[next].vertex = i;
        out[next].along = t;
        ++next;
      }
      length += d;
      before = at;
    }
  }
}

// ---- what does not change between passes --------------------------------------------------------

static bool is_yarn(const kp_render_lines *lines) {
  return lines->look.visible && lines->look.stroke == KP_STROKE_LUMISLICE;
}

static void *take(int64_t count, size_t size, bool *ok) {
  void *memory = kp_alloc_zero((size_t)(count > 0 ? count : 1) * size, KP_MEMORY_RENDER);
  *ok = *ok && memory != NULL;
  return memory;
}

kp_result kp_yarn_create(kp_pass *pass) {
  const kp_render_scene *scene = pass->scene;
  int n_sets = 0;
  for (int k = 0; k < scene->n_lines; ++k) {
    n_sets += is_yarn(&scene->lines[k]) ? 1 : 0;
  }
  if (n_sets == 0) {
    return KP_OK;
  }
  bool ok = true;
  struct kp_yarn *y = pass->yarn = take(1, sizeof *y, &ok);
  if (y == NULL) {
    return KP_ERROR_MEMORY;
  }
  y->sets = take(n_sets, sizeof *y->sets, &ok);
  y->lines = take(n_sets, sizeof *y->lines, &ok);
  for (int k = 0; ok && k < scene->n_lines; ++k) {
    const kp_look_def *look = &scene->lines[k].look;
    if (is_yarn(&scene->lines[k])) {
      y->sets[y->n_sets].axes = (int32_t)look->axes;
      y->lines[y->n_sets++] = (yarn_lines){ .set = k, .first_line = y->n_lines };
      y->n_lines += scene->lines[k].n_lines;
    }
  }
  y->line_first = take(y->n_lines + 1, sizeof *y->line_first, &ok);
  return ok ? kp_lumislice_create(&y->slice) : KP_ERROR_MEMORY;
}

void kp_yarn_free(kp_pass *pass) {
  struct kp_yarn *y = pass->yarn;
  if (y == NULL) {
    return;
  }
  kp_lumislice_free(&y->slice);
  kp_bins_free(&y->bins);
  kp_free(y->sets);
  kp_free(y->lines);
  kp_free(y->line_first);
  kp_free(y->stations);
  kp_free(y->rects);
  kp_free(y);
  pass->yarn = NULL;
}

// ---- stations of a pass -------------------------------------------------------------------------

static int material_of(const kp_pass *pass, int set) {
  return KP_MATERIAL_FIRST + pass->scene->n_points + pass->scene->n_meshes + set;
}

// How fine a set is cut: by its radius on the picture, in the mean over its points. It is yarn in
// all passes or in none.
static void set_detail(kp_pass *pass, yarn_lines *lines, kp_yarn_set *set) {
  const kp_primitives *p = &pass->primitives;
  const kp_look_def *look = &pass->scene->lines[lines->set].look;
  double pixels = 0.0, radius = 0.0;
  int64_t n = 0;
  for (int64_t v = p->line_offsets[lines->set]; v < p->line_offsets[lines->set + 1]; ++v) {
    const kp_ball *b = &p->line_vertices[v];
    if (isfinite(b->x + b->y + b->z) && b->z > pass->view.nearest) {
      pixels += (double)(b->r * pass->view.scale / b->z);
      radius += (double)b->r;
      ++n;
    }
  }
  pixels /= n > 0 ? (double)n : 1.0;
  radius /= n > 0 ? (double)n : 1.0;
  if (pass->index == 0) {
    lines->drawn = radius > 0.0 && pixels >= (double)LEAST_PIXELS;
  }
  double cuts = fmin(fmax(rint(0.9 * pixels), CUTS_LEAST), CUTS_MOST);
  set->cuts = (int32_t)cuts;
  set->quads = set->axes == 1 ? 1 : 1 + (set->axes - 1) * set->cuts;
  set->step = (float)(2.0 * radius / cuts);
  set->twist = (float)(isnan(look->twist) ? TWIST_RADII * radius : look->twist);
  // about two texels to a pixel
  set->level = 0;
  while (set->level + 1 < KP_LUMI_LEVELS &&
         (double)(KP_LUMI_SIZE >> (set->level + 1)) > 3.0 * pixels) {
    ++set->level;
  }
  pass->materials[material_of(pass, lines->set)].is_yarn = lines->drawn;
}

static const kp_ball *line_points(const kp_pass *pass, int set, int64_t line, int64_t *n) {
  const kp_render_lines *lines = &pass->scene->lines[set];
  uint64_t first = lines->first[line], end = lines->first[line + 1];
  *n = (int64_t)(end - first);
  return pass->primitives.line_vertices + pass->primitives.line_offsets[set] + first;
}

static int64_t count_stations(const kp_pass *pass, const yarn_lines *lines, const kp_yarn_set *set,
                              int64_t line) {
  int64_t n;
  const kp_ball *points = line_points(pass, lines->set, line, &n);
  float length = n > 1 ? kp_yarn_length(points, n) : 0.0f;
  // one that is not finite is left out
  return lines->drawn && length > 0.0f && length < 1e6f * set->step
             ? (int64_t)ceilf(length / set->step)
             : 0;
}

static kp_f3 across(kp_f3 t, kp_f3 wanted) {
  kp_f3 n = kp_f3_madd(wanted, -kp_f3_dot(wanted, t), t);
  if (kp_f3_dot(n, n) < 1e-6f) {
    n = kp_f3_cross(t, fabsf(t.x) < 0.8f ? kp_f3_make(1, 0, 0) : kp_f3_make(0, 1, 0));
  }
  return kp_f3_normalize(n);
}

// The sun as the slice sees it.
static void aim_station(const kp_pass *pass, kp_yarn_station *s) {
  float along = kp_f3_dot(pass->sun, s->t);
  s->across = sqrtf(kp_maxf(0.0f, 1.0f - along * along));
  s->slant = 1.0f / kp_maxf(s->across, 0.2f);
  float angle = atan2f(kp_f3_dot(pass->sun, s->b), kp_f3_dot(pass->sun, s->n));
  s->angle = angle * (float)(KP_LUMI_ANGLES / TWO_PI);
  s->angle += s->angle < 0.0f ? (float)KP_LUMI_ANGLES : 0.0f;
}

// What comes of it past what else is in its way.
static void light_station(const kp_pass *pass, kp_yarn_station *s) {
  kp_surface_point point = { .position = kp_yarn_lit_place(s, pass->sun),
                             .normal = pass->sun,
                             .material = (uint16_t)s->material };
  float sun = kp_shadow_light(pass, &point, 0.37f);
  if (sun > 0.0f && pass->n_volumes > 0) {
    sun *= kp_volume_sunlight(&pass->air, point.position);
  }
  s->sunlight = kp_rgb_scale(pass->light.sun_color, sun * s->across);
}

typedef struct fill_context {
  kp_pass *pass;
  const yarn_lines *lines;
  const kp_yarn_set *set;
} fill_context;

static void fill_line(const fill_context *c, int64_t line, kp_yarn_place *places) {
  kp_pass *pass = c->pass;
  const kp_yarn_set *set = c->set;
  const struct kp_yarn *y = pass->yarn;
  int64_t first = y->line_first[c->lines->first_line + line], n;
  int64_t count = y->line_first[c->lines->first_line + line + 1] - first;
  const kp_ball *points = line_points(pass, c->lines->set, line, &n);
  int material_index = material_of(pass, c->lines->set);
  const kp_material *material = &pass->materials[material_index];
  const kp_render_lines *lines = &pass->scene->lines[c->lines->set];
  float shift = y->view.shift;
  kp_yarn_steps steps = { set->step, shift, count };
  kp_yarn_walk(points, n, &steps, places);
  kp_f3 carried = pass->up;
  for (int64_t k = 0; k < count; ++k) {
    kp_yarn_station *s = &y->stations[first + k];
    s->at = places[k].at;
    s->t = places[k].tangent;
    s->r = places[k].radius;
    carried = across(s->t, carried);
    // yarns of a set start at different turns
    double turn =
        ((double)k + (double)shift) * (double)set->step / (double)set->twist + 0.618 * (double)line;
    float angle = (float)(TWO_PI * (turn - floor(turn)));
    kp_f3 side = kp_f3_cross(s->t, carried);
    s->n = kp_f3_madd(kp_f3_scale(carried, cosf(angle)), sinf(angle), side);
    s->b = kp_f3_cross(s->t, s->n);
    s->color = material->color;
    if (material->scalar != NULL) {
      const float *v = lines->scalar + lines->first[line] + places[k].vertex;
      s->color = kp_material_color(material, v[0] + places[k].along * (v[1] - v[0]));
    }
    s->material = material_index;
    aim_station(pass, s);
    s->sunlight = kp_rgb_make(0.0f, 0.0f, 0.0f);
    if (!pass->by_rays) {
      light_station(pass, s);
    }
  }
}

static void fill_lines(int64_t begin, int64_t end, void *context) {
  const fill_context *c = context;
  const struct kp_yarn *y = c->pass->yarn;
  for (int64_t line = begin; line < end; ++line) {
    int64_t at = c->lines->first_line + line;
    int64_t count = y->line_first[at + 1] - y->line_first[at];
    if (count == 0) {
      continue;
    }
    kp_yarn_place *places = kp_alloc((size_t)count * sizeof *places, KP_MEMORY_RENDER);
    if (places == NULL) {
      atomic_store(&c->pass->out_of_memory, true);
      return;
    }
    fill_line(c, line, places);
    kp_free(places);
  }
}

static kp_result grow(void **memory, int64_t *capacity, int64_t count, size_t size) {
  if (*capacity >= count) {
    return KP_OK;
  }
  kp_free(*memory);
  *capacity = 0;
  *memory = kp_alloc((size_t)(count + count / 4) * size, KP_MEMORY_RENDER);
  if (*memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  *capacity = count + count / 4;
  return KP_OK;
}

// ---- quads --------------------------------------------------------------------------------------

static void find_rects(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  for (int64_t i = begin; i < end; ++i) {
    kp_yarn_quad q = kp_yarn_quad_of(&pass->yarn->view, (uint32_t)i);
    kp_bin_rect rect = { 0, 0, -1, -1 };
    float b[4];
    if (kp_yarn_bounds(&pass->yarn->view, &q, b)) {
      rect = kp_bins_rect(b[0], b[1], b[2], b[3], pass->view.width, pass->view.height);
    }
    pass->yarn->rects[i] = rect;
  }
}

static void set_view(kp_pass *pass) {
  const kp_view *view = &pass->view;
  struct kp_yarn *y = pass->yarn;
  y->view = (kp_yarn_view){ .stations = y->stations,
                            .sets = y->sets,
                            .texels = y->slice.texels,
                            .n_sets = (int32_t)y->n_sets,
                            .shift = ((float)pass->index + 0.5f) / (float)pass->count,
                            .width = view->width,
                            .height = view->height,
                            .scale = view->scale,
                            .axis_x = view->axis_x,
                            .axis_y = view->axis_y,
                            .nearest = view->nearest,
                            .up = pass->up,
                            .above = pass->light.ambient_up,
                            .side = pass->light.ambient_side,
                            .below = pass->light.ambient_down };
}

kp_result kp_yarn_place_stations(kp_pass *pass) {
  struct kp_yarn *y = pass->yarn;
  if (y == NULL) {
    return KP_OK;
  }
  int64_t stations = 0, quads = 0;
  for (int k = 0; k < y->n_sets; ++k) {
    kp_yarn_set *set = &y->sets[k];
    const yarn_lines *lines = &y->lines[k];
    set_detail(pass, &y->lines[k], set);
    set->first_station = stations;
    set->first_quad = quads;
    for (int64_t line = 0; line < pass->scene->lines[lines->set].n_lines; ++line) {
      y->line_first[lines->first_line + line] = stations;
      stations += count_stations(pass, lines, set, line);
    }
    quads += (stations - set->first_station) * set->quads;
  }
  y->line_first[y->n_lines] = y->n_stations = stations;
  y->n_quads = quads;
  if (quads >= UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "yarn of more than %u quads", UINT32_MAX);
  }
  KP_TRY(grow((void **)&y->stations, &y->station_capacity, stations, sizeof *y->stations));
  set_view(pass);
  for (int k = 0; k < y->n_sets; ++k) {
    fill_context c = { pass, &y->lines[k], &y->sets[k] };
    kp_parallel_for(pass->scene->lines[y->lines[k].set].n_lines, 1, fill_lines, &c);
  }
  return atomic_load(&pass->out_of_memory) ? KP_ERROR_MEMORY : KP_OK;
}

const kp_yarn_view *kp_yarn_get(const kp_pass *pass, int64_t *n_stations, int64_t *n_quads) {
  const struct kp_yarn *y = pass->yarn;
  *n_stations = y != NULL ? y->n_stations : 0;
  *n_quads = y != NULL ? y->n_quads : 0;
  return y != NULL ? &y->view : NULL;
}

kp_result kp_yarn_project(kp_pass *pass) {
  struct kp_yarn *y = pass->yarn;
  if (y == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_yarn_place_stations(pass));
  KP_TRY(grow((void **)&y->rects, &y->rect_capacity, y->n_quads, sizeof *y->rects));
  kp_parallel_for(y->n_quads, CHUNK, find_rects, pass);
  return kp_bins_build(&y->bins, y->rects, y->n_quads, kp_view_tiles_x(&pass->view),
                       kp_view_tiles_y(&pass->view));
}

static void draw_quad(const kp_pass *pass, uint32_t index, kp_tile_box tile,
                      kp_sprite_layer *layers) {
  const kp_yarn_view *view = &pass->yarn->view;
  kp_yarn_quad q = kp_yarn_quad_of(view, index);
  kp_yarn_paint paint = kp_yarn_paint_of(view, &q);
  kp_yarn_box box = kp_yarn_box_of(view, &q, (kp_yarn_box){ tile.x0, tile.y0, tile.x1, tile.y1 });
  for (int y = box.y0; y < box.y1; ++y) {
    for (int x = box.x0; x < box.x1; ++x) {
      kp_sprite_layer *layer = &layers[(y - tile.y0) * KP_TILE_SIZE + (x - tile.x0)];
      kp_yarn_crossing at;
      if (layer->through > KP_YARN_OPAQUE && kp_yarn_cross(view, &q, &paint.level, x, y, &at) &&
          at.depth < pass->surfaces.depth[(int64_t)y * view->width + x]) {
        kp_yarn_lay(&q, &paint, &at, layer);
      }
    }
  }
}

typedef struct quad_place {
  float depth;
  uint32_t index;
} quad_place;

static int nearest_first(const void *a, const void *b) {
  const quad_place *f = a, *g = b;
  if (f->depth != g->depth) {
    return f->depth < g->depth ? -1 : 1;
  }
  return f->index < g->index ? -1 : f->index > g->index;
}

void kp_yarn_draw(kp_pass *pass, int64_t tile, kp_tile_box box, kp_sprite_layer *layers) {
  const struct kp_yarn *y = pass->yarn;
  int64_t first = y->bins.offsets[tile], n = y->bins.offsets[tile + 1] - first;
  if (n == 0) {
    return;
  }
  quad_place *places = kp_alloc((size_t)n * sizeof *places, KP_MEMORY_RENDER);
  if (places == NULL) {
    atomic_store(&pass->out_of_memory, true);
    return;
  }
  for (int64_t k = 0; k < n; ++k) {
    kp_yarn_quad q = kp_yarn_quad_of(&y->view, y->bins.items[first + k]);
    places[k] = (quad_place){ kp_f3_dot(q.c, q.c), y->bins.items[first + k] };
  }
  qsort(places, (size_t)n, sizeof *places, nearest_first);
  for (int64_t k = 0; k < n; ++k) {
    draw_quad(pass, places[k].index, box, layers);
  }
  kp_free(places);
}
