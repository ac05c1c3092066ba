-- Small waves: part of the water is raised at one end and let fall, out of sight of the camera (Lyes
-- 2015, Fig. 7.16; 128K particles as in the surface studies).
local spacing = 0.0124
local stiffness = 9.81 * 0.3 / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
local function water(name, lo, hi)
  liquid(name) {
    spacing = spacing, eos = "linear", stiffness = stiffness,
    viscosity = 26 * math.sqrt(stiffness) * 1.74 * spacing,
    shape = box { min = lo, max = hi },
  }
end
water("pool", {-0.5, -0.5, -0.5}, {0.5, -0.27, 0.5})
water("raised", {-0.5, -0.24, -0.5}, {-0.3, -0.14, 0.5})

output { frames = 150, fps = 60, surface = { from = "all", join = true, field = "anisotropic" } }
render { camera_position = {0.95, 0.36, 1.5}, camera_target = {0.02, -0.34, 0}, box = false, background = "sky" }
