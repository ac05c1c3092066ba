#include "run/measure_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "io/png.h"
#include "io/table.h"
#include "run/run_folder.h"

// ---- names
// -------------------------------------------------------------------------------------------------

// The last part of a run's path, without what a table or a picture cannot hold.
static void short_name(const char *path, char *out, size_t size) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') {
    --n;
  }
  size_t first = n;
  while (first > 0 && path[first - 1] != '/') {
    --first;
  }
  (void)snprintf(out, size, "%.*s", (int)(n - first), path + first);
  for (char *p = out; (p = strpbrk(p, ",\"<>&\r\n")) != NULL;) {
    *p = '_';
  }
}

static kp_result path_of(const kp_measured *m, const char *name, char out[KP_PATH_SIZE]) {
  int n = snprintf(out, KP_PATH_SIZE, "%s/%s", m->def->out, name);
  return n < KP_PATH_SIZE ? KP_OK : kp_fail(KP_ERROR_ARGUMENT, "the path %s is too long", out);
}

typedef struct columns {
  KP_ARRAY(char *) names;
} columns;

static kp_result add_column(columns *c, const char *run, const char *name) {
  char text[512];
  char owner[256] = "";
  if (run != NULL) {
    short_name(run, owner, sizeof owner);
  }
  (void)snprintf(text, sizeof text, "%s%s%s", owner, run != NULL ? "." : "", name);
  char *copy = kp_strdup(text, KP_MEMORY_IO);
  if (copy == NULL || kp_array_push(&c->names, copy) != KP_OK) {
    kp_free(copy);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

static kp_result make_columns(const kp_measured *m, const char *const *first, size_t n_first,
                              const char *const *each, size_t n_each, columns *out) {
  for (size_t c = 0; c < n_first; ++c) {
    KP_TRY(add_column(out, NULL, first[c]));
  }
  for (size_t k = 0; k < m->runs.count; ++k) {
    for (size_t c = 0; c < n_each; ++c) {
      KP_TRY(add_column(out, m->def->runs[k], each[c]));
    }
  }
  return KP_OK;
}

static void free_columns(columns *c) {
  for (size_t i = 0; i < c->names.count; ++i) {
    kp_free(c->names.data[i]);
  }
  kp_array_free(&c->names);
}

#define COUNT(names) (sizeof(names) / sizeof(names)[0])

// ---- tables
// -------------------------------------------------------------------------------------------------

typedef kp_result (*rows_fn)(const kp_measured *m, kp_table *table, double *row);

static kp_result write_table(const kp_measured *m, const char *name, const columns *c,
                             rows_fn rows) {
  char path[KP_PATH_SIZE];
  kp_table *table = NULL;
  KP_TRY(path_of(m, name, path));
  double *row = kp_alloc(c->names.count * sizeof *row, KP_MEMORY_IO);
  if (row == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result =
      kp_table_create(path, (const char *const *)c->names.data, c->names.count, &table);
  if (result == KP_OK) {
    result = rows(m, table, row);
    kp_table_close(&table);
  }
  kp_free(row);
  return result;
}

static kp_result region_rows(const kp_measured *m, kp_table *table, double *row) {
  size_t n = m->reference.n_regions;
  for (size_t r = 0; r < n; ++r) {
    kp_vec3 p = m->reference.values.data[r].position;
    double *out = row;
    *out++ = (double)r;
    *out++ = p.x;
    *out++ = p.y;
    *out++ = p.z;
    *out++ = m->errors.data[r].intensity;
    for (size_t k = 0; k < m->runs.count; ++k) {
      const kp_region_error *e = &m->errors.data[k * n + r];
      *out++ = e->angle;
      *out++ = e->magnitude;
      *out++ = (double)e->used;
      *out++ = (double)e->skipped;
    }
    KP_TRY(kp_table_row(table, row));
  }
  return KP_OK;
}

static kp_result write_regions(const kp_measured *m) {
  static const char *const first[] = { "region", "x", "y", "z", "intensity" };
  static const char *const each[] = { "angle", "magnitude_error", "used", "skipped" };
  columns c = { 0 };
  kp_result result = make_columns(m, first, COUNT(first), each, COUNT(each), &c);
  if (result == KP_OK) {
    result = write_table(m, "regions.csv", &c, region_rows);
  }
  free_columns(&c);
  return result;
}

// Speed and angle of a run in a region at a time, NaN where there are none.
static void speed_and_angle(const kp_measured *m, size_t run, size_t region, double time,
                            double *speed, double *angle) {
  kp_probe_value ref;
  kp_probe_value v;
  *speed = *angle = NAN;
  if (kp_series_at(&m->runs.data[run], region, time, &v)) {
    *speed = kp_vec3_length(v.velocity);
    if (kp_series_at(&m->reference, region, time, &ref)) {
      *angle = kp_measure_angle(v.velocity, ref.velocity, m->def->slow * m->top);
    }
  }
}

static kp_result series_rows(const kp_measured *m, kp_table *table, double *row) {
  for (size_t i = 0; i < m->reference.n_looks; ++i) {
    for (size_t r = 0; r < m->reference.n_regions; ++r) {
      const kp_probe_value *ref = &m->reference.values.data[i * m->reference.n_regions + r];
      double *out = row;
      *out++ = m->reference.times.data[i];
      *out++ = (double)r;
      *out++ = kp_vec3_length(ref->velocity);
      for (size_t k = 0; k < m->runs.count; ++k, out += 2) {
        speed_and_angle(m, k, r, m->reference.times.data[i], &out[0], &out[1]);
      }
      KP_TRY(kp_table_row(table, row));
    }
  }
  return KP_OK;
}

static kp_result write_series(const kp_measured *m) {
  static const char *const first[] = { "time", "region", "reference.magnitude" };
  static const char *const each[] = { "magnitude", "angle" };
  columns c = { 0 };
  kp_result result = make_columns(m, first, COUNT(first), each, COUNT(each), &c);
  if (result == KP_OK) {
    result = write_table(m, "series.csv", &c, series_rows);
  }
  free_columns(&c);
  return result;
}

static kp_result write_text(const kp_measured *m, const char *name, kp_text *text,
                            kp_result result) {
  char path[KP_PATH_SIZE];
  if (result == KP_OK) {
    result = path_of(m, name, path);
  }
  if (result == KP_OK) {
    result = kp_file_write(path, text->data, strlen(text->data));
  }
  kp_text_free(text);
  return result;
}

static kp_result summary_text(const kp_measured *m, kp_text *text) {
  KP_TRY(kp_text_add(text, "run,regions,mean_angle,median_angle,mean_magnitude_error,best_regions,"
                           "steps,best_steps,used,skipped\n"));
  for (size_t k = 0; k < m->runs.count; ++k) {
    const kp_measure_total *t = &m->totals[k];
    char name[256];
    short_name(m->def->runs[k], name, sizeof name);
    KP_TRY(kp_text_add(text,
                       "%s,%" PRId64 ",%.9g,%.9g,%.9g,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                       ",%" PRId64 "\n",
                       name, t->regions, t->mean_angle, t->median_angle, t->mean_magnitude, t->best,
                       t->steps, t->steps_best, t->used, t->skipped));
  }
  return KP_OK;
}

// ---- the map
// -------------------------------------------------------------------------------------------------

#define MAP_SIZE 640.0   // pixels of the longer side
#define MAP_MARGIN 24.0  // around the regions

// Where regions are drawn: x to the right, y up, layers of z side by side.
typedef struct map_view {
  kp_vec3 lo, hi;
  double scale;   // pixels per metre
  double radius;  // pixels
  double width, height;
  int64_t layers;
  double layer_width;
} map_view;

static double nearest_gap(const kp_measured *m) {
  double gap = HUGE_VAL;
  for (size_t r = 1; r < m->reference.n_regions; ++r) {
    kp_vec3 a = m->reference.values.data[0].position;
    double d = kp_vec3_length(kp_vec3_sub(a, m->reference.values.data[r].position));
    gap = d > 0.0 ? fmin(gap, d) : gap;
  }
  return isfinite(gap) ? gap : 1.0;
}

static map_view view_of(const kp_measured *m) {
  map_view v = { .lo = m->reference.values.data[0].position };
  v.hi = v.lo;
  double last_z = v.lo.z;
  v.layers = 1;
  for (size_t r = 0; r < m->reference.n_regions; ++r) {
    kp_vec3 p = m->reference.values.data[r].position;
    v.lo = kp_vec3_min(v.lo, p);
    v.hi = kp_vec3_max(v.hi, p);
    v.layers += p.z > last_z ? 1 : 0;
    last_z = p.z;
  }
  double gap = nearest_gap(m);
  double w = v.hi.x - v.lo.x + gap;
  double h = v.hi.y - v.lo.y + gap;
  v.scale = (MAP_SIZE - 2.0 * MAP_MARGIN) / fmax(w, h);
  v.radius = 0.46 * gap * v.scale;
  v.layer_width = w * v.scale + MAP_MARGIN;
  v.width = v.layer_width * (double)v.layers + MAP_MARGIN;
  v.height = h * v.scale + 2.0 * MAP_MARGIN;
  return v;
}

static void place_of(const kp_measured *m, const map_view *v, size_t r, double *x, double *y) {
  kp_vec3 p = m->reference.values.data[r].position;
  int64_t layer = 0;
  if (v->layers > 1) {
    layer = (int64_t)lround((p.z - v->lo.z) / (v->hi.z - v->lo.z) * (double)(v->layers - 1));
  }
  double half = v->radius / 0.92;
  *x = MAP_MARGIN + (double)layer * v->layer_width + half + (p.x - v->lo.x) * v->scale;
  *y = v->height - MAP_MARGIN - half - (p.y - v->lo.y) * v->scale;
}

// How much nearer the first run is than the second: 1 all, 0 alike, -1 the second; NaN unknown.
static double gain_of(const kp_measured *m, size_t r) {
  double a = m->errors.data[r].angle;
  double b = m->errors.data[m->reference.n_regions + r].angle;
  return a + b > 0.0 ? (b - a) / (a + b) : isnan(a + b) ? NAN : 0.0;
}

// Red over yellow to green; twice as far apart counts as all. Grey where nothing is known.
static void color_of(double gain, int rgb[3]) {
  double g = isnan(gain) ? 0.0 : fmax(-1.0, fmin(1.0, 3.0 * gain));
  rgb[0] = isnan(gain) ? 170 : (int)lround(g > 0.0 ? 235.0 - 195.0 * g : 235.0);
  rgb[1] = isnan(gain) ? 170 : (int)lround(g > 0.0 ? 210.0 - 50.0 * g : 210.0 + 170.0 * g);
  rgb[2] = isnan(gain) ? 170 : (int)lround(60.0 - 10.0 * fabs(g));
}

static kp_result map_text(const kp_measured *m, kp_text *text) {
  map_view v = view_of(m);
  char a[256];
  char b[256];
  short_name(m->def->runs[0], a, sizeof a);
  short_name(m->def->runs[1], b, sizeof b);
  KP_TRY(
      kp_text_add(text,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"sans-serif\" font-size=\"11\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"8\" y=\"16\">green: %s is nearer to the reference; red: %s</text>\n",
                  v.width, v.height, a, b));
  for (size_t r = 0; r < m->reference.n_regions; ++r) {
    double x;
    double y;
    int c[3];
    place_of(m, &v, r, &x, &y);
    color_of(gain_of(m, r), c);
    KP_TRY(kp_text_add(text,
                       "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"rgb(%d,%d,%d)\" "
                       "stroke=\"#444\"/><text x=\"%.1f\" y=\"%.1f\" "
                       "text-anchor=\"middle\">%zu</text>\n",
                       x, y, v.radius, c[0], c[1], c[2], x, y + 4.0, r));
  }
  return kp_text_add(text, "</svg>\n");
}

// One disc, its rim darker, four samples per pixel.
static void paint_disc(kp_image *image, double cx, double cy, double radius, const int rgb[3]) {
  int x0 = (int)fmax(0.0, floor(cx - radius - 1.0));
  int y0 = (int)fmax(0.0, floor(cy - radius - 1.0));
  int x1 = (int)fmin(image->width - 1.0, ceil(cx + radius + 1.0));
  int y1 = (int)fmin(image->height - 1.0, ceil(cy + radius + 1.0));
  for (int y = y0; y <= y1; ++y) {
    for (int x = x0; x <= x1; ++x) {
      uint8_t *p = image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
      for (int s = 0; s < 4; ++s) {
        double d = hypot(x + 0.25 + 0.5 * (s % 2) - cx, y + 0.25 + 0.5 * (s / 2) - cy);
        for (int c = 0; c < 3 && d <= radius; ++c) {
          int value = d > radius - 1.5 ? 68 : rgb[c];
          p[c] = (uint8_t)(p[c] + (value - p[c]) / (4 - s));
        }
      }
    }
  }
}

static kp_result write_map_png(const kp_measured *m) {
  map_view v = view_of(m);
  char path[KP_PATH_SIZE];
  kp_image image;
  KP_TRY(path_of(m, "map.png", path));
  KP_TRY(kp_image_create((int)v.width, (int)v.height, 3, &image));
  memset(image.pixels, 255, (size_t)image.width * (size_t)image.height * 3);
  for (size_t r = 0; r < m->reference.n_regions; ++r) {
    double x;
    double y;
    int c[3];
    place_of(m, &v, r, &x, &y);
    color_of(gain_of(m, r), c);
    paint_disc(&image, x, y, v.radius, c);
  }
  kp_result result = kp_png_write(path, &image);
  kp_image_free(&image);
  return result;
}

// ---- curves
// -------------------------------------------------------------------------------------------------

#define PLOT_WIDTH 720.0
#define PLOT_HEIGHT 220.0
#define PLOT_LEFT 60.0

static const char *const plot_colors[] = { "#1b9e4b", "#d62728", "#1f77b4", "#9467bd", "#8c564b" };

static size_t region_to_plot(const kp_measured *m) {
  size_t best = 0;
  for (size_t r = 0; r < m->reference.n_regions; ++r) {
    best = m->errors.data[r].intensity > m->errors.data[best].intensity ? r : best;
  }
  return m->def->region >= 0 ? (size_t)m->def->region : best;
}

// One curve; line -1 is the reference. A gap where there is no value.
static kp_result add_curve(const kp_measured *m, kp_text *text, size_t region, int line,
                           bool is_angle, double top, double y0) {
  const kp_series *s = &m->reference;
  double t0 = s->times.data[0];
  double span = s->times.data[s->n_looks - 1] - t0;
  const char *color = line < 0 ? "black" : plot_colors[(size_t)line % COUNT(plot_colors)];
  KP_TRY(kp_text_add(text, "<path fill=\"none\" stroke=\"%s\" d=\"", color));
  bool pen = false;
  for (size_t i = 0; i < s->n_looks; ++i) {
    double speed = kp_vec3_length(s->values.data[i * s->n_regions + region].velocity);
    double angle = 0.0;
    if (line >= 0) {
      speed_and_angle(m, (size_t)line, region, s->times.data[i], &speed, &angle);
    }
    double value = is_angle ? angle : speed;
    if (!isnan(value)) {
      double x = PLOT_LEFT + PLOT_WIDTH * (s->times.data[i] - t0) / (span > 0.0 ? span : 1.0);
      KP_TRY(kp_text_add(text, "%s%.1f %.1f", pen ? "L" : "M", x, y0 - PLOT_HEIGHT * value / top));
    }
    pen = !isnan(value);
  }
  return kp_text_add(text, "\"/>\n");
}

static kp_result add_plot(const kp_measured *m, kp_text *text, size_t region, bool is_angle,
                          double y0) {
  double top = is_angle ? 3.14159265358979323846 : 0.0;
  for (size_t i = 0; i < m->reference.n_looks && !is_angle; ++i) {
    double speed = 0.0;
    double angle;
    for (size_t k = 0; k < m->runs.count; ++k) {
      speed_and_angle(m, k, region, m->reference.times.data[i], &speed, &angle);
      top = fmax(top, isnan(speed) ? 0.0 : speed);
    }
    const kp_probe_value *ref = &m->reference.values.data[i * m->reference.n_regions + region];
    top = fmax(top, kp_vec3_length(ref->velocity));
  }
  top = top > 0.0 ? top : 1.0;
  KP_TRY(kp_text_add(text,
                     "<path fill=\"none\" stroke=\"#888\" d=\"M%.0f %.0fV%.0fH%.0f\"/>\n"
                     "<text x=\"8\" y=\"%.0f\">%.3g</text><text x=\"8\" y=\"%.0f\">0</text>\n"
                     "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
                     PLOT_LEFT, y0 - PLOT_HEIGHT, y0, PLOT_LEFT + PLOT_WIDTH, y0 - PLOT_HEIGHT + 10,
                     top, y0, PLOT_LEFT + 8, y0 - PLOT_HEIGHT + 10,
                     is_angle ? "angle to the reference [rad]" : "magnitude of velocity [m/s]"));
  for (int line = is_angle ? 0 : -1; line < (int)m->runs.count; ++line) {
    KP_TRY(add_curve(m, text, region, line, is_angle, top, y0));
  }
  return KP_OK;
}

static kp_result curves_text(const kp_measured *m, kp_text *text) {
  size_t region = region_to_plot(m);
  double height = 2.0 * PLOT_HEIGHT + 100.0;
  KP_TRY(kp_text_add(text,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                     "font-family=\"sans-serif\" font-size=\"12\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                     "<text x=\"%.0f\" y=\"18\">region %zu; reference black</text>\n",
                     PLOT_LEFT + PLOT_WIDTH + 20.0, height, PLOT_LEFT, region));
  for (size_t k = 0; k < m->runs.count; ++k) {
    char name[256];
    short_name(m->def->runs[k], name, sizeof name);
    KP_TRY(kp_text_add(text, "<text x=\"%.0f\" y=\"18\" fill=\"%s\">%s</text>\n",
                       PLOT_LEFT + 200.0 + 150.0 * (double)k, plot_colors[k % COUNT(plot_colors)],
                       name));
  }
  KP_TRY(add_plot(m, text, region, true, 40.0 + PLOT_HEIGHT));
  KP_TRY(add_plot(m, text, region, false, 80.0 + 2.0 * PLOT_HEIGHT));
  return kp_text_add(text, "</svg>\n");
}

kp_result kp_measured_write(const kp_measured *m) {
  kp_text text = { 0 };
  KP_TRY(write_regions(m));
  KP_TRY(write_series(m));
  KP_TRY(write_text(m, "summary.csv", &text, summary_text(m, &text)));
  text = (kp_text){ 0 };
  KP_TRY(write_text(m, "curves.svg", &text, curves_text(m, &text)));
  if (m->runs.count < 2) {
    return KP_OK;
  }
  text = (kp_text){ 0 };
  KP_TRY(write_text(m, "map.svg", &text, map_text(m, &text)));
  return write_map_png(m);
}
