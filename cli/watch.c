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
#include "run/shape_points.h"
#include "world/world.h"

#define WIDE 80  // letters, where nobody says how many there are
#define HIGH 24
#define WIDEST 400
#define HIGHEST 160
#define FOOT 2          // lines under the picture
#define PER_LETTER 48   // bytes at most
#define POINT 0.004     // radius of what has no size, in lengths of the domain
#define APART 0.005     // points of shapes, in lengths of the domain
#define SMOKE 8.0       // lengths of the domain through which smoke of density 1/8 dims by e
#define HOT_FROM 900.0  // K, where a gas begins to glow,
#define HOT_TO 1700.0   // and where it is bright

typedef struct watch {
  FILE *out;
  bool is_terminal;
  bool is_open;
  kp_live live;
  kp_shape_cloud shapes;
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

static double length_of(const kp_world *world) {
  return kp_vec3_length(kp_vec3_sub(world->spec.domain.max, world->spec.domain.min));
}

static kp_result open_watch(watch *w, kp_world *world) {
  measure_terminal(w);
  w->text = kp_alloc((size_t)(w->width + 2) * (size_t)w->height * PER_LETTER, KP_MEMORY_RENDER);
  if (w->text == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_live_init(&w->live, world->backend);
  w->is_open = true;
  KP_TRY(kp_shape_cloud_make(&w->shapes, world, APART * length_of(world)));
  if (w->is_terminal) {
    (void)fputs("\033[2J", w->out);
  }
  return KP_OK;
}

static void close_watch(watch *w) {
  if (w->is_open) {
    kp_live_free(&w->live);
    kp_shape_cloud_free(&w->shapes);
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
  // the markers of level sets are not for show
  bool is_drawn = position != NULL && position->type == KP_TYPE_POS && position->components == 3 &&
                  (position->flags & KP_FIELD_EXPORT) != 0;
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

// Over the shoulder of who looks on.
static kp_vec3 sun_of(const kp_world *world) {
  kp_vec3 up = kp_env_up_axis(&world->env) == 2 ? kp_vec3_make(0.4, -0.45, 0.8)
                                                : kp_vec3_make(0.4, 0.8, 0.45);
  return kp_vec3_normalize(up);
}

// Colliders and bodies as points all over them.
static kp_result add_shapes(watch *w, kp_world *world, double length) {
  KP_TRY(kp_shape_cloud_place(&w->shapes, world, sun_of(world)));
  for (size_t i = 0; i < w->shapes.items.count; ++i) {
    kp_shape_points *shape = &w->shapes.items.data[i];
    kp_live_points points = { .n = shape->n,
                              .light = &shape->light,
                              .radius = 0.75 * APART * length,
                              .slow = kp_vec3_make(0.24, 0.23, 0.22),
                              .fast = kp_vec3_make(0.88, 0.85, 0.80) };
    for (int c = 0; c < 3; ++c) {
      points.position[c] = &shape->position[c];
    }
    KP_TRY(kp_live_add(&w->live, &points));
  }
  return KP_OK;
}

static kp_field *find_real(kp_space *space, const char *name) {
  kp_field *field = kp_space_find(space, name);
  return field != NULL && field->type == KP_TYPE_REAL && field->components == 1 ? field : NULL;
}

static kp_result add_water(watch *w, const kp_world *world, const kp_env_grid *grid) {
  kp_field *distance = find_real(grid->mac->space, "distance");
  if (distance == NULL) {
    return KP_OK;
  }
  return kp_live_add_water(&w->live, &(kp_live_water){ .mac = grid->mac,
                                                       .distance = &distance->buffers[0],
                                                       .sun = sun_of(world),
                                                       .dark = kp_vec3_make(0.06, 0.20, 0.45),
                                                       .bright = kp_vec3_make(0.45, 0.75, 0.98) });
}

// Smoke by its density; what is hot in kelvin, or a flame, glows.
static kp_result add_smoke(watch *w, const kp_world *world, const kp_env_grid *grid) {
  kp_field *density = find_real(grid->mac->space, "density");
  kp_field *heat = find_real(grid->mac->space, "temperature");
  bool is_kelvin = heat != NULL && strcmp(heat->unit, "K") == 0;
  heat = is_kelvin ? heat : find_real(grid->mac->space, "flame");
  if (density == NULL && heat == NULL) {
    return KP_OK;
  }
  // a flat world is one layer of cells, and looked at as if it were some depth
  bool is_flat = world->spec.domain.dimension == 2;
  double depth = is_flat ? grid->mac->view.cell : length_of(world) / SMOKE;
  return kp_live_add_smoke(
      &w->live, &(kp_live_smoke){ .mac = grid->mac,
                                  .density = density != NULL ? &density->buffers[0] : NULL,
                                  .heat = heat != NULL ? &heat->buffers[0] : NULL,
                                  .from = is_kelvin ? HOT_FROM : 0.0,
                                  .to = is_kelvin ? HOT_TO : 1.0,
                                  .strength = 2.0 / depth,
                                  .color = kp_vec3_make(0.62, 0.62, 0.63),
                                  .glow = kp_vec3_make(1.0, 0.62, 0.18) });
}

// Grids after all points: first the water, which hides, then smoke, which dims.
static kp_result add_grids(watch *w, const kp_world *world) {
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    KP_TRY(add_water(w, world, &world->env.grids.data[g]));
  }
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    KP_TRY(add_smoke(w, world, &world->env.grids.data[g]));
  }
  return KP_OK;
}

// All that is in a world: particles of liquids, grains and fires, nodes of cloth and hair, shapes
// of solids in place of their samples, water of level sets, smoke and flames. Walls of the domain
// would hide the rest.
static kp_result draw(watch *w, kp_world *world, const kp_render_def *render) {
  kp_camera camera = camera_of(w, world, render);
  double length = length_of(world);
  const uint32_t *pixels;
  KP_TRY(kp_live_begin(&w->live, &camera, w->width, w->height));
  for (size_t s = 0; s < world->registry->spaces.count; ++s) {
    kp_space *space = world->registry->spaces.data[s];
    bool is_sample = (world->walls != NULL && world->walls->set->space == space) ||
                     (world->movers != NULL && world->movers->set->space == space);
    if (space->kind == KP_SPACE_PARTICLES && !is_sample) {
      KP_TRY(add_space(w, world, space, length));
    }
  }
  KP_TRY(add_shapes(w, world, length));
  KP_TRY(add_grids(w, world));
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
