-- Water in a tank with a lid and a body that floats, two dimensions or three.
domain { min = {0, 0, 0}, max = {0.36, 0.36, 0.2}, restitution = 0.2, friction = 0.1 }
liquid "water" {
  spacing = 0.04, jitter = 0.1, viscosity = 0.2, velocity = {0.8, -0.3, 0.1},
  shape = box { min = {0, 0, 0}, max = {0.24, 0.2, 0.2} },
}
body "ball" {
  shape = sphere { center = {0.25, 0.2, 0.1}, radius = 0.05 }, density = 500, velocity = {-1, -1, 0},
}
output { frames = 1 }
