// The offline renderer: plain arrays in, a picture out. No window, no GL, no files.
//
// Method. A frame is the mean of `samples` passes (accumulation buffer, Haeberli and Akeley 1990);
// each pass moves the pixel grid by a fraction of a pixel, the sun by a fraction of its disc, the
// eye by a fraction of the lens and all that moves by a fraction of its way, which gives
// anti-aliasing, soft shadows, depth of field and motion blur together. A pass is:
//
//   bin      spheres, triangles and strokes into tiles of the picture and of the sun's view
//   shadow   depth from the sun
//   cover    nearest opaque surface per pixel: depth, normal, colour (ground and sky included)
//   smooth   particles of one set become one body: normals from filtered depth; ambient occlusion
//   shade    light each pixel, then lay see-through triangles, stroke edges and volumes over it
//
// Every picture is the same bytes for any thread count: tiles do not share data, and ties in depth
// go to the smaller index. The scene's arrays are only read and stay the caller's.
#pragma once

#include "base/param.h"
#include "render/camera.h"
#include "render/picture.h"
#include "render/shading.h"

typedef enum kp_axis_up { KP_UP_Y, KP_UP_Z, KP_UP_COUNT } kp_axis_up;

// Particles as balls, or as sprites that face the camera.
typedef enum kp_sprite_kind {
  KP_SPRITE_AUTO,  // light where the look glows, puffs where opacity is below 1, else balls
  KP_SPRITE_ADD,   // light that adds up
  KP_SPRITE_OVER,  // puffs that cover what is behind them, far ones first
  KP_SPRITE_COUNT
} kp_sprite_kind;

// How polylines are drawn.
typedef enum kp_stroke_kind {
  KP_STROKE_ROUND,
  KP_STROKE_LUMISLICE,  // yarn of many fibres
  KP_STROKE_COUNT
} kp_stroke_kind;

// How light that smoke scatters is found.
typedef enum kp_scattering {
  KP_SCATTER_MANY,  // often, by weaker copies that reach farther
  KP_SCATTER_ONCE,  // once: exact, and dark inside
  KP_SCATTER_COUNT
} kp_scattering;

// How volumes are drawn.
typedef enum kp_volume_method {
  KP_VOLUME_MARCH,   // along the rays of pixels
  KP_VOLUME_SLICES,  // half-angle slices, for comparison
  KP_VOLUME_METHOD_COUNT
} kp_volume_method;

typedef enum kp_look_shading {
  KP_SHADING_STANDARD,
  KP_SHADING_BLINN_PHONG,
  KP_SHADING_COUNT
} kp_look_shading;

// How a set is drawn. Colours are sRGB as an artist picks them, each channel 0..1.
typedef struct kp_look_def {
  kp_vec3 color;        // used where no field colours the set
  kp_vec3 color_end;    // colour map "two": from color to this one
  kp_vec3 color_back;   // meshes: of the side their faces look away from, where two_sided
  double range_min;     // value at the start of the colour map
  double range_max;     // value at its end; equal to range_min: both from the data
  double radius_scale;  // factor on particle and stroke radii
  double opacity;       // 1 opaque; less lets meshes be seen through (glass 0.1)
  double smooth;        // particles: 0 single balls ... 1 one smooth body
  double gloss;         // 0 matt ... 1 mirror-like highlights and sky reflection
  double density;   // volumes: extinction per unit of the density field [1/m]; water: per metre of
                    // the colour it takes out; KP_AUTO: by the scene
  double emission;  // volumes: light given off per unit of the emission field and metre; of a hot
                    // gas: light of 2000 K, 1 being white paper in the sun. KP_AUTO: by the kind
  double glow;      // particles: 0 balls; more: sprites of light, added up
  double twist;     // yarn: length of one turn [m]; KP_AUTO: seven radii
  int64_t axes;     // yarn: along how many its quads are cut
  double anisotropy;  // volumes: g of Henyey and Greenstein; more than 0 scatters forwards
  double refraction;  // closed meshes: index of a clear liquid or glass; KP_AUTO: 1.333 for water
  double cloudy;      // water and glass: share of the light taken out that comes back
  double specular;    // Blinn-Phong: strength of the highlight
  double shininess;   // and its exponent
  double line_width;  // of a wireframe [pixels]
  int scattering;     // volumes: kp_scattering
  int method;         // volumes: kp_volume_method
  int stroke;         // polylines: kp_stroke_kind
  int sprite;         // kp_sprite_kind
  int texture;        // kp_sprite_texture
  int color_map;      // kp_colormap
  int shading;        // kp_look_shading
  char color_by[KP_PARAM_TEXT_SIZE];  // field name; "" = constant colour
  bool visible;
  bool two_sided;  // meshes: front and back differ
  bool wireframe;  // meshes: their edges alone
  bool water;      // closed meshes: a clear liquid
  bool caustics;   // water and glass: sunlight behind them is bent and coloured
} kp_look_def;

kp_look_def kp_default_look_def(void);
extern const kp_param_table kp_look_params;

// Coordinates [m] of element i are x[i * stride], y[i * stride], z[i * stride]: stride 1 for three
// arrays, 3 for one array of kp_vec3.
typedef struct kp_render_positions {
  const double *x, *y, *z;
  int64_t stride;
} kp_render_positions;

// Particles.
typedef struct kp_render_points {
  int64_t n;
  kp_render_positions positions;
  kp_render_positions velocities;  // [m/s]; x NULL: at rest
  const float *radii;              // [m], or NULL: `radius` for all
  const float *scalar;             // value to colour by, or NULL
  const float *colors[3];          // linear RGB of each, or NULL; a scalar goes first
  const float *alphas;             // weight of each in a glow, or NULL
  double radius;                   // [m]
  kp_look_def look;
} kp_render_points;

// Triangles, seen from both sides.
typedef struct kp_render_mesh {
  int64_t n_vertices, n_triangles;
  kp_render_positions positions;
  kp_render_positions velocities;  // [m/s]; x NULL: at rest
  const uint32_t *triangles;       // 3 per triangle
  const float *normals;            // 3 per vertex, or NULL: made here when `smooth_shading`
  const float *scalar;             // per vertex, or NULL
  const float *colors[3];          // linear RGB per vertex, or NULL; a scalar goes first
  bool smooth_shading;             // false: flat
  kp_look_def look;
} kp_render_mesh;

// Polylines: line k has vertices first[k] .. first[k + 1] - 1. Each is a round stroke.
typedef struct kp_render_lines {
  int64_t n_lines;
  const uint64_t *first;  // n_lines + 1
  kp_render_positions positions;
  kp_render_positions velocities;  // [m/s]; x NULL: at rest
  const float *radii;              // [m] per vertex, or NULL: `radius` for all
  const float *scalar;             // per vertex, or NULL
  double radius;                   // [m]; may be thinner than a pixel
  kp_look_def look;
} kp_render_lines;

// A dense grid of cell-centred values, x fastest.
typedef struct kp_render_volume {
  int nx, ny, nz;
  kp_vec3 origin;         // corner of cell (0, 0, 0)
  double cell;            // edge [m]
  const float *density;   // >= 0
  const float *emission;  // >= 0, or NULL
  const float *scalar;    // colours the emission through look.color_map, or NULL
  bool is_hot;            // scalar is a temperature [K], whose light is that of a black body, and
                          // emission the share of the gas that glows: it dims what is behind it
  const float *velocities[3];  // [m/s] per cell, or NULL: it stands while the shutter is open
  double depth;                // [m] that a single layer of cells stands for along z; 0: a cell
  kp_look_def look;            // color is the scattering colour
} kp_render_volume;

typedef struct kp_render_scene {
  const kp_render_points *points;
  const kp_render_mesh *meshes;
  const kp_render_lines *lines;
  const kp_render_volume *volumes;
  int n_points, n_meshes, n_lines, n_volumes;
  kp_aabb bounds;  // what the camera frames and the ground lies under: the domain; empty = from the
                   // data
  kp_aabb seen;    // what moves over the frames at hand (framing.h), which the camera frames; empty
                   // (as zeroes are): the bounds
  kp_axis_up up;
  double interval;  // [s] from one frame to the next: what `shutter` is a share of
  const struct kp_environment *environment;  // what lies around, or NULL: the def's background
  struct kp_backend *backend;  // where rays alone make the picture, whatever the def's method says;
                               // NULL: this processor
} kp_render_scene;

typedef enum kp_render_background {
  KP_BACKGROUND_STUDIO,
  KP_BACKGROUND_SKY,
  KP_BACKGROUND_DARK,
  KP_BACKGROUND_COUNT
} kp_render_background;

// How a picture is made.
typedef enum kp_render_method {
  KP_METHOD_RASTER,  // as told above
  KP_METHOD_RAYS,    // by rays alone, on any backend (cast_kernels.h)
  KP_METHOD_COUNT
} kp_render_method;

// What a camera frames that is placed nowhere.
typedef enum kp_camera_framed {
  KP_FRAME_MOTION,  // what moves
  KP_FRAME_DOMAIN,  // the bounds
  KP_FRAME_COUNT
} kp_camera_framed;

// How one picture is made.
typedef struct kp_render_def {
  int64_t width, height;    // pixels
  int64_t samples;          // passes: 1 preview, 16 good, 64 for stills
  kp_vec3 camera_position;  // equal to the target: the camera frames what camera_frame says
  kp_vec3 camera_target;
  double camera_fov_deg;        // vertical
  double camera_azimuth_deg;    // framing camera: about the up axis
  double camera_elevation_deg;  // framing camera: above the horizon
  double camera_zoom;           // framing camera: 1 fits what is framed
  double aperture;              // width of the lens [m]; 0: all is sharp
  double focus;                 // distance along the view that is sharp [m]; 0: that of the target
  double shutter;               // share of the time between frames it is open: motion blur
  kp_vec3 sun;                  // direction towards the sun; zero = over the camera's left shoulder
  double sun_strength;          // 1 = a clear day
  double sun_size_deg;          // disc: softness of shadows
  double sky_strength;          // ambient light
  double occlusion;             // 0 off ... 1 full ambient occlusion
  double exposure;              // stops
  double ground_height;         // offset from the bottom of the bounds [m]
  int camera_frame;             // framing camera: kp_camera_framed
  int ground;                   // kp_render_ground
  int background;               // kp_render_background
  int method;                   // kp_render_method
  int fresnel;                  // kp_fresnel of optics.h
  char environment[KP_PARAM_TEXT_SIZE];  // file of kp_environment_load, for who loads it; "": none
  bool box;                              // outline of the bounds
  bool transparent;                      // no sky and ground: alpha 0 there, for compositing
} kp_render_def;

// What of them may be a function of time: camera, lens and lights.
#define KP_FILM_NUMBERS(X)                                                                         \
  X(camera_fov_deg)                                                                                \
  X(camera_azimuth_deg)                                                                            \
  X(camera_elevation_deg)                                                                          \
  X(camera_zoom)                                                                                   \
  X(aperture)                                                                                      \
  X(focus)                                                                                         \
  X(sun_strength)                                                                                  \
  X(sky_strength)                                                                                  \
  X(exposure)
#define KP_FILM_VECTORS(X)                                                                         \
  X(camera_position)                                                                               \
  X(camera_target)                                                                                 \
  X(sun)

// How all pictures of a run are made: a still, and the curves that take the place of its members of
// the same names.
typedef struct kp_film_def {
  kp_render_def still;
#define X(member) kp_curve member;
  KP_FILM_NUMBERS(X)
  KP_FILM_VECTORS(X)
#undef X
} kp_film_def;

kp_render_def kp_default_render_def(void);
kp_film_def kp_default_film_def(void);
extern const kp_param_table kp_render_params;  // of kp_film_def

// The picture at time t; the camera stands still while its shutter is open.
kp_render_def kp_film_at(const kp_film_def *film, double t);

// The same value at all times.
void kp_film_set(kp_curve *curve, double value);
void kp_film_set_vector(kp_curve *curve, kp_vec3 value);

// Check the values of a def against its table and each other.
KP_NODISCARD kp_result kp_render_check(const kp_render_def *def);
KP_NODISCARD kp_result kp_film_check(const kp_film_def *film);
KP_NODISCARD kp_result kp_look_check(const kp_look_def *look);

// Render one frame. `picture` is resized; start from a zeroed struct, reuse it between frames.
// Fails on a scene whose arrays are missing or whose indices are out of range, on a wrong def and
// without memory. Points that are not finite are left out.
KP_NODISCARD kp_result kp_render_frame(const kp_render_scene *scene, const kp_render_def *def,
                                       kp_picture *picture);

// Box around everything visible in the scene; empty when there is nothing.
kp_aabb kp_render_scene_bounds(const kp_render_scene *scene);

// Whether the def says where the camera stands.
bool kp_render_is_placed(const kp_render_def *def);

// The camera a frame will be seen through: that of the def or, where it has none, one that frames
// what the def says.
kp_camera kp_render_get_camera(const kp_render_scene *scene, const kp_render_def *def);

// The unit vector towards the sun of a picture seen through a camera.
kp_vec3 kp_render_get_sun(const kp_camera *camera, const kp_render_def *def);
