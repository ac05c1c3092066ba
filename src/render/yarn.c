// Yarn as translucent quads that carry a lumislice (Bayraktar 2010, section 4.4). A yarn is a row
// of stations at equal steps of a Catmull-Rom curve through its points; its frame is carried along
// the curve and turned by the twist. Each station is a small cube cut into quads along three axes:
// one square to the yarn, which shows the slice, and two fans that contain its direction and show
// rows of it, so that there is no direction from which all quads are seen edge-on. Quads of a tile
// are sorted by depth and laid over each other.
//
// A ray that crosses quads of family f at the cosine c_f to their normals meets one every
// d_f / |c_f|. With the weights |c_f| / sum |c_g| each crossing counts for the way d_f / sum |c_g|,
// and all families together for the whole way once, however they lie to the ray.
#include <math.h>
#include <stdlib.h>

#include "par/parallel.h"
#include "render/lumislice.h"
#include "render/pass.h"

#define CHUNK 512
#define SUBSTEPS 16        // of a piece of the curve, for its length
#define LEAST_PIXELS 1.0f  // radius below which yarn is drawn as a stroke
#define CUTS_LEAST 3       // quads of a fan
#define CUTS_MOST 9
#define TWIST_RADII 7.0  // length of a turn, where no look says more
#define OPAQUE 0.004f
#define TWO_PI 6.28318530717958647693

// A place on a yarn, in view space. n and b turn with the twist.
typedef struct station {
  kp_f3 at, t, n, b;
  float r;
  float sun;           // share of it, past everything but the yarn itself
  float angle, slant;  // of the sun as kp_lumi_light wants it
  float across;        // sine between yarn and sun
  kp_rgb color;
} station;

typedef struct yarn_set {
  int set;  // of lines
  bool drawn;
  int cuts, axes, quads;  // quads of a station
  float step;             // between stations [m]
  float twist;            // [m]
  int level;              // of the lumislice
  int64_t first_line;     // of all lines that may be yarn
} yarn_set;

struct kp_yarn {
  kp_lumislice slice;
  yarn_set *sets;
  int n_sets;
  int64_t n_lines;
  int64_t *line_first;    // first station of each line; n_lines + 1
  int64_t *set_quads;     // first quad of each set; n_sets + 1
  int64_t *set_stations;  // first station of each set; n_sets + 1
  station *stations;
  kp_bin_rect *rects;
  int64_t station_capacity, rect_capacity;
  kp_bins bins;
  float shift;  // of all quads in this pass, in steps: they do not show in the mean
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
  y->set_quads = take(n_sets + 1, sizeof *y->set_quads, &ok);
  y->set_stations = take(n_sets + 1, sizeof *y->set_stations, &ok);
  for (int k = 0; ok && k < scene->n_lines; ++k) {
    const kp_look_def *look = &scene->lines[k].look;
    if (is_yarn(&scene->lines[k])) {
      yarn_set *set = &y->sets[y->n_sets++];
      set->set = k;
      set->axes = (int)look->axes;
      set->first_line = y->n_lines;
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
  kp_free(y->set_quads);
  kp_free(y->set_stations);
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

// How fine a set is cut: by its radius on the picture, in the mean over its points.
static void set_detail(kp_pass *pass, yarn_set *set) {
  const kp_primitives *p = &pass->primitives;
  const kp_look_def *look = &pass->scene->lines[set->set].look;
  double pixels = 0.0, radius = 0.0;
  int64_t n = 0;
  for (int64_t v = p->line_offsets[set->set]; v < p->line_offsets[set->set + 1]; ++v) {
    const kp_ball *b = &p->line_vertices[v];
    if (isfinite(b->x + b->y + b->z) && b->z > pass->view.nearest) {
      pixels += (double)(b->r * pass->view.scale / b->z);
      radius += (double)b->r;
      ++n;
    }
  }
  pixels /= n > 0 ? (double)n : 1.0;
  radius /= n > 0 ? (double)n : 1.0;
  set->drawn = radius > 0.0 && pixels >= (double)LEAST_PIXELS;
  double cuts = fmin(fmax(rint(0.9 * pixels), CUTS_LEAST), CUTS_MOST);
  set->cuts = (int)cuts;
  set->quads = set->axes == 1 ? 1 : 1 + (set->axes - 1) * set->cuts;
  set->step = (float)(2.0 * radius / cuts);
  set->twist = (float)(isnan(look->twist) ? TWIST_RADII * radius : look->twist);
  // about two texels to a pixel
  set->level = 0;
  while (set->level + 1 < KP_LUMI_LEVELS &&
         (double)(KP_LUMI_SIZE >> (set->level + 1)) > 3.0 * pixels) {
    ++set->level;
  }
  pass->materials[material_of(pass, set->set)].is_yarn = set->drawn;
}

static const kp_ball *line_points(const kp_pass *pass, const yarn_set *set, int64_t line,
                                  int64_t *n) {
  const kp_render_lines *lines = &pass->scene->lines[set->set];
  uint64_t first = lines->first[line], end = lines->first[line + 1];
  *n = (int64_t)(end - first);
  return pass->primitives.line_vertices + pass->primitives.line_offsets[set->set] + first;
}

static int64_t count_stations(const kp_pass *pass, const yarn_set *set, int64_t line) {
  int64_t n;
  const kp_ball *points = line_points(pass, set, line, &n);
  float length = n > 1 ? kp_yarn_length(points, n) : 0.0f;
  // one that is not finite is left out
  return set->drawn && length > 0.0f && length < 1e6f * set->step
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

// The sun as the slice sees it, and past what else is in its way. The yarn's own stroke is in the
// shadow map too: step out of it.
static void light_station(const kp_pass *pass, station *s, int material) {
  float along = kp_f3_dot(pass->sun, s->t);
  s->across = sqrtf(kp_maxf(0.0f, 1.0f - along * along));
  s->slant = 1.0f / kp_maxf(s->across, 0.2f);
  float angle = atan2f(kp_f3_dot(pass->sun, s->b), kp_f3_dot(pass->sun, s->n));
  s->angle = angle * (float)(KP_LUMI_ANGLES / TWO_PI);
  s->angle += s->angle < 0.0f ? (float)KP_LUMI_ANGLES : 0.0f;
  kp_surface_point point = { .position = kp_f3_madd(s->at, 1.15f * s->r * s->slant, pass->sun),
                             .normal = pass->sun,
                             .material = (uint16_t)material };
  s->sun = kp_shadow_light(pass, &point, 0.37f);
  if (s->sun > 0.0f && pass->n_volumes > 0) {
    s->sun *= kp_volume_sunlight(&pass->air, point.position);
  }
}

typedef struct fill_context {
  kp_pass *pass;
  const yarn_set *set;
} fill_context;

static void fill_line(const fill_context *c, int64_t line, kp_yarn_place *places) {
  kp_pass *pass = c->pass;
  const yarn_set *set = c->set;
  const struct kp_yarn *y = pass->yarn;
  int64_t first = y->line_first[set->first_line + line], n;
  int64_t count = y->line_first[set->first_line + line + 1] - first;
  const kp_ball *points = line_points(pass, set, line, &n);
  int material_index = material_of(pass, set->set);
  const kp_material *material = &pass->materials[material_index];
  const kp_render_lines *lines = &pass->scene->lines[set->set];
  kp_yarn_steps steps = { set->step, y->shift, count };
  kp_yarn_walk(points, n, &steps, places);
  kp_f3 carried = pass->up;
  for (int64_t k = 0; k < count; ++k) {
    station *s = &y->stations[first + k];
    s->at = places[k].at;
    s->t = places[k].tangent;
    s->r = places[k].radius;
    carried = across(s->t, carried);
    // yarns of a set start at different turns
    double turn = ((double)k + (double)y->shift) * (double)set->step / (double)set->twist +
                  0.618 * (double)line;
    float angle = (float)(TWO_PI * (turn - floor(turn)));
    kp_f3 side = kp_f3_cross(s->t, carried);
    s->n = kp_f3_madd(kp_f3_scale(carried, cosf(angle)), sinf(angle), side);
    s->b = kp_f3_cross(s->t, s->n);
    s->color = material->color;
    if (material->scalar != NULL) {
      const float *v = lines->scalar + lines->first[line] + places[k].vertex;
      s->color = kp_material_color(material, v[0] + places[k].along * (v[1] - v[0]));
    }
    light_station(pass, s, material_index);
  }
}

static void fill_lines(int64_t begin, int64_t end, void *context) {
  const fill_context *c = context;
  const struct kp_yarn *y = c->pass->yarn;
  for (int64_t line = begin; line < end; ++line) {
    int64_t at = c->set->first_line + line;
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

// A quad: centre c, unit axes u and v with half lengths, normal n; `offset` is its place in the
// slice in radii, along n (families 1 and 2; 0 is square to the yarn).
typedef struct quad {
  const station *s;
  int family;
  kp_f3 c, u, v, n;
  float half_u, half_v, offset;
  float spacing;  // of its family [m]
} quad;

static quad get_quad(const struct kp_yarn *y, uint32_t index, const yarn_set **set_out) {
  int k = kp_primitives_set(y->set_quads, y->n_sets, index);
  const yarn_set *set = &y->sets[k];
  int64_t local = (int64_t)index - y->set_quads[k];
  const station *s = &y->stations[y->set_stations[k] + local / set->quads];
  int j = (int)(local % set->quads);
  quad q = { .s = s };
  *set_out = set;
  if (j == 0) {
    q.c = s->at;
    q.u = s->n;
    q.v = s->b;
    q.n = s->t;
    q.half_u = q.half_v = s->r;
    q.spacing = set->step;
    return q;
  }
  q.family = 1 + (j - 1) / set->cuts;
  q.offset = 2.0f * ((float)((j - 1) % set->cuts) + y->shift) / (float)set->cuts - 1.0f;
  q.n = q.family == 1 ? s->n : s->b;
  q.u = s->t;
  q.v = q.family == 1 ? s->b : s->n;
  q.half_u = 0.5f * set->step;
  // where the slice ends there
  q.half_v = s->r * sqrtf(1.0f - q.offset * q.offset);
  q.c = kp_f3_madd(s->at, q.offset * s->r, q.n);
  q.spacing = 2.0f * s->r / (float)set->cuts;
  return q;
}

static bool quad_bounds(const kp_view *view, const quad *q, float *b) {
  b[0] = b[1] = HUGE_VALF;
  b[2] = b[3] = -HUGE_VALF;
  for (int corner = 0; corner < 4; ++corner) {
    kp_f3 p = kp_f3_madd(q->c, corner & 1 ? q->half_u : -q->half_u, q->u);
    p = kp_f3_madd(p, corner & 2 ? q->half_v : -q->half_v, q->v);
    if (!(p.z > view->nearest)) {
      return false;
    }
    float x = p.x * view->scale / p.z + view->axis_x, y = p.y * view->scale / p.z + view->axis_y;
    b[0] = kp_minf(b[0], x);
    b[1] = kp_minf(b[1], y);
    b[2] = kp_maxf(b[2], x);
    b[3] = kp_maxf(b[3], y);
  }
  return true;
}

static void find_rects(int64_t begin, int64_t end, void *context) {
  const kp_pass *pass = context;
  for (int64_t i = begin; i < end; ++i) {
    const yarn_set *set;
    quad q = get_quad(pass->yarn, (uint32_t)i, &set);
    kp_bin_rect rect = { 0, 0, -1, -1 };
    float b[4];
    if (quad_bounds(&pass->view, &q, b)) {
      rect = kp_bins_rect(b[0], b[1], b[2], b[3], pass->view.width, pass->view.height);
    }
    pass->yarn->rects[i] = rect;
  }
}

kp_result kp_yarn_project(kp_pass *pass) {
  struct kp_yarn *y = pass->yarn;
  if (y == NULL) {
    return KP_OK;
  }
  int64_t stations = 0, quads = 0;
  y->shift = ((float)pass->index + 0.5f) / (float)pass->count;
  for (int k = 0; k < y->n_sets; ++k) {
    yarn_set *set = &y->sets[k];
    set_detail(pass, set);
    y->set_stations[k] = stations;
    y->set_quads[k] = quads;
    for (int64_t line = 0; line < pass->scene->lines[set->set].n_lines; ++line) {
      y->line_first[set->first_line + line] = stations;
      stations += count_stations(pass, set, line);
    }
    quads += (stations - y->set_stations[k]) * set->quads;
  }
  y->line_first[y->n_lines] = y->set_stations[y->n_sets] = stations;
  y->set_quads[y->n_sets] = quads;
  if (quads >= UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "yarn of more than %u quads", UINT32_MAX);
  }
  KP_TRY(grow((void **)&y->stations, &y->station_capacity, stations, sizeof *y->stations));
  KP_TRY(grow((void **)&y->rects, &y->rect_capacity, quads, sizeof *y->rects));
  for (int k = 0; k < y->n_sets; ++k) {
    fill_context c = { pass, &y->sets[k] };
    kp_parallel_for(pass->scene->lines[y->sets[k].set].n_lines, 1, fill_lines, &c);
  }
  if (atomic_load(&pass->out_of_memory)) {
    return KP_ERROR_MEMORY;
  }
  kp_parallel_for(quads, CHUNK, find_rects, pass);
  return kp_bins_build(&y->bins, y->rects, quads, kp_view_tiles_x(&pass->view),
                       kp_view_tiles_y(&pass->view));
}

// Way through the yarn that one crossing of the quad stands for, in radii.
static float crossing(const quad *q, int axes) {
  const station *s = q->s;
  float way = q->spacing / s->r;
  if (axes == 1) {
    return way;  // as drawn where quads only face along the yarn
  }
  kp_f3 d = kp_f3_normalize(s->at);
  float sum = fabsf(kp_f3_dot(d, s->t)) + fabsf(kp_f3_dot(d, s->n));
  sum += axes > 2 ? fabsf(kp_f3_dot(d, s->b)) : 0.0f;
  return way / kp_maxf(sum, 0.1f);
}

typedef struct quad_light {
  kp_rgb sun, above, side, below;  // times the yarn's colour
  float up_n, up_b;                // how far the axes of the slice point up
} quad_light;

static quad_light light_quad(const kp_pass *pass, const station *s) {
  quad_light l;
  l.sun = kp_rgb_mul(s->color, kp_rgb_scale(pass->light.sun_color, s->sun * s->across));
  l.above = kp_rgb_mul(s->color, pass->light.ambient_up);
  l.side = kp_rgb_mul(s->color, pass->light.ambient_side);
  l.below = kp_rgb_mul(s->color, pass->light.ambient_down);
  l.up_n = kp_f3_dot(s->n, pass->up);
  l.up_b = kp_f3_dot(s->b, pass->up);
  return l;
}

static void shade_texel(const kp_lumi_level *level, const quad *q, const quad_light *l, float x,
                        float y, float alpha, kp_sprite_layer *layer) {
  const station *s = q->s;
  float up = kp_clampf(x * l->up_n + y * l->up_b, -1.0f, 1.0f);
  kp_rgb around = kp_rgb_mix(l->side, up < 0.0f ? l->below : l->above, fabsf(up));
  kp_rgb color = kp_rgb_scale(around, kp_lumi_open(level, x, y));
  if (s->sun > 0.0f) {
    color = kp_rgb_add(color, kp_rgb_scale(l->sun, kp_lumi_light(level, x, y, s->angle, s->slant)));
  }
  float weight = layer->through * alpha;
  layer->color = kp_rgb_add(layer->color, kp_rgb_scale(color, weight));
  layer->depth += weight * s->at.z;
  layer->weight += weight;
  layer->through *= 1.0f - alpha;
}

static void draw_quad(const kp_pass *pass, const quad *q, const yarn_set *set, kp_tile_box tile,
                      kp_sprite_layer *layers) {
  const kp_view *view = &pass->view;
  const kp_lumi_level *level = &pass->yarn->slice.levels[set->level];
  float b[4];
  if (!quad_bounds(view, q, b)) {
    return;
  }
  int x0 = b[0] > (float)tile.x0 ? (int)b[0] : tile.x0;
  int y0 = b[1] > (float)tile.y0 ? (int)b[1] : tile.y0;
  int x1 = b[2] < (float)tile.x1 ? (int)b[2] + 1 : tile.x1;
  int y1 = b[3] < (float)tile.y1 ? (int)b[3] + 1 : tile.y1;
  x1 = x1 < tile.x1 ? x1 : tile.x1;
  y1 = y1 < tile.y1 ? y1 : tile.y1;
  quad_light light = light_quad(pass, q->s);
  float nc = kp_f3_dot(q->n, q->c);
  float way = crossing(q, set->axes) * KP_LUMI_EXTINCTION;
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      kp_sprite_layer *layer = &layers[(y - tile.y0) * KP_TILE_SIZE + (x - tile.x0)];
      kp_f3 ray = kp_f3_make(kp_view_slope_x(view, x), kp_view_slope_y(view, y), 1.0f);
      float t = nc / kp_f3_dot(q->n, ray);
      bool open = layer->through > OPAQUE && t > view->nearest &&
                  t < pass->surfaces.depth[(int64_t)y * view->width + x];
      if (!open) {
        continue;
      }
      kp_f3 d = kp_f3_sub(kp_f3_scale(ray, t), q->c);
      float a = kp_f3_dot(d, q->u), e = kp_f3_dot(d, q->v);
      if (!(fabsf(a) <= q->half_u && fabsf(e) <= q->half_v)) {
        continue;
      }
      float r = q->s->r;
      float sx = q->family == 0 ? a / r : q->family == 1 ? q->offset : e / r;
      float sy = q->family == 0 || q->family == 1 ? e / r : q->offset;
      float density = kp_lumi_density(level, sx, sy);
      if (density > 0.0f) {
        shade_texel(level, q, &light, sx, sy, 1.0f - expf(-way * density), layer);
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
  const yarn_set *set;
  for (int64_t k = 0; k < n; ++k) {
    quad q = get_quad(y, y->bins.items[first + k], &set);
    places[k] = (quad_place){ kp_f3_dot(q.c, q.c), y->bins.items[first + k] };
  }
  qsort(places, (size_t)n, sizeof *places, nearest_first);
  for (int64_t k = 0; k < n; ++k) {
    quad q = get_quad(y, places[k].index, &set);
    draw_quad(pass, &q, set, box, layers);
  }
  kp_free(places);
}
