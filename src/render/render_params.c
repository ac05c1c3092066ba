// What scenes say of pictures: the tables of render and look, their defaults and checks.
#include <math.h>
#include <string.h>

#include "data/curve.h"
#include "render/environment.h"
#include "render/render.h"

static const char *const frame_words[] = { "motion", "domain", NULL };
static const char *const ground_words[] = { "none", "plain", "checker", "grid", NULL };
static const char *const background_words[] = { "studio", "sky", "dark", NULL };
static const char *const stroke_words[] = { "round", "lumislice", NULL };
static const char *const scattering_words[] = { "many", "once", NULL };
static const char *const method_words[] = { "march", "slices", NULL };
static const char *const fresnel_words[] = { "exact", "schlick", "grey", NULL };
static const char *const picture_words[] = { "raster", "rays", NULL };
static const char *const shading_words[] = { "standard", "blinn-phong", NULL };
static const char *const sprite_words[] = { "auto", "add", "over", NULL };
static const char *const texture_words[] = { "soft", "gauss", "flat", NULL };

#define STILL(member) ((kp_film_def *)0)->still.member

// What holds for all pictures: a number, a word; and what may be a function of time.
#define R(member, kind, unit, low, high, text)                                                     \
  {                                                                                                \
#member, KP_PARAM_##kind, offsetof(kp_film_def, still.member), sizeof(STILL(member)), unit,    \
        low, high, NULL, text                                                                      \
  }
#define W(member, words, text)                                                                     \
  {                                                                                                \
#member, KP_PARAM_ENUM, offsetof(kp_film_def, still.member), sizeof(STILL(member)), "", 0.0,   \
        0.0, words, text                                                                           \
  }
#define C(member, kind, unit, low, high, text)                                                     \
  KP_PARAM(kp_film_def, member, kind, unit, low, high, text)

static const kp_param render_rows[] = {
  R(width, INT, "pixel", 1, KP_PICTURE_SIZE_LIMIT, "Width of the picture."),
  R(height, INT, "pixel", 1, KP_PICTURE_SIZE_LIMIT, "Height of the picture."),
  R(samples, INT, "", 1, 4096,
    "Passes per picture: 1 for a preview, 16 for film frames, 64 for stills."),
  C(camera_position, CURVE3, "m", -1e9, 1e9,
    "Where the camera stands; equal to the target, it frames by itself what camera_frame says."),
  C(camera_target, CURVE3, "m", -1e9, 1e9, "The point in the middle of the picture."),
  C(camera_fov_deg, CURVE, "degree", 1, 150, "Vertical angle of view."),
  W(camera_frame, frame_words,
    "Framing camera: all that moves in any frame of the run, or the domain."),
  C(camera_azimuth_deg, CURVE, "degree", -360, 360,
    "Framing camera: turn about the up axis, positive to the right."),
  C(camera_elevation_deg, CURVE, "degree", -89, 89, "Framing camera: height above the horizon."),
  C(camera_zoom, CURVE, "", 0.01, 100,
    "Framing camera: 1 shows just what is framed, 2 is twice as near."),
  C(aperture, CURVE, "m", 0, 1e6, "Width of the lens: what is out of focus blurs; 0 is all sharp."),
  C(focus, CURVE, "m", 0, 1e9,
    "Distance along the view at which the lens is sharp; 0 is that of the target."),
  R(shutter, REAL, "frame", 0, 10,
    "Motion blur: share of the time between frames that the shutter is open, around the frame; 0.5 "
    "is that of film."),
  C(sun, CURVE3, "", -1e9, 1e9,
    "Direction towards the sun; {0, 0, 0} puts it over the camera's left shoulder."),
  C(sun_strength, CURVE, "", 0, 100, "Brightness of the sun; 1 is a clear day."),
  R(sun_size_deg, REAL, "degree", 0, 60, "Width of the sun's disc: larger is softer."),
  C(sky_strength, CURVE, "", 0, 100, "Brightness of the sky and of its light from all around."),
  R(occlusion, REAL, "", 0, 1, "How much crevices darken."),
  C(exposure, CURVE, "stops", -20, 20, "Brightness of the picture; +1 doubles it."),
  R(ground_height, REAL, "m", -1e9, 1e9, "Ground above the bottom of the domain."),
  W(ground, ground_words, "The plane under the scene."),
  W(background, background_words, "What lies behind, and its light."),
  W(fresnel, fresnel_words,
    "Share of light that water and glass mirror: by Fresnel's formulas, Schlick's "
    "approximation, or of a white sky over grey water."),
  W(method, picture_words,
    "How pictures are made: surfaces by tiles and rays where light leaves the line of "
    "sight, or by rays alone, which is what other backends do."),
  { "environment", KP_PARAM_TEXT, offsetof(kp_film_def, still.environment),
    sizeof(STILL(environment)), KP_PARAM_FILE_UNIT, 0.0, 0.0, kp_environment_faces,
    "PNG of what lies around: a cross, a row or a column of six squares, or longitude "
    "and latitude "
    "(2:1); with a * six files, named right, left, top, bottom, front and back." },
  R(box, BOOL, "", 0, 1, "Draw the edges of the domain."),
  R(transparent, BOOL, "", 0, 1, "Leave out sky and ground: alpha 0, for compositing."),
};

#define L(member, kind, unit, low, high, text)                                                     \
  KP_PARAM(kp_look_def, member, kind, unit, low, high, text)

static const kp_param look_rows[] = {
  L(color, VEC3, "sRGB", 0, 1, "Colour where no field gives it."),
  L(color_end, VEC3, "sRGB", 0, 1, "Other end of the colour map two, which starts at color."),
  L(color_back, VEC3, "sRGB", 0, 1, "Meshes with two_sided: colour of the back of their faces."),
  L(range_min, REAL, "", -1e300, 1e300, "Field value at the start of the colour map."),
  L(range_max, REAL, "", -1e300, 1e300,
    "Field value at its end; equal to range_min takes both from the frame."),
  L(radius_scale, REAL, "", 1e-3, 1e3, "Factor on the radii of particles and strokes."),
  L(opacity, REAL, "", 0, 1,
    "1 hides what is behind; a glass wall has 0.1. Particles below 1 are puffs that cover."),
  L(smooth, REAL, "", 0, 1, "Particles: 0 single balls, 1 one smooth body."),
  L(gloss, REAL, "", 0, 1, "0 matt, 1 polished."),
  L(density, REAL, "1/m", 0, 1e6,
    "Volumes: extinction per unit of the density field, or of glowing gas; auto follows the size "
    "of "
    "the scene."),
  L(emission, REAL, "1/m", 0, 1e6,
    "Volumes: light given off per unit of the emission field and metre; for a temperature the "
    "light "
    "of 2000 K, 1 being white paper in the sun. auto is 4."),
  L(glow, REAL, "", 0, 1e6,
    "Particles: 0 draws balls, more draws sprites of so much light that adds up, for fire."),
  KP_PARAM_WORDS(kp_look_def, stroke, stroke_words,
                 "Curves: round strokes, or yarn of many fibres by a lumislice."),
  L(twist, REAL, "m", 1e-9, 1e9, "Yarn of a lumislice: length of one turn; auto is seven radii."),
  L(axes, INT, "", 1, 3,
    "Yarn of a lumislice: axes along which it is cut into quads; 1 vanishes where it is seen from "
    "the side, 3 nowhere."),
  L(anisotropy, REAL, "", -0.95, 0.95,
    "Volumes: mean cosine of scattering; 0 to all sides alike, 0.6 forwards as smoke does."),
  KP_PARAM_WORDS(kp_look_def, scattering, scattering_words,
                 "Volumes: light scattered often, or exactly once."),
  KP_PARAM_WORDS(kp_look_def, method, method_words,
                 "Volumes: rays, or slices square to the middle between light and view."),
  KP_PARAM_WORDS(
      kp_look_def, sprite, sprite_words,
      "Particles: sprites that add their light up, or that cover what is behind them; "
      "auto adds where they glow, covers where opacity is below 1 and draws balls else."),
  KP_PARAM_WORDS(kp_look_def, texture, texture_words, "Sprites: how they fade from middle to rim."),
  KP_PARAM_WORDS(kp_look_def, color_map, kp_colormap_words, "Colours of the field's values."),
  L(color_by, TEXT, "", 0, 0, "Field that colours the set; a vector counts by its length."),
  L(visible, BOOL, "", 0, 1, "Draw it at all."),
  L(two_sided, BOOL, "", 0, 1,
    "Meshes: the back of the faces, from where their corners go clockwise, has color_back."),
  L(water, BOOL, "", 0, 1,
    "Closed meshes: a clear liquid that mirrors, bends and takes in light: on each 1 / density "
    "metres white turns into its colour."),
  L(refraction, REAL, "", 1, 4,
    "Closed meshes: index of refraction of water, or of what has opacity < 1 (glass 1.5), which "
    "then is clear and takes in light as water does; auto is 1.333 for water."),
  L(cloudy, REAL, "", 0, 1,
    "Water and glass: share of the light taken out that comes back in its colour; 0 is clear."),
  KP_PARAM_WORDS(kp_look_def, shading, shading_words,
                 "The renderer's own, or plain Blinn-Phong with white ambient light."),
  L(specular, REAL, "", 0, 10, "Blinn-Phong: strength of the highlight."),
  L(shininess, REAL, "", 1, 1e4, "Blinn-Phong: exponent of the highlight."),
  L(caustics, BOOL, "", 0, 1,
    "Water and glass: sunlight behind them is bent and coloured; false: they throw no shadow."),
  L(wireframe, BOOL, "", 0, 1, "Meshes: draw the edges alone."),
  L(line_width, REAL, "pixel", 0.1, 100, "Wireframe: width of the lines."),
};

kp_render_def kp_default_render_def(void) {
  return (kp_render_def){
    .width = 960,
    .height = 540,
    .samples = 16,
    .camera_fov_deg = 32.0,
    .camera_azimuth_deg = 28.0,
    .camera_elevation_deg = 18.0,
    .camera_zoom = 1.0,
    .sun_strength = 1.0,
    .sun_size_deg = 4.0,
    .sky_strength = 1.0,
    .occlusion = 1.0,
    .ground = KP_GROUND_CHECKER,
    .background = KP_BACKGROUND_STUDIO,
  };
}

static kp_curve constant(double value) {
  return (kp_curve){ .components = 1, .constant = { value } };
}

static kp_curve constant3(kp_vec3 v) {
  return (kp_curve){ .components = 3, .constant = { v.x, v.y, v.z } };
}

static kp_film_def film_of(const kp_render_def *still) {
  kp_film_def film = { .still = *still };
#define X(member) film.member = constant(still->member);
  KP_FILM_NUMBERS(X)
#undef X
#define X(member) film.member = constant3(still->member);
  KP_FILM_VECTORS(X)
#undef X
  return film;
}

static void set_film_default(void *def) {
  kp_render_def still = kp_default_render_def();
  *(kp_film_def *)def = film_of(&still);
}

kp_film_def kp_default_film_def(void) {
  kp_film_def def;
  set_film_default(&def);
  return def;
}

kp_render_def kp_film_at(const kp_film_def *film, double t) {
  kp_render_def def = film->still;
  double v[3];
#define X(member) kp_curve_at(&film->member, t, &def.member, NULL);
  KP_FILM_NUMBERS(X)
#undef X
#define X(member)                                                                                  \
  kp_curve_at(&film->member, t, v, NULL);                                                          \
  def.member = kp_vec3_make(v[0], v[1], v[2]);
  KP_FILM_VECTORS(X)
#undef X
  return def;
}

void kp_film_set(kp_curve *curve, double value) {
  *curve = constant(value);
}

void kp_film_set_vector(kp_curve *curve, kp_vec3 value) {
  *curve = constant3(value);
}

static void set_look_default(void *def) {
  kp_look_def d = {
    .color = { 0.62, 0.66, 0.70 },
    .color_end = { 0.85, 0.25, 0.45 },
    .color_back = { 0.62, 0.66, 0.70 },
    .radius_scale = 1.0,
    .opacity = 1.0,
    .smooth = 0.6,
    .gloss = 0.25,
    .density = KP_AUTO,
    .emission = KP_AUTO,
    .refraction = KP_AUTO,
    .cloudy = 0.25,
    .caustics = true,
    .specular = 0.5,
    .shininess = 32.0,
    .line_width = 1.5,
    .twist = KP_AUTO,
    .axes = 3,
    .color_map = KP_COLORMAP_VIRIDIS,
    .visible = true,
  };
  memcpy(def, &d, sizeof d);
}

const kp_param_table kp_render_params = { "render",
                                          "How frames are turned into pictures.",
                                          render_rows,
                                          sizeof render_rows / sizeof render_rows[0],
                                          sizeof(kp_film_def),
                                          set_film_default };

const kp_param_table kp_look_params = { "look",
                                        "How one set, mesh, bundle of curves or volume is drawn.",
                                        look_rows,
                                        sizeof look_rows / sizeof look_rows[0],
                                        sizeof(kp_look_def),
                                        set_look_default };

kp_look_def kp_default_look_def(void) {
  kp_look_def def;
  set_look_default(&def);
  return def;
}

static kp_result check_number(const kp_param_table *table, const kp_param *row, double value) {
  if (!(value >= row->lowest && value <= row->highest)) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: %s is %g; it must be %g to %g", table->name, row->key,
                   value, row->lowest, row->highest);
  }
  return KP_OK;
}

// What may be left to the renderer.
static bool is_auto(const kp_param_table *table, const kp_param *row, double value) {
  bool may = table == &kp_look_params && (row->offset == offsetof(kp_look_def, density) ||
                                          row->offset == offsetof(kp_look_def, emission) ||
                                          row->offset == offsetof(kp_look_def, refraction) ||
                                          row->offset == offsetof(kp_look_def, twist));
  return may && isnan(value);
}

static kp_result check_row(const kp_param_table *table, const kp_param *row, const void *def) {
  const char *member = (const char *)def + row->offset;
  if (row->type == KP_PARAM_REAL) {
    double value = *(const double *)(const void *)member;
    return is_auto(table, row, value) ? KP_OK : check_number(table, row, value);
  }
  if (row->type == KP_PARAM_INT) {
    return check_number(table, row, (double)*(const int64_t *)(const void *)member);
  }
  if (row->type == KP_PARAM_CURVE || row->type == KP_PARAM_CURVE3) {
    const kp_curve *curve = (const void *)member;
    for (int c = 0; c < curve->components; ++c) {
      KP_TRY(check_number(table, row, curve->constant[c]));
    }
    return KP_OK;
  }
  if (row->type == KP_PARAM_VEC3) {
    const kp_vec3 *v = (const void *)member;
    KP_TRY(check_number(table, row, v->x));
    KP_TRY(check_number(table, row, v->y));
    return check_number(table, row, v->z);
  }
  if (row->type == KP_PARAM_ENUM) {
    int value = *(const int *)(const void *)member, count = 0;
    while (row->names[count] != NULL) {
      ++count;
    }
    if (value < 0 || value >= count) {
      return kp_fail(KP_ERROR_ARGUMENT, "%s: %s has no word number %d", table->name, row->key,
                     value);
    }
  }
  return KP_OK;
}

static kp_result check_table(const kp_param_table *table, const void *def) {
  for (size_t i = 0; i < table->n_rows; ++i) {
    KP_TRY(check_row(table, &table->rows[i], def));
  }
  return KP_OK;
}

kp_result kp_film_check(const kp_film_def *film) {
  return check_table(&kp_render_params, film);
}

kp_result kp_render_check(const kp_render_def *def) {
  kp_film_def film = film_of(def);
  return kp_film_check(&film);
}

kp_result kp_look_check(const kp_look_def *look) {
  return check_table(&kp_look_params, look);
}
