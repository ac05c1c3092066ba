-- Altitude springs bring back a body that collapsed (Fig. 5.3, left): a torus without any stiffness
-- falls to the ground and lies there as a puddle; at 2 s its springs are switched on.
-- kelpie run scenes/papers/selle/torus_recovery.lua -s torus.model=springs   shows edges alone.
domain { min = {-2.4, 0, -2.4}, max = {2.4, 4, 2.4} }
simulation { dt_max = 1/60 }
solids { inner = 4 }
soft "torus" {
  shape = mesh { file = "meshes/torus.obj", scale = 10 }, spacing = 0.2,
  position = {0, 1.6, 0}, density = 10,
  model = "altitude", stiffness = 100, damping = 3,
  strength = function(t) return t < 2 and 0 or 1 end,
  scheme = "backward_euler", self = false, color = {0.62, 0.30, 0.08},
}
collider "ground" { shape = plane { point = {0, 0.05, 0}, normal = {0, 1, 0} } }
output { frames = 120, fps = 30 }
