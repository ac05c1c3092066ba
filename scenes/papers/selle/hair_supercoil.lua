-- Selle 2008, Fig. 7.4: the ends of a hair come nearer, then one of them is spun: the hair supercoils.
-- Without the clamps loops slip over the ends, which undoes two turns at a time; with longer steps
-- what is wound up that tightly passes through itself.
domain { min = {-1.3, -0.6, -0.6}, max = {1.3, 0.6, 0.6} }
simulation { dt_max = 1/60, gravity = {0, -0.2, 0} }
solids { dt = 1/4800, inner = 1, edge_share = 0.8 }
hair "locks" {
  rooted = false, count = 1, segments = 100, length = 1, root = {-0.5, 0, 0}, direction = {1, 0, 0},
  density = 1e-4, edge_stiffness = 10, bend_stiffness = 0.1, torsion_stiffness = 0.1, altitude_stiffness = 0.1,
  radius = 0.004, thickness = 0.01, self = true, viscosity = 6,
}
local function nearer(t) return 0.25 * math.min(t, 1) end
pin "left" { of = "locks", shape = box { min = {-0.6, -0.1, -0.1}, max = {-0.475, 0.1, 0.1} },
  position = function(t) return {nearer(t), 0, 0} end, pivot = {-0.5, 0, 0} }
pin "right" { of = "locks", shape = box { min = {0.475, -0.1, -0.1}, max = {0.6, 0.1, 0.1} },
  position = function(t) return {-nearer(t), 0, 0} end, pivot = {0.5, 0, 0},
  rotation_deg = function(t) return {360 * math.max(t - 2, 0), 0, 0} end }
collider "left_clamp" {
  shape = cylinder { a = {-1.2, 0, 0}, b = {-0.485, 0, 0}, radius = 0.02 }, friction = 0, color = {0.30, 0.32, 0.36},
  position = function(t) return {nearer(t), 0, 0} end,
}
collider "right_clamp" {
  shape = cylinder { a = {0.485, 0, 0}, b = {1.2, 0, 0}, radius = 0.02 }, friction = 0, color = {0.30, 0.32, 0.36},
  position = function(t) return {-nearer(t), 0, 0} end,
}
render { camera_position = {0.25, 0.15, 1.0}, camera_target = {0, 0.02, 0}, box = false }
output { frames = 264, fps = 24 }
