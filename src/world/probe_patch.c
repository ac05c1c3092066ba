#include "world/probe_patch.h"

#include <math.h>

#include "world/world.h"

#define PI 3.14159265358979323846
#define SPOTS_2D 7
#define SPOTS_3D 19
#define GOLDEN (PI * (3.0 - sqrt(5.0)))  // angle from one seed of a sunflower to the next

int kp_probe_patch_spots(int dimension) {
  return dimension == 2 ? SPOTS_2D : SPOTS_3D;
}

typedef struct patch_wall {
  double distance;  // of the centre, m
  kp_vec3 normal;   // into the liquid
} patch_wall;

static void nearer(patch_wall *best, double distance, kp_vec3 normal) {
  if (fabs(distance) < fabs(best->distance)) {
    *best = (patch_wall){ distance, normal };
  }
}

static patch_wall nearest_wall(const kp_world *world, kp_vec3 p) {
  patch_wall best = { .distance = HUGE_VAL };
  const double x[3] = { p.x, p.y, p.z };
  for (int axis = 0; axis < world->env.dimension; ++axis) {
    kp_faces faces = kp_env_faces(&world->env, axis);
    kp_vec3 along = kp_vec3_make(axis == 0, axis == 1, axis == 2);
    if (faces.closed_lo) {
      nearer(&best, x[axis] - faces.lo, along);
    }
    if (faces.closed_hi) {
      nearer(&best, faces.hi - x[axis], kp_vec3_scale(along, -1.0));
    }
  }
  for (size_t s = 0; s < world->solids.count; ++s) {
    const kp_solid *solid = &world->solids.data[s];
    kp_vec3 local = kp_solid_local(solid, p);
    nearer(&best, kp_shape_distance(solid->shape, local),
           kp_quat_rotate(solid->turn, kp_shape_normal(solid->shape, local)));
  }
  return best;
}

// A spot does not reach out of the domain where a disc is cut by a corner.
static kp_vec3 keep_inside(const kp_domain_def *domain, kp_vec3 p) {
  return kp_vec3_min(kp_vec3_max(p, domain->min), domain->max);
}

kp_result kp_probe_patch(const kp_world *world, kp_vec3 centre, double radius, kp_points *out) {
  int dimension = world->env.dimension;
  int n = kp_probe_patch_spots(dimension);
  patch_wall wall = nearest_wall(world, centre);
  if (!isfinite(wall.distance)) {
    return kp_fail(KP_ERROR_SCENE, "kind \"wall\" needs a closed face of the domain or a solid");
  }
  kp_vec3 middle = kp_vec3_madd(centre, -wall.distance, wall.normal);
  kp_vec3 help = fabs(wall.normal.x) < 0.9 ? kp_vec3_make(1, 0, 0) : kp_vec3_make(0, 1, 0);
  kp_vec3 u = dimension == 2 ? kp_vec3_make(-wall.normal.y, wall.normal.x, 0.0)
                             : kp_vec3_normalize(kp_vec3_cross(wall.normal, help));
  kp_vec3 v = kp_vec3_cross(wall.normal, u);
  for (int k = 0; k < n; ++k) {
    double share = (k + 0.5) / n;
    double r = dimension == 2 ? radius * (2.0 * share - 1.0) : radius * sqrt(share);
    double turn = dimension == 2 ? 0.0 : k * GOLDEN;
    kp_vec3 p = kp_vec3_madd(kp_vec3_madd(middle, r * cos(turn), u), r * sin(turn), v);
    p = keep_inside(&world->env.domain, p);
    p.z = dimension == 2 ? 0.0 : p.z;
    KP_TRY(kp_array_push(out, p));
  }
  return KP_OK;
}

void kp_probe_patch_mean(const kp_probe_value *spots, int n, kp_probe_value *out) {
  kp_probe_value sum = { .height = NAN, .density = NAN, .temperature = NAN };
  for (int k = 0; k < n; ++k) {
    sum.position = kp_vec3_madd(sum.position, 1.0 / n, spots[k].position);
    sum.velocity = kp_vec3_madd(sum.velocity, 1.0 / n, spots[k].velocity);
    sum.speed += spots[k].speed / n;
    sum.count += spots[k].count;
    sum.pressure += isnan(spots[k].pressure) ? 0.0 : spots[k].pressure / n;
  }
  *out = sum;
}
