-- expect: probe "eye": a body has no regions; kind = "track" writes its path
-- exit: 3
domain { max = {1, 1, 1} }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
body "ball" { shape = sphere { center = {0.5, 0.7, 0.5}, radius = 0.1 } }
probe "eye" { of = "ball", radius = 0.1 }
