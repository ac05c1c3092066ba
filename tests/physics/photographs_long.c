#include "photographs_size.h"

const photographs_size photographs_size_chosen = { .waves = 0.02, .crater = 0.02, .crown = 0.025 };
