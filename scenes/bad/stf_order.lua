-- expect: order = 1 is out of range
-- exit: 3
stf { order = 1 }
liquid "starch" { method = "stf", shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
