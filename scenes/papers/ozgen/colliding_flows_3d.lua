-- Ozgen 2013, Figs. 4.10 and 4.11 (S15): the streams of colliding_flows_2d.lua in a closed box, 1000 explicit
-- Euler steps. The reference has 12K particles:
--   kelpie run scenes/papers/ozgen/colliding_flows_3d.lua -o out/sph12k
-- with 3K, plain and fractional:
--   kelpie run ... -o out/sph3k --set water.spacing=0.05555555555555555
--   kelpie run ... -o out/fsph3k --set water.spacing=0.05555555555555555 --set sph.viscosity_model=fractional
-- and then kelpie measure out/sph12k out/fsph3k out/sph3k
domain { min = {0, 0, 0}, max = {1, 1, 0.5} }
gravity { 0, 0, 0 }
simulation { dt = 0.002 }
sph { kernel = "mueller", support = 2.4, integrator = "euler", pressure = "mean" }

liquid "water" {
  spacing = 1 / 29, jitter = 0.2,
  rest_density = 1, viscosity = 0.01,
  eos = "linear", sound_speed = 3, clamp_negative_pressure = false,
  shape = box { min = {0, 0, 0}, max = {1, 1, 0.5} },
}

local function source(name, x, y, ax, ay)
  force(name) { shape = sphere { center = {x, y, 0.25}, radius = 0.14 }, acceleration = {ax, ay, 0} }
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
  min = {1 / 16, 1 / 12, 1 / 16}, max = {15 / 16, 11 / 12, 7 / 16}, counts = {8, 6, 4}, radius = 1 / 16,
}

output { frames = 50, fps = 25, surface = { from = "water" } }
look "surface of water" { water = false, color_by = "speed", color_map = "viridis", range_min = 0, range_max = 0.6, gloss = 0.4 }
look "water" { color_by = "speed", color_map = "viridis" }
render { box = false, camera_azimuth_deg = 20 }
