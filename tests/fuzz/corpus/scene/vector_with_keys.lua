-- expect: gravity must be a vector {x, y, z}
-- exit: 3
gravity { x = 0, y = -9.81, z = 0 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
