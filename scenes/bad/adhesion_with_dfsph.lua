-- expect: sph: adhesion does not go with solver 'dfsph'
-- exit: 3
sph { solver = "dfsph", adhesion = 0.1 }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
