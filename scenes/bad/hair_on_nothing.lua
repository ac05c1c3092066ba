-- expect: hair "locks": on = "haed" is no collider and no body
-- exit: 3
domain { min = {-1, -1, -1}, max = {1, 1, 1} }
collider "head" { shape = sphere { center = {0, 0, 0}, radius = 0.1 } }
hair "locks" { on = "haed" }
