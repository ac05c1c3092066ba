// The tests of test_shells.c. The suite has the shell that recovers; the long variant also what
// does not, and so the claim.
#pragma once

void kp_test_noodle(void **state);
void kp_test_noodle_and_controls(void **state);
void kp_test_arch(void **state);
