-- expect: the periodic axis z must be longer than
-- exit: 3
domain { max = {1, 1, 0.08}, boundary_z = "periodic" }
liquid "starch" { method = "stf", shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.08} } }
