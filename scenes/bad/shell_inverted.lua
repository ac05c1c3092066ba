-- expect: sphere: a shell must be bounded and cannot be inverted
-- exit: 3
body "ball" { shape = sphere { radius = 0.2, center = {0.5, 0.5, 0.5} }, density = 500 }
collider "globe" { shape = sphere { radius = 0.5, center = {0.5, 0.5, 0.5}, invert = true, shell = 0.01 } }
