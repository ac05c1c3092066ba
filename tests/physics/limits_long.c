#include "limits_size.h"

const bool limits_are_studied = true;
