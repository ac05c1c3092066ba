#include "methods/common/walls.h"

#include <math.h>

// ---- the faces of the domain --------------------------------------------------------------------

// Coordinates of the sample lattice along one axis: layers below, the inside, layers above.
typedef KP_ARRAY(double) coordinates;

static kp_result axis_lattice(double lo, double hi, double spacing, int below, int above,
                              coordinates *out) {
  int64_t n = llround((hi - lo) / spacing);
  n = n < 1 ? 1 : n;
  double step = (hi - lo) / (double)n;
  for (int64_t k = -below; k < n + above; ++k) {
    double x = lo + ((double)k + 0.5) * step;
    if (k < 0) {
      x = lo + ((double)k + 0.5) * spacing;
    } else if (k >= n) {
      x = hi + ((double)(k - n) + 0.5) * spacing;
    }
    KP_TRY(kp_array_push(out, x));
  }
  return KP_OK;
}

typedef struct wall_points {
  KP_ARRAY(kp_vec3) positions;
  KP_ARRAY(kp_vec3) normals;
  KP_ARRAY(double) areas;
} wall_points;

static double side_of(double x, double lo, double hi) {
  return x < lo ? 1.0 : (x > hi ? -1.0 : 0.0);
}

static kp_result add_wall_point(wall_points *w, kp_vec3 p, kp_vec3 inward, double area) {
  KP_TRY(kp_array_push(&w->positions, p));
  KP_TRY(kp_array_push(&w->normals, kp_vec3_normalize(inward)));
  return kp_array_push(&w->areas, area);
}

// Every lattice point outside the box belongs to a closed face: axes have layers only there.
static kp_result lattice_shell(const kp_domain_def *d, const coordinates axes[3], bool shell[3],
                               double area, wall_points *out) {
  for (size_t k = 0; k < axes[2].count; ++k) {
    for (size_t j = 0; j < axes[1].count; ++j) {
      for (size_t i = 0; i < axes[0].count; ++i) {
        kp_vec3 p = kp_vec3_make(axes[0].data[i], axes[1].data[j], axes[2].data[k]);
        kp_vec3 inward = kp_vec3_make(shell[0] ? side_of(p.x, d->min.x, d->max.x) : 0.0,
                                      shell[1] ? side_of(p.y, d->min.y, d->max.y) : 0.0,
                                      shell[2] ? side_of(p.z, d->min.z, d->max.z) : 0.0);
        if (inward.x != 0.0 || inward.y != 0.0 || inward.z != 0.0) {
          KP_TRY(add_wall_point(out, p, inward, area));
        } else if (i > 0 && i + 1 < axes[0].count && axes[0].count > 8) {
          // jump over the inside of the row: the first point beyond it is the next candidate
          size_t layers = axes[0].count;
          for (size_t n = i; n < axes[0].count; ++n) {
            if (shell[0] && side_of(axes[0].data[n], d->min.x, d->max.x) != 0.0) {
              layers = n;
              break;
            }
          }
          i = layers - 1;
        }
      }
    }
  }
  return KP_OK;
}

kp_result kp_walls_of_domain(kp_env *env, double spacing, int layers, kp_index body) {
  coordinates axes[3] = { { 0 }, { 0 }, { 0 } };
  bool shell[3];
  wall_points points = { 0 };
  kp_result result = KP_OK;
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    shell[axis] = faces.closed_lo;
    // walls reach past periodic faces, where the images of the fluid see them
    int below = faces.closed_lo || faces.periodic ? layers : 0;
    int above = faces.closed_hi || faces.periodic ? layers : 0;
    if (axis >= env->dimension) {
      KP_TRY_GOTO(result, kp_array_push(&axes[axis], 0.0), done);
    } else {
      KP_TRY_GOTO(result, axis_lattice(faces.lo, faces.hi, spacing, below, above, &axes[axis]),
                  done);
    }
  }
  double area = env->dimension == 2 ? spacing : spacing * spacing;
  KP_TRY_GOTO(result, lattice_shell(&env->domain, axes, shell, area, &points), done);
  if (points.positions.count > 0) {
    kp_interface_samples samples = { (int64_t)points.positions.count, points.positions.data,
                                     points.normals.data, points.areas.data };
    result = kp_interface_add(env->walls, env->bodies, body, &samples);
  }
done:
  for (int axis = 0; axis < 3; ++axis) {
    kp_array_free(&axes[axis]);
  }
  kp_array_free(&points.positions);
  kp_array_free(&points.normals);
  kp_array_free(&points.areas);
  return result;
}

// ---- bodies -------------------------------------------------------------------------------------

kp_result kp_walls_sink(kp_env *env, kp_interface *samples) {
  kp_real *area = kp_buffer_host(&samples->area->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    kp_pos *x = kp_buffer_host(&samples->set->position->buffers[c], KP_ACCESS_WRITE);
    double *local = kp_buffer_host(&samples->local->buffers[c], KP_ACCESS_WRITE);
    const kp_real *n = kp_buffer_host(&samples->normal->buffers[c], KP_ACCESS_READ);
    const kp_real *local_n = kp_buffer_host(&samples->local_normal->buffers[c], KP_ACCESS_READ);
    if (area == NULL || x == NULL || local == NULL || n == NULL || local_n == NULL) {
      return KP_ERROR_MEMORY;
    }
    for (size_t r = 0; r < samples->ranges.count; ++r) {
      const kp_interface_range *range = &samples->ranges.data[r];
      double depth = 0.5 * kp_interface_spacing(area + range->first, range->count, env->dimension);
      for (int64_t i = range->first; i < range->first + range->count; ++i) {
        x[i] -= depth * (double)n[i];
        local[i] -= depth * (double)local_n[i];
      }
    }
  }
  return KP_OK;
}
