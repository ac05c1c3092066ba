-- expect: unknown distance 'guess'
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
level_set { distance = "guess" }
liquid "water" { method = "level_set", shape = box { min = {0, 0, 0}, max = {1, 0.3, 0} } }
