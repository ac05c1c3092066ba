-- A hare of jelly drops on the ground, is pressed flat and jumps back.
domain { min = {-0.6, 0, -0.6}, max = {0.6, 1.2, 0.6} }
simulation { dt_max = 1/120 }
solids { inner = 4 }
soft "hare" {
  shape = mesh { file = "meshes/hare.obj" }, spacing = 0.02,
  young = 4e4, poisson = 0.42, damping = 0.02, density = 400,
  position = {0, 0.45, 0}, rotation_deg = {0, 30, 0}, self = false, color = {0.50, 0.28, 0.15},
}
collider "ground" { shape = plane { point = {0, 0.02, 0}, normal = {0, 1, 0} } }
look "hare" { color = {0.80, 0.52, 0.30}, gloss = 0.4 }
render { camera_position = {0.62, 0.5, 1.1}, camera_target = {0.02, 0.27, 0}, box = false }
output { frames = 45, fps = 30 }
