-- expect: source "vent": it feeds fuel, but nothing burns in "plume", whose burn_rate is 0
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
smoke "plume" { empty = true }
source "vent" { into = "plume", shape = sphere { center = {0.5, 0.2, 0.5}, radius = 0.1 }, fuel_rate = 1 }
