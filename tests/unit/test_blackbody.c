// The light of a black body against the published locus of the CIE 1931 observer.
#include "support/test.h"

#include <math.h>

#include "math/blackbody.h"

#include "support/claims.h"

// Back from linear sRGB to chromaticity, with the primaries of the standard written as
// chromaticities and white D65 (0.3127, 0.3290): not the matrix that the code uses.
static void chromaticity(const double rgb[3], double xy[2]) {
  static const double primary[3][2] = { { 0.64, 0.33 }, { 0.30, 0.60 }, { 0.15, 0.06 } };
  static const double luminance[3] = { 0.212639, 0.715169, 0.072192 };
  double sum = 0.0;
  xy[0] = xy[1] = 0.0;
  for (int p = 0; p < 3; ++p) {
    double size = rgb[p] * luminance[p] / primary[p][1];  // X + Y + Z
    xy[0] += size * primary[p][0];
    xy[1] += size * primary[p][1];
    sum += size;
  }
  xy[0] /= sum;
  xy[1] /= sum;
}

// Planckian radiators in CIE 1931 (x, y): Wyszecki & Stiles, Color Science, table 1(3.11); 2856 K
// is CIE illuminant A.
static const struct {
  double kelvin, x, y;
} locus[] = {
  { 1000.0, 0.6528, 0.3444 }, { 1500.0, 0.5857, 0.3931 }, { 2000.0, 0.5267, 0.4133 },
  { 2500.0, 0.4770, 0.4137 }, { 2856.0, 0.4476, 0.4074 }, { 3000.0, 0.4369, 0.4041 },
  { 3500.0, 0.4053, 0.3907 }, { 4000.0, 0.3805, 0.3768 }, { 5000.0, 0.3451, 0.3516 },
  { 6000.0, 0.3221, 0.3318 },
};

static void test_locus(void **state) {
  (void)state;
  double worst = 0.0;
  for (size_t i = 0; i < sizeof locus / sizeof locus[0]; ++i) {
    double rgb[3];
    double xy[2];
    kp_blackbody_color(locus[i].kelvin, rgb);
    chromaticity(rgb, xy);
    worst = kp_test_most(worst, hypot(xy[0] - locus[i].x, xy[1] - locus[i].y));
  }
  assert_true(worst < 0.001);
  kp_claim claim = { .id = "kelpie-fire-blackbody",
                     .text = "colours of black bodies lie on Planck's locus",
                     .size = "ten temperatures of 1000 to 6000 K" };
  kp_claim_all(&claim, { "chromaticity off the locus, worst", worst, KP_AT_MOST, 0.01 });
}

// Wien's approximation at one wavelength: near 600 nm luminance grows about as exp(-c2 / (l T)).
static void test_luminance(void **state) {
  (void)state;
  double last = 0.0;
  for (double kelvin = 600.0; kelvin <= 8000.0; kelvin += 50.0) {
    double y = kp_blackbody_luminance(kelvin);
    assert_true(y > last);
    last = y;
  }
  assert_near(kp_blackbody_luminance(2000.0), 1.0, 1e-12);
  double ratio = kp_blackbody_luminance(2000.0) / kp_blackbody_luminance(1900.0);
  double wave = 1.438776877e-2 * (1.0 / 1900.0 - 1.0 / 2000.0) / log(ratio);
  assert_true(wave > 570e-9 && wave < 620e-9);
  double none[3];
  kp_blackbody_xyz(0.0, none);
  assert_true(none[0] == 0.0 && none[1] == 0.0 && none[2] == 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_locus),
    cmocka_unit_test(test_luminance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
