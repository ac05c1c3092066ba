// Contact particle by particle (Bayraktar 2010, sections 4.3 and 5.2): nodes as spheres against
// nodes that no spring joins to them, and against the samples of solids. A baseline: between the
// spheres of a coarse mesh things pass through.
#include <math.h>
#include <string.h>

#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_particles_kernel, fabric_shell_kernel;

#define CONTACT_STEPS 20.0  // a contact lasts so many steps at least
#define PI 3.14159265358979323846

static kp_result fill_radii(kp_deform *d, kp_fabric_contact *c) {
  int64_t n = d->set->space->n;
  c->radius.type = KP_TYPE_REAL;
  KP_TRY(kp_buffer_resize(&c->radius, sizeof(kp_real) * (size_t)n));
  kp_real *radius;
  KP_TRY(kp_buffer_get(&c->radius, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&radius));
  memset(radius, 0, sizeof *radius * (size_t)n);
  for (size_t p = 0; p < d->parts.count; ++p) {
    const kp_deform_part *part = &d->parts.data[p];
    for (int64_t i = 0; i < part->nodes.n; ++i) {
      radius[part->nodes.first + i] = (kp_real)part->particle_radius;
    }
    c->reach = fmax(c->reach, 2.0 * part->particle_radius);
  }
  return KP_OK;
}

static kp_interface *interface_of(kp_env *env, int which) {
  return which == 0 ? env->walls : env->movers;
}

// Samples are spheres that just touch each other.
static kp_result find_shells(kp_fabric_contact *c, kp_env *env) {
  for (int w = 0; w < 2; ++w) {
    kp_interface *shell = interface_of(env, w);
    if (shell == NULL || shell->set->space->n == 0) {
      continue;
    }
    kp_real *area;
    KP_TRY(kp_buffer_get(&shell->area->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&area));
    double spacing = kp_interface_spacing(area, shell->set->space->n, env->dimension);
    c->shell = fmax(c->shell, 0.5 * spacing);
  }
  for (int w = 0; w < 2; ++w) {
    kp_interface *shell = interface_of(env, w);
    if (shell != NULL && shell->set->space->n > 0) {
      KP_TRY(kp_cells_create(shell->set, 0.5 * c->reach + c->shell, &c->shell_cells[w]));
    }
  }
  return KP_OK;
}

kp_result kp_particles_create(kp_deform *d, kp_env *env) {
  kp_fabric_contact *c = &d->fabric->contact;
  KP_TRY(fill_radii(d, c));
  c->is_on = c->reach > 0.0;
  if (!c->is_on) {
    return KP_OK;
  }
  KP_TRY(kp_cells_create(d->set, c->reach, &c->cells));
  return find_shells(c, env);
}

void kp_particles_free(kp_fabric_contact *c) {
  kp_cells_destroy(&c->cells);
  kp_cells_destroy(&c->shell_cells[0]);
  kp_cells_destroy(&c->shell_cells[1]);
  kp_buffer_free(&c->radius);
}

// k, c from a contact that lasts t_c and gives back a share of the speed.
static fabric_law law_of(const kp_deform *d) {
  double time = CONTACT_STEPS * d->dt;
  double omega = PI / time;
  double e = log(d->def.particle_restitution);
  return (fabric_law){ .stiffness = (kp_real)(omega * omega * (1.0 + e * e / (PI * PI))),
                       .damping = (kp_real)(-2.0 * e / time),
                       .friction = (kp_real)d->def.particle_friction,
                       .grip = (kp_real)(0.5 / d->dt) };
}

#define BIND_CELLS(call, args, grid, set)                                                          \
  do {                                                                                             \
    KP_BIND(call, args, cells.cell_start, &(grid)->cell_start, KP_ACCESS_READ);                    \
    if ((grid)->shape.sparse) {                                                                    \
      KP_BIND(call, args, cells.row_start, &(grid)->row_start, KP_ACCESS_READ);                    \
      KP_BIND(call, args, cells.row_lo, &(grid)->row_lo, KP_ACCESS_READ);                          \
      KP_BIND(call, args, cells.row_key, &(grid)->row_key, KP_ACCESS_READ);                        \
    }                                                                                              \
    KP_BIND(call, args, cells.order, &(grid)->order, KP_ACCESS_READ);                              \
    KP_BIND(call, args, cells.x, &(set)->position->buffers[0], KP_ACCESS_READ);                    \
    KP_BIND(call, args, cells.y, &(set)->position->buffers[1], KP_ACCESS_READ);                    \
    KP_BIND(call, args, cells.z, &(set)->position->buffers[2], KP_ACCESS_READ);                    \
  } while (0)

static kp_result against_nodes(kp_deform *d, kp_env *env) {
  kp_fabric_contact *c = &d->fabric->contact;
  KP_TRY(kp_cells_build(c->cells, NULL));
  fabric_particles_args a = { .cells = c->cells->shape, .reach = c->reach, .law = law_of(d) };
  kp_call call;
  kp_call_init(&call, &fabric_particles_kernel, &a);
  BIND_CELLS(&call, &a, c->cells, d->set);
  KP_BIND(&call, &a, web.start, &d->springs.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, web.refs, &d->springs.refs, KP_ACCESS_READ);
  KP_BIND(&call, &a, web.a, &d->springs.a, KP_ACCESS_READ);
  KP_BIND(&call, &a, web.b, &d->springs.b, KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &c->radius, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, e, d->extra, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}

static kp_result against_shell(kp_deform *d, kp_env *env, int which) {
  kp_fabric_contact *c = &d->fabric->contact;
  kp_cells *cells = c->shell_cells[which];
  kp_interface *shell = interface_of(env, which);
  if (which == 1 || cells->revision == 0) {
    KP_TRY(kp_cells_build(cells, NULL));
  }
  fabric_shell_args a = { .cells = cells->shape,
                          .reach = 0.5 * c->reach + c->shell,
                          .shell = (kp_real)c->shell,
                          .law = law_of(d) };
  kp_call call;
  kp_call_init(&call, &fabric_shell_kernel, &a);
  BIND_CELLS(&call, &a, cells, shell->set);
  KP_BIND(&call, &a, radius, &c->radius, KP_ACCESS_READ);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, shell->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, e, d->extra, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, d->set->space->n);
}

kp_result kp_particles_forces(kp_deform *d, kp_env *env) {
  KP_TRY(against_nodes(d, env));
  for (int w = 0; w < 2; ++w) {
    if (d->fabric->contact.shell_cells[w] != NULL) {
      KP_TRY(against_shell(d, env, w));
    }
  }
  return KP_OK;
}
