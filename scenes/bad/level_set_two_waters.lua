-- expect: liquid "drop": rest_density differs from that of "a_pool"
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
grid { cell = 0.1 }
liquid "a_pool" { method = "level_set", shape = box { min = {0, 0, 0}, max = {1, 0.3, 0} } }
liquid "drop" { method = "level_set", rest_density = 800, shape = sphere { center = {0.5, 0.6, 0}, radius = 0.1 } }
