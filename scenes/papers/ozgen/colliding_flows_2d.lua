-- Ozgen 2013, Figs. 4.5 to 4.9 (S14): streams driven by force sources meet in a periodic square; 48 discs
-- record their mean velocity at each of 500 explicit Euler steps. The reference has 39 x 39, about 1500:
--   kelpie run scenes/papers/ozgen/colliding_flows_2d.lua -o out/sph1500
-- with 35 x 35, about 1250, plain and fractional:
--   kelpie run ... -o out/sph1250 --set water.spacing=0.02857142857142857
--   kelpie run ... -o out/fsph1250 --set water.spacing=0.02857142857142857 --set sph.viscosity_model=fractional
-- (add --set sph.fractional_mode=raw for Eq. 4.6 as printed) and then
--   kelpie measure out/sph1500 out/fsph1250 out/sph1250
-- The layout of the sources is not given; pairs that face each other along both axes here. Mass, domain and
-- forces are equal in all runs, mass and radius of a particle follow the spacing.
domain {
  dimension = 2, min = {0, 0, 0}, max = {1, 1, 1},
  boundary_x = "periodic", boundary_y = "periodic",
}
gravity { 0, 0, 0 }
simulation { dt = 0.002 }
sph { kernel = "mueller", support = 3, integrator = "euler", pressure = "mean" }

liquid "water" {
  spacing = 1 / 39, jitter = 0.2,
  rest_density = 1, viscosity = 0.01,
  eos = "linear", sound_speed = 3, clamp_negative_pressure = false,
  shape = box { min = {0, 0, -1}, max = {1, 1, 1} },
}

local function source(name, x, y, ax, ay)
  force(name) { shape = sphere { center = {x, y, 0}, radius = 0.08 }, acceleration = {ax, ay, 0} }
end
local push = 6
source("west", 0.15, 0.5, push, 0)
source("east", 0.85, 0.5, -push, 0)
source("south", 0.5, 0.15, 0, push)
source("north", 0.5, 0.85, 0, -push)
source("inner_a", 0.3, 0.75, push, 0)
source("inner_b", 0.7, 0.75, -push, 0)
source("inner_c", 0.3, 0.25, push, 0)
source("inner_d", 0.7, 0.25, -push, 0)

probe "raster" {
  of = "water",
  min = {1 / 16, 1 / 12, 0}, max = {15 / 16, 11 / 12, 0}, counts = {8, 6, 1}, radius = 1 / 16,
}

output { frames = 50, fps = 50, surface = false }
render { camera_azimuth_deg = 0, camera_elevation_deg = 0, background = "dark", exposure = 1.2, ground = "none", occlusion = 0 }
look "water" { color_by = "speed", color_map = "viridis", range_min = 0, range_max = 0.8, radius_scale = 0.7, smooth = 1, gloss = 0 }
