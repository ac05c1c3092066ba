-- Water with a surface tension that runs against a post and over a step that moves.
domain { min = {0, 0, 0}, max = {0.48, 0.4, 0.24}, open_top = true, boundary_z = "periodic" }
liquid "water" {
  spacing = 0.04, jitter = 0.2, viscosity = 0.5, surface_tension = 0.5, velocity = {1.5, 0.4, 0.2},
  drag = 0.1, shape = box { min = {0.02, 0, 0}, max = {0.26, 0.2, 0.24} },
}
collider "post" { shape = cylinder { a = {0.32, 0, 0.12}, b = {0.32, 0.3, 0.12}, radius = 0.04 } }
collider "step" {
  shape = box { min = {0, 0, -0.1}, max = {0.08, 0.06, 0.34} },
  position = function(t) return {0.4 - 0.5 * t, 0, 0} end, surface_velocity = {0, 0, 0.3},
}
output { frames = 1 }
