-- Water poured into a cup (Hong 2009, figure 5): SPH after Mueller, blue until a particle first touches a
-- wall, green after.
local spacing = 0.008

domain { min = {-0.2, -0.02, -0.2}, max = {0.2, 0.55, 0.2}, boundary_x = "open", boundary_y = "open", boundary_z = "open" }

sph { kernel = "mueller", pressure = "mean", tension = "mueller", mark_touched = true }

liquid "water" {
  spacing = spacing, empty = true,
  eos = "linear", sound_speed = 20, viscosity = 0.8, surface_tension = 0.05,
}
emitter "spout" {
  into = "water", position = {0.03, 0.42, 0}, direction = {0, -1, 0}, radius = 0.03, speed = 1, limit = 5200,
}

-- the cup is the inside of a cylinder with a floor
collider "cup" {
  shape = cylinder { a = {0, 0, 0}, b = {0, 0.6, 0}, radius = 0.11, invert = true }, visible = false,
}
output { frames = 150, fps = 60, surface = false }
look "water" { color_by = "touched", color_map = "two", range_min = 0, range_max = 1, color = {0.12, 0.30, 0.85}, color_end = {0.15, 0.70, 0.25}, smooth = 0.3, gloss = 0.4 }
render { camera_position = {0.35, 0.42, 0.75}, camera_target = {0, 0.17, 0}, box = false, ground_height = -0.004 }
