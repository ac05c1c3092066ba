-- expect: unknown key 'stifness', did you mean 'stiffness'?
-- exit: 3
springs { stifness = 3 }
liquid "water" { method = "springs", shape = box { min = {0, 0, 0}, max = {0.2, 0.2, 0.2} } }
