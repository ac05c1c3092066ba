-- A ball of water falls into a pool: a crown, a ring of ripples and a jet (Lyes 2015, Fig. 7.17; 128K
-- particles as in the surface studies).
local spacing = 0.0121
local stiffness = 9.81 * 0.5 / 0.1

domain { min = {-0.5, -0.5, -0.5}, max = {0.5, 0.5, 0.5}, restitution = 0.5 }
sph { kernel = "mueller", support = 1.74, integrator = "leapfrog", domain_walls = "planes" }
local function water(name, shape, velocity)
  liquid(name) {
    spacing = spacing, eos = "linear", stiffness = stiffness, velocity = velocity,
    viscosity = 13 * math.sqrt(stiffness) * 1.74 * spacing, shape = shape,
  }
end
water("pool", box { min = {-0.5, -0.5, -0.5}, max = {0.5, -0.27, 0.5} }, {0, 0, 0})
water("drop", sphere { center = {0, 0.0, 0}, radius = 0.06 }, {0, -3, 0})

output { frames = 90, fps = 60, surface = { from = "all", join = true, field = "anisotropic" } }
render { camera_position = {0.95, 0.36, 1.5}, camera_target = {0.02, -0.34, 0}, box = false, background = "sky" }
