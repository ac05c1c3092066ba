-- Forces in a box and in a ball on water and a body, seen by probes.
domain { min = {0, 0, 0}, max = {0.32, 0.32, 0.2}, open_top = true }
liquid "water" { spacing = 0.04, jitter = 0.1, viscosity = 0.5, velocity = {0.5, 0.2, 0}, shape = box { min = {0, 0, 0}, max = {0.2, 0.2, 0.2} } }
body "ball" { shape = sphere { center = {0.26, 0.2, 0.1}, radius = 0.04 }, velocity = {-0.5, 0, 0}, angular_velocity = {1, 2, 3} }
force "push" { shape = box { min = {0, 0, 0}, max = {0.1, 0.1, 0.2} }, acceleration = {20, 0, 3} }
force "pull" { shape = sphere { center = {0.26, 0.2, 0.1}, radius = 0.1 }, acceleration = function(t) return {0, 30 - t, 0} end, on = "ball" }
probe "eye" { of = "water", min = {0.05, 0.05, 0.1}, max = {0.15, 0.15, 0.1}, counts = {3, 2, 1}, radius = 0.06 }
probe "slope" { of = "water", kind = "fit", min = {0.05, 0.05, 0.1}, max = {0.15, 0.15, 0.1}, counts = {2, 2, 1}, radius = 0.08 }
probe "path" { of = "ball", kind = "track" }
probe "tide" { of = "water", kind = "gauge", min = {0.1, 0, 0.1}, max = {0.1, 0, 0.1} }
probe "splash" { of = "water", kind = "gauge", reading = "surface", min = {0.1, 0, 0.1}, max = {0.1, 0, 0.1} }
probe "plate" { of = "water", kind = "wall", radius = 0.03, min = {0.1, 0, 0.1}, max = {0.1, 0, 0.1} }
output { frames = 1 }
