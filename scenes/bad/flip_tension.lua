-- expect: liquid "drop": surface_tension is 0.07 N/m, which method 'flip' does not know
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
liquid "drop" { method = "flip", spacing = 0.05, surface_tension = 0.07, shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.3 } }
output { frames = 1 }
