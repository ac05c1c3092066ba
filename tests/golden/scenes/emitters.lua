-- A spout on a cart and one that turns, which feed water that leaves through sinks that move.
domain { min = {0, 0, 0}, max = {0.8, 0.8, 0.48}, open_top = true }
liquid "water" { spacing = 0.04, viscosity = 0.3, jitter = 0.2, shape = box { min = {0, 0, 0}, max = {0.8, 0.12, 0.48} } }
collider "cart" {
  shape = box { min = {-0.1, 0, -0.1}, max = {0.1, 0.04, 0.1} },
  position = function(t) return {0.3 + 0.8 * t, 0.6, 0.24} end,
}
emitter "spout" { into = "water", parent = "cart", position = {0.3, 0.56, 0.24}, radius = 0.07, speed = 3 }
emitter "hose" {
  into = "water", position = function(t) return {0.7, 0.4 + 0.2 * t, 0.24} end,
  rotation_deg = function(t) return {0, 0, 300 * t} end, direction = {-1, 0, 0}, width = 0.1, height = 0.06, speed = 3,
}
sink "drain" {
  shape = sphere { center = {0, 0, 0}, radius = 0.1 }, position = function(t) return {0.2 + 3 * t, 0.05, 0.2} end,
}
sink "slot" {
  shape = box { min = {-0.3, -0.02, -0.3}, max = {0.3, 0.02, 0.3} }, rotation_deg = {10, 0, 20}, parent = "cart",
  position = {0.2, 0.2, 0.2},
}
output { frames = 1 }
