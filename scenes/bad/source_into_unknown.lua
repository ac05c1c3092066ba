-- expect: source "vent": there is no smoke "plumes", did you mean "plume"?
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
smoke "plume" { empty = true }
source "vent" { into = "plumes", shape = sphere { center = {0.5, 0.2, 0.5}, radius = 0.1 }, density = 1 }
