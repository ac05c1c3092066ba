-- A ball led through water by hand (Lyes 2015, Fig. 7.11 left): here along a figure of eight. 128K
-- particles as in the surface studies.
local spacing = 0.0124
local stiffness = 9.81 * 0.3 / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
liquid "water" {
  spacing = spacing, eos = "linear", stiffness = stiffness,
  viscosity = 26 * math.sqrt(stiffness) * 1.74 * spacing,
  shape = box { min = {-0.5, -0.5, -0.5}, max = {0.5, -0.24, 0.5} },
}
collider "ball" {
  shape = sphere { center = {0, 0, 0}, radius = 0.1 }, color = {0.8, 0.25, 0.1},
  position = function(t)
    local turn = math.min(t, 0.5) * t * 4
    return {0.3 * math.sin(turn), -0.26, 0.3 * math.sin(2 * turn) * 0.6}
  end,
}

output { frames = 180, fps = 60, surface = { from = "water", field = "anisotropic" } }
render { camera_position = {0.95, 0.36, 1.5}, camera_target = {0.02, -0.34, 0}, box = false, background = "sky" }
