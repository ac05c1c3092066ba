// Surface tension and the marking of surface particles: which passes run, and how long a normal is
// at a flat surface, so that sigma is in N/m whatever the kernel and the spacing.
#include <math.h>

#include "data/call.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_tension_kernels.h"
#include "par/kernel_define.h"

#define CENTROID_CUTOFF 0.15  // of H: shorter centroid normals are noise
#define COLOR_CUTOFF 0.5      // of 1/H
#define MORRIS_CUTOFF 0.05    // of 1/H; Morris 2000 has 0.01 for two liquids on one lattice
#define MUELLER_CUTOFF 1.0    // of 1/H
#define SKIN 0.2              // of H: longer centroid normals mark the surface
#define FEW 0.5               // of a full neighbourhood: fewer mark it too
#define LEAST_WEIGHT 0.02     // of a full neighbourhood: less tells no curvature

SPH_TENSION_POINT_KERNELS(KP_DEFINE_POINT)
SPH_TENSION_PAIR_KERNELS(KP_DEFINE_PAIR)

// ---- a liquid that fills a ball -----------------------------------------------------------------
//
// How long normals are at a depth below the surface of a large ball, by slices of the neighbourhood
// across the radius. What they add up to makes them a delta of the surface.

#define SLICES 400  // of the neighbourhood
#define DEPTHS 100  // from the surface to 2 H

typedef struct drop {
  int kind, dimension;
  double support, radius;
} drop;

// Squares of the radii of two slices at height u over a point at `depth`: that of the neighbourhood
// and the part of it that is liquid.
static bool slice(const drop *d, double depth, double u, double *a2, double *c2) {
  double up = d->radius - depth + u;
  *a2 = d->support * d->support - u * u;
  *c2 = fmin(*a2, d->radius * d->radius - up * up);
  return *c2 > 0.0;
}

static double centroid_length(const drop *d, double depth) {
  double volume = 0.0;
  double moment = 0.0;
  for (int k = 0; k < SLICES; ++k) {
    double u = d->support * ((k + 0.5) * 2.0 / SLICES - 1.0);
    double a2;
    double c2;
    if (slice(d, depth, u, &a2, &c2)) {
      double area = d->dimension == 2 ? 2.0 * sqrt(c2) : KP_SMOOTH_PI * c2;
      volume += area;
      moment -= u * area;
    }
  }
  return moment / volume;
}

// Integral of the slope of poly6 along the radius: -6 W_0 u (a^2 - x^2)^2 over each slice.
static double color_length(const drop *d, double depth) {
  double scale = kp_smooth_value(KP_SMOOTH_POLY6, 0.0, d->support, d->dimension) /
                 pow(d->support, 6.0);  // W = scale (H^2 - r^2)^3
  double sum = 0.0;
  for (int k = 0; k < SLICES; ++k) {
    double u = d->support * ((k + 0.5) * 2.0 / SLICES - 1.0);
    double a2;
    double c2;
    if (slice(d, depth, u, &a2, &c2)) {
      double c = sqrt(c2);
      double across = d->dimension == 2 ? 2.0 * c * (a2 * a2 - 2.0 / 3.0 * a2 * c2 + 0.2 * c2 * c2)
                                        : KP_SMOOTH_PI / 3.0 * (pow(a2, 3.0) - pow(a2 - c2, 3.0));
      sum -= 6.0 * scale * u * across * 2.0 * d->support / SLICES;
    }
  }
  return sum;
}

static double normal_length(const drop *d, double depth, double cutoff) {
  bool color = d->kind == KP_SPH_TENSION_COLOR || d->kind == KP_SPH_TENSION_MORRIS;
  double length = color ? color_length(d, depth) : centroid_length(d, depth);
  return fmax(length - cutoff, 0.0);
}

// Integral of the lengths over the depth, each weighted by how much more its layer bends than the
// surface, R/(R - depth + outer).
static double normal_integral(const drop *d, double cutoff, double outer) {
  double step = 2.0 * d->support / DEPTHS;
  double sum = 0.0;
  for (int k = 0; k < DEPTHS; ++k) {
    double depth = (k + 0.5) * step;
    sum += step * normal_length(d, depth, cutoff) / (1.0 - (depth - outer) / d->radius);
  }
  return sum;
}

double kp_sph_normal_integral(int kind, double support, int dimension, double cutoff,
                              double *outer) {
  const drop flat = { kind, dimension, support, 1e6 * support };
  const drop ball = { kind, dimension, support, 3.0 * support };
  double sum = normal_integral(&flat, cutoff, 0.0);
  double low = 0.0;
  double high = 2.0 * support;
  for (int k = 0; k < 40; ++k) {
    double middle = 0.5 * (low + high);
    bool too_much = normal_integral(&ball, cutoff, middle) > sum;
    low = too_much ? middle : low;
    high = too_much ? high : middle;
  }
  *outer = high;
  return sum;
}

static double cutoff_of(const kp_sph *sph) {
  switch (sph->def.tension) {
  case KP_SPH_TENSION_COLOR:
    return COLOR_CUTOFF / sph->support;
  case KP_SPH_TENSION_MORRIS:
    return MORRIS_CUTOFF / sph->support;
  case KP_SPH_TENSION_MUELLER:
    return MUELLER_CUTOFF / sph->support;
  default:
    return CENTROID_CUTOFF * sph->support;
  }
}

// Tension of a flat surface under the pair force gamma m m C(r/H), over rho^2 gamma: (pi/8) int C
// r^4 in 3D (Kirkwood & Buff 1949), (1/3) int C r^3 in 2D.
static double cohesion_tension(double support, int dimension) {
  const int n = 2000;
  double sum = 0.0;
  for (int k = 0; k < n; ++k) {
    double u = (k + 0.5) / n;
    double c = pow(u * (1.0 - u), 3.0);
    c = u < 0.5 ? 2.0 * c - 1.0 / 64.0 : c;
    sum += c * pow(u, dimension + 1) / n;
  }
  return (dimension == 2 ? 1.0 / 3.0 : KP_SMOOTH_PI / 8.0) * pow(support, dimension + 2) * sum;
}

// ---- set-up -------------------------------------------------------------------------------------

static bool has_tension(const kp_sph_fluid *fluid) {
  return fluid->def.surface_tension > 0.0;
}

kp_result kp_sph_tension_setup(kp_sph *sph, kp_sph_fluid *fluid, const kp_env *env) {
  kp_sph_tension *t = &fluid->tension;
  kp_space *space = fluid->medium.set->space;
  bool normals = has_tension(fluid) && sph->def.tension != KP_SPH_TENSION_PAIRWISE;
  int dimension = env->dimension;
  double h = sph->support;
  double ball = dimension == 2 ? KP_SMOOTH_PI * h * h : 4.0 / 3.0 * KP_SMOOTH_PI * h * h * h;
  t->w = kp_smooth_make(KP_SMOOTH_POLY6, h, dimension);
  t->volume = fluid->medium.mass / fluid->def.rest_density;
  t->full = ball / t->volume;
  t->full_bend = (dimension - 1.0) / t->volume;
  // the same for all liquids of a world
  const kp_sph_tension *first = &sph->fluids.data[0].tension;
  if (t != first && first->scale > 0.0) {
    t->scale = first->scale;
    t->outer = first->outer;
  } else {
    t->scale =
        1.0 / kp_sph_normal_integral(sph->def.tension, h, dimension, cutoff_of(sph), &t->outer);
  }
  t->cohesion = fluid->def.surface_tension * fluid->medium.mass /
                (pow(fluid->def.rest_density, 2.0) * cohesion_tension(h, dimension));
  if (!normals && !sph->def.surface_particles) {
    return KP_OK;
  }
  const kp_field_desc share = { "tension_share", KP_TYPE_REAL, 1, "", KP_FIELD_GHOST, 0.0 };
  const kp_field_desc normal = { "tension_normal", KP_TYPE_REAL, 3, "1/m", KP_FIELD_GHOST, 0.0 };
  const kp_field_desc unit = { "surface_normal", KP_TYPE_REAL, 3, "", KP_FIELD_GHOST, 0.0 };
  const kp_field_desc bend = { "tension_bend", KP_TYPE_REAL, 2, "", 0, 0.0 };
  const kp_field_desc surface = { "surface", KP_TYPE_U8, 1, "", KP_FIELD_EXPORT, 0.0 };
  KP_TRY(kp_space_add_field(space, &share, &t->share));
  KP_TRY(kp_space_add_field(space, &normal, &t->normal));
  if (normals) {
    KP_TRY(kp_space_add_field(space, &unit, &t->unit));
    KP_TRY(kp_space_add_field(space, &bend, &t->bend));
  }
  return sph->def.surface_particles ? kp_space_add_field(space, &surface, &t->surface) : KP_OK;
}

// dt <= 1/4 sqrt(rho dx^3 / (2 pi sigma)): capillary waves of one spacing (Brackbill et al. 1992;
// Morris 2000)
double kp_sph_tension_dt(const kp_sph_fluid *fluid) {
  double sigma = fluid->def.surface_tension;
  double waves = fluid->def.rest_density * pow(fluid->def.spacing, 3.0) / (2.0 * KP_SMOOTH_PI);
  return sigma > 0.0 ? 0.25 * sqrt(waves / sigma) : HUGE_VAL;
}

// ---- passes -------------------------------------------------------------------------------------

// What the surface of a liquid is made of: its own particles, their images, samples of walls. The
// passes over the images and the samples add.
typedef kp_result (*tension_pass)(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j, kp_field *j_share,
                                  double weight);

static kp_result over_sources(kp_sph *sph, kp_sph_fluid *fluid, tension_pass pass) {
  kp_sph_tension *t = &fluid->tension;
  KP_TRY(pass(sph, fluid, fluid->medium.cells, t->share, 1.0));
  if (fluid->medium.ghosts != NULL) {
    kp_field *share = kp_space_find(fluid->medium.ghosts->set->space, "tension_share");
    KP_TRY(pass(sph, fluid, fluid->medium.ghost_cells, share, 1.0));
  }
  for (int w = 0; w < 2 && sph->def.wetting > 0.0; ++w) {
    if (sph->walls[w].cells != NULL) {
      KP_TRY(pass(sph, fluid, sph->walls[w].cells, NULL, sph->def.wetting));
    }
  }
  return KP_OK;
}

static kp_access access_of(const kp_sph_fluid *fluid, const kp_cells *j, int32_t *add) {
  *add = j != fluid->medium.cells;
  return *add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
}

static kp_result color_from(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j, kp_field *j_share,
                            double weight) {
  (void)j_share;
  kp_sph_tension *t = &fluid->tension;
  sph_tension_color_args a = { .w = t->w, .weight = (kp_real)(weight * t->volume) };
  kp_access access = access_of(fluid, j, &a.add);
  kp_call call;
  kp_call_init(&call, &sph_tension_color_kernel, &a);
  KP_BIND(&call, &a, share, &t->share->buffers[0], access);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j);
}

static kp_result gradient_from(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j, kp_field *j_share,
                               double weight) {
  kp_sph_tension *t = &fluid->tension;
  sph_tension_gradient_args a = { .w = t->w,
                                  .weight = (kp_real)(weight * t->volume),
                                  .plain = sph->def.tension != KP_SPH_TENSION_MORRIS,
                                  .wall = j_share == NULL };
  kp_access access = access_of(fluid, j, &a.add);
  // walls: any field of the samples will do, it is not looked at
  kp_field *field = j_share != NULL ? j_share : kp_space_find(j->set->space, "volume");
  kp_call call;
  kp_call_init(&call, &sph_tension_gradient_kernel, &a);
  KP_BIND(&call, &a, share, &t->share->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_share, &field->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, n, t->normal, access);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j);
}

static kp_result centroid_from(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j, kp_field *j_share,
                               double weight) {
  (void)j_share;
  kp_sph_tension *t = &fluid->tension;
  sph_tension_centroid_args a = { .support2 = t->w.support2, .weight = (kp_real)weight };
  kp_access access = access_of(fluid, j, &a.add);
  kp_call call;
  kp_call_init(&call, &sph_tension_centroid_kernel, &a);
  KP_BIND(&call, &a, share, &t->share->buffers[0], access);
  KP_BIND3(&call, &a, n, t->normal, access);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j);
}

static kp_result laplacian_from(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j, kp_field *j_share,
                                double weight) {
  (void)j_share;
  kp_sph_tension *t = &fluid->tension;
  sph_tension_laplacian_args a = { .w = t->w,
                                   .dimension = (kp_real)fluid->medium.set->dimension,
                                   .weight = (kp_real)(weight * t->volume) };
  kp_access access = access_of(fluid, j, &a.add);
  kp_call call;
  kp_call_init(&call, &sph_tension_laplacian_kernel, &a);
  KP_BIND(&call, &a, share, &t->share->buffers[0], access);
  KP_BIND3(&call, &a, n, t->normal, access);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j);
}

// The sums of the last pass become unit normals and deltas, or marks of the surface.
static kp_result finish_normals(kp_sph *sph, kp_sph_fluid *fluid, bool centroid, bool unit) {
  kp_sph_tension *t = &fluid->tension;
  double h = sph->support;
  sph_tension_unit_args a = {
    .centroid = centroid,
    .scale = (kp_real)t->scale,
    .cutoff = (kp_real)cutoff_of(sph),
    .skin = (kp_real)(SKIN * h),
    .few = (kp_real)(FEW * t->full),
  };
  kp_call call;
  kp_call_init(&call, &sph_tension_unit_kernel, &a);
  KP_BIND(&call, &a, share, &t->share->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, n, t->normal, KP_ACCESS_WRITE);
  if (unit) {
    KP_BIND3(&call, &a, u, t->unit, KP_ACCESS_OVERWRITE);
  }
  if (centroid && t->surface != NULL) {
    KP_BIND(&call, &a, surface, &t->surface->buffers[0], KP_ACCESS_OVERWRITE);
  }
  return kp_call_run(fluid->medium.set->space->backend, &call, fluid->medium.set->space->n);
}

static double factor_of(const kp_sph *sph, const kp_sph_fluid *fluid) {
  double sign = sph->def.tension_sign == 1 ? -1.0 : 1.0;
  return sign * fluid->def.surface_tension / fluid->def.rest_density;
}

static kp_result curvature_from(kp_sph *sph, kp_sph_fluid *fluid, bool ghosts, bool last) {
  kp_sph_tension *t = &fluid->tension;
  double axes = fluid->medium.set->dimension - 1.0;
  sph_tension_curvature_args a = { .w = t->w,
                                   .axes = (kp_real)axes,
                                   .least = (kp_real)(LEAST_WEIGHT * t->full_bend),
                                   .outer = (kp_real)t->outer,
                                   .bound = (kp_real)(axes / fluid->def.spacing),
                                   .factor = (kp_real)factor_of(sph, fluid),
                                   .add = ghosts,
                                   .last = last };
  kp_set *set = ghosts ? fluid->medium.ghosts->set : fluid->medium.set;
  kp_field *j_unit = ghosts ? kp_space_find(set->space, "surface_normal") : t->unit;
  kp_access sums = ghosts || last ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
  kp_call call;
  kp_call_init(&call, &sph_tension_curvature_kernel, &a);
  KP_BIND3(&call, &a, u, t->unit, KP_ACCESS_READ);
  KP_BIND3(&call, &a, n, t->normal, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_u, j_unit, KP_ACCESS_READ);
  KP_BIND(&call, &a, bend, &t->bend->buffers[0], sums);
  KP_BIND(&call, &a, weight, &t->bend->buffers[1], sums);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells,
                          ghosts ? fluid->medium.ghost_cells : fluid->medium.cells);
}

static kp_result push(kp_sph *sph, kp_sph_fluid *fluid) {
  kp_sph_tension *t = &fluid->tension;
  sph_tension_push_args a = { .factor = (kp_real)factor_of(sph, fluid) };
  kp_call call;
  kp_call_init(&call, &sph_tension_push_kernel, &a);
  KP_BIND(&call, &a, share, &t->share->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, t->unit, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  return kp_call_run(fluid->medium.set->space->backend, &call, fluid->medium.set->space->n);
}

static kp_result cohesion_from(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j) {
  kp_sph_tension *t = &fluid->tension;
  double sign = sph->def.tension_sign == 1 ? -1.0 : 1.0;
  sph_tension_cohesion_args a = { .w = t->w, .strength = (kp_real)(sign * t->cohesion) };
  kp_call call;
  kp_call_init(&call, &sph_tension_cohesion_kernel, &a);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j);
}

static kp_result normals_by_color(kp_sph *sph, kp_sph_fluid *fluid) {
  bool colors = sph->def.tension == KP_SPH_TENSION_MORRIS;
  if (colors) {
    KP_TRY(over_sources(sph, fluid, color_from));
  }
  if (colors && fluid->medium.ghosts != NULL) {
    KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->tension.share));
  }
  KP_TRY(over_sources(sph, fluid, gradient_from));
  return finish_normals(sph, fluid, false, true);
}

static kp_result smooth_from(kp_sph *sph, kp_sph_fluid *fluid, bool ghosts, bool last) {
  kp_sph_tension *t = &fluid->tension;
  sph_tension_smooth_args a = { .w = t->w, .add = ghosts, .last = last };
  kp_medium *medium = &fluid->medium;
  kp_field *j = ghosts ? kp_space_find(medium->ghosts->set->space, "tension_normal") : t->normal;
  kp_call call;
  kp_call_init(&call, &sph_tension_smooth_kernel, &a);
  KP_BIND3(&call, &a, n, t->normal, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_n, j, KP_ACCESS_READ);
  KP_BIND3(&call, &a, u, t->unit, ghosts ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
  return kp_sph_run_pairs(sph, &call, medium->cells, ghosts ? medium->ghost_cells : medium->cells);
}

static kp_result bend_and_push(kp_sph *sph, kp_sph_fluid *fluid) {
  bool images = fluid->medium.ghosts != NULL;
  if (images) {
    KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->tension.normal));
  }
  KP_TRY(smooth_from(sph, fluid, false, !images));
  if (images) {
    KP_TRY(smooth_from(sph, fluid, true, true));
    KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->tension.unit));
  }
  KP_TRY(curvature_from(sph, fluid, false, !images));
  return images ? curvature_from(sph, fluid, true, true) : KP_OK;
}

static kp_result pull_together(kp_sph *sph, kp_sph_fluid *fluid) {
  KP_TRY(cohesion_from(sph, fluid, fluid->medium.cells));
  return fluid->medium.ghosts != NULL ? cohesion_from(sph, fluid, fluid->medium.ghost_cells)
                                      : KP_OK;
}

kp_result kp_sph_tension_forces(kp_sph *sph, kp_sph_fluid *fluid) {
  bool tension = has_tension(fluid);
  bool by_centroid = tension && sph->def.tension == KP_SPH_TENSION_CENTROID;
  if (by_centroid || sph->def.surface_particles) {
    KP_TRY(over_sources(sph, fluid, centroid_from));
    KP_TRY(finish_normals(sph, fluid, true, by_centroid));
  }
  if (!tension) {
    return KP_OK;
  }
  switch (sph->def.tension) {
  case KP_SPH_TENSION_COLOR:
  case KP_SPH_TENSION_MORRIS:
    KP_TRY(normals_by_color(sph, fluid));
    return bend_and_push(sph, fluid);
  case KP_SPH_TENSION_CENTROID:
    return bend_and_push(sph, fluid);
  case KP_SPH_TENSION_MUELLER:
    KP_TRY(over_sources(sph, fluid, laplacian_from));
    KP_TRY(finish_normals(sph, fluid, false, true));
    return push(sph, fluid);
  default:
    return pull_together(sph, fluid);
  }
}
