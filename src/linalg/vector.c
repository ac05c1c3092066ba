#include "linalg/vector.h"

#include "data/call.h"
#include "linalg/vector_kernels.h"
#include "par/kernel_define.h"

VECTOR_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

kp_result kp_vector_resize(kp_buffer *x, int64_t n) {
  x->type = KP_TYPE_REAL;
  return kp_buffer_resize(x, (size_t)n * sizeof(kp_real));
}

kp_result kp_vector_fill(int64_t n, double a, kp_buffer *y) {
  vector_fill_args args = { .a = (kp_real)a };
  kp_call call;
  kp_call_init(&call, &vector_fill_kernel, &args);
  KP_BIND(&call, &args, y, y, KP_ACCESS_OVERWRITE);
  return kp_call_run(y->backend, &call, n);
}

kp_result kp_vector_scale(int64_t n, double a, kp_buffer *y) {
  vector_scale_args args = { .a = (kp_real)a };
  kp_call call;
  kp_call_init(&call, &vector_scale_kernel, &args);
  KP_BIND(&call, &args, y, y, KP_ACCESS_WRITE);
  return kp_call_run(y->backend, &call, n);
}

kp_result kp_vector_axpy(int64_t n, double a, kp_buffer *x, kp_buffer *y) {
  vector_axpy_args args = { .a = (kp_real)a };
  kp_call call;
  kp_call_init(&call, &vector_axpy_kernel, &args);
  KP_BIND(&call, &args, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &args, y, y, KP_ACCESS_WRITE);
  return kp_call_run(y->backend, &call, n);
}

kp_result kp_vector_xpay(int64_t n, kp_buffer *x, double a, kp_buffer *y) {
  vector_xpay_args args = { .a = (kp_real)a };
  kp_call call;
  kp_call_init(&call, &vector_xpay_kernel, &args);
  KP_BIND(&call, &args, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &args, y, y, KP_ACCESS_WRITE);
  return kp_call_run(y->backend, &call, n);
}

kp_result kp_vector_multiply(int64_t n, kp_buffer *d, kp_buffer *x, kp_buffer *z) {
  vector_multiply_args args = { 0 };
  kp_call call;
  kp_call_init(&call, &vector_multiply_kernel, &args);
  KP_BIND(&call, &args, d, d, KP_ACCESS_READ);
  KP_BIND(&call, &args, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &args, z, z, KP_ACCESS_OVERWRITE);
  return kp_call_run(z->backend, &call, n);
}

kp_result kp_vector_dot(int64_t n, kp_buffer *x, kp_buffer *y, double *out) {
  vector_dot_args args = { 0 };
  kp_call call;
  kp_call_init(&call, &vector_dot_kernel, &args);
  KP_BIND(&call, &args, x, x, KP_ACCESS_READ);
  KP_BIND(&call, &args, y, y, KP_ACCESS_READ);
  return kp_call_reduce(x->backend, &call, n, out);
}

kp_result kp_vector_dots(int64_t n, kp_buffer *r, kp_buffer *u, kp_buffer *w, double out[3]) {
  vector_cg_sums_packed_args args = { .n = n };
  kp_call call;
  kp_call_init(&call, &vector_cg_sums_packed_kernel, &args);
  KP_BIND(&call, &args, r, r, KP_ACCESS_READ);
  KP_BIND(&call, &args, u, u, KP_ACCESS_READ);
  KP_BIND(&call, &args, w, w, KP_ACCESS_READ);
  return kp_call_reduce(r->backend, &call, (n + VECTOR_PACK - 1) / VECTOR_PACK, out);
}
