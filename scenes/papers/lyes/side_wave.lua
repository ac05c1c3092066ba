-- Water let go along the left wall washes to and fro: SPH (Lyes 2015, Fig. 6.8 left: 2^19 particles).
-- Its waves are higher than those of side_wave_springs.
local spacing = 0.00737
local stiffness = 9.81 * 0.7 / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
liquid "water" {
  spacing = spacing, jitter = 0.25,
  eos = "linear", stiffness = stiffness, clamp_negative_pressure = false,
  viscosity = 26 * math.sqrt(stiffness) * 1.74 * spacing,
  shape = box { min = {-0.5, -0.45, -0.5}, max = {-0.2, 0.25, 0.5} },
}

output { frames = 180, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {1.15, 0.35, 1.75}, camera_target = {0, -0.12, 0}, box = false, background = "sky" }
