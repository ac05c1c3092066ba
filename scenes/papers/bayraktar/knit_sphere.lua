-- Knitwear dropped on a rigid sphere (Bayraktar 2010, Fig. 7.12a): three layers, 40 x 40 x 3 points,
-- against the particle shell of the sphere; yarn is drawn by lumislices.
domain { min = {-0.6, -0.6, -0.6}, max = {0.6, 0.6, 0.6} }
solids { dt = 1/4800, inner = 10 }
cloth "knit" {
  width = 0.5, height = 0.5, columns = 39, rows = 39, position = {0, 0.06, 0}, density = 0.4,
  model = "grid", layers = 3, gap = 0.004, stiffness = 50, shear = 20, bend_stiffness = 2,
  volume_stiffness = 30, damping = 0.05, viscosity = 1, self = false, scheme = "symplectic",
  particle_radius = 0.0055, yarn = true, yarn_radius = 0.0018, color = {0.55, 0.10, 0.12},
}
collider "ball" {
  shape = sphere { center = {0, -0.15, 0}, radius = 0.15 }, spacing = 0.008,
}
output { frames = 45, fps = 30 }
look "knit" { stroke = "lumislice", color = {0.80, 0.40, 0.38} }
