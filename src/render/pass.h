// What the files of the renderer share while one frame is made. Private to src/render.
//
//   render.c      checks, camera, passes, sum           shadow.c     depth from the sun
//   primitives.c  the scene as flat lists of balls,     cover.c      nearest surface per pixel
//                 triangles and segments                smooth.c     particle bodies, occlusion
//   points.c triangles.c lines.c                        shade.c      light, see-through layers
//                 project, bin, cover                   volume.c     smoke and fire
//                                                       fire_light.c what flames shine on
//   lens.c        depth of field, motion blur           slices.c     smoke by half-angle slices
//   yarn*         yarn as quads of a lumislice          ground.c     plane and pattern
//   ray_*         trees of what rays can meet           trace.c      water, glass, mirrors
//   deep.c        light left behind hairs and puffs     caustics.c   sunlight behind water
//   volume_*.h walk.h    rays through volumes and from surface to surface, for a card as well
//   cast.c        a picture by rays alone, on any backend
#pragma once

#include <stdatomic.h>

#include "base/array.h"
#include "render/bins.h"
#include "render/caustics_map.h"
#include "render/light.h"
#include "render/render.h"
#include "render/shading.h"
#include "render/view.h"
#include "render/volume_grid.h"

// Materials 0 and 1 are sky and ground, then come point sets, meshes and lines in scene order.
#define KP_MATERIAL_SKY 0
#define KP_MATERIAL_GROUND 1
#define KP_MATERIAL_FIRST 2
#define KP_COLOR_STEPS 256

typedef struct kp_material {
  const float *scalar;  // per element of the set, or NULL
  float scalar_min, scalar_scale;
  kp_rgb color;
  kp_rgb steps[KP_COLOR_STEPS];  // colour map of the scalar
  float opacity, gloss, smooth;
  float radius;        // typical size of a particle [m]; 0 for meshes
  bool is_clear;       // a liquid or glass that bends light
  bool has_caustics;   // of its own: it throws a shadow with light in it
  bool is_inside_out;  // its faces look inwards
  float refraction;    // its index
  float cloudy;        // share of what it takes out that comes back
  kp_rgb absorbed;     // [1/m]
  bool is_yarn;        // drawn by yarn.c in this pass
  bool is_two_sided;
  kp_rgb back;  // of a mesh with two sides
  bool is_blinn_phong;
  float specular, shininess;
  float line_width;  // of a wireframe [pixels]; 0: faces
} kp_material;

// A particle in view space. A negative radius marks a sprite: no surface, in no shadow map.
typedef struct kp_ball {
  float x, y, z, r;
} kp_ball;

// A piece of a polyline between vertices `vertex` and `vertex + 1`.
typedef struct kp_segment {
  uint32_t vertex;
  uint32_t line;  // counted over the whole scene
  uint32_t set;
} kp_segment;

// Where a vertex falls on a picture [1/256 pixel].
typedef struct kp_screen_place {
  int32_t x, y;
} kp_screen_place;

typedef struct kp_volume_state kp_volume_state;
struct kp_caustics;
struct kp_cast;
struct kp_slices;
struct kp_yarn;
struct kp_deep;

// All sets of a kind one after the other; offsets[k] is the first element of set k.
typedef struct kp_primitives {
  int64_t n_balls, n_vertices, n_triangles, n_line_vertices, n_segments;
  int64_t *ball_offsets, *vertex_offsets, *triangle_offsets, *line_offsets;
  kp_ball *balls;  // view space, as are the next two; rewritten for each view
  kp_f3 *vertices;
  kp_screen_place *screen;  // of the vertices, in the view they were last binned for
  kp_ball *line_vertices;   // r: radius of the stroke
  uint32_t *triangles;      // 3 per triangle, into `vertices`
  kp_f3 *normals;           // world space per vertex; zero where the shading is flat
  kp_segment *segments;
  kp_bin_rect *rects;  // room for the largest list
  bool has_clear;      // some mesh is see-through
  bool has_sprites;    // some particles are sprites
  bool has_puffs;      // some of them cover what is behind
} kp_primitives;

// Surfaces seen by the camera, one value per pixel.
typedef struct kp_surfaces {
  float *depth;
  kp_f3 *normals;  // view space
  kp_rgb *albedo;
  uint16_t *materials;
  float *occlusion;  // 1 open, 0 closed
  float *smooth_a, *smooth_b;
} kp_surfaces;

typedef struct kp_shadow_map {
  float *depth;
  int64_t capacity;
  float from_view[3][4];  // camera view space to (pixel x, pixel y, depth)
  float texel;            // [m]
  float spread;           // radius of the filter [pixels]
} kp_shadow_map;

#define KP_TAPS_MOST 16

// Places around a pixel where a filter looks, on the unit disc, before they are turned by noise.
// Many passes make up for few taps.
typedef struct kp_taps {
  int n;
  kp_f3 at[KP_TAPS_MOST];  // z unused
} kp_taps;

typedef struct kp_ground_plane {
  bool on;
  kp_f3 normal;   // view space
  float offset;   // normal . p = offset on the plane
  double height;  // world
  double square;  // edge of a checker square [m]
  double fade;    // distance over which the ground turns into the horizon [m]
} kp_ground_plane;

typedef struct kp_pass {
  const kp_render_scene *scene;
  const kp_render_def *def;
  kp_camera camera;
  kp_aabb bounds;   // of the scene, never empty
  kp_aabb casters;  // what throws shadows
  kp_view view, sun_view;
  kp_light light;
  kp_f3 up, sun;  // view space
  kp_material *materials;
  int n_materials;
  kp_primitives primitives;
  kp_bins ball_bins, triangle_bins, segment_bins;
  kp_surfaces surfaces;
  kp_shadow_map shadow;
  kp_ground_plane ground;
  kp_taps shadow_taps;
  kp_taps occlusion_taps;  // unit vectors: their distance varies
  kp_volume_state *volumes;
  kp_volume_grid *grids;  // of the volumes
  kp_volume_air air;
  int n_volumes;
  struct kp_deep *deep;      // NULL: nothing lets part of the sun through
  struct kp_yarn *yarn;      // NULL: no line is yarn
  struct kp_slices *slices;  // NULL: no volume is drawn by slices
  kp_fire_light *fire;       // of all volumes, or NULL
  kp_vec3 *fire_places;      // and where they are
  int n_fire;
  bool by_rays;                  // the picture is made by rays alone,
  struct kp_cast *cast;          // by this, or NULL
  struct kp_caustics *caustics;  // or NULL
  struct kp_ray_scene *rays;     // or NULL
  double rays_moment;            // at which it was made
  kp_f3 ray_start;               // the eye in it
  float ray_size;                // of the scene [m]
  bool sun_by_rays;              // and not by the shadow map
  kp_f3 sun_right, sun_down;     // half axes of the sun's disc, one unit away (view space)
  int outline;            // the set of lines that draws the bounds and throws no shadow, or -1
  int index, count;       // this pass, and how many there will be
  double moment;          // of this pass, from the middle of the time the shutter is open [s]
  float occlusion_reach;  // [m]
  kp_picture *picture;
  atomic_bool out_of_memory;  // set inside parallel loops
} kp_pass;

typedef enum kp_primitive_kind {
  KP_PRIMITIVE_NONE,
  KP_PRIMITIVE_BALL,
  KP_PRIMITIVE_TRIANGLE,
  KP_PRIMITIVE_SEGMENT
} kp_primitive_kind;

// Nearest primitive per pixel of one tile.
typedef struct kp_tile {
  kp_tile_box box;
  float depth[KP_TILE_PIXELS];
  uint32_t primitive[KP_TILE_PIXELS];
  uint8_t kind[KP_TILE_PIXELS];
} kp_tile;

// A surface point as the shader wants it.
typedef struct kp_surface_point {
  kp_f3 position, normal;  // view space
  kp_rgb albedo;
  float occlusion;
  uint16_t material;
  kp_f3 tangent;   // of a fibre
  bool is_fibre;   // and not a surface
  kp_f3 eye;       // towards whoever sees it; zero: the camera
  kp_f3 face;      // triangles: the normal of the face, towards who sees it
  bool is_inside;  // triangles: seen from within
  bool is_traced;  // by a ray that is not the camera's: no more rays for gloss
} kp_surface_point;

// A see-through layer in front of the opaque surface.
typedef struct kp_fragment {
  float depth, alpha;
  kp_rgb color;
  uint16_t pixel;  // in the tile
  uint32_t order;  // ties in depth
  uint32_t line;   // the polyline it belongs to; UINT32_MAX for triangles
  bool is_clear;   // a triangle of water or glass, `order`: what is behind it is traced
} kp_fragment;

typedef struct kp_fragments {
  KP_ARRAY(kp_fragment) list;
  uint32_t last[KP_TILE_PIXELS];  // newest fragment of a pixel + 1
} kp_fragments;

KP_FN int kp_tile_pixel(const kp_tile *tile, int x, int y) {
  return (y - tile->box.y0) * KP_TILE_SIZE + (x - tile->box.x0);
}

// A fixed pseudo-random number in [0, 1) of pixel and pass.
KP_FN float kp_pass_noise(const kp_pass *pass, int x, int y, uint32_t use) {
  uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u;
  h ^= ((uint32_t)pass->index * 8u + use) * 0xcb1ab31fu;
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return (float)((h ^ (h >> 16)) >> 8) * (1.0f / 16777216.0f);
}

// The same, but spread evenly over the passes of a pixel.
KP_FN float kp_pass_spread(const kp_pass *pass, int x, int y, uint32_t use) {
  return kp_shading_spread(pass->index, x, y, use);
}

// One that steps evenly through [0, 1) from pass to pass.
KP_FN float kp_pass_turn(const kp_pass *pass, int x, int y) {
  return kp_shading_turn(pass->index, x, y);
}

// How particles are drawn; KP_SPRITE_AUTO: as balls, which hide what is behind them.
KP_FN int kp_look_sprite(const kp_look_def *look) {
  if (look->sprite != KP_SPRITE_AUTO) {
    return look->sprite;
  }
  return look->glow > 0.0 ? KP_SPRITE_ADD : (look->opacity < 1.0 ? KP_SPRITE_OVER : KP_SPRITE_AUTO);
}

KP_FN bool kp_look_is_sprite(const kp_look_def *look) {
  return kp_look_sprite(look) != KP_SPRITE_AUTO;
}

// A mesh that bends light, by rays: water, and what has an index of refraction.
KP_FN bool kp_look_is_clear(const kp_look_def *look) {
  return look->water || (look->opacity < 1.0 && look->refraction > 1.0);
}

// Such a one is as clear as glass, whatever its opacity says.
KP_FN double kp_look_opacity(const kp_look_def *look) {
  return kp_look_is_clear(look) ? 0.25 : look->opacity;
}

// primitives.c
KP_NODISCARD kp_result kp_primitives_create(kp_pass *pass);
void kp_primitives_free(kp_pass *pass);
void kp_primitives_project(kp_pass *pass, const kp_view *view);
int kp_primitives_set(const int64_t *offsets, int n_sets, int64_t index);
kp_rgb kp_material_color(const kp_material *material, float scalar);

// points.c, triangles.c, lines.c: find tiles, cover a tile, describe a covered pixel
KP_NODISCARD kp_result kp_points_bin(kp_pass *pass, const kp_view *view);
void kp_points_cover(const kp_pass *pass, int64_t tile_index, kp_tile *tile);
void kp_points_shadow(const kp_pass *pass, int64_t tile_index, kp_tile_box box);
// Lays the sprites of a tile over each other, as far as no surface hides them.
void kp_points_sprites(kp_pass *pass, int64_t tile_index, kp_tile_box box, kp_sprite_layer *layers);
void kp_points_resolve(const kp_pass *pass, uint32_t ball, kp_surface_point *point);
// One sprite as it is drawn, in view space.
kp_sprite kp_points_sprite(const kp_pass *pass, uint32_t ball);

KP_NODISCARD kp_result kp_triangles_bin(kp_pass *pass, const kp_view *view);
void kp_triangles_cover(const kp_pass *pass, int64_t tile_index, kp_tile *tile);
void kp_triangles_shadow(const kp_pass *pass, int64_t tile_index, kp_tile_box box);
void kp_triangles_resolve(const kp_pass *pass, uint32_t triangle, kp_surface_point *point);
// As point->eye sees it, with the weights of the corners.
void kp_triangles_resolve_at(const kp_pass *pass, uint32_t triangle, const float *weights,
                             kp_surface_point *point);
void kp_triangles_see_through(kp_pass *pass, int64_t tile_index, kp_tile_box box,
                              kp_fragments *fragments);

KP_NODISCARD kp_result kp_lines_bin(kp_pass *pass, const kp_view *view);
void kp_lines_cover(const kp_pass *pass, int64_t tile_index, kp_tile *tile);
void kp_lines_shadow(const kp_pass *pass, int64_t tile_index, kp_tile_box box);
void kp_lines_resolve(const kp_pass *pass, uint32_t segment, int x, int y, kp_surface_point *point);
void kp_lines_see_through(kp_pass *pass, int64_t tile_index, kp_tile_box box,
                          kp_fragments *fragments);

// lens.c
typedef struct kp_lens_sample {
  double x, y;    // on the unit disc
  double moment;  // -0.5 .. 0.5 of the time the shutter is open
} kp_lens_sample;

kp_lens_sample kp_lens_sample_of(int k, int n);
// Moves the eye of a view that is set, and the moment, to those of the pass.
void kp_lens_apply(kp_pass *pass);

// yarn.c
typedef struct kp_yarn_place {
  kp_f3 at, tangent;
  float radius;
  int64_t vertex;  // of the line before it
  float along;     // 0 .. 1 from there to the next
} kp_yarn_place;

// Length of the Catmull-Rom curve through the points of a line, and places on it at
// (k + shift) step.
float kp_yarn_length(const kp_ball *line, int64_t n);
typedef struct kp_yarn_steps {
  float step, shift;
  int64_t count;
} kp_yarn_steps;

void kp_yarn_walk(const kp_ball *line, int64_t n, const kp_yarn_steps *steps, kp_yarn_place *out);
KP_NODISCARD kp_result kp_yarn_create(kp_pass *pass);
void kp_yarn_free(kp_pass *pass);
// Stations of a pass, with the primitives in the camera's view; those of a picture by rays are lit
// there.
KP_NODISCARD kp_result kp_yarn_place_stations(kp_pass *pass);
// What was placed; NULL: no line is yarn.
const struct kp_yarn_view *kp_yarn_get(const kp_pass *pass, int64_t *n_stations, int64_t *n_quads);
// The same, and the tiles they are drawn in.
KP_NODISCARD kp_result kp_yarn_project(kp_pass *pass);
// Lays the quads of a tile over each other, before the sprites.
void kp_yarn_draw(kp_pass *pass, int64_t tile, kp_tile_box box, kp_sprite_layer *layers);

// ground.c
void kp_ground_set(kp_pass *pass);
float kp_ground_depth(const kp_pass *pass, float u, float v);
kp_rgb kp_ground_albedo(const kp_pass *pass, kp_f3 position);
float kp_ground_fade(const kp_pass *pass, kp_f3 position);

// shadow.c
void kp_shadow_set_taps(kp_pass *pass);
KP_NODISCARD kp_result kp_shadow_render(kp_pass *pass, kp_vec3 sun);
float kp_shadow_light(const kp_pass *pass, const kp_surface_point *point, float noise);
float kp_shadow_at(const kp_pass *pass, kp_f3 position);

// deep.c
#define KP_DEEP_TEXELS (KP_TILE_PIXELS / 4)

typedef struct kp_deep_node {
  float depth, through;
} kp_deep_node;

// Something that takes `alpha` of the light of a texel.
typedef struct kp_deep_fragment {
  float depth, alpha;
  uint16_t texel;  // in the tile
} kp_deep_fragment;

typedef struct kp_deep_fragments {
  KP_ARRAY(kp_deep_fragment) list;
  kp_tile_box box;
  bool failed;
} kp_deep_fragments;

bool kp_deep_is_wanted(const kp_pass *pass);
// With the primitives in the sun's view and binned there.
KP_NODISCARD kp_result kp_deep_render(kp_pass *pass);
void kp_deep_free(kp_pass *pass);
void kp_deep_add(kp_deep_fragments *list, int x, int y, float depth, float alpha);
// Share of the sun at a place of the depth map: its pixels and depth.
float kp_deep_light(const kp_pass *pass, kp_f3 at);
// Sorted fragments of a texel as straight pieces; `out` has room for 2 n + 2 nodes. Returns their
// number.
int64_t kp_deep_compress(const kp_deep_fragment *fragments, int64_t n, float step, float bound,
                         kp_deep_node *out);
float kp_deep_nodes_at(const kp_deep_node *nodes, int64_t n, float depth);
void kp_lines_deep(const kp_pass *pass, const kp_view *view, int64_t tile_index,
                   kp_deep_fragments *list);
void kp_points_deep(const kp_pass *pass, const kp_view *view, int64_t tile_index,
                    kp_deep_fragments *list);

// cover.c, smooth.c, shade.c
void kp_cover_render(kp_pass *pass);
void kp_smooth_set_taps(kp_pass *pass);
void kp_smooth_render(kp_pass *pass);
void kp_shade_render(kp_pass *pass);
kp_rgb kp_shade_surface(const kp_pass *pass, const kp_surface_point *point, float noise);
void kp_shade_add_fragment(kp_pass *pass, kp_fragments *fragments, const kp_fragment *fragment);

// volume.c: smoke and flames on grids; fire_light.c: what they shine on
struct kp_volume_state {
  const kp_render_volume *volume;
  kp_render_volume moved;  // what `volume` is where the shutter lets it move: as in this pass
  float *moved_values[3];  // its density, emission and scalar
  const kp_render_volume *still;    // as it was given
  kp_volume_grid *grid;             // one of pass->grids
  kp_rgb glow[KP_EMISSION_STEPS];   // light by scalar, as it is seen
  kp_rgb shine[KP_EMISSION_STEPS];  // and as it falls on other things
  kp_light_depth *light;            // per cell
  kp_rgb *warm;                     // light of flames, in coarse cells, or NULL
};

// trace.c
void kp_trace_set_clear(kp_material *material, const kp_render_mesh *mesh, double size);
// Before a pass, once view and ground are set: brings the trees up to date where rays are needed.
KP_NODISCARD kp_result kp_trace_prepare(kp_pass *pass);
void kp_trace_free(kp_pass *pass);
// All that is seen at and behind a point of a clear surface; *alpha is what of it is not empty sky.
// `rays` is room for one ray per volume.
kp_rgb kp_trace_clear(const kp_pass *pass, const kp_surface_point *point, float noise,
                      kp_volume_ray *rays, float *alpha);
// What a surface sees in a direction (view space).
kp_rgb kp_trace_mirror(const kp_pass *pass, const kp_surface_point *point, kp_f3 direction,
                       float noise);
// 1 where nothing opaque stands before the pass's part of the sun's disc, turned by `turn`, else 0.
float kp_trace_sun(const kp_pass *pass, kp_f3 position, float turn);
kp_rgb kp_sky_color(const kp_pass *pass, kp_f3 direction);
// A view vector in the axes of the world, which are those of the rays.
kp_f3 kp_trace_to_world(const kp_pass *pass, kp_f3 v);
// The next surface along a ray (view space, unit direction), without its occlusion; false: none
// within `most` metres.
bool kp_trace_meet(const kp_pass *pass, kp_f3 origin, kp_f3 direction, float most,
                   kp_surface_point *point, float *metres);

// caustics.c
bool kp_caustics_are_wanted(const kp_pass *pass);
// With the primitives in the camera's view and the trees made.
KP_NODISCARD kp_result kp_caustics_render(kp_pass *pass, kp_vec3 sun);
void kp_caustics_free(kp_pass *pass);
// In view space; NULL: there are none. Without rays it covers nothing.
const kp_caustics_map *kp_caustics_get(const kp_pass *pass);

KP_NODISCARD kp_result kp_volumes_create(kp_pass *pass);
void kp_volumes_free(kp_pass *pass);
void kp_volumes_project(kp_pass *pass);
bool kp_volumes_aim(const kp_pass *pass, kp_march *march);
void kp_volumes_march(const kp_pass *pass, kp_march *march, float from, float to);
void kp_volumes_gather(const kp_pass *pass, const kp_volume_grid *grid,
                       const kp_volume_place *place, kp_volume_step *step);
// Relates grid coordinates to a space: its origin, and its axes as unit vectors of the world.
void kp_volumes_place(kp_pass *pass, kp_vec3 origin, const kp_vec3 axes[3]);
// Extinction [1/m] of all sliced volumes at a world point.
float kp_volumes_extinction(const kp_pass *pass, kp_vec3 place);

// slices.c: what a pixel shows of all sliced volumes before its surface.
typedef struct kp_slice_pixel {
  kp_rgb color;
  float through;
} kp_slice_pixel;

KP_NODISCARD kp_result kp_slices_create(kp_pass *pass);
void kp_slices_free(kp_pass *pass);
KP_NODISCARD kp_result kp_slices_render(kp_pass *pass);
const kp_slice_pixel *kp_slices_at(const kp_pass *pass, int x, int y);

// Light of cell `at` of a volume by itself: what it gives off per metre.
kp_rgb kp_volume_emitted(const kp_volume_state *state, int64_t cell);

KP_NODISCARD kp_result kp_fire_lights_create(kp_pass *pass);
void kp_fire_lights_free(kp_pass *pass);
void kp_fire_lights_place(kp_pass *pass, kp_vec3 origin, const kp_vec3 axes[3]);
