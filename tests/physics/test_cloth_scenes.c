// The cloth scenes of Selle (2008, table 6.2) from their files: after every step an exact test that
// shares nothing with the contact module finds no triangles that intersect (claims C25 and C30),
// what repulsion costs (C26), the older loop (C27) and sides of the moment (C28).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "kelpie/scene.h"

#include "cloth_scenes.h"
#include "support/claims.h"
#include "support/tangles.h"

typedef struct outcome {
  int64_t steps, inner, crossings, triangles, near, collisions, rubbing, zone, late;
  double share, total;  // of finding pairs and repulsion in the time of the steps; s
} outcome;

// The scene's file with another size, in the folder of the test.
static const char *resized(const char *folder, const kp_cloth_scene *run) {
  char path[1024];
  snprintf(path, sizeof path, "%s/scenes/papers/selle/%s.lua", kp_test_source_dir(), run->scene);
  size_t n;
  char *text = kp_test_read_file(path, &n);
  static const char line[] = "\nlocal size = 1\n";
  char *at = strstr(text, line);
  assert_non_null(at);
  char *out = kp_alloc(n + 64, KP_MEMORY_SCRATCH);
  assert_non_null(out);
  int head = (int)(at - text);
  int used = snprintf(out, n + 64, "%.*s\nlocal size = %.9g\n%s", head, text, run->size,
                      at + sizeof line - 1);
  const char *file = kp_test_path(folder, "scene.lua");
  kp_test_write_file(file, out, (size_t)used);
  kp_free(out);
  kp_free(text);
  return file;
}

static kp_deform *deform_of(kp_world *world) {
  return kp_test_system(world, &kp_deform_method);
}

// set: another value of the scene that is changed, or NULL.
static outcome go(const char *folder, const kp_cloth_scene *run, const char *set) {
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  const char *sets[4];
  size_t n_sets = 0;
  char step[64], inner[64];
  if (run->inner > 0) {
    // so many inner steps to a collision step, which is a frame
    snprintf(step, sizeof step, "solids.dt=%.17g", 1.0 / (run->fps * run->inner));
    snprintf(inner, sizeof inner, "simulation.dt_max=%.17g", 1.0 / run->fps);
    sets[n_sets++] = step;
    sets[n_sets++] = inner;
  }
  if (run->set != NULL) {
    sets[n_sets++] = run->set;
  }
  if (set != NULL) {
    sets[n_sets++] = set;
  }
  assert_ok(kp_world_load_scene(world, resized(folder, run), sets, n_sets));
  assert_ok(kp_world_build(world));
  kp_deform *d = deform_of(world);
  outcome out = { .triangles = d->n_triangles };
  for (int frame = 1; frame <= run->frames; ++frame) {
    double end = (double)frame / run->fps;
    while (end - kp_world_time(world) > 1e-9) {
      double begin = kp_time_now();
      assert_ok(kp_world_step(world, end - kp_world_time(world), NULL));
      out.total += kp_time_now() - begin;
      ++out.steps;
      out.inner += d->inner_steps;
      out.crossings += kp_tangle_count(d);
    }
  }
  const kp_contact_report none = { 0 };
  const kp_contact_report *told =
      d->meet.contact != NULL ? kp_contact_told(d->meet.contact) : &none;
  out.near = told->n_faces + told->n_edges;
  out.collisions = told->n_collisions;
  out.rubbing = told->n_rubbing;
  out.zone = told->largest_zone;
  out.late = told->n_late;
  out.share = (told->find + told->repulse) / out.total;
  print_message("%-16s %7lld triangles, %3d frames, %lld steps of %lld inner ones: %lld crossings; "
                "%lld collisions, %lld of pairs that repelled, largest zone %lld; %.2f s per "
                "frame, repulsion %.1f %%\n",
                run->scene, (long long)out.triangles, run->frames, (long long)out.steps,
                (long long)out.inner, (long long)out.crossings, (long long)out.collisions,
                (long long)out.rubbing, (long long)out.zone, out.total / run->frames,
                100.0 * out.share);
  kp_world_destroy(&world);
  return out;
}

// C25, C30: no pair may intersect, and none does in cloth that meets nothing.
static void claim_no_crossings(const kp_cloth_scene *run, const outcome *o) {
  char size[256];
  snprintf(size, sizeof size, "%s, %lld triangles, %d of %d frames, %lld steps, %.1f s per frame",
           run->scene, (long long)o->triangles, run->frames, run->stated, (long long)o->steps,
           o->total / run->frames);
  kp_claim claim = { .id = run->id,
                     .text = "after every step an exhaustive triangle/triangle test finds no "
                             "intersecting pair, in a whole run in which cloth meets cloth",
                     .size = size };
  kp_claim_all(&claim, { "intersecting pairs after any step", (double)o->crossings, KP_AT_MOST, 0 },
               { "collisions", (double)o->collisions, KP_AT_LEAST, 1 },
               { "frames", run->frames, KP_AT_LEAST, run->stated },
               { "triangles", (double)o->triangles, KP_AT_LEAST, (double)run->triangles });
}

static void test_no_crossings(void **state) {
  const kp_cloth_scenes *all = &kp_cloth_scenes_to_run;
  for (size_t k = 0; k < all->n_whole; ++k) {
    const kp_cloth_scene *run = &all->whole[k];
    outcome o = go(*state, run, NULL);
    assert_int_equal(o.crossings, 0);
    if (run->id != NULL) {
      claim_no_crossings(run, &o);
    } else {
      assert_true(o.collisions > 0);
    }
  }
}

// The scenes are such that cloth goes through cloth without contact.
static void test_without_contact(void **state) {
  const kp_cloth_scenes *all = &kp_cloth_scenes_to_run;
  outcome o = go(*state, &all->blind[all->n_blind - 1], "solids.contact=false");
  assert_true(o.crossings > 0);
}

// C26: a matter of time, which is told.
static void test_repulsion_is_cheap(void **state) {
  const kp_cloth_scenes *all = &kp_cloth_scenes_to_run;
  double most = 0.0, fewest = HUGE_VAL;
  char size[512] = "";
  for (size_t k = 0; k < all->n_inner; ++k) {
    const kp_cloth_scene *run = &all->inner[k];
    outcome o = go(*state, run, NULL);
    assert_int_equal(o.crossings, 0);
    assert_int_equal(o.inner, o.steps * run->inner);
    most = kp_test_most(most, o.share);
    fewest = kp_test_least(fewest, (double)o.near / (double)o.steps);
    size_t used = strlen(size);
    snprintf(size + used, sizeof size - used, "%s %.1f %% (%lld triangles, %d frames), ",
             run->scene, 100.0 * o.share, (long long)o.triangles, run->frames);
  }
  size_t used = strlen(size);
  snprintf(size + used, sizeof size - used, "%d inner steps", all->inner[0].inner);
  kp_claim claim = { .id = "selle-C26",
                     .text = "finding pairs and repulsion take at most 10 % of the time",
                     .size = size };
  kp_claim_all(&claim, { "share of the time, the most of the scenes", most, KP_AT_MOST, 0.1 },
               { "near pairs in a step, the fewest of the scenes", fewest, KP_AT_LEAST, 1 });
}

// C27: what the older loop costs is told, not asserted.
static void test_going_back(void **state) {
  const kp_cloth_scenes *all = &kp_cloth_scenes_to_run;
  double ratio[2], least = HUGE_VAL;
  int64_t triangles[2];
  for (int k = 0; k < 2; ++k) {
    outcome fixed = go(*state, &all->back[k], NULL);
    outcome back = go(*state, &all->back[k], "solids.rewind=true");
    assert_int_equal(fixed.crossings + back.crossings, 0);
    ratio[k] = fixed.total / back.total;
    triangles[k] = fixed.triangles;
    least = kp_test_least(least, (double)back.inner / (double)fixed.inner);
  }
  print_message("time over that of going back and halving: %.3f and %.3f\n", ratio[0], ratio[1]);
  char size[256];
  snprintf(size, sizeof size,
           "%s, %lld and %lld triangles, %d frames of %d inner steps: ratios %.3f and %.3f",
           all->back[0].scene, (long long)triangles[0], (long long)triangles[1],
           all->back[0].frames, all->back[0].inner, ratio[0], ratio[1]);
  kp_claim claim = { .id = "selle-C27",
                     .text = "inner steps without going back take less time than going back and "
                             "halving, and the more so the finer the cloth",
                     .size = size };
  kp_claim_all(&claim, { "ratio of times at the finer resolution", ratio[1], KP_LESS, 1 },
               { "that ratio over the one at the coarser", ratio[1] / ratio[0], KP_LESS, 1 },
               { "triangles of the coarser", (double)triangles[0], KP_AT_LEAST, 20000 },
               { "inner steps of going back over those without, the fewer", least, KP_MORE, 1 });
}

static void claim_history(const char *id, const char *what, const char *size, int64_t without,
                          int64_t with) {
  kp_claim claim = { .id = id,
                     .text = "without history there are at least twice as many collisions",
                     .size = size };
  double ratio = (double)without / (double)with;
  print_message("%s: %.2f\n", what, ratio);
  kp_claim_all(&claim, { what, ratio, KP_AT_LEAST, 2 },
               { "collisions with history", (double)with, KP_AT_LEAST, 1 });
}

// C28, over all of the scenes. Most collisions are of what was too far apart to repel, which have
// nothing to remember; those of pairs that repelled are told apart.
static void test_without_history(void **state) {
  const kp_cloth_scenes *all = &kp_cloth_scenes_to_run;
  outcome sum[2] = { 0 };
  char size[1024];
  snprintf(size, sizeof size, "%d inner steps; without and with", all->blind[0].inner);
  for (size_t k = 0; k < all->n_blind; ++k) {
    const kp_cloth_scene *run = &all->blind[k];
    outcome without = go(*state, run, "solids.history=false");
    outcome with = go(*state, run, NULL);
    assert_int_equal(with.crossings + without.crossings, 0);
    size_t used = strlen(size);
    snprintf(size + used, sizeof size - used,
             "; %s%s%s (%lld triangles, %d frames) %lld and %lld, of pairs that repelled %lld and "
             "%lld",
             run->scene, run->set != NULL ? " with " : "", run->set != NULL ? run->set : "",
             (long long)with.triangles, run->frames, (long long)without.collisions,
             (long long)with.collisions, (long long)without.rubbing, (long long)with.rubbing);
    sum[0].collisions += without.collisions;
    sum[0].rubbing += without.rubbing;
    sum[1].collisions += with.collisions;
    sum[1].rubbing += with.rubbing;
  }
  assert_true(sum[0].collisions > 0 && sum[1].collisions > 0);
  claim_history("selle-C28", "ratio of collisions, all scenes together", size, sum[0].collisions,
                sum[1].collisions);
  claim_history("selle-C28-rubbing",
                "ratio of collisions of pairs that repelled, all scenes together", size,
                sum[0].rubbing, sum[1].rubbing);
}

int main(void) {
  // a part of it: KELPIE_CLOTH_SCENES=test_no_crossings
  if (getenv("KELPIE_CLOTH_SCENES") != NULL) {
    cmocka_set_test_filter(getenv("KELPIE_CLOTH_SCENES"));
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_no_crossings, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_without_contact, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_repulsion_is_cheap, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_going_back, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_without_history, kp_test_folder_make,
                                    kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
