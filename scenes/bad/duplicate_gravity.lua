-- expect: gravity is said twice
-- exit: 3
gravity { 0, -9.81, 0 }
simulation { gravity = {0, 0, 0} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
