// Hair on a head that changes its form (Selle 2008, sections 7.5.1 and 7.6): roots stay where they
// are on the skin, and hair keeps out of what the head has become.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "geom/mesh_query.h"
#include "geom/morph.h"

#include "support/claims.h"
#include "support/deform.h"
#include "support/hairs.h"

#define TURN 6.283185307179586
#define N 61
#define RATE 60.0

typedef struct skin_case {
  const char *backend;
  bool meets;  // nodes meet the head
  int64_t key_cells;
  double key_rate;
} skin_case;

static const skin_case usual = { "cpu", true, 20, 60.0 };

// Swells upwards and bulges to the side in turn, while it moves and turns.
static kp_world *make_head(const skin_case *how) {
  static double path[3 * N], turn[3 * N], swell[N], bulge[N];
  for (int i = 0; i < N; ++i) {
    double t = (double)i / RATE;
    path[3 * i] = 0.02 * sin(TURN * t);
    turn[3 * i + 1] = 20.0 * sin(TURN * t);
    swell[i] = 0.5 - 0.5 * cos(TURN * 2.0 * t);
    bulge[i] = sin(TURN * 1.5 * t) + 0.2;
  }
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  s.backend = how->backend;
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.bodies = how->meets;
  solids.key_cells = how->key_cells;
  solids.key_rate = how->key_rate;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_collider_def head = kp_default_collider_def();
  snprintf(head.name, sizeof head.name, "head");
  head.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
  head.position = (kp_curve){ .components = 3, .n = N, .interval = 1.0 / RATE, .samples = path };
  head.rotation_deg =
      (kp_curve){ .components = 3, .n = N, .interval = 1.0 / RATE, .samples = turn };
  assert_ok(kp_world_add_collider(world, &head));
  const kp_shape_def forms[2] = { kp_test_ball(kp_vec3_make(0, 0.03, 0), 0.12),
                                  kp_test_ball(kp_vec3_make(0.02, 0, 0), 0.1) };
  const double *weights[2] = { swell, bulge };
  for (int k = 0; k < 2; ++k) {
    kp_morph_def morph = kp_default_morph_def();
    snprintf(morph.name, sizeof morph.name, "form-%d", k);
    snprintf(morph.of, sizeof morph.of, "head");
    morph.shape = forms[k];
    morph.weight =
        (kp_curve){ .components = 1, .n = N, .interval = 1.0 / RATE, .samples = weights[k] };
    assert_ok(kp_world_add_morph(world, &morph));
  }
  kp_hair_def hair = kp_test_hair_of(kp_default_hair_def());
  snprintf(hair.name, sizeof hair.name, "hair");
  snprintf(hair.on, sizeof hair.on, "head");
  hair.count = 60;
  hair.segments = 10;
  hair.length = 0.15;
  hair.fall = kp_vec3_make(0, -1, 0);
  hair.droop = 0.02;
  hair.lift = 0.003;
  hair.straight_deg = 180.0;
  hair.self = false;
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  return world;
}

// The head as it is now, in the world.
static kp_mesh_query *head_now(kp_world *world) {
  const kp_solid *solid = &world->env.scenery.solids[0];
  kp_mesh mesh;
  if (solid->morph != NULL) {
    assert_ok(kp_mesh_copy(&solid->morph->mesh, &mesh));
    kp_morph_at(solid->morph, kp_world_time(world), mesh.vertices, NULL);
  } else {
    assert_ok(kp_mesh_copy(kp_mesh_query_mesh(solid->shape->mesh), &mesh));
  }
  kp_frame3 frame = kp_body_scripted_frame(&world->bodies->models.data[0], kp_world_time(world));
  kp_mat3 turn = kp_quat_to_mat3(frame.orientation);
  kp_mesh_transform(&mesh, &turn, frame.position);
  kp_mesh_query *query;
  assert_ok(kp_mesh_query_create(&mesh, &query));
  return query;
}

static void places(kp_world *world, double *x[3]) {
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_test_field(world, "nodes", "position", c);
  }
}

static void free_places(double *x[3]) {
  for (int c = 0; c < 3; ++c) {
    kp_free(x[c]);
  }
}

static kp_vec3 at(double *const x[3], int64_t i) {
  return kp_vec3_make(x[0][i], x[1][i], x[2][i]);
}

// ---- roots --------------------------------------------------------------------------------------

static void roots_stay_where_they_are_on_the_skin(void **state) {
  (void)state;
  skin_case how = usual;
  how.meets = false;
  kp_world *world = make_head(&how);
  kp_deform *d = kp_test_deform(world);
  const kp_hair_place *place = &d->hair.places.data[0];
  const int32_t *list = kp_buffer_host(&d->hair.root_list, KP_ACCESS_READ);
  int64_t n = place->n_roots;
  kp_mesh_hit *hits = kp_alloc((size_t)n * sizeof *hits, KP_MEMORY_WORLD);
  double *x[3], worst = 0.0, shift = 0.0, moved = 0.0;
  kp_vec3 first = { 0, 0, 0 };
  for (int frame = 0; frame <= 6; ++frame) {
    kp_mesh_query *head = head_now(world);
    places(world, x);
    for (int64_t r = 0; r < n; r += 3) {
      // the point of the skin it started at
      kp_vec3 p = at(x, list[r]), on = { 0, 0, 0 };
      if (frame == 0) {
        hits[r] = kp_mesh_query_closest(head, p);
      }
      const kp_mesh *mesh = kp_mesh_query_mesh(head);
      for (int c = 0; c < 3; ++c) {
        kp_index v = mesh->triangles[hits[r].triangle].v[c];
        on = kp_vec3_madd(on, hits[r].weights[c], mesh->vertices[v]);
      }
      worst = kp_test_most(worst, kp_vec3_length(kp_vec3_sub(p, on)));
      // the other led nodes keep their distance from it, to the float in which they move
      for (int k = 1; k < 3; ++k) {
        kp_vec3 arm = kp_vec3_sub(at(x, list[r + k]), p);
        if (frame == 0) {
          hits[r + k].distance = kp_vec3_length(arm);
        }
        shift = kp_test_most(shift, fabs(kp_vec3_length(arm) - hits[r + k].distance));
      }
    }
    first = frame == 0 ? at(x, list[0]) : first;
    moved = kp_test_most(moved, kp_vec3_length(kp_vec3_sub(at(x, list[0]), first)));
    free_places(x);
    kp_mesh_query_destroy(&head);
    assert_ok(kp_world_advance(world, 0.05, NULL));
  }
  print_message("%lld roots moved up to %.3g m and are %.2g m off the skin; the nodes they lead "
                "are %.2g m off\n",
                (long long)(n / 3), moved, worst, shift);
  kp_claim claim = { .id = "selle-S75-roots",
                     .text = "roots stay where they are on a skin that changes its form",
                     .size = "60 hairs on a head that swells, bulges, moves and turns, 0.35 s" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "distance from the skin, m", worst, KP_AT_MOST, KP_TOL(1e-8, 1e-14) },
                   { "shift of the nodes they lead, m", shift, KP_AT_MOST, KP_TOL(1e-8, 1e-14) },
                   { "way of a root, m", moved, KP_AT_LEAST, 0.02 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_free(hits);
  kp_world_destroy(&world);
}

// ---- contact ------------------------------------------------------------------------------------

// How deep main nodes get into the head, in cells of its distances.
static double depth_of(const skin_case *how) {
  kp_world *world = make_head(how);
  kp_deform *d = kp_test_deform(world);
  double deepest = 0.0, *x[3];
  double cell = how->meets ? d->bodies.solids.data[d->bodies.solids.count - 1].record.grid.cell : 1;
  for (int frame = 0; frame < 7; ++frame) {
    assert_ok(kp_world_advance(world, 0.05, NULL));
    kp_mesh_query *head = head_now(world);
    const uint8_t *hold = kp_buffer_host(&d->hold, KP_ACCESS_READ);
    places(world, x);
    for (int64_t i = 0; i < d->set->space->n; ++i) {
      if (hold[i] == 0) {
        deepest = kp_test_most(deepest, -kp_mesh_query_distance(head, at(x, i), NULL));
      }
    }
    free_places(x);
    kp_mesh_query_destroy(&head);
  }
  kp_world_destroy(&world);
  print_message("%lld cells of %.3g m, %g keys per second%s: %.3g m deep\n",
                (long long)how->key_cells, cell, how->key_rate, how->meets ? "" : ", no contact",
                deepest);
  return how->meets ? deepest / cell : deepest;
}

static void hair_keeps_out_of_the_head(void **state) {
  (void)state;
  skin_case through = usual, coarse = usual;
  through.meets = false;
  coarse.key_cells = 12;
  double depth = depth_of(&usual), without = depth_of(&through), rough = depth_of(&coarse);
  kp_claim claim = { .id = "selle-S75-skin",
                     .text = "hair keeps out of a head that changes its form",
                     .size = "60 hairs, distances of 20 and 12 cells, 60 keys per second, 0.35 s" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "depth, cells", fmax(depth, rough), KP_AT_MOST, 0.06 },
                   { "depth without contact, m", without, KP_AT_LEAST, 0.02 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// A form that never comes is the rigid head.
static void without_weight_nothing_changes(void **state) {
  (void)state;
  kp_world *world = make_head(&usual);
  kp_morph *morph = (kp_morph *)world->env.scenery.solids[0].morph;
  size_t n = (size_t)morph->mesh.n_vertices;
  kp_vec3 *x = kp_alloc(2 * n * sizeof *x, KP_MEMORY_WORLD);
  kp_aabb box = kp_morph_bounds(morph);
  double speed = 0.0, bound = 0.0;
  for (double t = 0.0; t < 1.0; t += 0.0173) {
    kp_morph_at(morph, t, x, x + n);
    bound = kp_test_most(bound, kp_morph_speed(morph, t));
    for (size_t i = 0; i < n; ++i) {
      assert_true(x[i].x >= box.min.x && x[i].y >= box.min.y && x[i].z >= box.min.z);
      assert_true(x[i].x <= box.max.x && x[i].y <= box.max.y && x[i].z <= box.max.z);
      speed = kp_test_most(speed, kp_vec3_length(x[n + i]));
      assert_true(kp_vec3_length(x[n + i]) <= kp_morph_speed(morph, t) * (1.0 + 1e-12));
    }
  }
  assert_true(speed > 0.5 * bound);
  for (size_t k = 0; k < morph->targets.count; ++k) {
    morph->targets.data[k].weight = kp_curve_constant(0.0);
  }
  kp_morph_at(morph, 0.3, x, NULL);
  assert_memory_equal(x, morph->mesh.vertices, n * sizeof *x);
  kp_free(x);
  kp_world_destroy(&world);
}

// ---- cloth --------------------------------------------------------------------------------------

// A rag on a ball that swells is lifted as fast as its skin, and thin edges do not cut it.
static void cloth_is_lifted(void **state) {
  (void)state;
  static double grow[N];
  for (int i = 0; i < N; ++i) {
    double t = (double)i / RATE;
    grow[i] = t < 0.2 ? 0.0 : fmin(1.0, (t - 0.2) / 0.3);
  }
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.gap = 0.005;
  solids.body_triangles = KP_TRIANGLES_ALL;
  solids.key_cells = 12;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
  assert_ok(kp_world_add_collider(world, &ball));
  kp_morph_def morph = kp_default_morph_def();
  snprintf(morph.name, sizeof morph.name, "large");
  snprintf(morph.of, sizeof morph.of, "ball");
  morph.shape = kp_test_ball(kp_vec3_make(0, 0.05, 0), 0.15);
  morph.weight = (kp_curve){ .components = 1, .n = N, .interval = 1.0 / RATE, .samples = grow };
  assert_ok(kp_world_add_morph(world, &morph));
  kp_cloth_def rag = kp_default_cloth_def();
  rag.model = KP_CLOTH_EDGES;
  snprintf(rag.name, sizeof rag.name, "rag");
  rag.width = rag.height = 0.3;
  rag.columns = rag.rows = 12;
  rag.position = kp_vec3_make(0, 0.11, 0);
  assert_ok(kp_world_add_cloth(world, &rag));
  assert_ok(kp_world_build(world));
  double top = 0.0, *x[3];
  assert_ok(kp_world_advance(world, 0.6, NULL));
  kp_mesh_query *now = head_now(world);
  places(world, x);
  int64_t n = kp_test_deform(world)->set->space->n;
  double nearest = HUGE_VAL;
  for (int64_t i = 0; i < n; ++i) {
    top = kp_test_most(top, x[1][i]);
    nearest = kp_test_least(nearest, kp_mesh_query_distance(now, at(x, i), NULL));
  }
  print_message("a rag on a ball that swells to 0.2 m: its top is at %.4f m, nearest %.2g m\n", top,
                nearest);
  assert_between(top, 0.2, 0.25);
  assert_true(nearest > 0.5 * solids.gap);
  free_places(x);
  kp_mesh_query_destroy(&now);
  kp_world_destroy(&world);
}

// ---- bits, refusals -----------------------------------------------------------------------------

static kp_world *make_bits(const char *backend) {
  skin_case how = usual;
  how.backend = backend;
  how.key_cells = 6;
  return make_head(&how);
}

static void bits_are_the_same(void **state) {
  (void)state;
  uint64_t hash = kp_test_same_bits(make_bits, 12);
  kp_test_rewind(make_bits, "cpu", 5, 12, hash);
}

static void other_triangles_are_refused(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  for (int k = 0; k < 2; ++k) {
    kp_world *world = kp_test_world(&s);
    kp_collider_def ball = kp_default_collider_def();
    snprintf(ball.name, sizeof ball.name, "ball");
    ball.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.1);
    assert_ok(kp_world_add_collider(world, &ball));
    kp_morph_def morph = kp_default_morph_def();
    snprintf(morph.name, sizeof morph.name, "box");
    snprintf(morph.of, sizeof morph.of, k == 0 ? "ball" : "bell");
    morph.shape = (kp_shape_def){ .kind = KP_SHAPE_BOX, .max = kp_vec3_make(1, 1, 1) };
    assert_ok(kp_world_add_morph(world, &morph));
    kp_cloth_def rag = kp_default_cloth_def();
    rag.model = KP_CLOTH_EDGES;
    snprintf(rag.name, sizeof rag.name, "rag");
    assert_ok(kp_world_add_cloth(world, &rag));
    assert_int_equal(kp_world_build(world), KP_ERROR_SCENE);
    assert_non_null(strstr(kp_last_error(), k == 0 ? "same order" : "no collider"));
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(roots_stay_where_they_are_on_the_skin),
    cmocka_unit_test(hair_keeps_out_of_the_head),
    cmocka_unit_test(without_weight_nothing_changes),
    cmocka_unit_test(cloth_is_lifted),
    cmocka_unit_test(bits_are_the_same),
    cmocka_unit_test(other_triangles_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
