-- expect: sph: solver 'dfsph' needs wall 'sph' or 'mirror'
-- exit: 3
sph { solver = "dfsph", wall = "dem" }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
