-- A stream of width w and speed v hits a wide plate and leaves along it: F = rho v^2 w per metre, 800 N.
domain { dimension = 2, max = {1, 1.4}, open_top = true, boundary_y = "open" }
gravity { 0, 0, 0 }
grid { cell = 0.0125 }
sph { solver = "dfsph" }
liquid "water" { spacing = 0.0125, velocity = {2, 0, 0}, shape = box { min = {0.02, 0.6, -1}, max = {0.78, 0.8, 1} } }
collider "plate" { shape = box { min = {0.8, 0, -1}, max = {0.9, 1.4, 1} } }
probe "load" { of = "plate", kind = "track", interval = 0.01 }
output { frames = 12, fps = 50 }
