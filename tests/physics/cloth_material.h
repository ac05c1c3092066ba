// Tests of cloth that is a material, at sizes of make test and at all sizes of the claims.
#pragma once

#include <stddef.h>

void kp_test_square_sags(const int *columns, size_t n);
void kp_test_strip_droops(const int *columns, size_t n);
void kp_test_mesh_droops(void **state);
void kp_test_patterns_and_schemes(void **state);
void kp_test_constants(void **state);
void kp_test_refused_keys(void **state);
