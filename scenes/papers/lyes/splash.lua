-- A larger splash: a big block thrown into the pool (Lyes 2015, Fig. 7.18; 128K particles as in the
-- surface studies).
local spacing = 0.0126
local stiffness = 9.81 * 0.6 / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
local function water(name, shape, velocity)
  liquid(name) {
    spacing = spacing, eos = "linear", stiffness = stiffness, velocity = velocity,
    viscosity = 13 * math.sqrt(stiffness) * 1.74 * spacing, shape = shape,
  }
end
water("pool", box { min = {-0.5, -0.5, -0.5}, max = {0.5, -0.26, 0.5} }, {0, 0, 0})
water("block", sphere { center = {0, 0.05, 0}, radius = 0.16 }, {0, -3.5, 0})

output { frames = 120, fps = 60, surface = { from = "all", join = true, field = "anisotropic" } }
render { camera_position = {0.95, 0.40, 1.5}, camera_target = {0.02, -0.30, 0}, box = false, background = "sky" }
