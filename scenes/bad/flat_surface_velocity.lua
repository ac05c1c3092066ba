-- expect: surface_velocity of belt: the z component must be 0 in two dimensions
-- exit: 3
domain { dimension = 2, min = {0, 0, 0}, max = {1, 1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, -1}, max = {1, 0.5, 1} } }
collider "belt" {
  shape = box { min = {0, 0.8, -1}, max = {1, 1, 1} },
  surface_velocity = {1, 0, 0.5},
}
