-- A container full of water with a paddle in it: no free surface. Two dimensions or three: the plane
-- z = 0 cuts the paddle through its middle.
domain { min = {0, 0, -0.12}, max = {0.36, 0.32, 0.12} }
sph { solver = "dfsph" }
liquid "water" {
  spacing = 0.04, jitter = 0.1, viscosity = 0.2, velocity = {0.4, -0.3, 0},
  shape = box { min = {0, 0, -0.12}, max = {0.36, 0.32, 0.12} },
}
body "paddle" { shape = sphere { center = {0.18, 0.16, 0}, radius = 0.05 }, density = 800 }
output { frames = 1 }
