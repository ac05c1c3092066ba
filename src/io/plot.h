// Line charts: panels below each other with a common horizontal axis, as SVG text or as an image.
// Both come from one layout; the letters of the image are strokes of our own.
#pragma once

#include "base/text.h"
#include "io/png.h"

typedef struct kp_plot_curve {
  char name[96];
  const double *x, *y;  // n each; a gap where one is not finite
  size_t n;
} kp_plot_curve;

typedef struct kp_plot_panel {
  char title[96];
  kp_plot_curve *curves;
  size_t n_curves;
  bool is_log;  // powers of ten upwards; what is not positive leaves a gap
} kp_plot_panel;

typedef struct kp_plot {
  const char *x_label;
  kp_plot_panel *panels;
  size_t n_panels;
} kp_plot;

// Steps of 1, 2 or 5 times a power of ten, three to nine of them around lo and hi. An interval of
// no length is widened first.
typedef struct kp_plot_axis {
  double lo, hi, step;  // first and last tick, distance of two
} kp_plot_axis;

kp_plot_axis kp_plot_axis_make(double lo, double hi);

// The same for the powers of ten around lo and hi, both positive: whole ones.
kp_plot_axis kp_plot_log_axis_make(double lo, double hi);

KP_NODISCARD kp_result kp_plot_svg(const kp_plot *plot, kp_text *out);     // kp_text_free
KP_NODISCARD kp_result kp_plot_image(const kp_plot *plot, kp_image *out);  // kp_image_free
