-- The same block as SPH, particles thrown into a central cube (Lyes 2015, Fig. 5.9: 2^17 particles).
-- sph.integrator = "euler", "rk2", "rk4" or "leapfrog" are the four pictures of the figure.
local gravity, depth, spacing = 9.81, 0.5, 0.5 / 50.8
local stiffness = gravity * depth / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
liquid "water" {
  spacing = spacing, jitter = 0.25,
  eos = "linear", stiffness = stiffness, clamp_negative_pressure = false,
  viscosity = 26 * math.sqrt(stiffness) * 1.74 * spacing,
  shape = box { min = {-0.25, -0.3, -0.25}, max = {0.25, 0.2, 0.25} },
}

output { frames = 120, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {0.95, 0.30, 1.5}, camera_target = {0.02, -0.32, 0}, box = false, background = "sky" }
