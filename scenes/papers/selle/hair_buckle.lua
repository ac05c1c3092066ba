-- Selle 2008, Fig. 7.4: both ends of a hair are pushed together and it buckles into a loop.
domain { min = {-0.6, -0.6, -0.6}, max = {0.6, 0.6, 0.6} }
simulation { dt_max = 1/60, gravity = {0, 0, 0} }
solids { dt = 1/1200, inner = 5 }
hair "locks" {
  rooted = false, count = 1, segments = 100, length = 1, root = {-0.5, 0, 0}, direction = {1, 0, 0},
  density = 1e-4, edge_stiffness = 1, bend_stiffness = 0.1, torsion_stiffness = 0.1, altitude_stiffness = 0.1,
  wave = 0.001, wave_length = 2, radius = 0.004, thickness = 0.008, self = true,
}
local function along(t) return t < 1 and 0 or t > 2 and 1 or t - 1 end
pin "left" { of = "locks", shape = box { min = {-0.6, -0.1, -0.1}, max = {-0.475, 0.1, 0.1} },
  position = function(t) return {0.45 * along(t), 0, 0} end }
pin "right" { of = "locks", shape = box { min = {0.475, -0.1, -0.1}, max = {0.6, 0.1, 0.1} },
  position = function(t) return {-0.45 * along(t), 0, 0} end }
look "locks" { color = {0.62, 0.34, 0.12}, radius_scale = 1.6 }
render { camera_position = {-0.12, 0.28, 0.72}, camera_target = {-0.02, 0.03, 0}, box = false }
output { frames = 72, fps = 24 }
