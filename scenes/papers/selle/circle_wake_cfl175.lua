-- Selle 2008, figures 2.9 to 2.11: flow past a circle, no viscosity, 300 x 100 cells, CFL 1.75.
-- Compare:  --set grid.advection=semi_lagrangian | bfecc | maccormack,  --set grid.limiter=none | clamp | revert
-- The right side is open here; the text holds u = 1 there too. A short push breaks the symmetry.
domain { dimension = 2, min = {0, 0, 0}, max = {3, 1, 0}, boundary_x = "open" }
gravity { 0, 0, 0 }
simulation { dt_max = 0.1 }
grid { cell = 0.01, cfl = 1.75, advection = "maccormack", limiter = "revert", trace = "euler", tolerance = 1e-5, stream = {1, 0, 0} }

smoke "wake" { empty = true, lift = 0 }
source "dye" { into = "wake", shape = box { min = {0, 0.35, 0}, max = {0.06, 0.65, 0} }, density = 1 }
collider "circle" { shape = sphere { center = {0.5, 0.5, 0}, radius = 0.125 } }
force "push" { shape = box { min = {0.65, 0.4, 0}, max = {0.9, 0.6, 0} }, acceleration = {0, 1, 0}, stop = 0.2 }

output { frames = 240, fps = 24 }
look "wake" { color = {0.95, 0.95, 0.97} }
look "circle" { color = {0.86, 0.40, 0.14} }
render { background = "dark", ground = "none", box = false, camera_azimuth_deg = 0, camera_elevation_deg = 0, sun = {0.15, 0.2, 1} }
