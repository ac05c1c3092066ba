// A long skirt on a walking figure (Ozgen 2013, section 6.4): what ordered lists, their switching
// and passes over all edges leave of its edges; and the dance under water (Fig. 3.11).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kelpie/scene.h"

#include "skirt_size.h"
#include "support/claims.h"
#include "support/cloths.h"

#define FRAME (1.0 / 30.0)
#define INSIDE 2e-3  // m

typedef struct walk {
  double stretch;      // largest strain of an edge at the end of a frame
  double mean;         // the largest mean of a frame
  int64_t penetrated;  // triangles whose middle is in the figure, summed over the frames
  double speed;        // m/s, largest
  int64_t touching;    // most nodes at a body at the end of a frame
  size_t maps_used;
} walk;

// Distance to the nearest body as the last step left them.
static double outside(const kp_deform_bodies *b, const kp_vec3 p) {
  const kp_real *values = kp_buffer_host((kp_buffer *)&b->values, KP_ACCESS_READ);
  double least = HUGE_VAL;
  for (size_t s = 0; s < b->solids.count; ++s) {
    const double x[3] = { p.x, p.y, p.z };
    double n[3];
    least = kp_test_least(least, deform_obstacle_distance(&b->solids.data[s].record, values, x, n));
  }
  return least;
}

static int64_t count_penetrated(kp_world *world) {
  const kp_deform *d = kp_test_deform(world);
  kp_vec3 *x = kp_test_nodes(world);
  int64_t n = 0;
  for (size_t t = 0; t < d->triangles.count; ++t) {
    const kp_index *v = d->triangles.data[t].v;
    kp_vec3 middle = kp_vec3_scale(kp_vec3_add(kp_vec3_add(x[v[0]], x[v[1]]), x[v[2]]), 1.0 / 3.0);
    n += outside(&d->bodies, middle) < -INSIDE;
  }
  kp_free(x);
  return n;
}

static int64_t count_touching(kp_world *world) {
  const kp_deform *d = kp_test_deform(world);
  const int32_t *contact = kp_buffer_host((kp_buffer *)&d->bodies.contact, KP_ACCESS_READ);
  int64_t n = 0;
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    n += contact[i] >= 0;
  }
  return n;
}

// change: a key with a new value; NULL: none.
static kp_world *dressed(const char *scene, const char *change) {
  char path[1024];
  snprintf(path, sizeof path, "%s/papers/ozgen/%s.lua", KP_SCENES, scene);
  const char *const sets[] = { skirt.columns, skirt.rows, change };
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_load_scene(world, path, sets, change != NULL ? 3 : 2));
  assert_ok(kp_world_build(world));
  return world;
}

static walk go(const char *scene, const char *change) {
  kp_world *world = dressed(scene, change);
  walk out = { .stretch = 0.0 };
  uint32_t used = 0;
  while (kp_world_time(world) < skirt.seconds - 1e-9) {
    assert_ok(kp_world_advance(world, FRAME, NULL));
    kp_test_stretch s = kp_test_stretch_of(world);
    out.stretch = kp_test_most(out.stretch, s.largest);
    out.mean = kp_test_most(out.mean, s.mean);
    out.penetrated += count_penetrated(world);
    int64_t touching = count_touching(world);
    out.touching = touching > out.touching ? touching : out.touching;
    out.speed = kp_test_most(out.speed, kp_test_stats(world, "skirt").max_speed);
    const kp_fabric *f = kp_test_deform(world)->fabric;
    used |= f->limited.count > 0 ? 1u << f->limited.data[0]->active : 0;
  }
  for (; used != 0; used &= used - 1) {
    ++out.maps_used;
  }
  print_message("%-13s %-20s stretch %6.1f %% (mean %5.1f %%), %4lld triangles inside, %5.1f m/s\n",
                scene, change != NULL ? change : "", 100.0 * out.stretch, 100.0 * out.mean,
                (long long)out.penetrated, out.speed);
  kp_world_destroy(&world);
  return out;
}

// Claim 22: the list alone and with a pass over its seams; and that maps are switched.
static void test_walk(void **state) {
  (void)state;
  walk list = go("skirt", NULL), plain = go("skirt", "hanging.seams=0");
  walk events = go("skirt_events", NULL);
  assert_int_equal(list.maps_used, 1);
  assert_true(events.maps_used >= 2);  // in the first steps one knee only
  // edges that are in no list stretch where feet spread the hem; a pass over them is enough
  assert_true(list.stretch < 0.5 * plain.stretch);
  assert_true(list.speed < 5.0);
  assert_true(events.speed < 10.0);  // a switch does not snap
  kp_claim alone = { .id = "ozgen-22-skirt-list",
                     .text = "one pass through a list stops over-stretch: largest strain of the "
                             "skirt on a walking figure",
                     .size = skirt.words,
                     .figure = plain.stretch,
                     .threshold = 0.10 };
  kp_claim_at_most(&alone);
  kp_claim swept = { .id = "ozgen-22-skirt",
                     .text =
                         "one list and a pass over what it leaves out stop over-stretch: largest "
                         "strain of the skirt on a walking figure",
                     .size = skirt.words,
                     .figure = list.stretch,
                     .threshold = 0.10 };
  kp_claim_at_most(&swept);
  assert_true(list.stretch < (skirt.is_long ? 0.15 : 0.10));
  kp_claim touching = { .id = "ozgen-O56",
                        .text = "cloth stays outside of the figure and of itself on the way",
                        .size = skirt.words };
  kp_claim_status status = kp_claim_all(
      &touching,
      { "triangles whose middle is inside, all frames", (double)list.penetrated, KP_AT_MOST, 0.0 },
      { "most nodes that touch the figure in a frame", (double)list.touching, KP_AT_LEAST, 50.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// Lists that are switched against one, each taking corrections as fast as the other: at once, or at
// most 1 m/s.
static void test_maps(void **state) {
  (void)state;
  if (!skirt.is_long) {
    kp_test_skip("maps against one list: in the long run");
  }
  walk bare = go("skirt_free", NULL), provot = go("skirt_provot", NULL);
  walk one = go("skirt_provot", "passes.passes=1");
  walk slow = go("skirt", "hanging.fastest=1"), list = go("skirt", NULL);
  walk plain = go("skirt", "hanging.seams=0");
  walk maps = go("skirt_maps", NULL), events = go("skirt_events", NULL);
  assert_int_equal(maps.maps_used, 3);
  assert_int_equal(events.maps_used, 3);
  assert_true(plain.stretch < bare.stretch && plain.mean < 0.2 * bare.mean);
  assert_true(maps.speed < 10.0);
  // as many corrections in any order are worth less
  assert_true(list.stretch < 0.75 * one.stretch);
  assert_true(provot.stretch < 0.10);
  kp_claim stretch = { .id = "ozgen-26-stretch",
                       .text = "three maps, chosen by contact, help the skirt: stretch",
                       .size = skirt.words };
  kp_claim_all(
      &stretch,
      { "largest strain over that of one list, both with corrections of at most 1 m/s",
        events.stretch / slow.stretch, KP_AT_MOST, 1.0 },
      { "over that of one list with corrections at once", events.stretch / list.stretch, KP_AT_MOST,
        1.0 },
      { "the same of maps chosen by the step", maps.stretch / slow.stretch, KP_AT_MOST, 1.0 });
  kp_claim inside = { .id = "ozgen-26-penetration",
                      .text = "three maps, chosen by contact, help the skirt: nothing more inside",
                      .size = skirt.words };
  kp_claim_all(&inside, { "triangles inside the figure, less those with one list",
                          (double)(events.penetrated - slow.penetrated), KP_AT_MOST, 0.0 });
}

// ---- O18: the dance under water -----------------------------------------------------------------

static void test_dance(void **state) {
  (void)state;
  if (!skirt.is_long) {
    kp_test_skip("the dance: in the long run");
  }
  char path[1024];
  snprintf(path, sizeof path, "%s/papers/ozgen/dance.lua", KP_SCENES);
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_load_scene(world, path, NULL, 0));
  assert_ok(kp_world_build(world));
  int64_t inside = 0;
  double fastest = 0.0, stretch = 0.0, mean = 0.0;
  enum { FRAMES = 120 };
  for (int frame = 0; frame < FRAMES; ++frame) {
    assert_ok(kp_world_advance(world, FRAME, NULL));
    kp_population_stats s = kp_test_stats(world, "skirt");
    inside += count_penetrated(world);
    fastest = kp_test_most(fastest, s.max_speed);
    mean += sqrt(2.0 * s.kinetic_energy / s.mass) / FRAMES;
    stretch = kp_test_most(stretch, kp_test_stretch_of(world).largest);
  }
  print_message("dance: %lld triangles inside, at most %.2f m/s, mean %.3f m/s, stretch %.1f %%\n",
                (long long)inside, fastest, mean, 100.0 * stretch);
  kp_claim claim = { .id = "ozgen-O18",
                     .text =
                         "a skirt follows a dance under water, slowly and outside of the figure",
                     .size = "60 x 37 nodes, 15 capsules, 4 s" };
  kp_claim_all(&claim,
               { "triangles whose middle is inside the figure, 120 frames", (double)inside,
                 KP_AT_MOST, 0.0 },
               { "largest speed of a node [m/s]", fastest, KP_AT_MOST, 5.0 },
               { "mean speed of the cloth [m/s]", mean, KP_AT_LEAST, 0.01 });
  assert_true(fastest < 5.0);
  kp_world_destroy(&world);
}

// O58: bodies that touch the cloth become part of what the list starts from, and leave it again.
static kp_world *watched(const char *backend) {
  char path[1024];
  snprintf(path, sizeof path, "%s/papers/ozgen/skirt.lua", KP_SCENES);
  const char *const sets[] = { "skirt.columns=24", "skirt.rows=16", "hanging.rebuild=0.05",
                               "hanging.seams=0" };
  kp_world *world;
  assert_ok(kp_world_create(backend, &world));
  assert_ok(kp_world_load_scene(world, path, sets, 4));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_lists_follow_contact(void **state) {
  (void)state;
  kp_world *world = watched("cpu");
  const kp_deform *d = kp_test_deform(world);
  const kp_limit *m = &d->fabric->limited.data[0]->maps.data[0];
  int64_t edges = (int64_t)m->edges.count;
  assert_int_equal(m->rebuilds, 0);
  int64_t fewest = edges;
  for (double t = 0.05; t < 1.0; t += 0.05) {
    kp_test_until(world, t, 0.05);
    fewest = (int64_t)m->edges.count < fewest ? (int64_t)m->edges.count : fewest;
  }
  print_message("%lld lists, %lld to %lld edges\n", (long long)m->rebuilds + 1, (long long)fewest,
                (long long)edges);
  assert_true(m->rebuilds > 0);
  assert_true(fewest < edges);
  // the list starts from what is held, but for what is younger than the patience
  int64_t n_fixed = 0, n_wrong = 0;
  const uint8_t *hold = kp_buffer_host((kp_buffer *)&d->hold, KP_ACCESS_READ);
  const int32_t *contact = kp_buffer_host((kp_buffer *)&d->bodies.contact, KP_ACCESS_READ);
  const uint32_t *away = kp_buffer_host(&m->away->buffers[0], KP_ACCESS_READ);
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    bool is_held = hold[i] != 0 || contact[i] >= 0;
    n_fixed += m->fixed.data[i];
    n_wrong += is_held != (m->fixed.data[i] != 0) && away[i] == 0;
    for (size_t e = 0; i == 0 && e < m->edges.count; ++e) {
      assert_false(m->fixed.data[m->edges.data[e].to]);
    }
  }
  kp_claim follows = { .id = "ozgen-O58",
                       .text = "lists are made anew when what is held or touched has changed",
                       .size = "skirt of 24 x 17 nodes, 1 s of a walk, patience as set" };
  kp_claim_status status = kp_claim_all(
      &follows,
      { "nodes that the list takes for held wrongly, or not", (double)n_wrong, KP_AT_MOST, 0.0 },
      { "lists made anew", (double)m->rebuilds, KP_AT_LEAST, 10.0 },
      { "nodes that the list starts from, of 24 pinned ones", (double)n_fixed, KP_MORE, 24.0 },
      { "fewest edges of a list over those of the first", (double)fewest / (double)edges, KP_LESS,
        1.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  // what pictures of the list show: 0 where it starts, 1 at its end
  const double *order = world->env.parts.data[0].order;
  double off = 0.0, misplaced = 0.0;
  for (int64_t i = 0; i < d->set->space->n; ++i) {
    double place = 0.0;
    for (size_t e = 0; e < m->edges.count; ++e) {
      place = m->edges.data[e].to == i ? (double)(e + 1) / (double)m->edges.count : place;
    }
    off = kp_test_most(off, fabs(order[i] - place));
    misplaced += m->fixed.data[i] && order[i] != 0.0;
  }
  kp_claim pictured = { .id = "ozgen-O55",
                        .text =
                            "pictures of a list show the place at which it moves each node last",
                        .size = "skirt of 24 x 17 nodes, a list made anew" };
  status = kp_claim_all(&pictured,
                        { "largest difference from the place in the list", off, KP_AT_MOST, 1e-12 },
                        { "nodes that it starts from and are not 0", misplaced, KP_AT_MOST, 0.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

static void test_bits(void **state) {
  (void)state;
  uint64_t reference = kp_test_same_bits(watched, 40);
  kp_test_rewind(watched, "cpu", 20, 40, reference);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lists_follow_contact),
    cmocka_unit_test(test_bits),
    cmocka_unit_test(test_walk),
    cmocka_unit_test(test_maps),
    cmocka_unit_test(test_dance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
