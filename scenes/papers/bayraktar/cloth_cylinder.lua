-- Cloth draped on a cylinder (Bayraktar 2010, Fig. 7.2): 6K cloth particles against 13K rigid ones,
-- sphere by sphere.
domain { min = {-0.8, -0.8, -0.8}, max = {0.8, 0.8, 0.8} }
solids { dt = 1/4800, inner = 10 }
cloth "sheet" {
  width = 0.9, height = 0.9, columns = 76, rows = 76, position = {0, 0.03, 0}, density = 0.2,
  model = "grid", stiffness = 50, shear = 20, bend_stiffness = 1, damping = 0.05, viscosity = 0.5,
  self = false, scheme = "symplectic", particle_radius = 0.0053, color = {0.10, 0.30, 0.55},
}
collider "roller" {
  shape = cylinder { a = {-0.5, -0.18, 0}, b = {0.5, -0.18, 0}, radius = 0.18 }, spacing = 0.0141,
}
output { frames = 30, fps = 30 }
