#include "cli/watch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "render/live.h"
#include "render/render.h"
#include "run/batch.h"
#include "world/world.h"

#define WIDE 80  // letters, where nobody says how many there are
#define HIGH 24
#define WIDEST 400
#define HIGHEST 160
#define FOOT 2         // lines under the picture
#define PER_LETTER 48  // bytes at most
#define POINT 0.004    // radius of what has no size, in lengths of the domain

typedef struct watch {
  FILE *out;
  bool is_terminal;
  bool is_open;
  kp_live live;
  char *text;
  int width, height;  // pixels
} watch;

static watch shown;

// ---- the terminal

static void measure_terminal(watch *w) {
  struct winsize size;
  int columns = WIDE;
  int lines = HIGH;
  if (ioctl(fileno(w->out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > FOOT) {
    columns = size.ws_col < WIDEST ? size.ws_col : WIDEST;
    lines = size.ws_row < HIGHEST ? size.ws_row : HIGHEST;
  }
  w->width = columns;
  w->height = 2 * (lines - FOOT);
}

static char *put_color(char *to, int layer, uint32_t color) {
  return to + sprintf(to, "\033[%d;2;%u;%u;%um", layer, color & 255u, color >> 8 & 255u,
                      color >> 16 & 255u);
}

// An upper half block in the colour of the upper pixel on the colour of the lower one.
static void print_picture(watch *w, const uint32_t *pixels) {
  char *to = w->text;
  to += sprintf(to, "%s", w->is_terminal ? "\033[H" : "");
  for (int y = 0; y + 1 < w->height; y += 2) {
    uint32_t before[2] = { ~0u, ~0u };
    for (int x = 0; x < w->width; ++x) {
      const uint32_t now[2] = { pixels[x + w->width * y], pixels[x + w->width * (y + 1)] };
      to = now[0] != before[0] ? put_color(to, 38, now[0]) : to;
      to = now[1] != before[1] ? put_color(to, 48, now[1]) : to;
      to += sprintf(to, "\u2580");
      memcpy(before, now, sizeof before);
    }
    to += sprintf(to, "\033[0m\n");
  }
  (void)fwrite(w->text, 1, (size_t)(to - w->text), w->out);
  (void)fflush(w->out);
}

static kp_result open_watch(watch *w, kp_world *world) {
  measure_terminal(w);
  w->text = kp_alloc((size_t)(w->width + 2) * (size_t)w->height * PER_LETTER, KP_MEMORY_RENDER);
  if (w->text == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_live_init(&w->live, world->backend);
  w->is_open = true;
  if (w->is_terminal) {
    (void)fputs("\033[2J", w->out);
  }
  return KP_OK;
}

static void close_watch(watch *w) {
  if (w->is_open) {
    kp_live_free(&w->live);
    kp_free(w->text);
  }
  w->is_open = false;
}

// ---- what is seen

static kp_camera camera_of(const watch *w, const kp_world *world, const kp_render_def *render) {
  kp_render_scene scene = { .bounds = { world->spec.domain.min, world->spec.domain.max },
                            .up = kp_env_up_axis(&world->env) == 2 ? KP_UP_Z : KP_UP_Y };
  kp_render_def def = *render;
  def.width = w->width;
  def.height = w->height;
  if (world->spec.domain.dimension == 2) {
    scene.bounds.min.z = scene.bounds.max.z = 0.0;
  }
  return kp_render_get_camera(&scene, &def);
}

// Half a spacing for liquids, sprites of fires, and for others so that they can be seen.
static double radius_of(const kp_world *world, const char *name, double length) {
  for (size_t i = 0; i < world->spec.liquids.count; ++i) {
    if (strcmp(world->spec.liquids.data[i].name, name) == 0) {
      return 0.5 * world->spec.liquids.data[i].spacing;
    }
  }
  for (size_t i = 0; i < world->spec.fires.count; ++i) {
    if (strcmp(world->spec.fires.data[i].name, name) == 0) {
      return 0.5 * world->spec.fires.data[i].sprite_radius;
    }
  }
  return POINT * length;
}

static kp_result add_space(watch *w, const kp_world *world, kp_space *space, double length) {
  kp_field *position = kp_space_find(space, "position");
  kp_field *velocity = kp_space_find(space, "velocity");
  bool is_drawn = position != NULL && position->type == KP_TYPE_POS && position->components == 3;
  if (!is_drawn) {
    return KP_OK;
  }
  bool is_fire = false;
  for (size_t i = 0; i < world->spec.fires.count; ++i) {
    is_fire = is_fire || strcmp(world->spec.fires.data[i].name, space->name) == 0;
  }
  kp_live_points points = { .n = space->n,
                            .radius = radius_of(world, space->name, length),
                            .speed = 0.5 * sqrt(9.81 * length),
                            .slow = kp_vec3_make(0.10, 0.38, 0.80),
                            .fast = kp_vec3_make(0.90, 0.97, 1.00) };
  if (is_fire) {
    points.slow = kp_vec3_make(0.85, 0.25, 0.05);
    points.fast = kp_vec3_make(1.0, 0.9, 0.5);
  } else if (radius_of(world, space->name, length) == POINT * length) {
    points.slow = kp_vec3_make(0.75, 0.60, 0.40);
    points.fast = kp_vec3_make(1.0, 0.95, 0.85);
  }
  bool has_velocity =
      velocity != NULL && velocity->type == KP_TYPE_REAL && velocity->components == 3;
  for (int c = 0; c < 3; ++c) {
    points.position[c] = &position->buffers[c];
    points.velocity[c] = has_velocity ? &velocity->buffers[c] : NULL;
  }
  return kp_live_add(&w->live, &points);
}

// All that moves and is made of particles: liquids, grains, fires, nodes of cloth and hair, and the
// samples of bodies; not those of walls, which would hide the rest.
static kp_result draw(watch *w, kp_world *world, const kp_render_def *render) {
  kp_camera camera = camera_of(w, world, render);
  kp_domain_def *domain = &world->spec.domain;
  double length = kp_vec3_length(kp_vec3_sub(domain->max, domain->min));
  const uint32_t *pixels;
  KP_TRY(kp_live_begin(&w->live, &camera, w->width, w->height));
  for (size_t s = 0; s < world->registry->spaces.count; ++s) {
    kp_space *space = world->registry->spaces.data[s];
    bool is_wall = world->walls != NULL && world->walls->set->space == space;
    if (space->kind == KP_SPACE_PARTICLES && !is_wall) {
      KP_TRY(add_space(w, world, space, length));
    }
  }
  KP_TRY(kp_live_read(&w->live, &pixels));
  print_picture(w, pixels);
  return KP_OK;
}

static kp_result show(struct kp_world *world, const struct kp_render_def *render, void *context) {
  watch *w = context;
  if (world == NULL) {
    close_watch(w);
    return KP_OK;
  }
  if (!w->is_open) {
    KP_TRY(open_watch(w, world));
  }
  return draw(w, world, render);
}

void kp_watch_begin(kp_run_def *def) {
  shown = (watch){ .out = def->out, .is_terminal = isatty(fileno(def->out)) == 1 };
  def->watch = show;
  def->watch_context = &shown;
}
