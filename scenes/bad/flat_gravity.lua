-- expect: the z component must be 0 in two dimensions
-- exit: 3
domain { dimension = 2, max = {1, 1} }
gravity { 0, -9.81, 1 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
