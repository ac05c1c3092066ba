-- The same for a shell (Selle 2008, Fig. 5.3, right): half a ring of tube without stiffness falls flat, then
-- its stiffness is brought back between 2 s and 3 s and altitude springs of the edges (axial) unfold it.
domain { min = {-2, 0, -2}, max = {2, 4, 2} }
simulation { dt_max = 1/480 }
solids { inner = 4 }
cloth "noodle" {
  mesh = "meshes/noodle.obj", position = {0, 1.6, 0.6}, rotation_deg = {20, 0, 0}, density = 1,
  model = "edges", stiffness = 1e4, bend_stiffness = 1e4, axial = 1e4, damping = 3, bend_damping = 3,
  strength = function(t) return t < 2 and 0 or math.min(1, 10^(3 * (t - 3))) end,
  scheme = "backward_euler", self = false, color = {0.70, 0.55, 0.12},
}
collider "ground" { shape = plane { point = {0, 0.05, 0}, normal = {0, 1, 0} } }
look "noodle" { color = {0.82, 0.62, 0.20}, two_sided = true, color_back = {0.55, 0.25, 0.12}, gloss = 0.05 }
render { camera_position = {1.6, 2.4, 3.4}, camera_target = {0, 0.25, 0}, box = false }
output { frames = 120, fps = 30 }
