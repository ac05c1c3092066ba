-- Column 2D: a dam break in two dimensions runs over a step, coloured by speed.
local spacing = 0.01

domain {
  dimension = 2,                             -- one layer of particles at z = 0
  min = {0, 0, 0}, max = {2.4, 1.2, 0},
  open_top = true,
}

sph { density = "continuity", viscosity_model = "artificial", wall = "sph", slip = 1 }

liquid "water" {
  spacing = spacing,
  artificial_viscosity = 0.1,
  sound_speed = 32,
  shape = box { min = {0, 0, 0}, max = {0.6, 0.9, 0} },
}

collider "step" {
  shape = box { min = {1.3, 0, -0.05}, max = {1.5, 0.18, 0.05} },   -- a depth, to be drawn
  layers = 4,                                -- of wall samples; a thick wall stops a fast jet
  color = {0.35, 0.33, 0.30},
}

output { frames = 100, fps = 60, surface = false }

look "water" { color_by = "speed", color_map = "viridis", range_min = 0, range_max = 4.5, smooth = 0, gloss = 0 }
render { camera_azimuth_deg = 0, camera_elevation_deg = 0, background = "dark", exposure = 0.3, ground = "none", occlusion = 0 }
