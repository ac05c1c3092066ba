-- A ball that sweats, a box that is kept full and a stick that drains, all of which move.
domain { min = {0, 0, 0}, max = {0.8, 0.8, 0.48}, open_top = true }
liquid "water" { spacing = 0.04, viscosity = 0.3, shape = box { min = {0, 0, 0}, max = {0.8, 0.08, 0.48} } }
emitter "ball" {
  into = "water", from = "surface", shape = sphere { center = {0, 0, 0}, radius = 0.07 }, speed = 2,
  position = function(t) return {0.25 + t, 0.6, 0.24} end,
}
emitter "box" {
  into = "water", from = "inside", shape = box { min = {-0.1, -0.06, -0.1}, max = {0.1, 0.06, 0.1} }, speed = 1.5,
  position = {0.58, 0.5, 0.24}, rotation_deg = function(t) return {0, 90 * t, 200 * t} end,
}
sink "stick" {
  shape = capsule { a = {0, 0, 0}, b = {0, 0.3, 0}, radius = 0.05 }, position = function(t) return {0.6 - 2 * t, 0.1, 0.24} end,
}
output { frames = 1 }
