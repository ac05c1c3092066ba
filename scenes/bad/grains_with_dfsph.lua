-- expect: grains and liquids in one world need an equation of state
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
sph { solver = "dfsph" }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.5} } }
grains "sand" { spacing = 0.05, shape = box { min = {0.5, 0, 0}, max = {1, 0.5, 0.5} } }
output { frames = 1 }
