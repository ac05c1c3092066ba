// Kelpie: one physics-based animation simulator. Includes the whole public API.
#pragma once

#include "kelpie/base.h"
#include "kelpie/config.h"
#include "kelpie/io.h"
#include "kelpie/report.h"
#include "kelpie/scene.h"
#include "kelpie/shape.h"
#include "kelpie/types.h"
#include "kelpie/vec.h"
#include "kelpie/world.h"
