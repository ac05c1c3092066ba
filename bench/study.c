#include "bench/study.h"

#include <stdarg.h>

const kp_study kp_studies[] = {
  { "integrator-energy",
    "E/E0 of the gas of soft spheres over time for five schemes, runs averaged, and at a quarter "
    "of "
    "the step",
    kp_study_integrator_energy },
  { "integrator-stability", "the largest step at which the gas stays in its box, by scheme",
    kp_study_integrator_stability },
  { "integrator-cost", "seconds per step of both water models, calm and active, by scheme and size",
    kp_study_integrator_cost },
  { "water-models", "SPH and spring-mass water: seconds per step and pairs per particle by size",
    kp_study_water_models },
  { "plasma-radius", "influence radius against search cells: too small, too large, matched",
    kp_study_plasma_radius },
  { "plasma-cost", "seconds per step of a plasma whose cells and influence radius are doubled",
    kp_study_plasma_cost },
  { "drop", "a drop into a pool by five advections: energy, volume, area; --max cells across",
    kp_study_drop },
  { "fire-models", "flames of particles and of vortices: seconds per step and curls by size",
    kp_study_fire_models },
  { "vortex-reach", "velocity of a flame of vortices: what a local gather misses, and its cost",
    kp_study_vortex_reach },
  { "surface", "surfaces of metaballs per second by particles, voxels and field radius",
    kp_study_surface },
  { "surface-fields", "seconds for the surface of a pool by field", kp_study_surface_fields },
  { "surface-backends", "surfaces made on a backend against those of the loops of the host",
    kp_study_surface_backends },
  { "surface-naive", "a surface by sorted particles against every particle for every corner",
    kp_study_surface_naive },
  { "sorts", "radix sort against the sort of moved particles alone, by size", kp_study_sorts },
  { "search", "neighbours through the grid against all pairs, by size", kp_study_search },
  { "fractional-weights", "weights of past velocities by age, for three orders and three steps",
    kp_study_fractional_weights },
  { "fractional-orders", "errors of the two operators of fractional derivatives by number of steps",
    kp_study_fractional_orders },
};
const size_t kp_n_studies = sizeof kp_studies / sizeof kp_studies[0];

void kp_study_row(FILE *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vfprintf(out, format, arguments);
  va_end(arguments);
  (void)fputc('\n', out);
  (void)fflush(out);
}
