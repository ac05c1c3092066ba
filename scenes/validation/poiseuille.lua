-- Plane Poiseuille flow: periodic along x, no-slip walls at y = 0 and W, driven by a body force along x.
-- u(y) = g y (W - y) / (2 nu), 0.01 m/s in the middle; Re = 0.2.
local width = 0.02
local spacing = width / 40
local viscosity = 1.0
local top_speed = 0.01

domain {
  dimension = 2,
  min = {0, 0, 0},
  max = {8 * spacing, width, 1},
  boundary_x = "periodic",
}
gravity { 8 * top_speed * viscosity / 1000 / width ^ 2, 0, 0 }
sph { wall = "sph", slip = 0 }

liquid "water" {
  spacing = spacing,
  viscosity = viscosity,
  sound_speed = 0.5,
  shape = box { min = {0, 0, -1}, max = {8 * spacing, width, 1} },
}

probe "profile" {
  of = "water", kind = "fit", radius = 2.5 * spacing, interval = 0.02,
  min = {4 * spacing, spacing / 2, 0}, max = {4 * spacing, width - spacing / 2, 0}, counts = {1, 40, 1},
}

output { frames = 30, fps = 50, surface = false }
