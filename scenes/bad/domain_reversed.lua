-- expect: domain: it has no volume, since min.y = 1 is not below max.y = 0
-- exit: 3
domain { min = {0, 1, 0}, max = {1, 0, 1} }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
