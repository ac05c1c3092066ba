-- expect: stiffness = -1 is out of range: 0 to 1e+12 N/m
-- exit: 3
springs { stiffness = -1 }
liquid "water" { method = "springs", shape = box { min = {0, 0, 0}, max = {0.2, 0.2, 0.2} } }
