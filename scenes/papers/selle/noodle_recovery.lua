-- The same for a shell (Fig. 5.3, right): half a ring of tube, its edges bent at rest held by axial
-- bending springs. At 2 s the stiffness is switched on.
domain { min = {-2, 0, -2}, max = {2, 4, 2} }
simulation { dt_max = 1/60 }
solids { inner = 4 }
cloth "noodle" {
  mesh = "meshes/noodle.obj", position = {0, 1.6, 0.6}, rotation_deg = {20, 0, 0}, density = 1,
  stiffness = 1e4, bend_stiffness = 1e4, axial = 1e4, damping = 3, bend_damping = 3,
  strength = function(t) return t < 2 and 0 or 1 end,
  scheme = "backward_euler", self = false, color = {0.70, 0.55, 0.12},
}
collider "ground" { shape = plane { point = {0, 0.05, 0}, normal = {0, 1, 0} } }
output { frames = 120, fps = 30 }
