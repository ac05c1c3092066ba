// Pictures that are kept beside the tests.
#pragma once

#include "render/picture.h"

// Compares with tests/images/<name>.png. On failure <name>_now.png and <name>_difference.png (grey
// is equal, eight times too strong) are left in the build folder. KELPIE_UPDATE_IMAGES=1 writes the
// kept picture anew; look at it before committing it.
void kp_test_golden(const kp_picture *picture, const char *name);
