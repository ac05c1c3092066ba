-- Spring-mass water: a block falls on a ball that moves, and is thrown about. See springs.md.
domain { min = {-0.5, 0, -0.25}, max = {0.5, 0.6, 0.25} }
liquid "water" {
  method = "springs", spacing = 0.025, jitter = 0.1,
  shape = box { min = {-0.2, 0.25, -0.2}, max = {0.2, 0.5, 0.2} },
}
collider "ball" {
  shape = sphere { center = {0, 0, 0}, radius = 0.1 }, color = {0.8, 0.25, 0.1},
  position = function(t) return {0.25 * math.sin(3 * t), 0.1, 0} end,
}

output { frames = 60, fps = 60, surface = false }
look "water" { color_by = "velocity", color_map = "water", range_max = 2.5, smooth = 0, gloss = 0.4 }
