#include "math/fractional.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#define SERIES_FROM 32   // ages beyond which the second difference is a series
#define NEAR_RATIO 0.1   // intervals shorter than this part of their age are smooth: quadrature
#define SCAN_PER_AGE 16  // points of the circle per sample in the search for the stable limit

// (k-1)^p - 2 k^p + (k+1)^p, which cancels for large k: 2 SUM_{j even} binomial(p, j) k^(p-j).
static double second_difference(double k, double p) {
  if (k < SERIES_FROM) {
    return pow(k - 1.0, p) - 2.0 * pow(k, p) + pow(k + 1.0, p);
  }
  double binomial = p * (p - 1.0) / 2.0;
  double power = pow(k, p - 2.0);
  double sum = 0.0;
  for (int j = 2; j <= 10; j += 2) {
    sum += binomial * power;
    binomial *= (p - j) * (p - j - 1.0) / ((j + 1.0) * (j + 2.0));
    power /= k * k;
  }
  return 2.0 * sum;
}

// (k-1)^p - k^(p-1) (k - p), the weight a_{0,k} of the start of history with p = 2 - q.
static double start_weight(double k, double p) {
  if (k < SERIES_FROM) {
    return pow(k - 1.0, p) - pow(k, p - 1.0) * (k - p);
  }
  // k^p [(1 - 1/k)^p - 1 + p/k] = SUM_{j >= 2} binomial(p, j) (-1)^j k^(p-j)
  double term = p * (p - 1.0) / 2.0 * pow(k, p - 2.0);
  double sum = 0.0;
  for (int j = 2; j <= 11; ++j) {
    sum += term;
    term *= -(p - j) / ((j + 1.0) * k);
  }
  return sum;
}

static double trapezoid_inner(int64_t k, double q) {
  return (k == 0 ? 1.0 : second_difference((double)k, 2.0 - q)) / tgamma(3.0 - q);
}

static double trapezoid_last(int64_t k, double q) {
  return (k == 0 ? 0.0 : start_weight((double)k, 2.0 - q)) / tgamma(3.0 - q);
}

// Simpson's rule over [k - 1, k] in age: what its older end gets, the middle being the mean.
static double simpson_older(double k) {
  if (k == 1.0) {
    return 0.15 / sqrt(PI) * (1.0 + 2.0 / sqrt(0.55));
  }
  return 1.0 / (6.0 * sqrt(PI)) * (1.0 / sqrt(k) + 2.0 / sqrt(k - 0.5));
}

// The same over [k, k + 1]: what its newer end gets. The present also gets the last tenth of a
// step, 2 sqrt(0.1 h / pi).
static double simpson_newer(double k) {
  if (k == 0.0) {
    double most = 0.15 / sqrt(PI) * (2.0 / sqrt(0.55) + 1.0 / sqrt(0.1));
    return most + 2.0 * sqrt(0.1 / PI);
  }
  return 1.0 / (6.0 * sqrt(PI)) * (2.0 / sqrt(k + 0.5) + 1.0 / sqrt(k));
}

static double simpson_inner(int64_t k) {
  double older = k == 0 ? 0.0 : simpson_older((double)k);
  return older + simpson_newer((double)k);
}

static double simpson_last(int64_t k) {
  return k == 0 ? 0.0 : simpson_older((double)k);
}

static kp_result check_rule(kp_frac_rule rule) {
  if (!(rule.order > 0.0 && rule.order < 1.0)) {
    return kp_fail(KP_ERROR_ARGUMENT, "the order of a fractional derivative is %g, not in (0, 1)",
                   rule.order);
  }
  if (rule.op == KP_FRAC_SIMPSON && rule.order != 0.5) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "the simpson operator is known for the order 0.5 alone, not for %g", rule.order);
  }
  if (rule.window < 1) {
    return kp_fail(KP_ERROR_ARGUMENT, "a memory of %lld steps has no past", (long long)rule.window);
  }
  return KP_OK;
}

kp_result kp_frac_table_make(kp_frac_rule rule, kp_frac_table *out) {
  *out = (kp_frac_table){ .rule = rule };
  KP_TRY(check_rule(rule));
  if (kp_array_resize(&out->inner, (size_t)rule.window + 1) != KP_OK ||
      kp_array_resize(&out->last, (size_t)rule.window + 1) != KP_OK) {
    kp_frac_table_free(out);
    return KP_ERROR_MEMORY;
  }
  bool is_simpson = rule.op == KP_FRAC_SIMPSON;
  for (int64_t k = 0; k <= rule.window; ++k) {
    out->inner.data[k] = is_simpson ? simpson_inner(k) : trapezoid_inner(k, rule.order);
    out->last.data[k] = is_simpson ? simpson_last(k) : trapezoid_last(k, rule.order);
  }
  return KP_OK;
}

void kp_frac_table_free(kp_frac_table *table) {
  kp_array_free(&table->inner);
  kp_array_free(&table->last);
}

int64_t kp_frac_table_reach(const kp_frac_table *table, int64_t n) {
  return n < table->rule.window ? n : table->rule.window;
}

double kp_frac_table_weights(const kp_frac_table *table, int64_t n, double h, double *weights) {
  int64_t reach = kp_frac_table_reach(table, n);
  bool ends_inside = table->rule.end == KP_FRAC_INTERIOR && n > reach;
  double scale = pow(h, 1.0 - table->rule.order);
  double gain = 0.0;
  for (int64_t k = 0; k <= reach; ++k) {
    bool is_last = k == reach && !ends_inside;
    weights[k] = scale * (is_last ? table->last.data[k] : table->inner.data[k]);
    gain += weights[k];
  }
  return gain;
}

double kp_frac_gain(double order, double t) {
  return pow(t, 1.0 - order) / tgamma(2.0 - order);
}

// Int (tau - near) tau^(-q) dtau and Int (far - tau) tau^(-q) dtau over ages from near to far: what
// the older and the newer sample of an interval get, times its length.
static void interval_moments(double q, double near, double far, double *older, double *newer) {
  double length = far - near;
  if (length < NEAR_RATIO * far) {
    // Gauss' rule of five points, exact to the last digit this far from the singularity
    static const double at[3] = { 0.0, 0.53846931010568309, 0.90617984593866399 };
    static const double weight[3] = { 0.56888888888888889, 0.47862867049936647,
                                      0.23692688505618909 };
    *older = 0.0;
    *newer = 0.0;
    for (int g = -2; g <= 2; ++g) {
      double part = 0.5 * (1.0 + (g < 0 ? -at[-g] : at[g]));
      double value = 0.5 * weight[g < 0 ? -g : g] * pow(near + part * length, -q);
      *older += length * length * part * value;
      *newer += length * length * (1.0 - part) * value;
    }
    return;
  }
  double a = (pow(far, 1.0 - q) - pow(near, 1.0 - q)) / (1.0 - q);
  double b = (pow(far, 2.0 - q) - pow(near, 2.0 - q)) / (2.0 - q);
  *older = b - near * a;
  *newer = far * a - b;
}

double kp_frac_weights_at(double order, int64_t n, const double *ages, double memory,
                          double *weights) {
  memset(weights, 0, (size_t)(n + 1) * sizeof *weights);
  double scale = 1.0 / tgamma(1.0 - order);
  double gain = 0.0;
  for (int64_t k = 0; k < n && ages[k] < memory; ++k) {
    double length = ages[k + 1] - ages[k];
    if (length <= 0.0) {
      continue;
    }
    double older;
    double newer;
    double far = ages[k + 1] < memory ? ages[k + 1] : memory;
    interval_moments(order, ages[k], far, &older, &newer);
    // the start of history between two samples has a velocity between theirs
    double cut = far - ages[k];
    double share = cut / length;
    double at_far = scale * older / cut;
    weights[k] += scale * newer / cut + at_far * (1.0 - share);
    weights[k + 1] += at_far * share;
    gain += scale * (older + newer) / cut;
  }
  return gain;
}

// L on the circle z = e^(i angle), where a root of z - 1 + L SUM w_k z^(-k) lies on it.
static void locus(int64_t n, const double *weights, double angle, double *re, double *im) {
  double sum_re = 0.0;
  double sum_im = 0.0;
  for (int64_t k = 0; k <= n; ++k) {
    sum_re += weights[k] * cos((double)k * angle);
    sum_im -= weights[k] * sin((double)k * angle);
  }
  // (1 - z) / sum; far from the poles of L its sign is all that matters
  double a = 1.0 - cos(angle);
  double b = -sin(angle);
  double size = sum_re * sum_re + sum_im * sum_im;
  *re = (a * sum_re + b * sum_im) / size;
  *im = (b * sum_re - a * sum_im) / size;
}

static double locus_crossing(int64_t n, const double *weights, double low, double high) {
  double re;
  double im_low;
  double im;
  locus(n, weights, low, &re, &im_low);
  for (int k = 0; k < 60; ++k) {
    double mid = 0.5 * (low + high);
    locus(n, weights, mid, &re, &im);
    if ((im < 0.0) == (im_low < 0.0)) {
      low = mid;
    } else {
      high = mid;
    }
  }
  return re;
}

double kp_frac_stable_limit(int64_t n, const double *weights) {
  double gain = 0.0;
  for (int64_t k = 0; k <= n; ++k) {
    gain += weights[k];
  }
  // the circle's end, where the root is -1
  double limit;
  double im_before;
  double im;
  locus(n, weights, PI, &limit, &im);
  limit = limit > 0.0 ? limit : INFINITY;
  int64_t n_points = SCAN_PER_AGE * (n + 4);
  double re;
  locus(n, weights, PI * 0.5 / (double)n_points, &re, &im_before);
  for (int64_t p = 1; p < n_points; ++p) {
    double low = PI * ((double)p - 0.5) / (double)n_points;
    double high = PI * ((double)p + 0.5) / (double)n_points;
    locus(n, weights, high, &re, &im);
    if (p + 1 < n_points && (im < 0.0) != (im_before < 0.0)) {
      double at = locus_crossing(n, weights, low, high);
      limit = at > 0.0 && at < limit ? at : limit;
    }
    im_before = im;
  }
  return limit * gain;
}

kp_result kp_frac_exponentials_make(double order, double shortest, double longest, double spacing,
                                    kp_frac_exponentials *out) {
  *out = (kp_frac_exponentials){ .order = order };
  KP_TRY(check_rule((kp_frac_rule){ KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, order, 1 }));
  if (!(shortest > 0.0 && longest >= shortest && spacing > 0.0)) {
    return kp_fail(KP_ERROR_ARGUMENT, "no exponentials for ages of %g to %g s, %g apart", shortest,
                   longest, spacing);
  }
  // beyond the last node e^(-s tau) is below 1e-4 of the first; below the first it is 1
  double first = floor(log(0.02 / longest) / spacing);
  double last = ceil(log(8.0 / shortest) / spacing);
  if (last - first + 2.0 > KP_FRAC_NODES) {
    return kp_fail(KP_ERROR_ARGUMENT,
                   "ages of %g to %g s take %.0f exponentials %g apart; at most %d are kept",
                   shortest, longest, last - first + 2.0, spacing, KP_FRAC_NODES);
  }
  double factor = sin(PI * order) / PI;
  out->rate[0] = 0.0;
  out->weight[0] = factor * exp(order * (first - 0.5) * spacing) / order;
  out->n = 1;
  for (double j = first; j <= last; j += 1.0) {
    out->rate[out->n] = exp(j * spacing);
    out->weight[out->n] = factor * spacing * exp(order * j * spacing);
    ++out->n;
  }
  return KP_OK;
}

double kp_frac_exponentials_kernel(const kp_frac_exponentials *sum, double age) {
  double value = 0.0;
  for (int j = 0; j < sum->n; ++j) {
    value += sum->weight[j] * exp(-sum->rate[j] * age);
  }
  return value;
}

// Int_0^h e^(-s (h-u)) du and the same of the newer sample's part u/h.
static void exponential_moments(double s, double h, double *whole, double *newer) {
  double x = s * h;
  *whole = x > 0.0 ? -expm1(-x) / s : h;
  if (x < 1e-3) {
    *newer = h * (0.5 - x / 6.0 + x * x / 24.0 - x * x * x / 120.0);
  } else {
    *newer = (1.0 - *whole / h) / s;
  }
}

kp_frac_march kp_frac_march_make(const kp_frac_exponentials *sum, double h) {
  const double ages[2] = { 0.0, h };
  double weights[2];
  kp_frac_weights_at(sum->order, 1, ages, INFINITY, weights);
  kp_frac_march m = { .n = sum->n, .newer = (kp_real)weights[0], .older = (kp_real)weights[1] };
  for (int j = 0; j < sum->n; ++j) {
    double decay = exp(-sum->rate[j] * h);
    double whole;
    double newer;
    exponential_moments(sum->rate[j], h, &whole, &newer);
    m.decay[j] = (kp_real)decay;
    m.carry[j] = (kp_real)(sum->weight[j] * decay);
    m.gain_o[j] = (kp_real)(whole - newer);
    m.gain_n[j] = (kp_real)newer;
  }
  return m;
}
