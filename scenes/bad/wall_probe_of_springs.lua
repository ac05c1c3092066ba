-- expect: liquid "w" of method 'springs' has none; those of methods 'sph', 'mps'
-- exit: 3
domain { dimension = 2, max = {0.4, 0.8} }
liquid "w" { method = "springs", spacing = 0.025, shape = box { min = {0, 0, -1}, max = {0.4, 0.5, 1} } }
probe "floor" { of = "w", kind = "wall", radius = 0.05, min = {0.2, 0, 0}, max = {0.2, 0, 0} }
