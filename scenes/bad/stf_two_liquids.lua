-- expect: a world can hold one liquid of method 'stf'
-- exit: 3
liquid "a" { method = "stf", shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
liquid "b" { method = "stf", shape = box { min = {0.6, 0, 0}, max = {1, 0.4, 0.4} } }
