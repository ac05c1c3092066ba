#include "io/plot.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/plot_letters.h"

#define WIDTH 1000.0
#define PANEL 240.0  // height of a panel with its title and ticks
#define LEFT 90.0
#define RIGHT 240.0  // room for the names of curves
#define TOP 34.0
#define BOTTOM 24.0
#define FOOT 30.0
#define LETTER 11.0  // height of a capital
#define NAME_STEP 16.0

static const uint32_t curve_colors[] = { 0x1f5fa8, 0xc2452d, 0x2f8f4e, 0x7a4fa3, 0x8a6d1d,
                                         0x2a9d9d, 0xb83280, 0x555555, 0xe08a1e, 0x6b8e23 };
enum { N_COLORS = sizeof curve_colors / sizeof curve_colors[0] };
enum { INK = 0x333333, RULE = 0xdddddd };

typedef enum plot_anchor { AT_START, AT_MIDDLE, AT_END } plot_anchor;

// What a chart is drawn on. y grows downwards.
typedef struct plot_canvas {
  void (*chain)(void *on, const double *xy, size_t n, double width, uint32_t color);
  void (*text)(void *on, double x, double y, plot_anchor anchor, uint32_t color, const char *text);
  void *on;
} plot_canvas;

// ---- axes

kp_plot_axis kp_plot_axis_make(double lo, double hi) {
  if (!(lo <= hi)) {
    lo = 0.0;
    hi = 1.0;
  }
  if (hi - lo <= 1e-12 * fmax(fabs(lo), fabs(hi))) {
    double half = lo == 0.0 ? 1.0 : 0.5 * fabs(lo);
    lo -= half;
    hi += half;
  }
  double raw = (hi - lo) / 5.0, power = pow(10.0, floor(log10(raw))), times = raw / power;
  double step = power * (times < 1.5 ? 1.0 : times < 3.0 ? 2.0 : times < 7.0 ? 5.0 : 10.0);
  return (kp_plot_axis){ step * floor(lo / step + 1e-9), step * ceil(hi / step - 1e-9), step };
}

kp_plot_axis kp_plot_log_axis_make(double lo, double hi) {
  if (!(lo > 0.0 && lo <= hi)) {
    lo = hi = 1.0;
  }
  double first = floor(log10(lo) + 1e-9), last = ceil(log10(hi) - 1e-9);
  last = fmax(last, first + 1.0);
  double step = fmax(1.0, ceil((last - first) / 8.0));
  return (kp_plot_axis){ first, first + step * ceil((last - first) / step), step };
}

static void stretch(const double *values, size_t n, bool is_log, double *lo, double *hi) {
  for (size_t i = 0; i < n; ++i) {
    if (isfinite(values[i]) && (!is_log || values[i] > 0.0)) {
      *lo = fmin(*lo, values[i]);
      *hi = fmax(*hi, values[i]);
    }
  }
}

static kp_plot_axis axis_of_x(const kp_plot *plot) {
  double lo = DBL_MAX, hi = -DBL_MAX;
  for (size_t p = 0; p < plot->n_panels; ++p) {
    for (size_t c = 0; c < plot->panels[p].n_curves; ++c) {
      stretch(plot->panels[p].curves[c].x, plot->panels[p].curves[c].n, false, &lo, &hi);
    }
  }
  return kp_plot_axis_make(lo, hi);
}

static kp_plot_axis axis_of_y(const kp_plot_panel *panel) {
  double lo = DBL_MAX, hi = -DBL_MAX;
  for (size_t c = 0; c < panel->n_curves; ++c) {
    stretch(panel->curves[c].y, panel->curves[c].n, panel->is_log, &lo, &hi);
  }
  if (panel->is_log) {
    return kp_plot_log_axis_make(lo, hi);
  }
  // zero is shown where it is near: most columns are amounts
  if (lo > 0.0 && lo < 0.5 * hi) {
    lo = 0.0;
  }
  return kp_plot_axis_make(lo, hi);
}

// ---- layout

typedef struct plot_area {
  double x0, x1, y0, y1;  // of the canvas; y0 is the upper edge
  kp_plot_axis x, y;
  bool is_log;
} plot_area;

static double place_x(const plot_area *b, double x) {
  return b->x0 + (b->x1 - b->x0) * (x - b->x.lo) / (b->x.hi - b->x.lo);
}

// A power of ten stands at its exponent.
static double height_on_axis(const plot_area *b, double y) {
  return b->is_log ? log10(y) : y;
}

// y is in units of the axis.
static double place_y(const plot_area *b, double y) {
  return b->y1 - (b->y1 - b->y0) * (y - b->y.lo) / (b->y.hi - b->y.lo);
}

static void draw_line(const plot_canvas *canvas, double x0, double y0, double x1, double y1,
                      uint32_t color) {
  const double xy[4] = { x0, y0, x1, y1 };
  canvas->chain(canvas->on, xy, 2, 1.0, color);
}

static void draw_ticks(const plot_canvas *canvas, const plot_area *b) {
  char text[32];
  int n_x = (int)lround((b->x.hi - b->x.lo) / b->x.step);
  int n_y = (int)lround((b->y.hi - b->y.lo) / b->y.step);
  for (int i = 0; i <= n_x; ++i) {
    double value = b->x.lo + i * b->x.step, x = place_x(b, value);
    draw_line(canvas, x, b->y0, x, b->y1, RULE);
    (void)snprintf(text, sizeof text, "%.6g", fabs(value) < 1e-9 * b->x.step ? 0.0 : value);
    canvas->text(canvas->on, x, b->y1 + 15.0, AT_MIDDLE, INK, text);
  }
  for (int i = 0; i <= n_y; ++i) {
    double value = b->y.lo + i * b->y.step, y = place_y(b, value);
    draw_line(canvas, b->x0, y, b->x1, y, RULE);
    double told = b->is_log ? pow(10.0, value) : fabs(value) < 1e-9 * b->y.step ? 0.0 : value;
    (void)snprintf(text, sizeof text, "%.6g", told);
    canvas->text(canvas->on, b->x0 - 6.0, y + 4.0, AT_END, INK, text);
  }
  draw_line(canvas, b->x0, b->y0, b->x0, b->y1, INK);
  draw_line(canvas, b->x0, b->y1, b->x1, b->y1, INK);
}

// A chain per stretch without gaps, in pieces of a fixed size that share their ends.
static void draw_curve(const plot_canvas *canvas, const plot_area *b, const kp_plot_curve *curve,
                       uint32_t color) {
  enum { PIECE = 512 };
  double xy[2 * PIECE];
  size_t n = 0;
  for (size_t i = 0; i <= curve->n; ++i) {
    bool is_here = i < curve->n && isfinite(curve->x[i]) && isfinite(curve->y[i]) &&
                   (!b->is_log || curve->y[i] > 0.0);
    if (n > 0 && (!is_here || n == PIECE)) {
      canvas->chain(canvas->on, xy, n, 1.6, color);
      xy[0] = xy[2 * n - 2];
      xy[1] = xy[2 * n - 1];
      n = is_here ? 1 : 0;
    }
    if (is_here) {
      xy[2 * n] = place_x(b, curve->x[i]);
      xy[2 * n + 1] = place_y(b, height_on_axis(b, curve->y[i]));
      ++n;
    }
  }
}

// How many numbers of the panel's curves can be shown.
static size_t count_shown(const kp_plot_panel *panel) {
  size_t n = 0;
  for (size_t c = 0; c < panel->n_curves; ++c) {
    const kp_plot_curve *curve = &panel->curves[c];
    for (size_t i = 0; i < curve->n; ++i) {
      n += isfinite(curve->y[i]) && (!panel->is_log || curve->y[i] > 0.0) ? 1 : 0;
    }
  }
  return n;
}

static double most_of(const kp_plot_curve *curve) {
  double lo = DBL_MAX, hi = -DBL_MAX;
  stretch(curve->y, curve->n, false, &lo, &hi);
  return fmax(fabs(lo), fabs(hi));
}

// The name of a curve stands below those of the curves that reach higher, so that the ones without
// room are the small ones; in the order of the curves where all have room.
static size_t place_of_name(const kp_plot_panel *panel, size_t curve, size_t room) {
  if (panel->n_curves <= room) {
    return curve;
  }
  size_t place = 0;
  const double most = most_of(&panel->curves[curve]);
  for (size_t c = 0; c < panel->n_curves; ++c) {
    const double other = most_of(&panel->curves[c]);
    place += other > most || (other == most && c < curve) ? 1 : 0;
  }
  return place;
}

static void draw_panel(const plot_canvas *canvas, const kp_plot_panel *panel, kp_plot_axis x,
                       double top) {
  plot_area b = { LEFT, WIDTH - RIGHT,    top + TOP,    top + PANEL - BOTTOM,
                  x,    axis_of_y(panel), panel->is_log };
  const size_t room = (size_t)((b.y1 - b.y0 - 12.0) / NAME_STEP) + 1;
  canvas->text(canvas->on, LEFT, top + TOP - 10.0, AT_START, INK, panel->title);
  draw_ticks(canvas, &b);
  for (size_t c = 0; c < panel->n_curves; ++c) {
    const uint32_t color = curve_colors[c % N_COLORS];
    const size_t place = place_of_name(panel, c, room);
    const double y = b.y0 + 12.0 + NAME_STEP * (double)place;
    draw_curve(canvas, &b, &panel->curves[c], color);
    if (place + 1 < room || panel->n_curves <= room) {
      draw_line(canvas, b.x1 + 8.0, y - 4.0, b.x1 + 24.0, y - 4.0, color);
      canvas->text(canvas->on, b.x1 + 28.0, y, AT_START, color, panel->curves[c].name);
    } else if (place + 1 == room) {
      char more[48];
      (void)snprintf(more, sizeof more, "and %zu more", panel->n_curves - place);
      canvas->text(canvas->on, b.x1 + 28.0, y, AT_START, INK, more);
    }
  }
  if (count_shown(panel) == 0) {
    canvas->text(canvas->on, 0.5 * (b.x0 + b.x1), 0.5 * (b.y0 + b.y1), AT_MIDDLE, INK,
                 panel->is_log ? "no positive numbers" : "no numbers");
  }
}

static double height_of(const kp_plot *plot) {
  return PANEL * (double)plot->n_panels + FOOT;
}

static void draw(const kp_plot *plot, const plot_canvas *canvas) {
  kp_plot_axis x = axis_of_x(plot);
  for (size_t p = 0; p < plot->n_panels; ++p) {
    draw_panel(canvas, &plot->panels[p], x, PANEL * (double)p);
  }
  canvas->text(canvas->on, 0.5 * (LEFT + WIDTH - RIGHT), height_of(plot) - 10.0, AT_MIDDLE, INK,
               plot->x_label);
}

// ---- SVG

typedef struct svg {
  kp_text *text;
  kp_result result;
} svg;

// The first failure is kept; after it nothing is added.
static void say(svg *s, const char *format, ...) KP_PRINTF(2, 3);
static void say(svg *s, const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (s->result == KP_OK) {
    s->result = kp_text_add(s->text, "%s", line);
  }
}

static void svg_chain(void *on, const double *xy, size_t n, double width, uint32_t color) {
  if (n == 1) {  // a line of one point would not be seen
    say(on, "<circle fill=\"#%06x\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"/>\n", color, 1.25 * width,
        xy[0], xy[1]);
    return;
  }
  say(on, "<polyline fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.1f\" points=\"", color, width);
  for (size_t i = 0; i < n; ++i) {
    say(on, "%.1f,%.1f ", xy[2 * i], xy[2 * i + 1]);
  }
  say(on, "\"/>\n");
}

static void svg_text(void *on, double x, double y, plot_anchor anchor, uint32_t color,
                     const char *text) {
  static const char *const anchors[] = { "start", "middle", "end" };
  say(on, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#%06x\">", x, y, anchors[anchor],
      color);
  for (const char *p = text; *p != '\0'; ++p) {
    if (*p == '<' || *p == '&') {
      say(on, "%s", *p == '<' ? "&lt;" : "&amp;");
    } else {
      say(on, "%c", *p);
    }
  }
  say(on, "</text>\n");
}

kp_result kp_plot_svg(const kp_plot *plot, kp_text *out) {
  KP_TRY(kp_text_add(out,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                     "font-family=\"sans-serif\" font-size=\"12\">\n"
                     "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                     WIDTH, height_of(plot)));
  svg s = { out, KP_OK };
  plot_canvas canvas = { svg_chain, svg_text, &s };
  draw(plot, &canvas);
  KP_TRY(s.result);
  return kp_text_add(out, "</svg>\n");
}

// ---- pixels

static void blend(kp_image *image, int x, int y, double share, uint32_t color) {
  if (x < 0 || y < 0 || x >= image->width || y >= image->height || share <= 0.0) {
    return;
  }
  uint8_t *p = image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
  share = share < 1.0 ? share : 1.0;
  for (int c = 0; c < 3; ++c) {
    double ink = (double)((color >> (16 - 8 * c)) & 0xff);
    p[c] = (uint8_t)(p[c] + share * (ink - p[c]) + 0.5);
  }
}

// A segment with round ends: each pixel by its distance from it.
static void paint_segment(kp_image *image, const double a[2], const double b[2], double width,
                          uint32_t color) {
  double reach = 0.5 * width + 1.0, ex = b[0] - a[0], ey = b[1] - a[1];
  double square = ex * ex + ey * ey;
  int x0 = (int)floor(fmin(a[0], b[0]) - reach), x1 = (int)ceil(fmax(a[0], b[0]) + reach);
  int y0 = (int)floor(fmin(a[1], b[1]) - reach), y1 = (int)ceil(fmax(a[1], b[1]) + reach);
  for (int y = y0 < 0 ? 0 : y0; y <= y1 && y < image->height; ++y) {
    for (int x = x0 < 0 ? 0 : x0; x <= x1 && x < image->width; ++x) {
      double px = x + 0.5 - a[0], py = y + 0.5 - a[1];
      double t = square > 0.0 ? fmin(1.0, fmax(0.0, (px * ex + py * ey) / square)) : 0.0;
      blend(image, x, y, 0.5 * width + 0.5 - hypot(px - t * ex, py - t * ey), color);
    }
  }
}

static void pixel_chain(void *on, const double *xy, size_t n, double width, uint32_t color) {
  for (size_t i = 0; i < n; ++i) {
    size_t next = i + 1 < n ? i + 1 : i;
    if (next > i || n == 1) {
      paint_segment(on, xy + 2 * i, xy + 2 * next, n == 1 ? 2.5 * width : width, color);
    }
  }
}

// Ends a stroke at '|' or at the end of the letter.
static void paint_letter(kp_image *image, double x, double y, uint32_t color, const char *strokes) {
  const double unit = LETTER / 6.0;
  double last[2] = { 0 };
  bool is_down = false;
  for (const char *p = strokes; *p != '\0'; ++p) {
    if (*p == '|') {
      is_down = false;
      continue;
    }
    const double here[2] = { x + unit * 0.8 * (*p - '0'), y - unit * (p[1] - '2') };
    if (is_down) {
      paint_segment(image, last, here, 1.1, color);
    }
    last[0] = here[0];
    last[1] = here[1];
    is_down = true;
    ++p;
  }
}

static void pixel_text(void *on, double x, double y, plot_anchor anchor, uint32_t color,
                       const char *text) {
  const double advance = LETTER / 6.0 * 4.6;
  double width = advance * (double)strlen(text);
  x -= anchor == AT_END ? width : anchor == AT_MIDDLE ? 0.5 * width : 0.0;
  for (const char *p = text; *p != '\0'; ++p, x += advance) {
    const char *strokes = (unsigned char)*p < 128 ? plot_letters[(unsigned char)*p] : NULL;
    if (*p != ' ') {
      paint_letter(on, x, y, color, strokes != NULL ? strokes : plot_box);
    }
  }
}

kp_result kp_plot_image(const kp_plot *plot, kp_image *out) {
  KP_TRY(kp_image_create((int)WIDTH, (int)height_of(plot), 3, out));
  memset(out->pixels, 255, (size_t)out->width * (size_t)out->height * 3);
  plot_canvas canvas = { pixel_chain, pixel_text, out };
  draw(plot, &canvas);
  return KP_OK;
}
