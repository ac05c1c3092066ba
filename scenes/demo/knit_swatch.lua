-- A knitted swatch falls over a rod, seen near: yarn of many fibres, drawn by lumislices.
domain { min = {-0.2, -0.2, -0.2}, max = {0.2, 0.1, 0.2} }
solids { dt = 1/4800, inner = 10 }
cloth "knit" {
  width = 0.192, height = 0.256, columns = 15, rows = 20, position = {0, 0.045, 0}, density = 0.4,
  model = "grid", layers = 3, gap = 0.004, stiffness = 50, shear = 20, bend_stiffness = 2,
  volume_stiffness = 30, damping = 0.05, viscosity = 1, self = false, scheme = "symplectic",
  particle_radius = 0.0055, yarn = true, yarn_radius = 0.0023, color = {0.50, 0.07, 0.09},
}
collider "rod" {
  shape = cylinder { a = {-0.15, 0, 0}, b = {0.15, 0, 0}, radius = 0.03 }, spacing = 0.006,
  color = {0.55, 0.38, 0.22},
}
output { frames = 16, fps = 30 }
look "knit" { stroke = "lumislice", color = {0.80, 0.36, 0.34} }
render {
  camera_position = {0.18, 0.17, 0.33}, camera_target = {0, -0.02, 0.02}, camera_fov_deg = 26,
  box = false, sun = {-0.5, 0.8, 0.45},
}
