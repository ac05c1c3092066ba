// Charts: axes that hold their numbers, the same curves as text and as pixels, gaps, letters.
#include "support/test.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "io/plot.h"

static void axes_hold_what_they_show(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 20000; ++i) {
    double u = kp_rng_uniform(7, 0, i, 0), v = kp_rng_uniform(7, 0, i, 1),
           w = kp_rng_uniform(7, 0, i, 2);
    double lo = (u - 0.5) * pow(10.0, 24.0 * v - 12.0), hi = lo + w * pow(10.0, 24.0 * v - 12.0);
    kp_plot_axis axis = kp_plot_axis_make(lo, hi);
    double ticks = (axis.hi - axis.lo) / axis.step;
    double slack = 1e-6 * axis.step;
    assert_true(axis.lo <= lo + slack && axis.hi >= hi - slack);
    assert_true(ticks > 2.5 && ticks < 9.5);
    assert_true(fabs(ticks - round(ticks)) < 1e-6);
    double digits = axis.step / pow(10.0, floor(log10(axis.step) + 1e-9));
    assert_true(fabs(digits - 1) < 1e-6 || fabs(digits - 2) < 1e-6 || fabs(digits - 5) < 1e-6);
  }
  kp_plot_axis none = kp_plot_axis_make(1.0, -1.0), one = kp_plot_axis_make(3.0, 3.0);
  assert_true(none.lo < none.hi && one.lo < 3.0 && one.hi > 3.0);
}

static size_t count(const char *text, const char *word) {
  size_t n = 0;
  for (const char *p = text; (p = strstr(p, word)) != NULL; ++p) {
    ++n;
  }
  return n;
}

// The first colour of curves.
static size_t count_blue(const kp_image *image) {
  size_t n = 0;
  for (int y = 0; y < image->height; ++y) {
    for (int x = 0; x < 740; ++x) {  // left of the names
      const uint8_t *p = image->pixels + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
      n += p[2] > p[0] + 60 ? 1 : 0;
    }
  }
  return n;
}

static void a_gap_cuts_a_curve(void **state) {
  (void)state;
  enum { N = 900 };
  double x[N], y[N];
  for (int i = 0; i < N; ++i) {
    x[i] = 0.01 * i;
    y[i] = sin(x[i]);
  }
  kp_plot_curve curve = { "a < b & c", x, y, N };
  kp_plot_panel panel = { "sine", &curve, 1, false };
  kp_plot plot = { "x [m]", &panel, 1 };
  size_t pieces[2], inked[2];
  for (int k = 0; k < 2; ++k) {
    kp_text text = { 0 };
    kp_image image;
    assert_ok(kp_plot_svg(&plot, &text));
    assert_ok(kp_plot_image(&plot, &image));
    assert_non_null(strstr(text.data, "a &lt; b &amp; c"));
    assert_non_null(strstr(text.data, "</svg>"));
    pieces[k] = count(text.data, "stroke=\"#1f5fa8\" stroke-width=\"1.6\"");
    inked[k] = count_blue(&image);
    kp_text_free(&text);
    kp_image_free(&image);
    for (int i = 300; i < 500; ++i) {
      y[i] = NAN;
    }
  }
  // 900 points are two pieces of 512; the gap leaves 300 and 400 points
  assert_int_equal(pieces[0], 2);
  assert_int_equal(pieces[1], 2);
  assert_true(inked[0] > 700);
  assert_true((double)inked[1] < 0.85 * (double)inked[0] && inked[1] > 300);
}

static bool is_alike(const kp_image *a, const kp_image *b) {
  return memcmp(a->pixels, b->pixels, 3 * (size_t)a->width * (size_t)a->height) == 0;
}

static kp_image image_of_name(const char *name) {
  double x[2] = { 0, 1 }, y[2] = { 0, 0 };
  kp_plot_curve curve = { "", x, y, 2 };
  kp_plot_panel panel = { "", &curve, 1, false };
  kp_plot plot = { "", &panel, 1 };
  kp_image image;
  (void)snprintf(curve.name, sizeof curve.name, "%s", name);
  assert_ok(kp_plot_image(&plot, &image));
  return image;
}

// No character is drawn as nothing, and those of names and units are not the box of the others.
static void every_name_is_drawn(void **state) {
  (void)state;
  char all[96] = "";
  for (int c = 33; c < 127; ++c) {
    all[c - 33] = (char)c;
  }
  kp_image blank = image_of_name(""), box = image_of_name("~"), image = image_of_name(all);
  assert_false(is_alike(&image, &blank));
  kp_image_free(&image);
  for (int c = 33; c < 127; ++c) {
    char name[2] = { (char)c, '\0' };
    image = image_of_name(name);
    assert_false(is_alike(&image, &blank));
    if (isalnum(c) || strchr("_-.+*/^=%()[],:", c) != NULL) {
      assert_false(is_alike(&image, &box));
    }
    kp_image_free(&image);
  }
  kp_image_free(&blank);
  kp_image_free(&box);
}

static void log_axes(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 20000; ++i) {
    double u = kp_rng_uniform(9, 0, i, 0), v = kp_rng_uniform(9, 0, i, 1);
    double lo = pow(10.0, 600.0 * u - 300.0), hi = lo * pow(10.0, 8.0 * v * v);
    kp_plot_axis axis = kp_plot_log_axis_make(lo, hi);
    double ticks = (axis.hi - axis.lo) / axis.step;
    assert_true(axis.lo <= log10(lo) + 1e-6 && axis.hi >= log10(hi) - 1e-6);
    assert_true(axis.lo == floor(axis.lo) && axis.step == floor(axis.step));
    assert_true(ticks > 0.5 && ticks < 9.5 && fabs(ticks - round(ticks)) < 1e-9);
  }
  kp_plot_axis none = kp_plot_log_axis_make(DBL_MAX, -DBL_MAX);
  assert_true(none.lo == 0.0 && none.hi == 1.0);
}

// A tenth of the height per decade; zero, negative and missing numbers are gaps.
static void a_power_is_a_straight_line(void **state) {
  (void)state;
  double x[8], y[8];
  for (int i = 0; i < 8; ++i) {
    x[i] = i;
    y[i] = pow(10.0, i);
  }
  kp_plot_curve curve = { "y", x, y, 8 };
  kp_plot_panel panel = { "powers", &curve, 1, true };
  kp_plot plot = { "x", &panel, 1 };
  kp_text text = { 0 };
  assert_ok(kp_plot_svg(&plot, &text));
  const char *at = strstr(text.data, "stroke-width=\"1.6\" points=\"");
  assert_non_null(at);
  at = strchr(at, '=') + 1;
  at = strstr(at, "points=\"") + 8;
  double before[2] = { 0 }, step[2] = { 0 };
  for (int i = 0; i < 8; ++i) {
    double here[2];
    char *end;
    here[0] = strtod(at, &end);
    here[1] = strtod(end + 1, &end);
    at = end;
    if (i > 1) {
      assert_true(fabs(here[0] - before[0] - step[0]) < 0.25);
      assert_true(fabs(here[1] - before[1] - step[1]) < 0.25);
    }
    if (i == 1) {
      step[0] = here[0] - before[0];
      step[1] = here[1] - before[1];
      assert_true(step[0] > 10.0 && step[1] < -10.0);
    }
    before[0] = here[0];
    before[1] = here[1];
  }
  kp_text_free(&text);
  y[2] = 0.0;
  y[4] = -3.0;
  y[6] = NAN;
  assert_ok(kp_plot_svg(&plot, &text));
  // 0 1 | 3 | 5 | 7: one line, and single points as dots
  assert_int_equal(count(text.data, "stroke-width=\"1.6\""), 1);
  assert_int_equal(count(text.data, "<circle"), 3);
  kp_text_free(&text);
}

static void names_that_do_not_fit_are_counted(void **state) {
  (void)state;
  double x[2] = { 0, 1 }, y[2] = { 0, 1 };
  kp_plot_curve curves[30];
  double large[2] = { 5, 6 }, none[2] = { NAN, NAN };
  for (int i = 0; i < 30; ++i) {
    curves[i] = (kp_plot_curve){ "name", x, y, 2 };
  }
  curves[29] = (kp_plot_curve){ "large", x, large, 2 };
  kp_plot_panel panel = { "many", curves, 30, false };
  kp_plot plot = { "x", &panel, 1 };
  kp_text text = { 0 };
  assert_ok(kp_plot_svg(&plot, &text));
  size_t named = count(text.data, ">name<") + 1;
  assert_non_null(strstr(text.data, ">large<"));  // the last one, but it reaches highest
  char more[32];
  (void)snprintf(more, sizeof more, ">and %zu more<", 30 - named);
  assert_true(named > 5 && named < 30);
  assert_non_null(strstr(text.data, more));
  assert_null(strstr(text.data, "no numbers"));
  kp_text_free(&text);
  curves[0].y = none;
  panel.n_curves = 1;
  assert_ok(kp_plot_svg(&plot, &text));
  assert_non_null(strstr(text.data, "no numbers"));
  kp_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(axes_hold_what_they_show),
    cmocka_unit_test(a_gap_cuts_a_curve),
    cmocka_unit_test(every_name_is_drawn),
    cmocka_unit_test(log_axes),
    cmocka_unit_test(a_power_is_a_straight_line),
    cmocka_unit_test(names_that_do_not_fit_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
