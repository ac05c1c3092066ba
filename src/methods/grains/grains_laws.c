// The numbers of contact laws: springs from contact times, dashpots from restitutions, and what two
// materials make of each other.
#include <math.h>

#include "base/log.h"
#include "methods/grains/grains.h"

#define PI 3.14159265358979323846
#define MANY_STEPS 2.5e5   // sub-steps of a second that deserve a warning
#define SOFT_OVERLAP 0.25  // of the radius: as soft as grains may be where the eye is the judge

// ---- damping from restitution -------------------------------------------------------------------

// x'' + 2 zeta x' + x = 0 from x = 0, x' = 1: what is left of the speed when the contact ends, at
// x = 0 or, without attraction, when the force is gone: 2 atan(omega / zeta) / omega later
// (Schwager & Poeschel 2007, written so that it goes on beyond critical damping).
static double linear_restitution(double zeta, bool may_attract) {
  double omega = sqrt(fabs(1.0 - zeta * zeta));
  if (zeta == 0.0) {
    return 1.0;
  }
  if (may_attract) {
    return zeta < 1.0 ? exp(-zeta / omega * PI) : 0.0;
  }
  if (omega < 1e-9) {
    return exp(-2.0);
  }
  double angle = zeta < 1.0 ? atan(omega / zeta) : atanh(omega / zeta);
  return exp(-2.0 * zeta / omega * angle);
}

// x'' = -(4/3) x^(3/2) - 2 zeta sqrt(2 x^(1/2)) x' in units of E* sqrt(R*) / m*, by small steps of
// Runge and Kutta: the dashpot of Tsuji et al. 1992 gives a restitution that does not depend on
// the speed.
static double hertz_force(double zeta, double x, double v) {
  double patch = sqrt(fmax(x, 0.0));
  return 4.0 / 3.0 * patch * x + 2.0 * zeta * sqrt(2.0 * patch) * v;
}

static double hertz_restitution(double zeta, bool may_attract) {
  double x = 0.0;
  double v = 1.0;
  const double h = 2e-3;
  for (int k = 0; k < 100000; ++k) {
    double a1 = -hertz_force(zeta, x, v);
    double a2 = -hertz_force(zeta, x + 0.5 * h * v, v + 0.5 * h * a1);
    double a3 = -hertz_force(zeta, x + 0.5 * h * (v + 0.5 * h * a1), v + 0.5 * h * a2);
    double a4 = -hertz_force(zeta, x + h * (v + 0.5 * h * a2), v + h * a3);
    x += h * v + h * h / 6.0 * (a1 + a2 + a3);
    v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    bool is_over = may_attract ? x <= 0.0 : hertz_force(zeta, x, v) <= 0.0;
    if (is_over || (v < 0.0 && x <= 0.0)) {
      return -v;
    }
  }
  return 0.0;
}

double kp_grains_damping(double restitution, bool is_hertz, bool may_attract) {
  double low = 0.0;
  double high = is_hertz ? 4.0 : (may_attract ? 1.0 : 8.0);
  for (int k = 0; k < 50; ++k) {
    double middle = 0.5 * (low + high);
    double e =
        is_hertz ? hertz_restitution(middle, may_attract) : linear_restitution(middle, may_attract);
    if (e > restitution) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return restitution >= 1.0 ? 0.0 : 0.5 * (low + high);
}

// ---- stiffness ----------------------------------------------------------------------------------

static double mass_of(const kp_grains_set *set, double radius, int dimension) {
  return set->unit_mass * (dimension == 3 ? radius * radius * radius : radius * radius);
}

static double fastest_of(const kp_grains *grains, kp_env *env) {
  double speed = 0.0;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    speed = fmax(speed, kp_medium_expected_speed(&grains->sets.data[s].medium, env));
  }
  return speed;
}

// A hit that presses two of the largest in by a share of their radius: k u^2 = m* v^2.
static double contact_time_of(const kp_grains_def *def, double overlap, double speed) {
  double radius = isnan(def->radius) ? 0.5 * def->spacing : def->radius;
  return PI * overlap * radius / speed;
}

// k = m* (pi / t_c)^2 (B M4.4), of two of the largest grains; t_c so that the hardest hit presses
// them in by `overlap` radii.
static double spring_of(const kp_grains *grains, kp_env *env, kp_grains_set *set) {
  const kp_grains_def *def = &set->def;
  if (!isnan(def->stiffness)) {
    return def->stiffness;
  }
  double radius = isnan(def->radius) ? 0.5 * def->spacing : def->radius;
  double mass = 0.5 * mass_of(set, radius, env->dimension);
  double time = def->contact_time;
  if (isnan(time)) {
    time = contact_time_of(def, grains->def.overlap, fastest_of(grains, env));
  }
  return mass * (PI / time) * (PI / time);
}

// ---- laws ---------------------------------------------------------------------------------------

typedef struct material {
  double spring, damping, rate;  // rate NaN: damping counts
  double friction, rolling, cohesion, tangential_damping;
  double tangential_stiffness;
  double compliance, shear_compliance;  // (1 - nu^2)/E, 2 (2 - nu)(1 + nu)/E
} material;

static material material_of(const kp_grains *grains, kp_env *env, kp_grains_set *set) {
  const kp_grains_def *def = &set->def;
  bool is_hertz = grains->def.contact == 1;
  double nu = def->poisson_ratio;
  return (material){
    .spring = spring_of(grains, env, set),
    .damping = kp_grains_damping(def->restitution, is_hertz, grains->def.attraction),
    .rate = is_hertz ? NAN : def->damping_rate,
    .friction = def->friction,
    .rolling = def->rolling_friction,
    .cohesion = def->cohesion,
    .tangential_damping = def->tangential_damping,
    .tangential_stiffness = def->tangential_stiffness,
    .compliance = (1.0 - nu * nu) / def->young_modulus,
    .shear_compliance = 2.0 * (2.0 - nu) * (1.0 + nu) / def->young_modulus,
  };
}

// Two springs one behind the other, means of the rest. A solid is a mirror: the same spring, and no
// compliance of its own.
static grains_law join(const kp_grains *grains, const material *a, const material *b,
                       double elasticity, double shear) {
  bool is_hertz = grains->def.contact == 1;
  bool has_rate = !isnan(a->rate) && !isnan(b->rate);
  double spring = 2.0 * a->spring * b->spring / (a->spring + b->spring);
  double ratio = 0.5 * (a->tangential_stiffness + b->tangential_stiffness);
  grains_law law = {
    .stiffness = (kp_real)(is_hertz ? 1.0 / elasticity : spring),
    .shear = (kp_real)(is_hertz ? 8.0 / shear : ratio * spring),
    .damping = (kp_real)(has_rate ? 0.0 : a->damping + b->damping),
    .rate = (kp_real)(has_rate ? 0.5 * (a->rate + b->rate) : 0.0),
    .tangential_damping = (kp_real)(0.5 * (a->tangential_damping + b->tangential_damping)),
    .friction = (kp_real)sqrt(a->friction * b->friction),
    .floor = (kp_real)(grains->def.attraction ? -1e30 : 0.0),
    .adhesion = (kp_real)(2.0 * PI * sqrt(a->cohesion * b->cohesion)),
    .rolling = (kp_real)sqrt(a->rolling * b->rolling),
    .rolling_damping = (kp_real)0.6,
  };
  law.rolling_spring = law.shear;
  return law;
}

// Where all radii of both sides are one, what depends on them is a number.
static void set_constants(kp_grains_link *link, const kp_grains_set *i, const kp_grains_set *j,
                          int dimension) {
  double ri = i->largest;
  double rj = j->largest;
  double mi = mass_of(i, ri, dimension);
  double mj = mass_of(j, rj, dimension);
  double mass = j->def.frozen ? mi : mi * mj / (mi + mj);
  grains_law *law = &link->law;
  law->reach = (kp_real)ri + (kp_real)rj;
  law->pull = (kp_real)((double)law->adhesion * ri * rj / (ri + rj));
  link->mass = mass;
  link->coefficient =
      (double)law->damping * sqrt((double)law->stiffness * mass) + (double)law->rate * mass;
}

// The shortest hit anything can make: of two of the smallest grains, which under Hertz lasts 2.87
// (m*^2 / (R* E*^2 v))^(1/5). Strong dashpots act faster than springs.
static double shortest_hit(const kp_grains *grains, kp_env *env, const grains_law *law,
                           const kp_grains_set *set, double speed) {
  double mass = 0.5 * mass_of(set, set->smallest, env->dimension);
  double slower = 1.0 + 0.5 * (double)law->damping * (double)law->damping;
  if (grains->def.contact == 1) {
    double e = (double)law->stiffness;
    return 2.87 * pow(mass * mass / (0.5 * set->smallest * e * e * speed), 0.2) / slower;
  }
  return PI * sqrt(mass / (double)law->stiffness) / slower;
}

// Fine grains that fall far take millions of steps: the user is told which key decides.
static void warn_of_short_steps(const kp_grains *grains, kp_env *env, const kp_grains_set *set,
                                double step) {
  const kp_grains_def *def = &set->def;
  bool is_chosen = !isnan(def->stiffness) || !isnan(def->contact_time);
  bool is_soft = is_chosen || grains->def.overlap >= SOFT_OVERLAP;
  if (step * MANY_STEPS > 1.0 || (grains->def.contact == 0 && is_soft)) {
    return;
  }
  if (grains->def.contact == 1) {
    kp_log(KP_LOG_WARN, "grains",
           "grains \"%s\": with young_modulus = %g Pa a second takes %.2g sub-steps; a softer one "
           "takes fewer, with the root of it",
           def->name, def->young_modulus, 1.0 / step);
    return;
  }
  double speed = fastest_of(grains, env);
  double time = contact_time_of(def, grains->def.overlap, speed);
  double longer = contact_time_of(def, SOFT_OVERLAP, speed);
  kp_log(KP_LOG_WARN, "grains",
         "grains \"%s\": without contact_time a hit lasts %.2g s, for %.3g m/s and dem.overlap = "
         "%g, so a second takes %.2g sub-steps; contact_time = %.2g takes %.2g times fewer and "
         "presses grains in by %g of their radius at that speed",
         def->name, time, speed, grains->def.overlap, 1.0 / step, longer, longer / time,
         SOFT_OVERLAP);
}

void kp_grains_set_laws(kp_grains *grains, kp_env *env) {
  grains->longest_step = HUGE_VAL;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    kp_grains_set *set = &grains->sets.data[s];
    material m = material_of(grains, env, set);
    double friction = set->def.wall_friction;
    material wall = m;
    wall.friction = isnan(friction) ? m.friction : friction;
    m.friction = wall.friction;
    set->wall_law = join(grains, &m, &wall, m.compliance, m.shear_compliance);
    double speed = kp_medium_expected_speed(&set->medium, env);
    if (!set->def.frozen) {
      double hit = shortest_hit(grains, env, &set->wall_law, set, speed);
      double step = hit / grains->def.steps_per_contact;
      grains->longest_step = fmin(grains->longest_step, step);
      bool is_finest = s + 1 == grains->sets.count || set[1].population != set->population;
      if (is_finest) {
        warn_of_short_steps(grains, env, set, step);
      }
    }
  }
  for (size_t l = 0; l < grains->links.count; ++l) {
    kp_grains_link *link = &grains->links.data[l];
    kp_grains_set *i = &grains->sets.data[link->i];
    kp_grains_set *j = &grains->sets.data[link->j];
    material a = material_of(grains, env, i);
    material b = material_of(grains, env, j);
    link->law =
        join(grains, &a, &b, a.compliance + b.compliance, a.shear_compliance + b.shear_compliance);
    set_constants(link, i, j, env->dimension);
    double speed = kp_medium_expected_speed(&i->medium, env);
    double hit = shortest_hit(grains, env, &link->law, i, speed);
    grains->longest_step = fmin(grains->longest_step, hit / grains->def.steps_per_contact);
  }
}
