-- expect: restitution = 1.5 is out of range
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
grains "sand" { spacing = 0.03, restitution = 1.5, shape = box { min = {0, 0, 0}, max = {0.5, 0.5, 0.5} } }
output { frames = 1 }
