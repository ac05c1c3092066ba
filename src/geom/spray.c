#include "geom/spray.h"

#include <math.h>

#include "geom/random_points.h"
#include "par/parallel.h"

#define PI 3.14159265358979323846
#define CHUNK 64

// Diameters are log-normal, as those of drops from ligaments nearly are: many small, a few large.
#define WIDTH 0.5         // standard deviation of the logarithm of a diameter
#define FARTHEST_OFF 2.0  // such deviations at most
#define FEWEST (1.0 / 3)  // drops of a particle over the mean, and
#define MOST 2.5          // at most
#define STRETCH 0.6   // ball's radii that it is longer by per unit of speed over sqrt(g spacing)
#define LONGEST 2.0   // and at most
#define SCATTER 0.12  // of the speed: how much drops of one particle differ in theirs
#define FARTHEST 2.2  // radii of the ball: no drop lies beyond
#define CLOSE 0.5     // size of the ball of a particle that has hardly come loose

enum { COUNT };  // counter of what concerns a whole particle; drops come after

static double clamp(double x, double lo, double hi) {
  return x > lo ? (x < hi ? x : hi) : lo;
}

static double uniform(uint64_t id, uint64_t counter) {
  return kp_rng_uniform(0, KP_RNG_SPRAY, id, counter);
}

static int64_t count_drops(const kp_spraying *how, uint64_t id) {
  double low = FEWEST * how->drops, high = MOST * how->drops;
  return (int64_t)fmax(floor(low * pow(high / low, uniform(id, COUNT)) + 0.5), 1.0);
}

int64_t kp_spray_count(const kp_spraying *how, const kp_spray_cloud *cloud, int64_t i) {
  return cloud->share[i] >= KP_SPRAY_LEAST ? count_drops(how, cloud->id[i]) : 0;
}

static kp_sampler_key key_of(uint64_t id, int64_t drop) {
  return (kp_sampler_key){ .stream = KP_RNG_SPRAY, .id = id, .counter = (uint64_t)(drop + 1) };
}

// Of a median drop, in radii of it.
static double size_of(uint64_t id, int64_t drop) {
  double off = kp_rng_normal(1, KP_RNG_SPRAY, id, (uint64_t)drop);
  return exp(WIDTH * clamp(off, -FARTHEST_OFF, FARTHEST_OFF));
}

// From the particle, in radii of its ball: no edge can be seen that goes as exp(-r^2).
static double distance_of(uint64_t id, int64_t drop) {
  double u = kp_sampler_uniform(key_of(id, drop), 2);
  return fmin(sqrt(-log(1.0 - u)), FARTHEST);
}

typedef struct spray_work {
  const kp_spraying *how;
  const kp_spray_cloud *cloud;
  const int64_t *first;
  const kp_spray_drops *out;
} spray_work;

static void put(const spray_work *w, int64_t at, kp_vec3 p, kp_vec3 v, double radius) {
  const kp_aabb *box = &w->how->box;
  w->out->x[0][at] = (float)clamp(p.x, box->min.x + radius, box->max.x - radius);
  w->out->x[1][at] = (float)clamp(p.y, box->min.y + radius, box->max.y - radius);
  w->out->x[2][at] = (float)clamp(p.z, box->min.z + radius, box->max.z - radius);
  w->out->velocity[0][at] = (float)v.x;
  w->out->velocity[1][at] = (float)v.y;
  w->out->velocity[2][at] = (float)v.z;
  w->out->radius[at] = (float)radius;
}

static void break_up(const spray_work *w, int64_t i) {
  const kp_spraying *how = w->how;
  const kp_spray_cloud *c = w->cloud;
  uint64_t id = c->id[i];
  double share = (double)c->share[i], d = how->spacing, sum = 0.0;
  kp_vec3 place = kp_vec3_make(c->x[0][i], c->x[1][i], c->x[2][i]);
  kp_vec3 v =
      kp_vec3_make((double)c->velocity[0][i], (double)c->velocity[1][i], (double)c->velocity[2][i]);
  double speed = kp_vec3_length(v), natural = sqrt(how->gravity * d);
  kp_vec3 along = speed > 0.0 ? kp_vec3_scale(v, 1.0 / speed) : kp_vec3_make(0.0, 0.0, 0.0);
  double longer = natural > 0.0 ? fmin(STRETCH * speed / natural, LONGEST) : 0.0;
  double ball = how->spread * d * (CLOSE + (1.0 - CLOSE) * share);
  int64_t n = count_drops(how, id), at = w->first[i];
  for (int64_t k = 0; k < n; ++k) {
    sum += pow(size_of(id, k), 3.0);
  }
  double unit = cbrt(how->volume * share * d * d * d / (4.0 / 3.0 * PI * sum));
  for (int64_t k = 0; k < n; ++k, ++at) {
    kp_vec3 off = kp_vec3_scale(kp_sampler_direction(key_of(id, k)), ball * distance_of(id, k));
    off = kp_vec3_madd(off, longer * kp_vec3_dot(off, along), along);
    kp_sampler_key other = key_of(id, n + k);
    kp_vec3 beside = kp_vec3_scale(kp_sampler_direction(other), SCATTER * speed);
    put(w, at, kp_vec3_add(place, off), kp_vec3_add(v, beside), unit * size_of(id, k));
  }
}

static void break_particles(int64_t begin, int64_t end, void *context) {
  const spray_work *w = context;
  for (int64_t i = begin; i < end; ++i) {
    if (w->cloud->share[i] >= KP_SPRAY_LEAST) {
      break_up(w, i);
    }
  }
}

void kp_spray_fill(const kp_spraying *how, const kp_spray_cloud *cloud, const int64_t *first,
                   const kp_spray_drops *out) {
  spray_work w = { how, cloud, first, out };
  kp_parallel_for(cloud->n, CHUNK, break_particles, &w);
}
