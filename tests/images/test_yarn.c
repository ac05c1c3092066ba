// Yarn of a lumislice: curve, slices, opacity from all sides, order, shadow (Bayraktar 2010,
// section 4.4).
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"
#include "render/yarn_lists.h"

#include "support/claims.h"

#define PI 3.14159265358979323846
#define RADIUS 0.01

// Points of a course of stitches: loops that go to and fro.
static int make_course(kp_ball *out, int loops) {
  static const double loop[6][3] = { { 0.0, 0.0, 0.0 },  { 0.35, 0.1, 0.3 }, { 0.25, 0.8, 0.2 },
                                     { 0.5, 1.05, 0.0 }, { 0.75, 0.8, 0.2 }, { 0.65, 0.1, 0.3 } };
  int n = 0;
  for (int k = 0; k < loops; ++k) {
    for (int i = 0; i < 6; ++i, ++n) {
      out[n] = (kp_ball){ (float)(0.1 * (k + loop[i][0])), (float)(0.1 * loop[i][1]),
                          (float)(0.1 * loop[i][2]), (float)RADIUS };
    }
  }
  return n;
}

static double angle_between(kp_f3 a, kp_f3 b) {
  kp_f3 c = kp_f3_cross(a, b);
  return atan2(sqrt((double)kp_f3_dot(c, c)), (double)kp_f3_dot(a, b)) * 180.0 / PI;
}

// Claim C27, first half: the direction does not jump at the points.
static void curve_has_no_seams(void **state) {
  (void)state;
  enum { LOOPS = 8, MOST = 60000 };
  static kp_yarn_place places[MOST];
  kp_ball points[6 * LOOPS];
  int n = make_course(points, LOOPS);
  double straight = HUGE_VAL, curved = 0.0;
  for (int i = 1; i + 1 < n; ++i) {
    kp_f3 a = kp_f3_make(points[i].x - points[i - 1].x, points[i].y - points[i - 1].y,
                         points[i].z - points[i - 1].z);
    kp_f3 b = kp_f3_make(points[i + 1].x - points[i].x, points[i + 1].y - points[i].y,
                         points[i + 1].z - points[i].z);
    straight = fmin(straight, angle_between(a, b));
  }
  float length = kp_yarn_length(points, n);
  kp_yarn_steps steps = { length / MOST, 0.5f, MOST };
  kp_yarn_walk(points, n, &steps, places);
  double worst = 0.0;
  for (int k = 1; k < MOST; ++k) {
    if (places[k].vertex != places[k - 1].vertex) {
      curved = kp_test_most(curved, angle_between(places[k - 1].tangent, places[k].tangent));
    }
    kp_f3 d = kp_f3_sub(places[k].at, places[k - 1].at);
    worst = kp_test_most(worst, fabs(sqrt((double)kp_f3_dot(d, d)) / (double)steps.step - 1.0));
  }
  print_message("  largest turn at a point %.3f degrees, of the straight pieces at least %.1f; "
                "steps even to %.3f\n",
                curved, straight, worst);
  assert_true(straight > 20.0);
  kp_claim claim = { .id = "bayraktar-C27-seams",
                     .text = "a Catmull-Rom centre line removes the seams of yarn",
                     .size = "course of 8 stitches, 48 points" };
  kp_claim_all(&claim, { "largest turn at a bonding point [degrees]", curved, KP_LESS, 5 },
               { "least turn of straight pieces [degrees]", straight, KP_MORE, 20 });
  assert_true(curved < 5.0);
  assert_true(worst < 0.2);  // even between the supports of the table of lengths
}

static kp_render_def yarn_def(int size) {
  kp_render_def def = kp_default_render_def();
  def.width = def.height = size;
  def.samples = 4;
  def.camera_fov_deg = 10.0;
  def.ground = KP_GROUND_NONE;
  def.box = false;
  def.transparent = true;
  return def;
}

typedef struct straight_yarns {
  double x[64], y[64], z[64];
  uint64_t first[33];
  kp_render_lines lines;
} straight_yarns;

// Yarn number `line` from a to b.
static void set_yarn(straight_yarns *s, int line, kp_vec3 a, kp_vec3 b) {
  s->x[2 * line] = a.x;
  s->y[2 * line] = a.y;
  s->z[2 * line] = a.z;
  s->x[2 * line + 1] = b.x;
  s->y[2 * line + 1] = b.y;
  s->z[2 * line + 1] = b.z;
  s->first[line] = (uint64_t)(2 * line);
  s->first[line + 1] = (uint64_t)(2 * line + 2);
  s->lines.first = s->first;
  s->lines.n_lines = line + 1;
  s->lines.positions = (kp_render_positions){ s->x, s->y, s->z, 1 };
  s->lines.radius = RADIUS;
  s->lines.look = kp_default_look_def();
  s->lines.look.stroke = KP_STROKE_LUMISLICE;
}

static kp_picture draw(const kp_render_lines *lines, int n, const kp_render_def *def) {
  kp_render_scene scene = { .up = KP_UP_Y, .bounds = kp_aabb_empty(), .lines = lines };
  scene.n_lines = n;
  scene.bounds = (kp_aabb){ { -0.1, -0.1, -0.1 }, { 0.1, 0.1, 0.1 } };
  kp_picture picture = { 0 };
  assert_ok(kp_render_frame(&scene, def, &picture));
  return picture;
}

// Opacity of the middle of a piece of yarn as long as it is wide, the least and the most over 200
// directions.
static void find_opacity(int axes, double *least, double *most) {
  enum { SIZE = 31, DIRECTIONS = 200 };
  straight_yarns s = { 0 };
  set_yarn(&s, 0, kp_vec3_make(-RADIUS, 0.0, 0.0), kp_vec3_make(RADIUS, 0.0, 0.0));
  s.lines.look.axes = axes;
  *least = HUGE_VAL;
  *most = 0.0;
  for (int k = 0; k < DIRECTIONS; ++k) {
    double c = 1.0 - (2.0 * k + 1.0) / DIRECTIONS, angle = 2.399963229728653 * k;
    double r = sqrt(1.0 - c * c);
    kp_render_def def = yarn_def(SIZE);
    def.camera_position = kp_vec3_scale(kp_vec3_make(c, r * cos(angle), r * sin(angle)), 0.2);
    kp_picture picture = draw(&s.lines, 1, &def);
    double radius = 0.5 * SIZE / tan(5.0 * PI / 180.0) * RADIUS / 0.2, sum = 0.0;
    int n = 0;
    for (int i = 0; i < SIZE * SIZE; ++i) {
      double dx = i % SIZE - SIZE / 2, dy = i / SIZE - SIZE / 2;
      if (dx * dx + dy * dy < 0.25 * radius * radius) {
        sum += (double)picture.rgba[4 * i + 3];
        ++n;
      }
    }
    *least = kp_test_least(*least, sum / n);
    *most = kp_test_most(*most, sum / n);
    kp_picture_free(&picture);
  }
}

// Claim C27, second half: three axes leave no direction from which the yarn is not seen.
static void three_axes_leave_no_gap(void **state) {
  (void)state;
  double least[4], most[4];
  for (int axes = 1; axes <= 3; axes += 2) {
    find_opacity(axes, &least[axes], &most[axes]);
    print_message("  %d axes: opacity %.3f to %.3f\n", axes, least[axes], most[axes]);
  }
  double ratio = least[3] / most[3];
  kp_claim claim = { .id = "bayraktar-C27",
                     .text = "quads along three axes leave no direction without yarn",
                     .size = "a piece of yarn as long as it is wide from 200 directions" };
  kp_claim_all(&claim, { "least over greatest opacity, three axes", ratio, KP_AT_LEAST, 0.5 },
               { "least over greatest opacity, one axis", least[1] / most[1], KP_LESS, 0.1 });
  assert_true(ratio >= 0.5);
  assert_true(least[1] / most[1] < 0.1);
}

// Light stored in the slice: nothing is darkened on the side of the light, and what a texel takes
// out comes from the density alone.
static void slice_stores_its_light(void **state) {
  (void)state;
  kp_lumislice slice = { 0 };
  assert_ok(kp_lumislice_create(&slice));
  for (int l = 0; l < KP_LUMI_LEVELS; ++l) {
    const kp_lumi_level *level = &slice.levels[l];
    double sum = 0.0;
    for (int i = 0; i < level->n * level->n; ++i) {
      sum += (double)level->density[i] / (level->n * level->n);
    }
    double whole = 0.0;
    for (int i = 0; i < KP_LUMI_SIZE * KP_LUMI_SIZE; ++i) {
      whole += (double)slice.levels[0].density[i] / (KP_LUMI_SIZE * KP_LUMI_SIZE);
    }
    assert_near_relative(sum, whole, 1e-5);
  }
  const kp_lumi_level *fine = &slice.levels[0];
  double off = 0.0, least_lit = HUGE_VAL, most_behind = 0.0;
  for (int a = 0; a < KP_LUMI_ANGLES; ++a) {
    double angle = 2.0 * PI * a / KP_LUMI_ANGLES;
    float x = (float)(0.97 * cos(angle)), y = (float)(0.97 * sin(angle));
    least_lit = kp_test_least(least_lit, (double)kp_lumi_light(fine, x, y, (float)a, 1.0f));
    most_behind = kp_test_most(most_behind, (double)kp_lumi_light(fine, -x, -y, (float)a, 1.0f));
    // by hand, from the middle outwards
    double depth = 0.0;
    for (int k = 0; k < 2000; ++k) {
      double r = (k + 0.5) / 2000.0;
      depth += 5.0 / 2000.0 *
               (double)kp_lumi_density(fine, (float)(r * cos(angle)), (float)(r * sin(angle)));
    }
    off = kp_test_most(off,
                       fabs((double)kp_lumi_light(fine, 0.0f, 0.0f, (float)a, 1.0f) - exp(-depth)));
  }
  kp_claim claim = { .id = "bayraktar-B41",
                     .text = "a lumislice of yarn stores the light that comes through its fibres",
                     .size = "slice of three plies, sixteen directions of light" };
  kp_claim_all(&claim, { "light in the middle, off the integral", off, KP_AT_MOST, 0.02 },
               { "light on the side of the sun", least_lit, KP_MORE, 0.95 },
               { "light behind", most_behind, KP_LESS, 0.1 });
  assert_true(off <= 0.02 && least_lit > 0.95 && most_behind < 0.1);
  assert_true(kp_lumi_density(fine, 0.8f, 0.8f) == 0.0f);
  kp_lumislice_free(&slice);
}

// The yarn in front is the one that is seen, whichever comes first in the set.
static void quads_are_sorted(void **state) {
  (void)state;
  enum { SIZE = 61 };
  float kind[2][4] = { { 0.0f, 0.0f, 1.0f, 1.0f }, { 1.0f, 1.0f, 0.0f, 0.0f } };
  kp_picture pictures[2];
  for (int order = 0; order < 2; ++order) {
    straight_yarns s = { 0 };
    set_yarn(&s, order, kp_vec3_make(-0.05, 0.0, 0.015), kp_vec3_make(0.05, 0.0, 0.015));
    set_yarn(&s, 1 - order, kp_vec3_make(0.0, -0.05, -0.015), kp_vec3_make(0.0, 0.05, -0.015));
    s.first[0] = 0;
    s.first[1] = 2;
    s.first[2] = 4;
    s.lines.n_lines = 2;
    s.lines.scalar = kind[order];
    s.lines.look.color_map = KP_COLORMAP_TWO;
    s.lines.look.color = kp_vec3_make(1.0, 0.0, 0.0);  // the front one
    s.lines.look.color_end = kp_vec3_make(0.0, 0.0, 1.0);
    s.lines.look.range_max = 1.0;
    kp_render_def def = yarn_def(SIZE);
    def.camera_position = kp_vec3_make(0.0, 0.0, 0.4);
    pictures[order] = draw(&s.lines, 1, &def);
    const float *c = pictures[order].rgba + 4 * (SIZE / 2 * SIZE + SIZE / 2);
    assert_true(c[3] > 0.9f);
    assert_true(c[0] > 20.0f * c[2]);
    // and beside the crossing the other one
    const float *other = pictures[order].rgba + 4 * (8 * SIZE + SIZE / 2);
    assert_true(other[2] > 20.0f * other[0]);
  }
  kp_picture_free(&pictures[0]);
  kp_picture_free(&pictures[1]);
}

static double luminance(const float *c) {
  return 0.2126 * (double)c[0] + 0.7152 * (double)c[1] + 0.0722 * (double)c[2];
}

// Knit that is folded over itself throws a shadow: a sheet of yarns under another one.
static double darkening_of_fold(kp_render_method method) {
  enum { SIZE = 121, YARNS = 16 };
  static straight_yarns sheets[2];
  for (int sheet = 0; sheet < 2; ++sheet) {
    for (int k = 0; k < YARNS; ++k) {
      double z = 0.018 * (k - 0.5 * (YARNS - 1)) - 0.05 * sheet, y = 0.06 * sheet;
      set_yarn(&sheets[sheet], k, kp_vec3_make(-0.15, y, z), kp_vec3_make(0.15, y, z));
    }
  }
  kp_render_def def = yarn_def(SIZE);
  def.camera_position = kp_vec3_make(0.0, 0.5, 1.4);
  def.sun = kp_vec3_make(0.0, 1.0, 0.2);
  def.method = (int)method;
  kp_picture lower = draw(&sheets[0].lines, 1, &def), upper = draw(&sheets[1].lines, 1, &def);
  kp_render_lines both[2] = { sheets[0].lines, sheets[1].lines };
  kp_picture folded = draw(both, 2, &def);
  double lit = 0.0, shaded = 0.0;
  int n = 0;
  for (int i = 0; i < SIZE * SIZE; ++i) {
    // in sight under the upper one, well inside its shadow
    double y = i / SIZE;
    bool seen = upper.rgba[4 * i + 3] == 0.0f && lower.rgba[4 * i + 3] > 0.9f;
    if (seen && y > 0.45 * SIZE && y < 0.53 * SIZE && abs(i % SIZE - SIZE / 2) < 30) {
      lit += luminance(lower.rgba + 4 * i);
      shaded += luminance(folded.rgba + 4 * i);
      ++n;
    }
  }
  print_message("  %d pixels under the fold: luminance %.3f, in shadow %.3f: %.0f %% less\n", n,
                lit / n, shaded / n, 100.0 * (1.0 - shaded / lit));
  assert_true(n > 100);
  kp_picture_free(&lower);
  kp_picture_free(&upper);
  kp_picture_free(&folded);
  return 1.0 - shaded / lit;
}

static void a_fold_throws_its_shadow(void **state) {
  (void)state;
  double tiles = darkening_of_fold(KP_METHOD_RASTER);
  double rays = darkening_of_fold(KP_METHOD_RAYS);
  kp_claim claim = { .id = "bayraktar-B45",
                     .text = "knit that is folded over itself throws a shadow on itself",
                     .size = "two sheets of 16 yarns, tiles and rays" };
  kp_claim_all(&claim,
               { "luminance that is missing under the fold, tiles", tiles, KP_AT_LEAST, 0.2 },
               { "missing, rays", rays, KP_AT_LEAST, 0.2 });
  assert_true(tiles >= 0.2 && rays >= 0.2);
}

// The slice turns with the yarn: what is seen repeats after a turn of its three plies and not
// between.
static void yarn_is_twisted(void **state) {
  (void)state;
  enum { SIZE = 241 };
  straight_yarns s = { 0 };
  set_yarn(&s, 0, kp_vec3_make(-0.1, 0.0, 0.0), kp_vec3_make(0.1, 0.0, 0.0));
  kp_render_def def = yarn_def(SIZE);
  def.samples = 16;
  def.camera_position = kp_vec3_make(0.0, 0.0, 1.2);
  double metre = 0.5 * SIZE / tan(5.0 * PI / 180.0) / 1.2;
  s.lines.look.twist = 60.0 / metre;  // a ply is back after 20 pixels, another one
  kp_picture picture = draw(&s.lines, 1, &def);
  double same = 0.0, other = 0.0;
  for (int dy = -6; dy <= 6; ++dy) {
    for (int x = 40; x < 140; ++x) {
      const float *row = picture.rgba + 4 * (SIZE / 2 + dy) * SIZE;
      same += fabs((double)row[4 * x] - (double)row[4 * (x + 60)]);
      other += fabs((double)row[4 * x] - (double)row[4 * (x + 10)]);
    }
  }
  print_message("  difference after a turn %.3f, after half a ply %.3f\n", same, other);
  assert_true(other > 3.0 * same);
  kp_picture_free(&picture);
}

static void same_bytes_for_any_thread_count(void **state) {
  (void)state;
  enum { SIZE = 61 };
  static straight_yarns s;
  for (int k = 0; k < 8; ++k) {
    double z = 0.02 * (k - 3.5);
    set_yarn(&s, k, kp_vec3_make(-0.1, 0.01 * k, z), kp_vec3_make(0.1, -0.01 * k, -z));
  }
  kp_render_def def = yarn_def(SIZE);
  def.camera_position = kp_vec3_make(0.1, 0.2, 0.8);
  kp_parallel_set_threads(1);
  kp_picture first = draw(&s.lines, 1, &def);
  for (int threads = 2; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    kp_picture other = draw(&s.lines, 1, &def);
    assert_memory_equal(first.rgba, other.rgba, 4 * SIZE * SIZE * sizeof(float));
    kp_picture_free(&other);
  }
  // points that are not finite are left out
  s.x[3] = NAN;
  kp_picture broken = draw(&s.lines, 1, &def);
  for (int i = 0; i < 4 * SIZE * SIZE; ++i) {
    assert_true(isfinite(broken.rgba[i]));
  }
  kp_parallel_set_threads(0);
  kp_picture_free(&first);
  kp_picture_free(&broken);
}

// ---- lists of each pixel, for pictures by rays

enum { WIDTH = 67, HEIGHT = 41, STATIONS = 90, ALONE = 30 };

// Stations that lie and are turned at random, the first in a set of quads along one axis.
static int64_t make_stations(kp_yarn_station *stations, kp_yarn_set sets[3]) {
  for (int i = 0; i < STATIONS; ++i) {
    double u = 0.5 + 0.5 * sin(12.9898 * i), v = 0.5 + 0.5 * sin(78.233 * i), w = sin(39.425 * i);
    kp_f3 t = kp_f3_normalize(kp_f3_make((float)(u - 0.5), (float)(v - 0.5), (float)w));
    kp_f3 n = kp_f3_normalize(kp_f3_cross(t, kp_f3_make(0.3f, 0.5f, 0.8f)));
    stations[i] = (kp_yarn_station){
      .at = kp_f3_make((float)(1.4 * u - 0.7), (float)(0.9 * v - 0.45), (float)(1.0 + 0.1 * w)),
      .t = t,
      .n = n,
      .b = kp_f3_cross(t, n),
      .r = 0.1f,
    };
  }
  stations[3] = stations[2];  // as far away: the smaller number comes first
  stations[4].at.z = 0.001f;  // too near
  sets[0] = (kp_yarn_set){ .quads = 1, .cuts = 3, .axes = 1, .step = 0.03f };
  sets[1] = (kp_yarn_set){ .first_quad = ALONE, .first_station = ALONE, .quads = 7, .cuts = 3 };
  sets[2] = (kp_yarn_set){ .first_quad = ALONE, .first_station = ALONE, .quads = 9, .cuts = 4 };
  sets[2].axes = 3;
  sets[2].level = 3;
  sets[2].step = 0.02f;
  return ALONE + (STATIONS - ALONE) * 9;
}

typedef struct pixel_quad {
  float square;
  uint32_t quad;
} pixel_quad;

static int compare_quads(const void *a, const void *b) {
  const pixel_quad *p = a, *q = b;
  if (p->square != q->square) {
    return p->square < q->square ? -1 : 1;
  }
  return p->quad < q->quad ? -1 : p->quad > q->quad;
}

// All quads that a pixel sees, by asking each of them.
static int find_quads(const kp_yarn_view *view, int64_t n_quads, int x, int y, pixel_quad *out) {
  int n = 0;
  for (uint32_t k = 0; k < (uint32_t)n_quads; ++k) {
    kp_yarn_quad q = kp_yarn_quad_of(view, k);
    kp_lumi_level level = kp_lumi_level_of(view->texels, q.set->level);
    kp_yarn_crossing at;
    float box[4];
    if (kp_yarn_bounds(view, &q, box) && kp_yarn_cross(view, &q, &level, x, y, &at)) {
      out[n++] = (pixel_quad){ kp_f3_dot(q.c, q.c), k };
    }
  }
  qsort(out, (size_t)n, sizeof *out, compare_quads);
  return n;
}

// Lists made in bands of a few rows hold what a loop over all quads finds, in its order.
static void lists_hold_all_quads_in_order(void **state) {
  (void)state;
  static kp_yarn_station stations[STATIONS];
  static pixel_quad wanted[1000];
  kp_yarn_set sets[3];
  kp_lumislice slice = { 0 };
  assert_ok(kp_lumislice_create(&slice));
  int64_t n_quads = make_stations(stations, sets);
  int64_t n_wrong = 0, n_all = 0;
  kp_yarn_view view = { .stations = stations,
                        .sets = sets,
                        .texels = slice.texels,
                        .n_sets = 3,
                        .shift = 0.3f,
                        .width = WIDTH,
                        .height = HEIGHT,
                        .scale = 50.0f,
                        .axis_x = 0.5f * WIDTH,
                        .axis_y = 0.5f * HEIGHT,
                        .nearest = 0.01f };
  for (int mirror = 0; mirror < 2; ++mirror) {
    kp_backend *backend = NULL;
    kp_yarn_lists lists;
    int64_t n = 0, longest = 0;
    assert_ok(kp_backend_create(mirror ? KP_BACKEND_MIRROR : KP_BACKEND_CPU, &backend));
    kp_yarn_lists_init(&lists, backend);
    lists.rows = 16;
    assert_ok(kp_yarn_lists_send(&lists, &view, STATIONS, n_quads));
    for (int row = 0, end; row < HEIGHT; row = end) {
      assert_ok(kp_yarn_lists_make(&lists, row, &end));
      assert_int_equal(end, row + 16 < HEIGHT ? row + 16 : HEIGHT);
      const uint32_t *quads = kp_buffer_host(&lists.quads, KP_ACCESS_READ);
      const uint32_t *spans = kp_buffer_host(&lists.spans, KP_ACCESS_READ);
      for (int i = 0; i < WIDTH * HEIGHT; ++i) {
        bool is_in = i / WIDTH >= row && i / WIDTH < end;
        int count = is_in ? find_quads(&view, n_quads, i % WIDTH, i / WIDTH, wanted) : 0;
        bool is_long = spans[2 * i + 1] - spans[2 * i] == (uint32_t)count;
        n_wrong += !is_long;
        for (int k = 0; k < count && is_long; ++k) {
          n_wrong += quads[spans[2 * i] + (uint32_t)k] != wanted[k].quad;
        }
        n += count;
        longest = count > longest ? count : longest;
      }
    }
    if (mirror == 0) {
      print_message("  %lld crossings, at most %lld in a pixel\n", (long long)n,
                    (long long)longest);
    }
    assert_true(n > 3000 && longest > 10);
    n_all = n;
    kp_yarn_lists_free(&lists);
    kp_backend_destroy(&backend);
  }
  kp_lumislice_free(&slice);
  kp_claim claim = { .id = "bayraktar-B43",
                     .text = "each pixel has the quads of yarn that it sees in their order",
                     .size = "3 sets of quads, 67 x 41 pixels, cpu and mirror backend" };
  kp_claim_all(&claim,
               { "quads missing or out of the order of a loop", (double)n_wrong, KP_AT_MOST, 0 },
               { "crossings of quads and pixels", (double)n_all, KP_MORE, 3000 });
  assert_int_equal(n_wrong, 0);
}

// A knitted loop before and behind a tile, in a light that has no shadows, by tiles and by rays on
// every backend.
static void rays_lay_what_tiles_lay(void **state) {
  (void)state;
  enum { SIZE = 120, LOOPS = 4 };
  kp_ball course[6 * LOOPS];
  double places[6 * LOOPS][3];
  int n = make_course(course, LOOPS);
  for (int i = 0; i < n; ++i) {
    places[i][0] = 0.5 * (double)course[i].x - 0.1;
    places[i][1] = 0.5 * (double)course[i].y - 0.03;
    places[i][2] = 2.0 * (double)course[i].z - 0.03;
  }
  uint64_t first[2] = { 0, (uint64_t)n };
  kp_render_lines lines = { .n_lines = 1, .first = first, .radius = 0.4 * RADIUS };
  lines.positions = (kp_render_positions){ &places[0][0], &places[0][1], &places[0][2], 3 };
  lines.look = kp_default_look_def();
  lines.look.stroke = KP_STROKE_LUMISLICE;
  static const double corners[4][3] = {
    { -0.06, -0.02, 0.0 }, { 0.05, -0.02, 0.0 }, { 0.05, 0.02, 0.01 }, { -0.06, 0.02, 0.01 }
  };
  static const uint32_t faces[6] = { 0, 1, 2, 0, 2, 3 };
  kp_render_mesh tile = { .n_vertices = 4, .n_triangles = 2, .triangles = faces };
  tile.positions = (kp_render_positions){ &corners[0][0], &corners[0][1], &corners[0][2], 3 };
  tile.look = kp_default_look_def();
  tile.look.gloss = 0.0;
  kp_render_scene scene = { .lines = &lines, .n_lines = 1, .meshes = &tile, .n_meshes = 1 };
  scene.bounds = (kp_aabb){ { -0.1, -0.1, -0.1 }, { 0.1, 0.1, 0.1 } };
  kp_render_def def = yarn_def(SIZE);
  def.camera_position = kp_vec3_make(0.1, 0.2, 1.2);
  def.occlusion = def.sun_strength = 0.0;
  kp_picture tiles = { 0 }, rays = { 0 }, mirrored = { 0 };
  assert_ok(kp_render_frame(&scene, &def, &tiles));
  def.method = KP_METHOD_RAYS;
  assert_ok(kp_render_frame(&scene, &def, &rays));
  double sum = 0.0, covered = 0.0;
  for (int i = 0; i < 4 * SIZE * SIZE; ++i) {
    double d = (double)tiles.rgba[i] - (double)rays.rgba[i];
    sum += d * d;
    covered += i % 4 == 3 ? (double)rays.rgba[i] : 0.0;
  }
  double rms = sqrt(sum / (4 * SIZE * SIZE));
  print_message("  %.0f pixels covered, RMS of the difference %.2g\n", covered, rms);
  assert_true(covered > 2000.0);
  assert_true(rms < 4e-4);
  // and in the sun
  def.sun_strength = 1.0;
  kp_backend *mirror = NULL;
  assert_ok(kp_backend_create(KP_BACKEND_MIRROR, &mirror));
  assert_ok(kp_render_frame(&scene, &def, &rays));
  scene.backend = mirror;
  assert_ok(kp_render_frame(&scene, &def, &mirrored));
  assert_memory_equal(rays.rgba, mirrored.rgba, 4 * SIZE * SIZE * sizeof(float));
  assert_memory_equal(rays.depth, mirrored.depth, SIZE * SIZE * sizeof(float));
  kp_backend_destroy(&mirror);
  kp_picture_free(&tiles);
  kp_picture_free(&rays);
  kp_picture_free(&mirrored);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(curve_has_no_seams),
    cmocka_unit_test(three_axes_leave_no_gap),
    cmocka_unit_test(slice_stores_its_light),
    cmocka_unit_test(quads_are_sorted),
    cmocka_unit_test(a_fold_throws_its_shadow),
    cmocka_unit_test(yarn_is_twisted),
    cmocka_unit_test(same_bytes_for_any_thread_count),
    cmocka_unit_test(lists_hold_all_quads_in_order),
    cmocka_unit_test(rays_lay_what_tiles_lay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
