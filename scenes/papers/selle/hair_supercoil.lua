-- Selle 2008, Fig. 7.4: the ends of a hair come nearer, then one of them is spun: the hair supercoils.
domain { min = {-0.6, -0.6, -0.6}, max = {0.6, 0.6, 0.6} }
simulation { dt_max = 1/60, gravity = {0, -0.5, 0} }
solids { dt = 1/1200, inner = 5 }
hair "locks" {
  rooted = false, count = 1, segments = 100, length = 1, root = {-0.5, 0, 0}, direction = {1, 0, 0},
  density = 1e-4, edge_stiffness = 1, bend_stiffness = 0.1, torsion_stiffness = 0.1, altitude_stiffness = 0.1,
  radius = 0.004, thickness = 0.008, self = true,
}
local function along(t) return t > 1 and 1 or t end
pin "left" { of = "locks", shape = box { min = {-0.6, -0.1, -0.1}, max = {-0.475, 0.1, 0.1} },
  position = function(t) return {0.15 * along(t), 0, 0} end, pivot = {-0.5, 0, 0} }
pin "right" { of = "locks", shape = box { min = {0.475, -0.1, -0.1}, max = {0.6, 0.1, 0.1} },
  position = function(t) return {-0.15 * along(t), 0, 0} end, pivot = {0.5, 0, 0},
  rotation_deg = function(t) return {t > 2 and 180 * (t - 2) or 0, 0, 0} end }
render { camera_position = {0, 0.2, 1.6}, camera_target = {0, -0.1, 0}, box = false }
output { frames = 288, fps = 24 }
