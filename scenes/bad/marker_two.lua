-- expect: a world can hold one liquid of method 'marker'
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 }
liquid "a" { method = "marker", shape = box { min = {0, 0, 0}, max = {0.2, 0.3, 0} } }
liquid "b" { method = "marker", shape = box { min = {0.5, 0, 0}, max = {1, 0.3, 0} } }
