// A picture by rays alone, on any backend. Private to src/render.
#pragma once

#include "render/pass.h"

struct kp_cast;

// `backend` may be NULL: this processor.
KP_NODISCARD kp_result kp_cast_create(const kp_pass *pass, struct kp_backend *backend,
                                      struct kp_cast **out);
void kp_cast_destroy(struct kp_cast **cast);
// Adds a pass, whose view, ground and trees are made, to the picture on the device.
KP_NODISCARD kp_result kp_cast_pass(struct kp_cast *cast, const kp_pass *pass);
// The sum of all passes.
KP_NODISCARD kp_result kp_cast_read(struct kp_cast *cast, kp_picture *picture);
