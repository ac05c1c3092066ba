// Vectors of linear systems: kp_buffers of kp_real with n items, on any backend. Nothing here
// copies an array to the host; dot products come back as one double, summed in the fixed tree of
// kp_reduce, so that they do not depend on the number of threads.
#pragma once

#include "data/buffer.h"

// Room for n items of kp_real; what is in them is not defined.
KP_NODISCARD kp_result kp_vector_resize(kp_buffer *x, int64_t n);

// y = a
KP_NODISCARD kp_result kp_vector_fill(int64_t n, double a, kp_buffer *y);
// y = a y
KP_NODISCARD kp_result kp_vector_scale(int64_t n, double a, kp_buffer *y);
// y += a x
KP_NODISCARD kp_result kp_vector_axpy(int64_t n, double a, kp_buffer *x, kp_buffer *y);
// y = x + a y
KP_NODISCARD kp_result kp_vector_xpay(int64_t n, kp_buffer *x, double a, kp_buffer *y);
// z = d x, item by item; z may be x
KP_NODISCARD kp_result kp_vector_multiply(int64_t n, kp_buffer *d, kp_buffer *x, kp_buffer *z);
// x.y; waits for the result
KP_NODISCARD kp_result kp_vector_dot(int64_t n, kp_buffer *x, kp_buffer *y, double *out);
// r.u, w.u and r.r in one pass, many items at a time
KP_NODISCARD kp_result kp_vector_dots(int64_t n, kp_buffer *r, kp_buffer *u, kp_buffer *w,
                                      double out[3]);
