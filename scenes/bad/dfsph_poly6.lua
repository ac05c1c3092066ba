-- expect: solver 'dfsph' needs another kernel than 'poly6'
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
sph { solver = "dfsph", kernel = "poly6" }
liquid "water" { spacing = 0.1, shape = box { min = {0, 0, 0}, max = {1, 0.5, 1} } }
output { frames = 1 }
