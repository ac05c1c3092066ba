#include "methods/common/emitter.h"

#include <math.h>
#include <stdlib.h>

#include "data/curve.h"

#define PI 3.14159265358979323846

// ---- sites --------------------------------------------------------------------------------------

// In 2D a width is enough.
static bool is_rectangle(const kp_emitter_def *def, int dimension) {
  return def->width > 0.0 && (def->height > 0.0 || dimension == 2);
}

// Two unit vectors across the jet: those of a rectangle are level and upright where they can be.
static void across(const kp_emitter_def *def, const kp_env *env, kp_vec3 *u, kp_vec3 *v) {
  kp_vec3 direction = kp_vec3_normalize(def->direction);
  if (env->dimension == 2) {
    *u = kp_vec3_make(-direction.y, direction.x, 0.0);
    *v = kp_vec3_make(0.0, 0.0, 1.0);
    return;
  }
  int axis = kp_env_up_axis(env);
  kp_vec3 up = kp_vec3_make(axis == 0, axis == 1, axis == 2);
  kp_vec3 level = kp_vec3_cross(up, direction);
  if (is_rectangle(def, env->dimension) && kp_vec3_length(level) > 1e-6) {
    *u = kp_vec3_normalize(level);
    *v = kp_vec3_cross(direction, *u);
    return;
  }
  kp_vec3 help = fabs(direction.x) < 0.9 ? kp_vec3_make(1, 0, 0) : kp_vec3_make(0, 1, 0);
  *u = kp_vec3_normalize(kp_vec3_cross(direction, help));
  *v = kp_vec3_cross(direction, *u);
}

typedef struct opening {
  kp_vec3 normal, u, v;
  double step_u, step_v;  // m from one site to the next
} opening;

// The site (a, b) of a lattice. Its phase is linear in a and b, so that what leaves is a lattice
// too, as even as that of a liquid at rest: pressures of weakly compressible liquids bear no other
// start. The numbers are powers of the golden and of the plastic ratio (Roberts' R_1 and R_2):
// neighbours come far apart in time, and no two of many sites at once.
static kp_result add_site(kp_emitter *emitter, const opening *o, double a, double b) {
  double grain = pow(emitter->spacing, (double)emitter->dimension);
  bool is_flat = emitter->dimension == 2;
  double phase = is_flat ? 0.6180339887498949 * a : 0.7548776662466927 * a + 0.5698402909980532 * b;
  kp_emitter_site site = {
    .place = kp_vec3_add(kp_vec3_scale(o->u, a * o->step_u), kp_vec3_scale(o->v, b * o->step_v)),
    .normal = o->normal,
    .pitch = grain / (is_flat ? o->step_u : o->step_u * o->step_v),
    .phase = phase - floor(phase),
  };
  return kp_array_push(&emitter->sites, site);
}

// Even rows in a rectangle; in 2D the line of its width. What must not overlap is never nearer than
// a spacing.
static kp_result add_rectangle(kp_emitter *emitter, opening *o, double width, double height) {
  double step = emitter->spacing;
  bool is_flat = emitter->dimension == 2;
  double slack = emitter->is_granular ? 1e-6 : 0.5;
  double n_u = fmax(floor(width / step + slack), 1.0);
  double n_v = is_flat ? 1.0 : fmax(floor(height / step + slack), 1.0);
  o->step_u = emitter->is_granular ? step : width / n_u;
  o->step_v = emitter->is_granular || is_flat ? step : height / n_v;
  for (double b = 0.0; b < n_v; b += 1.0) {
    for (double a = 0.0; a < n_u; a += 1.0) {
      KP_TRY(add_site(emitter, o, a - 0.5 * (n_u - 1.0), b - 0.5 * (n_v - 1.0)));
    }
  }
  return KP_OK;
}

typedef struct lattice_point {
  double a, b, square;
} lattice_point;

static int by_distance(const void *p, const void *q) {
  const lattice_point *x = p;
  const lattice_point *y = q;
  if (x->square != y->square) {
    return x->square < y->square ? -1 : 1;
  }
  // by the angle, so that a ring that is cut short is cut in one place
  double d = atan2(x->b, x->a) - atan2(y->b, y->a);
  return (d > 0.0) - (d < 0.0);
}

// As many points of a square lattice, from the middle on, as the area of the disc has room for;
// grains get those that lie in it.
static kp_result add_disc(kp_emitter *emitter, opening *o, double radius) {
  double step = emitter->spacing;
  double area = PI * radius * radius;
  double n = fmax(floor(area / (step * step) + 0.5), 1.0);
  o->step_u = o->step_v = emitter->is_granular ? step : sqrt(area / n);
  double most = ceil(radius / step) + 1.0;
  KP_ARRAY(lattice_point) points = { 0 };
  kp_result result = KP_OK;
  for (double b = -most; b <= most && result == KP_OK; b += 1.0) {
    for (double a = -most; a <= most && result == KP_OK; a += 1.0) {
      lattice_point point = { a, b, a * a + b * b };
      bool is_in = point.square * step * step <= radius * radius;
      result = is_in || !emitter->is_granular ? kp_array_push(&points, point) : KP_OK;
    }
  }
  if (result == KP_OK) {
    qsort(points.data, points.count, sizeof points.data[0], by_distance);
    n = emitter->is_granular ? (double)points.count : fmin(n, (double)points.count);
  }
  for (size_t k = 0; (double)k < n && result == KP_OK; ++k) {
    result = add_site(emitter, o, points.data[k].a, points.data[k].b);
  }
  kp_array_free(&points);
  return result;
}

static kp_result add_opening(kp_emitter *emitter, const kp_env *env) {
  const kp_emitter_def *def = &emitter->def;
  opening o = { .normal = kp_vec3_normalize(def->direction) };
  if (env->dimension == 3 && (def->width > 0.0) != (def->height > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "a rectangle needs both width and height");
  }
  across(def, env, &o.u, &o.v);
  if (is_rectangle(def, env->dimension)) {
    return add_rectangle(emitter, &o, def->width, def->height);
  }
  if (env->dimension == 2) {
    return add_rectangle(emitter, &o, 2.0 * def->radius, 0.0);
  }
  return add_disc(emitter, &o, def->radius);
}

// Particles leave half a spacing out of the surface: of a solid of this shape they are clear.
static kp_result add_surface(kp_emitter *emitter, const kp_env *env, const kp_shape *shape) {
  kp_surface_samples samples = { 0 };
  kp_surface_def how = kp_default_surface_def(emitter->spacing);
  how.seed = (uint64_t)env->simulation.seed;
  how.clip = kp_shape_bounds(shape);
  kp_result result = kp_sampler_surface(shape, &how, &samples);
  double grain = pow(emitter->spacing, (double)emitter->dimension);
  for (size_t k = 0; k < samples.count && result == KP_OK; ++k) {
    const kp_surface_sample *sample = &samples.data[k];
    double phase = 0.6180339887498949 * (double)k;
    kp_emitter_site site = {
      .place = kp_vec3_madd(sample->position, 0.5 * emitter->spacing, sample->normal),
      .normal = sample->normal,
      .pitch = fmax(grain / sample->area, emitter->is_granular ? emitter->spacing : 0.0),
      .phase = phase - floor(phase),
    };
    result = kp_array_push(&emitter->sites, site);
  }
  kp_array_free(&samples);
  return result;
}

static kp_result add_inside(kp_emitter *emitter, const kp_shape *shape) {
  kp_points points = { 0 };
  kp_fill_def how = kp_default_fill_def(emitter->spacing);
  how.clip = kp_shape_bounds(shape);
  kp_result result = kp_sampler_fill(shape, &how, &points);
  kp_vec3 direction = kp_vec3_normalize(emitter->def.direction);
  for (size_t k = 0; k < points.count && result == KP_OK; ++k) {
    kp_emitter_site site = { .place = points.data[k], .normal = direction };
    result = kp_array_push(&emitter->sites, site);
  }
  kp_array_free(&points);
  return result;
}

static kp_result add_shape(kp_emitter *emitter, const kp_env *env) {
  kp_shape *shape = NULL;
  KP_TRY(kp_shape_build(&emitter->def.shape, env->scenery.folder, &shape));
  kp_result result = env->dimension == 2 ? kp_shape_flatten(shape) : KP_OK;
  if (result == KP_OK && !kp_shape_is_bounded(shape)) {
    result = kp_fail(KP_ERROR_SCENE, "its shape has no bounds");
  }
  if (result == KP_OK) {
    result = emitter->def.from == KP_EMITTER_SURFACE ? add_surface(emitter, env, shape)
                                                     : add_inside(emitter, shape);
  }
  kp_shape_destroy(&shape);
  if (result == KP_OK && emitter->sites.count == 0) {
    return kp_fail(KP_ERROR_SCENE, "its shape has no room for particles of spacing %g m",
                   emitter->spacing);
  }
  return result;
}

// ---- life ---------------------------------------------------------------------------------------

kp_result kp_emitter_create(kp_emitter *emitter, const kp_env *env, const kp_emitter_def *def,
                            double spacing, bool is_granular) {
  *emitter = (kp_emitter){ .def = *def,
                           .spacing = spacing,
                           .dimension = env->dimension,
                           .is_granular = is_granular,
                           .until = def->start };
  KP_TRY(kp_motion_create(env, &def->position, &def->rotation_deg, def->parent, "emitter",
                          def->name, &emitter->motion));
  kp_result result =
      def->from == KP_EMITTER_OPENING ? add_opening(emitter, env) : add_shape(emitter, env);
  for (size_t s = 0; s < emitter->sites.count; ++s) {
    emitter->reach = fmax(emitter->reach, kp_vec3_length(emitter->sites.data[s].place));
  }
  return result == KP_OK ? KP_OK : kp_fail_in(result, "emitter \"%s\"", def->name);
}

void kp_emitter_free(kp_emitter *emitter) {
  kp_array_free(&emitter->sites);
}

// ---- how far the jet has come -------------------------------------------------------------------

static double speed_at(const kp_emitter *emitter, double time) {
  double speed;
  kp_curve_at(&emitter->def.speed, time, &speed, NULL);
  return fmax(speed, 0.0);
}

// Of the speed over a stretch of time. Between two samples it is a cubic, for which Simpson's rule
// is exact.
static double way(const kp_emitter *emitter, double from, double to) {
  const kp_curve *curve = &emitter->def.speed;
  double sum = 0.0;
  while (from < to) {
    double end = to;
    if (curve->n > 1) {
      double k = floor((from - curve->start) / curve->interval + 1e-9);
      double next = curve->start + curve->interval * (k + 1.0);
      end = next > from ? fmin(next, to) : to;
    }
    double middle = speed_at(emitter, 0.5 * (from + end));
    double ends = speed_at(emitter, from) + speed_at(emitter, end);
    sum += (end - from) * (ends + 4.0 * middle) / 6.0;
    from = end;
  }
  return sum;
}

// When the jet had come `goal` metres farther than at `from`: Newton's iteration.
static double time_of(const kp_emitter *emitter, double from, double to, double goal) {
  double time = from;
  for (int k = 0; k < 4; ++k) {
    double speed = speed_at(emitter, time);
    double miss = goal - way(emitter, from, time);
    time = speed > 0.0 ? fmin(fmax(time + miss / speed, from), to) : time;
    if (emitter->def.speed.n == 0) {
      break;
    }
  }
  return time;
}

// ---- what leaves --------------------------------------------------------------------------------

// A jet that gravity speeds up thins as it goes, R ~ v^(-1/2), and so the liquid in it moves
// inward, u_r = -(r/2) du/dz with du/dz = (g.n)/u (in 2D, a sheet: without the half): the flow of a
// slender jet of an incompressible liquid (Eggers & Villermaux 2008, section 2). Nothing else gives
// particles that motion: their pressures push and do not pull, and without it every particle falls
// straight down and the jet is as wide at its end as at its opening. In the opening itself the flow
// is on the way from that of a pipe, without inflow, to that of the jet: it gets half. All of it
// crowds the lattice sooner than gravity stretches it, and pressures burst the jet.
#define INFLOW 0.5

static kp_vec3 inflow(const kp_emitter *emitter, const kp_env *env, kp_vec3 arm, kp_vec3 normal,
                      double speed) {
  if (emitter->is_granular || emitter->def.from != KP_EMITTER_OPENING || speed == 0.0) {
    return kp_vec3_make(0.0, 0.0, 0.0);
  }
  double stretch = kp_vec3_dot(env->simulation.gravity, normal) / speed;
  double rate = -INFLOW * stretch * (emitter->dimension == 3 ? 0.5 : 1.0);
  // a jet that hardly moves drips
  double most = 0.5 * speed / fmax(kp_vec3_length(arm), 1e-30);
  return kp_vec3_scale(arm, fmin(fmax(rate, -most), most));
}

static kp_result let_out(kp_emitter *emitter, const kp_env *env, const kp_emitter_site *site,
                         double time, kp_points *places, kp_points *velocities) {
  kp_frame3 frame = kp_motion_frame(&emitter->motion, env, time);
  kp_vec3 normal = kp_quat_rotate(frame.orientation, site->normal);
  kp_vec3 arm = kp_quat_rotate(frame.orientation, site->place);
  kp_vec3 x = kp_vec3_add(frame.position, arm);
  double speed = speed_at(emitter, time);
  kp_vec3 v = kp_vec3_madd(kp_frame3_velocity(&frame, x), speed, normal);
  v = kp_vec3_add(v, inflow(emitter, env, arm, normal, speed));
  // in free fall since
  double age = env->time - time;
  kp_vec3 g = env->simulation.gravity;
  KP_TRY(kp_array_push(places, kp_vec3_madd(kp_vec3_madd(x, age, v), 0.5 * age * age, g)));
  return kp_array_push(velocities, kp_vec3_madd(v, age, g));
}

static kp_result pour_site(kp_emitter *emitter, const kp_env *env, const kp_emitter_site *site,
                           const double time[2], double farther, kp_points *places,
                           kp_points *velocities) {
  double before = emitter->travelled / site->pitch - site->phase;
  double after = (emitter->travelled + farther) / site->pitch - site->phase;
  for (double k = fmax(ceil(before), 0.0); k < after; k += 1.0) {
    double goal = (k + site->phase) * site->pitch - emitter->travelled;
    double when = time_of(emitter, time[0], time[1], fmax(goal, 0.0));
    KP_TRY(let_out(emitter, env, site, when, places, velocities));
  }
  return KP_OK;
}

kp_result kp_emitter_pour(kp_emitter *emitter, const kp_env *env, kp_points *places,
                          kp_points *velocities) {
  const kp_emitter_def *def = &emitter->def;
  if (env->time < def->start || emitter->until >= def->stop || emitter->count >= def->limit) {
    return KP_OK;
  }
  if (def->from == KP_EMITTER_INSIDE) {
    for (size_t s = 0; s < emitter->sites.count && env->time < def->stop; ++s) {
      KP_TRY(let_out(emitter, env, &emitter->sites.data[s], env->time, places, velocities));
    }
    return KP_OK;
  }
  const double time[2] = { emitter->until, fmin(env->time, def->stop) };
  double farther = way(emitter, time[0], time[1]);
  for (size_t s = 0; s < emitter->sites.count; ++s) {
    KP_TRY(pour_site(emitter, env, &emitter->sites.data[s], time, farther, places, velocities));
  }
  emitter->travelled += farther;
  emitter->until = time[1];
  return KP_OK;
}

double kp_emitter_speed(const kp_emitter *emitter, const kp_env *env) {
  kp_frame3 frame = kp_motion_frame(&emitter->motion, env, env->time);
  return speed_at(emitter, env->time) + kp_vec3_length(frame.velocity) +
         emitter->reach * kp_vec3_length(frame.angular_velocity);
}

double kp_emitter_fastest(const kp_emitter *emitter) {
  const kp_curve *jet = &emitter->def.speed;
  double speed = jet->n == 0 ? fabs(jet->constant[0]) : 0.0;
  for (int32_t k = 0; k < jet->n; ++k) {
    speed = fmax(speed, fabs(jet->samples[k]));
  }
  return speed + kp_motion_fastest(&emitter->motion, emitter->reach);
}
