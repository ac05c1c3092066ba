// Deformables for the kernel check: cloth in every scheme, hung up, led, blown at and in the way of
// bodies, and soft bodies of every model.
#include <math.h>
#include <stdio.h>

#include "methods/deform/deform.h"
#include "world/world.h"

#include "bench/kernels.h"

static kp_result set_room(kp_world *world) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-2, -2, -2);
  domain.max = kp_vec3_make(2, 2, 2);
  return kp_world_set_domain(world, &domain);
}

// Hair on a ball that changes its form.
static kp_result add_skin(kp_world *world) {
  static const double weights[2] = { 0.0, 0.5 };
  kp_collider_def bulb = kp_default_collider_def();
  snprintf(bulb.name, sizeof bulb.name, "bulb");
  bulb.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE,
                               .center = kp_vec3_make(1.5, 0.5, 0.0),
                               .radius = 0.1 };
  bulb.spacing = 0.05;
  KP_TRY(kp_world_add_collider(world, &bulb));
  kp_morph_def morph = kp_default_morph_def();
  snprintf(morph.name, sizeof morph.name, "swollen");
  snprintf(morph.of, sizeof morph.of, "bulb");
  morph.shape = bulb.shape;
  morph.shape.radius = 0.12;
  morph.weight = (kp_curve){ .n = 2, .components = 1, .interval = 0.1, .samples = weights };
  KP_TRY(kp_world_add_morph(world, &morph));
  kp_hair_def hair = kp_default_hair_def();
  snprintf(hair.name, sizeof hair.name, "hair-skin");
  snprintf(hair.on, sizeof hair.on, "bulb");
  hair.count = 10;
  hair.segments = 4;
  return kp_world_add_hair(world, &hair);
}

// Tufts that are not stretched in either way, near enough to stick.
static kp_result add_hairs(kp_world *world, int64_t particles) {
  enum { SEGMENTS = 10 };
  for (int limit = KP_HAIR_LIMIT_BIASED; limit <= KP_HAIR_LIMIT_MOMENTUM; ++limit) {
    kp_hair_def hair = kp_default_hair_def();
    snprintf(hair.name, sizeof hair.name, "hair-%d", limit);
    hair.count = particles / (8 * SEGMENTS) + 2;
    hair.segments = SEGMENTS;
    hair.root = kp_vec3_make(1.5, 0.5, limit == KP_HAIR_LIMIT_BIASED ? -1.0 : 1.0);
    hair.spread = 0.002 * sqrt((double)hair.count);
    hair.limit = limit;
    hair.stiction = 1e-3;
    KP_TRY(kp_world_add_hair(world, &hair));
  }
  return KP_OK;
}

static kp_result add_bodies(kp_world *world) {
  kp_collider_def box = kp_default_collider_def();
  snprintf(box.name, sizeof box.name, "box");
  box.shape = (kp_shape_def){ .kind = KP_SHAPE_BOX,
                              .min = kp_vec3_make(-0.6, -1.5, 0.1),
                              .max = kp_vec3_make(-0.1, 1.5, 0.4) };
  KP_TRY(kp_world_add_collider(world, &box));
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE,
                               .center = kp_vec3_make(0.2, 0.0, 0.0),
                               .radius = 0.15 };
  KP_TRY(kp_world_add_body(world, &ball));
  kp_wind_def wind = kp_default_wind_def();
  snprintf(wind.name, sizeof wind.name, "wind");
  wind.swirl = 2.0;
  wind.inward = 1.0;
  wind.radius = 1.0;
  return kp_world_add_wind(world, &wind);
}

// Water that remembers in both ways, lists and passes, a solid whose samples meet nodes.
static kp_result add_fabrics(kp_world *world) {
  static const int wet[3] = { KP_SCHEME_EULER, KP_SCHEME_SYMPLECTIC, KP_SCHEME_PECE };
  for (int k = 0; k < 3; ++k) {
    kp_immersion_def water = kp_default_immersion_def();
    snprintf(water.name, sizeof water.name, "water-%d", k);
    snprintf(water.of, sizeof water.of, "cloth-%d", wet[k]);
    water.window = k > 0 ? KP_WINDOW_FULL : KP_WINDOW_STEPS;
    KP_TRY(kp_world_add_immersion(world, &water));
  }
  // the last of equal wants is not used: a curve that changes sign gives both a turn
  static const double wants[2] = { -1.0, 1.0 };
  for (int k = 0; k < 3; ++k) {
    kp_limit_def limit = kp_default_limit_def();
    snprintf(limit.name, sizeof limit.name, "limit-%d", k);
    snprintf(limit.of, sizeof limit.of, "cloth-%d", KP_SCHEME_POSITION_VERLET);
    limit.method = k == 1 ? KP_LIMIT_PROVOT : KP_LIMIT_DIRECT;
    limit.rebuild = k == 0 ? 0.2 : 0.0;
    limit.seams = 1;
    limit.touched = k == 2 ? 0.5 : 0.0;  // of all nodes, which are never all touched
    limit.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = k == 2 ? 100.0 : 1e-6 };
    limit.when = k != 1 ? kp_curve_constant(0.0)
                        : (kp_curve){ .n = 2, .components = 1, .interval = 1e-3, .samples = wants };
    KP_TRY(kp_world_add_limit(world, &limit));
  }
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "rattle");
  ball.shape =
      (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .center = kp_vec3_make(0, -0.2, 0), .radius = 0.1 };
  ball.spacing = 0.02;
  return kp_world_add_collider(world, &ball);
}

kp_result kp_kernel_add_solids(kp_world *world, int64_t particles) {
  KP_TRY(set_room(world));
  // as long as explicit springs bear: how fast the bent forms spring back must not end the check
  kp_solids_def solids = kp_default_solids_def();
  solids.solver = KP_SOLVER_SWEEPS;  // a card would take the polynomial, which has its own world
  solids.strain_rate = 1e4;
  solids.avoid = 0.01;
  solids.avoid_stiffness = 1.0;
  solids.key_cells = 8;
  KP_TRY(kp_world_set_solids(world, &solids));
  double cells = fmax(sqrt((double)particles / KP_SCHEME_COUNT), 4.0);
  for (int scheme = 0; scheme < KP_SCHEME_COUNT; ++scheme) {
    kp_cloth_def cloth = kp_default_cloth_def();
    snprintf(cloth.name, sizeof cloth.name, "cloth-%d", scheme);
    cloth.columns = (int64_t)cells;
    cloth.rows = (int64_t)cells;
    cloth.scheme = scheme;
    bool is_material = scheme == KP_SCHEME_BACKWARD_EULER || scheme == KP_SCHEME_VELOCITY_VERLET;
    cloth.model = is_material ? KP_CLOTH_ELASTIC : scheme % 2 == 0 ? KP_CLOTH_EDGES : KP_CLOTH_GRID;
    cloth.drag = 1.0;
    cloth.viscosity = 0.1;
    cloth.position = kp_vec3_make(0.0, 0.3 * scheme - 0.6, 0.0);
    cloth.particle_radius = scheme == KP_SCHEME_EULER ? 0.01 : 0.0;
    KP_TRY(kp_world_add_cloth(world, &cloth));
  }
  // another sheet, so near to the first that they repel
  kp_cloth_def layer = kp_default_cloth_def();
  snprintf(layer.name, sizeof layer.name, "layer");
  layer.columns = (int64_t)cells;
  layer.rows = (int64_t)cells;
  layer.thickness = 0.1;
  layer.position = kp_vec3_make(0.2 / cells, 0.15 / cells - 0.6, 0.1 / cells);
  layer.velocity = kp_vec3_make(0.0, -0.1, 0.0);
  KP_TRY(kp_world_add_cloth(world, &layer));
  KP_TRY(add_bodies(world));
  for (int model = 0; model <= KP_SOFT_EDGES; ++model) {
    kp_soft_def soft = kp_default_soft_def();
    snprintf(soft.name, sizeof soft.name, "soft-%d", model);
    soft.model = model;
    soft.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = 0.2 };
    soft.position = kp_vec3_make(0.45 * model - 0.9, 1.5, 1.0);
    soft.spacing = fmax(0.3 / cbrt((double)particles / 4.0), 0.02);
    soft.spin = kp_vec3_make(0.0, 5.0, 0.0);
    KP_TRY(kp_world_add_soft(world, &soft));
  }
  // one of edges with cloth: its middle has a row of springs to all others
  kp_soft_def hollow = kp_default_soft_def();
  snprintf(hollow.name, sizeof hollow.name, "hollow");
  hollow.model = KP_SOFT_EDGES;
  hollow.scheme = KP_SCHEME_BACKWARD_EULER;
  hollow.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = 0.2 };
  hollow.position = kp_vec3_make(-0.45, 1.5, 1.6);
  hollow.spacing = fmin(fmax(0.3 / cbrt((double)particles / 4.0), 0.02), 0.04);
  KP_TRY(kp_world_add_soft(world, &hollow));
  // one among the hairs: such groups are not solved by blocks
  kp_soft_def guest = kp_default_soft_def();
  snprintf(guest.name, sizeof guest.name, "guest");
  guest.scheme = KP_SCHEME_NEWMARK;
  guest.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = 0.2 };
  guest.position = kp_vec3_make(-0.9, 1.5, 1.6);
  guest.spacing = fmax(0.3 / cbrt((double)particles / 4.0), 0.02);
  KP_TRY(kp_world_add_soft(world, &guest));
  kp_pin_def pin = kp_default_pin_def();
  snprintf(pin.name, sizeof pin.name, "pin");
  pin.shape = (kp_shape_def){ .kind = KP_SHAPE_BOX,
                              .min = kp_vec3_make(-1, -2, -1),
                              .max = kp_vec3_make(1, 2, -0.45) };
  KP_TRY(kp_world_add_pin(world, &pin));
  KP_TRY(add_fabrics(world));
  KP_TRY(add_skin(world));
  return add_hairs(world, particles);
}

// Springs alone, solved by sweeps.
kp_result kp_kernel_add_sheets(kp_world *world, int64_t particles) {
  KP_TRY(set_room(world));
  kp_solids_def solids = kp_default_solids_def();
  solids.solver = KP_SOLVER_SWEEPS;
  KP_TRY(kp_world_set_solids(world, &solids));
  double cells = fmax(sqrt((double)particles / 2.0), 4.0);
  for (int scheme = KP_SCHEME_NEWMARK; scheme <= KP_SCHEME_BACKWARD_EULER; ++scheme) {
    kp_cloth_def cloth = kp_default_cloth_def();
    snprintf(cloth.name, sizeof cloth.name, "sheet-%d", scheme);
    cloth.model = KP_CLOTH_EDGES;
    cloth.columns = (int64_t)cells;
    cloth.rows = (int64_t)cells;
    cloth.scheme = scheme;
    cloth.position = kp_vec3_make(0.0, 0.3 * scheme, 0.0);
    KP_TRY(kp_world_add_cloth(world, &cloth));
  }
  return add_bodies(world);
}

// Bodies of edges and a solid, solved in one launch. What is compared are the vectors that a whole
// solve leaves, and the residual of a solve to many digits would be the roundings of its start: a
// few iterations, in which it falls a little, leave digits to compare.
kp_result kp_kernel_add_hubs(kp_world *world, int64_t particles) {
  KP_TRY(set_room(world));
  kp_solids_def solids = kp_default_solids_def();
  solids.solver = KP_SOLVER_POLYNOMIAL;
  solids.tolerance = 0.05;
  KP_TRY(kp_world_set_solids(world, &solids));
  for (int k = 0; k < 3; ++k) {
    bool is_solid = k == 2;
    kp_soft_def soft = kp_default_soft_def();
    snprintf(soft.name, sizeof soft.name, "soft-%d", k);
    soft.model = is_solid ? KP_SOFT_ELASTIC : KP_SOFT_EDGES;
    soft.scheme = is_solid ? KP_SCHEME_NEWMARK : KP_SCHEME_BACKWARD_EULER;
    soft.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = k == 1 ? 0.15 : 0.2 };
    soft.position = kp_vec3_make(0.5 * k - 0.5, 0.5, 0.0);
    soft.spacing = is_solid ? fmax(0.3 / cbrt((double)particles / 4.0), 0.02)
                            : fmin(fmax(1.4 / sqrt((double)particles), 0.01), 0.03);
    KP_TRY(kp_world_add_soft(world, &soft));
  }
  return add_bodies(world);
}

// In a step of this world hairs never have a scheme for themselves and so are not solved alone, nor
// by products of their own.
static kp_result solve_hairs(kp_world *world, kp_deform *d) {
  for (size_t g = 0; g < d->groups.count; ++g) {
    const kp_deform_group *group = &d->groups.data[g];
    kp_deform_stage stage = { .x = d->set->position->buffers,
                              .v = d->set->velocity->buffers,
                              .out = d->moving.c,
                              .h = 1e-3,
                              .implicit = 1e-3 };
    if (d->hair.locks[group->scheme].n > 0) {
      KP_TRY(kp_hair_solve(d, &world->env, group, &stage));
      KP_TRY(kp_hair_begin(d, &world->env, group, &stage, &d->change));
      KP_TRY(kp_hair_begin(d, &world->env, group, &stage, NULL));
      KP_TRY(kp_hair_product(d, group, stage.h, &d->right, &d->change));
      KP_TRY(kp_hair_touch(d, &world->env, group, stage.x, stage.h));
    }
  }
  return KP_OK;
}

// What parts as stiff as rounding bears are given after a solve, of impulses along a diagonal.
static kp_result carry_parts(kp_deform *d) {
  for (size_t g = 0; g < d->groups.count; ++g) {
    int64_t n = 3 * d->groups.data[g].nodes.n;
    KP_TRY(kp_vector_fill(n, 1e-4, &d->right));
    KP_TRY(kp_vector_fill(n, 1e-3, &d->change));
    KP_TRY(kp_deform_carry(d, &d->groups.data[g], 1e-3));
  }
  return KP_OK;
}

// How far hairs are stretched is asked by nobody in a step.
static kp_result measure_hairs(kp_world *world) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_deform *d = world->systems.data[s].self;
    bool is_it = world->systems.data[s].method == &kp_deform_method;
    for (size_t p = 0; is_it && p < d->parts.count; ++p) {
      double strain;
      KP_TRY(d->parts.data[p].segments.n > 0 ? kp_hair_strain(d, p, &strain) : KP_OK);
    }
    KP_TRY(is_it ? solve_hairs(world, d) : KP_OK);
    KP_TRY(is_it ? carry_parts(d) : KP_OK);
  }
  return KP_OK;
}

// Everything is bent a little: at rest the strains would be roundings alone, and two machines that
// round differently would have nothing to agree on.
kp_result kp_kernel_bend_solids(kp_world *world) {
  kp_space *nodes = kp_registry_find(world->registry, "nodes");
  kp_field *position = kp_space_find(nodes, "position");
  kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&position->buffers[c], KP_ACCESS_WRITE);
    if (x[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (int64_t i = 0; i < nodes->n; ++i) {
    const double p[3] = { x[0][i], x[1][i], x[2][i] };
    x[0][i] += 0.01 * sin(6.0 * p[0] + 3.0 * p[2]);
    x[1][i] += 0.01 * sin(5.0 * p[2] + 2.0 * p[0]);
    x[2][i] += 0.01 * sin(4.0 * p[1] + 6.0 * p[2]);
  }
  return measure_hairs(world);
}
