-- Knitwear of three layers whose nodes meet a cylinder as spheres.
domain { min = {-1, 0, -1}, max = {1, 1, 1} }
solids { dt = 1 / 960, inner = 4, avoid = 0.05, avoid_stiffness = 5, avoid_damping = 0.1 }
cloth "knit" { width = 0.4, height = 0.4, columns = 6, rows = 6, layers = 3, gap = 0.02, model = "grid", position = {0, 0.26, 0}, velocity = {0, -3, 0},
  density = 0.4, stiffness = 50, bend_stiffness = 1, particle_radius = 0.02, yarn = true, scheme = "symplectic" }
collider "roll" { shape = cylinder { a = {-0.3, 0.12, 0}, b = {0.3, 0.12, 0}, radius = 0.1 }, spacing = 0.03 }
output { frames = 1 }
