-- Lava flows down a hillside: very viscous, dragged by the ground
-- (Bayraktar 2010, Fig. 7.4: 50 K particles of lava, 60 K of terrain, mu = 12).
local spacing = 0.0125

domain {
  min = {0, 0, -0.6}, max = {2.4, 1.3, 0.6},
  boundary_x = "open", boundary_y = "open", boundary_z = "open",
}
sph { wall = "sph", slip = 0 }

-- The crater gives until 50 thousand particles are out.
liquid "lava" {
  spacing = spacing, rest_density = 2600, viscosity = 12, sound_speed = 20,
  color = {0.9, 0.25, 0.03},
  shape = box { min = {0.05, 0.60, -0.24}, max = {0.42, 0.86, 0.24} },
}
emitter "crater" {
  into = "lava", position = {0.20, 0.95, 0.0}, direction = {0.25, -1, 0}, radius = 0.12, speed = 0.8,
  start = 0.4, stop = 60, limit = 27000,
}
collider "hill" {
  shape = mesh { file = "meshes/slope.obj" },
  spacing = 0.0121, layers = 1, color = {0.16, 0.14, 0.13},
}

output { frames = 300, fps = 30, surface = { from = "lava", reach = 2.8, smooth = 8 } }

look "lava" { color = {1.0, 0.36, 0.06}, color_by = "velocity", color_map = "heat", range_min = -0.6, range_max = 1.4, smooth = 0.9, gloss = 0.3 }
look "surface of lava" { water = false, color_by = "speed", color_map = "heat", range_min = -0.6, range_max = 1.4, gloss = 0.35 }
look "hill" { color = {0.30, 0.27, 0.25}, gloss = 0.05 }
render { camera_position = {3.3, 1.75, 2.05}, camera_target = {1.12, 0.4, 0.05}, box = false }
