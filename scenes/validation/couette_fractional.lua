-- Plane Couette flow with fractional viscosity (Ozgen 2013, Eq. 4.6): periodic along x, a wall at rest at y = 0 and a lid at y = W that slides with 0.01 m/s.
-- u(y) = 0.01 y / W. The lid is longer than its way.
local width = 0.02
local spacing = width / 20
local top_speed = 0.01

domain {
  dimension = 2,
  min = {0, 0, 0},
  max = {8 * spacing, width + 4 * spacing, 1},
  boundary_x = "periodic",
}
gravity { 0, 0, 0 }
sph { wall = "sph", slip = 0, viscosity_model = "fractional" }

liquid "water" {
  spacing = spacing,
  viscosity = 1,
  sound_speed = 0.5,
  shape = box { min = {0, 0, -1}, max = {8 * spacing, width, 1} },
}

collider "lid" {
  shape = box { min = {-40 * spacing, width, -1}, max = {48 * spacing, width + 3 * spacing, 1} },
  position = function(t) return {top_speed * t, 0, 0} end,
}

output { frames = 30, fps = 50, surface = false }
