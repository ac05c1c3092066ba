// The light of a black body: Planck's law seen by the CIE 1931 standard observer (2 degrees),
// integrated every 5 nm from 380 to 780 nm, as linear sRGB (ITU-R BT.709 primaries, white D65).
#pragma once

#include "kelpie/config.h"

// CIE X, Y, Z of the radiance; Y is 1 at 2000 K. Zero below 1 K.
void kp_blackbody_xyz(double kelvin, double xyz[3]);

// Linear sRGB of luminance 1. Below about 1900 K the locus leaves the gamut of sRGB and blue is
// negative: whoever shows it clips, after light has been added up.
void kp_blackbody_color(double kelvin, double rgb[3]);

// Luminance as a share of that at 2000 K: what makes the hot core of a flame outshine its rim.
double kp_blackbody_luminance(double kelvin);
