-- Honey: a rope of 10 Pa s, as thick as a pencil, falls on a plate and coils.
--
-- It coils because it resists bending and nothing else: central viscosity leaves rotations alone, and
-- dfsph solves for it, so that steps follow the flow. With the laplacian it does not:
--   kelpie run scenes/demo/honey.lua --set sph.viscosity_model=laplacian     (20 times as many steps)
local radius, height = 0.004, 0.06
local spacing = radius / 4

domain {
  min = {-0.06, 0, -0.06}, max = {0.06, height + spacing, 0.06},
  boundary_x = "open", boundary_z = "open", open_top = true,
}

sph { solver = "dfsph", support = 2, viscosity_model = "central" }

liquid "honey" { spacing = spacing, rest_density = 1400, viscosity = 10, color = {0.86, 0.50, 0.06} }

emitter "spoon" {
  into = "honey", position = {0, height, 0}, direction = {0, -1, 0}, radius = radius, speed = 0.25,
}

output { frames = 75, fps = 50, surface = { from = "honey", reach = 2.8, smooth = 8 } }

look "surface of honey" { water = false, color = {0.90, 0.50, 0.05}, gloss = 0.8 }
render { camera_position = {0.025, 0.055, 0.10}, camera_target = {0, 0.021, 0}, background = "sky" }
