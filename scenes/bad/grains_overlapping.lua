-- expect: grains "sand": radius = 0.02 m is more than half the spacing of 0.03 m
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
grains "sand" { spacing = 0.03, radius = 0.02, shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.5} } }
output { frames = 1 }
