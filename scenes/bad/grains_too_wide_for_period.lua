-- expect: grains "sand": a periodic domain of 0.05 m is too narrow
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0.05}, boundary_z = "periodic" }
grains "sand" { spacing = 0.025, shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.05} } }
output { frames = 1 }
