-- expect: collider "water": the name is taken by the liquid at duplicate_name.lua:3
-- exit: 3
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} } }
collider "water" { shape = sphere { radius = 0.1 } }
