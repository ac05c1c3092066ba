-- expect: GB of memory and this machine has
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "pillar" { spacing = 0.000001, shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.4 } }
