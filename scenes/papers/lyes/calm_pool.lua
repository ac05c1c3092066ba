-- A pool at rest, the flat water of the surface studies (Lyes 2015, Figs 5.4 and 7.12: 128K
-- particles in the cube [-0.5, 0.5]^3).
local spacing = 0.0124
local stiffness = 9.81 * 0.25 / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
liquid "water" {
  spacing = spacing,
  eos = "linear", stiffness = stiffness,
  viscosity = 26 * math.sqrt(stiffness) * 1.74 * spacing,
  shape = box { min = {-0.5, -0.5, -0.5}, max = {0.5, -0.25, 0.5} },
}

output { frames = 60, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {0.95, 0.36, 1.5}, camera_target = {0.02, -0.34, 0}, box = false, background = "sky" }
