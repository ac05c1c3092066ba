// The parameter tables for people: `kelpie params [name]` and docs/scene-reference.md.
#pragma once

#include "scene/scene.h"

// Key, unit, range, default and meaning of every parameter of the entity or shape `name`, or of all
// of them (NULL), as columns of text. A name that is none of these is looked for in keys and their
// meanings ("knit", "camera"); KP_ERROR_ARGUMENT with the nearest name when it is nowhere.
KP_NODISCARD kp_result kp_reference_print(const char *name, const kp_scene_extra *extras,
                                          size_t n_extras, kp_text *text);

// Every entity and shape with what it is, a line each.
KP_NODISCARD kp_result kp_reference_list(const kp_scene_extra *extras, size_t n_extras,
                                         kp_text *text);

// The reference manual: one Markdown section with a table per entity and shape.
KP_NODISCARD kp_result kp_reference_markdown(const kp_scene_extra *extras, size_t n_extras,
                                             kp_text *text);
