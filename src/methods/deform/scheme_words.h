// The words of scenes for kp_solid_scheme: those that advance any deformable, then those of springs
// alone.
#pragma once

#define KP_SCHEME_WORDS "newmark", "backward_euler", "euler", "symplectic", "velocity_verlet"
#define KP_SPRING_SCHEME_WORDS "position_verlet", "kang", "desbrun", "predictor_corrector"
