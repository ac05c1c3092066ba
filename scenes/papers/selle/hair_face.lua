-- Selle 2008, sections 7.5.1 and 7.6: a head whose skin moves. It opens its mouth and raises its brows, so that the scalp slides over
-- the skull, while it nods; roots stay where they are on the skin, and hair keeps out of the face, whose distances are made 60 times
-- a second and interpolated along its motion.
domain { min = {-0.6, -0.7, -0.6}, max = {0.6, 0.5, 0.6} }
simulation { dt_max = 1/60 }
solids { dt = 1e-3, inner = 8, tolerance = 0.05, key_rate = 60, key_cells = 64 }
collider "head" {
  shape = mesh { file = "meshes/head.obj" },
  rotation_deg = function(t) return {8 * math.sin(5 * t), 12 * math.sin(3 * t), 0} end,
  color = {0.62, 0.42, 0.33},
}
morph "jaw" { of = "head", shape = mesh { file = "meshes/head_jaw.obj" }, weight = function(t) return 0.5 - 0.5 * math.cos(9 * t) end }
morph "brow" { of = "head", shape = mesh { file = "meshes/head_brow.obj" }, weight = function(t) return 0.5 - 0.5 * math.cos(13 * t) end }
hair "locks" {
  on = "head", scalp = sphere { center = {0, 0.065, -0.055}, radius = 0.112 }, fade = 0.015,
  edge_stiffness = 0.1, bend_stiffness = 1e-3, torsion_stiffness = 1e-3, altitude_stiffness = 1e-3,
  count = 700, segments = 15, straight_deg = 180, length = 0.16, fall = {0, -1, 0.25}, droop = 0.03, lift = 0.003,
  roughness = 0.25, self = true, thickness = 0.0005, friction = 0.4,
  stiction = 1e-3, stiction_distance = 0.002, stiction_break = 0.005, stiction_links = 5,
  radius = 2.6e-4, color = {0.20, 0.09, 0.03},
}
render { camera_position = {0.50, 0.06, 0.62}, camera_target = {0, -0.03, 0}, box = false }
output { frames = 48, fps = 24 }
