-- expect: laplacian_radius (1.6) must not be below radius (2.1)
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
mps { laplacian_radius = 1.6 }
liquid "water" { method = "mps", spacing = 0.02, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0} } }
output { frames = 1 }
