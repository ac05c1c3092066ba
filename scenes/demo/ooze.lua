-- Ooze: a jet of corn starch piles up on a plate, stiff where it lands, and creeps over the edge.
--
-- Runnier:  kelpie run scenes/demo/ooze.lua --set stf.history=none
local a = 0.014

domain { min = {0, 0, 0}, max = {0.5, 0.6, 0.5}, open_top = true }
liquid "starch" { method = "stf", empty = true, spacing = a, rest_density = 1200 }
stf {
  sound_speed = 4, linear_viscosity = 40, spring_stiffness = 500, plasticity = 12, yield = 0.02,
  thickening = 40, reference_speed = 0.1,
}
emitter "spout" {
  into = "starch", position = {0.25, 0.52, 0.25}, direction = {0, -1, 0},
  radius = 0.035, speed = 0.8, stop = 1.2, limit = 2000,
}
collider "plate" {
  shape = cylinder { a = {0.25, 0.0, 0.25}, b = {0.25, 0.12, 0.25}, radius = 0.11 },
  color = {0.35, 0.37, 0.42},
}

output { frames = 60, fps = 30, surface = { from = "starch" } }
look "starch" { color_by = "stiffening", color_map = "heat", range_max = 40, smooth = 0.6, gloss = 0.5 }
render { camera_position = {0.55, 0.42, 0.85}, camera_target = {0.25, 0.11, 0.25}, box = false }
