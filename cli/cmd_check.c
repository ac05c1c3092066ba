#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "run/forecast.h"
#include "run/scene_extras.h"
#include "world/world.h"

static const kp_option options[] = {
  { "set", 's', "KEY=VALUE", "change a value of the scene, e.g. water.viscosity=0.1; repeatable" },
  { "pilot", 0, "SECONDS",
    "processor time to simulate for, from which the time of the run follows (1); 0: none" },
};

static const kp_command command = {
  "check",
  "SCENE [options]",
  "Reads and checks a scene, fills its world and prints what it holds and about how much\n"
  "memory and time it will take. For the time it simulates the start of the scene for a second;\n"
  "nothing is written.",
  "  kelpie check scenes/demo/dam_break.lua\n"
  "  kelpie check scenes/demo/dam_break.lua --set water.spacing=0.005",
  options,
  sizeof options / sizeof options[0],
  1,
  1,
};

static void print_bytes(double bytes) {
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < sizeof units / sizeof units[0]) {
    bytes /= 1024.0;
    ++unit;
  }
  (void)printf("%.1f %s\n", bytes, units[unit]);
}

static void print_seconds(double seconds) {
  if (!isfinite(seconds)) {
    (void)printf("unknown\n");
  } else if (seconds < 10.0) {
    (void)printf("%.2g s\n", seconds);
  } else if (seconds < 120.0) {
    (void)printf("%.0f s\n", seconds);
  } else if (seconds < 7200.0) {
    (void)printf("%.0f min\n", seconds / 60.0);
  } else {
    (void)printf("%.1f h\n", seconds / 3600.0);
  }
}

#define PILOT 1.0        // s
#define MOST_PILOTS 2.0  // of it that the first sub-step may take
#define NAMES_SHOWN 5

// "body        7: ball, box, can, crate, crate2 ..."; nothing where there is none. Names lie
// `stride` bytes apart.
static void print_names(const char *word, size_t n, const char *names, size_t stride) {
  if (n == 0) {
    return;
  }
  (void)printf("%-11s %zu: ", word, n);
  for (size_t i = 0; i < n && i < NAMES_SHOWN; ++i) {
    (void)printf("%s%s", i > 0 ? ", " : "", names + i * stride);
  }
  (void)printf("%s\n", n > NAMES_SHOWN ? " ..." : "");
}

static void print_scene(const kp_scene *scene, const kp_world_size *size_of_world) {
  const kp_spec *spec = kp_scene_spec(scene);
  const kp_output_def *output = kp_scene_output(scene);
  kp_vec3 size = kp_vec3_sub(spec->domain.max, spec->domain.min);
  (void)printf("domain      %g x %g x %g m, %lldD\n", size.x, size.y, size.z,
               (long long)spec->domain.dimension);
#define X(word, plural)                                                                            \
  print_names(#word, spec->plural.count,                                                           \
              spec->plural.count > 0 ? spec->plural.data[0].name : NULL,                           \
              sizeof spec->plural.data[0]);
  KP_SPEC_ENTITIES(X)
#undef X
  (void)printf("particles   %lld", (long long)size_of_world->particles);
  if (size_of_world->to_come > 0) {
    (void)printf(", and up to %lld from emitters", (long long)size_of_world->to_come);
  } else if (size_of_world->to_come < 0) {
    (void)printf(", and more from emitters without limit");
  }
  if (size_of_world->cells > 0) {
    (void)printf("\ncells       %lld", (long long)size_of_world->cells);
  }
  (void)printf("\nsamples     %lld on walls and bodies\n", (long long)size_of_world->samples);
  (void)printf("frames      %lld at %g per second: %g s\n", (long long)output->frames, output->fps,
               (double)output->frames / output->fps);
  (void)printf("memory      about ");
  print_bytes(size_of_world->bytes);
  (void)printf("sub-step    %.3g s at the start\n", size_of_world->dt);
}

// What is logged meanwhile the run tells again.
static void keep_silent(kp_log_level level, const char *module, const char *message, void *user) {
  (void)level;
  (void)module;
  (void)message;
  (void)user;
}

// The world is simulated for it: the last thing that is done with it.
static kp_result print_time(kp_world *world, const kp_output_def *output, kp_surfaces *surfaces,
                            double budget, const kp_world_size *size) {
  kp_forecast forecast;
  (void)printf("time        ");
  if (size->seconds_per_second * size->dt > MOST_PILOTS * budget) {
    // a single sub-step takes longer
    (void)printf("about, on one core, by the rates of methods: ");
    print_seconds(size->seconds_per_second * (double)output->frames / output->fps);
    return KP_OK;
  }
  kp_set_log(keep_silent, NULL, KP_LOG_ERROR);
  kp_result result = kp_forecast_run(world, output, surfaces, budget, &forecast);
  if (result != KP_OK) {
    (void)printf("unknown\n");
    return result;
  }
  if (!isnan(forecast.trouble)) {
    (void)printf("unknown: a sub-step fails at %g s\n", forecast.trouble);
    return KP_OK;
  }
  (void)printf("about, on one core of this machine: ");
  print_seconds(forecast.seconds);
  return KP_OK;
}

static kp_result check_scene(const char *path, const char *const *sets, size_t n_sets,
                             double budget) {
  kp_extras extras;
  kp_scene *scene = NULL;
  kp_world *world = NULL;
  kp_world_size size;
  kp_extras_init(&extras);
  kp_scene_options scene_options = kp_extras_options(&extras, sets, n_sets);
  KP_TRY(kp_scene_load(path, &scene_options, &scene));
  kp_result result = kp_spec_check(kp_scene_spec(scene));
  if (result == KP_OK) {
    result = kp_extras_check(&extras, scene);
  }
  if (result == KP_OK) {
    result = kp_world_create("cpu", &world);
  }
  if (result == KP_OK) {
    result = kp_world_set_spec(world, kp_scene_spec(scene));
  }
  if (result == KP_OK) {
    result = kp_world_build(world);
  }
  kp_surfaces surfaces = { 0 };
  if (result == KP_OK) {
    result = kp_surfaces_begin(&surfaces, &extras.surface, world);
  }
  if (result == KP_OK) {
    result = kp_world_measure(world, &size);
  }
  if (result == KP_OK) {
    (void)printf("%s is fine\n", path);
    print_scene(scene, &size);
  }
  if (result == KP_OK && budget > 0.0) {
    result = print_time(world, kp_scene_output(scene), &surfaces, budget, &size);
  }
  kp_surfaces_free(&surfaces);
  kp_world_destroy(&world);
  kp_scene_free(&scene);
  return result;
}

static kp_result read_budget(const kp_arguments *arguments, double *out) {
  const char *text = kp_arguments_get(arguments, "pilot");
  if (text == NULL) {
    return KP_OK;
  }
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out >= 0.0 && *out <= 3600.0
             ? KP_OK
             : kp_fail(KP_ERROR_ARGUMENT, "--pilot wants seconds from 0 to 3600, not '%s'", text);
}

int cmd_check(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  const char **sets = NULL;
  size_t n_sets;
  double budget = PILOT;
  kp_result result = kp_arguments_all(&arguments, "set", &sets, &n_sets);
  if (result == KP_OK) {
    result = read_budget(&arguments, &budget);
  }
  if (result == KP_OK) {
    result = check_scene(arguments.plain.data[0], sets, n_sets, budget);
  }
  kp_free(sets);
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
