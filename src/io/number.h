// Numbers as text, the same in every locale.
#pragma once

#include "kelpie/config.h"

#define KP_NUMBER_SIZE 32

// The shortest decimal text that reads back as exactly this value; "nan", "inf" and "-inf" for the
// rest.
void kp_number_format(char out[KP_NUMBER_SIZE], double value);

// The same for a value that is a float: 0.1 stays 0.1.
void kp_number_format_float(char out[KP_NUMBER_SIZE], float value);

// The number at the start of the text up to its end or the next of the characters in `ends`; blanks
// around it are skipped. False, and *value NaN, when something else stands there.
bool kp_number_parse(const char *text, const char *ends, double *value);
