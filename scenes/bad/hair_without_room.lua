-- expect: hair "locks": the surface has no room for hair where it may grow
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
collider "head" { shape = sphere { center = {0, 0, 0}, radius = 0.1 } }
hair "locks" { on = "head", count = 10, scalp = sphere { center = {0.5, 0, 0}, radius = 0.1 } }
